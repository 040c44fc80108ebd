// SPDX-License-Identifier: Apache-2.0
//
// Reads of shared memory that nobody wrote, with the race detector and without it, and the map that
// tells them where it is not there.
#include "written_words.h"

#include "bench.h"

namespace pyptx::emu {
namespace {

using testing::HasSubstr;

TEST(WrittenWords, AWordIsWrittenWhenAnyOfItsBytesIs) {
  WrittenWords words;
  words.start(4096);
  EXPECT_FALSE(words.holds(8, 12));
  words.add(9, 10);
  EXPECT_TRUE(words.holds(8, 12));
  EXPECT_TRUE(words.holds(11, 12));
  EXPECT_FALSE(words.holds(8, 13));
  EXPECT_FALSE(words.holds(4, 12));
  EXPECT_TRUE(words.holds(4, 4));
}

TEST(WrittenWords, RangesAcrossWordsOfTheMap) {
  WrittenWords words;
  words.start(4096);
  words.add(100, 700);
  for (std::uint32_t first = 0; first < 800; first += 4) {
    for (std::uint32_t end = first + 4; end <= 800; end += 36) {
      EXPECT_EQ(words.holds(first, end), first >= 100 && end <= 700) << first << " " << end;
    }
  }
  EXPECT_TRUE(words.holds_chunk(112));
  EXPECT_FALSE(words.holds_chunk(96));
}

TEST(WrittenWords, ALearnedRunIsWritten) {
  WrittenWords words;
  words.start(4096);
  EXPECT_FALSE(words.covers(0, 4));
  words.add(200, 1500);
  words.learn(1000);
  EXPECT_TRUE(words.covers(256, 1408));  // whole words of the map
  EXPECT_FALSE(words.covers(200, 1408));
  EXPECT_FALSE(words.covers(256, 1500));
  EXPECT_TRUE(words.holds(200, 1500));
}

TEST(WrittenWords, WhereItIsNotKeptEverythingIsWritten) {
  WrittenWords words;
  words.add(0, 100);
  EXPECT_TRUE(words.holds(0, 4096));
  EXPECT_TRUE(words.holds_chunk(64));
}

/// Lane t fills word t of a tile of 64 words, then the body runs; %r2 is its word's address.
std::string failure(const std::string& body, bool races, const std::string& fill) {
  Bench bench(entry(R"(
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd0, [p0];
    mov.u32 %r9, tile;
    shl.b32 %r3, %r1, 2;
    add.u32 %r2, %r9, %r3;
    shl.b32 %r4, %r1, 4;
    and.b32 %r4, %r4, 0x70;
    add.u32 %r4, %r9, %r4;
    setp.lt.u32 %p1, %r1, 8;
)" + fill + "\nbar.sync 0;\n" +
                        body + "\nret;",
                    ".shared .align 16 .b8 tile[256];\n.shared .align 8 .b64 bar;\n"));
  std::vector<std::uint32_t> data(64);
  bench.buffer(0, data);
  bench.launch.block = {32, 1, 1};
  bench.launch.options.races = races;
  return bench.failure();
}

class Written : public testing::TestWithParam<bool> {
 protected:
  std::string run(const std::string& body,
                  const std::string& fill = "st.shared.u32 [%r2], %r1;") const {
    return failure(body, GetParam(), fill);
  }
};

TEST_P(Written, WhatWasWrittenMayBeRead) {
  EXPECT_EQ(run("ld.shared.u32 %r5, [%r2];"), "");
  EXPECT_EQ(run("ld.shared.u16 %r5, [%r2+2];"), "");
  EXPECT_EQ(run("ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r4];"), "");
  EXPECT_EQ(run("xor.b32 %r5, %r2, 28;\nld.shared.u32 %r6, [%r5];"), "");
  EXPECT_EQ(run("@%p1 ld.shared.u32 %r5, [%r2+96];"), "");
  EXPECT_EQ(run("cvt.u64.u32 %rd1, %r2;\ncvta.shared.u64 %rd1, %rd1;\nld.u32 %r5, [%rd1];"), "");
  EXPECT_EQ(run("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r4];"), "");
  EXPECT_EQ(
      run("atom.shared.add.u32 %r5, [%r2+128], 1;\nbar.sync 0;\nld.shared.u32 %r6, [%r2+128];"),
      "");
}

TEST_P(Written, WhatNobodyWroteIsReported) {
  const auto told = HasSubstr("PTX0921");
  EXPECT_THAT(run("ld.shared.u32 %r5, [%r2+4];"), AllOf(told, HasSubstr("thread (31,0,0)")));
  EXPECT_THAT(run("ld.shared.u8 %r5, [%r2+129];"), AllOf(told, HasSubstr("thread (0,0,0)")));
  EXPECT_THAT(run("ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r4+16];"), told);
  EXPECT_THAT(run("xor.b32 %r5, %r2, 128;\nld.shared.u32 %r6, [%r5];"), told);
  EXPECT_THAT(run("@%p1 ld.shared.u32 %r5, [%r2+100];"), AllOf(told, HasSubstr("thread (7,0,0)")));
  EXPECT_THAT(run("cvt.u64.u32 %rd1, %r2;\ncvta.shared.u64 %rd1, %rd1;\nld.u32 %r5, [%rd1+4];"),
              told);
  EXPECT_THAT(run("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r4+16];"), told);
  EXPECT_THAT(run("ld.shared.u32 %r5, [%r2];", ""), told);
}

TEST_P(Written, ACopyWritesWhenItLands) {
  const std::string copy =
      "@%p1 cp.async.ca.shared.global [%r4], [%rd0], 16;\ncp.async.commit_group;\n";
  const std::string wait = "cp.async.wait_group 0;\n";
  EXPECT_EQ(run("ld.shared.u32 %r5, [%r2];", copy + wait), "");
  EXPECT_THAT(run("ld.shared.u32 %r5, [%r2];", copy),
              HasSubstr(GetParam() ? "PTX0917" : "PTX0921"));
}

TEST_P(Written, ABulkCopyWritesWhenItLands) {
  const std::string copy = R"(
    mov.u32 %r10, bar;
    setp.eq.u32 %p2, %r1, 0;
    @%p2 mbarrier.init.shared::cta.b64 [%r10], 1;
    bar.sync 0;
    @%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r10], 128;
    @%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r9], [%rd0], 128, [%r10];
)";
  const std::string wait = R"(
  WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r10], 0;
    @!%p3 bra WAIT;
)";
  EXPECT_EQ(run("ld.shared.u32 %r5, [%r2];", copy + wait), "");
  EXPECT_THAT(run("ld.shared.u32 %r5, [%r2];" + wait, copy),
              HasSubstr(GetParam() ? "PTX0917" : "PTX0921"));
}

