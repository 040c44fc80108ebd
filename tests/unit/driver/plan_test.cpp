// SPDX-License-Identifier: Apache-2.0
#include "pyptx/driver/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace pyptx::driver {
namespace {

using testing::HasSubstr;

layout::TensorMap tile_map() {
  layout::TensorMap map;
  map.type = layout::MapType::BF16;
  map.rank = 2;
  map.dims = {1024, 512};
  map.strides = {2048};
  map.box = {64, 128};
  map.swizzle = layout::Swizzle::B128;
  return map;
}

LaunchPlan sample() {
  LaunchPlan plan;
  plan.entry = "gemm$1";
  plan.grid = {16, 4, 1};
  plan.block = {128, 1, 1};
  plan.cluster = {2, 1, 1};
  plan.dynamic_shared = 200000;
  plan.tensor_count = 2;
  plan.tensor_bytes = {1048576, 64};
  ParamSlot pointer;
  pointer.tensor = 1;
  ParamSlot scalar;
  scalar.kind = ParamSlot::Kind::Scalar;
  scalar.size = 4;
  scalar.bits = 0xdeadbeef;
  ParamSlot map;
  map.kind = ParamSlot::Kind::MapValue;
  map.size = 128;
  map.map = tile_map();
  plan.params = {pointer, scalar, map};
  return plan;
}

std::string why_not(std::string_view text) {
  const auto plan = LaunchPlan::from_text(text);
  if (plan) return "accepted";
  EXPECT_EQ(plan.error().code(), "PTX0704");
  return plan.error().message();
}

TEST(PlanText, IsOneStableLine) {
  // Compiled XLA programs and saved kernels carry this text: changing it needs a new version.
  EXPECT_EQ(
      sample().to_text(),
      "pyptx-plan 1 gemm$1 g:16,4,1 b:128,1,1 c:2,1,1 s:200000 t:2,1048576,64 p:1,8,0 "
      "v:0,4,3735928559 M:0,128,0,9,2,1024,512,0,0,0,2048,0,0,0,64,128,0,0,0,1,1,1,1,1,3,0,2");
}

TEST(PlanText, RoundTrips) {
  const auto back = LaunchPlan::from_text(sample().to_text());
  ASSERT_TRUE(back.ok()) << back.error().message();
  EXPECT_EQ(*back, sample());
}

TEST(PlanText, HasScalarsThatACallBrings) {
  LaunchPlan plan = sample();
  EXPECT_EQ(plan.argument_count(), 0U);
  plan.params[1].kind = ParamSlot::Kind::Argument;
  plan.params[1].bits = 0;
  EXPECT_EQ(plan.argument_count(), 1U);
  EXPECT_THAT(plan.to_text(), HasSubstr(" p:1,8,0 a:0,4,0 M:"));
  const auto back = LaunchPlan::from_text(plan.to_text());
  ASSERT_TRUE(back.ok()) << back.error().message();
  EXPECT_EQ(*back, plan);
}

TEST(PlanText, KeepsAnyEntryName) {
  for (const std::string& name : {std::string("%odd name\n"), std::string(), std::string("a%b"),
                                  std::string("z\0z", 3), std::string("\xc3\xa9")}) {
    LaunchPlan plan = sample();
    plan.entry = name;
    const std::string text = plan.to_text();
    EXPECT_EQ(text.find('\n'), std::string::npos);
    const auto back = LaunchPlan::from_text(text);
    ASSERT_TRUE(back.ok()) << back.error().message();
    EXPECT_EQ(back->entry, name);
  }
}

TEST(PlanText, SaysWhatIsWrong) {
  EXPECT_THAT(why_not(""), HasSubstr("it starts with ''"));
  EXPECT_THAT(why_not("pyptx-plan 2 k"), HasSubstr("its version is '2'"));
  EXPECT_THAT(why_not("pyptx-plan 1 k%zz g:1,1,1"), HasSubstr("'k%zz' is not an entry name"));
  EXPECT_THAT(why_not("pyptx-plan 1 k g:1,1"), HasSubstr("'g:1,1' has 2 numbers"));
  EXPECT_THAT(why_not("pyptx-plan 1 k g:1,x,1"), HasSubstr("'x' in 'g:1,x,1' is not a number"));
  EXPECT_THAT(why_not("pyptx-plan 1 k g:1,1,4294967296"), HasSubstr("too large"));
  EXPECT_THAT(why_not("pyptx-plan 1 k b:1,1,1"), HasSubstr("expected 'g:'"));
  const std::string head = "pyptx-plan 1 k g:1,1,1 b:1,1,1 c:1,1,1 s:0 ";
  EXPECT_EQ(why_not(head + "t:0"), "accepted");
  EXPECT_THAT(why_not(head), HasSubstr("expected 't:'"));
  EXPECT_THAT(why_not(head + "t:2,5"), HasSubstr("counts 2 tensors and gives the bytes of 1"));
  EXPECT_THAT(why_not(head + "t:1 q:0,8,0"), HasSubstr("'q:0,8,0' is not a parameter"));
  EXPECT_THAT(why_not(head + "t:1 p:0,8"), HasSubstr("has 2 numbers"));
  EXPECT_THAT(why_not(head + "t:1 "), HasSubstr("'' is not a parameter"));
  EXPECT_THAT(why_not(head + "t:1 p:00,8,0"), HasSubstr("'00'"));
  EXPECT_THAT(why_not(head + "t:1 m:0,8,0,13,1,1,0,0,0,0,0,0,0,0,1,0,0,0,0,1,1,1,1,1,0,0,2"),
              HasSubstr("too large"));
}

TEST(PlanText, SaysThatALaunchIsProgrammatic) {
  LaunchPlan plan = sample();
  plan.is_programmatic = true;
  EXPECT_THAT(plan.to_text(), HasSubstr(" s:200000,1 t:"));
  EXPECT_THAT(why_not("pyptx-plan 1 k g:1,1,1 b:1,1,1 c:1,1,1 s:0,0 t:0"), HasSubstr("'s:'"));
  EXPECT_THAT(why_not("pyptx-plan 1 k g:1,1,1 b:1,1,1 c:1,1,1 s:0,1,1 t:0"),
              HasSubstr("3 numbers"));
}

LaunchPlan random_plan(std::mt19937_64& random) {
  const auto below = [&random](std::uint64_t n) { return random() % n; };
  const auto word = [&] { return static_cast<std::uint32_t>(random() >> below(64)); };
  LaunchPlan plan;
  plan.entry.resize(below(6));
  for (char& c : plan.entry) c = static_cast<char>(below(256));
  plan.grid = {word(), word(), word()};
  plan.block = {word(), word(), word()};
  plan.cluster = {word(), word(), word()};
  plan.dynamic_shared = word();
  plan.is_programmatic = below(2) == 0;
  plan.tensor_count = static_cast<std::uint32_t>(below(5));
  if (below(2) == 0) plan.tensor_bytes.assign(plan.tensor_count, random());
  plan.params.resize(below(5));
  for (ParamSlot& slot : plan.params) {
    slot.kind = static_cast<ParamSlot::Kind>(below(5));
    slot.tensor = word();
    slot.size = word();
    slot.bits = random() >> below(64);
    if (below(2) == 0) continue;
    slot.map.type = static_cast<layout::MapType>(below(13));
    slot.map.rank = static_cast<std::uint8_t>(below(6));
    for (auto& dim : slot.map.dims) dim = random() >> below(64);
    for (auto& stride : slot.map.strides) stride = random() >> below(64);
    for (auto& box : slot.map.box) box = word();
    for (auto& step : slot.map.element_strides) step = word();
    slot.map.swizzle = static_cast<layout::Swizzle>(below(4));
    slot.map.oob_nan = below(2) == 1;
    slot.map.l2_promotion = static_cast<std::uint8_t>(below(4));
    if (below(2) == 1) {
      slot.map.interleave = static_cast<layout::Interleave>(below(3));
      for (auto& corner : slot.map.im2col.lower) corner = static_cast<std::int32_t>(word());
      for (auto& corner : slot.map.im2col.upper) corner = static_cast<std::int32_t>(word());
      slot.map.im2col.channels = word();
      slot.map.im2col.pixels = 1 + word() / 2;
    }
  }
  return plan;
}

TEST(PlanText, RoundTripsRandomPlans) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const LaunchPlan plan = random_plan(random);
    const auto back = LaunchPlan::from_text(plan.to_text());
    ASSERT_TRUE(back.ok()) << plan.to_text() << "\n" << back.error().message();
    ASSERT_EQ(*back, plan) << plan.to_text();
  }
}

