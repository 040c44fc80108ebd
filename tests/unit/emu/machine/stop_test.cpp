// SPDX-License-Identifier: Apache-2.0
//
// Runs that end before their work is done: limits, the caller's interrupt, and what they say.
#include <chrono>

#include "bench.h"

namespace pyptx::emu {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Every warp counts to `rounds`: 3 + 3 * rounds instructions, then it writes and ends.
std::string counting(std::uint32_t rounds) {
  return entry("mov.u32 %r0, " + std::to_string(rounds) + R"(;
    ld.param.u64 %rd0, [p0];
  LOOP:
    sub.u32 %r0, %r0, 1;
    setp.ne.u32 %p0, %r0, 0;
    @%p0 bra LOOP;
    ret;)");
}

double seconds_of(Bench& bench, std::string& failure) {
  const auto begin = std::chrono::steady_clock::now();
  failure = bench.failure();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(Stop, AStepLimitIsExact) {
  for (const unsigned threads : {1U, 3U}) {
    for (const std::uint32_t ctas : {1U, 7U}) {
      Bench bench(counting(5000));
      bench.launch.block = {96, 1, 1};
      bench.launch.grid = {ctas, 1, 1};
      bench.launch.options.threads = threads;
      bench.run();
      const std::uint64_t all = bench.last.warp_instructions;
      EXPECT_EQ(all, 3U * ctas * (3 + 3 * 5000));
      bench.launch.options.limit_steps = all;
      EXPECT_EQ(bench.failure(), "");
      bench.launch.options.limit_steps = all - 1;
      EXPECT_THAT(bench.failure(), AllOf(HasSubstr("PTX0950"), HasSubstr(std::to_string(all - 1)),
                                         HasSubstr(threads == 1 ? "warp 2 is at ret" : "")));
    }
  }
}

TEST(Stop, AStepLimitEndsClustersThatTakeTurns) {
  Bench bench(entry(R"(
    ld.param.u64 %rd0, [p0];
  POLL:
    ld.acquire.gpu.global.u32 %r0, [%rd0];
    setp.eq.u32 %p0, %r0, 0;
    @%p0 bra POLL;
    ret;)"));
  std::vector<std::uint32_t> flag(1);
  bench.buffer(0, flag);
  bench.launch.grid = {300, 1, 1};
  bench.launch.options.limit_steps = 1'000'000;
  // 132 CTAs are resident, and 16 of them are named.
  EXPECT_THAT(bench.failure(),
              AllOf(HasSubstr("PTX0950"), HasSubstr("block (15,0,0) warp 0 lane 0 is at "),
                    Not(HasSubstr("block (16,0,0)")), HasSubstr("and 116 more")));
}

TEST(Stop, ItSaysWhatEachWarpWaitsFor) {
  Bench bench(entry(R"(
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, bar;
    setp.eq.u32 %p0, %r1, 0;
    @%p0 mbarrier.init.shared::cta.b64 [%r2], 2;
    bar.sync 0;
    setp.lt.u32 %p1, %r1, 32;
    @%p1 bra LOOP;
    setp.lt.u32 %p2, %r1, 64;
    @%p2 bra SYNC;
  WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2], 0;
    @!%p3 bra WAIT;
  SYNC:
    bar.sync 1;
  LOOP:
    bra LOOP;)",
                    ".shared .align 8 .b64 bar;\n"));
  bench.launch.block = {96, 1, 1};
  bench.launch.options.limit_steps = 100'000;
  EXPECT_THAT(bench.failure(),
              AllOf(HasSubstr("block (0,0,0) warp 0 is at bra (test.ptx:"),
                    HasSubstr("warp 1 in bar.sync (test.ptx:"), HasSubstr("waits for barrier 1"),
                    HasSubstr("warp 2 in mbarrier.try_wait"), HasSubstr("waits for the mbarrier"),
                    HasSubstr("2 of 2 arrivals pending")));
}

TEST(Stop, ATimeLimitEndsOneWarpAndManyBlocks) {
  Bench loop(entry("LOOP:\nbra LOOP;"));
  Bench blocks(entry("ret;"));
  blocks.launch.grid = {1U << 30, 1, 1};
  for (Bench* bench : {&loop, &blocks}) {
    for (const unsigned threads : {1U, 2U}) {
      bench->launch.options.threads = threads;
      bench->launch.options.limit_seconds = 0.1;
      std::string failure;
      EXPECT_LT(seconds_of(*bench, failure), 1);
      EXPECT_THAT(failure, AllOf(HasSubstr("PTX0951"), HasSubstr("0.1 s"),
                                 HasSubstr(bench == &loop ? "block (" : "")));
    }
  }
}

TEST(Stop, AnErrorOfTheKernelComesBeforeALimit) {
  Bench bench(entry("trap;"));
  bench.launch.options.limit_steps = 1;
  EXPECT_THAT(bench.failure(), HasSubstr("PTX0912"));
}

TEST(Stop, WordsOfALimit) {
  Options options;
  EXPECT_EQ(set_option(options, "limit", "1000"), std::nullopt);
  EXPECT_EQ(set_option(options, "limit", "2.5s"), std::nullopt);
  EXPECT_EQ(options.limit_steps, 1000U);
  EXPECT_EQ(options.limit_seconds, 2.5);
  EXPECT_EQ(set_option(options, "limit", "250ms"), std::nullopt);
  EXPECT_EQ(options.limit_seconds, 0.25);
  EXPECT_EQ(set_option(options, "limit", "1.5min"), std::nullopt);
  EXPECT_EQ(options.limit_seconds, 90);
  for (const char* word : {"", "0", "-1", "2.5", "0s", "-2s", "s", "nans", "infs", "1e300s", "2 s",
                           "2h", "99999999999999999999", "1000000000000min"}) {
    EXPECT_TRUE(set_option(options, "limit", word)) << word;
  }
}

/// A copy that nobody waits for lands while a warp polls its bytes.
TEST(Stop, AWarpThatPollsWithPlainLoadsSeesTheCopy) {
  Bench bench(entry(R"(
    ld.param.u64 %rd0, [p0];
    mov.u32 %r1, tile;
    mov.u32 %r2, bar;
    st.shared.u32 [%r1], 0;
    mbarrier.init.shared::cta.b64 [%r2], 1;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16;
    fence.proxy.async;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 16, [%r2];
  POLL:
    ld.volatile.shared.u32 %r3, [%r1];
    setp.eq.u32 %p0, %r3, 0;
    @%p0 bra POLL;
    ret;)",
                    ".shared .align 16 .b8 tile[16];\n.shared .align 8 .b64 bar;\n"));
  std::vector<std::uint32_t> in(8, 1);
  bench.buffer(0, in);
  bench.launch.params.resize(32);
  bench.launch.options.limit_steps = 10'000'000;
  EXPECT_EQ(bench.failure(), "");
}

}  // namespace
}  // namespace pyptx::emu
