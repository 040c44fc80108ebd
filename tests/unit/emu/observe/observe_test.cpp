// SPDX-License-Identifier: Apache-2.0
//
// Counters, traces and progress: what a watched run says, and that watching changes nothing.
#include <sstream>

#include "bench.h"

namespace pyptx::emu {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Counters::Row& row(const Counters& counters, std::string_view name) {
  for (const Counters::Row& one : counters.instructions) {
    if (one.name == name) return one;
  }
  ADD_FAILURE() << "no instruction " << name;
  return counters.instructions.front();
}

std::uint64_t loaded(const Counters& counters, std::string_view space) {
  for (const Counters::Traffic& one : counters.traffic) {
    if (one.space == space) return one.loaded;
  }
  return 0;
}

/// The cost of `load` from shared memory at lane * `stride`.
Cost shared_load(const std::string& load, int stride) {
  Bench bench(entry("mov.u32 %r0, %tid.x;\nmul.lo.u32 %r1, %r0, " + std::to_string(stride) +
                        ";\nmov.u32 %r2, tile;\nadd.u32 %r1, %r1, %r2;\n"
                        "shl.b32 %r10, %r0, 2;\nadd.u32 %r10, %r10, %r2;\nmov.u32 %r11, 64;\n"
                        "FILL:\nst.shared.b32 [%r10], 0;\nadd.u32 %r10, %r10, 128;\n"
                        "sub.u32 %r11, %r11, 1;\nsetp.ne.u32 %p0, %r11, 0;\n@%p0 bra FILL;\n"
                        "bar.sync 0;\n" +
                        load,
                    ".shared .align 128 .b8 tile[8192];\n"));
  bench.launch.block = {32, 1, 1};
  bench.launch.options.counters = true;
  bench.run();
  return row(bench.last.counters.value_or(Counters{}), load.substr(0, load.find(' '))).cost;
}

TEST(Counters, SharedMemoryWithoutConflicts) {
  const Cost scalar = shared_load("ld.shared.b32 %r3, [%r1];", 4);
  EXPECT_EQ(scalar.wavefronts, 1U);
  EXPECT_EQ(scalar.conflicts, 0U);
  const Cost pairs = shared_load("ld.shared.v2.b32 {%r3, %r4}, [%r1];", 8);
  EXPECT_EQ(pairs.wavefronts, 2U);
  EXPECT_EQ(pairs.conflicts, 0U);
  const Cost fours = shared_load("ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%r1];", 16);
  EXPECT_EQ(fours.wavefronts, 4U);
  EXPECT_EQ(fours.conflicts, 0U);
  EXPECT_EQ(shared_load("ld.shared.b32 %r3, [%r1];", 0).wavefronts, 1U);  // a broadcast
  // Four lanes read the bytes of one word.
  EXPECT_EQ(shared_load("ld.shared.u8 %r3, [%r1];", 1).wavefronts, 1U);
}

TEST(Counters, SharedMemoryWithConflicts) {
  const Cost two = shared_load("ld.shared.b32 %r3, [%r1];", 8);
  EXPECT_EQ(two.wavefronts, 2U);
  EXPECT_EQ(two.conflicts, 1U);
  const Cost all = shared_load("ld.shared.b32 %r3, [%r1];", 128);
  EXPECT_EQ(all.wavefronts, 32U);
  EXPECT_EQ(all.conflicts, 31U);
  // A pad of one word sends every row to another bank.
  EXPECT_EQ(shared_load("ld.shared.b32 %r3, [%r1];", 132).conflicts, 0U);
  // Quarters of eight lanes, each lane at the same four banks.
  const Cost fours = shared_load("ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%r1];", 128);
  EXPECT_EQ(fours.wavefronts, 32U);
  EXPECT_EQ(fours.conflicts, 28U);
}

TEST(Counters, MatrixRowsAreOneWavefrontPerMatrix) {
  const std::string load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r1];";
  const Cost packed = shared_load(load, 16);
  EXPECT_EQ(packed.wavefronts, 4U);
  EXPECT_EQ(packed.conflicts, 0U);
  EXPECT_EQ(packed.loaded, 512U);
  EXPECT_EQ(shared_load(load, 128).conflicts, 28U);
}

