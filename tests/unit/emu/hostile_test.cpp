// SPDX-License-Identifier: Apache-2.0
//
// Texts that would make a careless emulator read or write outside its memory, each of them legal
// enough to be read. Worth most under the sanitizers.
#include <sstream>

#include "bench.h"
#include "race/clock.h"
#include "sem/control/format.h"

namespace pyptx::emu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string blackwell(const std::string& body, const std::string& declarations = {}) {
  std::string text = entry(body, declarations);
  text.replace(text.find("sm_90a"), 6, "sm_100a");
  return text;
}

TEST(Hostile, AResultThatOverwritesTheBarriersNumber) {
  for (const bool races : {false, true}) {
    Bench bench(
        entry("mov.u32 %r1, 1;\nsetp.eq.u32 %p1, %r1, 1;\n"
              "barrier.red.popc.aligned.u32 %r1, %r1, 1024, %p1;\nret;"));
    bench.launch.block = {1024, 1, 1};
    bench.launch.options.races = races;
    EXPECT_EQ(bench.failure(), "");
  }
}

// What a parser that recovers may have kept.
TEST(Hostile, WhatNobodyUnderstandsDoesNotRun) {
  const auto refusal = [](const std::string& text) {
    syntax::ParseOptions options;
    options.recover = true;
    const auto program = decode(syntax::parse_all(text, "odd.ptx", options).module, "");
    return program ? std::string("runs") : std::string(program.error().code());
  };
  EXPECT_EQ(refusal(entry("mov.u32 %r1, 1;\nret;")), "runs");
  EXPECT_EQ(refusal(entry("mov.u32 %nowhere, 1;\nret;")), "PTX0103");
  EXPECT_EQ(refusal(entry(".reg .b32 x, x;\nret;")), "PTX0104");
  EXPECT_EQ(refusal(entry("frobnicate %r1;\nret;")), "PTX0201");
  EXPECT_EQ(refusal(entry("mov.u33 %r1, 1;\nret;")), "PTX0202");
  EXPECT_EQ(refusal(entry("mov.u32 %r1 1;\nret;")), "PTX0902");
  EXPECT_EQ(refusal(entry("mov.u32 `%r1, 1;\nret;")), "PTX0902");
  EXPECT_EQ(refusal(entry("ret;") + ".global .b33 x;\n"), "PTX0902");
  EXPECT_EQ(refusal(entry("ret;") + "`\n"), "PTX0902");
  std::string old = entry("ret;");
  EXPECT_EQ(refusal(old.replace(old.find("sm_90a"), 6, "sm_52")), "PTX0301");
}

TEST(Hostile, APairOfAnOddCluster) {
  const std::string body =
      "mov.u32 %r20, bar;\nmov.u32 %r21, tile;\nmov.u16 %h1, 4;\n"
      "mbarrier.init.shared::cta.b64 [%r20], 1;\nld.param.u64 %rd1, [p0];\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."
      "multicast::cluster.cta_group::2 [%r21], [%rd1, {%r1, %r1}], [%r22], %h1;\nret;";
  // The barrier of the last CTA's peer, which is not there.
  std::string text = "mov.u32 %r1, 0;\nmov.u32 %r22, bar;\nadd.u32 %r22, %r22, 0x1000000;\n" + body;
  Bench bench(blackwell(text, ".shared .align 1024 .b8 tile[4096];\n.shared .align 8 .b64 bar;\n"));
  ASSERT_EQ(bench.problem(), "");
  layout::TensorMap map;
  map.type = layout::MapType::U32;
  map.rank = 2;
  map.dims = {32, 32};
  map.strides = {128};
  map.box = {16, 16};
  std::vector<std::uint32_t> buffer(1024);
  alignas(64) static std::array<std::byte, 128> bytes;
  bytes = encode(map, reinterpret_cast<std::uint64_t>(buffer.data()));
  bench.launch.buffers = {{reinterpret_cast<std::uint64_t>(buffer.data()), 4096, true},
                          {reinterpret_cast<std::uint64_t>(bytes.data()), 128, false}};
  bench.value(0, reinterpret_cast<std::uint64_t>(bytes.data()));
  bench.launch.block = {1, 1, 1};
  for (const bool races : {false, true}) {
    bench.launch.options.races = races;
    bench.launch.grid = bench.launch.cluster = {3, 1, 1};
    EXPECT_THAT(bench.failure(), AllOf(HasSubstr("PTX0916"), HasSubstr("takes pairs of CTAs")));
  }
}

const char* const kPrintf =
    ".extern .func (.param .b32 r) vprintf (.param .TYPE a, .param .b64 b);\n"
    ".extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, "
    ".param .b64 e);\n";

std::string calls(const std::string& type, const std::string& body) {
  std::string prototypes = kPrintf;
  prototypes.replace(prototypes.find("TYPE"), 4, type);
  std::string text = entry(body);
  text.insert(text.find(".visible"), prototypes);
  return text;
}

