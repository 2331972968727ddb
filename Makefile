# Each target says in one line what it does; `make` alone lists them.
PYTHON ?= python3
# Three workers, each with a PostgreSQL server of its own, keep two cores busy while tests wait; a file
# stays in one, with its fixtures. In the order of the folders, which has the files that take long and
# have few tests at its beginning.
TEST_WORKERS ?= -n 3 --dist loadfile --no-loadscope-reorder
PYTEST_ARGS ?=
BENCH_ARGS ?=

VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install demo test check format bench soak clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(READY) ## make .venv with the pinned libraries

# The stamp is written last: an installation that was cut short runs again.
# Two -q, because a pip configuration may warn on every call; errors are still shown.
$(READY): pyproject.toml constraints.txt
	@test -x $(VENV)/bin/pip || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) (once)" >&2
	@$(RUN) -m pip install -q -q --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

# Make dies of the Ctrl-C that ends its recipe and would report 130. So in the foreground of a
# terminal (ps marks it with +) the demo gets a process group of its own, and its 0 is make's.
demo: $(READY) ## serve the sample handbook until Ctrl-C
	@case "$$(ps -o stat= -p $$$$ 2>/dev/null)" in \
	  *+*) exec sh -mc '$(RUN) -m api.demo; exit $$?' ;; \
	  *) exec $(RUN) -m api.demo ;; \
	esac

test: $(READY) ## run every test but the soak tests
	$(RUN) -m pytest $(TEST_WORKERS) $(PYTEST_ARGS)

check: $(READY) ## format, lint, types, layout, docs
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(RUN) -m mypy
	$(RUN) -m pytest -q tests/unit/test_layout.py tests/unit/test_docs.py

format: $(READY) ## format the code and mend what the linter can
	$(RUN) -m ruff format .
	$(RUN) -m ruff check --fix .

bench: $(READY) ## run the benchmarks; each prints JSON lines
	@for module in benchmarks/bench_*.py; do \
	  name=$$(basename $$module .py); \
	  $(RUN) -m benchmarks.$$name $(BENCH_ARGS) || exit 1; \
	done

soak: $(READY) ## run the long tests
	$(RUN) -m pytest -m soak $(PYTEST_ARGS)

clean: ## remove everything that make or the tools made
	rm -rf $(VENV) .demo build dist *.egg-info benchmarks/.cache
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .schemathesis
	find kbstore projections api tests -name __pycache__ -type d -prune -exec rm -rf {} +
