#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes sure of the few things that do not come from PyPI: a C++20 compiler, and for the argument
#   tests  GoogleTest; a browser, for the pages that pyptx writes
#   consumers  clang and pkg-config
#   bench  Google Benchmark and GoogleTest
#   fuzz   clang and its run-time libraries, for libFuzzer
#   aarch64  the cross compiler, the emulator of its programs and GoogleTest's sources
# Installs them with apt-get where it may, and says what is missing where it may not.
set -eu
missing=""
command -v g++ >/dev/null 2>&1 || missing="$missing g++"
python3 -c 'import ensurepip, venv' >/dev/null 2>&1 || missing="$missing python3-venv"
if [ "${1:-}" = tests ]; then
  [ -e /usr/include/gtest/gtest.h ] || missing="$missing libgtest-dev"
  [ -e /usr/include/gmock/gmock.h ] || missing="$missing libgmock-dev"
  command -v chromium >/dev/null 2>&1 || missing="$missing chromium"
  # Pages are shown in a fixed width; a screenshot is the same wherever it is made.
  [ -e /usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf ] || missing="$missing fonts-dejavu-core"
fi
if [ "${1:-}" = bench ]; then
  [ -e /usr/include/benchmark/benchmark.h ] || missing="$missing libbenchmark-dev"
  [ -e /usr/include/gtest/gtest.h ] || missing="$missing libgtest-dev"
fi
if [ "${1:-}" = aarch64 ]; then
  command -v aarch64-linux-gnu-g++ >/dev/null 2>&1 || missing="$missing g++-aarch64-linux-gnu"
  command -v qemu-aarch64 >/dev/null 2>&1 || missing="$missing qemu-user"
  [ -e /usr/src/googletest/CMakeLists.txt ] || missing="$missing googletest"
fi
if [ "${1:-}" = consumers ]; then
  command -v clang++-19 >/dev/null 2>&1 || missing="$missing clang-19"
  command -v pkg-config >/dev/null 2>&1 || missing="$missing pkgconf"
fi
if [ "${1:-}" = fuzz ]; then
  command -v clang++-19 >/dev/null 2>&1 || missing="$missing clang-19"
  ls /usr/lib/llvm-19/lib/clang/19/lib/*/libclang_rt.fuzzer*.a >/dev/null 2>&1 ||
    missing="$missing libclang-rt-19-dev"
fi
[ -n "$missing" ] || exit 0
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends $missing
else
  echo "please install:$missing (Debian package names)" >&2
  exit 1
fi