INSTANTIATE_TEST_SUITE_P(Checks, Written, testing::Bool(),
                         [](const auto& given) { return given.param ? "Races" : "Basic"; });

TEST(Written, AWgmmaReadsBothTilesWhole) {
  // Both descriptors name 128-byte rows of one tile, A its first 8 kibibytes.
  const auto run =
      [](std::uint32_t rows_written) {
        Bench bench(entry(R"(
    mov.u32 %r1, %tid.x;
    mov.u32 %r9, tile;
    mov.u32 %r3, 0;
    shl.b32 %r2, %r1, 4;
    add.u32 %r2, %r9, %r2;
  FILL:
    st.shared.v4.u32 [%r2], {%r3, %r3, %r3, %r3};
    add.u32 %r2, %r2, 2048;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, )" + std::to_string(rows_written) +
                              R"(;
    @%p1 bra FILL;
    fence.proxy.async;
    bar.sync 0;
    shr.u32 %r9, %r9, 4;
    cvt.u64.u32 %rd1, %r9;
    or.b64 %rd1, %rd1, 4611686293305294848;
    setp.ne.u32 %p2, %r9, %r9;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd1, %rd1, %p2, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    ret;)",
                          ".shared .align 1024 .b8 tile[8192];\n"));
        bench.launch.block = {128, 1, 1};
        return bench.failure();
      };
  EXPECT_EQ(run(4), "");
  EXPECT_THAT(run(3), AllOf(HasSubstr("PTX0921"), HasSubstr("in the A tile")));
}

}  // namespace
}  // namespace pyptx::emu
