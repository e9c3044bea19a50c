"""Recipes as the command line offers them: the engine's, and the declared variants of the published code.

The variants were declared before a run of any of them was counted (docs/reproduction.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from inalu.engine.recipe import AUTHORS_CODE, RECIPES
from inalu.experiments.catalog.model import Treatment
from inalu.tasks import Distribution, Key, random, transforms

# P(|z| < 2) of the standard normal distribution.
_WITHIN_2_SIGMA = math.erf(math.sqrt(2.0))


@dataclass(frozen=True)
class StandardNormalWithin2:
    """The standard normal distribution cut off at ±2: the inputs that experiment 3's planner asks for."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest value."""
        return -2.0, 2.0

    def draw(self, key: Key, shape: random.Shape, *, start: int = 0) -> NDArray[np.float32]:
        """Draw float32 numbers from index ``start`` of the stream on."""
        out = np.empty(shape, np.float32)
        random.fill(out, key, _quantile, start=start)
        return out

    def __str__(self) -> str:
        return "normal(0,1) within ±2"


def _quantile(u: random.Floats) -> random.Floats:
    return np.clip(transforms.normal_quantile(0.5 + (u - 0.5) * _WITHIN_2_SIGMA), -2.0, 2.0)


#: "maxepoch 201": code experiment_runs/exp3/experimentplanner.py line 36.
PUBLISHED_EPOCHS = MappingProxyType({"exp3": 201})

#: Lines 47-51 of the same file.
PLANNED_INPUTS: Mapping[str, Distribution] = MappingProxyType({"exp3": StandardNormalWithin2()})

_AUTHORS = (
    Treatment(
        name="AUTHORS_CODE",
        about="the published code, with its order of the sign vector in two layers",
        recipe=AUTHORS_CODE,
        published_sign=True,
        epochs=PUBLISHED_EPOCHS,
    ),
    Treatment(
        name="AUTHORS_CODE_CORRECT_SIGN",
        about="the published code with the sign vector of the text's equations",
        recipe=AUTHORS_CODE,
        epochs=PUBLISHED_EPOCHS,
    ),
    Treatment(
        name="AUTHORS_CODE_PLANNER",
        about="AUTHORS_CODE, with the inputs of experiment 3's planner: normal, cut off at ±2",
        recipe=AUTHORS_CODE,
        published_sign=True,
        epochs=PUBLISHED_EPOCHS,
        inputs=PLANNED_INPUTS,
    ),
)


def treatments() -> Mapping[str, Treatment]:
    """Return every treatment by name: the engine's registry of recipes, and the declared variants."""
    found = {
        name: Treatment(name=name, about=f"the recipe {name}", recipe=recipe)
        for name, recipe in RECIPES.items()
    }
    found.update({treatment.name: treatment for treatment in _AUTHORS})
    return found
