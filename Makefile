# make demo   set everything up and run the RMSNorm example (GPU if there is one, else emulator):
#             its PTX, the errors against float64, what each instruction cost
# make test   set everything up, lint, and run every test
# make lint   format, layering, static analysis
# make fuzz   random texts against parser, verifier and emulator, FUZZ_SECONDS long
# make bad-input  nonsense of 100 MB each against parser and verifier: time and peak memory
# make damaged  5,000 damaged files of PTX against the recovering parser
# make cache-torture  the disk cache under processes that damage it and are killed
# make pythons  what depends on the interpreter itself, with other Pythons (PYTHONS=...)
# make aarch64  the C++ tests for another processor, cross-built and emulated
# make docs   the guide, the API and the instruction reference as HTML in build/docs
# make bench  ratios against named peers, the emulator against its goals
# make consumers  outside projects against the library: each way to find it, two compilers, sanitizers
# make certify  the instruction table against ptxas, in full (long: made for many cores)
# make corpus   PTX of CUDA programs: round trip, verification, machine code (about half an hour)
# make wheel  a wheel in dist/, for the systems its tag names
.PHONY: all demo test lint bench certify corpus judges reference coverage results layouts stubs docs screenshots api-pages wheel build sanitized tests-cpp tests-python tsan aarch64 format clean fuzz bad-input cache-torture pythons damaged consumers

PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
export PATH := $(BIN):$(PATH)
JOBS ?= $(shell nproc)
# The environment in two steps: what builds the extension and runs the demo, then the rest.
DEMO_READY := $(VENV)/.ready-demo
READY := $(VENV)/.ready
CCACHE := $(if $(shell command -v ccache),-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)

all: build

$(DEMO_READY): requirements-demo.txt tools/system_packages.sh tools/link_package.py
	./tools/system_packages.sh
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-demo.txt
	$(BIN)/python tools/link_package.py
	touch $@

$(READY): $(DEMO_READY) requirements-dev.txt
	./tools/system_packages.sh tests
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

# One tree, of which the demo builds the extension alone.
RELEASE := cmake -S . -B build/release -G Ninja -DCMAKE_BUILD_TYPE=Release -DPYPTX_PYTHON=ON \
  -DPYPTX_INPLACE=ON -DPYPTX_BENCH=ON -DPYPTX_EXAMPLES=ON -DPython_EXECUTABLE=$(BIN)/python $(CCACHE) >/dev/null

build: $(READY)
	$(RELEASE)
	cmake --build build/release -j $(JOBS)

# Where there is a GPU, it is torch and JAX that call the kernels on it.
demo: $(if $(wildcard /dev/nvidiactl),$(READY),$(DEMO_READY))
	$(RELEASE)
	cmake --build build/release -j $(JOBS) --target _core
	$(BIN)/python examples/hopper/rms_norm.py --ptx --profile

# What the Python tests ask of the C++ tests' build.
sanitized: $(READY)
	cmake --preset asan -DPython_EXECUTABLE=$(BIN)/python $(CCACHE) >/dev/null
	cmake --build --preset asan -j $(JOBS) --target verdict roundtrip

tests-cpp: sanitized
	cmake --build --preset asan -j $(JOBS)
	ctest --preset asan -j $(JOBS)

tests-python: build sanitized
	$(BIN)/python -m pytest

# The Python tests take one core and the C++ tests are built on all: they run side by side, each
# command's output whole.
test: lint
	$(MAKE) --no-print-directory -j 2 -Oline tests-cpp tests-python

# Longer than `make test` allows: the C++ tests again, under ThreadSanitizer.
tsan: $(READY)
	cmake --preset tsan -DPython_EXECUTABLE=$(BIN)/python $(CCACHE) >/dev/null
	cmake --build --preset tsan -j $(JOBS)
	ctest --preset tsan -j $(JOBS)

# Outside projects: static and shared libraries, CMake's package, pkg-config and FetchContent, g++ and
# clang, sanitizers. What the compilers say of misuses too.
consumers: build
	./tools/system_packages.sh consumers
	cmake -S . -B build/shared -G Ninja -DCMAKE_BUILD_TYPE=Release -DPYPTX_SHARED=ON \
	  -DPython_EXECUTABLE=$(BIN)/python $(CCACHE) >/dev/null
	cmake --build build/shared -j $(JOBS) --target pyptx_development
	set -e; for preset in asan tsan; do \
	  cmake --preset $$preset -DPython_EXECUTABLE=$(BIN)/python $(CCACHE) >/dev/null; \
	  cmake --build --preset $$preset -j $(JOBS) --target pyptx_development; \
	done
	PYTHONPATH=tests $(BIN)/python tests/install/consumers.py

