// SPDX-License-Identifier: Apache-2.0
//
// Kernels for the interop tests, and their plans.
#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

#include "pyptx/driver/plan.h"
#include "pyptx/interop/image.h"
#include "pyptx/interop/open_kernel.h"

namespace pyptx::interop::kernels {

/// The text of a file of tests/data.
inline std::string text_of(const std::string& name) {
  std::ifstream file(std::string(PYPTX_TEST_DATA "/") + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// c[i] = a[i] + b[i] for i < n; parameters a, b, c, n.
inline const std::string kAdd = text_of("add.ptx");

inline driver::LaunchPlan add_plan(std::uint32_t n) {
  driver::LaunchPlan plan;
  plan.entry = "kernel";
  plan.grid = {(n + 31) / 32, 1, 1};
  plan.block = {32, 1, 1};
  plan.tensor_count = 3;
  for (std::uint32_t tensor = 0; tensor < 3; ++tensor) {
    plan.params.push_back({driver::ParamSlot::Kind::Pointer, tensor, 8, 0, {}});
  }
  plan.params.push_back({driver::ParamSlot::Kind::Scalar, 0, 4, n, {}});
  return plan;
}

/// The same for any n.
inline OpenKernel open_add() {
  const Tile tile{.dims = {"N"}, .dtype = "f32"};
  OpenKernel kernel{.text = {*read_module(kAdd), kAdd, "sm_90a"},
                    .signature = {.kernel = "kernel",
                                  .inputs = {{"a", tile}, {"b", tile}},
                                  .outputs = {{"c", tile}},
                                  .scalars = {{"u32", "n"}}}};
  kernel.launch.grid[0] = (SizeExpression::of("N") + 31) / 32;
  kernel.launch.block = {32, 1, 1};
  kernel.launch.scalars = {{.size = SizeExpression::of("N")}};
  return kernel;
}

}  // namespace pyptx::interop::kernels
