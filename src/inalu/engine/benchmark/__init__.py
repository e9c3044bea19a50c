"""The engine beside its rivals, on this machine: ``inalu benchmark engine``.

Everything is timed on the same steps: data, weights and mini-batches of `cases`, the data step of the recipe
PAPER (forward, loss, gradients, clipping, Adam), in the first ten epochs, where no regulariser acts. What is
made once is not timed: drawing data, building networks, compiling. Read `run.measure` first.
"""

from __future__ import annotations

from inalu.engine.benchmark.run import measure as measure
from inalu.engine.benchmark.text import render as render