// Whatever the damage: an error, or a plan that is written exactly as the damaged text.
TEST(PlanText, ReadsDamagedTextTotally) {
  std::mt19937_64 random(2);
  static constexpr std::string_view kAlphabet = "0123456789,: %pvmMagbcst\n\xff";
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = (i % 2 == 0 ? sample() : random_plan(random)).to_text();
    for (std::uint64_t edits = 1 + random() % 3; edits > 0 && !text.empty(); --edits) {
      const std::size_t at = random() % text.size();
      const char c = kAlphabet[random() % kAlphabet.size()];
      switch (random() % 4) {
        case 0:
          text[at] = c;
          break;
        case 1:
          text.insert(at, 1, c);
          break;
        case 2:
          text.erase(at, 1);
          break;
        default:
          text.resize(at + 1);
          break;
      }
    }
    const auto plan = LaunchPlan::from_text(text);
    if (!plan) continue;
    ++accepted;
    ASSERT_EQ(plan->to_text(), text);
  }
  EXPECT_GT(accepted, 100);
  EXPECT_LT(accepted, 20000);
}

std::string problem_of(const LaunchPlan& plan) {
  const auto problem = plan.problem();
  return problem ? std::string(problem->code()) + ": " + problem->message() : "none";
}

TEST(PlanProblem, AcceptsTheSample) { EXPECT_EQ(problem_of(sample()), "none"); }

