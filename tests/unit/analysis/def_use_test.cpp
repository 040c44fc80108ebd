// SPDX-License-Identifier: Apache-2.0
#include "pyptx/analysis/def_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

#include "graph.h"

namespace pyptx::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kSumLoop = R"(
	mov.u32 %r0, 0;
	mov.u32 %r1, 7;
LOOP:
	add.u32 %r0, %r0, %r1;
	setp.lt.u32 %p0, %r0, 8;
	@%p0 mov.u32 %r1, 3;
	@%p0 bra LOOP;
	mov.u32 %r1, %r0;
	st.global.u32 [%rd0], %r1;
	ret;
)";

class DefUseTest : public ::testing::Test {
 protected:
  Site site(std::string_view text, std::uint16_t index) const { return {graph_.at(text), index}; }

  Graph graph_{kSumLoop};
  DefUse chains_{graph_.accesses(), graph_.flow()};
};

TEST_F(DefUseTest, ListsWritesAndReads) {
  EXPECT_THAT(chains_.definitions(graph_.reg("%r0")),
              ElementsAre(site("mov.u32 %r0, 0;", 0), site("add.u32 %r0, %r0, %r1;", 0)));
  EXPECT_THAT(chains_.uses(graph_.reg("%p0")),
              ElementsAre(site("@%p0 mov.u32 %r1, 3;", OperandUse::kGuard),
                          site("@%p0 bra LOOP;", OperandUse::kGuard)));
}

TEST_F(DefUseTest, AReadSeesTheDefinitionsOfEveryWay) {
  const Reaching seen = chains_.reaching(graph_.reg("%r0"), graph_.at("add.u32 %r0, %r0, %r1;"));
  EXPECT_THAT(seen.definitions,
              ElementsAre(site("mov.u32 %r0, 0;", 0), site("add.u32 %r0, %r0, %r1;", 0)));
  EXPECT_FALSE(seen.from_entry);
}

// The guarded write may not have run.
TEST_F(DefUseTest, AGuardedDefinitionHidesNone) {
  const Reaching seen = chains_.reaching(graph_.reg("%r1"), graph_.at("add.u32 %r0, %r0, %r1;"));
  EXPECT_THAT(seen.definitions,
              ElementsAre(site("mov.u32 %r1, 7;", 0), site("@%p0 mov.u32 %r1, 3;", 0)));
}

TEST_F(DefUseTest, ADefinitionThatReplacesHidesTheOthers) {
  const Reaching seen =
      chains_.reaching(graph_.reg("%r1"), graph_.at("st.global.u32 [%rd0], %r1;"));
  EXPECT_THAT(seen.definitions, ElementsAre(site("mov.u32 %r1, %r0;", 0)));
}

TEST_F(DefUseTest, WhatNobodyWroteComesFromTheEntry) {
  const Reaching seen =
      chains_.reaching(graph_.reg("%rd0"), graph_.at("st.global.u32 [%rd0], %r1;"));
  EXPECT_THAT(seen.definitions, IsEmpty());
  EXPECT_TRUE(seen.from_entry);
}

TEST_F(DefUseTest, ADefinitionIsReadUntilItIsReplaced) {
  EXPECT_THAT(chains_.uses_of(graph_.reg("%r1"), graph_.at("mov.u32 %r1, 7;")),
              ElementsAre(site("add.u32 %r0, %r0, %r1;", 2)));
  EXPECT_THAT(chains_.uses_of(graph_.reg("%r0"), graph_.at("add.u32 %r0, %r0, %r1;")),
              ElementsAre(site("add.u32 %r0, %r0, %r1;", 1), site("setp.lt.u32 %p0, %r0, 8;", 1),
                          site("mov.u32 %r1, %r0;", 1)));
  EXPECT_THAT(chains_.uses_of(graph_.reg("%r0"), graph_.at("mov.u32 %r0, 0;")),
              ElementsAre(site("add.u32 %r0, %r0, %r1;", 1)));
}

}  // namespace
}  // namespace pyptx::analysis
