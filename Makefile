# A bare machine with make, pip and a Python ≥ 3.11 will do: every target sets up what it needs.
#
#   PYTHON           interpreter to make the environment with
#   VENV             where the environment is
#   CONSTRAINTS      the versions in it; another file with another VENV tests other versions
#   TORCH_INDEX_URL  where to take torch from, such as https://download.pytorch.org/whl/cpu; by
#                    default from where pip takes everything, which may be a build for GPUs
#   VARIANT, IMAGE   which image `make image` builds, and its name
#   PYTHON_IMAGE     what it builds it on, such as python:3.11-slim@sha256:…, and names in a label
#   SENTENCES        file that `make bench` translates, its first column
#   RESULTS          folder that it writes to
#   LIBRETRANSLATE   a Python that has LibreTranslate, to compare with it too

PYTHON ?= python3
VENV ?= .venv
CONSTRAINTS ?= constraints.txt
TORCH_INDEX_URL ?=
VARIANT ?= full
VERSION = $(shell sed -n 's/^__version__ = "\(.*\)"$$/\1/p' app/__init__.py)
IMAGE ?= attend:$(VERSION)$(if $(filter slim,$(VARIANT)),-slim)
SENTENCES ?= benchmarks/sentences.txt
RESULTS ?= results
LIBRETRANSLATE ?=
PYTHON_IMAGE ?=
BASE_IMAGE = $(if $(PYTHON_IMAGE),--build-arg PYTHON_IMAGE=$(PYTHON_IMAGE) --label org.opencontainers.image.base.name=$(PYTHON_IMAGE))
BASE = --checkpoint $(RESULTS)/widened-base-32000 --sentences $(SENTENCES)

BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
COMPILED := $(VENV)/.compiled
SOURCES := app model benchmarks deploy tests setup.py

.DEFAULT_GOAL := help
.PHONY: help install serve test lint bench examples version kernels wheel release image clean

# Files of a wheel are dated by the commit, so that two builds of it are the same to the last byte.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2> /dev/null || echo 0)

help:
	@echo "make serve    translate on http://127.0.0.1:8000"
	@echo "make test     every check: style, types, tests"
	@echo "make lint     style and types alone"
	@echo "make bench    speed, load, fidelity, memory and exactness, in short (docs/benchmarks.md)"
	@echo "make examples writes golden sentences and the documentation's examples anew"
	@echo "make kernels  compiled kernels for the wheel that is built next"
	@echo "make wheel    dist/attend_server-*.whl, with the shipped checkpoint in it"
	@echo "make release  the wheel with its SBOM, hashes of every dependency, checksums and notes, in dist"
	@echo "make image    a container image (VARIANT=full or slim)"
	@echo "make install  the environment, in $(VENV)"
	@echo "make clean    remove the environment and caches"

install: $(INSTALLED)

$(INSTALLED): pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "attend needs Python 3.11 or later; PYTHON=… names another")'
	$(PYTHON) -m venv $(VENV)
ifneq ($(TORCH_INDEX_URL),)
	$(BIN)/python -m pip install --no-compile --no-deps --constraint $(CONSTRAINTS) --index-url $(TORCH_INDEX_URL) torch
endif
	$(BIN)/python -m pip install --no-compile --constraint $(CONSTRAINTS) --editable '.[dev,plot]'
	touch $@

# Python compiles the modules that are imported; pip would compile all, which takes half of its time.
# The server compiles the kernels that it needs; tests need both precisions.
$(COMPILED): $(INSTALLED)
	$(BIN)/python -m model.engine.compile
	touch $@

serve: install
	$(BIN)/attend serve

lint: $(INSTALLED)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy $(SOURCES)

# Kernels compile on one core while mypy works on another. One thread for torch: its products here
# are too small to share. The tests of a file stay in one process, for the servers that they share.
test:
	$(MAKE) --jobs 2 lint $(COMPILED)
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses auto --maxprocesses 4 --dist loadfile

