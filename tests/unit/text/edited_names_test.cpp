// SPDX-License-Identifier: Apache-2.0
//
// Edits that make a module say something else than its text, or nothing at all: none stays unseen,
// whether the module is verified or what it prints.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/text/text.h"

namespace pyptx::text {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

constexpr std::string_view kNames = R"(.version 8.0
.target sm_90a
.address_size 64
.global .u32 total;
.visible .entry k(
	.param .u64 out
)
{
	.reg .b32 %r<4>;
	.reg .b32 count, other;
	.reg .b64 %rd<2>;
	.shared .b32 tile[32];
	mov.u32 count, %ntid.x;
	mov.u32 other, %tid.x;
	mov.u32 %r0, tile;
	ld.param.u64 %rd0, [out];
	bra END;
	{
		.reg .b32 inner, %q<4>;
		mov.u32 inner, count;
		st.global.u32 [%rd0], inner;
	AGAIN:
		bra AGAIN;
	}
END:
	st.global.u32 [total], other;
	ret;
}
)";

class EditedNames : public ::testing::Test {
 protected:
  using Codes = std::vector<std::string>;

  const ir::Function& function() const { return *document_.module().functions[0]; }
  ir::RegisterId reg(std::string_view name) const {
    return function().find_register(document_.module().symbols, name).value();
  }
  ir::LabelId label(std::string_view name) const {
    const auto& labels = function().labels;
    std::uint32_t id = 0;
    while (document_.module().text(labels[id]) != name) ++id;
    return static_cast<ir::LabelId>(id);
  }
  /// The statement of that kind, by its place among them.
  std::size_t statement(ir::StatementKind kind, std::size_t number = 0) const {
    for (std::size_t i = 0; i < function().body.size(); ++i) {
      if (function().body[i].kind == kind && number-- == 0) return i;
    }
    ADD_FAILURE() << "no such statement";
    return 0;
  }
  static Codes codes(const diag::Diagnostics& found) {
    Codes texts;
    for (const diag::Diagnostic& one : found) {
      if (one.severity() == diag::Severity::Error) texts.emplace_back(one.code());
    }
    return texts;
  }
  Codes of_module() const { return codes(check(document_.module())); }
  Codes of_document() const { return codes(check(document_)); }
  /// What a reader of the printed text finds.
  Codes of_text() const { return codes(check(print(document_)).diagnostics); }

  /// The text is refused, and so is the module, with the same code among its own.
  void expect_refused(std::string_view code) {
    EXPECT_THAT(of_text(), Contains(code)) << print(document_);
    EXPECT_THAT(of_document(), Contains(code));
    EXPECT_THAT(of_module(), Contains(code));
  }
  /// The text is legal and says something else.
  void expect_taken() {
    EXPECT_THAT(of_text(), IsEmpty()) << print(document_);
    EXPECT_THAT(of_document(), Contains("PTX0238"));
    EXPECT_THAT(of_module(), ElementsAre("PTX0238"));  // once, however many uses
  }
  void expect_good() {
    EXPECT_THAT(of_text(), IsEmpty()) << print(document_);
    EXPECT_THAT(of_document(), IsEmpty());
    EXPECT_THAT(of_module(), IsEmpty());
  }

  syntax::Document document_ = parse(kNames);
};

TEST_F(EditedNames, AModuleAsItWasReadIsGood) { expect_good(); }

TEST_F(EditedNames, ARenameToANewNameIsGood) {
  document_.rename(0, reg("count"), "threads");
  document_.rename(0, reg("%r0"), "%tile");
  document_.rename(0, label("END"), "$L_end");
  expect_good();
}

TEST_F(EditedNames, ARegisterOfTheSameNameIsADuplicate) {
  document_.rename(0, reg("count"), "other");
  expect_refused("PTX0104");
  EXPECT_THAT(of_module(), ElementsAre("PTX0104"));  // and nothing that follows from it
}

TEST_F(EditedNames, ANameOfAPoolIsADuplicate) {
  document_.rename(0, reg("count"), "%r3");
  expect_refused("PTX0104");
}

TEST_F(EditedNames, APooledRegisterThatLeavesItsPoolKeepsNoName) {
  document_.rename(0, reg("%r0"), "%r9");
  expect_good();
  document_.rename(0, reg("%r9"), "%r1");
  expect_refused("PTX0104");
}

TEST_F(EditedNames, AnInsertedDeclarationMayClash) {
  document_.insert_register(0, 0, "count", isa::Type::U32);
  expect_refused("PTX0104");
}

TEST_F(EditedNames, AnInsertedLabelMayClash) {
  document_.insert_label(0, function().body.size(), "END");
  expect_refused("PTX0104");
}

TEST_F(EditedNames, AVariableOfTheSameNameIsADuplicate) {
  document_.rename(0, reg("count"), "tile");
  expect_refused("PTX0104");
}

TEST_F(EditedNames, AParametersNameIsADuplicate) {
  document_.rename(0, reg("other"), "out");
  expect_refused("PTX0104");
}

// The prototype says what it is called.
TEST_F(EditedNames, AParameterInARegisterKeepsItsName) {
  document_ = parse(
      ".version 8.0\n.target sm_90\n.address_size 64\n.func f(.reg .b32 a)\n{\n\t.reg .b32 b;\n"
      "\tmov.b32 b, a;\n\tret;\n}\n");
  expect_good();
  document_.rename(0, reg("a"), "c");
  expect_refused("PTX0103");
}

