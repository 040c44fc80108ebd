// SPDX-License-Identifier: Apache-2.0
//
// What the lanes of a warp do together: shfl, vote, elect, ldmatrix, stmatrix, barriers of partial
// warps; against references written from the PTX ISA.
#include <bit>

#include "bench.h"

namespace pyptx::emu {
namespace {

using testing::HasSubstr;

/// Runs `body` on one block and gives the words it wrote to p0 (address in %rd0, lane in %r1,
/// the lane's own slot of `words` words in %rd1).
std::vector<std::uint32_t> lanes(const std::string& body, std::uint32_t words = 1,
                                 std::uint32_t threads = 32, const std::string& shared = {}) {
  Bench bench(entry(R"(
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd0, [p0];
    mul.wide.u32 %rd1, %r1, )" +
                        std::to_string(4 * words) + ";\nadd.u64 %rd1, %rd0, %rd1;\n" + body,
                    shared));
  std::vector<std::uint32_t> out(std::size_t{threads} * words, 0xEEEEEEEEU);
  bench.buffer(0, out);
  bench.launch.block = {threads, 1, 1};
  bench.run();
  return out;
}

/// The pseudocode of shfl.sync: source lane, predicate.
std::pair<std::uint32_t, bool> shuffled(const std::string& mode, std::uint32_t lane,
                                        std::uint32_t b, std::uint32_t c) {
  const std::int32_t bval = static_cast<std::int32_t>(b & 0x1F);
  const std::int32_t cval = static_cast<std::int32_t>(c & 0x1F);
  const std::int32_t segment = static_cast<std::int32_t>((c >> 8) & 0x1F);
  const std::int32_t here = static_cast<std::int32_t>(lane);
  const std::int32_t max_lane = (here & segment) | (cval & ~segment);
  const std::int32_t min_lane = here & segment;
  std::int32_t j = 0;
  bool p = false;
  if (mode == "up") {
    j = here - bval;
    p = j >= max_lane;
  } else if (mode == "down") {
    j = here + bval;
    p = j <= max_lane;
  } else if (mode == "bfly") {
    j = here ^ bval;
    p = j <= max_lane;
  } else {
    j = min_lane | (bval & ~segment);
    p = j <= max_lane;
  }
  return {static_cast<std::uint32_t>(p ? j : here), p};
}

TEST(Warp, ShuffleOfEveryModeDistanceAndSegment) {
  for (const std::string mode : {"up", "down", "bfly", "idx"}) {
    for (const std::uint32_t width : {32U, 16U, 8U, 2U}) {
      for (const std::uint32_t distance : {0U, 1U, 3U, 15U, 16U, 31U, 37U}) {
        const std::uint32_t c = (mode == "up" ? 0 : 31) | (32 - width) << 8;
        const std::vector<std::uint32_t> out =
            lanes("add.u32 %r2, %r1, 100;\nshfl.sync." + mode + ".b32 %r3|%p1, %r2, " +
                      std::to_string(distance) + ", " + std::to_string(c) +
                      ", -1;\nselp.u32 %r4, 1, 0, %p1;\nst.global.v2.u32 [%rd1], {%r3, %r4};\nret;",
                  2);
        for (std::uint32_t lane = 0; lane < 32; ++lane) {
          const auto [from, p] = shuffled(mode, lane, distance, c);
          EXPECT_EQ(out[2 * lane], from + 100) << mode << width << " " << distance << " " << lane;
          EXPECT_EQ(out[2 * lane + 1], p ? 1U : 0U) << mode << width << " " << distance << lane;
        }
      }
    }
  }
}

TEST(Warp, TilesOfAWarpVoteAtTheSameInstruction) {
  // Each half of the warp names its own member mask.
  const std::vector<std::uint32_t> out = lanes(R"(
    setp.lt.u32 %p1, %r1, 16;
    selp.b32 %r2, 0x0000FFFF, 0xFFFF0000, %p1;
    setp.lt.u32 %p2, %r1, 20;
    vote.sync.ballot.b32 %r3, %p2, %r2;
    vote.sync.all.pred %p3, %p2, %r2;
    vote.sync.any.pred %p4, !%p2, %r2;
    vote.sync.uni.pred %p5, %p2, %r2;
    selp.u32 %r4, 1, 0, %p3;
    selp.u32 %r5, 2, 0, %p4;
    selp.u32 %r6, 4, 0, %p5;
    or.b32 %r4, %r4, %r5;
    or.b32 %r4, %r4, %r6;
    elect.sync %r7|%p6, %r2;
    selp.u32 %r8, 1, 0, %p6;
    st.global.v4.u32 [%rd1], {%r3, %r4, %r7, %r8};
    ret;)",
                                               4);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const bool is_low = lane < 16;
    EXPECT_EQ(out[4 * lane], is_low ? 0x0000FFFFU : 0x000F0000U) << lane;
    EXPECT_EQ(out[4 * lane + 1], is_low ? 5U : 2U) << lane;  // all, uni | any
    EXPECT_EQ(out[4 * lane + 2], is_low ? 0U : 16U) << lane;
    EXPECT_EQ(out[4 * lane + 3], lane % 16 == 0 ? 1U : 0U) << lane;
  }
}

