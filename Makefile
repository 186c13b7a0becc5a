# Every target creates the environment it needs in .venv: a machine with make and Python 3.11 is enough.
#   make dataset LEN=8k          build a dataset          make test        run the tests
#   make help                    everything else
# Targets that only build and score install only what that needs.

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
OUT    ?= build
# A preset brings its own lengths.
LEN    ?= $(if $(PRESET),,8k)

FLAGS  = $(if $(LEN),--length $(LEN)) \
         $(if $(LANGS),--language $(LANGS)) \
         $(if $(CORPUS),--corpus $(CORPUS)) \
         $(if $(TOKENIZER),--tokenizer $(TOKENIZER)) \
         $(if $(FORMAT),--format $(FORMAT)) \
         $(if $(JOBS),--jobs $(JOBS))

CLIENTS ?= lm-eval inspect openai services

.DEFAULT_GOAL := help
.PHONY: help setup wheelhouse dataset score publish demo test test-slow test-all test-clients same-rows same-scores soak check format bench measure lock clean

help:  ## show this list
	@echo "make TARGET [NAME=value ...]"
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 16
	@echo "score takes PRED=answers.jsonl DATASET=folder MODEL=name MISSING=zero"
	@echo "publish takes REPO=user/name DATASET=folder PRIVATE=1 DRY_RUN=1"
	@echo "test-clients takes CLIENTS='lm-eval inspect ...', folders of tests/clients"
	@echo "dataset takes LEN=8k LANGS=en,zh CORPUS=name PRESET=name TOKENIZER=name FORMAT=parquet,jsonl JOBS=n OUT=folder"

# constraints.txt has three parts: build backends, what building and scoring need, the rest. Each is complete if those
# before it are installed.
PART = awk -v part=$(1) '/^\# / {at++} at == part' constraints.txt
FLAGS_PIP = --quiet --disable-pip-version-check --no-deps --no-build-isolation \
            $(if $(WHEELHOUSE),--no-index --find-links $(abspath $(WHEELHOUSE)))
PIP  = .venv/bin/python -m pip install $(FLAGS_PIP) --no-compile

# What building and scoring need. One dependency is a source distribution, so the backends are installed first.
.venv/built: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "niah needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv .venv
	$(call PART,1) > .venv/backends.txt
	$(call PART,2) > .venv/build.txt
	$(PIP) --require-hashes --requirement .venv/backends.txt
	$(PIP) --require-hashes --requirement .venv/build.txt
	$(PIP) --editable .
	touch .venv/built

# What tests, linters and every extra need.
.venv/ready: .venv/built
	$(call PART,3) > .venv/rest.txt
	$(PIP) --require-hashes --requirement .venv/rest.txt
	touch .venv/ready

setup: .venv/ready  ## create the whole environment in .venv; WHEELHOUSE=folder installs from there, without a network

# Downloads exactly the pinned versions, so a machine with the same system and Python version installs the same files.
wheelhouse:  ## download what setup installs into WHEELHOUSE (default wheelhouse), for machines without a network
	$(PYTHON) -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
	    --requirement constraints.txt --dest $(or $(WHEELHOUSE),wheelhouse)

dataset: .venv/built  ## build a dataset of prompts, lengths up to LEN
	.venv/bin/niah-gen build $(or $(PRESET),default) $(FLAGS) --out $(OUT)

# The newest dataset, if none is named.
DATASET ?= $(patsubst %/manifest.json,%,$(firstword $(shell ls -t $(OUT)/*/*/manifest.json 2>/dev/null)))

score: .venv/built  ## score the answers in PRED
	@test -n "$(PRED)" || { echo "name the answers: make score PRED=answers.jsonl [DATASET=build/default/...]" >&2; exit 2; }
	@test -n "$(DATASET)" || { echo "no dataset in $(OUT): make dataset LEN=8k, or set DATASET=..." >&2; exit 2; }
	.venv/bin/niah-score score $(DATASET) $(PRED) $(if $(MODEL),--model $(MODEL)) $(if $(MISSING),--missing $(MISSING))

publish: .venv/ready  ## publish DATASET on the Hub as REPO, and tag its version
	@test -n "$(REPO)" || { echo "name the repository: make publish REPO=user/name [DATASET=build/default/...]" >&2; exit 2; }
	@test -n "$(DATASET)" || { echo "no dataset in $(OUT): make dataset LEN=8k, or set DATASET=..." >&2; exit 2; }
	.venv/bin/niah-gen publish $(DATASET) $(REPO) --tag $(if $(PRIVATE),--private) $(if $(DRY_RUN),--dry-run)

# Everything goes into a separate folder, so that the user's datasets and scores are not touched.
DEMO = $(OUT)/demo
WINDOW = 4000

demo: LEN = 32k
demo: .venv/built  ## the whole loop without a model: build, answer by search and from a window, score, report
	@set -ex; \
	dataset=$$(.venv/bin/niah-gen build $(or $(PRESET),default --worlds 2) --length $(LEN) --out $(DEMO)); \
	.venv/bin/python examples/lexical_retriever.py $$dataset $(DEMO)/search.jsonl --overwrite; \
	.venv/bin/niah-score score $$dataset $(DEMO)/search.jsonl --model BM25 --out $(DEMO)/search --overwrite; \
	.venv/bin/python examples/lexical_retriever.py $$dataset $(DEMO)/hops.jsonl --hops 5 --overwrite; \
	.venv/bin/niah-score score $$dataset $(DEMO)/hops.jsonl --model "BM25, 5 hops" --out $(DEMO)/hops --overwrite; \
	.venv/bin/python examples/windowed_reader.py $$dataset $(DEMO)/window.jsonl --window $(WINDOW) --overwrite; \
	.venv/bin/niah-score score $$dataset $(DEMO)/window.jsonl --model "the last $(WINDOW) tokens" --out $(DEMO)/window --overwrite
	@echo "A perfect reader that is sent only the last $(WINDOW) tokens of each prompt: $(DEMO)/window/heatmap.png"
	@echo "Open $(DEMO)/window/report.html in a browser; $(DEMO)/search and $(DEMO)/hops are what search alone scores."
	@if [ -t 1 ] && [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ] && command -v xdg-open >/dev/null; then \
	    xdg-open $(DEMO)/window/report.html >/dev/null 2>&1 || true; fi

