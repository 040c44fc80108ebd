// SPDX-License-Identifier: Apache-2.0
//
// The inner loop of wgmma, compiled once per instruction-set variant of the host.
#pragma once

#include "program.h"

namespace pyptx::emu {

/// One warp's 16 rows of D += A * B, in the layout of the accumulator registers: for every group
/// of 8 columns and each of its row halves h, two registers p = 0, 1 of 32 lanes.
///   a[(h * depth + k) * 32 + lane]         = A(row of the lane and h, k)
///   b[((group * 2 + p) * depth + k) * 8 + j] = B(k, 8 * group + 2 * (j % 4) + p)
///   d[group * 4 + h * 2 + p]               -> 32 lanes
template <typename T>
struct MultiplyArgs {
  const T* a = nullptr;
  const T* b = nullptr;
  T* const* d = nullptr;
  u32 groups = 0;
  u32 depth = 0;
};

namespace baseline {
void multiply(const MultiplyArgs<float>& args);
void multiply(const MultiplyArgs<i32>& args);
}  // namespace baseline
#if defined(__x86_64__) && defined(__GNUC__)
namespace avx2 {
void multiply(const MultiplyArgs<float>& args);
void multiply(const MultiplyArgs<i32>& args);
}  // namespace avx2
#endif

void multiply(const MultiplyArgs<float>& args);
void multiply(const MultiplyArgs<i32>& args);

}  // namespace pyptx::emu
