# Everything a newcomer types. Each target sets up what it needs in .venv by itself.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO ?=
BENCH ?=

.PHONY: demo test check browser bench faults clean

demo: $(VENV)/.demo
	$(BIN)/hotloop demo $(DEMO)

# Several at a time, a file each: most tests wait for the programs that they start. These start
# faster with compiled files, which pip would have made.
test: check browser
	$(BIN)/python -m compileall -q src/hotloop
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile

# Pages are tested in a real browser. Without one (and the right to install it) those tests are
# skipped, and say so.
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
		&& apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } \
		|| echo "no chromium: tests of pages are skipped"

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/check_workload_types.py

bench: $(VENV)/.test
	$(BIN)/pip install --quiet --editable ".[bench]"
	-$(BIN)/python -m benchmarks.core
	$(BIN)/python -m benchmarks.hooks
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.memory
	$(BIN)/python -m benchmarks.accuracy
	$(BIN)/python -m benchmarks.cost $(BENCH)
	$(BIN)/python -m benchmarks.proof

# The full form of the fault tests; their short form is a part of `make test`.
faults: $(VENV)/.test browser
	$(BIN)/python -m pytest tests/faults --full

# The demo needs one small training library, not all of them.
$(VENV)/.demo: pyproject.toml setup.py $(wildcard src/hotloop/measure/native/*)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet "torch==2.13.0"
	$(BIN)/pip install --quiet --editable ".[snake]"
	touch $@

$(VENV)/.test: pyproject.toml setup.py $(wildcard src/hotloop/measure/native/*)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet "torch==2.13.0"
	$(BIN)/pip install --quiet --editable ".[test]"
	touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) build dist src/*.egg-info src/hotloop/measure/*.so
