// SPDX-License-Identifier: Apache-2.0
//
// Loads that leave no stamps until somebody writes: that a barrier of the whole CTA, and nothing
// less, lets them be forgotten. Rows of global memory that are one stamp: that they are told apart
// word by word where clusters meet.
#include "bench.h"

namespace pyptx::emu {
namespace {

/// Three warps and an array of 1024 words that is written and known; then `body`, with the warp's
/// number in %r1, the thread's in %r2 and the address of its word in %r3.
std::string in_block(const std::string& body) {
  Bench bench(
      entry("mov.u32 %r2, %tid.x;\nshr.u32 %r1, %r2, 5;\nmov.u32 %r4, tile;\n"
            "mad.lo.u32 %r3, %r2, 4, %r4;\nmov.u32 %r5, 0;\nfill:\n"
            "mad.lo.u32 %r6, %r5, 384, %r3;\nst.shared.u32 [%r6], %r2;\n"
            "add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, 10;\n@%p1 bra fill;\n"
            "setp.eq.u32 %p2, %r1, 0;\nsetp.eq.u32 %p3, %r1, 1;\n"
            "setp.eq.u32 %p4, %r1, 2;\nbar.sync 0;\n" +
                body + "ret;",
            ".shared .align 16 .b32 tile[1024];\n"));
  bench.launch.block = {96, 1, 1};
  bench.launch.options.races = true;
  return bench.failure();
}

/// Warp 0 loads its words, in a row or every other one twice.
const std::string kRow = "@%p2 ld.shared.u32 %r10, [%r3];\n";
const std::string kScattered =
    "and.b32 %r11, %r2, 30;\nmad.lo.u32 %r11, %r11, 4, %r4;\n@%p2 ld.shared.u32 %r10, [%r11];\n";
/// Warp 2 stores to the same ones.
const std::string kStore =
    "and.b32 %r12, %r2, 31;\nmad.lo.u32 %r12, %r12, 4, %r4;\n@%p4 st.shared.u32 [%r12], 7;\n";

TEST(DeferredLoads, AreKnownBehindABarrierOfAll) {
  for (const std::string& load : {kRow, kScattered}) {
    EXPECT_EQ(in_block(load + "bar.sync 0;\n" + kStore), "");
    EXPECT_EQ(in_block(load + "bar.sync 3, 96;\n" + kStore), "");
  }
}

TEST(DeferredLoads, AreReportedWithoutOne) {
  for (const std::string& load : {kRow, kScattered}) {
    EXPECT_THAT(in_block(load + kStore), ::testing::HasSubstr("PTX0920"));
    EXPECT_THAT(in_block(kStore + load), ::testing::HasSubstr("PTX0920"));
    // Warps 0 and 1 meet, warp 2 does not.
    EXPECT_THAT(in_block(load + "@!%p4 bar.sync 1, 64;\n" + kStore),
                ::testing::HasSubstr("PTX0920"));
    // The barrier comes first.
    EXPECT_THAT(in_block("bar.sync 0;\n" + load + kStore), ::testing::HasSubstr("PTX0920"));
  }
}

TEST(DeferredLoads, AreOrderedByABarrierOfTheTwo) {
  EXPECT_EQ(in_block(kRow + "@!%p3 bar.sync 1, 64;\n" + kStore), "");
  EXPECT_EQ(in_block(kRow + "@%p2 bar.arrive 1, 64;\n@%p4 bar.sync 1, 64;\n" + kStore), "");
  // A load behind the arrival is not among them.
  EXPECT_THAT(in_block("@%p2 bar.arrive 1, 64;\n" + kRow + "@%p4 bar.sync 1, 64;\n" + kStore),
              ::testing::HasSubstr("PTX0920"));
}

TEST(DeferredLoads, OfAWarpThatHasLeftAreNotForgotten) {
  EXPECT_THAT(in_block(kRow + "@%p2 ret;\nbar.sync 0;\n" + kStore),
              ::testing::HasSubstr("PTX0920"));
}

TEST(DeferredLoads, OfMoreThanOneLoopAreKept) {
  // More than a log holds, of changing words; the first are those that warp 2 writes.
  const std::string many =
      "mov.u32 %r5, 0;\nagain:\nmad.lo.u32 %r6, %r5, 8, %r3;\n@%p2 ld.shared.u32 %r10, [%r6];\n"
      "add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, 300;\n@%p1 bra again;\n";
  EXPECT_THAT(in_block(many + kStore), ::testing::HasSubstr("PTX0920"));
  EXPECT_EQ(in_block(many + "bar.sync 0;\n" + kStore), "");
}

TEST(DeferredLoads, OfOtherLanesOfTheWarpAreKept) {
  // Lane i loads what lane 31 - i stores next.
  const std::string swap =
      "and.b32 %r12, %r2, 31;\nxor.b32 %r12, %r12, 31;\nmad.lo.u32 %r12, %r12, 4, %r4;\n"
      "@%p2 st.shared.u32 [%r12], 7;\n";
  EXPECT_THAT(in_block(kRow + swap), ::testing::HasSubstr("PTX0920"));
  EXPECT_EQ(in_block(kRow + "bar.warp.sync 0xFFFFFFFF;\n" + swap), "");
}

/// CTA i of `ctas` stores a row of 32 words from word `first` + i * `step` on.
std::string rows(unsigned ctas, unsigned first, unsigned step) {
  Bench bench(
      entry("ld.param.u64 %rd1, [p0];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\n"
            "mad.lo.u32 %r3, %r1, " +
            std::to_string(step) + ", " + std::to_string(first) +
            ";\nadd.u32 %r3, %r3, %r2;\nmul.wide.u32 %rd2, %r3, 4;\n"
            "add.u64 %rd2, %rd1, %rd2;\nst.global.u32 [%rd2], %r1;\n"
            "ld.global.u32 %r4, [%rd2];\nst.global.u32 [%rd2], %r4;\nret;"));
  std::vector<std::uint32_t> data(8192);
  bench.buffer(0, data);
  bench.launch.grid = {ctas, 1, 1};
  bench.launch.block = {32, 1, 1};
  bench.launch.options.races = true;
  return bench.failure();
}

TEST(RowsOfGlobalMemory, AreToldApartByWords) {
  for (unsigned first : {0U, 1U, 4U, 30U, 127U}) {
    EXPECT_EQ(rows(100, first, 32), "");
    EXPECT_EQ(rows(100, first, 77), "");
    EXPECT_THAT(rows(100, first, 31), ::testing::HasSubstr("block (1,0,0)"));
    EXPECT_THAT(rows(2, first, 1), ::testing::HasSubstr("PTX0920"));
  }
}

}  // namespace
}  // namespace pyptx::emu
