// SPDX-License-Identifier: Apache-2.0
//
// clusterlaunchcontrol: every tile of a persistent kernel is done once, whoever does it; the same
// seed gives the same run on any number of threads; misuse is told, and can be ignored.
#include <set>

#include "bench.h"
#include "machine/launch_order.h"

namespace pyptx::emu {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

TEST(LaunchOrder, EveryClusterIsLaunchedOrCancelledOnce) {
  for (const std::uint64_t clusters : {1U, 2U, 3U, 7U, 64U, 1000U}) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const LaunchOrder order(clusters, seed, true);
      std::set<std::uint64_t> seen;
      std::uint64_t count = 0;
      for (std::uint64_t number = 0; number < order.lines(); ++number) {
        LaunchLine line = order.line(number);
        for (auto cluster = line.launch(); cluster; cluster = line.launch()) {
          for (; cluster; cluster = line.cancel()) {
            EXPECT_LT(*cluster, clusters);
            seen.insert(*cluster);
            ++count;
          }
          EXPECT_FALSE(line.cancel()) << "granted behind a refusal";
        }
      }
      EXPECT_EQ(seen.size(), clusters);
      EXPECT_EQ(count, clusters);
    }
  }
}

TEST(LaunchOrder, WithoutRequestsEveryClusterIsALine) {
  const LaunchOrder order(5, 3, false);
  EXPECT_EQ(order.lines(), 5U);
  for (std::uint64_t number = 0; number < 5; ++number) {
    LaunchLine line = order.line(number);
    EXPECT_EQ(line.launch(), number);
    EXPECT_FALSE(line.launch());
  }
}

constexpr const char* kShared = ".shared .align 16 .b8 response[16];\n.shared .align 8 .b64 bar;\n";

/// A persistent kernel: `tile` works on tile %r10 for whom %r11 launched.
std::string persistent(const std::string& tile, const std::string& guard = "@%p2 ") {
  std::string text = entry(
      R"(
    .reg .b128 %rq<2>;
    ld.param.u64 %rd0, [p0];
    ld.param.u64 %rd1, [p1];
    mov.u32 %r1, response;
    mov.u32 %r2, bar;
    mov.u32 %r10, %ctaid.x;
    mov.u32 %r11, %ctaid.x;
    mov.u32 %r12, 0;
    mbarrier.init.shared::cta.b64 [%r2], 1;
  NEXT:
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16;
    clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r2];
    mul.wide.u32 %rd2, %r10, 4;
    add.u64 %rd3, %rd0, %rd2;
    add.u64 %rd4, %rd1, %rd2;
    )" + tile +
          R"(
  WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], %r12;
    @!%p1 bra WAIT;
    ld.shared.b128 %rq1, [%r1];
    fence.proxy.async.shared::cta;
    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %rq1;
    )" + guard +
          R"(clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r10, _, _, _}, %rq1;
    xor.b32 %r12, %r12, 1;
    @%p2 bra NEXT;
    ret;)",
      kShared);
  const std::string from = ".target sm_90a";
  return text.replace(text.find(from), from.size(), ".target sm_100a");
}

const char* const kPlain =
    "ld.global.u32 %r3, [%rd3];\nadd.u32 %r3, %r3, 1;\nst.global.u32 [%rd3], %r3;\n"
    "st.global.u32 [%rd4], %r11;\n";
const char* const kAtomic = "red.global.add.u32 [%rd3], 1;\nst.global.u32 [%rd4], %r11;\n";

struct Outcome {
  std::vector<std::uint32_t> times;
  std::vector<std::uint32_t> who;
};

Outcome run_tiles(const std::string& tile, std::uint32_t tiles, std::uint64_t seed,
                  unsigned threads, Completion completion) {
  Outcome outcome{std::vector<std::uint32_t>(tiles), std::vector<std::uint32_t>(tiles)};
  Bench bench(persistent(tile));
  bench.buffer(0, outcome.times);
  bench.buffer(1, outcome.who);
  bench.launch.grid = {tiles, 1, 1};
  bench.launch.block = {1, 1, 1};
  bench.launch.options.races = true;
  bench.launch.options.seed = seed;
  bench.launch.options.threads = threads;
  bench.launch.options.completion = completion;
  bench.run();
  return outcome;
}

