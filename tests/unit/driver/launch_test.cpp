// SPDX-License-Identifier: Apache-2.0
#include "pyptx/driver/launch.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "cuda_abi.h"
#include "fake_driver.h"
#include "launches.h"

namespace pyptx::driver {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

ParamSlot pointer(std::uint32_t tensor) {
  ParamSlot slot;
  slot.tensor = tensor;
  return slot;
}

ParamSlot scalar(std::uint64_t bits, std::uint32_t size) {
  ParamSlot slot;
  slot.kind = ParamSlot::Kind::Scalar;
  slot.bits = bits;
  slot.size = size;
  return slot;
}

ParamSlot map(ParamSlot::Kind kind, std::uint32_t tensor) {
  ParamSlot slot;
  slot.kind = kind;
  slot.tensor = tensor;
  slot.map.type = layout::MapType::F32;
  slot.map.rank = 1;
  slot.map.dims = {1024};
  slot.map.box = {64};
  return slot;
}

class LaunchTest : public FakeDriverTest {
 protected:
  static std::unique_ptr<Launcher> make(const LaunchPlan& plan, const std::string& cubin = "one") {
    auto kernel = load_kernel(cubin, "kernel");
    EXPECT_TRUE(kernel.ok());
    if (!cuda().knows_parameters) take_parameters_of(plan);
    auto launcher = Launcher::create(plan, *kernel);
    EXPECT_TRUE(launcher.ok()) << launcher.error().message();
    return std::move(*launcher);
  }
  static diag::Status launch(const Launcher& launcher, std::vector<std::uint64_t> pointers,
                             int device = 0, void* stream = kStream) {
    return launcher.launch(stream, device, {.pointers = pointers});
  }
  static std::string refusal(const diag::Status& status) {
    EXPECT_EQ(cuda().launch_count, 0) << "launched although it was refused";
    return status.ok() ? "launched" : status.error().message();
  }
};

TEST_F(LaunchTest, PassesTheParameterBlock) {
  const auto launcher = make(plan_of(
      {pointer(1), scalar(0xffffff42, 1), scalar(0x12345678, 4), pointer(0), scalar(0xbeef, 2)},
      2));
  ASSERT_TRUE(launch(*launcher, {0x1000, 0x2000}).ok());
  ASSERT_EQ(cuda().launches.size(), 1U);
  const auto& bytes = cuda().launches[0].parameters;
  ASSERT_EQ(bytes.size(), 26U);
  EXPECT_EQ(at<std::uint64_t>(bytes, 0), 0x2000U);
  EXPECT_EQ(at<std::uint8_t>(bytes, 8), 0x42U);
  EXPECT_EQ(at<std::uint32_t>(bytes, 12), 0x12345678U);
  EXPECT_EQ(at<std::uint64_t>(bytes, 16), 0x1000U);
  EXPECT_EQ(at<std::uint16_t>(bytes, 24), 0xbeefU);
}

TEST_F(LaunchTest, PassesTheConfiguration) {
  LaunchPlan plan = plan_of({}, 0);
  plan.block = {64, 2, 3};
  plan.dynamic_shared = 100000;
  const auto launcher = make(plan);
  ASSERT_TRUE(launch(*launcher, {}).ok());
  const fake::Launch& got = cuda().launches.at(0);
  EXPECT_THAT(got.grid, ElementsAre(8, 2, 1));
  EXPECT_THAT(got.block, ElementsAre(64, 2, 3));
  EXPECT_EQ(got.shared, 100000U);
  EXPECT_EQ(got.stream, kStream);
  EXPECT_EQ(got.function, launcher->kernel().primary_function(0));
  EXPECT_TRUE(got.attributes.empty());
  EXPECT_TRUE(got.parameters.empty());
}

TEST_F(LaunchTest, FillsTensorsFirst) {
  LaunchPlan plan = plan_of({pointer(0), pointer(1)}, 2);
  plan.fills = {{1, 1, 0x7f, 10},
                {1, 2, 0xbeef, 9},
                {1, 4, 3, 8},
                {1, 8, 0, 7},
                {0, 8, 0x3ff0000000000001, 6},
                {0, 4, 1, 0}};
  const auto launcher = make(plan);
  ASSERT_TRUE(launch(*launcher, {0x1000, 0x2000}).ok());
  const std::vector<fake::Fill> expected = {
      {0x2000, 1, 1, 0x7f, 10}, {0x2000, 2, 2, 0xbeef, 9}, {0x2000, 4, 4, 3, 8},
      {0x2000, 4, 4, 0, 14},    {0x1000, 4, 8, 1, 6},      {0x1004, 4, 8, 0x3ff00000, 6}};
  EXPECT_EQ(cuda().fills, expected);
  const auto& calls = cuda().calls;
  const auto launched = std::ranges::find(calls, "cuLaunchKernelEx");
  ASSERT_TRUE(launched != calls.begin() && launched != calls.end());
  EXPECT_EQ(*(launched - 1), "cuMemsetD2D32Async");
  cuda().failures["cuMemsetD16Async"] = cuda::kIllegalAddress;
  const auto status = launch(*launcher, {0x1000, 0x2000});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message(), HasSubstr("cuMemsetD16Async"));
  EXPECT_EQ(cuda().launches.size(), 1U);
}