# One process per core, at most 8: with more, they wait for each other's imports. Bytecode is kept in the environment, whatever
# the user's settings: every process that a test starts would compile all libraries again.
PYTEST = PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=$(CURDIR)/.venv/bytecode \
         .venv/bin/python -m pytest --numprocesses auto --maxprocesses 8 --dist worksteal

test: .venv/ready  ## run the fast tests, one process per core: three minutes on two
	$(PYTEST) -q -m "not slow and not soak"

test-slow: .venv/ready  ## run the others: processes, browsers, kills, and all examples of property tests
	NIAH_EXAMPLES=1 $(PYTEST) -q --timeout 300 -m "(slow or hypothesis) and not soak"

test-all: .venv/ready  ## run both, each test once
	NIAH_EXAMPLES=1 $(PYTEST) -q --timeout 300 -m "not soak"

same-rows: .venv/built  ## compare the rows of fifty recipes with recorded digests
	.venv/bin/python tests/recorded_rows.py

same-scores: .venv/built  ## compare the values of twelve scored runs with the recorded ones
	.venv/bin/python tests/recorded_scores.py

# A client is a folder in tests/clients, with pinned requirements and its own environment.
.venv-clients/%/ready: tests/clients/%/requirements.txt pyproject.toml constraints.txt
	rm -rf .venv-clients/$*
	$(PYTHON) -m venv .venv-clients/$*
	$(call PART,1) > .venv-clients/$*/backends.txt
	.venv-clients/$*/bin/python -m pip install $(FLAGS_PIP) --require-hashes --requirement .venv-clients/$*/backends.txt
	.venv-clients/$*/bin/python -m pip install $(FLAGS_PIP) --requirement tests/clients/$*/requirements.txt
	.venv-clients/$*/bin/python -m pip install $(FLAGS_PIP) --editable .
	touch $@

test-clients: $(CLIENTS:%=.venv-clients/%/ready)  ## run exports in the real harnesses, against a server on the loopback
	@set -ex; for client in $(CLIENTS); do .venv-clients/$$client/bin/python -m pytest tests/clients/$$client; done

check: .venv/ready  ## lint, formatting, types, architecture
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/python -m pytest -q tests/test_architecture.py

format: .venv/ready  ## format the code
	.venv/bin/ruff check --fix --select I .
	.venv/bin/ruff format .

soak: .venv/ready  ## test 40 times as many random examples, and a fault at every operation: several hours on two cores
	NIAH_EXAMPLES=40 $(PYTEST) -q --timeout 0 -m "hypothesis or soak"

bench: .venv/ready  ## measure speed against the published generators and evaluators
	.venv/bin/python tests/benchmarks/speed.py
	.venv/bin/python tests/benchmarks/scoring.py

measure: .venv/ready  ## measure intervals, worlds, and how metrics agree with a judge
	.venv/bin/python tests/benchmarks/real_answers.py
	.venv/bin/python tests/benchmarks/wrapped_answers.py
	.venv/bin/python tests/benchmarks/coverage.py
	PYTHONPATH=tests/oracle .venv/bin/python tests/benchmarks/world_solvers.py
	PYTHONPATH=tests/oracle .venv/bin/python tests/benchmarks/world_readers.py
	.venv/bin/python tests/benchmarks/world_power.py

# Ray and the stores' packages are large, and are tested in their own environments (tests/clients).
EXTRAS  = --extra gen --extra hub --extra sentencepiece
COMPILE = uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
          --no-emit-find-links --no-emit-index-url

COMPILE_CLIENT = uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate --no-emit-find-links \
                 --no-emit-index-url $(if $(UPGRADE),--upgrade) --extra build

lock:  ## pin every dependency by hash (needs uv); UPGRADE=1 upgrades all of them
	@set -e; all=$$(mktemp); backends=$$(mktemp); build=$$(mktemp); cp constraints.txt $$all; \
	$(COMPILE) $(if $(UPGRADE),--upgrade) $(EXTRAS) --group dev pyproject.toml --output-file $$all; \
	$(COMPILE) --constraint $$all --group backends --output-file $$backends; \
	$(COMPILE) --constraint $$all --extra build pyproject.toml --output-file $$build; \
	awk 'FNR == 1 {file++} /^[a-z]/ {if (!($$1 in part)) part[$$1] = file; now = part[$$1]} \
	     file == 3 && !/^#/ {text[now] = text[now] $$0 "\n"} \
	     END {printf "# Build backends.\n%s# What building and scoring need.\n%s# The rest.\n%s", text[1], text[2], text[3]}' \
	    $$backends $$build $$all > constraints.txt; \
	rm $$all $$backends $$build
	for wanted in tests/clients/*/requirements.in; do \
	    $(COMPILE_CLIENT) pyproject.toml $$wanted --output-file $${wanted%.in}.txt; done

clean:  ## remove the environment and all caches, never datasets
	rm -rf .venv .venv-clients .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
