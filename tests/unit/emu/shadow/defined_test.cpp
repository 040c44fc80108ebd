// SPDX-License-Identifier: Apache-2.0
//
// Memory and registers that nobody wrote: the map of shared memory, and what is said of kernels
// that use such values, with the race detector and without it.
#include "memory/defined_bytes.h"

#include "bench.h"

namespace pyptx::emu {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(DefinedBytes, BytesOneByOne) {
  DefinedBytes bytes;
  bytes.start(4096, false);
  EXPECT_FALSE(bytes.holds(8, 12));
  bytes.add(9, 11);
  EXPECT_TRUE(bytes.holds(9, 11));
  EXPECT_FALSE(bytes.holds(8, 11));
  EXPECT_EQ(bytes.missing(9, 12), 11U);
  EXPECT_EQ(bytes.undefined(8, 4), 0b1001U);
  bytes.remove(10, 11);
  EXPECT_EQ(bytes.undefined(8, 4), 0b1101U);
  EXPECT_TRUE(bytes.holds(4, 4));
}

TEST(DefinedBytes, RangesAcrossWordsOfTheMap) {
  DefinedBytes bytes;
  bytes.start(4096, false);
  bytes.add(101, 701);
  for (std::uint32_t first = 0; first < 800; first += 3) {
    for (std::uint32_t end = first + 1; end <= 800; end += 36) {
      EXPECT_EQ(bytes.holds(first, end), first >= 101 && end <= 701) << first << " " << end;
    }
    EXPECT_EQ(bytes.undefined(first, 32) == 0, first >= 101 && first + 32 <= 701) << first;
  }
  EXPECT_TRUE(bytes.holds_chunk(112));
  EXPECT_FALSE(bytes.holds_chunk(96));
}

TEST(DefinedBytes, ALearnedRunIsDefinedUntilOneOfItsBytesIsNot) {
  DefinedBytes bytes;
  bytes.start(4096, false);
  EXPECT_FALSE(bytes.covers(0, 4));
  bytes.add(200, 1500);
  bytes.learn(1000);
  EXPECT_TRUE(bytes.covers(256, 1472));  // whole words of the map
  EXPECT_FALSE(bytes.covers(200, 1472));
  EXPECT_FALSE(bytes.covers(256, 1500));
  EXPECT_EQ(bytes.open_bytes(), 1472U - 256U);
  EXPECT_TRUE(bytes.holds(200, 1500));
  bytes.remove(300, 301);
  EXPECT_FALSE(bytes.covers(512, 516));
  EXPECT_FALSE(bytes.holds(256, 320));
}

TEST(DefinedBytes, NoRunIsOpenWhereAccessesAreJudged) {
  DefinedBytes bytes;
  bytes.start(4096, true);
  bytes.add(0, 1024);
  bytes.learn(512);
  EXPECT_TRUE(bytes.covers(0, 1024));
  EXPECT_EQ(bytes.open_bytes(), 0U);
}

/// Lane t fills word t of a tile of 64 words, then the body runs, then %r5 is stored to global
/// memory; %r2 is the word's address.
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
                        body + "\nmul.wide.u32 %rd5, %r1, 4;\nadd.u64 %rd5, %rd0, %rd5;\n" +
                        "st.global.u32 [%rd5], %r5;\nret;",
                    ".shared .align 16 .b8 tile[256];\n.shared .align 8 .b64 bar;\n"
                    ".local .align 8 .b8 room[16];\n"));
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
  EXPECT_EQ(run("xor.b32 %r5, %r2, 28;\nld.shared.u32 %r5, [%r5];"), "");
  EXPECT_EQ(run("mov.u32 %r5, 0;\n@%p1 ld.shared.u32 %r5, [%r2+96];"), "");
  EXPECT_EQ(run("cvt.u64.u32 %rd1, %r2;\ncvta.shared.u64 %rd1, %rd1;\nld.u32 %r5, [%rd1];"), "");
  EXPECT_EQ(run("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r4];"), "");
  EXPECT_EQ(run("atom.shared.add.u32 %r5, [%r2], 1;\nbar.sync 0;\nld.shared.u32 %r5, [%r2];"), "");
  EXPECT_EQ(
      run("atom.shared.exch.b32 %r6, [%r2+128], 1;\nbar.sync 0;\nld.shared.u32 %r5, [%r2+128];"),
      "");
}