bench: install
	$(BIN)/python -m benchmarks.widened --work $(RESULTS)
	$(BIN)/python -m benchmarks.decode --sentences $(SENTENCES) --rounds 3 --json $(RESULTS)/decode-shipped.json
	$(BIN)/python -m benchmarks.decode $(BASE) --count 96 --batches-each 4 --rounds 3 --json $(RESULTS)/decode-base.json
	$(BIN)/python -m benchmarks.serve --sentences $(SENTENCES) --closed-only --seconds 4 --rounds 1 --json $(RESULTS)/serve.json
	$(BIN)/python -m benchmarks.serve $(BASE) --closed-only --seconds 4 --rounds 1 --json $(RESULTS)/serve-base.json $(if $(LIBRETRANSLATE),--libretranslate $(LIBRETRANSLATE))
	$(BIN)/python -m benchmarks.fidelity --sentences $(SENTENCES) --json $(RESULTS)/fidelity.json
	$(BIN)/python -m benchmarks.exactness --sentences $(SENTENCES) --count 200 --json $(RESULTS)/exactness.json
	$(BIN)/python -m benchmarks.memory --engine --sentences $(SENTENCES) --json $(RESULTS)/memory-engine.json
	$(BIN)/python -m benchmarks.memory --engine $(BASE) --json $(RESULTS)/memory-engine-base.json
	$(BIN)/python -m benchmarks.memory --sentences $(SENTENCES) --starts 3 --json $(RESULTS)/memory.json
	$(BIN)/python -m benchmarks.memory $(BASE) --requests 500 --starts 1 --json $(RESULTS)/memory-base.json
	@$(if $(LIBRETRANSLATE),,echo "LibreTranslate is left out: LIBRETRANSLATE=… names a Python that has it")
	@echo "benchmarks.imported is left out: its models have 600 million parameters"

# After the shipped checkpoint has changed: what it is checked with, and what the documentation shows.
examples: install
	rm -f checkpoints/en-fr/golden.json
	$(BIN)/attend golden --output checkpoints/en-fr --source en < benchmarks/sentences.txt
	$(BIN)/attend translate --source en < benchmarks/sentences.txt | $(BIN)/attend golden --output checkpoints/en-fr --source fr
	$(BIN)/pytest tests/test_examples.py --write-examples

version:
	@echo $(VERSION)

# For every kind of processor of this architecture, in int8; a wheel that is built afterwards has them.
kernels: $(INSTALLED)
	rm -rf build/kernels
	XDG_CACHE_HOME=build/kernels $(BIN)/python -m model.engine.compile --every-target int8

wheel:
	$(PYTHON) -m pip wheel --no-deps --wheel-dir dist .

# Needs no environment of attend: what it would install is resolved, not installed.
release:
	rm -rf dist build/release
	$(MAKE) wheel
	$(PYTHON) -m venv build/release
	build/release/bin/python -m pip install --quiet --constraint $(CONSTRAINTS) uv cyclonedx-bom
	build/release/bin/uv pip compile --quiet --no-header --generate-hashes --constraint $(CONSTRAINTS) --output-file dist/requirements.txt pyproject.toml
	build/release/bin/cyclonedx-py requirements dist/requirements.txt --pyproject pyproject.toml --output-reproducible --output-file dist/sbom.cdx.json
	awk -v version="$(VERSION)" '/^## / { found = $$2 == version; next } found' CHANGELOG.md > dist/NOTES.md
	grep --quiet . dist/NOTES.md || { echo "CHANGELOG.md has no section of version $(VERSION)"; exit 1; }
	cd dist && sha256sum * > SHA256SUMS

image:
	docker build --build-arg VARIANT=$(VARIANT) --tag $(IMAGE) $(BASE_IMAGE) .

clean:
	rm -rf $(VENV) *.egg-info build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +
