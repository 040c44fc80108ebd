// SPDX-License-Identifier: Apache-2.0
//
// The assembler accepts what is printed.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ptxas.h"
#include "pyptx/diag/render.h"
#include "pyptx/syntax/parser.h"
#include "pyptx/syntax/printer.h"
#include "samples.h"

namespace pyptx::syntax {
namespace {

class Ptxas : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    if (!ask_ptxas("", "sm_90a")) GTEST_SKIP() << "no ptxas";
  }
  static Assembled assemble(const std::string& text) { return *ask_ptxas(text, "sm_90a"); }
};

TEST_P(Ptxas, MakesTheSameCodeOfTheSampleAndItsPrint) {
  // Line tables count the lines of the PTX text, which printing changes.
  std::string text(GetParam());
  const std::string_view line = "\t.loc 1 10 5\n";
  if (const std::size_t at = text.find(line); at != std::string::npos) text.erase(at, line.size());
  const Assembled before = assemble(text);
  ASSERT_EQ(before.messages, "");
  const ParseOutcome outcome = parse_all(text);
  ASSERT_TRUE(outcome.ok()) << diag::render(outcome.diagnostics, &outcome.module->locations);
  const Assembled after = assemble(print(*outcome.module));
  ASSERT_EQ(after.messages, "");
  EXPECT_FALSE(before.cubin.empty());
  EXPECT_TRUE(before.cubin == after.cubin);
}

TEST_P(Ptxas, RefusesADamagedSample) {
  std::string text(GetParam());
  text.insert(text.rfind("ret;"), "bar.sync 99;\n\t");
  EXPECT_NE(assemble(text).messages, "");
}

INSTANTIATE_TEST_SUITE_P(Samples, Ptxas, testing::ValuesIn(samples::kAll), samples::name_of);

}  // namespace
}  // namespace pyptx::syntax
