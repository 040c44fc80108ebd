// SPDX-License-Identifier: Apache-2.0
//
// Divergence, reconvergence, warp-wide instructions, exits, spinning lanes.
#include <numeric>

#include "bench.h"

namespace pyptx::emu {
namespace {

using testing::HasSubstr;

/// Prologue: %rd1 = p0 + 4 * tid, %r1 = tid.
const std::string kAddress = R"(
  ld.param.u64 %rd0, [p0];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd1, %r1, 4;
  add.s64 %rd1, %rd0, %rd1;
)";

TEST(Control, EveryLaneTakesItsOwnNumberOfIterations) {
  Bench bench(entry(kAddress + R"(
    mov.u32 %r2, 0;
    mov.u32 %r3, 0;
  LOOP:
    setp.ge.u32 %p1, %r3, %r1;
    @%p1 bra DONE;
    add.u32 %r2, %r2, %r3;
    add.u32 %r3, %r3, 1;
    bra LOOP;
  DONE:
    activemask.b32 %r4;
    st.global.u32 [%rd1], %r2;
    setp.ne.u32 %p2, %r4, 0xFFFFFFFF;
    @%p2 trap;
    ret;)"));
  std::vector<std::uint32_t> out(64, ~0U);
  bench.buffer(0, out);
  bench.launch.block = {64, 1, 1};
  bench.run();
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i * (i - 1) / 2) << i;
}

TEST(Control, NestedBranchesAndEarlyExit) {
  Bench bench(entry(kAddress + R"(
    and.b32 %r2, %r1, 1;
    setp.eq.u32 %p1, %r2, 0;
    setp.lt.u32 %p2, %r1, 16;
    mov.u32 %r3, 1;
    @%p1 bra EVEN;
    setp.gt.u32 %p3, %r1, 20;
    @%p3 exit;
    mov.u32 %r3, 2;
    bra JOIN;
  EVEN:
    @%p2 bra JOIN;
    mov.u32 %r3, 3;
  JOIN:
    st.global.u32 [%rd1], %r3;
    ret;)"));
  std::vector<std::uint32_t> out(32, 77);
  bench.buffer(0, out);
  bench.launch.block = {32, 1, 1};
  bench.run();
  for (std::uint32_t i = 0; i < 32; ++i) {
    const std::uint32_t expected = i % 2 == 0 ? (i < 16 ? 1U : 3U) : i > 20 ? 77U : 2U;
    EXPECT_EQ(out[i], expected) << i;
  }
}

TEST(Control, ALaneThatSpinsDoesNotStarveItsSibling) {
  // Lane 0 waits in a loop, at a lower address, for what lane 1 stores.
  Bench bench(entry(kAddress + R"(
    st.shared.u32 [flag], 0;
    bar.sync 0;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra OTHERS;
  SPIN:
    ld.volatile.shared.u32 %r2, [flag];
    setp.ne.u32 %p2, %r2, 42;
    @%p2 bra SPIN;
    st.global.u32 [%rd1], %r2;
    ret;
  OTHERS:
    st.volatile.shared.u32 [flag], 42;
    ret;)",
                    ".shared .align 4 .b32 flag;\n"));
  std::vector<std::uint32_t> out(32, 0);
  bench.buffer(0, out);
  bench.launch.block = {32, 1, 1};
  bench.run();
  EXPECT_EQ(out[0], 42U);
}

TEST(Control, ShuffleModesAndVotes) {
  Bench bench(entry(kAddress + R"(
    shfl.sync.down.b32 %r2|%p1, %r1, 4, 0x1F, 0xFFFFFFFF;
    shfl.sync.up.b32 %r3, %r1, 1, 0, 0xFFFFFFFF;
    shfl.sync.bfly.b32 %r4, %r1, 16, 0x1F, 0xFFFFFFFF;
    shfl.sync.idx.b32 %r5, %r1, 3, 0x181F, 0xFFFFFFFF;
    vote.sync.ballot.b32 %r6, %p1, 0xFFFFFFFF;
    elect.sync %r7|%p2, 0xFFFFFFFF;
    selp.u32 %r8, 1, 0, %p2;
    st.global.u32 [%rd1], %r2;
    st.global.u32 [%rd1+128], %r3;
    st.global.u32 [%rd1+256], %r4;
    st.global.u32 [%rd1+384], %r5;
    st.global.u32 [%rd1+512], %r6;
    st.global.u32 [%rd1+640], %r8;
    ret;)"));
  std::vector<std::uint32_t> out(192);
  bench.buffer(0, out);
  bench.launch.block = {32, 1, 1};
  bench.run();
  for (std::uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(out[i], i < 28 ? i + 4 : i);
    EXPECT_EQ(out[32 + i], i == 0 ? 0 : i - 1);
    EXPECT_EQ(out[64 + i], i ^ 16U);
    EXPECT_EQ(out[96 + i], (i & 0x18U) | 3U);
    EXPECT_EQ(out[128 + i], 0x0FFFFFFFU);
    EXPECT_EQ(out[160 + i], i == 0 ? 1U : 0U);
  }
}

TEST(Control, ShuffleWaitsForDivergedLanes) {
  Bench bench(entry(kAddress + R"(
    mov.u32 %r2, %r1;
    setp.lt.u32 %p1, %r1, 7;
    @!%p1 bra GO;
    add.u32 %r2, %r2, 100;
  GO:
    shfl.sync.bfly.b32 %r3, %r2, 1, 0x1F, 0xFFFFFFFF;
    st.global.u32 [%rd1], %r3;
    ret;)"));
  std::vector<std::uint32_t> out(32);
  bench.buffer(0, out);
  bench.launch.block = {32, 1, 1};
  bench.run();
  for (std::uint32_t i = 0; i < 32; ++i) {
    const std::uint32_t from = i ^ 1U;
    EXPECT_EQ(out[i], from < 7 ? from + 100 : from) << i;
  }
}

TEST(Control, TrapNamesTheThread) {
  Bench bench(entry(kAddress + "setp.eq.u32 %p1, %r1, 37;\n@%p1 trap;\nret;"));
  bench.launch.block = {64, 1, 1};
  std::vector<std::uint32_t> out(64);
  bench.buffer(0, out);
  const std::string text = bench.failure();
  EXPECT_THAT(text, HasSubstr("PTX0912"));
  EXPECT_THAT(text, HasSubstr("thread (37,0,0)"));
  EXPECT_THAT(text, HasSubstr("test.ptx"));
}

TEST(Control, SharedMemoryAndBarrierReverseABlock) {
  Bench bench(entry(kAddress + R"(
    mov.u32 %r2, buf;
    shl.b32 %r3, %r1, 2;
    add.u32 %r4, %r2, %r3;
    st.shared.u32 [%r4], %r1;
    bar.sync 0;
    mov.u32 %r5, 508;
    sub.u32 %r5, %r5, %r3;
    add.u32 %r5, %r2, %r5;
    ld.shared.u32 %r6, [%r5];
    st.global.u32 [%rd1], %r6;
    ret;)",
                    ".shared .align 16 .b8 buf[512];\n"));
  std::vector<std::uint32_t> out(128);
  bench.buffer(0, out);
  bench.launch.block = {128, 1, 1};
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    std::fill(out.begin(), out.end(), 0);
    bench.launch.options.seed = seed;
    bench.run();
    for (std::uint32_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], 127 - i);
  }
}

