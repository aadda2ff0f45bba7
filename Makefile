# Two commands do everything: `make run` and `make test`. The environment lives in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BENCH := $(VENV)/.bench

# Every process that is started imports the same libraries: what Python makes of them is kept, also where the
# environment says otherwise. Without, a command takes three times as long to start.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test test-slow lint bench docs package clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(STAMP): pyproject.toml constraints.txt tools/environment.sh
	@PYTHON="$(PYTHON)" tools/environment.sh $(VENV)
	@touch $@

run: $(STAMP)  ## environment, install, then the demo
	@$(BIN)/equipoise demo

test: lint  ## environment, install, lint, types, tests
	$(BIN)/pytest -n auto --dist worksteal -m "not slow"

test-slow: $(STAMP)  ## long statistical runs
	$(BIN)/pytest -m slow

lint: $(STAMP)  ## style, types, import direction
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(BENCH): $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[bench]'
	@touch $@

bench: $(BENCH)  ## speed, with what it is compared with
	@$(BIN)/python benchmarks/speed/steps.py
	@$(BIN)/python benchmarks/speed/encoding.py
	@$(BIN)/python benchmarks/speed/startup.py
	@$(BIN)/python benchmarks/speed/lab.py
	@$(BIN)/python benchmarks/speed/replay.py
	@$(BIN)/python benchmarks/speed/commits.py
	@$(BIN)/python benchmarks/live/calls.py
	@$(BIN)/python benchmarks/live/speed.py
	@$(BIN)/python benchmarks/pages/support_recovery.py
	@$(BIN)/python benchmarks/speed/peers.py

docs: $(STAMP)  ## pages into site/, offline, warnings are errors
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

package: $(STAMP)  ## wheel and sdist into dist/, checked, installed and used
	@$(BIN)/python tools/package.py

clean:  ## remove the environment and everything built
	rm -rf $(VENV) site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
