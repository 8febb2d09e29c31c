# Every target sets up its own environment in .venv; nothing else on the machine is touched.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= 2

.PHONY: demo test lint bench editors clean venv

venv: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group dev -e .
	touch $(STAMP)

DEMO := examples/slice_width4.rs
SHOW = printf '\n$$ ferrodiff %s\n'

demo: $(STAMP)
	@$(SHOW) 'check examples' && $(BIN)/ferrodiff check examples
	@$(SHOW) 'expand $(DEMO)' && $(BIN)/ferrodiff expand $(DEMO)
	@$(SHOW) 'build $(DEMO) -o build/demo && build/demo' && mkdir -p build
	@$(BIN)/ferrodiff build $(DEMO) -o build/demo && build/demo
	@$(SHOW) 'run $(DEMO) spread_jvp4' && $(BIN)/ferrodiff run $(DEMO) spread_jvp4

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/mypy --strict

test: lint
	$(BIN)/python -m pytest -n $(JOBS) -q

bench: $(STAMP)
	$(BIN)/python bench/run.py
	$(BIN)/python bench/compile.py
	$(BIN)/python bench/analysis.py
	$(BIN)/python bench/lsp.py

# Drives Neovim (from PyPI) and Emacs (must be installed) against the language server; needs the network.
editors: $(STAMP)
	$(BIN)/python editors/check/run.py

clean:
	rm -rf $(VENV) .venv-editors .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