TEST(Hostile, ArgumentsSmallerThanTheRunTimeReads) {
  EXPECT_THAT(Bench(calls("b8",
                          "{\n.param .b8 a0; .param .b64 a1; .param .b32 r0;\n"
                          "call.uni (r0), vprintf, (a0, a1);\n}\nret;"))
                  .problem(),
              AllOf(HasSubstr("PTX0902"), HasSubstr("argument 0 of 'vprintf' has 8 bytes")));
  EXPECT_THAT(Bench(calls("b64",
                          "{\n.param .b64 a0; .param .b64 a1; .param .b32 a2;\n"
                          ".param .b64 a3; .param .b8 a4;\n"
                          "call.uni __assertfail, (a0, a1, a2, a3, a4);\n}\nret;"))
                  .problem(),
              AllOf(HasSubstr("PTX0902"), HasSubstr("argument 4 of '__assertfail'")));
  std::string small = calls("b64",
                            "{\n.param .b64 a0; .param .b64 a1; .param .b8 r0;\n"
                            "call.uni (r0), vprintf, (a0, a1);\n}\nret;");
  small.replace(small.find(".param .b32 r)"), 14, ".param .b8 r)");
  EXPECT_THAT(Bench(small).problem(), AllOf(HasSubstr("PTX0902"), HasSubstr("'r0' has fewer")));
}

class Zeros final : public FormatMemory {
 public:
  bool read(u64, u32, u64& value) override {
    value = given;
    return true;
  }
  bool read_text(u64, std::string&) override { return true; }
  u64 given = 0;
};

TEST(Hostile, FormatsThatCostTooMuch) {
  Zeros memory;
  Formatted out;
  EXPECT_TRUE(format_values("%4096d%.4096f", 0, memory, out));
  for (const char* format : {"%4097d", "%2147483647d", "%.99999999999f", "%-5000s"}) {
    Formatted wide;
    EXPECT_FALSE(format_values(format, 0, memory, wide)) << format;
    EXPECT_THAT(wide.problem, HasSubstr("above 4096"));
  }
  memory.given = 0x80000000U;
  Formatted star;
  EXPECT_FALSE(format_values("%*d", 0, memory, star));
  std::string many;
  for (int i = 0; i < 33; ++i) many += "%d";
  memory.given = 0;
  Formatted values;
  EXPECT_FALSE(format_values(many, 0, memory, values));
  EXPECT_THAT(values.problem, HasSubstr("more than 32 values"));
}

TEST(Hostile, EndlessPrintingIsCut) {
  // 4096 letters of 32 lanes, 200 times: 26 MB, of which 16 MiB are kept.
  std::string text = calls(
      "b64",
      "mov.u32 %r1, 0;\nmov.u64 %rd1, format;\nLOOP:\n{\n.param .b64 a0; .param .b64 a1; .param "
      ".b32 r0;\nst.param.b64 [a0], %rd1;\nst.param.b64 [a1], %rd1;\ncall.uni (r0), vprintf, (a0, "
      "a1);\n}\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 200;\n@%p1 bra LOOP;\nret;");
  text.insert(text.find(".visible"),
              ".global .align 8 .b8 format[8] = {37, 52, 48, 57, 54, 100, 0, 0};\n");
  Bench bench(text);
  ASSERT_EQ(bench.problem(), "");
  bench.launch.block = {32, 1, 1};
  bench.launch.grid = {8, 1, 1};
  std::ostringstream out;
  bench.launch.options.output = &out;
  EXPECT_EQ(bench.failure(), "");
  constexpr std::size_t kPrinted = std::size_t{8} * 200 * 32 * 4096;
  constexpr std::size_t kKept = std::size_t{1} << 26;
  EXPECT_THAT(out.str().substr(kKept),
              "[" + std::to_string(kPrinted - kKept) + " more bytes were printed]\n");
}

TEST(Hostile, CopiesThatNobodyWaitsForDoNotPileUp) {
  const std::string shared = ".shared .align 16 .b8 tile[64];\n.shared .align 8 .b64 bar;\n";
  const std::string head = "mov.u32 %r1, tile;\nld.param.u64 %rd1, [p0];\nmov.u32 %r2, 0;\nLOOP:\n";
  const std::string tail = "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 40000;\n@%p1 bra LOOP;\n";
  for (const std::string& copy : {std::string("cp.async.ca.shared.global [%r1], [%rd1], 16;\n"),
                                  std::string("cp.async.bulk.global.shared::cta.bulk_group [%rd1], "
                                              "[%r1], 16;\n")}) {
    const std::string wait = copy.starts_with("cp.async.bulk")
                                 ? "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n"
                                 : "cp.async.wait_all;\n";
    Bench bench(entry(
        "st.shared.v4.u32 [tile], {%r0, %r0, %r0, %r0};\n" + head + copy + tail + wait + "ret;",
        shared));
    std::vector<std::uint32_t> buffer(16);
    bench.buffer(0, buffer);
    bench.launch.block = {1, 1, 1};
    bench.launch.options.completion = Completion::Latest;
    EXPECT_THAT(bench.failure(), ::testing::AnyOf("", HasSubstr("PTX09")));
  }
}

