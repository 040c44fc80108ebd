// SPDX-License-Identifier: Apache-2.0
//
// Branches through tables, printf, and the calls that are refused.
#include <sstream>

#include "bench.h"
#include "sem/control/format.h"

namespace pyptx::emu {
namespace {

using ::testing::HasSubstr;

const char* const kTable =
    "ld.param.u64 %rd0, [p0];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %rd1, %r0, 4;\n"
    "add.u64 %rd0, %rd0, %rd1;\nrem.u32 %r1, %r0, 5;\nmov.u32 %r2, 100;\n"
    "setp.ne.u32 %p0, %r0, 31;\nT: .branchtargets A, B, C, A;\n@%p0 brx.idx %r1, T;\n"
    "bra END;\nA:\nadd.u32 %r2, %r0, 1000;\nbra END;\nB:\nadd.u32 %r2, %r0, 2000;\nbra END;\n"
    "C:\nadd.u32 %r2, %r0, 3000;\nEND:\nst.global.u32 [%rd0], %r2;\nret;";

TEST(BranchTable, LanesGoWhereTheirIndexSays) {
  std::string text = kTable;
  text.replace(text.find("%r0, 5"), 6, "%r0, 4");
  Bench bench(entry(text));
  std::vector<std::uint32_t> out(32);
  bench.buffer(0, out);
  bench.launch.block = {32, 1, 1};
  bench.launch.options.counters = true;
  bench.run();
  const std::uint32_t base[] = {1000, 2000, 3000, 1000};
  for (std::uint32_t i = 0; i < 31; ++i) EXPECT_EQ(out[i], base[i % 4] + i) << i;
  EXPECT_EQ(out[31], 100U);
  // All lanes meet again behind the branch.
  for (const auto& row : bench.last.counters->instructions) {
    if (row.name == "st.global.u32") {
      EXPECT_EQ(row.cost.executed, 1U);
    }
  }
}

TEST(BranchTable, AnIndexBeyondItIsAnError) {
  Bench bench(entry(kTable));
  std::vector<std::uint32_t> out(32);
  bench.buffer(0, out);
  bench.launch.block = {32, 1, 1};
  EXPECT_THAT(bench.failure(), HasSubstr("index 4 is beyond its 4 targets"));
}

class ListMemory final : public FormatMemory {
 public:
  std::vector<std::byte> bytes = std::vector<std::byte>(128);
  template <typename T>
  void put(std::size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
  bool read(u64 address, u32 size, u64& value) override {
    if (address + size > bytes.size()) return false;
    value = 0;
    std::memcpy(&value, bytes.data() + address, size);
    return true;
  }
  bool read_text(u64 address, std::string& text) override {
    text = address == 7 ? "word" : "?";
    return true;
  }
};

std::string formatted(std::string_view format, ListMemory& memory) {
  Formatted out;
  EXPECT_TRUE(format_values(format, 0, memory, out));
  return out.text + "#" + std::to_string(out.count);
}

TEST(Format, ConversionsTakeAlignedValues) {
  ListMemory memory;
  memory.put<std::int32_t>(0, -5);
  memory.put<double>(8, 1.5);
  memory.put<std::uint32_t>(16, 255);
  memory.put<std::int64_t>(24, -1);
  memory.put<std::uint64_t>(32, 7);
  EXPECT_EQ(formatted("%d %f 0x%04x %lld %s 100%%\n", memory),
            "-5 1.500000 0x00ff -1 word 100%\n#5");
  EXPECT_EQ(formatted("%c|%5.1f|", memory), std::string("\xfb") + "|  1.5|#2");
  EXPECT_EQ(formatted("plain", memory), "plain#0");
  EXPECT_EQ(formatted("%y %", memory), "%y %#0");
}

TEST(Format, AStarIsAValue) {
  ListMemory memory;
  memory.put<std::int32_t>(0, 6);
  memory.put<std::int32_t>(4, 42);
  EXPECT_EQ(formatted("%*d", memory), "    42#2");
}

TEST(Format, ReadingBeyondTheBufferEnds) {
  ListMemory memory;
  Formatted out;
  EXPECT_FALSE(format_values("%lld", 124, memory, out));
}

const char* const kPrint =
    "mov.u32 %r0, %tid.x;\nmov.u32 %r9, %ctaid.x;\nmov.u64 %rd0, buffer;\n"
    "st.local.u32 [%rd0], %r9;\nst.local.u32 [%rd0+4], %r0;\n"
    "cvta.local.u64 %rd1, %rd0;\nmov.u64 %rd2, text;\ncvta.global.u64 %rd2, %rd2;\n"
    "{\n.param .b64 a0;\n.param .b64 a1;\n.param .b32 result;\nst.param.b64 [a0], %rd2;\n"
    "st.param.b64 [a1], %rd1;\ncall.uni (result), vprintf, (a0, a1);\n"
    "ld.param.b32 %r1, [result];\n}\nld.param.u64 %rd3, [p0];\nst.global.u32 [%rd3], %r1;\nret;";

std::string with_print(const std::string& body) {
  std::string text = entry(body, ".local .align 8 .b8 buffer[8];\n");
  text.insert(text.find(".visible"),
              ".global .align 1 .b8 text[7] = {37, 100, 58, 37, 100, 10, 0};\n"
              ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
              ".extern .func (.param .b64 r) malloc(.param .b64 a);\n");
  return text;
}

TEST(Print, WritesInTheOrderOfClustersAndReturnsTheCount) {
  for (const unsigned threads : {1U, 2U}) {
    Bench bench(with_print(kPrint));
    std::vector<std::uint32_t> out(1);
    bench.buffer(0, out);
    bench.launch.block = {2, 1, 1};
    bench.launch.grid = {3, 1, 1};
    bench.launch.options.threads = threads;
    std::ostringstream text;
    bench.launch.options.output = &text;
    bench.run();
    EXPECT_EQ(text.str(), "0:0\n0:1\n1:0\n1:1\n2:0\n2:1\n");
    EXPECT_EQ(out[0], 2U);
  }
}

TEST(Calls, WhatIsNotThereIsRefusedByName) {
  Bench heap(
      with_print("{\n.param .b64 a0;\n.param .b64 r0;\nst.param.b64 [a0], 8;\n"
                 "call.uni (r0), malloc, (a0);\n}\nret;"));
  EXPECT_THAT(heap.problem(), HasSubstr("the emulator has no heap for 'malloc'"));
  std::string text = entry("call.uni twice;\nret;");
  text.insert(text.find(".visible"), ".func twice()\n{\nret;\n}\n");
  Bench function(text);
  EXPECT_THAT(function.problem(), HasSubstr("it calls 'twice', and functions are not emulated"));
}

}  // namespace
}  // namespace pyptx::emu