# The C++ tests for linux-aarch64, cross-built and run under qemu-user, less those that start programs.
aarch64: $(READY)
	./tools/system_packages.sh aarch64
	cmake --preset aarch64 -DPython_EXECUTABLE=$(BIN)/python $(CCACHE) >/dev/null
	cmake --build --preset aarch64 -j $(JOBS)
	ctest --preset aarch64 -j $(JOBS)

# The judge and the round-trip program, optimised; the tests use sanitized ones.
JUDGES := build/judges
judges: $(READY)
	cmake -S . -B $(JUDGES) -G Ninja -DCMAKE_BUILD_TYPE=Release -DPYPTX_TESTS=ON \
	  -DPython_EXECUTABLE=$(BIN)/python $(CCACHE) >/dev/null
	cmake --build $(JUDGES) -j $(JOBS) --target verdict roundtrip

# Our verdict against ptxas: every form's instances, products, mutations, versions and targets, the
# manual's examples (MANUAL=folder with its markdown) and CCCL's templates. A difference that is not
# in tools/certify/ledger.toml fails. CERTIFY=--update-golden writes tests/diff/golden anew.
certify: judges
	PYTHONPATH=tools PYPTX_VERDICT=$(JUDGES)/tests/diff/verdict \
	  $(BIN)/python -m certify all --jobs $(JOBS) $(if $(MANUAL),--path $(MANUAL)) $(CERTIFY)

corpus: judges
	PYPTX_ROUNDTRIP=$(JUDGES)/tests/corpus/roundtrip $(BIN)/python tests/corpus/corpus.py -j $(JOBS)

# The pages of docs/isa, anew from the table.
reference: $(READY)
	PYTHONPATH=tools $(BIN)/python -m isagen --table isa --docs docs/isa

# docs/emulator/coverage.md, anew from the table and the recorded vectors.
coverage: build
	PYTHONPATH=tools:python $(BIN)/python -m record.coverage --out docs/emulator

# docs/results, anew from the records of bench/kernels.py.
results: build
	PYTHONPATH=tools:python $(BIN)/python -m results --out docs/results

# The pictures of docs/guide/layouts.md, anew from pyptx.layout.
layouts: build
	PYTHONPATH=tools:python $(BIN)/python -m layouts --out docs/guide/pictures

# The texts of tests/unit/text/bad_input_test.cpp at full size: what each is refused with, its time
# and the memory it takes beyond the text itself.
BAD_INPUT_BYTES ?= 100000000
bad-input: judges
	cmake --build $(JUDGES) -j $(JOBS) --target text_test
	PYPTX_BAD_INPUT_BYTES=$(BAD_INPUT_BYTES) $(JUDGES)/tests/unit/text_test --gtest_brief=1 \
	  --gtest_filter='*BadInput.IsRefused*'

# tests/text/test_damaged.py with more files: of the corpus where `make corpus` has compiled it.
DAMAGED ?= 5000
damaged: build
	PYPTX_DAMAGED=$(DAMAGED) $(BIN)/python -m pytest tests/text/test_damaged.py

# tests/driver/test_cubin_cache.py for longer: on a disk with space, on a full one, on a read-only one.
CACHE_SECONDS ?= 120
cache-torture: build
	PYPTX_CACHE_TORTURE_SECONDS=$(CACHE_SECONDS) $(BIN)/python -m pytest tests/driver/test_cubin_cache.py

# Each Python gets an environment and a build of its own: minutes, and torch once for each.
PYTHONS ?= python3.12 python3.13
INTERPRETER_TESTS := tests/call/test_captured.py tests/call/test_captures.py \
  tests/call/test_captures_unnamed.py tests/call/test_runtime_entry.py
pythons:
	set -e; for python in $(PYTHONS); do \
	  folder=$(CURDIR)/build/pythons/$$($$python -c 'import sys; print(*sys.version_info[:2], sep=".")'); \
	  $$python -m venv $$folder/venv; \
	  $$folder/venv/bin/pip install --quiet --disable-pip-version-check -r requirements-dev.txt; \
	  PATH=$$folder/venv/bin:$$PATH cmake -S . -B $$folder/build -G Ninja -DCMAKE_BUILD_TYPE=Release \
	    -DPYPTX_PYTHON=ON -DPYPTX_INPLACE=ON -DPython_EXECUTABLE=$$folder/venv/bin/python $(CCACHE) >/dev/null; \
	  PATH=$$folder/venv/bin:$$PATH cmake --build $$folder/build -j $(JOBS) --target _core; \
	  PYTHONPATH=$(CURDIR)/python $$folder/venv/bin/python -m pytest -p no:cacheprovider $(INTERPRETER_TESTS); \
	done