TEST_F(LaunchTest, PassesTheCluster) {
  LaunchPlan plan = plan_of({}, 0);
  plan.cluster = {4, 2, 1};
  ASSERT_TRUE(launch(*make(plan), {}).ok());
  EXPECT_THAT(cuda().launches.at(0).attributes, ElementsAre(Pair(4, ElementsAre(4, 2, 1))));
}

TEST_F(LaunchTest, PassesThatItIsProgrammatic) {
  LaunchPlan plan = plan_of({}, 0);
  plan.is_programmatic = true;
  ASSERT_TRUE(launch(*make(plan), {}).ok());
  EXPECT_THAT(cuda().launches.at(0).attributes, ElementsAre(Pair(6, ElementsAre(1, 0, 0))));
  plan.cluster = {2, 1, 1};
  plan.grid = {2, 1, 1};
  ASSERT_TRUE(launch(*make(plan), {}).ok());
  EXPECT_THAT(cuda().launches.at(1).attributes,
              ElementsAre(Pair(6, ElementsAre(1, 0, 0)), Pair(4, ElementsAre(2, 1, 1))));
}

TEST_F(LaunchTest, PassesAClusterOfOneToAKernelThatInsists) {
  cuda().cluster_must_be_set = 1;
  ASSERT_TRUE(launch(*make(plan_of({}, 0)), {}).ok());
  EXPECT_THAT(cuda().launches.at(0).attributes, ElementsAre(Pair(4, ElementsAre(1, 1, 1))));
}

TEST_F(LaunchTest, PreparesOncePerDevice) {
  LaunchPlan plan = plan_of({pointer(0)}, 1);
  plan.grid = {16, 1, 1};
  plan.cluster = {16, 1, 1};
  plan.dynamic_shared = 60000;
  const auto launcher = make(plan, "prepared by launches");
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(launch(*launcher, {0x1000}, 0).ok());
    ASSERT_TRUE(launch(*launcher, {0x1000}, 1).ok());
  }
  EXPECT_EQ(count("cuKernelGetFunction"), 2);
  EXPECT_EQ(count("cuKernelSetAttribute 8=60000 on 0"), 1);
  EXPECT_EQ(count("cuKernelSetAttribute 14=1 on 1"), 1);
  EXPECT_EQ(count("cuLaunchKernelEx"), 6);
}

TEST_F(LaunchTest, TheDefaultStreamGetsItsDevicesContext) {
  const auto launcher = make(plan_of({}, 0));
  for (const std::uintptr_t named : {0U, 1U, 2U}) {
    library().set_context(0);
    ASSERT_TRUE(launch(*launcher, {}, 1, reinterpret_cast<void*>(named)).ok());
    EXPECT_EQ(cuda().launches.back().context_device, 1);
    EXPECT_EQ(library().context_depth(), 1) << "the caller's context is back";
  }
  library().set_context(1);
  const int pushes = count("cuCtxPushCurrent");
  ASSERT_TRUE(launch(*launcher, {}, 1, nullptr).ok());
  EXPECT_EQ(count("cuCtxPushCurrent"), pushes) << "the right context stays";
}

