"""From a table to its formulas: which columns are computed from which, and which rows break it."""