const char* const kCopy =
    "mov.u32 %r0, %tid.x;\nld.param.u64 %rd0, [p0];\nld.param.u64 %rd1, [p1];\n"
    "mul.wide.u32 %rd2, %r0, 4;\nadd.u64 %rd0, %rd0, %rd2;\nadd.u64 %rd1, %rd1, %rd2;\n"
    "setp.lt.u32 %p0, %r0, 40;\n@%p0 ld.global.f32 %f0, [%rd0];\n@%p0 st.global.f32 [%rd1], "
    "%f0;\n";

TEST(Counters, BytesSectorsAndGuards) {
  Bench bench(entry(kCopy));
  std::vector<float> from(96, 1.0F);
  std::vector<float> to(96);
  bench.buffer(0, from);
  bench.buffer(1, to);
  bench.launch.block = {96, 1, 1};
  bench.launch.options.counters = true;
  bench.run();
  const Counters& counters = *bench.last.counters;
  const Cost& load = row(counters, "ld.global.f32").cost;
  EXPECT_EQ(load.executed, 2U);
  EXPECT_EQ(load.skipped, 1U);
  EXPECT_EQ(load.lanes, 40U);
  EXPECT_EQ(load.partial, 1U);
  EXPECT_EQ(load.loaded, 160U);
  EXPECT_EQ(load.sectors, 5U);
  EXPECT_EQ(row(counters, "st.global.f32").cost.stored, 160U);
  EXPECT_EQ(loaded(counters, "param"), 2U * 8U * 96U);
  EXPECT_EQ(counters.total.executed + counters.total.skipped, bench.last.warp_instructions);
  EXPECT_THAT(to_text(counters), HasSubstr("global"));
  EXPECT_THAT(profile_text(counters), HasSubstr("ld.global.f32  test.ptx:"));
}

TEST(Counters, DivergentBranches) {
  Bench bench(
      entry("mov.u32 %r0, %tid.x;\nmov.u32 %r1, 0;\nand.b32 %r2, %r0, 1;\n"
            "setp.eq.u32 %p0, %r2, 0;\n@%p0 bra EVEN;\nadd.u32 %r1, %r1, 1;\nEVEN:\n"
            "setp.lt.u32 %p1, %r0, 99;\n@%p1 bra END;\nadd.u32 %r1, %r1, 1;\nEND:\nret;"));
  bench.launch.block = {32, 1, 1};
  bench.launch.options.counters = true;
  bench.run();
  const Counters& counters = *bench.last.counters;
  EXPECT_EQ(counters.branches, 2U);
  EXPECT_EQ(counters.divergent_branches, 1U);
  EXPECT_LT(counters.average_lanes(), 32.0);
}

TEST(Counters, AreTheSameOnAnyNumberOfThreads) {
  const auto counted = [](unsigned threads) {
    Bench bench(entry(kCopy));
    std::vector<float> from(96, 1.0F);
    std::vector<float> to(96);
    bench.buffer(0, from);
    bench.buffer(1, to);
    bench.launch.block = {96, 1, 1};
    bench.launch.grid = {64, 1, 1};
    bench.launch.options.counters = true;
    bench.launch.options.threads = threads;
    std::ostringstream trace;
    bench.launch.options.trace = &trace;
    bench.run();
    return profile_text(*bench.last.counters) + trace.str();
  };
  EXPECT_EQ(counted(1), counted(2));
}

TEST(Counters, NobodyAsked) {
  Bench bench(entry("ret;"));
  bench.run();
  EXPECT_FALSE(bench.last.counters.has_value());
}

