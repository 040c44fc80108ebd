// SPDX-License-Identifier: Apache-2.0
#include "pyptx/analysis/liveness.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "graph.h"

namespace pyptx::analysis {
namespace {

/// The registers that are live at the begin of the block of an instruction.
std::string live(const Graph& graph, std::string_view instruction) {
  const Liveness liveness(graph.accesses(), graph.flow());
  const RegisterSet& set = liveness.live_in(graph.block(instruction));
  std::string names;
  for (std::uint32_t i = 0; i < graph.accesses().registers(); ++i) {
    if (!set.contains(ir::RegisterId{i})) continue;
    if (!names.empty()) names += ' ';
    names += graph.module().name(graph.function().at(ir::RegisterId{i}));
  }
  return names;
}

constexpr std::string_view kSum = R"(
	mov.u32 %r0, 0;
	mov.u32 %r1, 0;
LOOP:
	add.u32 %r1, %r1, %r0;
	add.u32 %r0, %r0, 1;
	mov.u32 %r2, %r0;
	setp.lt.u32 %p0, %r0, 8;
	@%p0 bra LOOP;
	st.global.u32 [%rd0], %r1;
	ret;
)";

TEST(Liveness, GoesAroundALoop) {
  const Graph graph(kSum);
  EXPECT_EQ(live(graph, "mov.u32 %r0, 0;"), "%rd0");
  EXPECT_EQ(live(graph, "add.u32 %r1, %r1, %r0;"), "%r0 %r1 %rd0");
  EXPECT_EQ(live(graph, "ret;"), "%r1 %rd0");
}

TEST(Liveness, AGuardedWriteKeepsWhatWasThere) {
  const Graph graph(
      "\tmov.u32 %r0, 1;\nL:\n\t@%p0 mov.u32 %r0, 2;\n\tst.global.u32 [%rd0], %r0;\n");
  EXPECT_EQ(live(graph, "@%p0 mov.u32 %r0, 2;"), "%r0 %p0 %rd0");
}

TEST(Liveness, AComponentKeepsTheOther) {
  const Graph graph(
      "\t.reg .v2 .b32 %v;\nL:\n\tmov.b32 %v.x, 1;\n\tst.global.u32 [%rd0], %v.y;\n\tret;\n");
  EXPECT_EQ(live(graph, "ret;"), "%v %rd0");
}

TEST(Liveness, AResultIsReadWhereTheFunctionEnds) {
  const text::Checked checked = text::check(
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".func (.reg .b32 r) f(.reg .b32 a)\n{\n\tmov.b32 r, a;\n\tret;\n}\n");
  ASSERT_TRUE(checked.ok());
  const ir::Module& module = checked.document.module();
  const ir::Function& function = *module.functions[0];
  const ControlFlow flow(function);
  const Accesses accesses(module, function);
  const Liveness liveness(accesses, flow);
  const auto r = function.find_register(module.symbols, "r").value();
  EXPECT_TRUE(liveness.live_out(kEntry).contains(r));
  EXPECT_FALSE(liveness.live_in(kEntry).contains(r));
  EXPECT_EQ(liveness.live_in(kEntry).size(), 1U);
}

TEST(Liveness, EverythingLivesWhereNobodyKnows) {
  const syntax::Document document =
      text::recover(std::string(kHeader) + "\tmov.u32 %r0, 1;\n\tfrobnicate 7;\n\tret;\n}\n");
  const ir::Function& function = *document.module().functions[0];
  const ControlFlow flow(function);
  const Accesses accesses(document.module(), function);
  const Liveness liveness(accesses, flow);
  EXPECT_TRUE(liveness.live_out(kEntry).contains(ir::RegisterId{0}));
}

}  // namespace
}  // namespace pyptx::analysis
