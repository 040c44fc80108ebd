// SPDX-License-Identifier: Apache-2.0
//
// Races between clusters: that the verdict is the same on any number of host threads, that what
// the manual allows is silent, and that streams of launches are joined by griddepcontrol.wait only.
// The planted pairs of tests/support/planted are the rest.
#include "bench.h"
#include "pyptx/emu/stream.h"

namespace pyptx::emu {
namespace {

/// `body` on so many CTAs of a warp, with the number of the CTA in %r1 and of the thread in %r2.
std::string grid_text(const std::string& body) {
  return entry("ld.param.u64 %rd1, [p0];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\n" + body +
               "ret;");
}

std::string run_grid(const std::string& body, unsigned ctas, unsigned threads,
                     std::vector<std::uint32_t>& data, Report* report = nullptr) {
  Bench bench(grid_text(body));
  bench.buffer(0, data);
  bench.launch.grid = {ctas, 1, 1};
  bench.launch.block = {32, 1, 1};
  bench.launch.options.races = true;
  bench.launch.options.threads = threads;
  std::string text = bench.failure();
  if (report != nullptr) *report = bench.last;
  return text;
}

TEST(GlobalRaces, AreTheSameOnAnyNumberOfThreads) {
  // CTA i writes words i * 16 to i * 16 + 31: each overlaps the next.
  const std::string body =
      "mad.lo.u32 %r3, %r1, 16, %r2;\nmul.wide.u32 %rd2, %r3, 4;\nadd.u64 %rd2, %rd1, %rd2;\n"
      "st.global.u32 [%rd2], %r1;\n";
  std::vector<std::uint32_t> data(4096);
  const std::string first = run_grid(body, 200, 1, data);
  EXPECT_THAT(first, ::testing::HasSubstr("PTX0920"));
  EXPECT_THAT(first, ::testing::HasSubstr("block (1,0,0)"));
  for (unsigned threads : {2U, 3U, 8U}) EXPECT_EQ(run_grid(body, 200, threads, data), first);
}

TEST(GlobalRaces, TheSameValueIsAWarning) {
  std::vector<std::uint32_t> data(64);
  Report report;
  EXPECT_EQ(run_grid("st.global.u32 [%rd1], 5;\n", 8, 2, data, &report), "");
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_EQ(report.warnings[0].code(), "PTX0941");
  EXPECT_THAT(run_grid("st.global.u32 [%rd1], %r1;\n", 8, 2, data),
              ::testing::HasSubstr("PTX0920"));
}

TEST(GlobalRaces, CanBeIgnored) {
  const auto run = [](const std::string& body, const std::string& ignored) {
    Bench bench(grid_text(body));
    std::vector<std::uint32_t> data(64);
    bench.buffer(0, data);
    bench.launch.grid = {8, 1, 1};
    bench.launch.block = {32, 1, 1};
    bench.launch.options.races = true;
    EXPECT_EQ(set_option(bench.launch.options, "ignore", ignored), std::nullopt);
    EXPECT_EQ(bench.failure(), "");
    return bench.last.warnings.size();
  };
  EXPECT_EQ(run("st.global.u32 [%rd1], %r1;\n", "PTX0920"), 0U);
  EXPECT_EQ(run("st.global.u32 [%rd1], 5;\n", "PTX0920"), 1U);
  EXPECT_EQ(run("st.global.u32 [%rd1], 5;\n", "PTX0941"), 0U);
  const std::string weak = "atom.global.add.u32 %r3, [%rd1], 1;\nld.global.u32 %r4, [%rd1];\n";
  EXPECT_GE(run(weak, "PTX0941"), 1U);
  EXPECT_EQ(run(weak, "PTX0942"), 0U);
}

/// Whether CTA 1 finds a value or not: the one that CTA 0 is about to store is no value yet.
TEST(GlobalRaces, AreToldBeforeMissingValues) {
  const std::string body =
      "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra other;\nmov.u32 %r3, 0;\nagain:\n"
      "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p2, %r3, 200000;\n@%p2 bra again;\n"
      "mul.wide.u32 %rd2, %r2, 4;\nadd.u64 %rd2, %rd1, %rd2;\nst.global.u32 [%rd2], %r3;\nret;\n"
      "other:\nmul.wide.u32 %rd2, %r2, 4;\nadd.u64 %rd2, %rd1, %rd2;\n"
      "ld.global.u32 %r4, [%rd2];\nst.global.u32 [%rd2+128], %r4;\n";
  for (unsigned threads : {1U, 2U}) {
    Bench bench(grid_text(body));
    std::vector<std::uint32_t> data(64);
    bench.buffer(0, data);
    bench.launch.buffers[0].has_value = false;
    bench.launch.grid = {2, 1, 1};
    bench.launch.block = {32, 1, 1};
    bench.launch.options.races = true;
    bench.launch.options.threads = threads;
    EXPECT_THAT(bench.failure(), ::testing::HasSubstr("PTX0920"));
  }
}

/// An input that lies over an output changes with it.
TEST(GlobalRaces, MemoryThatIsAnInputTooIsJudged) {
  Bench bench(
      grid_text("ld.param.u64 %rd3, [p1];\nmul.wide.u32 %rd2, %r2, 4;\nadd.u64 %rd4, %rd3, %rd2;\n"
                "add.u64 %rd5, %rd1, %rd2;\nsetp.eq.u32 %p1, %r1, 0;\n"
                "@%p1 st.global.u32 [%rd5], %r2;\n@!%p1 ld.global.u32 %r4, [%rd4];\n"));
  std::vector<std::uint32_t> data(64);
  bench.buffer(0, data);
  bench.buffer(1, data, false);
  bench.launch.grid = {2, 1, 1};
  bench.launch.block = {32, 1, 1};
  bench.launch.options.races = true;
  EXPECT_THAT(bench.failure(), ::testing::HasSubstr("PTX0920"));
}

TEST(GlobalRaces, HalvesOfAWordAreApart) {
  const std::string body =
      "mad.lo.u32 %r3, %r1, 32, %r2;\nmul.wide.u32 %rd2, %r3, 2;\nadd.u64 %rd2, %rd1, %rd2;\n"
      "add.u64 %rd2, %rd2, 2;\ncvt.u16.u32 %h1, %r1;\nst.global.u16 [%rd2], %h1;\n";
  std::vector<std::uint32_t> data(256);
  Report report;
  EXPECT_EQ(run_grid(body, 8, 2, data, &report), "");
  EXPECT_TRUE(report.warnings.empty());
}

/// Rows of half words in shared memory: each lane is judged at its own address.
TEST(SharedRaces, HalvesOfAWordAreApart) {
  const std::string store =
      ".shared .align 4 .b8 room[256];\nmov.u32 %r3, room;\nmad.lo.u32 %r3, %r2, 2, %r3;\n"
      "cvt.u16.u32 %h1, %r2;\nst.shared.u16 [%r3], %h1;\nst.shared.u16 [%r3+64], %h1;\n";
  std::vector<std::uint32_t> data(64);
  const std::string own =
      "st.shared.u16 [%r3], %h1;\natom.shared.add.noftz.f16 %h2, [%r3], %h1;\n"
      "ld.shared.u16 %h2, [%r3];\nst.shared.u16 [%r3], %h2;\n";
  EXPECT_EQ(run_grid(store + own, 1, 1, data), "");
  EXPECT_EQ(run_grid(store + "setp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\n" + own, 1, 1, data), "");
  const std::string again = "ld.shared.u16 %h2, [%r3];\nst.shared.u16 [%r3], %h2;\n";
  EXPECT_EQ(run_grid(store + again, 1, 1, data), "");
  for (const std::string other :
       {"ld.shared.u16 %h2, [%r3+2];\n", "st.shared.u16 [%r3+2], %h1;\n"}) {
    const std::string text = run_grid(store + again + other, 1, 1, data);
    EXPECT_THAT(text, ::testing::HasSubstr("PTX0920")) << other;
    EXPECT_THAT(text, ::testing::HasSubstr("bar.warp.sync"));
  }
}

TEST(GlobalRaces, MemoryThatNobodyMayWriteIsNotJudged) {
  Bench bench(grid_text("ld.param.u64 %rd3, [p1];\nld.global.u32 %r4, [%rd3];\n"));
  std::vector<std::uint32_t> data(64);
  bench.buffer(0, data);
  bench.buffer(1, data, false);
  bench.launch.grid = {8, 1, 1};
  bench.launch.block = {32, 1, 1};
  bench.launch.options.races = true;
  EXPECT_EQ(bench.failure(), "");
}

/// A decoupled look-back: CTA i waits for the sum of CTA i - 1 and publishes its own.
TEST(GlobalRaces, AChainThroughTheGridIsSilent) {
  const std::string body =
      "setp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\nmul.wide.u32 %rd2, %r1, 8;\n"
      "add.u64 %rd2, %rd1, %rd2;\nmov.u32 %r5, 0;\nsetp.eq.u32 %p2, %r1, 0;\n"
      "@%p2 bra publish;\nagain:\nld.acquire.gpu.global.u32 %r4, [%rd2+-4];\n"
      "setp.eq.u32 %p3, %r4, 0;\n@%p3 bra again;\nld.global.u32 %r5, [%rd2+-8];\npublish:\n"
      "add.u32 %r5, %r5, 1;\nst.global.u32 [%rd2], %r5;\nst.release.gpu.global.u32 [%rd2+4], 1;\n";
  std::vector<std::uint32_t> data(2 * 700);
  EXPECT_EQ(run_grid(body, 700, 0, data), "");
  EXPECT_EQ(data[2 * 699], 700U);
}

TEST(Stream, OnlyTheWaitJoinsAProgrammaticLaunch) {
  const std::string store = "setp.eq.u32 %p1, %r2, 0;\n@%p1 st.global.u32 [%rd1], 7;\n";
  const std::string trigger = "griddepcontrol.launch_dependents;\n";
  const auto second = [&](const std::string& body, bool is_programmatic) {
    Stream stream;
    std::vector<std::uint32_t> data(64);
    Bench bench(grid_text(body));
    bench.buffer(0, data);
    bench.launch.block = {32, 1, 1};
    bench.launch.options.races = true;
    bench.launch.options.stream = &stream;
    EXPECT_EQ(bench.failure(), "");
    bench.launch.options.is_programmatic = is_programmatic;
    return bench.failure();
  };
  EXPECT_THAT(second(trigger + store, true), ::testing::HasSubstr("PTX0943"));
  EXPECT_EQ(second(trigger + store, false), "");
  EXPECT_EQ(second(store, true), "") << "it has not let the next one start";
  EXPECT_EQ(second(trigger + "griddepcontrol.wait;\n" + store, true), "");
  const std::string by_another =
      "setp.eq.u32 %p2, %r2, 5;\n@%p2 griddepcontrol.wait;\nbar.sync 0;\n";
  EXPECT_EQ(second(trigger + by_another + store, true), "");
}

TEST(Stream, WhatTheLaunchBeforeReadsIsNotOverwritten) {
  Stream stream;
  std::vector<std::uint32_t> data(64);
  Bench bench(
      grid_text("griddepcontrol.launch_dependents;\nld.param.u64 %rd3, [p1];\n"
                "setp.eq.u64 %p1, %rd3, 0;\n@%p1 ld.global.u32 %r3, [%rd1];\n"
                "@!%p1 st.global.u32 [%rd1], 7;\n"));
  bench.buffer(0, data);
  bench.value(1, 0);
  bench.launch.block = {32, 1, 1};
  bench.launch.options.races = true;
  bench.launch.options.stream = &stream;
  EXPECT_EQ(bench.failure(), "");
  bench.value(1, 1);
  bench.launch.options.is_programmatic = true;
  EXPECT_THAT(bench.failure(), ::testing::HasSubstr("the launch before reads it"));
}

}  // namespace
}  // namespace pyptx::emu
