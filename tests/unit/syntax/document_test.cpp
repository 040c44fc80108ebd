// SPDX-License-Identifier: Apache-2.0
//
// A document prints what it was read from, byte for byte, and after an edit every byte that was not
// edited.
#include "pyptx/syntax/document.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "language_sample.h"
#include "pyptx/diag/render.h"
#include "pyptx/syntax/printer.h"
#include "samples.h"

namespace pyptx::syntax {
namespace {

using ir::StatementKind;

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  while (true) {
    const std::size_t at = text.find(from);
    result += text.substr(0, at);
    if (at == std::string_view::npos) return result;
    result += to;
    text.remove_prefix(at + from.size());
  }
}

/// The samples, in the ways lines may end.
std::vector<std::string> texts() {
  std::vector<std::string> all;
  for (const std::string_view sample : samples::kAll) all.emplace_back(sample);
  all.emplace_back(samples::kLanguage);
  const std::size_t count = all.size();
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(replaced(all[i], "\n", "\r\n"));
    // Raw source text is read by LF lines.
    if (all[i].find(".source_begin") == std::string::npos) {
      all.push_back(replaced(all[i], "\n", "\r"));
    }
    all.push_back(all[i] + "\n\n  // tail");
  }
  return all;
}

TEST(Document, TextsComeBackByteForByte) {
  for (const std::string& text : texts()) {
    const Document document = Document::read(text);
    EXPECT_TRUE(document.diagnostics().empty())
        << diag::render(document.diagnostics(), &document.module().locations);
    EXPECT_EQ(print(document), text);
  }
}

TEST(Document, CanonicalTextIsAFixedPoint) {
  for (const std::string& text : texts()) {
    const std::string once = print(Document::read(text).module());
    EXPECT_EQ(print(Document::read(once).module()), once);
  }
}

TEST(Document, BrokenTextsComeBackToo) {
  std::mt19937 random(7);
  const std::string_view noise = "{}()[];,:.@%$\"'#/*\\+-<>=!~\n\r\t\x01\xff 0x_aAr";
  ParseOptions options;
  for (const std::string& text : texts()) {
    for (int round = 0; round < 60; ++round) {
      std::string broken = text;
      for (int i = round % 5; i >= 0; --i) {
        const std::size_t at = random() % broken.size();
        switch (random() % 4) {
          case 0:
            broken.erase(at, 1 + random() % 20);
            break;
          case 1:
            broken.insert(at, 1, noise[random() % noise.size()]);
            break;
          case 2:
            broken.resize(at);
            break;
          default:
            broken[at] = noise[random() % noise.size()];
            break;
        }
        if (broken.empty()) break;
      }
      options.max_diagnostics = round % 2 == 0 ? 3 : 1000;
      ASSERT_EQ(print(Document::read(broken, "b", options)), broken);
    }
  }
}

/// The statements that were not edited, in the order of the text.
std::vector<std::string> untouched(const Document& document) {
  std::vector<std::string> parts;
  const auto add = [&](std::uint32_t begin, std::uint32_t end) {
    parts.emplace_back(document.text().substr(begin, end - begin));
  };
  const auto& tokens = document.tokens();
  for (const auto& function : document.module().functions) {
    for (const ir::Statement& statement : function->body) {
      if (statement.mark.edited || statement.mark.inner || statement.tokens.empty()) continue;
      const bool is_comment = statement.kind == StatementKind::Comment ||
                              statement.kind == StatementKind::BlockComment ||
                              statement.kind == StatementKind::LineMarker;
      if (is_comment) {
        const Comment& comment = tokens.comments[statement.tokens.first];
        add(comment.begin, comment.end);
      } else {
        add(tokens.tokens[statement.tokens.first].begin,
            tokens.tokens[statement.tokens.last - 1].end);
      }
    }
  }
  return parts;
}

class Editor {
 public:
  Editor(Document& document, unsigned seed) : document_(document), random_(seed) {}