TEST(Hostile, AlignmentsOfTheStack) {
  for (const char* align : {"0", "3", "-8", "9223372036854775808"}) {
    EXPECT_THAT(Bench(entry("alloca.u64 %rd1, 16, " + std::string(align) + ";\nret;")).problem(),
                HasSubstr("PTX"))
        << align;
  }
}

TEST(Hostile, TensorMemoryBehindTheLastColumn) {
  const std::string body =
      "mov.u32 %r3, slot;\n"
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 32;\n"
      "ld.shared.u32 %r5, [%r3];\n"
      "tcgen05.st.sync.aligned.16x32bx2.x1.b32 [%r5], OFFSET, {%r5};\nret;";
  for (const char* offset : {"-1", "-4", "4294967295", "512", "32"}) {
    std::string text = body;
    text.replace(text.find("OFFSET"), 6, offset);
    Bench bench(blackwell(text, ".shared .align 4 .b32 slot;\n"));
    bench.launch.block = {128, 1, 1};
    EXPECT_THAT(bench.failure(), HasSubstr("PTX")) << offset;
  }
}

TEST(Hostile, RegistersOfDifferentWidths) {
  for (const char* body :
       {"ld.global.v2.u8 {%r1, %rd1}, [%rd2];", "ld.global.v2.u8 {%rd1, %r1}, [%rd2];",
        "st.global.v2.u8 [%rd2], {%r1, %rd1};", "mov.pred %p1, %tid.x;",
        "ld.global.u32 %r1, [%p1];", "ld.global.b128 %rd1, [%rd2];", "mov.b64 %rd1, %r1;"}) {
    EXPECT_NE(Bench(entry(std::string(body) + "\nret;")).problem(), "") << body;
  }
}

TEST(Hostile, SelectorsOfThreadsThatAQuadDoesNotHave) {
  const std::string start = "mma.sp.sync.aligned.";
  EXPECT_NE(Bench(entry("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32 "
                        "{%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, "
                        "{%f0,%f1,%f2,%f3}, %r8, 3;\nret;"))
                .problem(),
            "");
  EXPECT_NE(Bench(entry("wgmma.fence.sync.aligned;\n"
                        "wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3 "
                        "{%f0,%f1,%f2,%f3}, %rd0, %rd1, %r8, 3, 1, 1, 1;\nret;"))
                .problem(),
            "");
}

TEST(Hostile, MoreInitialValuesThanElements) {
  const std::string items =
      ".global .align 4 .b32 few[2] = {1, 2, 3, 4, 5, 6, 7, 8, 9};\n.visible .entry "
      "k()\n{\nret;\n}";
  Bench bench(".version 9.0\n.target sm_90a\n.address_size 64\n" + items);
  bench.failure();  // refused or cut; nothing is written behind it
}

TEST(Hostile, AnEmptyBodyIsTraced) {
  Bench bench(".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n}\n");
  std::ostringstream trace;
  bench.launch.options.trace = &trace;
  bench.launch.options.counters = true;
  EXPECT_EQ(bench.failure(), "");
  EXPECT_THAT(trace.str(), HasSubstr("traceEvents"));
}

TEST(Hostile, LocalMemoryOfOddSizes) {
  Bench bench(
      entry("mov.u64 %rd1, 1;\nst.local.u8 [a+4], %h1;\nst.local.u64 [b], %rd1;\n"
            "ld.local.u64 %rd2, [b];\nret;",
            ".local .align 1 .b8 a[5];\n.local .align 8 .b8 b[9];\n"));
  bench.launch.block = {33, 1, 1};
  EXPECT_THAT(bench.failure(), ::testing::Not(HasSubstr("PTX0905")));
}

TEST(Hostile, EpochsPastTheLastKeepTheirActor) {
  const Stamp stamp = Stamp::make(5, 1U << 30, 3, 15, 7);
  EXPECT_EQ(stamp.actor(), 5U);
  EXPECT_EQ(stamp.lane(), 3U);
  EXPECT_LT(stamp.epoch(), Stamp::kPending);
}

TEST(Hostile, GroupsBeyondMemory) {
  GroupEpochs epochs;
  for (u32 i = 0; i < 100000; ++i) epochs.push(i);
  EXPECT_EQ(epochs.size(), 100000U);
  EXPECT_EQ(epochs.of(99999), 99999U);
  EXPECT_EQ(epochs.of(96000), 96000U);
  EXPECT_GT(epochs.of(0), 90000U);
}

TEST(Hostile, AnInputThatIsAnOutputToo) {
  Bench bench(
      entry("ld.param.u64 %rd0, [p0];\nmov.u32 %r1, 7;\nst.global.u32 [%rd0], %r1;\n"
            "atom.global.add.u32 %r2, [%rd0], 1;\nret;"));
  std::vector<std::uint32_t> data(4);
  bench.buffer(0, data, false);
  bench.launch.block = {1, 1, 1};
  EXPECT_THAT(bench.failure(), HasSubstr("PTX0906"));
  EXPECT_EQ(data[0], 0U);
  bench.buffer(0, data, true);
  EXPECT_EQ(bench.failure(), "");
  EXPECT_EQ(data[0], 8U);
}

}  // namespace
}  // namespace pyptx::emu
