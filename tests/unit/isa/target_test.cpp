// SPDX-License-Identifier: Apache-2.0
#include "pyptx/isa/target.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "pyptx/isa/ids.h"
#include "pyptx/isa/type.h"

namespace pyptx::isa {
namespace {

TEST(Target, ParsesOnlyWhatTheTableLists) {
  EXPECT_EQ(Target::parse("sm_90a"), (Target{90, 'a'}));
  EXPECT_EQ(Target::parse("sm_100f"), (Target{100, 'f'}));
  for (const char* text : {"sm_90f", "sm_91", "compute_90", "sm_", "90a", ""}) {
    EXPECT_FALSE(Target::parse(text).has_value()) << text;
  }
}

TEST(Target, KnowsItsMinimumVersion) {
  EXPECT_EQ((Target{90, 'a'}).minimum_version(), (Version{8, 0}));
  EXPECT_EQ((Target{107, 'f'}).minimum_version(), (Version{9, 4}));
  EXPECT_EQ((Target{80, 0}).minimum_version().text(), "7.0");
}

TEST(TargetRule, PlainRulesAdmitLaterTargets) {
  const TargetRule rule{90, 0};
  EXPECT_FALSE(rule.admits({89, 0}));
  EXPECT_TRUE(rule.admits({90, 0}));
  EXPECT_TRUE(rule.admits({90, 'a'}));
  EXPECT_TRUE(rule.admits({120, 'f'}));
}

TEST(TargetRule, ArchitectureRulesAdmitOneTarget) {
  const TargetRule rule{90, 'a'};
  EXPECT_TRUE(rule.admits({90, 'a'}));
  EXPECT_FALSE(rule.admits({90, 0}));
  EXPECT_FALSE(rule.admits({100, 'a'}));
}

TEST(TargetRule, FamilyRulesAdmitLaterMembers) {
  const TargetRule rule{100, 'f'};
  EXPECT_TRUE(rule.admits({100, 'f'}));
  EXPECT_TRUE(rule.admits({103, 'a'}));
  EXPECT_TRUE(rule.admits({107, 'f'}));
  EXPECT_FALSE(rule.admits({100, 0}));
  EXPECT_FALSE(rule.admits({110, 'f'}));
  EXPECT_FALSE((TargetRule{103, 'f'}.admits({100, 'f'})));
}

TEST(Availability, SaysWhatItNeeds) {
  const TargetRule rules[] = {{100, 'f'}, {90, 0}};
  const Availability needs{{8, 6}, rules};
  EXPECT_EQ(needs.targets_text(), "sm_100f or sm_90 or later");
  EXPECT_TRUE((Availability{}.admits({75, 0})));
}

TEST(Table, VersionsAndTargetsAreSorted) {
  EXPECT_TRUE(std::ranges::is_sorted(all_versions()));
  EXPECT_EQ(all_versions().back(), (Version{9, 4}));
  EXPECT_GE(all_targets().size(), 26U);
}

TEST(Types, StorageIsARegisterType) {
  EXPECT_EQ(info(Type::Bf16).storage, Type::B16);
  EXPECT_EQ(info(Type::E4m3).storage, Type::B8);
  EXPECT_EQ(info(Type::F32x2).storage, Type::B64);
  for (std::size_t i = 1; i < kTypeCount; ++i) {
    const TypeInfo& type = info(static_cast<Type>(i));
    EXPECT_TRUE(info(type.storage).is_register) << type.name;
    EXPECT_EQ(find_type(type.name), static_cast<Type>(i));
  }
}

TEST(Types, ModifiersNameTypes) {
  EXPECT_EQ(type_of(Modifier::F32), Type::F32);
  EXPECT_FALSE(type_of(Modifier::Global).has_value());
}

TEST(SpecialRegisters, AreFoundByName) {
  const auto tid = find_special_register("%tid");
  ASSERT_TRUE(tid.has_value());
  EXPECT_TRUE(info(*tid).is_vector);
  EXPECT_EQ(info(SpecialRegister::Clock64).type, Type::U64);
  EXPECT_FALSE(find_special_register("%tid.x").has_value());
  EXPECT_FALSE(needs(SpecialRegister::ClusterCtarank).admits({80, 0}));
}

}  // namespace
}  // namespace pyptx::isa