TEST(PlanProblem, RefusesShapes) {
  const auto with = [](auto change) {
    LaunchPlan plan = sample();
    change(plan);
    return problem_of(plan);
  };
  EXPECT_EQ(with([](LaunchPlan& p) { p.block = {2048, 1, 1}; }),
            "PTX0705: the block must be between (1, 1, 1) and (1024, 1024, 64), got (2048, 1, 1)");
  EXPECT_EQ(with([](LaunchPlan& p) { p.block = {32, 33, 1}; }),
            "PTX0705: the block must be at most 1024 threads, got (32, 33, 1), 1056 threads");
  EXPECT_EQ(with([](LaunchPlan& p) { p.grid = {0, 1, 1}; }),
            "PTX0705: the grid must be between (1, 1, 1) and (2147483647, 65535, 65535), got "
            "(0, 1, 1)");
  EXPECT_EQ(with([](LaunchPlan& p) { p.grid = {15, 4, 1}; }),
            "PTX0705: the grid must be a multiple of the cluster (2, 1, 1), got (15, 4, 1)");
  EXPECT_EQ(with([](LaunchPlan& p) { p.cluster = {16, 2, 1}; }),
            "PTX0705: the cluster must be at most 16 blocks, got (16, 2, 1), 32 blocks");
  EXPECT_EQ(with([](LaunchPlan& p) { p.cluster = {0, 1, 1}; }),
            "PTX0705: the cluster must be between (1, 1, 1) and (16, 16, 16), got (0, 1, 1)");
  EXPECT_EQ(with([](LaunchPlan& p) { p.entry.clear(); }),
            "PTX0704: not a launch plan: it names no entry");
}

TEST(PlanProblem, RefusesGridsOfACall) {
  const auto of = [](const Dim3& grid) {
    const auto problem = sample().grid_problem(grid);
    return problem ? problem->message() : "none";
  };
  EXPECT_EQ(of({2, 1, 1}), "none");
  EXPECT_EQ(of({0x7ffffffe, 65535, 65535}), "none");
  EXPECT_THAT(of({2, 0, 1}), HasSubstr("the grid must be between (1, 1, 1) and"));
  EXPECT_THAT(of({2, 65536, 1}), HasSubstr("got (2, 65536, 1)"));
  EXPECT_THAT(of({0x80000000, 1, 1}), HasSubstr("got (2147483648, 1, 1)"));
  EXPECT_THAT(of({3, 1, 1}), HasSubstr("a multiple of the cluster (2, 1, 1), got (3, 1, 1)"));
}

TEST(PlanProblem, RefusesParameters) {
  LaunchPlan plan = sample();
  plan.params[0].tensor = 2;
  EXPECT_EQ(problem_of(plan), "PTX0705: the tensor of parameter 0 must be one of 2, got tensor 2");
  plan = sample();
  plan.params[1].size = 3;
  EXPECT_EQ(problem_of(plan), "PTX0705: the size of parameter 1 must be 1, 2, 4 or 8 bytes, got 3");
  plan.params[1].kind = ParamSlot::Kind::Argument;
  EXPECT_EQ(problem_of(plan), "PTX0705: the size of parameter 1 must be 1, 2, 4 or 8 bytes, got 3");
  plan = sample();
  plan.params[2].map.strides[0] = 2050;
  EXPECT_THAT(problem_of(plan), HasSubstr("multiple of 16"));
  plan = sample();
  plan.tensor_bytes.pop_back();
  EXPECT_THAT(problem_of(plan), HasSubstr("gives the bytes of 1"));
}

}  // namespace
}  // namespace pyptx::driver
