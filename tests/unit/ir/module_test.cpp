// SPDX-License-Identifier: Apache-2.0
#include "pyptx/ir/module.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace pyptx::ir {
namespace {

TEST(Function, PooledRegistersCountPerPrefix) {
  Module module;
  Function function;
  const RegisterId a = function.add_pooled(module.symbols, "%r", isa::Type::U32, isa::Type::B32);
  const RegisterId f = function.add_pooled(module.symbols, "%f", isa::Type::F32, isa::Type::F32);
  const RegisterId b = function.add_pooled(module.symbols, "%r", isa::Type::S32, isa::Type::B32);
  EXPECT_EQ(module.name(function.at(a)), "%r0");
  EXPECT_EQ(module.name(function.at(b)), "%r1");
  EXPECT_EQ(module.name(function.at(f)), "%f0");
  EXPECT_EQ(function.at(b).type, isa::Type::S32);
  ASSERT_EQ(function.pools.size(), 2U);
  EXPECT_EQ(function.pools[0].count, 2U);
  EXPECT_EQ(function.pools[1].count, 1U);
}

TEST(Function, CompositesKeepTheirChildren) {
  Function function;
  const std::array children = {Operand::integer(1), Operand::integer(2)};
  const Operand vector = function.composite(OperandKind::Vector, children);
  const std::array base = {Operand::reg(RegisterId{3}), vector};
  const Operand address = function.composite(OperandKind::Address, base, 16);
  EXPECT_EQ(address.value, 16);
  ASSERT_EQ(function.children(address).size(), 2U);
  EXPECT_EQ(function.children(address)[1], vector);
  EXPECT_EQ(function.children(function.children(address)[1])[1], Operand::integer(2));
}

TEST(Variable, SizeAndAlignmentFollowTypeVectorAndCount) {
  Variable variable;
  variable.type = isa::Type::F32;
  EXPECT_EQ(variable.size(), 4U);
  EXPECT_EQ(variable.alignment(), 4U);
  variable.vector = 4;
  variable.count = 10;
  EXPECT_EQ(variable.size(), 160U);
  EXPECT_EQ(variable.alignment(), 16U);
  variable.align = 128;
  EXPECT_EQ(variable.alignment(), 128U);
  variable.count = 0;
  EXPECT_EQ(variable.size(), 0U);
}

TEST(Module, FindsAnEntryByNameAndTheOnlyOne) {
  Module module;
  const auto add = [&](const char* name, bool is_entry) {
    auto function = std::make_unique<Function>();
    function->name = module.symbols.intern(name);
    function->is_entry = is_entry;
    module.functions.push_back(std::move(function));
  };
  EXPECT_EQ(module.entry(), nullptr);
  add("device_function", false);
  add("one", true);
  ASSERT_NE(module.entry(), nullptr);
  EXPECT_EQ(module.text(module.entry()->name), "one");
  add("two", true);
  EXPECT_EQ(module.entry(), nullptr) << "two entries: a name is needed";
  EXPECT_EQ(module.entry("two"), module.functions[2].get());
  EXPECT_EQ(module.entry("device_function"), nullptr);
}

}  // namespace
}  // namespace pyptx::ir
