"""The examples do what they say."""

import importlib.util
from pathlib import Path


def test_an_inalu_inside_a_network_extrapolates_and_linear_layers_do_not(capsys):
    path = Path(__file__).parents[1] / "examples" / "train_a_layer.py"
    spec = importlib.util.spec_from_file_location("train_a_layer", path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    errors = example.main(seed=0)
    near, far = errors["INALU and Linear"]
    assert max(near, far) < 1e-4
    near, far = errors["Linear and ReLU"]
    assert near < 0.1
    assert far > 0.5
    assert "1.19 * price * quantity + 0.5 * weight + 4.9\n" in capsys.readouterr().out