TEST_F(EditedNames, IllegalNamesAreFound) {
  for (const std::string_view name : {"1st", "a-b", "a b", "%", "", ".x", "caf\xc3\xa9"}) {
    document_ = parse(kNames);
    document_.rename(0, reg("count"), name);
    EXPECT_THAT(of_text(), Not(IsEmpty())) << name;
    EXPECT_THAT(of_document(), Not(IsEmpty())) << name;
    EXPECT_THAT(of_module(), Contains("PTX0235")) << name;
  }
}

// A constant of that name is there already.
TEST_F(EditedNames, APredefinedNameIsNone) {
  document_.rename(0, reg("count"), "WARP_SZ");
  EXPECT_THAT(of_document(), Contains("PTX0235"));
  EXPECT_THAT(of_module(), Contains("PTX0235"));
}

TEST_F(EditedNames, AnErasedDeclarationLeavesItsUses) {
  document_.erase(0, statement(ir::StatementKind::Registers));
  expect_refused("PTX0103");
}

TEST_F(EditedNames, AnErasedVariableLeavesItsUses) {
  document_.erase_item(1);
  expect_refused("PTX0103");
}

TEST_F(EditedNames, AnErasedLabelLeavesItsUses) {
  document_.erase(0, statement(ir::StatementKind::Label, 1));
  expect_refused("PTX0103");
}

TEST_F(EditedNames, ARegisterIsKnownInItsBlockAlone) {
  const std::vector<ir::Operand> operands{ir::Operand::reg(reg("count")),
                                          ir::Operand::reg(reg("inner"))};
  document_.insert(0, function().body.size(), {*isa::spell("mov.u32"), operands, {}, false});
  expect_refused("PTX0103");
}

TEST_F(EditedNames, ABranchIntoABlockIsRefused) {
  const std::vector<ir::Operand> operands{ir::Operand::label(label("AGAIN"))};
  document_.insert(0, function().body.size(), {*isa::spell("bra"), operands, {}, false});
  expect_refused("PTX0103");
}

// The text reads well, and its inner block reads another register than the module.
TEST_F(EditedNames, AnInnerNameThatHidesAnotherIsSeen) {
  document_.rename(0, reg("inner"), "count");
  expect_taken();
}

TEST_F(EditedNames, AnOuterNameThatIsHiddenIsSeen) {
  document_.rename(0, reg("count"), "inner");
  expect_taken();
}

TEST_F(EditedNames, AnInnerPoolHidesItsNumbers) {
  document_.rename(0, reg("count"), "%q3");
  expect_taken();
  document_.rename(0, reg("%q3"), "%q4");
  expect_good();
}

TEST_F(EditedNames, ANameThatHidesAVariableIsSeen) {
  document_.rename(0, reg("other"), "total");
  EXPECT_THAT(of_document(), Not(IsEmpty()));
  EXPECT_THAT(of_module(), Contains("PTX0238"));
}

// Whatever is renamed and erased: a reader of the text and the check of the tree find the same
// kinds of faults, and where the text has none, the tree has none but names that are taken.
TEST_F(EditedNames, AgreeWithTheTextAfterRandomEdits) {
  constexpr std::string_view kChoices[] = {"count", "other", "inner", "%r1", "%q2",  "%q9",
                                           "tile",  "END",   "AGAIN", "out", "%rd0", "fresh"};
  std::mt19937 source(11);
  const auto random = [&](std::size_t below) {
    return static_cast<std::uint32_t>(source() % below);
  };
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    document_ = parse(kNames);
    for (unsigned edit = 0; edit <= random(2); ++edit) {
      const std::string_view name = kChoices[random(std::size(kChoices))];
      const std::size_t at = random(function().body.size());
      const ir::StatementKind kind = function().body[at].kind;
      switch (random(4)) {
        case 0:
          document_.rename(0, ir::RegisterId{random(function().registers.size())}, name);
          break;
        case 1:
          document_.rename(0, ir::LabelId{random(2)}, name);
          break;
        case 2:
          document_.insert_register(0, at, name, isa::Type::U32);
          break;
        default:
          if (kind != ir::StatementKind::BlockOpen && kind != ir::StatementKind::BlockClose) {
            document_.erase(0, at);
          }
      }
    }
    const Codes text = of_text();
    const Codes module = of_module();
    for (const std::string_view code : {"PTX0103", "PTX0104"}) {
      if (std::ranges::count(text, code) == 0) continue;
      EXPECT_NE(std::ranges::count(module, code), 0) << code << '\n' << print(document_);
    }
    if (text.empty()) {
      EXPECT_EQ(std::ranges::count(module, "PTX0238"), std::ssize(module)) << print(document_);
      EXPECT_EQ(of_document(), module);
    } else {
      EXPECT_FALSE(module.empty()) << text[0] << '\n' << print(document_);
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_LT(refused, 350);
}

TEST_F(EditedNames, ANameThatHidesASpecialRegisterIsSeen) {
  document_.rename(0, reg("%rd0"), "%laneid");
  expect_good();
  document_.rename(0, reg("%laneid"), "%tid");
  EXPECT_THAT(of_document(), Not(IsEmpty()));
  EXPECT_THAT(of_module(), Contains("PTX0238"));
}

}  // namespace
}  // namespace pyptx::text
