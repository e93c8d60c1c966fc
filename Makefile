# Two commands matter: `make demo` and `make test`. Each sets up what it needs, once.

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PACKAGES := jobs transforms rules expectations

# The Python to build the environment with; without one named, the first good one is taken.
ifeq ($(origin PYTHON),undefined)
PYTHONS := python3 python3.13 python3.12 python3.11
else
PYTHONS := $(PYTHON)
endif
PYTHON ?= python3

# Processes that share the tests, each with a Spark of its own (up to 3 GB).
TEST_WORKERS ?= 2

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test check lint types test-slow bench lock clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## make .venv from the lock file and fetch Delta's two jars (once)

$(READY): requirements.lock pyproject.toml
	@python=; for name in $(PYTHONS); do \
	  if $$name -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then \
	    python=$$name; break; fi; done; \
	test -n "$$python" || { \
	  echo "setup: none of '$(PYTHONS)' is Python 3.11, 3.12 or 3.13; install one or name it: make PYTHON=/path/to/python" >&2; exit 1; }; \
	$$python -P jobs/jars.py --java || exit 1; \
	echo "setup: making $(VENV) with $$python (some minutes the first time)"; \
	$$python -m venv --clear $(VENV) || { \
	  echo "setup: $$python cannot make a virtual environment; install its venv module (Debian: python3-venv)" >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --use-pep517 --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)/python -m firstfault.jobs.jars
	@touch $@

demo: setup ## a rehearsed fleet, end to end, into build/demo
	@$(BIN)/firstfault demo --lake build/demo

# A file's tests stay together, for the frames that they share, and files go in order: the whole nights come early.
test: lint types ## everything that must pass before a change is merged
	@$(BIN)/python -m pytest -n $(TEST_WORKERS) --dist loadfile --no-loadscope-reorder

check: lint types ## the fast half of `make test`: no tests run

lint: setup ## style, format and import contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports
	@$(BIN)/firstfault rules lock --check

types: setup ## mypy, strict, over the folders under their package names
	@mkdir -p build/types/firstfault
	@for name in $(PACKAGES); do ln -sfn ../../../$$name build/types/firstfault/$$name; done
	@MYPYPATH=build/types $(BIN)/mypy $(PACKAGES:%=-p firstfault.%)

test-slow: setup ## the long and large tests
	@$(BIN)/python -m pytest -m slow

bench: setup ## measurements; prints a table and writes bench.json
	@$(BIN)/python -m pytest -m bench -s

lock: setup ## resolve pyproject.toml afresh into requirements.lock
	@$(BIN)/python -m venv build/lock
	@build/lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	@env -u PIP_FIND_LINKS -u UV_FIND_LINKS build/lock/bin/uv pip compile pyproject.toml --group dev --upgrade \
	  --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --quiet -o requirements.lock

clean: ## remove the environment and everything built
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
