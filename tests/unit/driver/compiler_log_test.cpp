// SPDX-License-Identifier: Apache-2.0
#include "compiler_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pyptx::driver {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

AssembleFailure read(std::string_view log) { return refusal("ptxas 13.4", "sm_90a", log); }

TEST(CompilerLog, QuotesEveryMessageWithItsLine) {
  const auto failure = read(
      "ptxas application ptx input, line 7; error   : Unknown modifier '.foo'\n"
      "ptxas application ptx input, line 9; error   : Unknown symbol '%rd9'\n"
      "ptxas application ptx input, line 9; warning : ignored\n"
      "ptxas fatal   : Ptx assembly aborted due to errors\n"
      "ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX (kernel.ptx)\n");
  EXPECT_EQ(failure.ptx_line, 7U);
  EXPECT_EQ(failure.diagnostic.code(), "PTX0602");
  EXPECT_EQ(failure.diagnostic.message(), "ptxas 13.4 refused the kernel: Unknown modifier '.foo'");
  EXPECT_THAT(failure.diagnostic->notes, ElementsAre("PTX line 7: Unknown modifier '.foo'",
                                                     "PTX line 9: Unknown symbol '%rd9'"));
  ASSERT_EQ(failure.messages.size(), 2U);
  EXPECT_EQ(failure.messages[1].ptx_line, 9U);
}

TEST(CompilerLog, AMessageWithoutALineIsStillQuoted) {
  const auto failure = read("ptxas fatal   : Memory allocation failure\n");
  EXPECT_EQ(failure.ptx_line, 0U);
  EXPECT_THAT(failure.diagnostic->notes, ElementsAre("Memory allocation failure"));
}

TEST(CompilerLog, KnowsACompilerThatIsTooOld) {
  const auto failure =
      read("ptxas k.ptx, line 1; fatal   : Unsupported .version 19.9; current version is '9.4'\n");
  EXPECT_EQ(failure.diagnostic.code(), "PTX0603");
  EXPECT_EQ(failure.diagnostic.message(),
            "the text says PTX ISA 19.9, ptxas 13.4 knows it up to 9.4");
  EXPECT_EQ(failure.ptx_line, 1U);
}

TEST(CompilerLog, KnowsTargetsAndOptions) {
  EXPECT_EQ(read("ptxas fatal   : Value 'sm_900' is not defined for option 'gpu-name'\n")
                .diagnostic.message(),
            "ptxas 13.4 cannot compile for target 'sm_90a'");
  EXPECT_EQ(read("ptxas a, line 2; fatal   : Unsupported .target 'sm_123'\n").diagnostic.message(),
            "ptxas 13.4 cannot compile for target 'sm_123'");
  EXPECT_EQ(read("ptxas fatal   : Unknown option '-nonsense'\n").diagnostic.message(),
            "ptxas 13.4 does not take the option '-nonsense'");
}

TEST(CompilerLog, ReadsAnyLog) {
  EXPECT_THAT(read("").diagnostic.message(), HasSubstr("it gave no reason"));
  EXPECT_THAT(read("Segmentation fault").diagnostic.message(), HasSubstr("Segmentation fault"));
  EXPECT_EQ(read("x, line ; error : a").ptx_line, 0U);
  EXPECT_EQ(read("x, line 99999999999; error : a").ptx_line, 0U);
  EXPECT_EQ(read("x, line 5").ptx_line, 0U);
  std::string many;
  for (int i = 0; i < 100; ++i) many += "ptxas a, line 4; error   : again\n";
  EXPECT_EQ(read(many).diagnostic->notes.size(), 21U);
  EXPECT_EQ(read(many).diagnostic->notes.back(), "and 80 more messages");
}

}  // namespace
}  // namespace pyptx::driver
