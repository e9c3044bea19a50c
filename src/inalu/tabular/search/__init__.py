"""The search for formulas in stages; every stage proposes, none of them decides (see evidence.py)."""
