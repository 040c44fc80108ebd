// SPDX-License-Identifier: Apache-2.0
//
// What a call brings beside the plan: scalars, and a grid of its own.
#include <gmock/gmock.h>

#include "fake_driver.h"
#include "launches.h"
#include "pyptx/driver/launch.h"

namespace pyptx::driver {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ParamSlot slot(ParamSlot::Kind kind, std::uint32_t size, std::uint64_t bits = 0) {
  ParamSlot out;
  out.kind = kind;
  out.size = size;
  out.bits = bits;
  return out;
}

ParamSlot pointer() { return slot(ParamSlot::Kind::Pointer, 8); }
ParamSlot scalar(std::uint64_t bits) { return slot(ParamSlot::Kind::Scalar, 4, bits); }
ParamSlot argument(std::uint32_t size) { return slot(ParamSlot::Kind::Argument, size); }

class LaunchArgumentsTest : public FakeDriverTest {
 protected:
  static std::unique_ptr<Launcher> make(const LaunchPlan& plan, const std::string& cubin = "one") {
    take_parameters_of(plan);
    auto launcher = Launcher::create(plan, *load_kernel(cubin, "kernel"));
    EXPECT_TRUE(launcher.ok());
    return std::move(*launcher);
  }
  static std::string refusal(const diag::Status& status) {
    EXPECT_EQ(cuda().launch_count, 0) << "launched although it was refused";
    return status.ok() ? "launched" : status.error().message();
  }
};

TEST_F(LaunchArgumentsTest, PassesScalarsOfTheCall) {
  const auto launcher =
      make(plan_of({pointer(), argument(4), scalar(5), argument(1), argument(8)}, 1));
  const std::vector<std::uint64_t> pointers = {0x1000};
  for (const std::uint64_t base : {std::uint64_t{0x10}, ~std::uint64_t{0x20}}) {
    const std::vector<std::uint64_t> scalars = {base, base + 1, base + 2};
    ASSERT_TRUE(launcher->launch(kStream, 0, {pointers, scalars}).ok());
    const auto& bytes = cuda().launches.back().parameters;
    EXPECT_EQ(at<std::uint64_t>(bytes, 0), 0x1000U);
    EXPECT_EQ(at<std::uint32_t>(bytes, 8), static_cast<std::uint32_t>(base));
    EXPECT_EQ(at<std::uint32_t>(bytes, 12), 5U);
    EXPECT_EQ(at<std::uint8_t>(bytes, 16), static_cast<std::uint8_t>(base + 1));
    EXPECT_EQ(at<std::uint64_t>(bytes, 24), base + 2);
  }
}

TEST_F(LaunchArgumentsTest, RefusesAnotherNumberOfScalars) {
  const auto launcher = make(plan_of({argument(4), argument(4)}, 0));
  const std::vector<std::uint64_t> scalars = {1, 2, 3};
  EXPECT_EQ(refusal(launcher->launch(kStream, 0, {.pointers = {}})),
            "'kernel' takes 2 scalars at run time, got 0");
  EXPECT_EQ(refusal(launcher->launch(kStream, 0, {.pointers = {}, .scalars = scalars})),
            "'kernel' takes 2 scalars at run time, got 3");
  const auto none = make(plan_of({scalar(1)}, 0), "no scalars");
  EXPECT_EQ(refusal(none->launch(kStream, 0, {.pointers = {}, .scalars = scalars})),
            "'kernel' takes 0 scalars at run time, got 3");
}

TEST_F(LaunchArgumentsTest, TakesTheGridOfTheCall) {
  LaunchPlan plan = plan_of({}, 0);
  plan.cluster = {2, 1, 1};
  const auto launcher = make(plan);
  const auto with = [&](const Dim3& grid) {
    return launcher->launch(kStream, 0, {.pointers = {}, .grid = grid});
  };
  EXPECT_THAT(refusal(with({3, 1, 1})), HasSubstr("a multiple of the cluster (2, 1, 1)"));
  EXPECT_THAT(refusal(with({2, 0, 1})), HasSubstr("the grid must be between"));
  EXPECT_THAT(refusal(with({2, 1, 65536})), HasSubstr("the grid must be between"));
  ASSERT_TRUE(with({6, 5, 4}).ok());
  EXPECT_THAT(cuda().launches.at(0).grid, ElementsAre(6, 5, 4));
  ASSERT_TRUE(launcher->launch(kStream, 0, {.pointers = {}}).ok());
  EXPECT_THAT(cuda().launches.at(1).grid, ElementsAre(8, 2, 1));  // its own again
}

}  // namespace
}  // namespace pyptx::driver
