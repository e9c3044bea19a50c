"""How often ROBUST learns the formula; see `python -m benchmarks.robust --help` and docs/robust.md."""
