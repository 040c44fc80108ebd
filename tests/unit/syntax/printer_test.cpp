// SPDX-License-Identifier: Apache-2.0
//
// Modules made by hand, as an authoring layer makes them.
#include "pyptx/syntax/printer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/ir/module.h"
#include "pyptx/syntax/parser.h"

namespace pyptx::syntax {
namespace {

using ir::Operand;
using ir::OperandKind;

class PrinterTest : public testing::Test {
 protected:
  PrinterTest() {
    module.version = {8, 7};
    module.target = *isa::Target::parse("sm_90a");
    function = module.functions.emplace_back(std::make_unique<ir::Function>()).get();
    function->name = module.symbols.intern("k");
  }

  const isa::Spelling* spell(std::string_view text) {
    auto result = isa::spell(text);
    EXPECT_TRUE(result) << text;
    return result ? *result : nullptr;
  }
  std::string operand(const Operand& value) { return print(module, *function, value); }

  ir::Module module;
  ir::Function* function = nullptr;
};

TEST_F(PrinterTest, OperandsOfEveryKind) {
  const auto r0 = function->add_pooled(module.symbols, "%r", isa::Type::U32, isa::Type::B32);
  const auto p = function->add_named(module.symbols.intern("flag"), isa::Type::Pred);
  const auto label = function->add_label(module.symbols.intern("LOOP"));
  const auto tid = *isa::find_special_register("%tid");
  Operand with_component = Operand::reg(r0);
  with_component.component = 4;

  EXPECT_EQ(operand(Operand::reg(r0)), "%r0");
  EXPECT_EQ(operand(with_component), "%r0.w");
  EXPECT_EQ(operand(Operand::not_reg(p)), "!flag");
  EXPECT_EQ(operand(Operand::special(tid, 2)), "%tid.y");
  EXPECT_EQ(operand(Operand::integer(std::numeric_limits<std::int64_t>::min())),
            "-9223372036854775808");
  EXPECT_EQ(operand(Operand::f32(-1.0F)), "0fBF800000");
  EXPECT_EQ(operand(Operand::f64(-1.0)), "0dBFF0000000000000");
  EXPECT_EQ(operand(Operand::symbol(module.symbols.intern("tile"), -4)), "tile+-4");
  EXPECT_EQ(operand(Operand::label(label)), "LOOP");
  EXPECT_EQ(operand(Operand::sink()), "_");
}

TEST_F(PrinterTest, CompositeOperands) {
  const auto r0 = function->add_pooled(module.symbols, "%r", isa::Type::U32, isa::Type::B32);
  const auto r1 = function->add_pooled(module.symbols, "%r", isa::Type::U32, isa::Type::B32);
  const Operand pair[] = {Operand::reg(r0), Operand::reg(r1)};
  const Operand vector = function->composite(OperandKind::Vector, pair);
  const Operand base[] = {Operand::reg(r0), vector};
  const Operand symbol[] = {Operand::symbol(module.symbols.intern("tile"), 8)};

  EXPECT_EQ(operand(vector), "{%r0, %r1}");
  EXPECT_EQ(operand(function->composite(OperandKind::Parenthesized, pair)), "(%r0, %r1)");
  EXPECT_EQ(operand(function->composite(OperandKind::Pipe, pair)), "%r0|%r1");
  EXPECT_EQ(operand(function->composite(OperandKind::Address, base, 16)), "[%r0+16, {%r0, %r1}]");
  EXPECT_EQ(operand(function->composite(OperandKind::Address, {base, 1}, -8)), "[%r0+-8]");
  EXPECT_EQ(operand(function->composite(OperandKind::Address, symbol, 4)), "[tile+12]");

  Operand marked = function->composite(OperandKind::Address, {base, 1});
  EXPECT_EQ(operand(marked), "[%r0]");
  marked.component = ir::kUnified | ir::kZeroOffset;
  EXPECT_EQ(operand(marked), "[%r0+0].unified");
  marked.value = 4;
  EXPECT_EQ(operand(marked), "[%r0+4].unified");
}

TEST_F(PrinterTest, AuthoredModuleWithoutItems) {
  ir::Variable shared;
  shared.name = module.symbols.intern("dyn");
  shared.space = ir::Space::Shared;
  shared.linkage = ir::Linkage::Extern;
  shared.type = isa::Type::B8;
  shared.align = 128;
  shared.count = 0;
  module.variables.push_back(shared);
  ir::Variable parameter;
  parameter.name = module.symbols.intern("p");
  parameter.space = ir::Space::Param;
  parameter.type = isa::Type::U64;
  function->parameters.push_back(parameter);
  function->directives.push_back({module.symbols.intern("maxntid"), {32, 1, 1}, {}});

  const auto r0 = function->add_pooled(module.symbols, "%r", isa::Type::S32, isa::Type::B32);
  const auto p0 = function->add_pooled(module.symbols, "%p", isa::Type::Pred, isa::Type::Pred);
  const auto add = [&](ir::StatementKind kind, std::string_view text) {
    function->body.push_back({kind, static_cast<std::uint32_t>(module.symbols.intern(text))});
  };
  add(ir::StatementKind::Comment, "caf\xc3\xa9\nsecond line");
  const Operand operands[] = {Operand::reg(r0), Operand::reg(r0), Operand::integer(-1)};
  ir::Instruction& instruction = function->append(spell("add.s32"), operands, diag::Loc{});
  instruction.guard = p0;
  instruction.guard_negated = true;
  add(ir::StatementKind::Raw, "membar.gl;");
  add(ir::StatementKind::Raw, "\tbar.sync 0;\n\tbar.sync 1;\n");
  add(ir::StatementKind::Pragma, "nounroll");

  EXPECT_EQ(print(module), R"(.version 8.7
.target sm_90a
.address_size 64

.extern .shared .align 128 .b8 dyn[];

.visible .entry k(
	.param .u64 p
)
.maxntid 32, 1, 1
{
	.reg .b32 %r<1>;
	.reg .pred %p<1>;
	// caf??
	// second line
	@!%p0 add.s32 %r0, %r0, -1;
	membar.gl;
	bar.sync 0;
	bar.sync 1;
	.pragma "nounroll";
}
)");
}

TEST_F(PrinterTest, ItemsDecideTheOrder) {
  const auto comment = static_cast<std::uint32_t>(module.symbols.intern("on top"));
  module.items = {{ir::ItemKind::Comment, comment}, {ir::ItemKind::Header, 0}};
  EXPECT_EQ(print(module),
            "// on top\n.version 8.7\n.target sm_90a\n.address_size 64\n\n"
            ".visible .entry k()\n{\n}\n");
}

TEST_F(PrinterTest, LineMapCountsEveryLine) {
  const auto here = module.locations.native("kernel.cpp", 7);
  const auto raw = static_cast<std::uint32_t>(module.symbols.intern("ret;\nret;"));
  function->body.push_back({ir::StatementKind::Raw, raw});
  function->append(spell("ret"), {}, here);
  std::vector<diag::Loc> locs;
  const std::string text = print(module, &locs);
  ASSERT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), locs.size());
  EXPECT_EQ(locs[locs.size() - 2], here);
  EXPECT_EQ(std::count(locs.begin(), locs.end(), here), 1);
}

// Without optimisation ptxas makes other machine code of an offset of zero than of none.
TEST(Printer, AnOffsetOfZeroIsKept) {
  const auto module = parse(
      ".version 9.4\n.target sm_90a\n.address_size 64\n.global .b32 table[4];\n.entry k() {\n"
      ".reg .b32 %r<2>; .reg .b64 %rd<2>;\nmov.u64 %rd1, table[0];\nmov.u64 %rd1, table[2];\n"
      "ld.global.b32 %r1, table[0];\nld.global.b32 %r1, table[1];\nmov.u64 %rd1, "
      "table;\nret;\n}\n");
  ASSERT_TRUE(module) << module.error().message();
  const std::string text = print(**module);
  for (const char* line :
       {"mov.u64 %rd1, table+0;", "mov.u64 %rd1, table+8;", "ld.global.b32 %r1, [table+0];",
        "ld.global.b32 %r1, [table+4];", "mov.u64 %rd1, table;"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
}

}  // namespace
}  // namespace pyptx::syntax
