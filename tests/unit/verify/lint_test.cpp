// SPDX-License-Identifier: Apache-2.0
#include "pyptx/verify/lint.h"

#include <gmock/gmock.h>

#include <array>

#include "one_function.h"
#include "pyptx/verify/instruction.h"

namespace pyptx::verify {
namespace {

using diag::Kind;
using ir::Operand;
using isa::Type;

class LintTest : public OneFunctionTest {
 protected:
  Operand address() {
    return function_->composite(ir::OperandKind::Address, std::array{reg(Type::U64)});
  }
  diag::Diagnostics lint(std::string_view spelling, std::initializer_list<Operand> operands) {
    auto found = isa::spell(spelling);
    EXPECT_TRUE(found.ok()) << spelling;
    auto& instruction =
        function_->append(*found, std::span(operands.begin(), operands.size()), diag::Loc::None);
    InstructionJudge judge;
    EXPECT_TRUE(judge.judge(module_, *function_, instruction).ok()) << spelling;
    diag::Diagnostics findings;
    verify::lint(module_, *function_, instruction, findings);
    return findings;
  }
};

TEST_F(LintTest, TheManualsOwnSpellingIsClean) {
  EXPECT_TRUE(lint("ld.global.f32", {reg(Type::F32), address()}).empty());
  EXPECT_TRUE(lint("add.sat.s32", {reg(Type::S32), reg(Type::S32), reg(Type::S32)}).empty());
}

TEST_F(LintTest, AnotherOrderIsFoundAndMended) {
  const auto findings = lint("ld.f32.global", {reg(Type::F32), address()});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, Kind::NotManualOrder);
  EXPECT_EQ(findings[0].severity(), diag::Severity::Lint);
  ASSERT_EQ(findings[0]->fixits.size(), 1U);
  EXPECT_EQ(findings[0]->fixits[0].replacement, "ld.global.f32");
  EXPECT_TRUE(findings[0]->fixits[0].is_certain);
  EXPECT_EQ(findings[0]->fixits[0].focus.part, diag::Focus::Part::Spelling);
}

TEST_F(LintTest, ADoubledWordIsFoundAndMended) {
  const Operand a = reg(Type::S32);
  const auto findings = lint("add.sat.sat.s32", {a, a, a});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, Kind::DoubledModifier);
  EXPECT_EQ(findings[0].message(), "'.sat' stands twice in 'add.sat.sat.s32' and counts once");
  EXPECT_EQ(findings[0]->fixits[0].replacement, "add.sat.s32");
}

TEST_F(LintTest, ANarrowAddressIsFound) {
  const Operand shared = function_->composite(ir::OperandKind::Address, std::array{reg(Type::U32)});
  const Operand narrow = function_->composite(ir::OperandKind::Address, std::array{reg(Type::U16)});
  EXPECT_TRUE(lint("ld.shared.u32", {reg(Type::U32), shared}).empty());
  const auto findings = lint("ld.global.u32", {reg(Type::U32), narrow});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, Kind::NotByManual);
  EXPECT_EQ(findings[0].focus.index, 1);
}

TEST_F(LintTest, AVectorForOneRegisterIsFound) {
  const Operand one = reg(Type::B32);
  const Operand two = function_->composite(ir::OperandKind::Vector, std::array{one, one});
  module_.target = {100, 'a'};
  EXPECT_TRUE(lint("add.e5m2x4.e4m3x4", {one, one, one}).empty());
  const auto findings = lint("add.e5m2x4.e4m3x4", {one, two, one});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, Kind::NotByManual);
  EXPECT_EQ(findings[0].focus.index, 1);
}

TEST_F(LintTest, AWordThatIsDroppedIsFound) {
  module_.target = {100, 'a'};
  EXPECT_TRUE(lint("tcgen05.wait::ld.sync.aligned", {}).empty());
  for (const char* text :
       {"tcgen05.wait::ld.b2.sync.aligned", "tcgen05.wait::ld.sync.aligned.b2.b2"}) {
    const auto findings = lint(text, {});
    ASSERT_EQ(findings.size(), 1U) << text;
    EXPECT_EQ(findings[0].kind, Kind::NotByManual);
  }
}

TEST_F(LintTest, TheManualsOwnRulesAreFound) {
  const auto findings = lint("wgmma.fence.sync", {});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, Kind::NotByManual);
  EXPECT_TRUE(lint("wgmma.fence.sync.aligned", {}).empty());
}

TEST_F(LintTest, AModuleIsLintedWhole) {
  const Operand a = reg(Type::S32);
  lint("add.s32", {a, a, a});
  lint("add.s32.sat", {a, a, a});
  lint("add.sat.sat.s32", {a, a, a});
  EXPECT_EQ(verify::lint(module_).size(), 2U);
}

}  // namespace
}  // namespace pyptx::verify