TEST_F(LaunchTest, ARealStreamNeedsAnyContext) {
  const auto launcher = make(plan_of({}, 0));
  ASSERT_TRUE(launch(*launcher, {}, 1).ok());  // on a thread without one
  EXPECT_EQ(cuda().launches.back().context_device, 1);
  EXPECT_EQ(library().context_depth(), 0);
  library().set_context(0);
  ASSERT_TRUE(launch(*launcher, {}, 1, library().stream(1, false)).ok());
  EXPECT_EQ(cuda().launches.back().context_device, 0) << "left as it was";
}

TEST_F(LaunchTest, RefusesAStreamOfAnotherDevice) {
  const std::string words =
      "the stream must be of device 0, where the tensors are, got one of device 1";
  const auto launcher = make(plan_of({}, 0), "streams of another device");
  for (const bool in_own : {false, true}) {
    void* const stream = library().stream(1, in_own);
    for (const int current : {-1, 0, 1}) {
      library().set_context(current);
      EXPECT_EQ(refusal(launch(*launcher, {}, 0, stream)), words) << current;
    }
    library().set_own_context(0);
    EXPECT_EQ(refusal(launch(*launcher, {}, 0, stream)), words);
    EXPECT_EQ(library().context_depth(), 1);
  }
}

TEST_F(LaunchTest, TheOrdinaryLaunchAsksForTheCurrentContextAlone) {
  const auto launcher = make(plan_of({}, 0));
  library().set_context(0);
  ASSERT_TRUE(launch(*launcher, {}, 0, library().stream(0, false)).ok());
  cuda().calls.clear();
  ASSERT_TRUE(launch(*launcher, {}, 0, library().stream(0, false)).ok());
  EXPECT_THAT(cuda().calls, ElementsAre("cuCtxGetCurrent", "cuLaunchKernelEx"));
}

TEST_F(LaunchTest, AnApplicationsOwnContextGetsTheKernelOfEveryContext) {
  const auto launcher = make(plan_of({}, 0), "launched in two contexts");
  library().set_context(0);
  ASSERT_TRUE(launch(*launcher, {}, 0, nullptr).ok());
  void* const function = launcher->kernel().primary_function(0);
  ASSERT_NE(function, nullptr);
  EXPECT_EQ(cuda().launches.back().function, function);

  library().set_own_context(0);
  ASSERT_TRUE(launch(*launcher, {}, 0, nullptr).ok());
  EXPECT_EQ(cuda().launches.back().function, launcher->kernel().handle());
  EXPECT_EQ(count("cuLaunchKernelEx"), 2) << "nothing was tried and refused";

  library().set_context(0);
  ASSERT_TRUE(launch(*launcher, {}, 0, library().stream(0, true)).ok());
  EXPECT_EQ(cuda().launches.back().function, launcher->kernel().handle());
  EXPECT_EQ(cuda().launches.size(), 3U);
}

TEST_F(LaunchTest, AKernelPreparedInAnApplicationsOwnContextHasNoPrimaryFunction) {
  cuda().primary_active = false;
  library().set_own_context(1);
  const auto launcher = make(plan_of({}, 0), "launched in an own context");
  ASSERT_TRUE(launch(*launcher, {}, 1, nullptr).ok());
  EXPECT_EQ(launcher->kernel().primary_function(1), nullptr) << "it would dangle with the context";
  EXPECT_EQ(cuda().launches.back().function, launcher->kernel().handle());
}

TEST_F(LaunchTest, IsPreparedOnceMoreWhereThePrimaryContextComesLater) {
  cuda().primary_active = false;
  library().set_own_context(2);
  const auto launcher = make(plan_of({}, 0), "prepared in an own context first");
  ASSERT_TRUE(launch(*launcher, {}, 2, nullptr).ok());
  ASSERT_EQ(count("cuDevicePrimaryCtxRetain"), 0);

  cuda().primary_active = true;
  cuda().capturing = true;
  library().set_context(2);
  ASSERT_TRUE(launch(*launcher, {}, 2, nullptr).ok());
  EXPECT_EQ(count("cuKernelGetFunction"), 2) << "a capture would refuse to load it at the launch";
  ASSERT_TRUE(launch(*launcher, {}, 2, nullptr).ok());
  EXPECT_EQ(cuda().launches.back().function, launcher->kernel().primary_function(2));
  EXPECT_EQ(count("cuKernelGetFunction"), 2);
}