# What editors and type checkers read: ptx.inst from the table, the rest from the built extension.
stubs: build
	PYTHONPATH=tools $(BIN)/python -m isagen --table isa --stubs python/pyptx/_inst
	PYTHONPATH=tools:python $(BIN)/python -m stubs --out python/pyptx

# The pages of docs/api, anew from the package's sources and stubs.
api-pages: $(READY)
	PYTHONPATH=tools $(BIN)/python -m apidocs --out docs/api

# docs/images, anew: the page of kernels of the examples, in a browser.
screenshots: build
	PYTHONPATH=tools:python $(BIN)/python -m screenshots --out docs/images

# Offline once the generator is installed; a broken link or a page in no table of contents fails.
DOCS_READY := $(VENV)/.ready-docs
$(DOCS_READY): requirements-docs.txt $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-docs.txt
	touch $@

docs: $(DOCS_READY)
	$(BIN)/sphinx-build -q -W --keep-going -j $(JOBS) -d build/doctrees -b html docs build/docs
	@echo build/docs/index.html

# For FUZZ_SECONDS altogether: any bytes against lexer, parser and printers, verifier; changed kernels
# and launches against the emulator.
FUZZ_SECONDS ?= 1800
fuzz: $(READY)
	./tools/system_packages.sh fuzz
	cmake --preset fuzz -DPython_EXECUTABLE=$(BIN)/python $(CCACHE) >/dev/null
	cmake --build --preset fuzz -j $(JOBS) --target fuzz_lex fuzz_parse_print fuzz_verify \
	  fuzz_emulate
	$(BIN)/python fuzz/seeds.py build/fuzz/seeds
	set -e; for target in lex parse_print verify emulate; do \
	  seeds=build/fuzz/seeds; [ $$target != emulate ] || seeds=build/fuzz/seeds_run; \
	  mkdir -p build/fuzz/corpus_$$target; \
	  build/fuzz/fuzz/fuzz_$$target -max_total_time=$$(( $(FUZZ_SECONDS) / 4 )) -timeout=20 -rss_limit_mb=8192 \
	    -max_len=65536 -dict=build/fuzz/seeds.dict -artifact_prefix=build/fuzz/ \
	    build/fuzz/corpus_$$target $$seeds; \
	done

lint: build
	$(BIN)/python tools/lint/layers.py
	$(BIN)/python tools/lint/sizes.py
	$(BIN)/python tools/lint/one_place.py
	$(BIN)/python tools/lint/handlers.py
	PYTHONPATH=tools $(BIN)/python -m isagen --table isa --check-docs docs/isa \
	  --check-stubs python/pyptx/_inst
	PYTHONPATH=tools:python $(BIN)/python -m stubs --check python/pyptx
	PYTHONPATH=tools $(BIN)/python -m apidocs --check docs/api
	PYTHONPATH=tools:python $(BIN)/python -m record.coverage --check docs/emulator
	PYTHONPATH=tools:python $(BIN)/python -m results --check docs/results
	PYTHONPATH=tools:python $(BIN)/python -m layouts --check docs/guide/pictures
	$(BIN)/python tools/lint/words.py
	$(BIN)/python tools/lint/named.py
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $$(git ls-files '*.cpp' '*.h')
	cmake -S . -B build/tidy -G Ninja -DCMAKE_BUILD_TYPE=Release -DPYPTX_PYTHON=ON -DPYPTX_MERGE=OFF \
	  -DPython_EXECUTABLE=$(BIN)/python >/dev/null
	cmake --build build/tidy --target pyptx_isagen
	$(BIN)/python tools/lint/tidy.py build/tidy -j $(JOBS)

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $$(git ls-files '*.cpp' '*.h')

bench: build
	$(BIN)/python bench/launch.py
	$(BIN)/python bench/first_call.py
	$(BIN)/python bench/kernels.py
	$(BIN)/python bench/verify.py
	$(BIN)/python bench/trace.py
	$(BIN)/python bench/author.py
	$(BIN)/python bench/emulator.py
	$(BIN)/python bench/checks.py
	./tools/system_packages.sh bench
	$(RELEASE)
	cmake --build build/release -j $(JOBS) --target call_bench
	build/release/bench/call_bench

# auditwheel gives the wheel the tag of the oldest systems that have all it needs.
WHEEL_READY := $(VENV)/.ready-wheel
$(WHEEL_READY): requirements-wheel.txt $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-wheel.txt
	touch $@

wheel: $(WHEEL_READY)
	rm -rf build/wheelhouse dist
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation -w build/wheelhouse .
	$(BIN)/auditwheel repair -w dist build/wheelhouse/*.whl
	$(BIN)/python tools/check_wheel.py dist/*.whl

clean:
	rm -rf build dist python/pyptx/*.so
