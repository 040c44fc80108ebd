// SPDX-License-Identifier: Apache-2.0
//
// The version of the headers, the one place that says it (CMake reads it here), and the language
// that they are written in.
#pragma once

/// The parts of the version, and the whole as text.
#define PYPTX_VERSION_MAJOR 0
#define PYPTX_VERSION_MINOR 1
#define PYPTX_VERSION_PATCH 0
#define PYPTX_VERSION "0.1.0"
/// To compare with: 1.2.3 is 10203.
#define PYPTX_VERSION_NUMBER \
  (PYPTX_VERSION_MAJOR * 10000 + PYPTX_VERSION_MINOR * 100 + PYPTX_VERSION_PATCH)

#if __cplusplus < 202002L
// A file that is not there ends the compilation, so that this is the only error; #error would be
// followed by hundreds.
#include "pyptx needs C++20: compile with -std=c++20, or cxx_std_20 in CMake"
#endif
