"""Benchmarks of ``inalu audit``; ``__main__.py`` says what there is."""

import os

# As the command line does: the matrices of a search are small, and threads inside the linear algebra only wait.
for _library in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_library, "1")