TEST_F(LaunchTest, IsPreparedForThePrimaryContextOfAStream) {
  library().set_own_context(1);
  const auto launcher = make(plan_of({}, 0), "launched from an own context");
  ASSERT_TRUE(launch(*launcher, {}, 1, library().stream(1, false)).ok());
  EXPECT_NE(launcher->kernel().primary_function(1), nullptr);
  EXPECT_EQ(library().context_depth(), 1);
}

TEST_F(LaunchTest, MapsByPointerAreThePrimaryContextsAlone) {
  const auto by_pointer = make(plan_of({map(ParamSlot::Kind::MapPointer, 0)}, 1));
  const auto refused = [&](void* stream) {
    const auto status = launch(*by_pointer, {0x880000}, 0, stream);
    EXPECT_EQ(refusal(status),
              "the context must be device 0's primary one, which has the tensor maps, got another "
              "one");
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error()->notes, ElementsAre(HasSubstr("tma=\"value\"")));
  };
  library().set_own_context(0);
  refused(nullptr);
  refused(library().stream(0, true));
  EXPECT_EQ(cuda().own_objects, 0);
  library().set_context(0);
  refused(library().stream(0, true));
  // What counts is the stream's context, not the current one.
  library().set_own_context(0);
  EXPECT_TRUE(launch(*by_pointer, {0x880000}, 0, library().stream(0, false)).ok());
  library().set_context(1);
  EXPECT_TRUE(launch(*by_pointer, {0x880000}, 0, library().stream(0, false)).ok());
  const auto by_value = make(plan_of({map(ParamSlot::Kind::MapValue, 0)}, 1));
  library().set_own_context(0);
  EXPECT_TRUE(launch(*by_value, {0x880000}, 0, nullptr).ok());
}

TEST_F(LaunchTest, MapsByValueLieInTheBlock) {
  const auto launcher =
      make(plan_of({pointer(0), map(ParamSlot::Kind::MapValue, 1), scalar(7, 4)}, 2));
  ASSERT_TRUE(launch(*launcher, {0x1000, 0x2000}).ok());
  const auto& bytes = cuda().launches.at(0).parameters;
  ASSERT_EQ(bytes.size(), 64U + 128U + 4U);
  EXPECT_EQ(at<std::uint64_t>(bytes, 64), 0x2000U);
  EXPECT_EQ(at<std::uint32_t>(bytes, 192), 7U);
  EXPECT_EQ(count("cuMemAlloc"), 0);
}

TEST_F(LaunchTest, MapsAreMadeOncePerAddress) {
  const auto launcher = make(plan_of({map(ParamSlot::Kind::MapValue, 0)}, 1));
  const auto made = [&] { return count("cuTensorMapEncodeTiled"); };
  int before = 0;
  for (int round = 0; round < 3; ++round) {
    if (round == 1) before = made();
    for (std::uint64_t tensor = 1; tensor <= 4; ++tensor) {
      ASSERT_TRUE(launch(*launcher, {tensor * 4096}).ok());
      EXPECT_EQ(at<std::uint64_t>(cuda().launches.back().parameters, 0), tensor * 4096);
    }
  }
  EXPECT_EQ(made(), before);
}

TEST_F(LaunchTest, MapsOfHundredsOfTensorsAreKnown) {
  cuda().address_factor = 3;  // so that nothing can be learnt of them
  const auto launcher = make(plan_of({map(ParamSlot::Kind::MapValue, 0)}, 1));
  constexpr std::uint64_t kTensors = 200;
  int before = 0;
  for (int round = 0; round < 3; ++round) {
    before = count("cuTensorMapEncodeTiled");
    for (std::uint64_t tensor = 1; tensor <= kTensors; ++tensor) {
      ASSERT_TRUE(launch(*launcher, {tensor * 512}).ok());
      EXPECT_EQ(at<std::uint64_t>(cuda().launches.back().parameters, 0), tensor * 512 * 3);
    }
  }
  // Some may have no place beside each other.
  EXPECT_LE(count("cuTensorMapEncodeTiled") - before, static_cast<int>(kTensors) / 10);
}

TEST_F(LaunchTest, MoreAddressesThanTheCacheHolds) {
  const auto launcher = make(plan_of({map(ParamSlot::Kind::MapPointer, 0)}, 1));
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t tensor = 1; tensor <= 3000; ++tensor) {
      ASSERT_TRUE(launch(*launcher, {tensor << 20}).ok());
      const auto descriptor = at<std::uint64_t>(cuda().launches.back().parameters, 0);
      EXPECT_EQ(*reinterpret_cast<const std::uint64_t*>(descriptor), tensor << 20);
    }
  }
}

