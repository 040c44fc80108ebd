// SPDX-License-Identifier: Apache-2.0
//
// Every kind has its page. That its examples say the truth is checked where text can be judged
// (tests/unit/verify/explanations_test.cpp).
#include "pyptx/diag/explain.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

namespace pyptx::diag {
namespace {

TEST(Explain, EveryKindHasAWholePage) {
  std::set<std::string_view> titles;
  for (const Kind kind : all_kinds()) {
    const Explanation& page = explanation(kind);
    EXPECT_FALSE(page.title.empty()) << info(kind).code << " has no explanation";
    EXPECT_FALSE(page.meaning.empty()) << info(kind).code;
    EXPECT_FALSE(page.remedy.empty()) << info(kind).code;
    EXPECT_FALSE(page.wrong.empty()) << info(kind).code;
    EXPECT_FALSE(page.right.empty()) << info(kind).code;
    EXPECT_NE(page.wrong, page.right) << info(kind).code;
    EXPECT_TRUE(titles.insert(page.title).second) << "two pages say " << page.title;
  }
}

TEST(Explain, APage) {
  EXPECT_EQ(explain(Kind::OperandCount),
            "error[PTX0204] Too many or too few operands\n"
            "  \"'{0}' takes {1} operands, got {2}\"\n"
            "\n"
            "The spelling is right; its forms take another number of operands.\n"
            "\n"
            "Wrong:\n"
            "    add.s32 %r1, %r2;\n"
            "\n"
            "Right:\n"
            "    add.s32 %r1, %r2, %r3;\n"
            "\n"
            "What to do: Give the operands of the form.\n");
}

TEST(Explain, LongParagraphsAreWrapped) {
  const std::string page = explain(Kind::DuplicateName);
  std::string_view rest = page;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    EXPECT_LE(end, 100U) << rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
}

}  // namespace
}  // namespace pyptx::diag