  void edit() {
    const std::size_t function = random_() % document_.module().functions.size();
    const ir::Function& target = *document_.module().functions[function];
    if (target.body.empty()) return;
    const std::size_t at = random_() % target.body.size();
    const StatementKind kind = target.body[at].kind;
    const bool is_block = kind == StatementKind::BlockOpen || kind == StatementKind::BlockClose;
    switch (random_() % 8) {
      case 0:
        if (is_block || declares(kind)) return;
        return document_.erase(function, at);
      case 1:
        return document_.insert(function, at, {*isa::spell("ret"), {}, {}, false});
      case 2:
        return document_.insert_comment(function, at, "note " + std::to_string(random_() % 100));
      case 3:
        if (kind != StatementKind::Instruction) return;
        return document_.replace(function, at, {*isa::spell("exit"), {}, {}, false});
      case 4: {
        if (kind != StatementKind::Instruction) return;
        const auto operands = target.operands_of(target.instructions[target.body[at].index]);
        if (operands.empty()) return;
        return document_.set_operand(function, at, random_() % operands.size(),
                                     ir::Operand::integer(7));
      }
      case 5: {
        if (target.registers.empty()) return;
        const auto id = static_cast<ir::RegisterId>(random_() % target.registers.size());
        if (is_parameter(target, id)) return;
        return document_.rename(function, id, "new_" + std::to_string(++names_));
      }
      case 6: {
        if (target.labels.empty()) return;
        const auto id = static_cast<ir::LabelId>(random_() % target.labels.size());
        return document_.rename(function, id, "label_" + std::to_string(++names_));
      }
      default:
        return document_.touch(function, at);
    }
  }

 private:
  static bool declares(StatementKind kind) {
    return kind == StatementKind::Registers || kind == StatementKind::Pool ||
           kind == StatementKind::Variable || kind == StatementKind::Label ||
           kind == StatementKind::CallPrototype || kind == StatementKind::CallTargets;
  }
  static bool is_parameter(const ir::Function& function, ir::RegisterId id) {
    return std::ranges::any_of(function.parameters,
                               [&](const ir::Variable& parameter) {
                                 return parameter.name == function.at(id).stem;
                               }) ||
           std::ranges::any_of(function.returns, [&](const ir::Variable& parameter) {
             return parameter.name == function.at(id).stem;
           });
  }

  Document& document_;
  std::mt19937 random_;
  unsigned names_ = 0;
};

TEST(Document, TheLastDiagnosticLosesNothing) {
  // The limit is reached by a name declared twice, in the module or in a function: what follows is
  // not read, and comes back all the same.
  const std::string head = ".version 9.4\n.target sm_90\n.address_size 64\n.global .u32 a<3>;\n";
  for (const std::string_view twice :
       {".global .u32 a<3>, b; rest", ".entry k() { .reg .u32 r; .reg .u32 r; ret; }\nrest",
        ".entry k() { L: L: ret; }\nrest", ".entry k(.param .u32 p, .param .u32 p) { ret; }\nrest",
        ".entry k() { .local .u32 v; .local .u32 v; ret; }\nrest", ".entry a0() { ret; }\nrest"}) {
    for (std::size_t errors = 0; errors <= 2 * ParseOptions{}.max_diagnostics; ++errors) {
      const std::string text = head + std::string(errors, ';') + std::string(twice);
      EXPECT_EQ(print(Document::read(text)), text) << errors << " errors before " << twice;
    }
  }
}

TEST(Document, RandomEditsChangeNothingElse) {
  unsigned seed = 0;
  for (const std::string& text : texts()) {
    for (int round = 0; round < 40; ++round) {
      Document document = Document::read(text);
      Editor editor(document, ++seed);
      for (int i = 0; i <= round % 8; ++i) editor.edit();
      const std::string printed = print(document);
      std::size_t from = 0;
      for (const std::string& part : untouched(document)) {
        from = printed.find(part, from);
        ASSERT_NE(from, std::string::npos) << "seed " << seed << ": lost " << part << "\n"
                                           << printed;
        from += part.size();
      }
      // What is printed reads back to what was edited.
      const Document again = Document::read(printed);
      ASSERT_TRUE(again.diagnostics().empty())
          << "seed " << seed << "\n"
          << diag::render(again.diagnostics(), &again.module().locations) << printed;
      ASSERT_EQ(print(again.module()), print(document.module())) << "seed " << seed << "\n"
                                                                 << printed;
    }
  }
}

