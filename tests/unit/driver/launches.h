// SPDX-License-Identifier: Apache-2.0
//
// What tests of launches share: a plan, a stream, and what the fake driver was passed.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "pyptx/driver/plan.h"

namespace pyptx::driver {

inline void* const kStream = reinterpret_cast<void*>(std::uintptr_t{0x5000});

inline LaunchPlan plan_of(std::vector<ParamSlot> params, std::uint32_t tensors) {
  LaunchPlan plan;
  plan.entry = "kernel";
  plan.grid = {8, 2, 1};
  plan.block = {128, 1, 1};
  plan.tensor_count = tensors;
  plan.params = std::move(params);
  return plan;
}

template <typename T>
T at(const std::vector<unsigned char>& bytes, std::size_t offset) {
  T out{};
  EXPECT_LE(offset + sizeof out, bytes.size());
  std::memcpy(&out, bytes.data() + offset, sizeof out);
  return out;
}

}  // namespace pyptx::driver
