// SPDX-License-Identifier: Apache-2.0
//
// What an assembler and a disassembler say, read.
#include "pyptx/interop/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pyptx::interop {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr const char* kLog =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
    "ptxas warning : Potential Performance Loss: wgmma.mma_async instructions are serialized\n"
    "    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n"
    "ptxas info    : Used 40 registers, used 1 barriers, 8 bytes cumulative stack size, "
    "1024 bytes smem\n";

TEST(Report, AnAssemblersLogIsRead) {
  const AssemblerCosts costs = AssemblerCosts::of(kLog);
  EXPECT_EQ(costs.registers, 40U);
  EXPECT_EQ(costs.spill_stores, 12U);
  EXPECT_EQ(costs.spill_loads, 16U);
  EXPECT_EQ(costs.stack, 8U);
  EXPECT_EQ(costs.barriers, 1U);
  EXPECT_EQ(costs.static_shared, 1024U);
  ASSERT_EQ(costs.advice.size(), 1U);
  EXPECT_THAT(costs.advice[0], testing::HasSubstr("serialized"));
  EXPECT_EQ(AssemblerCosts::of("nothing was said").registers, std::nullopt);
}

TEST(Report, ADisassemblyIsCountedByInstructionAndByLine) {
  Report report;
  report.lines = {{"a.cpp", 3, 2, 0}, {"a.cpp", 9, 1, 0}};
  report.count(
      "        /*0000*/                   MOV R1, c[0x0][0x28] ;\n"
      "\t//## File \"a.cpp\", line 3\n"
      "        /*0010*/              @!P0 FADD R1, R2, R3 ;   /* 0x0000000302017221 */\n"
      "                                                       /* 0x000fca0000000000 */\n"
      "        /*0020*/              @UP1 FADD R1, R2, R3 ;\n"
      "\t//## File \"b.cpp\", line 4 inlined at \"a.cpp\"\n"
      "        /*0030*/                   EXIT ;\n"
      ".L_x_0:\n");
  EXPECT_THAT(report.instructions, ElementsAre(Pair("FADD", 2), Pair("MOV", 1), Pair("EXIT", 1)));
  ASSERT_EQ(report.lines.size(), 3U);
  EXPECT_EQ(report.lines[0].ptx, 2U);
  EXPECT_EQ(report.lines[0].sass, 2U);
  EXPECT_EQ(report.lines[1].sass, 0U);
  EXPECT_EQ(report.lines[2].file, "b.cpp");
  EXPECT_EQ(report.lines[2].sass, 1U);
}

TEST(Report, IsShownAsText) {
  Report report;
  report.kernel = "k";
  report.target = "sm_90a";
  report.compiler = "ptxas 13.4";
  report.costs = AssemblerCosts::of(kLog);
  report.threads = 128;
  report.occupancy = driver::occupancy("sm_90a", 40, 1024, 128, 1);
  report.instructions = {{"FADD", 2}, {"EXIT", 1}};
  report.lines = {{"a.cpp", 3, 2, 2}};
  EXPECT_EQ(report.text(),
            "k for sm_90a, by ptxas 13.4\n"
            "  registers      40 per thread, 128 threads per CTA\n"
            "  spills         12 B stored, 16 B loaded; stack 8 B\n"
            "  shared memory  1024 B static, 0 B dynamic\n"
            "  occupancy      12 CTAs, 48 of 64 warps per multiprocessor, limited by registers\n"
            "  SASS           3 instructions: FADD 2, EXIT 1\n"
            "  ptxas warning : Potential Performance Loss: wgmma.mma_async instructions are "
            "serialized\n"
            "  a.cpp:3: 2 PTX, 2 SASS\n");
}

}  // namespace
}  // namespace pyptx::interop
