"""Outputs and every gradient against the paper's equations in float64, and cases computed by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from inalu import INALU, NAC, NALU
from inalu.layers import functional as F

DTYPES = [torch.float32, torch.float64]
SIZES = [(1, 1), (1, 5), (2, 1), (3, 4), (10, 2), (64, 64), (300, 1), (300, 64)]
# Every option at least once, and the paper's two models.
CELLS = [
    (NAC, {}),
    (NALU, {}),
    (NALU, {"gate": "matrix"}),
    (INALU, {}),
    (INALU, {"weights": "shared"}),
    (INALU, {"gate": "vector"}),
    (INALU, {"weights": "shared", "gate": "matrix"}),
    (INALU, {"sign": False}),
    (INALU, {"sign": "published"}),
    (INALU, {"omega": None}),
    (INALU, {"omega": 3.0, "epsilon": 0.1}),
]


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def inputs(kind: str, rows: int, columns: int, dtype: torch.dtype) -> torch.Tensor:
    x = torch.randn(rows, columns, generator=seeded(3), dtype=dtype)
    if kind == "zeros":
        x[torch.rand(x.shape, generator=seeded(4)) < 0.3] = 0
    elif kind == "tiny":
        x = x * 10 ** torch.empty_like(x).uniform_(-30, 0, generator=seeded(5))
    elif kind == "huge":
        x = x * 10 ** torch.empty_like(x).uniform_(0, 30, generator=seeded(5))
    return x


def assert_equal(errors, layer, x):
    cotangent = torch.randn(len(x), layer.out_features, generator=seeded(9), dtype=x.dtype)
    worst = errors(layer, x, cotangent)
    assert worst is None or all(error <= 1 for error in worst.values()), worst
    return worst


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("cell", "options"), CELLS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_equals_the_literal_equations(errors, cell, options, dtype):
    compared = 0
    for number, (i, o) in enumerate(SIZES):
        law = ("paper", "uniform2", "wide", "signs")[number % 4]
        layer = cell(i, o, law=law, generator=seeded(number), dtype=dtype, **options)
        for kind in ("normal", "zeros", "tiny"):
            compared += assert_equal(errors, layer, inputs(kind, 7, i, dtype)) is not None
    bounded = cell is NAC or getattr(layer, "omega", None) is not None
    assert compared == 3 * len(SIZES) if bounded else compared > 2 * len(SIZES)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("weights", ["independent", "shared"])
def test_equals_the_literal_equations_for_huge_inputs(errors, weights, dtype):
    for number, (i, o) in enumerate(SIZES):
        layer = INALU(i, o, weights=weights, law="uniform2", generator=seeded(number), dtype=dtype)
        assert_equal(errors, layer, inputs("huge", 7, i, dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sums_in_log_space_are_off_by_8_units_of_their_terms_at_most(dtype):
    def wide(t):
        return t.detach().numpy().astype(np.longdouble)

    for number, (i, o) in enumerate(SIZES):
        layer = INALU(i, o, law=("uniform2", "wide")[number % 2], generator=seeded(number), dtype=dtype)
        w_hat, m_hat = wide(layer.W_hat_m), wide(layer.M_hat_m)
        w = np.tanh(w_hat) / (1 + np.exp(-m_hat))
        for kind in ("normal", "zeros", "tiny", "huge"):
            x = inputs(kind, 7, i, dtype)
            found = F.stable.matmul(
                F.stable.log_magnitude(x, layer.epsilon), layer.effective_weights()["W_m"].detach()
            )
            # ε as the layer's precision has it.
            log = np.log(np.maximum(np.abs(wide(x)), wide(torch.tensor(layer.epsilon, dtype=dtype))))
            allowed = 8 * torch.finfo(dtype).eps * (np.abs(log) @ np.abs(w))
            assert (np.abs(wide(found) - log @ w) <= allowed).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_exact_at_weights_0_half_1_and_snapped(errors, dtype):
    # tanh(W_hat) and σ(M_hat) that make |W| exactly 0, ½ and 1, in every combination with the inputs' signs.
    values = {0.0: (0.0, 3.0), 0.5: (40.0, 0.0), 1.0: (40.0, 40.0), -0.5: (-40.0, 0.0), -1.0: (-40.0, 40.0)}
    columns = list(itertools.product(values, repeat=3))
    layer = INALU(3, len(columns), dtype=dtype, generator=seeded(0))
    with torch.no_grad():
        for o, column in enumerate(columns):
            for i, w in enumerate(column):
                layer.W_hat_m[i, o], layer.M_hat_m[i, o] = values[w]
    assert torch.equal(layer.effective_weights()["W_m"].unique(), torch.tensor(sorted(values), dtype=dtype))
    x = torch.tensor(list(itertools.product([-2.0, 0.0, 3.0], repeat=3)), dtype=dtype)
    assert_equal(errors, layer, x)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sign_product_keeps_its_relative_precision(signs, dtype):
    # For given weights each factor is exact to an ulp, so the product is far better than its bound of 1e-5.
    literal, published = signs
    for i, o in SIZES[:6]:
        x = inputs("zeros", 16, i, dtype)
        w = torch.empty(i, o, dtype=dtype).uniform_(-1, 1, generator=seeded(1))
        for ours, theirs in ((F.sign_vector, literal), (F.published_sign_vector, published)):
            truth = theirs(x.double(), w.double())
            big = truth.abs() > 1e-30
            error = (ours(x, w).double() - truth).abs()[big] / truth.abs()[big]
            assert error.numel() == 0 or error.max() < 200 * torch.finfo(dtype).eps


def exact(layer, gate, w_a, w_m):
    far = {"a": w_a, "m": w_m}
    with torch.no_grad():
        for path, w in far.items():
            w = torch.tensor(w, dtype=layer.G.dtype)
            getattr(layer, f"W_hat_{path}").copy_(1000 * w)
            getattr(layer, f"M_hat_{path}").fill_(1000)
        layer.G.copy_(1000 * (2 * torch.tensor(gate) - 1))
    return layer


def test_by_hand_several_inputs_and_outputs():
    w_a = [[1, 0], [0, -1], [0, 1]]
    w_m = [[1, 0], [1, -1], [0, 1]]
    x = torch.tensor([[-2.0, 4.0, 3.0], [2.0, -4.0, -3.0], [-2.0, -4.0, 3.0]])
    products = exact(INALU(3, 2), [0, 0], w_a, w_m)(x)
    sums = exact(INALU(3, 2), [1, 1], w_a, w_m)(x)
    mixed = exact(INALU(3, 2), [0, 1], w_a, w_m)(x)
    torch.testing.assert_close(products, torch.tensor([[-8.0, 0.75], [-8.0, 0.75], [8.0, -0.75]]))
    torch.testing.assert_close(sums, torch.tensor([[-2.0, -1.0], [2.0, 1.0], [-2.0, 7.0]]))
    torch.testing.assert_close(mixed, torch.tensor([[-8.0, -1.0], [-8.0, 1.0], [8.0, 7.0]]))
    # The published index order gets the first column right or wrong by chance: here both are wrong somewhere.
    published = exact(INALU(3, 2, sign="published"), [0, 0], w_a, w_m)(x)
    assert (published[:, 0] * products[:, 0] < 0).any()
    assert (published[:, 1] * products[:, 1] < 0).any()
    torch.testing.assert_close(published.abs(), products.abs())


def test_published_sign_is_right_for_one_input_or_output():
    x = torch.randn(9, 4, generator=seeded(0))
    for i, o in ((4, 1), (1, 4)):
        w = torch.empty(i, o).uniform_(-1, 1, generator=seeded(1))
        assert torch.equal(F.published_sign_vector(x[:, :i], w), F.sign_vector(x[:, :i], w))


def test_all_improvements_off_is_nalu():
    for gate in ("vector", "matrix"):
        nalu = NALU(4, 3, gate=gate, law="uniform2", generator=seeded(0))
        inalu = INALU(4, 3, weights="shared", gate=gate, omega=None, sign=False)
        inalu.load_state_dict(nalu.state_dict())
        x = inputs("zeros", 20, 4, torch.float32)
        assert torch.equal(nalu(x), inalu(x))


@pytest.mark.parametrize(("cell", "options"), CELLS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_gradcheck(cell, options):
    layer = cell(3, 2, law="uniform2", generator=seeded(0), dtype=torch.float64, **options)
    names, values = zip(*layer.named_parameters(), strict=True)
    x = torch.randn(4, 3, generator=seeded(1), dtype=torch.float64).requires_grad_()

    def call(x, *parameters):
        return torch.func.functional_call(layer, dict(zip(names, parameters, strict=True)), (x,))

    assert torch.autograd.gradcheck(call, (x, *values))
    assert torch.autograd.gradgradcheck(call, (x, *values))


def test_clipped_parts_have_gradient_zero():
    x = torch.tensor([[1e-8, 0.0, -1e-7]], dtype=torch.float64, requires_grad=True)
    log = F.stable.log_magnitude(x, 1e-7)
    assert torch.autograd.grad(log.sum(), x)[0].tolist() == [[0.0, 0.0, 0.0]]
    z = torch.tensor([19.0, 20.0, 21.0], dtype=torch.float64, requires_grad=True)
    m = F.stable.exp_below(z, 20.0)
    assert torch.autograd.grad(m.sum(), z)[0].tolist() == [m[0].item(), 0.0, 0.0]
