// SPDX-License-Identifier: Apache-2.0
//
// The same seed gives the same bits and the same reports on any number of host threads, and kernels
// that race on global memory are no data race of the emulator: ThreadSanitizer runs these too.
#include <algorithm>
#include <thread>

#include "bench.h"

namespace pyptx::emu {
namespace {

using testing::HasSubstr;

/// What one run leaves: its output, its counts, or its error.
struct Outcome {
  std::vector<std::uint32_t> words;
  std::uint64_t instructions = 0;
  std::string failure;

  bool operator==(const Outcome&) const = default;
};

struct Case {
  std::string name;
  std::string text;
  Dim3 grid;
  Dim3 block;
  Dim3 cluster;
};

Outcome run(const Case& given, const Options& options) {
  Bench bench(given.text);
  EXPECT_EQ(bench.problem(), "") << given.name;
  // The same places in every run: reports tell addresses.
  static std::vector<std::uint32_t> out(1U << 13U);
  static std::vector<std::uint32_t> in(1U << 13U);
  std::ranges::fill(out, 0U);
  for (std::uint32_t i = 0; i < in.size(); ++i) in[i] = i * 2654435761U >> 9U;
  bench.buffer(0, out);
  bench.buffer(1, in, false);
  bench.launch.grid = given.grid;
  bench.launch.block = given.block;
  bench.launch.cluster = given.cluster;
  bench.launch.options = options;
  Outcome outcome;
  outcome.failure = bench.failure();
  if (outcome.failure.empty()) outcome.words = out;
  outcome.instructions = bench.last.warp_instructions;
  return outcome;
}

const std::string kSelf = R"(
    ld.param.u64 %rd0, [p0];
    ld.param.u64 %rd1, [p1];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    mul.wide.u32 %rd2, %r4, 4;
    add.u64 %rd3, %rd0, %rd2;
    add.u64 %rd4, %rd1, %rd2;
)";

/// Loads, shared memory, a barrier, a divergent branch, stores.
Case plain() {
  return {"plain",
          entry(kSelf + R"(
    ld.global.u32 %r5, [%rd4];
    mov.u32 %r6, tile;
    shl.b32 %r7, %r1, 2;
    add.u32 %r8, %r6, %r7;
    st.shared.u32 [%r8], %r5;
    bar.sync 0;
    xor.b32 %r9, %r7, 0xFC;
    add.u32 %r9, %r6, %r9;
    ld.shared.u32 %r10, [%r9];
    and.b32 %r11, %r10, 1;
    setp.eq.u32 %p1, %r11, 0;
    @%p1 bra EVEN;
    mul.lo.u32 %r10, %r10, 3;
  EVEN:
    add.u32 %r10, %r10, %r2;
    st.global.u32 [%rd3], %r10;
    ret;)",
                ".shared .align 16 .b8 tile[256];\n"),
          {24, 1, 1},
          {64, 1, 1},
          {1, 1, 1}};
}

/// Sums of floats whose order shows, and a ticket that every CTA takes.
Case atomics() {
  return {"atomics",
          entry(kSelf + R"(
    cvt.rn.f32.u32 %f1, %r4;
    add.f32 %f1, %f1, 0f3DCCCCCD;
    rcp.approx.f32 %f1, %f1;
    red.global.add.f32 [%rd0], %f1;
    setp.eq.u32 %p1, %r1, 0;
    @!%p1 bra DONE;
    atom.acq_rel.gpu.global.add.u32 %r5, [%rd0+4], 1;
    st.global.u32 [%rd3+8], %r5;
  DONE:
    ret;)"),
          {40, 1, 1},
          {64, 1, 1},
          {1, 1, 1}};
}

/// Every CTA waits, polling, for the flag of the CTA behind it; the last one raises the first.
Case chain() {
  return {"chain",
          entry(kSelf + R"(
    mov.u32 %r5, %nctaid.x;
    sub.u32 %r5, %r5, 1;
    setp.eq.u32 %p1, %r2, %r5;
    @%p1 bra RAISE;
  POLL:
    ld.acquire.gpu.global.u32 %r6, [%rd3+4];
    setp.eq.u32 %p2, %r6, 0;
    @%p2 bra POLL;
  RAISE:
    add.u32 %r7, %r2, 1;
    st.release.gpu.global.u32 [%rd3], %r7;
    ret;)"),
          {12, 1, 1},
          {1, 1, 1},
          {1, 1, 1}};
}

/// A bulk copy in, to every CTA of the cluster, a neighbour's word, a bulk copy out.
Case clusters() {
  return {"clusters",
          entry(kSelf + R"(
    mov.u32 %r5, tile;
    mov.u32 %r6, bar;
    mov.u32 %r7, %cluster_ctarank;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r6], 1;
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r6], 128;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    mov.u16 %h1, 3;
    setp.eq.u32 %p2, %r7, 0;
    and.pred %p3, %p1, %p2;
    @%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r5], [%rd4], 128, [%r6], %h1;
  WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r6], 0;
    @!%p4 bra WAIT;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    shl.b32 %r8, %r1, 2;
    add.u32 %r8, %r5, %r8;
    xor.b32 %r9, %r7, 1;
    mapa.shared::cluster.u32 %r10, %r8, %r9;
    ld.shared::cluster.u32 %r11, [%r10];
    add.u32 %r11, %r11, %r2;
    st.shared.u32 [%r8+128], %r11;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r5+128], 128;
    @%p1 cp.async.bulk.commit_group;
    @%p1 cp.async.bulk.wait_group 0;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    ret;)",
                ".shared .align 128 .b8 tile[256];\n.shared .align 8 .b64 bar;\n"),
          {16, 1, 1},
          {32, 1, 1},
          {2, 1, 1}};
}

