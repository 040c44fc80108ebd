// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes of instructions, by the roles of the table.
#include "pyptx/analysis/operands.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "graph.h"
#include "pyptx/isa/form_info.h"

namespace pyptx::analysis {
namespace {

/// "w%r1 r%rd2": w written, r read, b both; [ ] around what is in an address.
std::string accesses(std::string_view instruction) {
  const Graph graph("\t.reg .v2 .b32 %v;\n\t" + std::string(instruction) + "\n\tret;\n");
  const std::uint32_t at = graph.at(instruction);
  std::string text;
  for (const OperandUse& use : graph.accesses().at(at)) {
    const std::string name = graph.module().name(graph.function().at(use.operand.register_id()));
    const char role = use.reads() ? (use.writes() ? 'b' : 'r') : 'w';
    if (!text.empty()) text += ' ';
    text += use.in_address ? '[' + (role + name) + ']' : role + name;
    if (use.writes() && !graph.accesses().overwrites(at, use)) text += '?';
  }
  return text;
}

TEST(Operands, HaveTheRolesOfTheTable) {
  EXPECT_EQ(accesses("add.s32 %r0, %r1, %r2;"), "w%r0 r%r1 r%r2");
  EXPECT_EQ(accesses("st.global.u32 [%rd0], %r1;"), "[r%rd0] r%r1");
  EXPECT_EQ(accesses("ld.global.v2.u32 {%r0, %r1}, [%rd0+8];"), "w%r0 w%r1 [r%rd0]");
  EXPECT_EQ(accesses("setp.lt.and.s32 %p0|%p1, %r0, %r1, !%p2;"), "w%p0 w%p1 r%r0 r%r1 r%p2");
  EXPECT_EQ(accesses("atom.global.add.u32 %r0, [%rd0], %r1;"), "w%r0 [r%rd0] r%r1");
}

TEST(Operands, AGuardIsReadAndMayLeaveTheResultAlone) {
  EXPECT_EQ(accesses("@!%p0 mov.b32 %r0, %r1;"), "r%p0 w%r0? r%r1");
}

TEST(Operands, AComponentIsNotTheWholeRegister) {
  EXPECT_EQ(accesses("mov.b32 %v.x, %r1;"), "w%v? r%r1");
}

/// The manual's names of the places that the registers of an instruction fill.
std::string places(std::string_view instruction) {
  const Graph graph('\t' + std::string(instruction) + "\n\tret;\n");
  std::string text;
  for (const OperandUse& use : graph.accesses().at(graph.at(instruction))) {
    if (!text.empty()) text += ' ';
    text += use.place != nullptr ? use.place->name : "none";
  }
  return text;
}

// Optional operands: the position alone does not tell what is what.
TEST(Operands, AreFoundInTheirPlaces) {
  EXPECT_EQ(places("bar.red.popc.u32 %r0, %r1, %p0;"), "d a c");
  EXPECT_EQ(places("bar.red.popc.u32 %r0, %r1, %r2, %p0;"), "d a b c");
  EXPECT_EQ(places("shfl.sync.idx.b32 %r0|%p0, %r1, %r2, %r3, %r4;"), "d p a b c membermask");
  EXPECT_EQ(places("@%p0 mov.b32 %r0, %r1;"), "none d a");
}

TEST(Operands, OfACallAreWhatItGivesAndTakes) {
  const std::string head =
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".func (.reg .b32 r) f(.reg .b32 a)\n{\n\tmov.b32 r, a;\n\tret;\n}\n"
      ".visible .entry k()\n{\n\t.reg .b32 %r<4>;\n\tcall (%r0), f, (%r1);\n\tret;\n}\n";
  const text::Checked checked = text::check(head);
  ASSERT_TRUE(checked.ok());
  const ir::Module& module = checked.document.module();
  const auto uses =
      registers_of(module, *module.functions[1], module.functions[1]->instructions[0]);
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_TRUE(uses[0].writes() && !uses[0].reads());
  EXPECT_TRUE(uses[1].reads() && !uses[1].writes());
  const Accesses callee(module, *module.functions[0]);
  ASSERT_EQ(callee.returned().size(), 1U);
  EXPECT_EQ(module.name(module.functions[0]->at(callee.returned()[0])), "r");
}

TEST(Operands, OfAnIllegalInstructionMayBeReadAndWritten) {
  const syntax::Document document =
      text::parse(std::string(kHeader) + "\tadd.s32 %r0, %rd1, %p2;\n\tret;\n}\n");
  const ir::Function& function = *document.module().functions[0];
  for (const OperandUse& use :
       registers_of(document.module(), function, function.instructions[0])) {
    EXPECT_TRUE(use.reads() && use.writes());
    EXPECT_EQ(use.place, nullptr);
  }
  EXPECT_EQ(effect_of(document.module(), function, function.instructions[0]), isa::Effect::Acts);
}

// Without a judge every instruction names the first form of its spelling.
TEST(Operands, NeedNoJudge) {
  const std::string text = std::string(kHeader) +
                           "\tmov.b64 {%r0, %r1}, %rd0;\n\tmov.b64 %rd1, {%r2, %r3};\n\tret;\n}\n";
  const syntax::Document document = text::parse(text);
  const ir::Function& function = *document.module().functions[0];
  const auto unpack = registers_of(document.module(), function, function.instructions[0]);
  const auto pack = registers_of(document.module(), function, function.instructions[1]);
  ASSERT_EQ(unpack.size(), 3U);
  ASSERT_EQ(pack.size(), 3U);
  EXPECT_TRUE(unpack[0].writes() && unpack[1].writes() && !unpack[2].writes());
  EXPECT_TRUE(pack[0].writes() && !pack[1].writes() && !pack[2].writes());
}

TEST(Operands, StandWhereTheyCanBeReplaced) {
  const Graph graph("\tst.global.v2.u32 [%rd0], {%r1, %r2};\n\tret;\n");
  const ir::Function& function = graph.function();
  for (const OperandUse& use :
       graph.accesses().at(graph.at("st.global.v2.u32 [%rd0], {%r1, %r2};"))) {
    EXPECT_EQ(function.operands[use.slot], use.operand);
  }
}

isa::Effect effect(std::string_view instruction) {
  const Graph graph('\t' + std::string(instruction) + "\n\tret;\n");
  return graph.accesses().effect(graph.at(instruction));
}

TEST(Effects, AreTheTables) {
  EXPECT_EQ(effect("add.s32 %r0, %r1, %r2;"), isa::Effect::None);
  EXPECT_EQ(effect("mov.u32 %r0, %tid.x;"), isa::Effect::None);
  EXPECT_EQ(effect("ld.global.u32 %r0, [%rd0];"), isa::Effect::Reads);
  EXPECT_EQ(effect("ld.global.nc.u32 %r0, [%rd0];"), isa::Effect::Reads);
  for (const std::string_view acts :
       {"ld.volatile.global.u32 %r0, [%rd0];", "ld.acquire.gpu.global.u32 %r0, [%rd0];",
        "st.global.u32 [%rd0], %r0;", "atom.global.add.u32 %r0, [%rd0], %r1;", "bar.sync 0;",
        "bar.red.popc.u32 %r0, 0, %p0;", "shfl.sync.bfly.b32 %r0, %r1, 1, 31, -1;",
        "vote.sync.ballot.b32 %r0, %p0, -1;", "add.cc.u32 %r0, %r1, %r2;",
        "addc.u32 %r0, %r1, %r2;", "elect.sync _|%p0, -1;", "alloca.u32 %r0, 64;", "trap;"}) {
    EXPECT_EQ(effect(acts), isa::Effect::Acts) << acts;
  }
}

// What gives nothing is there for what it does.
TEST(Effects, AreThereWhereNothingIsGiven) {
  for (const isa::Form& form : isa::all_forms()) {
    if (form.flow == isa::Flow::Next) continue;
    EXPECT_EQ(form.effect, isa::Effect::Acts) << form.syntax;
  }
}

}  // namespace
}  // namespace pyptx::analysis