TEST(Control, ReportCountsWarpInstructions) {
  Bench bench(entry(kAddress + "st.global.u32 [%rd1], %r1;\nret;"));
  std::vector<std::uint32_t> out(96);
  bench.buffer(0, out);
  bench.launch.block = {96, 1, 1};
  bench.run();
  EXPECT_EQ(bench.last.warp_instructions, 3U * 6U);
  std::uint64_t stores = 0;
  for (const auto& row : bench.last.rows) {
    if (row.spelling == "st.global.u32") stores = row.warp_instructions;
  }
  EXPECT_EQ(stores, 3U);
}

TEST(Control, GlobalAtomicsCountEveryThreadAndGiveTheSameSumOnAnyThreadCount) {
  Bench bench(entry(R"(
    ld.param.u64 %rd0, [p0];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %r3, %r2, 64, %r1;
    cvt.rn.f32.u32 %f1, %r3;
    rcp.approx.f32 %f1, %f1;
    setp.eq.u32 %p1, %r3, 0;
    @%p1 mov.f32 %f1, 0f3DCCCCCD;
    red.global.add.f32 [%rd0], %f1;
    atom.global.add.u32 %r4, [%rd0+4], 1;
    ret;)"));
  std::uint32_t first = 0;
  for (const unsigned threads : {1U, 2U, 4U}) {
    std::vector<std::uint32_t> out(2, 0);
    Bench& b = bench;
    b.launch.buffers.clear();
    b.buffer(0, out);
    b.launch.grid = {40, 1, 1};
    b.launch.block = {64, 1, 1};
    b.launch.options.threads = threads;
    b.run();
    EXPECT_EQ(out[1], 40U * 64U);
    if (threads == 1) first = out[0];
    EXPECT_EQ(out[0], first);
  }
}

}  // namespace
}  // namespace pyptx::emu
