// SPDX-License-Identifier: Apache-2.0
//
// Any bytes give a document that prints them, and what could not be read is a part of it.
#include <gmock/gmock.h>

#include <random>
#include <string>
#include <vector>

#include "pyptx/text/text.h"

namespace pyptx::text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kText =
    ".version 8.0\n.target sm_90a\n.address_size 64\n"
    "// two kernels\n"
    ".visible .entry a(.param .u64 p)\n{\n\t.reg .b32 %r<4>;\n\tmov.u32 %r1, 1;\n\tret;\n}\n"
    ".visible .entry b()\n{\n\t.reg .b32 %r<4>;\n\tadd.u32 %r1, %r2, 3;\n\tret;\n}\n";

std::string changed(std::string_view what, std::string_view with, std::string text = kText) {
  return text.replace(text.find(what), what.size(), with);
}

std::vector<std::string> names(const syntax::Document& document) {
  std::vector<std::string> all;
  for (const ir::Item& item : document.module().items) {
    if (item.kind != ir::ItemKind::Function) continue;
    const ir::Module& module = document.module();
    all.emplace_back(module.text(module.functions[item.index]->name));
  }
  return all;
}

/// The texts of the parts that could not be read, those of functions included.
std::vector<std::string> errors(const syntax::Document& document) {
  std::vector<std::string> all;
  const auto add = [&](const auto& part) {
    using Kind = std::remove_cvref_t<decltype(part.kind)>;
    if (part.kind != Kind::Error && part.kind != Kind::Stray) return;
    const diag::TextRange range = document.range(part);
    all.emplace_back(document.text().substr(range.begin, range.end - range.begin));
  };
  for (const ir::Item& item : document.module().items) {
    add(item);
    if (item.kind != ir::ItemKind::Function) continue;
    for (const auto& statement : document.module().functions[item.index]->body) add(statement);
  }
  return all;
}

TEST(Recover, ABrokenHeaderLeavesTheRest) {
  const syntax::Document version = recover(changed(".version 8.0", ".versoin 8.0"));
  EXPECT_THAT(errors(version), ElementsAre(".versoin 8.0"));
  EXPECT_THAT(names(version), ElementsAre("a", "b"));
  EXPECT_EQ(version.module().target.text(), "sm_90a");
  EXPECT_EQ(version.diagnostics().size(), 1U);

  const syntax::Document target = recover(changed(".target sm_90a", ".target 90"));
  EXPECT_THAT(errors(target), ElementsAre(".target 90"));
  EXPECT_THAT(names(target), ElementsAre("a", "b"));
  EXPECT_EQ(target.module().version, (isa::Version{8, 0}));
  EXPECT_EQ(target.module().address_size, 64);

  const syntax::Document missing = recover(changed(".version 8.0\n.target sm_90a\n", ""));
  EXPECT_THAT(errors(missing), IsEmpty());
  EXPECT_THAT(names(missing), ElementsAre("a", "b"));
  EXPECT_EQ(missing.diagnostics().size(), 2U);
  // Whoever wants a legal text is told once that this is none.
  EXPECT_EQ(parse(missing.text()).diagnostics().size(), 1U);
}

TEST(Recover, AMissingBraceEndsWithTheNextFunction) {
  const syntax::Document document = recover(changed("ret;\n}\n", "ret;\n"));
  EXPECT_THAT(names(document), ElementsAre("a", "b"));
  ASSERT_EQ(document.diagnostics().size(), 1U);
  EXPECT_EQ(document.diagnostics()[0].code(), "PTX0106");
}

TEST(Recover, WhatCannotBeReadIsAPart) {
  EXPECT_THAT(errors(recover(changed("mov.u32 %r1, 1;", "mov.u32 %r1 1;"))),
              ElementsAre("mov.u32 %r1 1;"));
  EXPECT_THAT(errors(recover(changed("mov.u32 %r1, 1;", "mov.u32 \xff\xfe%r1, `1;"))),
              ElementsAre("\xff\xfe", "`"));
  EXPECT_THAT(errors(recover(changed("// two kernels", "\x01 .global .b33 x; \x02"))),
              ElementsAre("\x01", ".global .b33 x;", "\x02"));
  EXPECT_THAT(errors(recover("no PTX at all")), ElementsAre("no PTX at all"));
}

TEST(Recover, ARightTextReadsAsEver) {
  const syntax::Document document = recover(changed(".target", "/* sm_52 */ .target"));
  EXPECT_THAT(errors(document), IsEmpty());
  EXPECT_THAT(document.diagnostics(), IsEmpty());
  EXPECT_EQ(format(document), format(parse(document.text())));
}

TEST(Recover, ReadingGoesOnBehindAnyNumberOfErrors) {
  std::string text = kText;
  for (int i = 0; i < 500; ++i) text += ".global .b33 x;\n";
  text += ".visible .entry c() { ret; }\n";
  const syntax::Document document = recover(text);
  EXPECT_THAT(names(document), ElementsAre("a", "b", "c"));
  EXPECT_EQ(errors(document).size(), 500U);
  EXPECT_EQ(document.diagnostics().size(), 100U);
}

TEST(Recover, StrayBytesStayWithAnEditedPart) {
  syntax::Document document = recover(changed("mov.u32 %r1, 1;", "mov.u32 \xff%r1, 1;"));
  const auto& body = document.module().functions[0]->body;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i].kind == ir::StatementKind::Instruction) {
      document.set_operand(0, i, 1, ir::Operand::integer(2));
      break;
    }
  }
  EXPECT_NE(print(document).find("\xff mov.u32 %r1, 2;\n"), std::string::npos) << print(document);
}

TEST(Recover, AnyBytesComeBack) {
  std::mt19937 random(11);
  const auto below = [&](std::size_t end) { return random() % end; };
  for (int i = 0; i < 2000; ++i) {
    std::string text = kText;
    for (std::size_t changes = 1 + below(6); changes != 0; --changes) {
      const std::size_t at = below(text.size());
      switch (below(4)) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, below(40));
          break;
        case 2:
          text.insert(at, kText.substr(below(kText.size()), below(40)));
          break;
        default:
          text.insert(at, 1, "{}();,.\"/*"[below(10)]);
          break;
      }
      if (text.empty()) text = ";";
    }
    const syntax::Document document = recover(text);
    ASSERT_EQ(print(document), text);
    ASSERT_EQ(document.diagnostics().empty(), parse(text).diagnostics().empty()) << text;
    // What could not be read is never silent, and never accepted.
    if (!errors(document).empty()) {
      ASSERT_FALSE(check(text).ok()) << text;
    }
  }
}

}  // namespace
}  // namespace pyptx::text
