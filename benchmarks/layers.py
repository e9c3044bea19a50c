"""The whole INALU layer, forward and backward, beside the literal sign product alone and beside nn.Linear.

    python benchmarks/layers.py [--json] [--threads 2] [--rows 256] [--inputs 512] [--outputs 512]

The literal sign product is the equation as it stands, a tensor [B, I, O]; the INALU layer contains the sign
product, both paths and the gate. Each time is the best of several, taken in turns; it is printed only after the
layer has agreed with the literal equations. Memory is the largest sum of live tensors during a call.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable
from itertools import accumulate
from time import perf_counter

import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

import inalu
from inalu import INALU
from inalu.layers import functional as F

Call = Callable[[], object]


def literal_sign(x: Tensor, w: Tensor) -> Tensor:
    """Equations (msm) and (msv), literally."""
    return (torch.sign(x)[:, :, None] * w.abs() + 1 - w.abs()).prod(1)


def check() -> None:
    """Stop unless the sign product equals the literal one, in value and gradient."""
    x = torch.randn(16, 20, dtype=torch.float64)
    x[0, :5] = 0
    w = torch.empty(20, 8, dtype=torch.float64).uniform_(-1, 1).requires_grad_()
    c = torch.randn(16, 8, dtype=torch.float64)
    for ours, literal in zip(
        (F.sign_vector(x, w), *torch.autograd.grad(F.sign_vector(x, w), w, c)),
        (literal_sign(x, w), *torch.autograd.grad(literal_sign(x, w), w, c)),
        strict=True,
    ):
        torch.testing.assert_close(ours, literal)


def cases(rows: int, inputs: int, outputs: int) -> dict[str, Call]:
    """Return what is timed, by name: forward and backward, to the inputs and all parameters."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(rows, inputs, generator=generator).requires_grad_()
    cotangent = torch.randn(rows, outputs, generator=generator)
    # Weights over the whole of (-1, 1), so that factors of either sign occur.
    layer = INALU(inputs, outputs, law="uniform2", generator=generator)
    linear = nn.Linear(inputs, outputs)
    w = layer.effective_weights()["W_m"].detach().requires_grad_()

    def both(module: nn.Module) -> Call:
        leaves = [x, *module.parameters()]
        return lambda: torch.autograd.grad(module(x), leaves, cotangent)

    return {
        "linear": both(linear),
        "inalu": both(layer),
        "sign": lambda: torch.autograd.grad(F.sign_vector(x, w), w, cotangent),
        "literal sign": lambda: torch.autograd.grad(literal_sign(x.detach(), w), w, cotangent),
    }


def best_times(calls: dict[str, Call], rounds: dict[str, int]) -> dict[str, float]:
    """Return the shortest time of each call in milliseconds, the calls taking turns."""
    best = dict.fromkeys(calls, float("inf"))
    for call in calls.values():
        call()
    for number in range(max(rounds.values())):
        for name, call in calls.items():
            if number < rounds[name]:
                start = perf_counter()
                call()
                best[name] = min(best[name], 1e3 * (perf_counter() - start))
    return best


def peak_bytes(call: Call) -> int:
    """Return the most bytes that tensors made during a call held at one time."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        call()
    events = record.profiler.kineto_results.events()
    changes = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    return max(accumulate(size for _, size in changes), default=0)


def measure(rows: int, inputs: int, outputs: int, threads: int) -> dict[str, object]:
    """Return all figures, with the machine and the versions."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    check()
    calls = cases(rows, inputs, outputs)
    times = best_times(calls, {"linear": 60, "inalu": 60, "sign": 60, "literal sign": 4})
    memory = {name: peak_bytes(call) for name, call in calls.items()}
    floats = rows * inputs + inputs * outputs + rows * outputs
    return {
        "rows": rows,
        "inputs": inputs,
        "outputs": outputs,
        "threads": threads,
        "milliseconds": times,
        "peak_bytes": memory,
        "literal_sign_over_inalu": times["literal sign"] / times["inalu"],
        "inalu_over_linear": times["inalu"] / times["linear"],
        "inalu_peak_in_units_of_BI_IO_BO": memory["inalu"] / (4 * floats),
        "machine": f"{platform.machine()} {platform.processor()}".strip(),
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "inalu": inalu.__version__,
        },
    }


def main(arguments: list[str]) -> None:
    """Measure and print, for people or as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    for name, value in (("rows", 256), ("inputs", 512), ("outputs", 512), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args(arguments)
    found = measure(options.rows, options.inputs, options.outputs, options.threads)
    if options.json:
        print(json.dumps(found, indent=2))
        return
    print(f"B={options.rows} I={options.inputs} O={options.outputs}, {options.threads} threads, float32")
    print(f"{'forward and backward':24}{'ms':>10}{'peak MB':>10}")
    for name, label in (
        ("linear", "nn.Linear"),
        ("inalu", "the whole INALU layer"),
        ("sign", "its sign product"),
        ("literal sign", "literal sign product"),
    ):
        print(f"{label:24}{found['milliseconds'][name]:10.2f}{found['peak_bytes'][name] / 1e6:10.1f}")
    print(
        f"The layer is {found['literal_sign_over_inalu']:.0f} times as fast as the literal sign product alone,"
    )
    print(f"costs {found['inalu_over_linear']:.1f} linear layers, and holds at most")
    print(f"{found['inalu_peak_in_units_of_BI_IO_BO']:.1f} times B·I + I·O + B·O numbers.")


if __name__ == "__main__":
    main(sys.argv[1:])
