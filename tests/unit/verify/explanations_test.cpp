// SPDX-License-Identifier: Apache-2.0
//
// The examples of `pyptx explain` say the truth: the wrong one gives the code it is shown for, the
// right one assembles.
#include <gtest/gtest.h>

#include "judged.h"
#include "ptxas.h"
#include "pyptx/diag/explain.h"

namespace pyptx::verify {
namespace {

bool is_ptx(diag::Example example) {
  return example == diag::Example::Module || example == diag::Example::Items ||
         example == diag::Example::Body;
}

TEST(Explanations, TheWrongExampleGivesTheCodeAndTheRightOneDoesNot) {
  for (const diag::Kind kind : diag::all_kinds()) {
    const diag::Explanation& page = diag::explanation(kind);
    if (!is_ptx(page.example)) continue;
    const std::string_view code = diag::info(kind).code;
    const Judged wrong = judge_text(whole_module(page.wrong, page.example));
    EXPECT_TRUE(wrong.has(kind)) << code << " is not given for\n"
                                 << page.wrong << "\nbut\n"
                                 << wrong.summary();
    const Judged right = judge_text(whole_module(page.right, page.example));
    EXPECT_FALSE(right.has(kind)) << code << " is given for\n" << page.right;
    EXPECT_FALSE(right.has_errors()) << code << ": the right example\n"
                                     << page.right << "\n"
                                     << right.summary();
  }
}

TEST(Explanations, PtxasTakesTheRightExamplesAndRefusesTheWrongOnes) {
  for (const diag::Kind kind : diag::all_kinds()) {
    const diag::Explanation& page = diag::explanation(kind);
    if (!is_ptx(page.example)) continue;
    const std::string_view code = diag::info(kind).code;
    const auto right = judge_text(whole_module(page.right, page.example));
    const std::string virtual_target =
        "compute_" + right.module->target.text().substr(std::string_view("sm_").size());
    const auto taken = ask_ptxas(whole_module(page.right, page.example), virtual_target);
    if (!taken || taken->messages.find("Unsupported .version") != std::string::npos) {
      GTEST_SKIP() << "no ptxas for PTX ISA 9.4 here";
    }
    EXPECT_EQ(taken->messages, "") << code << "\n" << page.right;
    // ptxas takes the low 64 bits of a longer integer, which is never what was meant.
    if (kind == diag::Kind::IntegerTooLarge) continue;
    if (diag::info(kind).severity != diag::Severity::Error) continue;
    // Sizes are judged where code is made.
    const std::string target =
        kind == diag::Kind::TargetLimit ? right.module->target.text() : virtual_target;
    const auto refused = ask_ptxas(whole_module(page.wrong, page.example), target);
    EXPECT_NE(refused->messages, "") << code << ": ptxas takes\n" << page.wrong;
  }
}

}  // namespace
}  // namespace pyptx::verify
