// SPDX-License-Identifier: Apache-2.0
#include "pyptx/isa/form_info.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace pyptx::isa {
namespace {

const Form& form_with(std::string_view syntax) {
  const auto found = std::ranges::find(all_forms(), syntax, &Form::syntax);
  EXPECT_NE(found, all_forms().end()) << syntax;
  return *found;
}

TEST(FormInfo, EveryFormHasItsFacts) {
  ASSERT_GT(all_forms().size(), 100U);
  for (const Form& form : all_forms()) {
    EXPECT_EQ(&form, &all_forms()[form.id]);
    EXPECT_FALSE(form.manual.empty()) << form.syntax;
    EXPECT_EQ(form.sem == Sem{}, !form.reason.empty()) << form.syntax;
    const auto all = examples(form);
    EXPECT_TRUE(std::ranges::any_of(all, [](const auto& e) { return e.code.empty(); }));
    EXPECT_TRUE(std::ranges::any_of(all, [](const auto& e) { return !e.code.empty(); }));
  }
}

TEST(FormInfo, FlowIsStated) {
  EXPECT_EQ(form_with("bra{.uni} tgt").flow, Flow::Jump);
  EXPECT_EQ(form_with("ret{.uni}").flow, Flow::End);
  EXPECT_EQ(form_with("exit").flow, Flow::End);
  EXPECT_EQ(form_with("activemask.b32 d").flow, Flow::Next);
}

TEST(FormInfo, SlotsListTheirValues) {
  const Form& elect = form_with("elect.sync d|p, membermask");
  EXPECT_EQ(needs(elect).version, (Version{8, 0}));
  ASSERT_EQ(slots(elect).size(), 1U);
  EXPECT_EQ(slots(elect)[0].name, "sync");
  EXPECT_FALSE(slots(elect)[0].optional);
  EXPECT_EQ(slots(elect)[0].values[0].text, "sync");
  EXPECT_EQ(&forms_of(*find_opcode("elect"))[0], &elect);
}

}  // namespace
}  // namespace pyptx::isa
