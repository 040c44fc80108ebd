// SPDX-License-Identifier: Apache-2.0
#include "pyptx/syntax/edits.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace pyptx::syntax {
namespace {

// Statements of the body: a pool, mov, mov with a comment inside, a comment, ret.
constexpr std::string_view kBody = R"(.version 8.0
.target sm_90
.address_size 64
.entry k()
{
	.reg .b32 %r<4>;
	mov.b32 %r0,  1;
	mov.b32 /* two */ %r1, 2;
	// the end
	ret;
}
)";

NewInstruction made(std::string_view spelling) { return {*isa::spell(spelling), {}, {}, false}; }

std::string between(std::string_view text) {
  const std::size_t first = text.find("<4>;") + 5;
  return std::string(text.substr(first, text.find('}') - first));
}

TEST(Edits, AreMadeAtTheStatementsAsTheyWere) {
  Document document = Document::read(kBody);
  const auto& body = document.module().functions[0]->body;
  ASSERT_EQ(body.size(), 6U);  // the comment inside of a statement stands before it
  Edits edits(0);
  EXPECT_TRUE(edits.empty());
  edits.erase(1);
  edits.insert(5, made("bar.warp.sync"));
  edits.insert(5, made("trap"));
  edits.insert(1, made("membar.gl"));
  edits.replace(5, made("exit"));
  edits.insert(6, made("brkpt"));
  edits.apply(document);
  EXPECT_EQ(between(print(document)),
            "\tmembar.gl;\n\tmov.b32 /* two */ %r1, 2;\n\t// the end\n\tbar.warp.sync;\n\ttrap;\n"
            "\texit;\n\tbrkpt;\n");
}

TEST(Edits, WhatIsErasedTakesTheCommentInItAlong) {
  Document document = Document::read(kBody);
  Edits edits(0);
  edits.insert(3, made("trap"));
  edits.erase(3);
  edits.erase(1);
  edits.apply(document);
  EXPECT_EQ(between(print(document)), "\ttrap;\n\t// the end\n\tret;\n");
}

// The operands of what is put in need not live until it is.
TEST(Edits, KeepTheirOperands) {
  Document document = Document::read(kBody);
  Edits edits(0);
  {
    const std::vector<ir::Operand> operands{ir::Operand::reg(ir::RegisterId{0}),
                                            ir::Operand::integer(7)};
    edits.replace(1, {*isa::spell("mov.b32"), operands, {}, false});
  }
  edits.apply(document);
  EXPECT_NE(print(document).find("\tmov.b32 %r0, 7;\n"), std::string::npos) << print(document);
}

TEST(Edits, OfNothingLeaveEveryByte) {
  Document document = Document::read(kBody);
  Edits(0).apply(document);
  EXPECT_EQ(print(document), kBody);
}

}  // namespace
}  // namespace pyptx::syntax
