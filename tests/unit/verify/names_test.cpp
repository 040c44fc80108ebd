// SPDX-License-Identifier: Apache-2.0
//
// Names of modules that nobody read from a text. Edited ones:
// tests/unit/text/edited_names_test.cpp.
#include "pyptx/verify/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "one_function.h"
#include "pyptx/ir/name.h"
#include "pyptx/verify/module.h"

namespace pyptx::verify {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NamesTest : public OneFunctionTest {
 protected:
  NamesTest() { function_->name = module_.symbols.intern("k"); }

  std::vector<std::string> codes() const {
    std::vector<std::string> found;
    for (const auto& one : check_names(module_)) found.emplace_back(one.code());
    return found;
  }
  void mov(const ir::Operand& to, const ir::Operand& from) {
    const std::vector<ir::Operand> operands{to, from};
    function_->append(*isa::spell("mov.u32"), operands, diag::Loc::None);
  }
};

TEST_F(NamesTest, OfWhatWasDeclaredAreGood) {
  const ir::Operand declared = reg(isa::Type::U32);
  const ir::Operand pooled = ir::Operand::reg(
      function_->add_pooled(module_.symbols, "%r", isa::Type::U32, isa::Type::B32));
  mov(declared, pooled);
  EXPECT_THAT(codes(), IsEmpty());
}

TEST_F(NamesTest, ThatNothingDeclaresAreFound) {
  mov(reg(isa::Type::U32), ir::Operand::symbol(module_.symbols.intern("table")));
  EXPECT_THAT(codes(), ElementsAre("PTX0103"));
  module_.variables.emplace_back().name = module_.symbols.intern("table");
  EXPECT_THAT(codes(), IsEmpty());
}

// An authoring layer names the parts whose place matters; the others are there all the same.
TEST_F(NamesTest, AreLookedAtInPartsWithoutAPlace) {
  mov(reg(isa::Type::U32), ir::Operand::symbol(module_.symbols.intern("table")));
  module_.items.push_back({ir::ItemKind::File, 0});
  EXPECT_THAT(codes(), ElementsAre("PTX0103"));
  function_->linkage = ir::Linkage::Common;
  EXPECT_THAT(verify_module(module_), ::testing::SizeIs(1));
}

// What is printed as it stands may declare anything.
TEST_F(NamesTest, MayBeDeclaredInRawText) {
  mov(reg(isa::Type::U32), ir::Operand::symbol(module_.symbols.intern("table")));
  const auto raw = static_cast<std::uint32_t>(module_.symbols.intern(".shared .b32 table[8];"));
  function_->body.push_back({ir::StatementKind::Raw, raw});
  EXPECT_THAT(codes(), IsEmpty());
  function_->name = module_.symbols.intern("k k");
  EXPECT_THAT(codes(), ElementsAre("PTX0235"));
}

TEST_F(NamesTest, OfAPoolWhosePrefixEndsInDigits) {
  reg(isa::Type::U32);
  function_->registers[0].stem = module_.symbols.intern("%r13");
  function_->pools.push_back({module_.symbols.intern("%r1"), isa::Type::B32, 3});
  EXPECT_THAT(codes(), IsEmpty());  // %r10 to %r12
  function_->pools[0].count = 4;
  EXPECT_THAT(codes(), ElementsAre("PTX0104"));
}

TEST(Identifiers, AreTheManuals) {
  for (const std::string_view name : {"a", "%r1", "_x", "$L__BB0_2", "foo$1_", "Z9"}) {
    EXPECT_TRUE(ir::is_identifier(name)) << name;
  }
  for (const std::string_view name :
       {"", "%", "_", "$", "1a", "a.b", "a-b", "a%", "%%a", "WARP_SZ"}) {
    EXPECT_FALSE(ir::is_identifier(name)) << name;
  }
}

}  // namespace
}  // namespace pyptx::verify
