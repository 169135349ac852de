# demo, test, check, bench and docs each set up .venv as far as they need it; then nothing is
# installed again until pyproject.toml or constraints.txt changes.

# The newest Python of those supported that runs here; another one: make PYTHON=/path/to/python test
SUPPORTED = import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))
PYTHON ?= $(shell for python in python3.14 python3.13 python3.12 python3.11 python3 python; do \
	$$python -c "$(SUPPORTED)" 2>/dev/null && echo $$python && break; done)

BIN = .venv/bin
PIP = $(BIN)/python -m pip install --constraint constraints.txt
# The networks are small, and tests run side by side.
export OMP_NUM_THREADS ?= 1

.PHONY: demo test check bench docs

demo: .venv/.run
	$(BIN)/poker-rl train game=kuhn algo=ppo
	@run=$$(ls -td outputs/kuhn/ppo/* | head -1); echo; $(BIN)/poker-rl evaluate run=$$run \
	&& printf '\nThe run is in %s\nIts curves: %s/tensorboard --logdir outputs, then open http://localhost:6006\n' $$run $(BIN)

test: .venv/.dev
	$(BIN)/python -m pytest -n auto

check: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict poker_rl

bench: .venv/.bench
	$(BIN)/python scripts/benchmark_libraries.py
	$(BIN)/python scripts/benchmark_workers.py

docs: .venv/.docs
	$(BIN)/python scripts/build_docs.py
	@echo 'Open build/site/index.html, or with search: $(BIN)/python -m http.server --directory build/site'

.venv/.python:
	@test -n "$(PYTHON)" || { echo "Python 3.11, 3.12, 3.13 or 3.14 is needed, none was found" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	touch $@

.venv/.run: .venv/.python pyproject.toml constraints.txt
	$(PIP) --editable .
	touch $@

.venv/.dev: .venv/.python pyproject.toml constraints.txt
	$(PIP) --editable '.[dev,docs,export,gym,joblib,mlflow,play,ray,review,slurm,trackio,tune,wandb,watch]'
	touch $@

.venv/.bench: .venv/.python pyproject.toml constraints.txt
	$(PIP) --editable '.[bench]'
	touch $@

.venv/.docs: .venv/.python pyproject.toml constraints.txt
	$(PIP) --editable '.[docs]'
	touch $@
