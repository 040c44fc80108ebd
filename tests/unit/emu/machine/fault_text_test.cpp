// SPDX-License-Identifier: Apache-2.0
//
// What the emulator refuses, at decode and while it runs, and what it says.
#include <stdexcept>

#include "bench.h"

namespace pyptx::emu {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string run_one(const std::string& body, const std::string& shared = {},
                    std::uint32_t threads = 32) {
  Bench bench(entry(body, shared));
  std::vector<std::uint32_t> out(32);
  bench.buffer(0, out);
  bench.launch.block = {threads, 1, 1};
  return bench.failure();
}

TEST(Check, OutOfBoundsNamesTheNearestBufferThreadAndLine) {
  const std::string text = run_one(R"(
    ld.param.u64 %rd0, [p0];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd1, %r1, 8;
    add.s64 %rd1, %rd0, %rd1;
    st.global.u32 [%rd1], %r1;
    ret;)");
  EXPECT_THAT(text, AllOf(HasSubstr("PTX0904"), HasSubstr("0 bytes past the end of buffer 0"),
                          HasSubstr("thread (16,0,0)"), HasSubstr("test.ptx:"),
                          HasSubstr("st.global.u32")));
}

TEST(Check, NullAndMisalignedAndReadOnly) {
  EXPECT_THAT(run_one("mov.u64 %rd1, 0;\nld.global.u32 %r1, [%rd1];\nret;"),
              AllOf(HasSubstr("PTX0904"), HasSubstr("null")));
  EXPECT_THAT(run_one("ld.param.u64 %rd0, [p0];\nld.global.u32 %r1, [%rd0+2];\nret;"),
              HasSubstr("PTX0905"));
  Bench bench(entry("ld.param.u64 %rd0, [p0];\nst.global.u32 [%rd0], 1;\nret;"));
  std::vector<std::uint32_t> out(4);
  bench.buffer(0, out, false);
  bench.launch.block = {1, 1, 1};
  EXPECT_THAT(bench.failure(), HasSubstr("PTX0906"));
  EXPECT_EQ(out[0], 0U);
}

TEST(Check, SharedBounds) {
  EXPECT_THAT(run_one("mov.u32 %r1, buf;\nst.shared.u32 [%r1+64], 1;\nret;",
                      ".shared .align 16 .b8 buf[64];\n"),
              HasSubstr("PTX0904"));
  EXPECT_THAT(run_one("mov.u32 %r1, 0;\nld.shared.u32 %r2, [%r1];\nret;",
                      ".shared .align 16 .b8 buf[64];\n"),
              AllOf(HasSubstr("PTX0904"), HasSubstr("null")));
}

TEST(Check, DeadlockOnAnMbarrierSaysWhatIsMissing) {
  const std::string text = run_one(R"(
    mov.u32 %r1, bar;
    mov.u32 %r2, %tid.x;
    setp.eq.u32 %p1, %r2, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r1], 2;
    bar.sync 0;
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 256;
  WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 0;
    @!%p2 bra WAIT;
    ret;)",
                                   ".shared .align 8 .b64 bar;\n");
  EXPECT_THAT(text, AllOf(HasSubstr("PTX0911"), HasSubstr("1 of 2 arrivals pending"),
                          HasSubstr("0 of 256 expected bytes have come"), HasSubstr("(bar+0)"),
                          HasSubstr("phase 0"), HasSubstr("test.ptx:")));
}

TEST(Check, DeadlockOfAPollingLoopIsFoundToo) {
  const std::string text = run_one(R"(
    mov.u32 %r1, bar;
    mov.u32 %r2, %tid.x;
    setp.eq.u32 %p1, %r2, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r1], 1;
    bar.sync 0;
  WAIT:
    mbarrier.test_wait.parity.shared::cta.b64 %p2, [%r1], 0;
    @!%p2 bra WAIT;
    ret;)",
                                   ".shared .align 8 .b64 bar;\n");
  EXPECT_THAT(text, HasSubstr("PTX0911"));
}

/// Two warps; each waits at a barrier of its own.
std::string run_two(const std::string& first_barrier, const std::string& second_barrier) {
  return run_one("mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 32;\n@%p1 bra FIRST;\nbar.sync " +
                     second_barrier + ";\nret;\nFIRST: bar.sync " + first_barrier + ";\nret;",
                 {}, 64);
}

