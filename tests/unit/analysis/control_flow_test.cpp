// SPDX-License-Identifier: Apache-2.0
#include "pyptx/analysis/control_flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "graph.h"

namespace pyptx::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::string_view kLoop = R"(
	mov.u32 %r0, 0;
LOOP:
	add.u32 %r0, %r0, 1;
	setp.lt.u32 %p0, %r0, 8;
	@%p0 bra LOOP;
	setp.eq.u32 %p1, %r0, 9;
	@%p1 bra ODD;
	mov.u32 %r1, 1;
	bra.uni END;
ODD:
	mov.u32 %r1, 2;
END:
	st.global.u32 [%rd0], %r1;
	ret;
)";

TEST(ControlFlow, HasTheEdgesOfBranches) {
  const Graph graph(kLoop);
  const ControlFlow& flow = graph.flow();
  EXPECT_TRUE(flow.is_complete());
  const BlockId loop = graph.block("add.u32 %r0, %r0, 1;");
  const BlockId test = graph.block("setp.eq.u32 %p1, %r0, 9;");
  const BlockId even = graph.block("mov.u32 %r1, 1;");
  const BlockId odd = graph.block("mov.u32 %r1, 2;");
  const BlockId end = graph.block("ret;");
  EXPECT_EQ(graph.block("mov.u32 %r0, 0;"), kEntry);
  EXPECT_EQ(flow.blocks().size(), 6U);
  EXPECT_THAT(flow.at(kEntry).successors, ElementsAre(loop));
  EXPECT_THAT(flow.at(loop).successors, UnorderedElementsAre(loop, test));
  EXPECT_THAT(flow.at(test).successors, UnorderedElementsAre(even, odd));
  EXPECT_THAT(flow.at(even).successors, ElementsAre(end));
  EXPECT_THAT(flow.at(odd).successors, ElementsAre(end));
  EXPECT_THAT(flow.at(end).successors, IsEmpty());
  EXPECT_TRUE(flow.at(end).leaves);
  EXPECT_FALSE(flow.at(even).leaves);
  EXPECT_THAT(flow.at(end).predecessors, UnorderedElementsAre(even, odd));
}

TEST(ControlFlow, HasDominators) {
  const Graph graph(kLoop);
  const ControlFlow& flow = graph.flow();
  const BlockId loop = graph.block("add.u32 %r0, %r0, 1;");
  const BlockId test = graph.block("setp.eq.u32 %p1, %r0, 9;");
  const BlockId odd = graph.block("mov.u32 %r1, 2;");
  const BlockId end = graph.block("ret;");
  EXPECT_EQ(flow.dominator(kEntry), kNoBlock);
  EXPECT_EQ(flow.dominator(loop), kEntry);
  EXPECT_EQ(flow.dominator(end), test);
  EXPECT_TRUE(flow.dominates(loop, end));
  EXPECT_TRUE(flow.dominates(end, end));
  EXPECT_FALSE(flow.dominates(odd, end));
  EXPECT_FALSE(flow.dominates(end, odd));
}

TEST(ControlFlow, OrdersBlocksBeforeTheirSuccessors) {
  const Graph graph(kLoop);
  const auto order = graph.flow().reverse_postorder();
  ASSERT_EQ(order.size(), 6U);
  EXPECT_EQ(order.front(), kEntry);
  EXPECT_EQ(order.back(), graph.block("ret;"));
}

TEST(ControlFlow, KnowsWhatNothingReaches) {
  const Graph graph("\tret;\n\tmov.u32 %r0, 1;\nL:\n\tmov.u32 %r0, 2;\n\tbra L;\n");
  const ControlFlow& flow = graph.flow();
  EXPECT_TRUE(flow.is_reachable(kEntry));
  EXPECT_FALSE(flow.is_reachable(graph.block("mov.u32 %r0, 1;")));
  EXPECT_FALSE(flow.is_reachable(graph.block("bra L;")));
  EXPECT_EQ(flow.dominator(graph.block("bra L;")), kNoBlock);
  EXPECT_FALSE(flow.dominates(kEntry, graph.block("bra L;")));
}

TEST(ControlFlow, AGuardedReturnGoesOn) {
  const Graph graph("\t@%p0 ret;\n\tmov.u32 %r0, 1;\n\texit;\n");
  EXPECT_TRUE(graph.flow().at(kEntry).leaves);
  EXPECT_THAT(graph.flow().at(kEntry).successors, ElementsAre(graph.block("exit;")));
}

TEST(ControlFlow, TheEndOfTheBodyLeaves) {
  const Graph graph("\tmov.u32 %r0, 1;\n");
  EXPECT_TRUE(graph.flow().at(kEntry).leaves);
  EXPECT_THAT(graph.flow().at(kEntry).successors, IsEmpty());
}

TEST(ControlFlow, ATableBranchGoesToEachTarget) {
  const Graph graph(
      "TABLE: .branchtargets A, B, A;\n\tbrx.idx %r0, TABLE;\nA:\n\tmov.u32 %r1, 1;\n\tret;\n"
      "B:\n\tmov.u32 %r1, 2;\n\tret;\n");
  EXPECT_TRUE(graph.flow().is_complete());
  EXPECT_THAT(graph.flow().at(kEntry).successors,
              UnorderedElementsAre(graph.block("mov.u32 %r1, 1;"), graph.block("mov.u32 %r1, 2;")));
}

TEST(ControlFlow, ACallComesBack) {
  const text::Checked checked = text::check(
      ".version 8.0\n.target sm_90\n.address_size 64\n.func f()\n{\n\tret;\n}\n"
      ".visible .entry k()\n{\n\tcall f;\n\tret;\n}\n");
  ASSERT_TRUE(checked.ok());
  const ControlFlow flow(*checked.document.module().functions[1]);
  EXPECT_EQ(flow.blocks().size(), 1U);
}

TEST(ControlFlow, OfAFunctionThatNobodyCanReadIsNotComplete) {
  const syntax::Document document =
      text::recover(std::string(kHeader) + "\tfrobnicate %r0;\n\tret;\n}\n");
  EXPECT_FALSE(ControlFlow(*document.module().functions[0]).is_complete());
  const syntax::Document declared =
      text::parse(".version 8.0\n.target sm_90\n.address_size 64\n.extern .func f();\n");
  EXPECT_TRUE(ControlFlow(*declared.module().functions[0]).blocks().empty());
}

TEST(ControlFlow, NamesWhereInstructionsGoIn) {
  const Graph graph(kLoop);
  const ir::Function& function = graph.function();
  const BlockId loop = graph.block("add.u32 %r0, %r0, 1;");
  EXPECT_EQ(graph.flow().begin_of(function, loop), graph.at("add.u32 %r0, %r0, 1;"));
  EXPECT_EQ(graph.flow().end_of(function, loop), graph.at("@%p0 bra LOOP;"));
  EXPECT_EQ(graph.flow().begin_of(function, kEntry), graph.at("mov.u32 %r0, 0;"));
  EXPECT_EQ(graph.flow().end_of(function, kEntry), graph.at("mov.u32 %r0, 0;") + 1);
}

}  // namespace
}  // namespace pyptx::analysis