TEST_P(Written, WhatNobodyWroteIsReportedWhereItIsStored) {
  const auto told = AllOf(HasSubstr("PTX0921"), HasSubstr("st.global.u32"));
  EXPECT_THAT(run("ld.shared.u32 %r5, [%r2+4];"), AllOf(told, HasSubstr("thread (31,0,0)")));
  EXPECT_THAT(run("ld.shared.u8 %r5, [%r2+129];"), AllOf(told, HasSubstr("thread (0,0,0)")));
  EXPECT_THAT(run("ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r4+16];"), told);
  EXPECT_THAT(run("xor.b32 %r5, %r2, 128;\nld.shared.u32 %r5, [%r5];"), told);
  EXPECT_THAT(run("mov.u32 %r5, 0;\n@%p1 ld.shared.u32 %r5, [%r2+100];"),
              AllOf(told, HasSubstr("thread (7,0,0)"), HasSubstr("read here from shared memory")));
  EXPECT_THAT(run("cvt.u64.u32 %rd1, %r2;\ncvta.shared.u64 %rd1, %rd1;\nld.u32 %r5, [%rd1+4];"),
              told);
  EXPECT_THAT(run("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r4+16];"), told);
  EXPECT_THAT(run("ld.shared.u32 %r5, [%r2];", ""), told);
}

TEST_P(Written, WhatIsThrownAwayIsNot) {
  EXPECT_EQ(run("ld.shared.u32 %r6, [%r2+4];\nmov.u32 %r5, 0;"), "");
  EXPECT_EQ(run("ld.shared.u32 %r6, [%r2+128];\nmul.lo.u32 %r5, %r6, 0;"), "");
  EXPECT_EQ(run("ld.shared.u32 %r6, [%r2+128];\nxor.b32 %r5, %r6, %r6;"), "");
  EXPECT_EQ(run("ld.shared.u32 %r6, [%r2+128];\nst.shared.u32 [%r2], %r6;\nmov.u32 %r5, 1;"), "");
  EXPECT_EQ(run("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [%r4+16];\n"
                "selp.u32 %r5, %r6, 1, %p1;"),
            "");
}

TEST_P(Written, AnAtomicNeedsAValue) {
  EXPECT_THAT(run("red.shared.add.u32 [%r2+128], 1;\nmov.u32 %r5, 0;"),
              AllOf(HasSubstr("PTX0921"), HasSubstr("atomic at")));
}

TEST_P(Written, LocalMemoryStartsWithoutAValue) {
  const std::string address = "mov.u64 %rd1, room;\n";
  EXPECT_EQ(run(address + "st.local.u16 [%rd1], 1;\nst.local.u16 [%rd1+2], 1;\n"
                          "ld.local.u32 %r5, [%rd1];"),
            "");
  EXPECT_THAT(run(address + "st.local.u16 [%rd1], 1;\nld.local.u32 %r5, [%rd1];"),
              AllOf(HasSubstr("PTX0921"), HasSubstr("local memory at 0x2")));
  // What has no value is stored there and read back: it was born in the register.
  EXPECT_THAT(run(address + "st.local.u32 [%rd1], %r40;\nld.local.u32 %r5, [%rd1];"),
              AllOf(HasSubstr("PTX0921"), HasSubstr("'%r40' is read here")));
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

TEST(Written, AWgmmaCarriesWhatItsTilesLack) {
  // Both descriptors name 128-byte rows of one tile, A its first 8 kibibytes. Threads below `end`
  // store an element of their warp's sixteen rows.
  const auto run =
      [](std::uint32_t filled, std::uint32_t end, bool races) {
        Bench bench(entry(R"(
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd0, [p0];
    mov.u32 %r9, tile;
    mov.u32 %r3, 0;
    shl.b32 %r2, %r1, 4;
    add.u32 %r2, %r9, %r2;
  FILL:
    st.shared.v4.u32 [%r2], {%r3, %r3, %r3, %r3};
    add.u32 %r2, %r2, 2048;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, )" + std::to_string(filled) +
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
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd2, %rd0, %rd2;
    setp.lt.u32 %p3, %r1, )" + std::to_string(end) +
                              R"(;
    @%p3 st.global.f32 [%rd2], %f0;
    ret;)",
                          ".shared .align 1024 .b8 tile[8192];\n"));
        std::vector<float> out(128);
        bench.buffer(0, out);
        bench.launch.block = {128, 1, 1};
        bench.launch.options.races = races;
        return bench.failure();
      };
  for (const bool races : {false, true}) {
    EXPECT_EQ(run(4, 128, races), "");
    EXPECT_EQ(run(3, 96, races), "");  // the last warp's rows are thrown away
    EXPECT_THAT(run(3, 128, races), AllOf(HasSubstr("PTX0921"), HasSubstr("thread (96,0,0)"),
                                          HasSubstr("(tile+6144)")));
  }
}