TEST(Warp, DivergedLanesMeetAtAVote) {
  const std::vector<std::uint32_t> out = lanes(R"(
    and.b32 %r2, %r1, 3;
    setp.eq.u32 %p1, %r2, 1;
    @%p1 bra SIDE;
    vote.sync.ballot.b32 %r3, %p1, 0xDDDDDDDD;
    activemask.b32 %r4;
    bra OUT;
  SIDE:
    vote.sync.ballot.b32 %r3, %p1, 0x22222222;
    activemask.b32 %r4;
  OUT:
    st.global.v2.u32 [%rd1], {%r3, %r4};
    ret;)",
                                               2);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[2 * lane], lane % 4 == 1 ? 0x22222222U : 0U);
    EXPECT_EQ(out[2 * lane + 1], lane % 4 == 1 ? 0x22222222U : 0xDDDDDDDDU);
  }
}

/// Element (row, column) of matrix m as the tests store it: rows of 16 bytes.
std::uint32_t halfword(std::uint32_t m, std::uint32_t row, std::uint32_t column) {
  return m << 12 | row << 4 | column;
}

TEST(Warp, LoadAndStoreOfMatrices) {
  for (const std::uint32_t count : {1U, 2U, 4U}) {
    for (const bool is_transposed : {false, true}) {
      const std::string form = ".sync.aligned.m8n8.x" + std::to_string(count) +
                               (is_transposed ? ".trans" : "") + ".shared.b16 ";
      const std::string regs = count == 1   ? "{%r10}"
                               : count == 2 ? "{%r10, %r11}"
                                            : "{%r10, %r11, %r12, %r13}";
      // Row r of matrix m is row 8m + r of the tile; lane 8m + r names it. Lane l fills row l.
      std::string fill =
          "mov.u32 %r2, tile;\nshl.b32 %r3, %r1, 4;\nadd.u32 %r2, %r2, %r3;\n"
          "shr.u32 %r4, %r1, 3;\nshl.b32 %r4, %r4, 12;\nand.b32 %r5, %r1, 7;\n"
          "shl.b32 %r5, %r5, 4;\nor.b32 %r4, %r4, %r5;\n";
      for (std::uint32_t column = 0; column < 8; ++column) {
        fill += "or.b32 %r6, %r4, " + std::to_string(column) + ";\ncvt.u16.u32 %h1, %r6;\n" +
                "st.shared.u16 [%r2+" + std::to_string(2 * column) + "], %h1;\n";
      }
      const std::string shared = ".shared .align 16 .b8 tile[512];\n";
      const std::vector<std::uint32_t> loaded = lanes(
          fill +
              "bar.sync 0;\nmov.b32 %r10, 0;\nmov.b32 %r11, 0;\nmov.b32 %r12, 0;\n"
              "mov.b32 %r13, 0;\nldmatrix" +
              form + regs + ", [%r2];\nst.global.v4.u32 [%rd1], {%r10, %r11, %r12, %r13};\nret;",
          4, 32, shared);
      for (std::uint32_t lane = 0; lane < 32; ++lane) {
        for (std::uint32_t m = 0; m < 4; ++m) {
          const std::uint32_t major = lane / 4;
          const std::uint32_t minor = lane % 4 * 2;
          const std::uint32_t low =
              is_transposed ? halfword(m, minor, major) : halfword(m, major, minor);
          const std::uint32_t high =
              is_transposed ? halfword(m, minor + 1, major) : halfword(m, major, minor + 1);
          EXPECT_EQ(loaded[4 * lane + m], m < count ? low | high << 16 : 0U) << lane << " " << m;
        }
      }
      // Storing what was loaded into a second tile gives the first.
      const std::vector<std::uint32_t> stored =
          lanes(fill + "st.shared.v4.u32 [%r2+512], {%r1, %r1, %r1, %r1};\nbar.sync 0;\nldmatrix" +
                    form + regs + ", [%r2];\nstmatrix" + form + "[%r2+512], " + regs +
                    ";\nbar.sync 0;\nld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r2+512];\n"
                    "st.global.v4.u32 [%rd1], {%r10, %r11, %r12, %r13};\nret;",
                4, 32, ".shared .align 16 .b8 tile[1024];\n");
      for (std::uint32_t row = 0; row < 8 * count; ++row) {
        for (std::uint32_t i = 0; i < 4; ++i) {
          EXPECT_EQ(stored[4 * row + i], halfword(row / 8, row % 8, 2 * i) |
                                             halfword(row / 8, row % 8, 2 * i + 1) << 16);
        }
      }
    }
  }
}

