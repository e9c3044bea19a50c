"""The command line: one verb a file, and main.py, which only registers them."""
