// SPDX-License-Identifier: Apache-2.0
#include "pyptx/isa/spelling.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "pyptx/isa/ids.h"
#include "pyptx/isa/type.h"
#include "suggest.h"

namespace pyptx::isa {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

const Spelling& legal(std::string_view text) {
  auto result = spell(text);
  EXPECT_TRUE(result.ok()) << text << ": " << (result ? "" : result.error().message());
  return **result;
}

diag::Diagnostic refused(std::string_view text) {
  auto result = spell(text);
  EXPECT_FALSE(result.ok()) << text;
  return result ? diag::Diagnostic{} : result.error();
}

std::vector<std::string> replacements(const diag::Diagnostic& diagnostic) {
  std::vector<std::string> texts;
  for (const diag::FixIt& fixit : diagnostic->fixits) texts.push_back(fixit.replacement);
  return texts;
}

TEST(Spelling, IsInterned) {
  const Spelling& a = legal("ld.global.f32");
  const std::string_view words[] = {"global", "f32"};
  EXPECT_EQ(&a, *spell("ld", words));
  EXPECT_NE(&a, &legal("ld.global.u32"));
}

TEST(Spelling, IsInternedOnceByManyThreads) {
  std::vector<const Spelling*> found(8);
  {
    std::vector<std::jthread> threads;
    for (auto& slot : found) threads.emplace_back([&slot] { slot = *spell("st.shared.v2.f64"); });
  }
  for (const Spelling* spelling : found) EXPECT_EQ(spelling, found[0]);
}

TEST(Spelling, BindsSlotsWhateverTheOrder) {
  const Candidate& manual = legal("ld.global.v4.f32").candidates[0];
  const Candidate& mixed = legal("ld.v4.f32.global").candidates[0];
  EXPECT_TRUE(manual.in_manual_order);
  EXPECT_FALSE(mixed.in_manual_order);
  for (const Candidate* candidate : {&manual, &mixed}) {
    EXPECT_EQ(candidate->slot(Slot::Ss), Modifier::Global);
    EXPECT_EQ(candidate->slot(Slot::Vec), Modifier::V4);
    EXPECT_EQ(candidate->slot(Slot::Type), Modifier::F32);
    EXPECT_EQ(candidate->operands[0].vector, 4);
    EXPECT_EQ(candidate->operands[0].type, Type::F32);
    EXPECT_EQ(candidate->operands[1].state_space, Modifier::Global);
    EXPECT_EQ(candidate->operands[1].space, Slot::Ss);
  }
}

TEST(Spelling, KeepsTheOrderOfTypes) {
  const Candidate& cvt = legal("cvt.rn.f32.s32").candidates[0];
  EXPECT_EQ(cvt.slot(Slot::Dtype), Modifier::F32);
  EXPECT_EQ(cvt.slot(Slot::Atype), Modifier::S32);
  EXPECT_EQ(refused("cvt.rn.s32.f32").kind, diag::Kind::IllegalSpelling);
}

TEST(Spelling, CompoundOpcodesStayTogether) {
  legal("mbarrier.try_wait.parity.shared::cta.b64");
  EXPECT_EQ(refused("mbarrier.shared::cta.try_wait.b64").kind, diag::Kind::IllegalSpelling);
  EXPECT_EQ(refused("wgmma.sync.fence.aligned").kind, diag::Kind::IllegalSpelling);
}

TEST(Spelling, ResolvesDerivedOperands) {
  EXPECT_EQ(legal("mul.wide.s16").candidates[0].operands[0].type, Type::S32);
  const Candidate& mma =
      legal("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16").candidates[0];
  EXPECT_EQ(mma.operands[0].vector, 64);
  EXPECT_EQ(mma.operands[0].role, Role::Both);
  const Candidate& tma =
      legal("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group").candidates[0];
  EXPECT_EQ(tma.operands[0].parts[1].vector, 3);
  EXPECT_EQ(tma.operands[1].state_space, Modifier::SharedCta);
}

TEST(Spelling, ConditionalOperandsFollowTheirModifier) {
  EXPECT_EQ(legal("ld.global.u32").candidates[0].operands.size(), 2U);
  EXPECT_EQ(legal("ld.global.L2::cache_hint.u32").candidates[0].operands.size(), 3U);
}

TEST(Spelling, CollectsNeeds) {
  const Candidate& cluster = legal("ld.relaxed.cluster.shared::cluster.u32").candidates[0];
  Version version{1, 0};
  for (const Availability& needs : cluster.needs) version = std::max(version, needs.version);
  EXPECT_EQ(version, (Version{7, 8}));
  bool admits_ampere = true;
  for (const Availability& needs : cluster.needs) admits_ampere &= needs.admits({80, 0});
  EXPECT_FALSE(admits_ampere);
}

TEST(Spelling, UnknownOpcodeSuggestsNeighbours) {
  const diag::Diagnostic error = refused("mbarier.init.b64");
  EXPECT_EQ(error.kind, diag::Kind::UnknownOpcode);
  EXPECT_EQ(error.focus.part, diag::Focus::Part::Opcode);
  EXPECT_THAT(replacements(error), Contains("mbarrier"));
}

TEST(Spelling, UnknownModifierIsNamedWithRepairs) {
  const diag::Diagnostic error = refused("ld.globl.f32");
  EXPECT_EQ(error.kind, diag::Kind::UnknownModifier);
  EXPECT_EQ(error.focus.part, diag::Focus::Part::Modifier);
  EXPECT_EQ(error.focus.index, 0);
  ASSERT_FALSE(error->fixits.empty());
  EXPECT_EQ(error->fixits[0].replacement, "ld.global.f32");
  EXPECT_LE(error->fixits.size(), 3U);
  EXPECT_THAT(error->manual, HasSubstr("ld"));
}

TEST(Spelling, MissingTypeIsOfferedInItsPlace) {
  const diag::Diagnostic error = refused("add");
  EXPECT_EQ(error.kind, diag::Kind::IllegalSpelling);
  EXPECT_THAT(error->notes, Contains(HasSubstr("missing: .type")));
  for (const diag::FixIt& fixit : error->fixits) EXPECT_TRUE(spell(fixit.replacement).ok());
}

TEST(Spelling, BrokenRuleNamesTheRuleAndTheModifier) {
  const diag::Diagnostic error = refused("sub.sat.u32");
  EXPECT_EQ(error.kind, diag::Kind::CombinationRule);
  EXPECT_EQ(error.focus.index, 0);
  EXPECT_THAT(error.message(), HasSubstr(".sat applies to .s32 only"));
  EXPECT_THAT(replacements(error), Contains("sub.sat.s32"));
}

TEST(Spelling, AMissingRoundingIsOffered) {
  EXPECT_THAT(replacements(refused("cvt.f16.f32")), Contains("cvt.rn.f16.f32"));
  EXPECT_THAT(replacements(refused("mul.u32")), Contains("mul.lo.u32"));
  EXPECT_THAT(refused("mbarrier.try_wait.parity.b32")->manual, HasSubstr("try-wait"));
}

TEST(Spelling, AFewWordsMayStandTwice) {
  EXPECT_TRUE(legal("bra.uni.uni").is_doubled);
  EXPECT_TRUE(legal("add.sat.sat.s32").is_doubled);
  EXPECT_FALSE(legal("add.sat.s32").is_doubled);
  EXPECT_EQ(legal("add.sat.sat.s32").text, "add.sat.sat.s32");
  EXPECT_EQ(refused("ld.global.global.f32").kind, diag::Kind::IllegalSpelling);
  EXPECT_EQ(refused("add.ftz.ftz.f32").kind, diag::Kind::IllegalSpelling);
}

TEST(Spelling, AVerdictComesWithoutTheSearchForOthers) {
  for (const std::string_view bad : {"ld.global.f99", "ld.global", "sub.sat.u32", "lod.f32"}) {
    const auto brief = spell(bad, Detail::Verdict);
    const auto full = spell(bad, Detail::Full);
    ASSERT_FALSE(brief.ok());
    ASSERT_FALSE(full.ok());
    EXPECT_EQ(brief.error().kind, full.error().kind);
    EXPECT_EQ(brief.error().message(), full.error().message());
    EXPECT_EQ(brief.error().focus.index, full.error().focus.index);
    EXPECT_TRUE(brief.error()->fixits.empty());
    EXPECT_FALSE(full.error()->fixits.empty()) << bad;
  }
}

TEST(Spelling, OnlyWhatWasSpelledIsFound) {
  EXPECT_EQ(find_spelling("ld.weak.global.v2.f64.cg"), nullptr);
  const Spelling& made = legal("ld.weak.global.v2.f64.cg");
  EXPECT_EQ(find_spelling("ld.weak.global.v2.f64.cg"), &made);
  EXPECT_FALSE(spell("ld.weak.global.v3.f64").ok());
  EXPECT_EQ(find_spelling("ld.weak.global.v3.f64"), nullptr);
}

TEST(Spelling, ManyAreKept) {
  const std::string_view orders[] = {"global", "v4", "f32", "weak", "cg"};
  std::vector<std::string_view> words(std::begin(orders), std::end(orders));
  std::ranges::sort(words);
  std::vector<const Spelling*> made;
  do {
    made.push_back(*spell("ld", words));
  } while (std::ranges::next_permutation(words).found);
  EXPECT_EQ(made.size(), 120U);
  for (const Spelling* spelling : made) EXPECT_EQ(find_spelling(spelling->text), spelling);
}

TEST(Spelling, HostileWordsCostLittle) {
  std::string many = "cvt";
  for (int i = 0; i < 2000; ++i) many += ".f32";
  EXPECT_EQ(refused(many).kind, diag::Kind::IllegalSpelling);
  EXPECT_EQ(refused("ld." + std::string(100000, 'x')).kind, diag::Kind::UnknownModifier);
  EXPECT_EQ(refused(std::string(100000, 'x')).kind, diag::Kind::UnknownOpcode);
}

}  // namespace
}  // namespace pyptx::isa