constexpr std::string_view kSmall =
    ".version 8.7\n.target sm_90a\n\n.entry k {\n  .reg .b32 a, b; // two\n"
    "  // before\n  add.s32  a, b, 1; // add\n\n  mov.u32 b, a;\tret;\n}\n";

std::size_t statement(const Document& document, StatementKind kind, std::size_t which = 0) {
  const auto& body = document.module().functions.at(0)->body;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i].kind == kind && which-- == 0) return i;
  }
  return body.size();
}

/// The small text after `change`.
template <typename Change>
std::string edited(Change&& change) {
  Document document = Document::read(kSmall);
  EXPECT_TRUE(document.diagnostics().empty());
  change(document);
  return print(document);
}

TEST(Document, AnEditStaysInItsPlace) {
  const auto expect = [](std::string_view from, std::string_view to, const std::string& printed) {
    EXPECT_EQ(printed, replaced(kSmall, from, to));
  };
  expect("add.s32  a, b, 1;", "add.s32 a, b, 9;", edited([](Document& document) {
           const std::size_t at = statement(document, StatementKind::Instruction);
           document.set_operand(0, at, 2, ir::Operand::integer(9));
         }));
  expect("  add.s32  a, b, 1; // add\n", "  // add\n", edited([](Document& document) {
           document.erase(0, statement(document, StatementKind::Instruction));
         }));
  expect("  mov.u32 b, a;\tret;", "  ret;", edited([](Document& document) {
           document.erase(0, statement(document, StatementKind::Instruction, 1));
         }));
  expect("\tret;", "", edited([](Document& document) {
           document.erase(0, statement(document, StatementKind::Instruction, 2));
         }));
  expect("  // before\n", "", edited([](Document& document) {
           document.erase(0, statement(document, StatementKind::Comment, 1));
         }));
  expect("  // before\n", "  // before\n\ttrap;\n", edited([](Document& document) {
           const std::size_t at = statement(document, StatementKind::Instruction);
           document.insert(0, at, {*isa::spell("trap"), {}, {}, false});
         }));
  EXPECT_EQ(edited([](Document& document) { document.rename(0, ir::RegisterId{0}, "c"); }),
            ".version 8.7\n.target sm_90a\n\n.entry k {\n  .reg .b32 c; .reg .b32 b; // two\n"
            "  // before\n  add.s32 c, b, 1; // add\n\n  mov.u32 b, c;\tret;\n}\n");
}

TEST(Document, ACopyIsACopyAndASnapshotStays) {
  constexpr std::string_view kText =
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n";
  Document document = Document::read(kText);
  const Document copy = document;
  const auto snapshot = document.share();
  document.insert_comment(0, 0, " edited");
  EXPECT_EQ(print(copy), kText);
  EXPECT_EQ(snapshot->functions[0]->body.size(), 1U);
  EXPECT_EQ(document.module().functions[0]->body.size(), 2U);
  const ir::Module* const edited = &document.module();
  document.insert_comment(0, 0, " again");
  EXPECT_EQ(&document.module(), edited) << "nobody shares it: nothing is copied";
  const auto shared = document.share();
  document.erase(0, 0);
  EXPECT_NE(shared->functions[0]->body.size(), document.module().functions[0]->body.size());
  EXPECT_EQ(shared->text(shared->functions[0]->name), "k");
}

TEST(Document, ItemsAreErasedAndCommented) {
  Document document = Document::read(std::string(kSmall) + ".global .b32 x, y; // xy\n");
  const std::size_t last = document.module().items.size() - 1;
  ASSERT_EQ(document.module().items[last].kind, ir::ItemKind::Comment);
  document.erase_item(last - 2);
  document.insert_item_comment(0, "first");
  EXPECT_EQ(print(document), "// first\n" + std::string(kSmall) + ".global .b32 y; // xy\n");
}

}  // namespace
}  // namespace pyptx::syntax
