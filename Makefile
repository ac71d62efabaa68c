# Needs python3 >= 3.11 with its headers, a C compiler and make. Everything else is installed
# into $(VENV). PYTHON=/path/to/python3 chooses the interpreter.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VENV ?= .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet
# a line for each package, as it comes
PIP_SAYS := $(PY) -m pip --disable-pip-version-check
SAID := | sed -u -n -E '/^ *(Collecting|Downloading|Building|Installing|ERROR)/p'
# how far a build is; everything goes into a log, whose end is shown if it fails
BUILD_SAYS = 2>&1 | tee $(1) | grep -E --line-buffered '^ *(\[[0-9]+:[0-9]+\]|warning:) ' || \
  { tail -n 60 $(1) >&2; exit 1; }
TESTS ?= tests
CORE_TESTS ?= tests/contract tests/runtime
WITHOUT_TESTS ?= tests/contract tests/conformance
DEVICES_TESTS ?= tests/contract tests/conformance tests/devices
WORKERS ?= 2

# The first interpreter that is new enough, can make an environment, and has the headers that
# liblazyloom.so is built with and the shared library that it opens.
PROBE := import sys, os, sysconfig, venv, ensurepip; \
  sys.exit(sys.version_info < (3, 11) or not sysconfig.get_config_var("Py_ENABLE_SHARED") or \
  not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))

.PHONY: help demo test test-interpreted test-quick test-without test-devices test-thorough array-api torch-models bench bench-beside lint docs site wheel sdk env env-demo env-test env-bench env-site capi clean

help:
	@echo "make demo        train one classifier from three languages; compare, draw out/digits.png"
	@echo "make test        lint, then all tests"
	@echo "make test-interpreted  the core's tests with the core interpreted"
	@echo "make test-quick  a part of the tests that takes about two minutes"
	@echo "make test-without  contract and conformance without what makes programs fast"
	@echo "make test-devices  contract and conformance on the fifth of eight devices"
	@echo "make test-thorough  all tests, with all samples of ops at all extents"
	@echo "make array-api SUITE=dir  the public array API suite, from a checkout of it"
	@echo "make torch-models  example models at full size beside PyTorch and transformers"
	@echo "make bench       measure; writes docs/benchmarks/"
	@echo "make bench-beside EARLIER=python  our rows in turns with another build's"
	@echo "make lint        ruff, mypy --strict, import rules"
	@echo "make docs        write the generated pages and header again"
	@echo "make site        the pages and the API reference as HTML, in out/site"
	@echo "make wheel       a wheel for this Python in dist/, with all usual kernels of ops"
	@echo "make sdk         a tarball for programs in C with a Python of its own, in dist/"
	@echo "make clean       remove the environment and everything that was built"

$(PY):
	@python=""; \
	for candidate in $${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3}; do \
	  if "$$candidate" -c '$(PROBE)' >/dev/null 2>&1; then python="$$candidate"; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "error: no python3 >= 3.11 with venv, C headers and a shared libpython was found;" \
	    "set PYTHON=/path/to/one" >&2; exit 1; \
	fi; \
	echo "making $(VENV) with $$("$$python" --version)"; \
	"$$python" -m venv $(VENV)

# Installed, not linked: what is installed has a compiled core, the checkout runs interpreted.
SOURCES := $(shell find runtime frontends capi -type f \( -name '*.py' -o -name '*.pyi' -o -name '*.[ch]' \
  -o -name '*.json' -o -name py.typed \) -not -path 'capi/lazyloom_capi/lib/*') setup.py pyproject.toml

# The names of the sources: one that is gone makes nothing newer.
$(VENV)/.names: FORCE | $(PY)
	@echo '$(sort $(SOURCES))' | cmp -s - $@ || echo '$(sort $(SOURCES))' > $@

FORCE:

$(VENV)/.base: $(SOURCES) $(VENV)/.names | $(PY)
	@echo "downloading what lazyloom is built with: jax, jaxlib, numpy, mypy, setuptools"
	@$(PIP_SAYS) install 'setuptools>=77' 'mypy>=2.1' 'jax>=0.10.2' 'jaxlib>=0.10.2' 'numpy>=2' $(SAID)
	@echo "installing lazyloom, its core compiled, with kernels of common ops: a minute on two cores"
	@touch $@.begun  # what is edited from now on is newer than what is installed
	@$(PIP) -v -v install --no-build-isolation \
	  -C--build-option=--compression=stored '.[build]' $(call BUILD_SAYS,$(VENV)/install.log)
	@env -u PYTHONPATH $(PY) -c "from lazyloom.compiled import core; \
	  print('installed; the core is', core())"
	@mv $@.begun $@

$(VENV)/.demo: $(VENV)/.base
	@$(PIP_SAYS) install 'lazyloom[demo]' $(SAID)
	@touch $@

$(VENV)/.bench: $(VENV)/.base
	@$(PIP_SAYS) install 'lazyloom[bench]' $(SAID)
	@touch $@

$(VENV)/.test: $(VENV)/.base
	@$(PIP_SAYS) install 'lazyloom[checkpoints,demo,test,lint]' $(SAID)
	@touch $@

$(VENV)/.site: $(VENV)/.base
	@$(PIP_SAYS) install 'lazyloom[site]' $(SAID)
	@touch $@

env: $(VENV)/.base
env-demo: $(VENV)/.demo
env-test: $(VENV)/.test
env-bench: $(VENV)/.bench
env-site: $(VENV)/.site
capi: env
	@$(PY) -m lazyloom_capi --build >/dev/null

demo: env-demo capi
	@$(PY) examples/demo.py

