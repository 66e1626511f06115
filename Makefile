# Everything runs in .venv, made here from locked versions; all it takes is Python 3.11 or newer and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LISTEN ?= 127.0.0.1:8000

.PHONY: serve test check format lint types imports bench lock schema clean

serve: $(VENV)/.run  ## the demo agent on http://127.0.0.1:8000
	$(BIN)/llamon serve --config configs/edge.yaml --listen $(LISTEN)

test: $(VENV)/.dev
	$(BIN)/python -m pytest

check: lint types imports test

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev
	$(BIN)/mypy

imports: $(VENV)/.dev
	$(BIN)/lint-imports

bench: $(VENV)/.dev
	$(BIN)/python -m bench

lock: $(VENV)/.dev  ## versions and hashes only; needs the registry
	$(BIN)/uv pip compile pyproject.toml --extra build --universal --generate-hashes --upgrade \
		--no-header --no-annotate --no-emit-index-url --quiet --output-file locks/run.txt
	$(BIN)/uv pip compile pyproject.toml --extra build --extra dev --universal --generate-hashes --upgrade \
		--no-header --no-annotate --no-emit-index-url --quiet --output-file locks/dev.txt

schema: $(VENV)/.run
	$(BIN)/llamon config schema > configs/edge.schema.json

clean:
	rm -rf $(VENV)

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "llamon-agent needs Python 3.11 or newer; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(BIN)/pip locks/run.txt pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r locks/run.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(BIN)/pip locks/dev.txt pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r locks/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@ $(VENV)/.run
