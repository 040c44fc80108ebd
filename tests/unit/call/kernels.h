// SPDX-License-Identifier: Apache-2.0
//
// Kernels for the tests of calls.
#pragma once

#include <cstdint>

#include "pyptx/kernel.h"

namespace pyptx::kernels {

using namespace pyptx::types;

struct Scale {
  double factor = 2.0;
  bool operator==(const Scale&) const = default;
};

inline constexpr std::uint32_t kThreads = 64;

/// y = factor x, for each length a trace.
inline DeclaredKernel<Scale> scale() {
  return kernel<Scale>("scale", {Input("X", {"N"}, f32), Output("Y", {"N"}, f32)},
                       {.grid = ceil_div(dim("N"), kThreads), .block = {kThreads}},
                       [](const Tensor& X, const Tensor& Y, const Scale& values) {
                         const auto [px, py] = ptx::global_ptrs(X, Y);
                         const Reg i = reg::from(ptx::special::ctaid.x(), u32) * kThreads +
                                       ptx::special::tid.x();
                         ptx::if_(i < X.shape(0), [&, px = px, py = py] {
                           const Reg x = reg::scalar(f32);
                           ptx::inst::ld.global.f32(x, ptx::addr(px + i * 4));
                           ptx::inst::mul.f32(x, x, values.factor);
                           ptx::inst::st.global.f32(ptx::addr(py + i * 4), x);
                         });
                         ptx::ret();
                       });
}

/// y = alpha x + y for any length: the size and alpha come with each launch.
inline DeclaredKernel<> axpy(bool is_auto = false) {
  return kernel("axpy", {Input("X", {"N"}, f32), InOut("Y", {"N"}, f32)},
                {.grid = ceil_div(dim("N"), kThreads),
                 .block = {kThreads},
                 .scalars = {{f32, "alpha", 2.0}},
                 .dynamic = {"N"},
                 .arch = is_auto ? "auto" : "sm_80"},
                [](const Tensor& X, const Tensor& Y) {
                  const auto [px, py] = ptx::global_ptrs(X, Y);
                  const Reg i =
                      reg::from(ptx::special::ctaid.x(), u32) * kThreads + ptx::special::tid.x();
                  ptx::if_(i < X.shape(0), [&, px = px, py = py] {
                    const Reg x = reg::scalar(f32);
                    const Reg y = reg::scalar(f32);
                    ptx::inst::ld.global.f32(x, ptx::addr(px + i * 4));
                    ptx::inst::ld.global.f32(y, ptx::addr(py + i * 4));
                    ptx::inst::fma.rn.f32(y, x, ptx::param(f32, "alpha"), y);
                    ptx::inst::st.global.f32(ptx::addr(py + i * 4), y);
                  });
                  ptx::ret();
                });
}

/// The rows of a matrix, each as far as its columns go: two outputs, rows that may lie apart.
inline DeclaredKernel<> split() {
  const interop::Tile rows{.dims = {"M", 4}, .dtype = "u32", .strided = true};
  return kernel("split", {Input("X", rows), Output("LOW", rows), Output("HIGH", rows)},
                {.grid = dim("M"), .block = {4}},
                [](const Tensor& X, const Tensor& LOW, const Tensor& HIGH) {
                  const auto place = [](const Tensor& tensor) {
                    const Reg row = ptx::special::ctaid.x();
                    const Reg at = row * tensor.stride(0) + ptx::special::tid.x();
                    return ptx::addr(ptx::global_ptr(tensor) + at * 4);
                  };
                  const Reg x = reg::scalar(u32);
                  ptx::inst::ld.global.u32(x, place(X));
                  ptx::inst::st.global.u32(place(LOW), x & 0xFF);
                  ptx::inst::st.global.u32(place(HIGH), x >> 8);
                  ptx::ret();
                });
}

}  // namespace pyptx::kernels