TEST(LaunchControl, EveryTileIsDoneOnceAndBySeed) {
  std::set<std::vector<std::uint32_t>> ways;
  for (const char* tile : {kPlain, kAtomic}) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      for (const Completion policy :
           {Completion::Earliest, Completion::Latest, Completion::Random}) {
        const Outcome one = run_tiles(tile, 37, seed, 1, policy);
        EXPECT_THAT(one.times, Each(1U)) << "seed " << seed;
        ways.insert(one.who);
        for (const unsigned threads : {2U, 5U}) {
          const Outcome many = run_tiles(tile, 37, seed, threads, policy);
          EXPECT_EQ(many.times, one.times);
          EXPECT_EQ(many.who, one.who) << "seed " << seed << ", " << threads << " threads";
        }
      }
    }
  }
  EXPECT_GE(ways.size(), 11U) << "seeds give different orders";
}

TEST(LaunchControl, TheOnlyClusterIsRefused) {
  const Outcome one = run_tiles(kPlain, 1, 0, 1, Completion::Latest);
  EXPECT_EQ(one.times, std::vector<std::uint32_t>{1});
}

std::string failure_of(const std::string& text, const std::string& ignored = {}) {
  std::vector<std::uint32_t> times(8);
  std::vector<std::uint32_t> who(8);
  Bench bench(text);
  bench.buffer(0, times);
  bench.buffer(1, who);
  bench.launch.grid = {8, 1, 1};
  bench.launch.block = {1, 1, 1};
  bench.launch.options.races = true;
  if (!ignored.empty()) {
    EXPECT_FALSE(set_option(bench.launch.options, "ignore", ignored));
  }
  return bench.failure();
}

TEST(LaunchControl, ARefusalHasNoFirstCta) {
  const std::string text = persistent(kPlain, "");
  EXPECT_THAT(failure_of(text), HasSubstr("the response says that no cluster was cancelled"));
  EXPECT_EQ(failure_of(text, "PTX0944"), "");
}

TEST(LaunchControl, OnlyAResponseIsOne) {
  std::string text = persistent(kPlain);
  const std::string load = "ld.shared.b128 %rq1, [%r1];";
  text.replace(text.find(load), load.size(), "mov.b128 %rq1, {%rd0, %rd1};");
  EXPECT_THAT(failure_of(text), HasSubstr("its operand is no response of try_cancel"));
}

TEST(LaunchControl, AFaultIsTheSameOnAnyNumberOfThreads) {
  const auto run = [](unsigned threads) {
    std::vector<std::uint32_t> times(64);
    Bench bench(persistent("setp.gt.u32 %p3, %r10, 20;\n@%p3 trap;\n"));
    bench.buffer(0, times);
    bench.launch.grid = {64, 1, 1};
    bench.launch.block = {1, 1, 1};
    bench.launch.options.races = true;
    bench.launch.options.seed = 3;
    bench.launch.options.threads = threads;
    return bench.failure();
  };
  const std::string first = run(1);
  EXPECT_THAT(first, HasSubstr("PTX0912"));
  for (const unsigned threads : {2U, 3U, 8U}) EXPECT_EQ(run(threads), first);
}

TEST(LaunchControl, ARaceBetweenClustersIsTheSameOnAnyNumberOfThreads) {
  const auto run = [](unsigned threads) {
    std::vector<std::uint32_t> data(64);
    Bench bench(persistent("st.global.u32 [%rd0], %r11;\n"));
    bench.buffer(0, data);
    bench.launch.grid = {64, 1, 1};
    bench.launch.block = {1, 1, 1};
    bench.launch.options.races = true;
    bench.launch.options.seed = 5;
    bench.launch.options.threads = threads;
    return bench.failure();
  };
  const std::string first = run(1);
  EXPECT_THAT(first, HasSubstr("PTX0920"));
  for (const unsigned threads : {2U, 3U, 8U}) EXPECT_EQ(run(threads), first);
}

}  // namespace
}  // namespace pyptx::emu
