// SPDX-License-Identifier: Apache-2.0
#include "pyptx/support/copied.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "pyptx/support/symbol.h"

namespace pyptx::support {
namespace {

TEST(Owned, EachHasItsOwn) {
  Owned<std::string> one(std::make_unique<std::string>("a"));
  Owned<std::string> other = one;
  *other += "b";
  EXPECT_EQ(*one, "a");
  one = other;
  *other += "c";
  EXPECT_EQ(*one, "ab");
  const Owned<std::string> moved = std::move(one);
  EXPECT_EQ(*moved, "ab");
  static_assert(std::is_same_v<decltype(*moved), const std::string&>);
}

TEST(CopyOnWrite, AChangeReachesNobodyElse) {
  CopyOnWrite<std::string> one(std::make_unique<std::string>("a"));
  const std::string* const place = &*one;
  one.edit() += "b";
  EXPECT_EQ(&*one, place) << "nobody else has it";
  const CopyOnWrite<std::string> copy = one;
  auto snapshot = one.snapshot();
  EXPECT_EQ(&*copy, place) << "nothing is copied yet";
  one.edit() += "c";
  EXPECT_EQ(*one, "abc");
  EXPECT_EQ(*copy, "ab");
  EXPECT_EQ(*snapshot, "ab");
}

TEST(SymbolTable, ACopyHasTextsOfItsOwn) {
  auto table = std::make_unique<SymbolTable>();
  const Symbol name = table->intern("name");
  SymbolTable copy = *table;
  const Symbol later = copy.intern("later");
  EXPECT_EQ(table->find("later"), Symbol::None);
  table.reset();
  EXPECT_EQ(copy.text(name), "name");
  EXPECT_EQ(copy.find("name"), name);
  EXPECT_EQ(copy.text(later), "later");
  copy = SymbolTable();
  EXPECT_EQ(copy.find("name"), Symbol::None);
}

}  // namespace
}  // namespace pyptx::support
