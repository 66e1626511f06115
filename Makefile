# Everything runs in .venv, made here from locked versions; all it takes is Python 3.11 or newer and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LISTEN ?= 127.0.0.1:8000

# Other people's clients, for the end-to-end tests: each in an environment of its own.
# Those of MORE_CLIENTS are larger, and only `make clients-report` calls with them.
PYTHON_CLIENTS := sdk03 sdk02 google_adk agent_framework ag2
MORE_PYTHON_CLIENTS := sdk10 sdk11 sdk12 a2a_handler agno beeai crewai fasta2a fasta2a_06 langchain_remote \
	langgraph_a2a_client litellm nvidia_nat python_a2a strands_agents
CLIENTS := $(PYTHON_CLIENTS:%=$(VENV)/clients/%/.made)
MORE_CLIENTS := $(MORE_PYTHON_CLIENTS:%=$(VENV)/clients/%/.made)
JS := tests/e2e/clients/programs/js
ifeq ($(shell node -p 'process.versions.node.split(".")[0] >= 20' 2>/dev/null),true)
CLIENTS += $(JS)/sdk1/node_modules/.made $(JS)/sdk03/node_modules/.made $(JS)/ai-provider/node_modules/.made
MORE_CLIENTS += $(JS)/adk/node_modules/.made $(JS)/strands/node_modules/.made
endif

FLOORS := $(VENV)/floors

CHROMIUM := $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
BROWSER_TESTS := $(BIN)/python -m pytest tests/browser

# Runs a command with nothing but loopback around it, where that is permitted.
where_only_loopback_is = @if unshare -n ip link set lo up 2>/dev/null; \
	then unshare -n sh -c 'ip link set lo up && exec $(1)'; \
	else $(1); fi

.PHONY: serve test browser clients clients-report conformance crash floors graphs check format lint types imports bench lock schema clean

serve: $(VENV)/.run  ## the demo agent on http://127.0.0.1:8000
	$(BIN)/llamon serve --config configs/edge.yaml --listen $(LISTEN)

test: $(VENV)/.dev clients
	@$(if $(CHROMIUM),,echo "tests/browser is left out: there is no Chromium here")
	$(BIN)/python -m pytest

browser: $(VENV)/.dev  ## what web pages can do to an edge, in a real Chromium
	@$(if $(CHROMIUM),,echo "make browser needs Chromium: apt-get install chromium"; exit 1)
	$(call where_only_loopback_is,$(BROWSER_TESTS))

clients: $(CLIENTS)  ## other people's clients that install quickly, and those for Node where it is installed

clients-report: $(VENV)/.dev clients $(MORE_CLIENTS)  ## every client package calls the edge; writes docs/clients.md; ARGS=--help what can be chosen
	$(call where_only_loopback_is,$(BIN)/python -m tests.e2e.clients $(ARGS))

conformance: $(VENV)/.dev  ## other people's suites; TCK_DIR names a checkout of the official one, ARGS=--help what else
	$(BIN)/python -m tests.conformance $(ARGS)

crash: $(VENV)/.dev  ## kill -9 under load, hundreds of times; ARGS=--help what can be chosen
	$(BIN)/python -m tests.crash $(ARGS)

floors: $(FLOORS)/lowest/.made $(FLOORS)/lowest-extras/.made  ## edges on the lowest versions that pyproject.toml allows are asked
	rm -f $(FLOORS)/*.whl
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir $(FLOORS) .
	for each in lowest lowest-extras; do \
		$(BIN)/pip --python $(FLOORS)/$$each install --quiet --no-deps --force-reinstall $(FLOORS)/*.whl || exit 1; done
	$(BIN)/python -m tests.floors $(FLOORS)/lowest/bin $(FLOORS)/lowest-extras/bin
	SHAPES_PYTHON=$(CURDIR)/$(FLOORS)/lowest/bin/python $(BIN)/python -m pytest tests/graphs/test_shapes.py

graphs: $(VENV)/.dev  ## foreign LangGraph projects, unchanged; GRAPHS_DIR names a folder of checkouts, ARGS=--help what else
	@$(if $(GRAPHS_DIR),,echo "make graphs needs GRAPHS_DIR: a folder of checkouts with a langgraph.json"; exit 1)
	$(BIN)/python -m tests.graphs $(GRAPHS_DIR) $(ARGS)

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

bench: $(VENV)/.dev  ## beside the official SDK's server; ARGS names some: agents, calls, durable, lists, memory, pauses, threads, tokens
	$(BIN)/python -m bench $(ARGS)

# What goes with the lowest langgraph: it does not say that newer ones of these do not work with it.
OF_THAT_TIME := langgraph-prebuilt==1.0.8 langgraph-checkpoint==3.0.1 langchain==1.0.8 langchain-openai==1.0.3

LOCK := $(BIN)/uv pip compile --universal --generate-hashes --upgrade --no-header --no-annotate --no-emit-index-url --quiet
KIT_TCK := 'pytest>=8' pytest-asyncio pytest-html pytest-json-report deepdiff gherkin-official \
	googleapis-common-protos grpcio grpcio-tools httpx jinja2 jsonschema packaging protobuf pyopenssl python-dotenv pyyaml requests responses

lock: $(VENV)/.dev  ## versions and hashes only; needs the registry
	$(LOCK) pyproject.toml --extra build --output-file locks/run.txt
	$(LOCK) pyproject.toml --extra build --extra dev --output-file locks/dev.txt
	printf '%s\n' $(OF_THAT_TIME) | $(LOCK) pyproject.toml - --resolution lowest-direct --extra postgres \
		--output-file locks/lowest.txt
	$(LOCK) pyproject.toml --resolution lowest-direct --extra model --extra grpc --extra postgres \
		--output-file locks/lowest-extras.txt
	while read -r name packages; do printf '%s\n' $$packages | $(LOCK) - --python-version 3.11 \
		--output-file locks/client-$$name.txt || exit 1; done < locks/clients.in
	echo 'a2a-testbed==0.3.0a3' | $(LOCK) - --python-version 3.12 --output-file locks/kit-testbed.txt
	printf '%s\n' $(KIT_TCK) | $(LOCK) - --python-version 3.11 --output-file locks/kit-tck.txt
	for each in $(JS)/*/; do \
		npm --prefix $$each update --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund; done

schema: $(VENV)/.run
	$(BIN)/llamon config schema > configs/edge.schema.json

clean:
	rm -rf $(VENV) $(JS)/*/node_modules

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

$(VENV)/clients/%/.made: locks/client-%.txt | $(BIN)/pip
	rm -rf $(@D)
	$(BIN)/python -m venv --without-pip $(@D)
	$(BIN)/pip --python $(@D) install --quiet --no-compile --disable-pip-version-check --require-hashes -r $<
	@touch $@

$(FLOORS)/%/.made: locks/%.txt $(VENV)/.dev
	rm -rf $(@D)
	$(BIN)/python -m venv --without-pip $(@D)
	$(BIN)/pip --python $(@D) install --quiet --no-compile --disable-pip-version-check --require-hashes -r $<
	@touch $@

$(JS)/%/node_modules/.made: $(JS)/%/package-lock.json
	npm --prefix $(JS)/$* ci --omit-lockfile-registry-resolved --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@