TEST(Check, DeadlockOnABarrierWithMissingWarps) {
  const std::string text = run_two("2, 64", "1, 96");
  EXPECT_THAT(text, AllOf(HasSubstr("PTX0911"), HasSubstr("barrier 1: 32 threads arrived of 96"),
                          HasSubstr("barrier 2: 32 threads arrived of 64")));
}

TEST(Check, BarrierCountsThatDisagree) {
  EXPECT_THAT(run_two("1, 64", "1, 96"), HasSubstr("PTX0910"));
}

TEST(Check, MbarrierMisuse) {
  const std::string shared = ".shared .align 8 .b64 bar;\n";
  const std::string one = R"(
    mov.u32 %r1, bar;
    mov.u32 %r2, %tid.x;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 ret;
  )";
  EXPECT_THAT(run_one(one + "mbarrier.arrive.shared::cta.b64 %rd1, [%r1];\nret;", shared),
              AllOf(HasSubstr("PTX0909"), HasSubstr("not initialised")));
  const std::string init = one + "mbarrier.init.shared::cta.b64 [%r1], 1;\n";
  EXPECT_THAT(run_one(init + "mbarrier.init.shared::cta.b64 [%r1], 1;\nret;", shared),
              HasSubstr("initialised already"));
  EXPECT_THAT(run_one(init + "mbarrier.arrive.shared::cta.b64 %rd1, [%r1], 2;\nret;", shared),
              HasSubstr("an arrival of 2"));
  EXPECT_THAT(run_one(init + "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 1048576;\nret;",
                      shared),
              HasSubstr("transaction count"));
  EXPECT_THAT(run_one(init + "st.shared.u32 [%r1], 1;\nret;", shared),
              HasSubstr("overwrites it while it is live"));
  EXPECT_EQ(run_one(init + "mbarrier.inval.shared::cta.b64 [%r1];\nst.shared.u32 [%r1], 1;\nret;",
                    shared),
            "");
}

TEST(Check, MemberMaskOfAGuardedShuffle) {
  EXPECT_THAT(run_one(R"(
    mov.u32 %r1, %laneid;
    setp.lt.u32 %p1, %r1, 16;
    @%p1 shfl.sync.bfly.b32 %r2, %r1, 1, 0x1F, 0xFFFFFFFF;
    ret;)"),
              HasSubstr("PTX0913"));
}

TEST(Check, LaunchThatDoesNotFit) {
  Bench bench(entry("ret;", {}, ".reqntid 128, 1, 1\n"));
  bench.launch.block = {64, 1, 1};
  EXPECT_THAT(bench.failure(), AllOf(HasSubstr("PTX0903"), HasSubstr("(128, 1, 1)")));
  Bench few(entry("ret;"));
  few.launch.params.resize(8);
  EXPECT_THAT(few.failure(), HasSubstr("32 bytes of parameters"));
}

TEST(Check, InterruptEndsAnEndlessLoop) {
  Bench bench(entry("LOOP:\nbra LOOP;\nret;"));
  bench.launch.block = {32, 1, 1};
  bench.launch.options.interrupt = [] { return true; };
  EXPECT_THAT(bench.failure(), HasSubstr("PTX0915"));
}

TEST(Check, InterruptEndsAGridOfShortBlocks) {
  // No block runs long enough to be asked in its middle; the caller is asked between them, and
  // while it waits for the other threads.
  Bench bench(entry("ret;"));
  bench.launch.grid = {1U << 30, 1, 1};
  bench.launch.block = {32, 1, 1};
  bench.launch.options.interrupt = [] { return true; };
  for (const unsigned threads : {1U, 2U}) {
    bench.launch.options.threads = threads;
    EXPECT_THAT(bench.failure(), HasSubstr("PTX0915"));
  }
}

TEST(Check, WhatTheCallersFunctionThrowsReachesTheCaller) {
  // Not before the other threads have ended.
  Bench bench(entry("LOOP:\nbra LOOP;\nret;"));
  bench.launch.grid = {8, 1, 1};
  bench.launch.block = {32, 1, 1};
  bench.launch.options.progress = [](const Progress&) { throw std::runtime_error("mine"); };
  for (const unsigned threads : {1U, 3U}) {
    bench.launch.options.threads = threads;
    EXPECT_THROW(bench.failure(), std::runtime_error);
  }
}

}  // namespace
}  // namespace pyptx::emu
