# Two commands do everything on a fresh machine: `make demo` and `make test`.
# Set-up goes into .venv and is skipped while the lock and pyproject.toml are unchanged.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint bench crash lock schemas audit clean help
.DEFAULT_GOAL := help

help: ## show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(READY): requirements/dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "sayso needs Python 3.11 or newer; name one with: make PYTHON=python3.12 demo")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY) ## the main job on the embedded Kafka and sandboxes
	$(BIN)/sayso demo

test: $(READY) ## all tests, the real-Kafka tier included
	$(BIN)/python -m pytest $(ARGS)

lint: $(READY) ## format, lint, types, import contracts, checked-in schemas
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m sayso.schemas.export --check docs/reference

schemas: $(READY) ## write the topic reference again; a change that breaks readers needs ARGS=--break-readers
	$(BIN)/python -m sayso.schemas.export $(ARGS) docs/reference

crash: $(READY) ## kill a worker 20 times while it settles 200 replies; takes about six minutes
	SAYSO_TEST_KILLS=20 SAYSO_TEST_REPLIES=200 $(BIN)/python -m pytest -s tests/kafka/test_crash.py $(ARGS)

bench: $(READY) ## measure; never part of a test
	$(BIN)/python bench/run.py $(ARGS)

lock: $(READY) ## resolve the dependencies again
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header pyproject.toml -o requirements/run.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --group dev pyproject.toml -o requirements/dev.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --group build --constraint requirements/dev.lock -o requirements/build.lock

audit: $(READY) ## known vulnerabilities in the locked dependencies
	$(BIN)/pip-audit --require-hashes --disable-pip -r requirements/run.lock

clean: ## remove what make made
	rm -rf $(VENV) .venv-bench