TEST(Warp, AnUnalignedBarrierOfAPartialWarp) {
  for (const std::uint32_t threads : {5U, 32U, 40U}) {
    // Odd threads come from another branch; thread 3 has left.
    const std::vector<std::uint32_t> out = lanes(R"(
    mov.u32 %r2, tile;
    shl.b32 %r3, %r1, 2;
    add.u32 %r3, %r2, %r3;
    setp.eq.u32 %p1, %r1, 3;
    @%p1 ret;
    st.shared.u32 [%r3], %r1;
    and.b32 %r4, %r1, 1;
    setp.eq.u32 %p2, %r4, 1;
    @%p2 bra ODD;
    barrier.sync 0;
    bra OUT;
  ODD:
    barrier.sync 0;
  OUT:
    ld.shared.u32 %r5, [%r2+16];
    st.global.u32 [%rd1], %r5;
    ret;)",
                                                 1, threads, ".shared .align 16 .b8 tile[256];\n");
    for (std::uint32_t i = 0; i < threads; ++i) EXPECT_EQ(out[i], i == 3 ? 0xEEEEEEEEU : 4U);
  }
}

TEST(Warp, AClusterBarrierIsWaitedForOnce) {
  Bench bench(entry(R"(
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    barrier.cluster.wait.aligned;
    ret;)"));
  bench.launch.block = {64, 1, 1};
  EXPECT_THAT(bench.failure(), HasSubstr("has not arrived"));
  Bench twice(entry(R"(
    barrier.cluster.arrive.aligned;
    barrier.cluster.arrive.aligned;
    ret;)"));
  twice.launch.block = {32, 1, 1};
  EXPECT_THAT(twice.failure(), HasSubstr("arrives again"));
  Bench often(entry(R"(
    mov.u32 %r1, 0;
  LOOP:
    barrier.cluster.arrive;
    barrier.cluster.wait;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, 10;
    @%p1 bra LOOP;
    ret;)"));
  often.launch.grid = often.launch.cluster = {4, 1, 1};
  often.launch.block = {48, 1, 1};
  EXPECT_EQ(often.failure(), "");
}

}  // namespace
}  // namespace pyptx::emu