TEST_F(LaunchTest, MapsByPointerAreWrittenBeforeTheLaunch) {
  cuda().capturing = true;  // also the first launch of all may be captured
  const auto launcher = make(plan_of({map(ParamSlot::Kind::MapPointer, 0)}, 1), "captured first");
  const auto status = launch(*launcher, {0x770000});
  ASSERT_TRUE(status.ok()) << status.error().message();
  ASSERT_TRUE(launch(*launcher, {0x770000}, 1).ok());
  const auto& launches = cuda().launches;
  ASSERT_EQ(launches.size(), 2U);
  const auto first = at<std::uint64_t>(launches[0].parameters, 0);
  EXPECT_EQ(*reinterpret_cast<const std::uint64_t*>(first), 0x770000U);
  EXPECT_NE(at<std::uint64_t>(launches[1].parameters, 0), first) << "one per device";
}

TEST_F(LaunchTest, LargeParameterBlocks) {
  std::vector<ParamSlot> params(4095, scalar(5, 8));
  params.push_back(pointer(0));
  EXPECT_FALSE(plan_of(params, 1).problem());
  auto kernel = load_kernel("one", "kernel");
  auto refused = Launcher::create(plan_of(params, 1), *kernel);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(), "the parameters must be at most 32764 bytes, got 32768");
  params.erase(params.begin());
  const auto launcher = make(plan_of(params, 1));
  EXPECT_EQ(launcher->parameter_bytes(), 32760U);
  ASSERT_TRUE(launch(*launcher, {0x9000}).ok());
  EXPECT_EQ(at<std::uint64_t>(cuda().launches.at(0).parameters, 32752), 0x9000U);
}

TEST_F(LaunchTest, RefusesBadTensors) {
  LaunchPlan plan = plan_of({pointer(0), pointer(1), pointer(2)}, 3);
  plan.tensor_bytes = {4096, 4096, 0};
  const auto launcher = make(plan);
  EXPECT_EQ(refusal(launch(*launcher, {0x1000, 0x2000})), "'kernel' takes 3 tensors, got 2");
  EXPECT_EQ(refusal(launch(*launcher, {0x1000, 0, 0x3000})),
            "tensor 1 of 'kernel' must have an address, got null");
  EXPECT_EQ(launch(*launcher, {0x1000, 0, 0x3000}).error().code(), "PTX0708");
  EXPECT_TRUE(launch(*launcher, {0x1000, 0x2000, 0}).ok()) << "an empty tensor may be null";
}

TEST_F(LaunchTest, RefusesTensorsWithoutAMap) {
  const auto launcher = make(plan_of({map(ParamSlot::Kind::MapValue, 0)}, 1));
  EXPECT_THAT(refusal(launch(*launcher, {0})), HasSubstr("must have an address"));
  EXPECT_THAT(refusal(launch(*launcher, {0x1004})), HasSubstr("multiple of 16"));
}

TEST_F(LaunchTest, RefusesWhatTheDeviceCannotDo) {
  EXPECT_EQ(refusal(launch(*make(plan_of({}, 0)), {}, 9)),
            "there is no CUDA device 9; this machine has 3");
  LaunchPlan plan = plan_of({}, 0);
  plan.cluster = {2, 1, 1};
  EXPECT_EQ(refusal(launch(*make(plan), {}, 2)),
            "the cluster must be one block on device 2 (sm_80), got 2 blocks");
  plan = plan_of({}, 0);
  plan.dynamic_shared = 300000;
  EXPECT_THAT(refusal(launch(*make(plan), {})), HasSubstr("needs 300000 bytes"));
  cuda().max_threads = 64;
  EXPECT_EQ(refusal(launch(*make(plan_of({}, 0)), {})),
            "the block must be at most 64 threads, got 128");
}

