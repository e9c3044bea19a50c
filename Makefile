# make run      from a fresh clone: the main job
# make test     everything CI runs
# make help     the other targets
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help run install test lint types unit test-system format parity benchmark clean

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The core and what the main job needs (no torch); the development environment has a stamp of its own.
$(VENV)/run.stamp: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install -c constraints.txt -e '.[report]'
	@touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install -c constraints.txt -e '.[dev]'
	@touch $@

run: $(VENV)/run.stamp  ## the main job, from a fresh clone: the paper's first experiment
	$(BIN)/inalu reproduce exp1 --output inalu-report

install: $(VENV)/dev.stamp  ## the full development environment in .venv

test: $(VENV)/dev.stamp  ## lint, types, tests, doctests of the documentation: all that CI runs
	@$(MAKE) --no-print-directory lint types unit

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev.stamp
	$(BIN)/mypy

unit: $(VENV)/dev.stamp
	$(BIN)/pytest -n 2 -m 'not system'

test-system: $(VENV)/dev.stamp  ## tests that drive chromium and LibreOffice
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || echo 'chromium is missing: apt-get install chromium (Debian, Ubuntu)'
	@command -v soffice >/dev/null || echo 'LibreOffice is missing: apt-get install libreoffice-calc (Debian, Ubuntu)'
	$(BIN)/pytest -m system

parity: $(VENV)/dev.stamp  ## whole trainings on all backends, compared statistically
	$(BIN)/python benchmarks/parity.py

benchmark: $(VENV)/dev.stamp  ## the engine beside PyTorch, compiled PyTorch and JAX
	$(BIN)/inalu benchmark engine

format: $(VENV)/dev.stamp  ## rewrite the code in the one format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## forget the environments and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
