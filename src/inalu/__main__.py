"""``python -m inalu`` is the command ``inalu``."""

from inalu.cli.main import main

if __name__ == "__main__":
    main()
