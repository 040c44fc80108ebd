// SPDX-License-Identifier: Apache-2.0
#include "pyptx/support/weak_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace pyptx::support {
namespace {

TEST(WeakTable, FindsWhatLives) {
  WeakTable<std::string, int> table;
  auto one = std::make_shared<int>(1);
  table.set("one", one);
  EXPECT_EQ(table.find("one"), one);
  EXPECT_EQ(table.find("two"), nullptr);
  one.reset();
  EXPECT_EQ(table.find("one"), nullptr);
  const auto again = std::make_shared<int>(2);
  table.set("one", again);
  EXPECT_EQ(table.find("one"), again);
}

TEST(WeakTable, TheDeadAreSweptOutAndTheLivingStay) {
  WeakTable<int, int> table;
  std::vector<std::shared_ptr<int>> living;
  std::size_t most = 0;
  for (int i = 0; i < 100000; ++i) {
    auto made = std::make_shared<int>(i);
    table.set(i, made);
    if (i % 1000 == 0) living.push_back(std::move(made));
    most = std::max(most, table.rows());
  }
  EXPECT_LE(most, 2 * (living.size() + 1));
  for (const auto& one : living) EXPECT_EQ(table.find(*one), one);
}

}  // namespace
}  // namespace pyptx::support
