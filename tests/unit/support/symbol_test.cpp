// SPDX-License-Identifier: Apache-2.0
#include "pyptx/support/symbol.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace pyptx::support {
namespace {

TEST(SymbolTable, EqualTextsShareASymbol) {
  SymbolTable table;
  const Symbol a = table.intern("%r1");
  EXPECT_EQ(table.intern("%r1"), a);
  EXPECT_NE(table.intern("%r2"), a);
  EXPECT_EQ(table.find("%r1"), a);
  EXPECT_EQ(table.find("%r3"), Symbol::None);
  EXPECT_EQ(table.intern(""), Symbol::None);
}

TEST(SymbolTable, TextsSurviveGrowthAndMove) {
  SymbolTable table;
  std::vector<Symbol> symbols;
  for (int i = 0; i < 10000; ++i) symbols.push_back(table.intern("s" + std::to_string(i)));
  const SymbolTable moved = std::move(table);
  for (int i = 0; i < 10000; ++i) {
    EXPECT_EQ(moved.text(symbols[static_cast<std::size_t>(i)]), "s" + std::to_string(i));
  }
  EXPECT_EQ(moved.find("s42"), symbols[42]);
}

}  // namespace
}  // namespace pyptx::support