lint: env-test
	@echo "ruff";         $(PY) -m ruff check .
	@echo "mypy";         $(PY) -m mypy
	@echo "import rules"; export PYTHONPATH=runtime:frontends:capi; $(VENV)/bin/lint-imports --no-cache && \
	$(VENV)/bin/lint-imports --no-cache --config tests/repository/imports_of_annotations.toml

test: lint capi
	@$(PY) -m lazyloom info
	@$(PY) -m pytest -n $(WORKERS) --dist worksteal $(TESTS)

# The contract and the core's tests once more, with the core as it is in the checkout; not those
# marked `once`, which are about what is never compiled.
test-interpreted: env-test
	@PYTHONPATH=runtime:frontends:capi $(PY) -m lazyloom info | grep "core *interpreted"
	@$(PY) -m compileall -q -j $(WORKERS) runtime frontends capi  # or each process would, where PYTHONDONTWRITEBYTECODE is set
	@PYTHONPATH=runtime:frontends:capi $(PY) -m pytest -n $(WORKERS) --dist worksteal -m "not once" $(CORE_TESTS)

test-quick: env-test capi
	@$(PY) -m pytest -n $(WORKERS) --dist worksteal --quick $(TESTS)

# The contract and conformance without what makes programs fast, or without what WITHOUT names.
WITHOUT ?= all
test-without: env-test capi
	@LAZYLOOM_WITHOUT=$(WITHOUT) $(PY) -m pytest -n $(WORKERS) --dist worksteal $(WITHOUT_TESTS)

# The contract and conformance where the default device is the fifth of eight, with what is tested
# of eight devices. DEVICES_TESTS names other folders; the processes of tests/distributed have
# devices of their own.
test-devices: env-test capi
	@JAX_NUM_CPU_DEVICES=8 LAZYLOOM_DEVICE=cpu:4 LAZYLOOM_TEST_DEVICES=1 \
	  $(PY) -m pytest -n $(WORKERS) --dist worksteal $(DEVICES_TESTS)

test-thorough: lint capi
	@$(PY) -m pytest -n $(WORKERS) --dist worksteal --thorough $(TESTS)

# SUITE is a checkout of github.com/data-apis/array-api-tests with its submodule: see docs/array_api.md
EXAMPLES ?= 50
array-api: env-test
	@test -n "$(SUITE)" || { echo "error: set SUITE to a checkout of data-apis/array-api-tests" >&2; exit 1; }
	@$(PIP_SAYS) install -r "$(SUITE)/requirements.txt" $(SAID)
	@$(PY) tests/conformance/array_api.py "$(SUITE)" --examples $(EXAMPLES) --output out/array-api

# ResNet-50 and RoBERTa-base, or MODELS, beside PyTorch and transformers.
torch-models: env-test
	@$(PY) -c "import torch, transformers" || { echo "error: install torch (its CPU build" \
	  "will do) and transformers into $(VENV)" >&2; exit 1; }
	@$(PY) -m tests.conformance.torch_models $(MODELS)

bench: env-bench
	@$(PY) benchmarks/run.py

# Our rows in turns with those of another build: EARLIER is the Python of its environment.
bench-beside: env-bench
	@test -n "$(EARLIER)" || { echo "error: set EARLIER to the Python of an environment with the other build" >&2; exit 1; }
	@$(PY) benchmarks/beside.py "$(EARLIER)"

docs: env
	@echo "writing the generated pages, the stubs, the header and the bindings' ops again"
	@PYTHONPATH=runtime:frontends:capi $(PY) docs/generate.py
	@PYTHONPATH=runtime:frontends:capi $(PY) docs/stubs.py
	@PYTHONPATH=runtime:frontends:capi $(PY) -m lazyloom_capi --generate >/dev/null
	@$(PY) bindings/generate.py

# The core as it is in the checkout: compiled functions do not tell their parameters. The paths are
# whole ones, since examples run in folders of their own.
site: env-site
	@echo "making the site, for which the examples of all pages run: two to three minutes on two cores"
	@PYTHONPATH=$(CURDIR)/runtime:$(CURDIR)/frontends:$(CURDIR)/capi $(PY) -m sphinx --fail-on-warning --keep-going \
	  --fresh-env --jobs $(WORKERS) --doctree-dir out/doctrees --conf-dir docs/site . out/site \
	  | sed -u -n -E '/^(reading sources|writing output)\.\.\. \[/p'
	@echo "out/site/index.html"

# Installs without a C compiler; kernels are made for the jax, jaxlib and numpy of $(VENV).
wheel: env
	@echo "building a wheel, its core compiled, with all usual kernels: three minutes on two cores"
	@mkdir -p dist && rm -f dist/lazyloom-*.whl
	@LAZYLOOM_KERNELS=all LAZYLOOM_CORE=compiled $(PIP) -v -v wheel --no-deps --no-build-isolation \
	  --wheel-dir dist . $(call BUILD_SAYS,$(VENV)/wheel.log)
	@ls dist/lazyloom-*.whl

# A copy of what is installed in $(VENV), for who has no Python.
$(VENV)/.sdk: $(VENV)/.base
	@$(PIP_SAYS) install 'lazyloom[sdk]' $(SAID)
	@touch $@

sdk: $(VENV)/.sdk
	@echo "copying Python and what is installed in $(VENV) into a tarball"
	@env -u PYTHONPATH $(PY) sdk/make.py --output dist

clean:
	rm -f runtime/lazyloom/kernels.bin runtime/lazyloom/kernels.so
	rm -rf $(VENV) build dist out capi/lazyloom_capi/lib .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find runtime -name '*.so' -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf *.egg-info
