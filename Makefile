# One door: `make check` is what CI runs, and what a laptop runs.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.stamp
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-compile
# Three at once, also on two cores: many tests wait for servers that they start.
# A file's tests share servers that are slow to start, so one of them takes the file; in order, so that the slow ones,
# which stand first, do not come last.
TESTS := $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -q
# Tests start dozens of servers: each would otherwise compile its libraries anew, which takes seconds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup test check lint types imports coverage whole demo demo-day eval proof build pins clean verify-engine screenshots

setup: $(STAMP)

# The stamp is written last, so a setup that broke half-way is repeated.
# ctok has a file of its own, since it runs on more Pythons than it declares.
# --no-deps and --no-build-isolation: everything, the build backend too, comes from the hashed pins.
$(STAMP): requirements/dev.txt requirements/claude.txt
	$(PYTHON) -m venv --clear .venv
	$(PIP) --require-hashes -r requirements/dev.txt
	$(PIP) --no-deps --ignore-requires-python --require-hashes -r requirements/claude.txt
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $(STAMP)

test: $(STAMP)
	$(TESTS)

check: lint types imports coverage whole

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

imports: $(STAMP)
	$(BIN)/lint-imports --no-logo

# The tests that mirror a file, and the contracts of a seam, cover it by themselves: what only happens to pass by in a
# test of the whole is not looked at there. Being measured doubles what a test costs.
MIRRORS = tests/elbowroom tests/elbowroom_proxy tests/contract
# The engine is pure, so nothing excuses a branch that no test takes; the service meets the world.
coverage: $(STAMP)
	$(TESTS) --cov --cov-report= $(MIRRORS)
	$(BIN)/coverage report --include='src/elbowroom/*' --fail-under=100
	$(BIN)/coverage report --include='proxy/elbowroom_proxy/*' --fail-under=95

# All others: properties, the running product, the rules of the house, the shared data.
whole: $(STAMP)
	$(TESTS) $(addprefix --ignore=,$(MIRRORS))

demo: $(STAMP)
	@$(BIN)/elbowroom demo

# A day of traffic through a proxy of its own; the folder that it leaves has incidents in it (docs/incident-review.md).
demo-day: $(STAMP)
	@$(BIN)/elbowroom demo-day

# Not part of `check`, which measures every eleventh case: all of them, as given and spoilt on purpose; some minutes.
PACKING = $${ELBOWROOM_SHARED:-../shared}/data/packing
EVAL = $(BIN)/elbowroom eval --cases $(PACKING)/cases.jsonl --passages $(PACKING)/passages.jsonl --open \
	--packer topk --packer weighted --packer cover
eval: $(STAMP)
	$(EVAL) --groups all,en,zh,multi_hop
	$(EVAL) --groups all --without titles
	$(EVAL) --groups all --jitter 0.3
	$(EVAL) --groups all --without scores --without order

# Not part of `check`, which sends 600 requests to two workers: 10,000 to four, and the figures; some minutes.
proof: $(STAMP)
	$(BIN)/python -m bench.proof

# The pictures of docs/images, taken of a proxy of their own in a real browser.
screenshots: $(STAMP)
	$(BIN)/python -m docs.screenshots

build: $(STAMP)
	$(BIN)/hatchling build -t wheel

# Not part of `check`: installs an inference engine in an environment of its own and compares counts with it.
verify-engine: $(STAMP)
	$(BIN)/python bench/verify_engine.py

# Compiles the pins anew; nothing younger than a week is taken. Needs `uv` on PATH, or UV=path.
UV ?= uv
WEEK_AGO = $(shell $(PYTHON) -c 'from datetime import date, timedelta as d; print(date.today() - d(days=8))')
COMPILE = $(UV) pip compile --quiet --universal --generate-hashes --no-strip-extras --no-header --no-config \
	--no-emit-index-url --no-emit-find-links --python-version 3.11 --exclude-newer $(WEEK_AGO)
pins:
	$(COMPILE) pyproject.toml -o requirements/run.txt
	$(COMPILE) pyproject.toml requirements/dev.in --all-extras -c requirements/run.txt -o requirements/dev.txt
	$(COMPILE) pyproject.toml requirements/bench.in -c requirements/run.txt -o requirements/bench.txt

clean:
	rm -rf .venv dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .elbowroom
	rm -f .coverage .coverage.*
	find src proxy tests bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