TEST_F(LaunchTest, RefusesParametersThatAreNotTheKernels) {
  cuda().knows_parameters = true;
  cuda().parameters = {{0, 8}, {8, 4}};
  EXPECT_TRUE(make(plan_of({pointer(0), scalar(1, 4)}, 1))->prepare(0).ok());
  const auto words = [](const LaunchPlan& plan) { return refusal(make(plan)->prepare(0)); };
  EXPECT_EQ(words(plan_of({pointer(0)}, 1)),
            "parameter 1 of 'kernel': the kernel takes 4 bytes, the plan passes nothing");
  EXPECT_EQ(words(plan_of({pointer(0), scalar(1, 8)}, 1)),
            "parameter 1 of 'kernel': the kernel takes 4 bytes, the plan passes 8 bytes");
  EXPECT_EQ(words(plan_of({pointer(0), scalar(1, 4), scalar(2, 4)}, 1)),
            "parameter 2 of 'kernel': the kernel takes nothing, the plan passes 4 bytes");
}

TEST_F(LaunchTest, AKnownCountIsCheckedWithoutAskingForOneTooMany) {
  cuda().knows_parameters = true;
  cuda().parameters = {{0, 8}};
  const LaunchPlan plan = plan_of({pointer(0)}, 1);
  auto kernel = load_kernel("one", "kernel");
  auto launcher = Launcher::create(plan, *kernel, 1);
  ASSERT_TRUE(launcher.ok());
  ASSERT_TRUE((*launcher)->prepare(0).ok());
  EXPECT_EQ(count("cuKernelGetParamInfo"), 1);
  EXPECT_EQ(Launcher::create(plan, *kernel, 2).error().message(),
            "parameter 1 of 'kernel': the kernel takes a parameter, the plan passes nothing");
  EXPECT_EQ(Launcher::create(plan, *kernel, 0).error().message(),
            "parameter 0 of 'kernel': the kernel takes nothing, the plan passes a parameter");
}

TEST_F(LaunchTest, TheKernelsOwnLayoutDecidesWhereAParameterLies) {
  // On sm_90 ptxas aligns a tensor map by its absolute address, so it may follow 24 bytes at 48.
  cuda().knows_parameters = true;
  cuda().parameters = {{0, 8}, {48, 128}};
  const auto launcher = make(plan_of({pointer(0), map(ParamSlot::Kind::MapValue, 0)}, 1));
  ASSERT_TRUE(launch(*launcher, {0x1000}).ok());
  EXPECT_EQ(at<std::uint64_t>(cuda().launches.at(0).parameters, 48), 0x1000U);
}

TEST_F(LaunchTest, TranslatesTheDriversErrors) {
  const auto launcher = make(plan_of({}, 0));
  ASSERT_TRUE(launcher->prepare(0).ok());
  cuda().failures["cuLaunchKernelEx"] = cuda::kIllegalAddress;
  const auto status = launch(*launcher, {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message(), "cuLaunchKernelEx failed with CUDA_ERROR_FAKE: a fake error");
  EXPECT_THAT(status.error()->notes,
              ElementsAre(HasSubstr("an earlier kernel failed"), "launching 'kernel'"));
  EXPECT_EQ(library().context_depth(), 0);
}

TEST_F(LaunchTest, ThreadsLaunchTogether) {
  LaunchPlan plan = plan_of({pointer(0), map(ParamSlot::Kind::MapValue, 0),
                             map(ParamSlot::Kind::MapPointer, 1), scalar(3, 4)},
                            2);
  plan.dynamic_shared = 70000;
  const auto launcher = make(plan, "ten threads");
  constexpr int kThreads = 10;
  constexpr int kEach = 200;
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const std::uint64_t base = static_cast<std::uint64_t>(1 + (t * 7 + i) % 11) << 16;
        const std::uint64_t pointers[] = {base, base + 4096};
        if (!launcher->launch(i % 2 == 0 ? nullptr : kStream, i % 3 == 0 ? 1 : 0,
                              {.pointers = pointers})) {
          ++failed;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  ASSERT_EQ(cuda().launches.size(), static_cast<std::size_t>(kThreads) * kEach);
  for (const fake::Launch& got : cuda().launches) {
    const auto base = at<std::uint64_t>(got.parameters, 0);
    ASSERT_EQ(at<std::uint64_t>(got.parameters, 64), base);
    const auto descriptor = at<std::uint64_t>(got.parameters, 192);
    ASSERT_EQ(*reinterpret_cast<const std::uint64_t*>(descriptor), base + 4096);
  }
  EXPECT_EQ(count("cuKernelGetFunction"), 2);
}

}  // namespace
}  // namespace pyptx::driver
