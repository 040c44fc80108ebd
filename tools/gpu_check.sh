#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the extension with the Python on PATH and runs on the GPU what CI cannot: the examples, the
# Python tests with their CUDA parts, and the benchmarks of launches and first calls. For machines
# where nothing can be installed: needs cmake, ninja, a C++20 compiler, nanobind, torch and jax in
# that Python.
set -u
cd "$(dirname "$0")/.."
export PYTHONPATH=python PYTHONUNBUFFERED=1
log=${1:-build/gpu_check}
mkdir -p "$log"
cmake -S . -B build/release -G Ninja -DCMAKE_BUILD_TYPE=Release -DPYPTX_PYTHON=ON \
  -DPYPTX_INPLACE=ON -DPYPTX_BENCH=ON -DPython_EXECUTABLE="$(command -v python3)" \
  >"$log/configure.log" 2>&1 && ninja -C build/release >"$log/build.log" 2>&1 || {
  tail -20 "$log/build.log"
  exit 1
}
status=0
for example in vector_add tiled_matmul hopper/rms_norm hopper/layer_norm hopper/softmax hopper/swiglu hopper/gemm \
  hopper/clustered_gemm hopper/grouped_gemm hopper/attention ampere/mma_tile ampere/gemm hopper/train_sharded \
  patterns/argmax patterns/axpby patterns/bitonic_sort patterns/histogram patterns/quantise_fp8 patterns/stencil \
  patterns/transpose patterns/work_queue; do
  echo "== examples/$example.py"
  python3 "examples/$example.py" 2>&1 | tail -20 || status=1
done
python3 -m pytest tests -p no:cacheprovider -rs --ignore=tests/diff >"$log/pytest.log" 2>&1 || status=1
grep -E "^(FAILED|ERROR|SKIPPED)|passed|failed" "$log/pytest.log" | cut -c1-200
python3 -m pyptx doctor || status=1
python3 bench/first_call.py --rounds 5 || status=1
python3 bench/launch.py --json "$log/launch.json" || status=1
exit $status
