# make demo   set everything up and run the RMSNorm example (GPU if there is one, else emulator)
# make test   set everything up, lint, and run every test
# make lint   format, layering, static analysis
# make bench  ratios against named peers
# make wheel  an installable wheel in dist/
.PHONY: all demo test lint bench wheel build tests-cpp tests-python tsan format clean

PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
export PATH := $(BIN):$(PATH)
JOBS ?= $(shell nproc)
READY := $(VENV)/.ready
CCACHE := $(if $(shell command -v ccache),-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)

all: build

$(READY): requirements-dev.txt tools/system_packages.sh
	./tools/system_packages.sh
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	$(BIN)/python tools/link_package.py
	touch $@

build: $(READY)
	cmake -S . -B build/release -G Ninja -DCMAKE_BUILD_TYPE=Release -DPYPTX_PYTHON=ON \
	  -DPYPTX_INPLACE=ON -DPYPTX_BENCH=ON -DPython_EXECUTABLE=$(BIN)/python $(CCACHE) >/dev/null
	cmake --build build/release -j $(JOBS)

demo: build
	$(BIN)/python examples/hopper/rms_norm.py --ptx

tests-cpp: $(READY)
	cmake --preset asan -DPython_EXECUTABLE=$(BIN)/python $(CCACHE) >/dev/null
	cmake --build --preset asan -j $(JOBS)
	ctest --preset asan -j $(JOBS)

tests-python: build
	$(BIN)/python -m pytest

test: lint tests-cpp tests-python

# Longer than `make test` allows: the C++ tests again, under ThreadSanitizer.
tsan: $(READY)
	cmake --preset tsan -DPython_EXECUTABLE=$(BIN)/python $(CCACHE) >/dev/null
	cmake --build --preset tsan -j $(JOBS)
	ctest --preset tsan -j $(JOBS)

lint: build
	$(BIN)/python tools/lint/layers.py
	$(BIN)/python tools/lint/sizes.py
	$(BIN)/python tools/lint/words.py
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $$(git ls-files '*.cpp' '*.h')
	$(BIN)/python tools/lint/tidy.py build/release -j $(JOBS)

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $$(git ls-files '*.cpp' '*.h')

bench: build
	$(BIN)/python bench/launch.py

wheel: $(READY)
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation -w dist .

clean:
	rm -rf build dist python/pyptx/*.so
