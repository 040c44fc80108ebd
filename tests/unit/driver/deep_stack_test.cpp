// SPDX-License-Identifier: Apache-2.0
#include "deep_stack.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace pyptx::driver {
namespace {

TEST(DeepStack, WorkIsDoneOnAnotherThreadBeforeItReturns) {
  std::thread::id worker;
  on_deep_stack([&] { worker = std::this_thread::get_id(); });
  EXPECT_NE(worker, std::thread::id());
  EXPECT_NE(worker, std::this_thread::get_id());
}

TEST(DeepStack, WhatTheWorkThrowsReachesTheCaller) {
  EXPECT_THROW(on_deep_stack([] { throw std::runtime_error("mine"); }), std::runtime_error);
}

}  // namespace
}  // namespace pyptx::driver
