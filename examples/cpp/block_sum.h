// SPDX-License-Identifier: Apache-2.0
//
// The sum of a vector by one block: a loop at run time, shuffles within warps, shared memory
// between them.
#pragma once

#include <cstdint>

#include "pyptx/kernel.h"

namespace examples {

using namespace pyptx;
using namespace pyptx::types;

inline constexpr std::int64_t kSumThreads = 128;
inline constexpr std::int64_t kSumWarps = kSumThreads / 32;

inline void block_sum_body(const Tensor& X, const Tensor& Y) {
  const auto [px, py] = ptx::global_ptrs(X, Y);
  const Reg tid = ptx::special::tid.x();
  const Reg sum = reg::scalar(f32, 0.0);
  const auto add = [&](const Reg& i) {
    const Reg x = reg::scalar(f32);
    ptx::inst::ld.global.f32(x, ptx::addr(px + i * 4));
    sum += x;  // `sum = sum + x` would name another register, and not compile
  };
  ptx::range(tid, X.shape(0), add, kSumThreads);
  ptx::warp::reduce_sum(sum);

  const Shared parts = smem::alloc(f32, {kSumWarps});
  const Reg warp = tid >> 5;
  ptx::if_((tid & 31) == 0, [&] { parts.store({warp}, sum); });
  ptx::bar::sync();
  ptx::if_(tid == 0, [&] {
    const Reg total = parts.load({0});
    for (std::int64_t i = 1; i < kSumWarps; ++i) total += parts.load({i});
    ptx::inst::st.global.f32(ptx::addr(py), total);
  });
  ptx::ret();
}

/// Y = the sum of X. Its length comes with the launch: one text serves all.
inline const auto block_sum =
    kernel("block_sum", {Input("X", {"N"}, f32), Output("Y", {1}, f32)},
           {.block = {kSumThreads}, .dynamic = {"N"}, .arch = "sm_80"}, block_sum_body);

}  // namespace examples
