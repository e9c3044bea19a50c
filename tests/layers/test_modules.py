"""The cells behave as PyTorch users expect."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from inalu import INALU, NAC, NALU, InvalidArgument
from inalu.layers.laws import Law, Normal

CELLS = [
    (NAC, {}),
    (NALU, {"gate": "matrix"}),
    (INALU, {}),
    (INALU, {"weights": "shared", "gate": "vector", "omega": None, "sign": "published"}),
]
each_cell = pytest.mark.parametrize(("cell", "options"), CELLS, ids=["nac", "nalu", "inalu", "inalu-options"])


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make(cell, options, **more):
    return cell(3, 2, law="uniform2", generator=seeded(0), **options, **more)


def rows(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=seeded(1))


def equal(a: nn.Module, b: nn.Module) -> bool:
    return all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))


def stack(layers: list[nn.Module]) -> dict[str, torch.Tensor]:
    names = [name for name, _ in layers[0].named_parameters()]
    return {name: torch.stack([m.get_parameter(name).detach() for m in layers]) for name in names}


def test_parameters_have_the_papers_names_and_shapes():
    shapes = {name: tuple(p.shape) for name, p in INALU(3, 2).named_parameters()}
    square = (3, 2)
    assert shapes == {"W_hat_a": square, "M_hat_a": square, "W_hat_m": square, "M_hat_m": square, "G": (2,)}
    shapes = {
        name: tuple(p.shape) for name, p in INALU(3, 2, weights="shared", gate="vector").named_parameters()
    }
    assert shapes == {"W_hat": square, "M_hat": square, "G": (3, 1)}
    assert tuple(NALU(3, 2, gate="matrix").G.shape) == square


@each_cell
def test_every_parameter_is_trained(cell, options):
    # Two published ports compute W once, in the constructor, and never train it.
    layer = make(cell, options)
    layer(rows(8, 3)).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().min() > 0 for p in layer.parameters())


class Largest(TorchDispatchMode):
    """Notes the most elements of any tensor that an operation returns."""

    def __init__(self):
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for t in pytree.tree_leaves(result):
            if isinstance(t, torch.Tensor):
                self.elements = max(self.elements, t.numel())
        return result


@each_cell
@pytest.mark.parametrize("mapped", [False, True], ids=["eager", "mapped"])
def test_no_tensor_grows_with_rows_inputs_and_outputs(cell, options, mapped):
    sizes = b, i, o = 24, 20, 16
    layer = cell(i, o, law="uniform2", generator=seeded(0), **options)
    with torch.no_grad():
        # Zeros among factors and inputs, so that the rare paths run too.
        for name, p in layer.named_parameters():
            p[0] = 1000.0 if name != "G" else 0.0
    x = rows(b, i) * (rows(b, i) > -0.5)
    x.requires_grad_()
    with Largest() as largest:
        y = torch.func.vmap(layer)(x[None])[0] if mapped else layer(x)
        torch.autograd.grad(y.sum(), [x, *layer.parameters()], materialize_grads=True)
    # Two masks of the inputs stand side by side, and so do their factors.
    assert largest.elements <= 2 * max(b * i, i * o, b * o)
    assert 2 * max(b * i, i * o, b * o) < b * i * o / 5, sizes


@each_cell
def test_any_leading_dimensions(cell, options):
    layer, x = make(cell, options), rows(4, 5, 3)
    y = layer(x)
    assert y.shape == (4, 5, 2)
    torch.testing.assert_close(layer(x[2]), y[2])
    torch.testing.assert_close(layer(x[2, 3]), y[2, 3])
    assert layer(x[:0]).shape == (0, 5, 2)
    assert layer(x.transpose(0, 1)).shape == (5, 4, 2)


@each_cell
def test_initial_values(cell, options):
    law = Law(G=Normal(3, 0), M_hat=Normal(5, 0), W_hat=Normal(7, 0))
    layer = cell(3, 2, law=law, **options)
    expected = {"G": 3.0, "M": 5.0, "W": 7.0}
    assert all((p == expected[name[0]]).all() for name, p in layer.named_parameters())
    same = [make(cell, options), make(cell, options).reset_parameters(generator=seeded(0))]
    assert equal(*same)
    assert layer.reset_parameters(generator=seeded(0), law="uniform2") is layer
    assert equal(same[0], layer)


def test_the_default_law_is_the_papers():
    layer = INALU(200, 200, generator=seeded(0))
    for name, mean in (("W_hat_a", 1), ("M_hat_m", -1), ("G", 0)):
        p = layer.get_parameter(name)
        assert abs(p.mean().item() - mean) < 0.03
        assert abs(p.std().item() - 0.1) < 0.03


@each_cell
def test_device_and_dtype(cell, options):
    layer = cell(3, 2, device="meta", dtype=torch.float64, **options)
    assert all(p.device.type == "meta" and p.dtype == torch.float64 for p in layer.parameters())
    layer = make(cell, options).double()
    assert layer(rows(4, 3).double()).dtype == torch.float64
    torch.testing.assert_close(layer(rows(4, 3).double()).float(), make(cell, options)(rows(4, 3)))


@each_cell
def test_copies_and_files(cell, options, tmp_path):
    from safetensors.torch import load_file, save_file

    layer, x = make(cell, options), rows(6, 3)
    y = layer(x)
    assert torch.equal(copy.deepcopy(layer)(x), y)
    assert torch.equal(pickle.loads(pickle.dumps(layer))(x), y)
    save_file(layer.state_dict(), tmp_path / "layer.safetensors")
    other = cell(3, 2, **options)
    other.load_state_dict(load_file(tmp_path / "layer.safetensors"))
    assert torch.equal(other(x), y)


@each_cell
def test_repr_builds_the_same_layer(cell, options):
    layer = make(cell, options)
    again = eval(repr(layer))
    assert repr(again) == repr(layer)
    again.load_state_dict(layer.state_dict())
    assert torch.equal(again(rows(4, 3)), layer(rows(4, 3)))


@each_cell
def test_functional_call_and_vmap(cell, options):
    layers = [cell(3, 2, law="uniform2", generator=seeded(n), **options) for n in range(4)]
    stacked = stack(layers)
    # Zeros make every path of the sign product run.
    x = rows(4, 8, 3) * (rows(4, 8, 3) > -0.5)

    def loss(parameters, x):
        return torch.func.functional_call(layers[0], parameters, (x,)).square().mean()

    gradients, values = torch.func.vmap(torch.func.grad_and_value(loss))(stacked, x)
    for n, layer in enumerate(layers):
        value = layer(x[n]).square().mean()
        torch.testing.assert_close(values[n], value)
        for name, g in zip(gradients, torch.autograd.grad(value, list(layer.parameters())), strict=True):
            torch.testing.assert_close(gradients[name][n], g)
    shared = {name: p[0] for name, p in stacked.items()}
    per_row = torch.func.vmap(torch.func.grad(loss), (None, 0))(shared, x)
    alone = torch.func.grad(loss)(shared, x[2])
    for name in shared:
        torch.testing.assert_close(per_row[name][2], alone[name])


# Dynamo and Inductor call parts of torch that torch itself warns of.
dynamo = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@dynamo
def test_compile_fullgraph():
    layer, x = INALU(3, 2, law="uniform2", generator=seeded(0)), rows(8, 3)
    x[0] = 0
    x.requires_grad_()

    def gradients(call):
        return torch.autograd.grad(call(x).square().sum(), [x, *layer.parameters()])

    # One graph, forward and backward; aot_eager leaves out only that graph's C++, which takes a minute.
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), layer(x))
    torch.testing.assert_close(gradients(compiled), gradients(layer))


@dynamo
def test_compile_of_a_mapped_layer():
    layers = [INALU(3, 2, law="uniform2", generator=seeded(n)) for n in range(3)]
    stacked = stack(layers)

    def loss(parameters, x):
        return torch.func.functional_call(layers[0], parameters, (x,)).square().mean()

    mapped = torch.func.vmap(torch.func.grad(loss), (0, None))
    compiled = torch.compile(mapped, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(stacked, rows(8, 3)), mapped(stacked, rows(8, 3)))


@each_cell
def test_autocast_computes_in_full_precision(cell, options):
    layer, x = make(cell, options), rows(8, 3)
    expected = layer(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(layer(x), expected)
        # What a layer before it hands on in half precision is taken as it is.
        assert torch.equal(layer(x.bfloat16()), layer(x.bfloat16().float()))
        y = nn.Sequential(nn.Linear(3, 3), layer)(x).sum()
        y.backward()
    assert y.dtype == torch.float32
    assert all(p.grad.dtype == torch.float32 and p.grad.isfinite().all() for p in layer.parameters())


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_onnx_export_has_equal_outputs(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    network = nn.Sequential(
        INALU(3, 4, law="uniform2", generator=seeded(0)),
        NALU(4, 4, gate="matrix", generator=seeded(1)),
        NAC(4, 2, generator=seeded(2)),
    ).eval()
    x = rows(16, 3)
    x[0], x[1, 0] = 0, 0
    path = str(tmp_path / "network.onnx")
    batch = torch.export.Dim("batch", min=2, max=4096)
    torch.onnx.export(network, (x,), path, dynamo=True, dynamic_shapes=({0: batch},), verbose=False)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for part in (x, x[:5]):
        (found,) = session.run(None, {session.get_inputs()[0].name: part.numpy()})
        torch.testing.assert_close(torch.from_numpy(found), network(part).detach(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: INALU(0, 1), "in_features must be a positive integer; got 0."),
        (lambda: NAC(2, 1.5), "out_features must be a positive integer; got 1.5."),
        (lambda: INALU(2, 1, weights="indipendent"), "Did you mean 'independent'?"),
        (
            lambda: INALU(2, 1, gate="scalar"),
            "gate must be one of 'constant', 'vector', 'matrix'; got 'scalar'.",
        ),
        (lambda: NALU(2, 1, gate="constant"), "gate must be one of 'vector', 'matrix'"),
        (lambda: INALU(2, 1, sign="publised"), "sign must be True, False or 'published'; got 'publised'."),
        (lambda: INALU(2, 1, omega=-1.0), "omega=None switches clipping off"),
        (lambda: INALU(2, 1, omega=float("nan")), "omega must be finite and positive, or None"),
        (lambda: NALU(2, 1, epsilon=0), "epsilon must be finite and positive; got 0."),
        (lambda: INALU(2, 1, law="papper"), "Did you mean 'paper'?"),
        (
            lambda: INALU(2, 1)(torch.ones(4, 3)),
            "x must have in_features=2 as its last dimension; got (4, 3).",
        ),
        (lambda: INALU(2, 1)(torch.tensor(1.0)), "x must have in_features=2 as its last dimension; got ()."),
        (lambda: INALU(2, 1)(torch.ones(4, 2, dtype=torch.int64)), "Convert one: x.to(torch.float32)"),
    ],
)
def test_errors_name_the_argument_the_rule_and_the_fix(make, message):
    with pytest.raises(InvalidArgument) as error:
        make()
    assert message in str(error.value)


def test_options_are_keyword_only():
    with pytest.raises(TypeError):
        INALU(2, 1, "shared")
