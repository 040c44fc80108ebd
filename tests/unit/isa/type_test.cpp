// SPDX-License-Identifier: Apache-2.0
#include "pyptx/isa/type.h"

#include <gtest/gtest.h>

namespace pyptx::isa {
namespace {

TEST(Elements, HaveTheirWidthInMemory) {
  EXPECT_EQ(element(Type::E2m1).bits, 4U);
  EXPECT_EQ(element(Type::E3m2).bits, 6U);
  EXPECT_EQ(element(Type::Ue8m0).bits, 8U);
  EXPECT_EQ(element(Type::F16x2).bits, 32U);
  EXPECT_EQ(element(Type::Pred).bits, 8U) << "a bool";
  for (std::size_t i = 1; i < kTypeCount; ++i) {
    const auto type = static_cast<Type>(i);
    if (type == Type::Pred) continue;
    EXPECT_LE(element(type).bits, info(type).bits) << info(type).name;
  }
}

TEST(Elements, AreStoredAsWhatAFrameworkHas) {
  EXPECT_EQ(element(Type::B32).stored, Type::U32);
  EXPECT_EQ(element(Type::Tf32).stored, Type::F32);
  EXPECT_EQ(element(Type::Ue8m0).stored, Type::Ue8m0);
  EXPECT_EQ(element(Type::E2m1).stored, Type::None);
  for (std::size_t i = 1; i < kTypeCount; ++i) {
    const ElementInfo& info = element(static_cast<Type>(i));
    if (info.stored == Type::None) continue;
    EXPECT_EQ(element(info.stored).bits, info.bits);
    EXPECT_FALSE(element(info.stored).framework.empty());
  }
}

TEST(Elements, AreMovedByTensorMapsOfTheirWidth) {
  EXPECT_EQ(element(Type::Ue8m0).map, Type::U8);
  EXPECT_EQ(element(Type::S16).map, Type::U16);
  EXPECT_EQ(element(Type::E2m1).map, Type::None);
  for (std::size_t i = 1; i < kTypeCount; ++i) {
    const ElementInfo& info = element(static_cast<Type>(i));
    if (info.map == Type::None) continue;
    EXPECT_EQ(element(info.map).bits, info.bits);
  }
}

}  // namespace
}  // namespace pyptx::isa
