// SPDX-License-Identifier: Apache-2.0
//
// A test fixture over the fake driver: opened once per program, reset before each test.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "fake_cuda.h"
#include "pyptx/driver/plan.h"

namespace pyptx::driver {

struct FakeLibrary {
  fake::Cuda* state = nullptr;
  void (*set_context)(int) = nullptr;
  void (*set_own_context)(int) = nullptr;
  void* (*stream)(int device, bool in_own) = nullptr;
  int (*context_depth)() = nullptr;
  int (*capture_mode)() = nullptr;

  /// Also points the process at the fake; the first use of the driver must come after this.
  static FakeLibrary& get() {
    static FakeLibrary made = open();
    return made;
  }

 private:
  static FakeLibrary open() {
    setenv("PYPTX_LIBCUDA", PYPTX_FAKE_CUDA, 1);
    void* library = dlopen(PYPTX_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) std::abort();
    FakeLibrary out;
    const auto control = reinterpret_cast<fake::Cuda* (*)()>(dlsym(library, "fake_cuda"));
    out.state = control();
    out.set_context =
        reinterpret_cast<decltype(out.set_context)>(dlsym(library, "fake_cuda_set_context"));
    out.set_own_context = reinterpret_cast<decltype(out.set_own_context)>(
        dlsym(library, "fake_cuda_set_own_context"));
    out.stream = reinterpret_cast<decltype(out.stream)>(dlsym(library, "fake_cuda_stream"));
    out.context_depth =
        reinterpret_cast<decltype(out.context_depth)>(dlsym(library, "fake_cuda_context_depth"));
    out.capture_mode =
        reinterpret_cast<decltype(out.capture_mode)>(dlsym(library, "fake_cuda_capture_mode"));
    return out;
  }
};

class FakeDriverTest : public testing::Test {
 protected:
  void SetUp() override {
    cuda().reset();
    library().set_context(-1);
  }
  void TearDown() override {
    EXPECT_EQ(cuda().violations, 0);
    EXPECT_EQ(library().capture_mode(), 0) << "the capture mode was not put back";
    library().set_context(-1);
  }

  /// Makes every kernel take the plan's parameters, each at its natural alignment.
  static void take_parameters_of(const LaunchPlan& plan) {
    using Kind = ParamSlot::Kind;
    cuda().parameters.clear();
    std::size_t end = 0;
    for (const ParamSlot& slot : plan.params) {
      const bool is_map = slot.kind == Kind::MapValue;
      const bool is_scalar = slot.kind == Kind::Scalar || slot.kind == Kind::Argument;
      const std::size_t size = is_map ? 128 : is_scalar ? slot.size : 8;
      const std::size_t alignment = is_map ? 64 : size;
      const std::size_t offset = (end + alignment - 1) / alignment * alignment;
      cuda().parameters.emplace_back(offset, size);
      end = offset + size;
    }
  }

  static FakeLibrary& library() { return FakeLibrary::get(); }
  static fake::Cuda& cuda() { return *library().state; }
  static int count(const std::string& call) { return cuda().count(call); }
};

}  // namespace pyptx::driver
