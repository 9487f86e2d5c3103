# One door: `make check` is what CI runs, and what a laptop runs.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.stamp

.PHONY: setup
setup: $(STAMP)

# The stamp is written last, so a setup that broke half-way is repeated.
# --no-deps and --no-build-isolation: everything, the build backend too, comes from the hashed pins.
$(STAMP): requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install -qq --disable-pip-version-check --no-compile --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(STAMP)