/// A kernel of one warp whose %r5 is stored by each lane; "" or what is said of it.
std::string of_registers(const std::string& body) {
  Bench bench(entry("mov.u32 %r1, %tid.x;\nld.param.u64 %rd0, [p0];\nsetp.lt.u32 %p1, %r1, 8;\n" +
                    body + "\nmul.wide.u32 %rd5, %r1, 4;\nadd.u64 %rd5, %rd0, %rd5;\n" +
                    "st.global.u32 [%rd5], %r5;\nret;"));
  std::vector<std::uint32_t> data(64);
  bench.buffer(0, data);
  bench.launch.block = {32, 1, 1};
  return bench.failure();
}

TEST(Undefined, HowInstructionsCarry) {
  struct Case {
    const char* body;
    bool is_told;
  };
  // %r40 and %rd20 have no value, nor has %p9.
  const Case cases[] = {
      {"add.u32 %r5, %r40, 1;", true},
      {"and.b32 %r5, %r40, 0;", false},
      {"or.b32 %r5, %r40, -1;", false},
      {"and.b32 %r5, %r40, 1;", true},
      {"shl.b32 %r5, %r40, 32;", false},
      {"shl.b32 %r5, %r40, 31;", true},
      {"lop3.b32 %r5, %r40, %r1, %r1, 0xCC;", false},
      {"lop3.b32 %r5, %r40, %r1, %r1, 0x96;", true},
      {"prmt.b32 %r5, %r40, %r1, 0x7654;", false},
      {"prmt.b32 %r5, %r40, %r1, 0x7650;", true},
      {"bfi.b32 %r5, %r1, %r40, 0, 32;", false},
      {"bfi.b32 %r5, %r1, %r40, 0, 31;", true},
      {"min.u32 %r5, %r40, 0;", false},
      {"min.s32 %r5, %r40, 0;", true},
      {"selp.b32 %r5, %r1, %r40, 1;", false},
      {"selp.b32 %r5, %r1, %r1, %p9;", false},
      {"selp.b32 %r5, 1, 2, %p9;", true},
      {"setp.eq.u32 %p8, %r40, 77;\nselp.b32 %r5, 1, 2, %p8;", true},
      {"setp.ge.u32 %p8, %r40, 0;\nselp.b32 %r5, 1, 2, %p8;", false},
      {"setp.gt.f32 %p8, %f40, 0f3F800000;\nselp.b32 %r5, 1, 2, %p8;", true},
      {"and.pred %p8, %p9, 0;\nselp.b32 %r5, 1, 2, %p8;", false},
      {"cvt.u64.u32 %rd1, %r1;\nmov.b64 {%r5, %r6}, %rd1;", false},
      {"mov.b64 %rd1, {%r1, %r40};\nmov.b64 {%r5, %r6}, %rd1;", false},
      {"mov.b64 %rd1, {%r1, %r40};\nmov.b64 {%r6, %r5}, %rd1;", true},
      {"mov.b32 %r6, {%h1, %h2};\nmov.u32 %r5, 0;", false},
      {"add.f32 %f1, %f40, %f40;\nmov.b32 %r5, %f1;", true},
      {"popc.b32 %r5, %r40;", true},
      {"cvt.u32.u8 %r5, %r40;", true},
      {"shfl.sync.idx.b32 %r5, %r1, %r40, 31, -1;", true},
      {"redux.sync.add.u32 %r5, %r40, -1;", true},
      {"@%p1 mov.u32 %r5, 1;", true},
      {"@%p1 mov.u32 %r5, 1;\n@!%p1 mov.u32 %r5, 2;", false},
      {"dp4a.u32.u32 %r5, %r40, 0, 3;", false},
  };
  for (const Case& one : cases) {
    const std::string said = of_registers(one.body);
    if (one.is_told) {
      EXPECT_THAT(said, HasSubstr("PTX0921")) << one.body;
    } else {
      EXPECT_EQ(said, "") << one.body;
    }
  }
}

