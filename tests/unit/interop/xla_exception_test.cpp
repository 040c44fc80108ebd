// SPDX-License-Identifier: Apache-2.0
//
// XLA is C to our handlers: an exception that went out into it would end the process. Whatever is
// thrown, they answer an error.
#include "pyptx/interop/xla.h"

#if __has_include("xla/ffi/api/c_api.h")

#include "fake_xla.h"

namespace pyptx::interop::xla {
namespace {

using testing::HasSubstr;

// The caller is C: what a driver throws, or our own code, is an error of XLA's.
TEST_F(XlaTest, NoExceptionPasses) {
  take_parameters_of(kernels::add_plan(100));
  CallFrame frame;
  frame.kernel(kernels::kAdd, kernels::add_plan(100));
  ASSERT_EQ(frame.call(cuda_handlers().instantiate, &site), "");
  buffers(frame);
  cuda().failures["cuLaunchKernelEx"] = fake::kThrows;
  const auto error =
      frame.error_of(cuda_handlers().execute, &site, [](auto& call) { return call(); });
  ASSERT_NE(error, nullptr);
  EXPECT_THAT(error->message, HasSubstr("PTX0820"));
  EXPECT_EQ(error->code, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED);
}

// Each allocation of a handler in turn is refused, and all that come after it, those for the words
// of the error among them.
TEST_F(XlaTest, WithoutMemoryThereIsAnAnswer) {
  const auto plan = kernels::add_plan(96);
  take_parameters_of(plan);
  const auto until_it_works = [&](void* handler, bool makes_state) {
    for (long granted = 0;; ++granted) {
      ASSERT_LT(granted, 100000);
      CallFrame frame;
      frame.kernel(kernels::kAdd, plan);
      if (!makes_state) buffers(frame);
      const auto error = frame.error_of(handler, &site, [&](auto& call) {
        const NoMemory refusing(granted);
        return call();
      });
      if (error == nullptr) {
        ASSERT_TRUE(granted > 0) << "the handler needs no memory";
        return;
      }
      ASSERT_TRUE(NoMemory::was_felt()) << error->message;
      EXPECT_EQ(error->code, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED) << error->message;
      EXPECT_NE(error->message, "");
    }
  };
  for (const Handlers& platform : handlers()) {
    until_it_works(platform.instantiate, true);
    if (platform.prepare != nullptr) until_it_works(platform.prepare, false);
    if (&platform == &cpu_handlers()) until_it_works(platform.execute, false);
    types().at(static_cast<std::size_t>(site.type - 1)).deleter(site.state);
    site.state = nullptr;
  }
  EXPECT_EQ(c[95], 3.5F) << "and when there is memory it runs";
}

}  // namespace
}  // namespace pyptx::interop::xla

#endif
