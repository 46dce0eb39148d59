# Everything a person types, from a clean clone: demo, test, check. Each sets up .venv first, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
PACKAGE_LINK := .typecheck/executionrag

.PHONY: help setup demo mlflow test test-slow bench bench-large check format clean

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml constraints.txt
	@echo "Setting up $(VENV): about 2.7 GB of Python packages on disk (PyTorch, sentence-transformers, DSPy, …), from pip's package index."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11 …")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[local,dev,mlflow,onnx,optimize]'
	@touch $@

setup: $(STAMP) ## Make .venv and install everything into it

demo: $(STAMP) ## Answer three multi-hop questions with the embedded LM, and watch
	@$(BIN)/executionrag demo $(DEMO_FLAGS)

# On loopback only: the UI asks nobody who they are.
mlflow: $(STAMP) ## Show the tracked runs (mlflow/mlflow.db) in MLflow's UI on 127.0.0.1
	@mkdir -p mlflow
	@MLFLOW_DISABLE_TELEMETRY=true $(BIN)/mlflow ui --backend-store-uri 'sqlite:///$(CURDIR)/mlflow/mlflow.db' --default-artifact-root '$(CURDIR)/mlflow/artifacts' --host 127.0.0.1 --port $(or $(MLFLOW_PORT),5000)

test: $(STAMP) ## Run the tests (offline, no LM)
	$(BIN)/python -m pytest -m "not slow" $(PYTEST_FLAGS)

test-slow: $(STAMP) ## Run the tests that use the embedded LM
	$(BIN)/python -m pytest -m slow $(PYTEST_FLAGS)

# Real passages and questions come from a folder of benchmark files, which are not part of the project: make bench DATA=DIR
bench: $(STAMP) ## Measure everything but the LM into docs/benchmarks.md; fails where a target is missed (DATA=DIR of benchmark files)
	@$(BIN)/python -m executionrag.runs.bench --out docs/benchmarks.md $(if $(DATA),--data '$(DATA)') $(BENCH_FLAGS)

bench-large: $(STAMP) ## The same with a million passages (about an hour more, 15 GB of memory)
	@$(BIN)/python -m executionrag.runs.bench --out docs/benchmarks.md --large $(if $(DATA),--data '$(DATA)') $(BENCH_FLAGS)

# mypy reads the package through a link of its name, so that a checkout under any folder name is checked alike.
$(PACKAGE_LINK):
	@mkdir -p .typecheck && ln -sfn .. $(PACKAGE_LINK)

check: $(STAMP) $(PACKAGE_LINK) ## Lint and check types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	MYPYPATH=.typecheck $(BIN)/mypy -p executionrag

format: $(STAMP) ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## Remove what make made here (not the model cache)
	rm -rf $(VENV) .typecheck .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info