TEST(Undefined, UsesAreReportedAtOnce) {
  const auto told = [](const std::string& body, const std::string& why) {
    EXPECT_THAT(of_registers("mov.u32 %r5, 0;\n" + body),
                AllOf(HasSubstr("PTX0921"), HasSubstr(why)))
        << body;
  };
  told("@%p9 mov.u32 %r5, 1;", "its guard '%p9'");
  told("@!%p9 mov.u32 %r5, 1;", "its guard '%p9'");
  told("@%p9 bra END;\nEND:", "its guard '%p9'");
  told("ld.global.u32 %r6, [%rd20];", "its address '%rd20'");
  told("bar.sync %r40;", "its operand '%r40'");
  told("bar.warp.sync %r40;", "its operand '%r40'");
  told("shfl.sync.idx.b32 %r6, %r1, 0, 31, %r40;", "its operand '%r40'");
  told("red.global.add.u32 [%rd0], %r40;", "its operand '%r40'");
  EXPECT_EQ(of_registers("mov.u32 %r5, 0;\n@%p1 bra SKIP;\nmov.u32 %r40, 1;\nSKIP:\n"
                         "@!%p1 add.u32 %r5, %r40, 1;"),
            "");
}

TEST(Undefined, NewOutputs) {
  const auto run = [](const std::string& body, bool has_value, Report& report) {
    Bench bench(
        entry("mov.u32 %r1, %tid.x;\nld.param.u64 %rd0, [p0];\nmul.wide.u32 %rd5, %r1, 4;\n"
              "add.u64 %rd5, %rd0, %rd5;\n" +
              body + "\nret;"));
    std::vector<std::uint32_t> data(64);
    bench.buffer(0, data);
    bench.launch.buffers[0].has_value = has_value;
    bench.launch.buffers[0].element_bytes = 4;
    bench.launch.block = {32, 1, 1};
    std::string said = bench.failure();
    report = bench.last;
    return said;
  };
  Report report;
  EXPECT_EQ(run("st.global.u32 [%rd5], %r1;", true, report), "");
  EXPECT_TRUE(report.warnings.empty());
  EXPECT_EQ(run("st.global.u32 [%rd5], %r1;", false, report), "");
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_EQ(
      report.warnings[0].message(),
      "32 of 64 elements of buffer 0 have no value when the kernel ends; the first is element 32");
  EXPECT_EQ(run("st.global.u16 [%rd5], 1;\nst.global.u32 [%rd5+128], %r1;", false, report), "");
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_THAT(report.warnings[0].message(), HasSubstr("32 of 64"));
  EXPECT_EQ(run("st.global.v2.u32 [%rd5], {%r1, %r1};", false, report).find("PTX0905"), 6U);
  EXPECT_THAT(run("red.global.add.u32 [%rd5], 1;", false, report),
              AllOf(HasSubstr("PTX0921"), HasSubstr("element 0 of buffer 0")));
  EXPECT_EQ(run("ld.global.u32 %r5, [%rd5];", false, report), "");
  EXPECT_THAT(run("ld.global.u32 %r5, [%rd5];\nst.global.u32 [%rd5+128], %r5;", false, report),
              AllOf(HasSubstr("PTX0921"), HasSubstr("global memory")));
}

}  // namespace
}  // namespace pyptx::emu
