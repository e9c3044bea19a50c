"""No NaN, whatever finite numbers go in: eight layers deep, forward and backward, in float32."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from inalu import INALU, NALU
from inalu.layers import stable
from inalu.layers.sign import sign_product

LARGEST = float(np.finfo(np.float32).max)
# Any finite number, and often the ones where something breaks.
numbers = st.one_of(
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, LARGEST, -LARGEST, 1e-7, -1e-7, 1e-45, -1e-38, 1.0, -1.0]),
)
parameters = st.one_of(
    st.floats(-4, 4, width=32), st.sampled_from([0.0, 40.0, -40.0, 1000.0, -1000.0, LARGEST, -LARGEST])
)
options = st.fixed_dictionaries(
    {
        "weights": st.sampled_from(["independent", "shared"]),
        "gate": st.sampled_from(["constant", "vector", "matrix"]),
        "sign": st.sampled_from([True, False, "published"]),
    }
)
RARELY = settings(max_examples=50, deadline=None, derandomize=True)


def finite(*tensors: torch.Tensor) -> bool:
    return all(bool(t.isfinite().all()) for t in tensors)


@RARELY
@given(st.data(), st.integers(1, 4), options)
def test_eight_layers_are_finite_forward_and_backward(data, width, options):
    network = torch.nn.Sequential(*[INALU(width, width, **options) for _ in range(8)])
    size = sum(p.numel() for p in network.parameters())
    values = data.draw(arrays(np.float32, min(size, 40), elements=parameters))
    torch.nn.utils.vector_to_parameters(torch.from_numpy(np.resize(values, size)), network.parameters())
    x = torch.from_numpy(data.draw(arrays(np.float32, (3, width), elements=numbers))).requires_grad_()
    cotangent = torch.from_numpy(data.draw(arrays(np.float32, (3, width), elements=numbers)))
    y = network(x)
    gradients = torch.autograd.grad(y, [x, *network.parameters()], cotangent, materialize_grads=True)
    assert finite(y, *gradients)
    # The mapped program takes the paths that cannot ask for values.
    with torch.no_grad():
        assert finite(torch.func.vmap(network)(x[:, None]))


@RARELY
@given(st.data(), st.integers(1, 5), st.integers(1, 4), st.integers(1, 3))
def test_matmul_saturates_instead_of_overflowing(data, rows, inner, columns):
    a = torch.from_numpy(data.draw(arrays(np.float32, (rows, inner), elements=numbers)))
    b = torch.from_numpy(data.draw(arrays(np.float32, (inner, columns), elements=numbers)))
    # In float64 neither a product nor a sum of products of float32 numbers overflows.
    truth = a.double() @ b.double()
    terms = a.double().abs() @ b.double().abs()
    for product in (stable.matmul(a, b), stable._scaled_product(a, b)):
        assert finite(product)
        # Where scaling was needed, what is 1e-29 of the largest terms may be lost.
        allowed = 1e-5 * terms + 1e-29 * a.abs().amax() * b.abs().amax() + 1e-37
        error = (product.double() - truth.clamp(-LARGEST, LARGEST)).abs()
        assert bool((error <= allowed).all())


def test_matmul_scales_no_more_than_it_must():
    # Terms that cancel, and of which three in a row overflow.
    a = torch.full((1, 8), 2.0**64)
    b = torch.tensor([1.0, 1, 1, 1, -1, -1, -1, -1])[:, None] * 1.5 * 2.0**62
    assert stable.matmul(a, b).item() == 0.0
    assert stable._scaled_product(a, b).item() == 0.0
    # A small entry beside one that meets nothing: scaling its row as well would leave it two digits.
    row, column = torch.tensor([[1.0, 1e-20]]), torch.tensor([[0.0], [3e38]])
    torch.testing.assert_close(stable._scaled_product(row, column), torch.tensor([[3e18]]))


# (a, b, g) [20, 20] each → a result; the sign vector's weights serve for negative inputs and for zeros.
OPERATIONS = {
    "matmul": (1, lambda a, b, g: stable.matmul(a, b.mT)),
    "log": (1, lambda a, b, g: stable.log_magnitude(a, 1e-7)),
    "exp": (1, lambda a, b, g: stable.exp_below(a, 20.0)),
    "mix": (1, lambda a, b, g: stable.mix(g.sigmoid(), a, b)),
    "mix with a gate a row": (1, lambda a, b, g: stable.mix(g.sigmoid()[:, :1], a, b)),
    "mix with one gate": (1, lambda a, b, g: stable.mix(g.sigmoid()[0], a, b)),
    "product": (1, lambda a, b, g: stable.product(a.clamp(-5e8, 5e8), b.clamp(-1, 1))),
    "sign": (3, lambda a, b, g: sign_product(a, b.clamp(-1, 1))),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_gradient_ends_at_an_eighth_of_the_largest_number(name):
    eighths, call = OPERATIONS[name]
    # Many rows, so that sums over them overflow as well; and numbers whose exp is large and not clipped.
    values = torch.tensor([LARGEST, -LARGEST, 19.9, 1e-6, -1e-6, 1.0, -1.0, 0.5000001, 0.4, 0.0])
    generator = torch.Generator().manual_seed(0)
    for kinds in (10, 8, 7, 1) * 5:
        a, b, g = (
            values[torch.randint(kinds, (20, 20), generator=generator)].requires_grad_() for _ in range(3)
        )
        y = call(a, b, g)
        cotangent = torch.full_like(y, LARGEST) * torch.randn(y.shape, generator=generator).sign()
        if kinds < 8:
            cotangent = cotangent.abs()
        assert finite(y)
        for gradient in torch.autograd.grad(y, [a, b, g], cotangent, materialize_grads=True):
            assert float(gradient.abs().max()) <= eighths * LARGEST / 8


@pytest.mark.parametrize("shape", [(40,), (40, 1)], ids=["constant", "vector"])
def test_a_gates_gradient_sums_what_cancels(shape):
    g = torch.zeros(shape, requires_grad=True)
    half = torch.full((40, 40), LARGEST / 8)
    half[20:] *= -1
    y = stable.mix(g, torch.ones(40, 40), -torch.ones(40, 40))
    (gradient,) = torch.autograd.grad(y, g, half if len(shape) == 1 else half.T)
    # But for the rounding of sums that are larger than the largest number.
    assert float(gradient.abs().max()) < 1e-5 * LARGEST


def test_the_papers_example_overflows_the_original_and_not_inalu():
    # "four NALU layers with four inputs, four outputs neurons each": x^4 in each layer, x^256 in the last.
    x = torch.full((1, 4), 10.0, requires_grad=True)
    for cell, options, overflows in (
        (NALU, {}, True),
        (INALU, {"omega": None}, True),
        (INALU, {}, False),
        (INALU, {"weights": "shared"}, False),
    ):
        network = torch.nn.Sequential(*[cell(4, 4, **options) for _ in range(4)])
        with torch.no_grad():
            for name, p in network.named_parameters():
                p.fill_(0.0 if name.endswith("G") else 20.0)
        y = network(x)
        gradients = torch.autograd.grad(y.sum(), [x, *network.parameters()])
        assert finite(y, *gradients) is not overflows


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_counts_signs_right(dtype):
    # 301 negative factors: a count that bfloat16 does not have.
    layer = INALU(301, 1).to(dtype).requires_grad_(False)
    for name, p in layer.named_parameters():
        p.fill_(-1000.0 if name == "G" else 1000.0)
    layer.W_hat_m.fill_(1000.0)
    y = layer(-torch.ones(1, 301, dtype=dtype))
    assert y.dtype == dtype
    assert y.item() == -1.0
    # exp(ω) is beyond float16: the largest number stands for what is.
    assert finite(layer(torch.full((1, 301), -300.0, dtype=dtype)))
