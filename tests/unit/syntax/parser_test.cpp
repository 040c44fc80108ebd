// SPDX-License-Identifier: Apache-2.0
//
// What the parser makes of texts: structure, names, constants. Messages are in diagnostics_test.
#include "pyptx/syntax/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/diag/render.h"
#include "pyptx/isa/type.h"
#include "pyptx/syntax/printer.h"
#include "samples.h"

namespace pyptx::syntax {
namespace {

using ir::OperandKind;
using ir::StatementKind;

constexpr std::string_view kParserHeader = ".version 8.7\n.target sm_90a\n.address_size 64\n";

std::unique_ptr<ir::Module> parsed(std::string_view text) {
  auto result = parse(text);
  EXPECT_TRUE(result) << diag::render(result.error(), nullptr);
  return result ? std::move(*result) : std::make_unique<ir::Module>();
}

/// The function of a module with this body, whose declarations cover the usual registers.
std::unique_ptr<ir::Module> with_body(std::string_view body) {
  return parsed(std::string(kParserHeader) +
                ".global .b32 g[8];\n.visible .entry k(.param .u64 p)\n{\n"
                ".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<8>;\n" +
                std::string(body) + "\n}\n");
}

std::int64_t constant(const std::string& expression) {
  const auto module = with_body("mov.u64 %rd1, " + expression + ";");
  const ir::Function& function = *module->functions.at(0);
  const auto operands = function.operands_of(function.instructions.at(0));
  EXPECT_EQ(operands[1].kind, OperandKind::Integer) << expression;
  return operands[1].value;
}

TEST(ConstantExpressions, FollowTheManualsRules) {
  EXPECT_EQ(constant("1 + 2 * 3"), 7);
  EXPECT_EQ(constant("(1 + 2) * 3"), 9);
  EXPECT_EQ(constant("10 - 4 - 3"), 3);
  EXPECT_EQ(constant("-7 / 2"), -3);
  EXPECT_EQ(constant("-7U / 2"), static_cast<std::int64_t>((0 - std::uint64_t{7}) / 2));
  EXPECT_EQ(constant("-7 % 4"), 1) << "% is unsigned";
  EXPECT_EQ(constant("-8 >> 1"), -4);
  EXPECT_EQ(constant("(.u64)-8 >> 1"), 0x7FFFFFFFFFFFFFFC);
  EXPECT_EQ(constant("1 << 64"), 0);
  EXPECT_EQ(constant("-1 >> 64"), -1);
  EXPECT_EQ(constant("-1 < 1"), 1);
  EXPECT_EQ(constant("-1 < 1U"), 0) << "usual conversions";
  EXPECT_EQ(constant("~0 < 0"), 0) << "~ gives .u64";
  EXPECT_EQ(constant("1 | 2 ^ 3 & 1"), 3);
  EXPECT_EQ(constant("0 || 2 && 3"), 1);
  EXPECT_EQ(constant("!5 == 0"), 1);
  EXPECT_EQ(constant("1 ? 2 ? 3 : 4 : 5"), 3);
  EXPECT_EQ(constant("1.5 < 2.0"), 1);
  EXPECT_EQ(constant("WARP_SZ * 2"), 64);
  EXPECT_EQ(constant("0x10 + 010 + 0b10 + 10U"), 36);
  EXPECT_EQ(constant("(-9223372036854775807 - 1) / -1"), INT64_MIN) << "wraps";
}

TEST(ConstantExpressions, FloatingPointIsDouble) {
  const auto module = with_body("mov.f32 %f1, -(1.5 + 2.0) * 2.0;");
  const ir::Function& function = *module->functions.at(0);
  EXPECT_EQ(function.operands_of(function.instructions.at(0))[1], ir::Operand::f64(-7.0));
}

TEST(Parser, PooledRegistersComeIntoBeingOnUse) {
  const auto module = with_body(
      ".reg .b32 %huge<2147483647>;\n"
      "add.s32 %huge2147483646, %huge5, %huge5;");
  const ir::Function& function = *module->functions.at(0);
  EXPECT_EQ(function.registers.size(), 2U);
  const auto operands = function.operands_of(function.instructions.at(0));
  EXPECT_EQ(operands[1], operands[2]);
  EXPECT_EQ(module->name(function.at(operands[0].register_id())), "%huge2147483646");
  EXPECT_TRUE(function.at(operands[0].register_id()).pooled);
}

TEST(Parser, InnerNamesHideOuterOnesUntilTheBlockEnds) {
  const auto module = with_body(R"(
    mov.u32 %r1, 0;
    {
      mov.u32 %r2, 0;
      .reg .f32 %r<3>;
      mov.f32 %r1, 0f00000000;
    }
    mov.u32 %r1, %r2;
    { .reg .f32 %r1; mov.f32 %r1, 0f00000000; }
    mov.u32 %r2, %r1;
  )");
  const ir::Function& function = *module->functions.at(0);
  const auto destination = [&](std::size_t i) {
    return function.operands_of(function.instructions.at(i))[0].register_id();
  };
  EXPECT_EQ(function.at(destination(2)).declared, isa::Type::F32);
  EXPECT_EQ(destination(0), destination(3));
  EXPECT_EQ(function.at(destination(4)).declared, isa::Type::F32);
  EXPECT_NE(destination(2), destination(4));
  EXPECT_EQ(destination(1), destination(5)) << "met in the block, declared outside it";
}

TEST(Parser, PoolsBelongToTheirPlace) {
  const auto module = with_body("{ .reg .b32 %t<2>; mov.u32 %t0, 0; }");
  const ir::Function& function = *module->functions.at(0);
  ASSERT_EQ(function.pools.size(), 5U);
  for (const ir::RegisterPool& pool : function.pools) EXPECT_TRUE(pool.placed);
  EXPECT_EQ(function.body.at(4).kind, StatementKind::BlockOpen);
  EXPECT_EQ(function.body.at(5).kind, StatementKind::Pool);
}

TEST(Parser, LabelsAreScopedAndMayComeLater) {
  const auto module = with_body(R"(
    bra L;
    { bra L; L: bra M; }
    L: M: ret;
  )");
  const ir::Function& function = *module->functions.at(0);
  ASSERT_EQ(function.labels.size(), 3U);
  const auto target = [&](std::size_t i) {
    return function.operands_of(function.instructions.at(i))[0];
  };
  EXPECT_EQ(target(0).kind, OperandKind::Label);
  EXPECT_NE(target(0), target(1));
  EXPECT_EQ(module->text(function.labels[target(2).index]), "M");
}

TEST(Parser, RegistersMayHideSpecialRegistersAndOpcodes) {
  const auto module =
      with_body(".reg .b32 %laneid, add; mov: mov.u32 %r1, %laneid; add.s32 add, add, 1; bra mov;");
  const ir::Function& function = *module->functions.at(0);
  EXPECT_EQ(function.operands_of(function.instructions.at(0))[1].kind, OperandKind::Register);
  EXPECT_EQ(function.operands_of(function.instructions.at(2))[0].kind, OperandKind::Label);
}

TEST(Parser, AnInstructionMayBeSplitAnywhere) {
  const auto module = with_body("@\n!\n%p1 add /* here */ .s32\r\n%r1\r,%r2,//\n-1\n;ret;");
  const ir::Function& function = *module->functions.at(0);
  ASSERT_EQ(function.instructions.size(), 2U);
  EXPECT_EQ(print(*module, function, function.instructions[0]), "@!%p1 add.s32 %r1, %r2, -1;");
}

TEST(Parser, StatementsKnowTheirTokens) {
  const ParseOutcome outcome = parse_all(samples::kReduce);
  ASSERT_TRUE(outcome.ok());
  const ir::Function& function = *outcome.module->functions.at(0);
  const auto& buffer = outcome.tokens->tokens;
  for (const ir::Statement& statement : function.body) {
    ASSERT_FALSE(statement.tokens.empty());
    if (statement.kind != StatementKind::Instruction) continue;
    EXPECT_EQ(buffer[statement.tokens.last - 1].kind, TokenKind::Semicolon);
  }
  for (const ir::Item& item : outcome.module->items) EXPECT_FALSE(item.tokens.empty());
  EXPECT_EQ(buffer[function.head.last - 1].kind, TokenKind::BraceOpen);
}

TEST(Parser, HeaderVariations) {
  const auto bare = parsed(".version 8.7 .target sm_90a .entry k { ret; }");
  EXPECT_EQ(bare->address_size, 0);
  EXPECT_EQ(print(*bare), ".version 8.7\n.target sm_90a\n\n.entry k()\n{\n\tret;\n}\n");
  EXPECT_EQ(bare->functions.at(0)->linkage, ir::Linkage::None);
}

TEST(Parser, ParametersKeepTheirPointerAttributes) {
  const auto module = parsed(std::string(kParserHeader) +
                             ".entry k(.param .u64 .ptr .shared .align 16 a, .param .u64 .ptr b, "
                             ".param .u64 .ptr .align 8 c) { ret; }");
  const auto& parameters = module->functions.at(0)->parameters;
  ASSERT_EQ(parameters.size(), 3U);
  EXPECT_EQ(parameters[0].pointer->space, ir::Space::Shared);
  EXPECT_EQ(parameters[0].pointer->align, 16U);
  EXPECT_FALSE(parameters[1].pointer->space);
  EXPECT_EQ(parameters[2].pointer->align, 8U);
}

TEST(Parser, UnsizedArraysTakeTheSizeOfTheirInitializer) {
  const auto module = parsed(std::string(kParserHeader) +
                             ".global .b32 a[] = {1, 2, 3};\n"
                             ".global .b16 b[][2] = {{1, 0}, {2, 3}};\n");
  EXPECT_EQ(module->variables.at(0).count, 3U);
  EXPECT_EQ(module->variables.at(1).count, 4U);
  std::vector<std::int64_t> values;
  for (const ir::InitialValue& value : module->variables.at(1).initializer) {
    if (!value.is_brace()) values.push_back(value.value);
  }
  EXPECT_THAT(values, testing::ElementsAre(1, 0, 2, 3));
}

TEST(Parser, DebugDirectivesAreKept) {
  const auto module = parsed(std::string(kParserHeader) + R"(.file 1 "a.cu", 12, 34
.section .debug_str
{
info: .b8 1,2, -3
.b32 info+4
}
.alias f, g;
.entry k { .loc 1 2 3 ret; .loc 1 2 3, function_name info+4, inlined_at 1 9 9
$L: ret; }
)");
  const std::string text = print(*module);
  for (const std::string_view kept :
       {".file 1 \"a.cu\", 12, 34\n",
        ".section .debug_str\n{\ninfo:\n.b8 1, 2, -3\n.b32 info+4\n}\n", ".alias f, g;\n",
        "\t.loc 1 2 3\n\tret;\n", "\t.loc 1 2 3, function_name info+4, inlined_at 1 9 9\n$L:\n"}) {
    EXPECT_NE(text.find(kept), std::string::npos) << kept << "\n" << text;
  }
}

/// Refuses what it is told to, and counts.
class CountingJudge : public ir::Judge {
 public:
  diag::Status judge(const ir::Module&, const ir::Function& function,
                     ir::Instruction& instruction) override {
    ++calls;
    if (function.operands_of(instruction).size() < 3) return diag::success();
    return diag::fail(diag::Diagnostic(diag::Kind::OperandCount, {"add.s32", "3", "4"})
                          .at(instruction.loc, {diag::Focus::Part::Operand, 2}));
  }
  int calls = 0;
};

TEST(Parser, TheJudgeSeesEveryInstruction) {
  CountingJudge judge;
  ParseOptions options;
  options.judge = &judge;
  const std::string text = std::string(kParserHeader) +
                           ".entry k {\n.reg .b32 a;\nmov.u32 a, 0;\nadd.s32 a, a, 12;\nret;\n}\n";
  const ParseOutcome outcome = parse_all(text, "j.ptx", options);
  EXPECT_EQ(judge.calls, 3);
  ASSERT_EQ(outcome.diagnostics.size(), 1U);
  EXPECT_EQ(diag::render(outcome.diagnostics[0], &outcome.module->locations),
            "error[PTX0204]: 'add.s32' takes 3 operands, got 4\n"
            "  --> j.ptx:7:15\n"
            "  |\n"
            "7 | add.s32 a, a, 12;\n"
            "  |               ^^\n");
}

}  // namespace
}  // namespace pyptx::syntax