TEST(Trace, TellsInstructionsAndWaits) {
  Bench bench(
      entry("mov.u32 %r0, %tid.x;\nsetp.ge.u32 %p0, %r0, 32;\n@%p0 bra WAIT;\n"
            "mov.u32 %r1, 0;\nmov.u32 %r2, 0;\nmov.u32 %r3, 0;\nWAIT:\nbar.sync 0;\nret;"));
  bench.launch.block = {64, 1, 1};
  std::ostringstream trace;
  bench.launch.options.trace = &trace;
  bench.run();
  const std::string text = trace.str();
  EXPECT_THAT(text, HasSubstr(R"x("name":"CTA (0,0,0)")x"));
  EXPECT_THAT(text, HasSubstr(R"("name":"warp 1")"));
  EXPECT_THAT(text, HasSubstr(R"("name":"bar.sync")"));
  // Warp 1 came two steps before warp 0, though it ran after it.
  EXPECT_THAT(text, HasSubstr(R"("name":"wait: bar.sync","ts":3,"dur":2,"pid":0,"tid":1)"));
  EXPECT_THAT(text, HasSubstr(R"("name":"bar.sync","ts":5,"dur":1,"pid":0,"tid":1)"));
  EXPECT_THAT(text, HasSubstr(R"("name":"bar.sync","ts":5,"dur":1,"pid":0,"tid":0)"));
  EXPECT_THAT(text, HasSubstr(R"("line":"test.ptx:)"));
  EXPECT_THAT(text, HasSubstr(R"("events_left_out":0)"));
}

TEST(Trace, TellsWhoEndedAWait) {
  Bench bench(
      entry("mov.u32 %r0, %tid.x;\nsetp.ge.u32 %p0, %r0, 32;\n@%p0 bra WAIT;\n"
            "mov.u32 %r1, 0;\nmov.u32 %r2, 0;\nmov.u32 %r3, 0;\nWAIT:\nbar.sync 0;\nret;"));
  bench.launch.block = {64, 1, 1};
  std::ostringstream trace;
  bench.launch.options.trace = &trace;
  bench.run();
  // Warp 0 came last.
  EXPECT_THAT(trace.str(), HasSubstr(R"("pc":6,"by":"warp 0","by_line":"test.ptx:)"));
  EXPECT_THAT(trace.str(), HasSubstr(R"("by_pc":6,"by_pid":0,"by_tid":0}})"));
  EXPECT_THAT(trace.str(), Not(HasSubstr(R"("by":"warp 1")")));
}

TEST(Trace, ShowsThePhasesOfAnMbarrier) {
  // Two arrivals end a phase; warp 1 comes later, and warp 0 waits for it twice.
  Bench bench(
      entry("mov.u32 %r0, %tid.x;\nmov.u32 %r1, bar;\nsetp.eq.u32 %p0, %r0, 0;\n"
            "@%p0 mbarrier.init.shared.b64 [%r1], 64;\nbar.sync 0;\n"
            "setp.lt.u32 %p1, %r0, 32;\n@%p1 bra ARRIVE;\nmov.u32 %r2, 0;\nmov.u32 %r2, 0;\n"
            "ARRIVE:\nmbarrier.arrive.shared.b64 _, [%r1];\n"
            "WAIT:\nmbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0;\n@!%p2 bra WAIT;\n"
            "mbarrier.arrive.shared.b64 _, [%r1];\nret;",
            ".shared .align 8 .b8 bar[8];\n"));
  bench.launch.block = {64, 1, 1};
  std::ostringstream trace;
  bench.launch.options.trace = &trace;
  bench.run();
  const std::string text = trace.str();
  EXPECT_THAT(text, HasSubstr(R"("tid":1000,"args":{"name":"mbarrier )"));
  EXPECT_THAT(text, HasSubstr(R"("cat":"phase","name":"phase 0","ts":0)"));
  EXPECT_THAT(text, HasSubstr(R"("cat":"phase","name":"phase 1")"));
  const std::size_t first = text.find(R"("name":"phase 0")");
  EXPECT_THAT(text.substr(first, 200), HasSubstr(R"("by":"warp 1")"));
}

TEST(Trace, LeavesOutWhatIsTooMuch) {
  Bench bench(entry("mov.u32 %r0, 0;\nmov.u32 %r1, 1;\nmov.u32 %r2, 2;\nret;"));
  std::ostringstream trace;
  bench.launch.options.trace = &trace;
  bench.launch.options.trace_events = 2;
  bench.run();
  EXPECT_THAT(trace.str(), HasSubstr(R"("events_left_out":2)"));
}

TEST(Trace, ShowsCopiesUnderWay) {
  Bench bench(
      entry("ld.param.u64 %rd0, [p0];\nmov.u32 %r0, tile;\n"
            "cp.async.ca.shared.global [%r0], [%rd0], 16;\ncp.async.commit_group;\n"
            "mov.u32 %r1, 0;\nmov.u32 %r2, 0;\ncp.async.wait_group 0;\nret;",
            ".shared .align 16 .b8 tile[16];\n"));
  std::vector<float> from(4, 1.0F);
  bench.buffer(0, from);
  bench.launch.options.counters = true;
  std::ostringstream trace;
  bench.launch.options.trace = &trace;
  bench.run();
  EXPECT_THAT(trace.str(),
              HasSubstr(R"("ph":"b","cat":"async","name":"cp.async.ca.shared.global")"));
  EXPECT_THAT(trace.str(), HasSubstr(R"("ts":6)"));
  EXPECT_EQ(loaded(*bench.last.counters, "async to shared"), 16U);
}

TEST(Progress, TellsHowFarItIs) {
  EXPECT_EQ(progress_text({12, 132, 3.0}),
            "emulating: 12 of 132 CTAs, 3.0 s, 4.0 per second, about 30.0 s left");
  EXPECT_EQ(progress_text({0, 132, 3.0}), "emulating: 0 of 132 CTAs, 3.0 s");
}

TEST(Progress, TheLineStaysQuietAtFirstAndLeavesNothing) {
  std::ostringstream out;
  {
    ProgressLine line(out);
    line({1, 10, 1.0});
    EXPECT_EQ(out.str(), "");
    line({5, 10, 5.0});
    EXPECT_THAT(out.str(), HasSubstr("5 of 10"));
    line({5, 10, 5.1});
  }
  EXPECT_EQ(out.str().find("5 of 10"), out.str().rfind("5 of 10"));
  EXPECT_EQ(out.str().back(), '\r');
}

TEST(Progress, IsToldWhileItRuns) {
  Bench bench(
      entry("mov.u32 %r0, 3000000;\nLOOP:\nsub.u32 %r0, %r0, 1;\n"
            "setp.ne.u32 %p0, %r0, 0;\n@%p0 bra LOOP;\nret;"));
  bench.launch.grid = {2, 1, 1};
  bench.launch.options.threads = 1;
  std::uint64_t most = 0;
  std::uint64_t calls = 0;
  bench.launch.options.progress = [&](const Progress& progress) {
    EXPECT_EQ(progress.total, 2U);
    most = std::max(most, progress.done);
    ++calls;
  };
  bench.run();
  EXPECT_GT(calls, 0U);
  EXPECT_LE(most, 1U);
}

TEST(OptionWords, AreCheckedOneByOne) {
  Options options;
  EXPECT_EQ(set_option(options, "schedule", "random"), std::nullopt);
  EXPECT_EQ(options.completion, Completion::Random);
  EXPECT_EQ(set_option(options, "checks", "races"), std::nullopt);
  EXPECT_EQ(set_option(options, "ignore", "PTX0919,PTX0931"), std::nullopt);
  EXPECT_TRUE(options.is_ignored(diag::Kind::EmuProxyFence));
  EXPECT_TRUE(options.is_ignored(diag::Kind::EmuTensorOrder));
  EXPECT_FALSE(options.is_ignored(diag::Kind::EmuRace));
  EXPECT_THAT(*set_option(options, "ignore", "PTX0904"), HasSubstr("cannot go on behind PTX0904"));
  EXPECT_TRUE(options.is_ignored(diag::Kind::EmuProxyFence)) << "a refused word changes nothing";
  EXPECT_TRUE(options.races);
  EXPECT_EQ(set_option(options, "numerics", "slow"), "numerics is 'fast' or 'exact', not 'slow'");
  EXPECT_THAT(*set_option(options, "speed", "11"), HasSubstr("no option 'speed'"));
}

}  // namespace
}  // namespace pyptx::emu
