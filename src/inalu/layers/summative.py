"""What NAC and NAU share: the summative path alone, whatever its weights are made of."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from inalu.expression import Expression
from inalu.layers import functional as F
from inalu.layers.base import ArithmeticLayer
from inalu.layers.formulas import exact_columns, signed_sum


class SummativeLayer(ArithmeticLayer):
    """``y = x W``. A subclass defines `effective_weights`, of the one name W, and `make_exact`."""

    def compute(self, x: Tensor) -> Tensor:
        """Return x W."""
        return F.summative(x, self.effective_weights()["W"])

    def formulas(self, inputs: Sequence[Expression]) -> list[Expression]:
        """Return the sums that the outputs are."""
        columns = exact_columns(self.effective_weights()["W"].tolist())
        return [signed_sum(inputs, column) for column in columns]