/// wgmma of a tile that every thread fills, in bf16.
Case matrices() {
  return {"matrices",
          entry(kSelf + R"(
    mov.u32 %r5, tile;
    mov.u32 %r6, 0;
    shl.b32 %r7, %r1, 2;
    add.u32 %r7, %r5, %r7;
  FILL:
    mad.lo.u32 %r8, %r6, 2654435761, %r4;
    and.b32 %r8, %r8, 0x83FF83FF;
    or.b32 %r8, %r8, 0x38003800;
    st.shared.u32 [%r7], %r8;
    add.u32 %r7, %r7, 512;
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p1, %r6, 16;
    @%p1 bra FILL;
    fence.proxy.async;
    bar.sync 0;
    shr.u32 %r9, %r5, 4;
    cvt.u64.u32 %rd5, %r9;
    or.b64 %rd5, %rd5, 4611686293305294848;
    setp.ne.u32 %p2, %r9, %r9;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd5, %rd5, %p2, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    add.f32 %f0, %f0, %f1;
    add.f32 %f2, %f2, %f3;
    sub.f32 %f0, %f0, %f2;
    st.global.f32 [%rd3], %f0;
    ret;)",
                ".shared .align 1024 .b8 tile[8192];\n"),
          {6, 1, 1},
          {128, 1, 1},
          {1, 1, 1}};
}

/// From its fifth CTA on, lanes read what a sibling may still be writing.
Case race() {
  Case given = plain();
  given.name = "race";
  const std::string barrier = "bar.sync 0;";
  given.text.replace(given.text.find(barrier), barrier.size(),
                     "setp.lt.u32 %p5, %r2, 5;\n@%p5 bar.sync 0;");
  return given;
}

const std::vector<Case>& all_cases() {
  static const std::vector<Case> kCases{plain(),    atomics(),  chain(),
                                        clusters(), matrices(), race()};
  return kCases;
}

class Threads : public testing::TestWithParam<std::size_t> {};

TEST_P(Threads, DoNotChangeAnything) {
  const Case& given = all_cases()[GetParam()];
  for (const Completion completion :
       {Completion::Earliest, Completion::Latest, Completion::Random}) {
    for (const bool races : {false, true}) {
      Options options;
      options.completion = completion;
      options.races = races;
      options.seed = 11;
      options.numerics = races ? Numerics::Exact : Numerics::Fast;
      options.threads = 1;
      const Outcome alone = run(given, options);
      EXPECT_EQ(alone.failure.empty(), given.name != "race") << alone.failure;
      for (const unsigned threads : {2U, 4U}) {
        options.threads = threads;
        const Outcome together = run(given, options);
        EXPECT_EQ(together.failure, alone.failure);
        EXPECT_TRUE(together == alone) << given.name << " on " << threads;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Threads, testing::Range<std::size_t>(0, 6),
                         [](const auto& given) { return all_cases()[given.param].name; });

TEST(Threads, TheLowestFailingClusterIsReported) {
  Options options;
  options.races = true;
  options.threads = 4;
  const Outcome outcome = run(race(), options);
  EXPECT_THAT(outcome.failure, HasSubstr("block (5,0,0)"));
}

TEST(Threads, RacesOnGlobalMemoryAreNoneOfTheEmulator) {
  // Every CTA stores the same word, bytes, vectors and a row, and reads them: all weak.
  const Case given{"weak",
                   entry(kSelf + R"(
    mul.wide.u32 %rd5, %r1, 4;
    add.u64 %rd5, %rd0, %rd5;
    mov.u32 %r5, 0;
  AGAIN:
    st.global.u32 [%rd5], 7;
    ld.global.u32 %r6, [%rd5];
    st.global.u8 [%rd0+256], 7;
    ld.global.u16 %r6, [%rd0+256];
    st.global.v4.u32 [%rd0+272], {%r1, %r1, %r1, %r1};
    ld.global.v2.u32 {%r7, %r8}, [%rd0+272];
    st.global.u64 [%rd0+288], %rd1;
    ld.global.u32 %r9, [%rd0+292];
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p1, %r5, 200;
    @%p1 bra AGAIN;
    ret;)"),
                   {8, 1, 1},
                   {64, 1, 1},
                   {1, 1, 1}};
  Options options;
  options.threads = 4;
  options.races = false;
  const Outcome outcome = run(given, options);
  EXPECT_EQ(outcome.failure, "");
  EXPECT_TRUE(std::all_of(outcome.words.begin(), outcome.words.begin() + 64,
                          [](std::uint32_t word) { return word == 7; }));
}

TEST(Threads, OneProgramRunsOnSeveralThreadsAtOnce) {
  const Case given = clusters();
  Bench bench(given.text);
  bench.launch.grid = given.grid;
  bench.launch.block = given.block;
  bench.launch.cluster = given.cluster;
  bench.launch.options.threads = 2;
  std::vector<std::uint32_t> in(512, 5);
  bench.buffer(1, in, false);
  std::vector<std::vector<std::uint32_t>> outs(3, std::vector<std::uint32_t>(512));
  std::vector<std::thread> callers;
  for (auto& out : outs) {
    bench.buffer(0, out);
    callers.emplace_back(
        [&bench, launch = bench.launch] { EXPECT_TRUE(emu::run(bench.program(), launch).ok()); });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(outs[0][33], 5U + 1U);
  EXPECT_EQ(outs[0], outs[1]);
  EXPECT_EQ(outs[0], outs[2]);
}

}  // namespace
}  // namespace pyptx::emu
