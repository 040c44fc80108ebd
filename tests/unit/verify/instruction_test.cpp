// SPDX-License-Identifier: Apache-2.0
#include "pyptx/verify/instruction.h"

#include <gmock/gmock.h>

#include "allocations.h"
#include "one_function.h"
#include "pyptx/isa/ids.h"

namespace pyptx::verify {
namespace {

using diag::Kind;
using ir::Operand;
using isa::Type;
using ::testing::HasSubstr;

/// A module with one function, and one-line ways to put an instruction into it.
class InstructionJudgeTest : public OneFunctionTest {
 protected:
  Operand address(Operand base) {
    return function_->composite(ir::OperandKind::Address, std::array{base});
  }
  Operand vector(Type type, std::size_t count) {
    std::vector<Operand> elements;
    for (std::size_t i = 0; i < count; ++i) elements.push_back(reg(type));
    return function_->composite(ir::OperandKind::Vector, elements);
  }
  Operand variable(std::string_view name, ir::Space space) {
    ir::Variable variable;
    variable.name = module_.symbols.intern(name);
    variable.space = space;
    variable.type = Type::B8;
    module_.variables.push_back(variable);
    return Operand::symbol(variable.name);
  }
  ir::Instruction& add(std::string_view spelling, std::initializer_list<Operand> operands) {
    auto found = isa::spell(spelling);
    EXPECT_TRUE(found.ok()) << spelling;
    return function_->append(*found, std::span(operands.begin(), operands.size()), diag::Loc::None);
  }
  diag::Status judge(std::string_view spelling, std::initializer_list<Operand> operands) {
    return judge_.judge(module_, *function_, add(spelling, operands));
  }
  void expect_ok(std::string_view spelling, std::initializer_list<Operand> operands) {
    const diag::Status status = judge(spelling, operands);
    EXPECT_TRUE(status.ok()) << (status ? "" : status.error().message());
  }
  diag::Diagnostic expect_refused(Kind kind, std::string_view spelling,
                                  std::initializer_list<Operand> operands) {
    const diag::Status status = judge(spelling, operands);
    EXPECT_FALSE(status.ok()) << spelling;
    if (status) return {};
    EXPECT_EQ(status.error().kind, kind) << status.error().message();
    return status.error();
  }

  InstructionJudge judge_;
};

TEST_F(InstructionJudgeTest, ChoosesTheFormByOperands) {
  ir::Instruction& pack = add("mov.b64", {reg(Type::B64), vector(Type::B32, 2)});
  ASSERT_TRUE(judge_.judge(module_, *function_, pack).ok());
  EXPECT_EQ(pack.form().operands[1].vector, 2);
  ir::Instruction& move = add("mov.b64", {reg(Type::B64), reg(Type::F64)});
  ASSERT_TRUE(judge_.judge(module_, *function_, move).ok());
  EXPECT_EQ(move.form().operands[1].vector, 0);
}

// What ptxas 13.4 says of each of these values.
TEST_F(InstructionJudgeTest, SharesAndPartsOfACachePolicy) {
  const Operand policy = reg(Type::B64);
  const auto share = [&](Operand fraction) {
    return judge("createpolicy.fractional.L2::evict_last.b64", {policy, fraction}).ok();
  };
  EXPECT_TRUE(share(Operand::f32(1.0F)));
  EXPECT_TRUE(share(Operand::f64(1.00000001)));  // one, once it has 32 bits
  EXPECT_FALSE(share(Operand::f64(1.0000001)));
  EXPECT_FALSE(share(Operand::f32(0.0F)));
  EXPECT_FALSE(share(Operand::f64(1e-46)));  // zero, once it has 32 bits
  EXPECT_FALSE(share(Operand::f32(-1.0F)));
  EXPECT_TRUE(share(reg(Type::F32)));
  const Operand at = address(reg(Type::B64));
  const auto part = [&](Operand primary, Operand total) {
    return judge("createpolicy.range.L2::evict_last.b64", {policy, at, primary, total}).ok();
  };
  EXPECT_TRUE(part(Operand::integer(4096), Operand::integer(4096)));
  EXPECT_FALSE(part(Operand::integer(8192), Operand::integer(4096)));
  EXPECT_TRUE(part(Operand::integer(1), Operand::integer(-1)));
  EXPECT_FALSE(part(Operand::integer(-1), Operand::integer(1)));
  EXPECT_TRUE(part(Operand::integer(0x1'0000'0001), Operand::integer(1)));
  EXPECT_TRUE(part(Operand::integer(5), reg(Type::U32)));
  const diag::Diagnostic refusal =
      expect_refused(Kind::ImmediateRange, "createpolicy.range.L2::evict_last.b64",
                     {policy, at, Operand::integer(2), Operand::integer(1)});
  EXPECT_EQ(refusal.focus.index, 2);
  EXPECT_THAT(refusal.message(), HasSubstr("within 0 to the next operand, 1, got 2"));
}

TEST_F(InstructionJudgeTest, TypesFollowPtxas) {
  expect_ok("add.u32", {reg(Type::S32), reg(Type::B32), reg(Type::U32)});
  expect_ok("add.bf16", {reg(Type::B16), reg(Type::B16), reg(Type::B16)});
  expect_ok("ld.global.u8", {reg(Type::B32), address(reg(Type::U64))});
  expect_ok("st.global.b32", {address(reg(Type::U64)), reg(Type::F32)});
  expect_refused(Kind::OperandType, "add.bf16", {reg(Type::F16), reg(Type::B16), reg(Type::B16)});
  expect_refused(Kind::OperandType, "add.u32", {reg(Type::F32), reg(Type::B32), reg(Type::U32)});
  expect_refused(Kind::OperandType, "ld.global.f32", {reg(Type::F64), address(reg(Type::U64))});
  expect_refused(Kind::OperandType, "st.global.u32", {address(reg(Type::U64)), reg(Type::B16)});
}

TEST_F(InstructionJudgeTest, WhatTheAuthorMeantCountsWhereTheDeclarationSaysOnlyBits) {
  const auto pooled = [&](Type author) {
    return Operand::reg(function_->add_pooled(module_.symbols, "%r", author, Type::B32));
  };
  const Operand f = reg(Type::F32);
  expect_ok("add.f32", {f, f, pooled(Type::B32)});
  expect_ok("mov.b32", {f, pooled(Type::U32)});
  const auto error = expect_refused(Kind::OperandType, "add.f32", {f, f, pooled(Type::U32)});
  EXPECT_THAT(error.message(), HasSubstr(".f32, got .u32"));
  expect_refused(Kind::OperandType, "st.global.f32", {address(reg(Type::U64)), pooled(Type::S32)});
}

TEST_F(InstructionJudgeTest, TheFirstWrongOperandIsInFocus) {
  const auto error = expect_refused(Kind::OperandType, "add.f32",
                                    {reg(Type::F32), reg(Type::F32), reg(Type::F64)});
  EXPECT_EQ(error.focus.part, diag::Focus::Part::Operand);
  EXPECT_EQ(error.focus.index, 2);
  EXPECT_EQ(error.message(), "operand 3 (b) of 'add.f32' must have type .f32, got .f64 (%x2)");
  EXPECT_EQ(error->manual, "floating-point-instructions-add");
}

TEST_F(InstructionJudgeTest, CountsNameWhatTheFormsTake) {
  const auto error = expect_refused(Kind::OperandCount, "bar.sync", {});
  EXPECT_EQ(error.message(), "'bar.sync' takes 1 or 2 operands, got 0");
  expect_refused(Kind::OperandCount, "ld.global.L2::cache_hint.u32",
                 {reg(Type::U32), address(reg(Type::U64))});
}

TEST_F(InstructionJudgeTest, KindsOfOperands) {
  expect_ok("setp.eq.f32", {reg(Type::Pred), reg(Type::F32), Operand::f32(1.0F)});
  expect_refused(Kind::OperandKind, "setp.eq.f32",
                 {reg(Type::Pred), reg(Type::F32), Operand::integer(1)});
  expect_refused(Kind::OperandKind, "setp.eq.u32",
                 {reg(Type::B32), reg(Type::B32), Operand::integer(1)});
  expect_refused(Kind::OperandKind, "ld.global.u32", {reg(Type::U32), reg(Type::U64)});
  expect_refused(Kind::OperandKind, "bra", {reg(Type::B32)});
}

TEST_F(InstructionJudgeTest, VectorsHaveTheLengthOfTheModifier) {
  expect_ok("ld.global.v4.f32", {vector(Type::F32, 4), address(reg(Type::U64))});
  const auto error = expect_refused(Kind::OperandVector, "ld.global.v4.f32",
                                    {vector(Type::F32, 2), address(reg(Type::U64))});
  EXPECT_THAT(error.message(), HasSubstr("must have 4 elements, got 2"));
  expect_refused(Kind::OperandVector, "ld.global.v2.f32",
                 {reg(Type::F32), address(reg(Type::U64))});
}

TEST_F(InstructionJudgeTest, LiteralsStayInRange) {
  expect_ok("setmaxnreg.inc.sync.aligned.u32", {Operand::integer(232)});
  expect_refused(Kind::ImmediateRange, "setmaxnreg.inc.sync.aligned.u32", {Operand::integer(233)});
  const auto error =
      expect_refused(Kind::ImmediateRange, "cp.async.ca.shared.global",
                     {address(reg(Type::U32)), address(reg(Type::U64)), Operand::integer(12)});
  EXPECT_THAT(error.message(), HasSubstr("{4, 8, 16}, got 12"));
}

TEST_F(InstructionJudgeTest, AddressesFitTheirSpace) {
  expect_ok("ld.shared.u32", {reg(Type::U32), address(reg(Type::U32))});
  expect_refused(Kind::OperandType, "ld.global.u32", {reg(Type::U32), address(reg(Type::U32))});
  expect_refused(Kind::OperandType, "ld.global.u32", {reg(Type::U32), address(reg(Type::F64))});
  const Operand tile = variable("tile", ir::Space::Shared);
  expect_ok("ld.shared.u32", {reg(Type::U32), address(tile)});
  expect_refused(Kind::AddressSpace, "ld.global.u32", {reg(Type::U32), address(tile)});
  expect_ok("mov.u32", {reg(Type::U32), tile});
  const Operand weights = variable("weights", ir::Space::Global);
  expect_ok("mov.u64", {reg(Type::U64), weights});
  expect_refused(Kind::OperandType, "mov.u32", {reg(Type::U32), weights});
}

TEST_F(InstructionJudgeTest, TensorAddressesHaveOneCoordinatePerDimension) {
  const auto load = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes";
  const auto tensor = [&](std::size_t dimensions) {
    const std::array parts{reg(Type::U64), vector(Type::S32, dimensions)};
    return function_->composite(ir::OperandKind::Address, parts);
  };
  expect_ok(load, {address(reg(Type::U32)), tensor(2), address(reg(Type::U32))});
  expect_refused(Kind::OperandVector, load,
                 {address(reg(Type::U32)), tensor(3), address(reg(Type::U32))});
}

TEST_F(InstructionJudgeTest, GuardsArePredicates) {
  ir::Instruction& instruction = add("ret", {});
  instruction.guard = reg(Type::B32).register_id();
  const diag::Status status = judge_.judge(module_, *function_, instruction);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, Kind::GuardType);
  EXPECT_EQ(status.error().focus.part, diag::Focus::Part::Guard);
}

TEST_F(InstructionJudgeTest, WgmmaIsForHopperAlone) {
  expect_ok("wgmma.fence.sync.aligned", {});
  module_.target = {100, 'a'};
  const auto error = expect_refused(Kind::TargetTooLow, "wgmma.fence.sync.aligned", {});
  EXPECT_EQ(error.message(), "'wgmma.fence.sync.aligned' needs sm_90a, the target is sm_100a");
}

TEST_F(InstructionJudgeTest, PinnedVersionsAreKept) {
  module_.version = {7, 8};
  const auto error = expect_refused(Kind::VersionTooLow, "fence.proxy.async", {});
  EXPECT_EQ(error.message(), "'fence.proxy.async' needs PTX ISA 8.0, the module says 7.8");
}

TEST_F(InstructionJudgeTest, TheLowestVersionIsWorkedOut) {
  InstructionJudge lowest(VersionMode::Lowest);
  module_.target = {90, 0};
  module_.version = {1, 0};
  ASSERT_TRUE(lowest.judge(module_, *function_, add("ret", {})).ok());
  EXPECT_EQ(lowest.required_version(), (isa::Version{7, 8}));
  ASSERT_TRUE(lowest.judge(module_, *function_, add("fence.proxy.async", {})).ok());
  EXPECT_EQ(lowest.required_version(), (isa::Version{8, 0}));
}

TEST_F(InstructionJudgeTest, SpecialRegistersHaveTargetsToo) {
  const Operand rank = Operand::special(isa::SpecialRegister::ClusterCtarank, 0);
  expect_ok("mov.u32", {reg(Type::U32), rank});
  expect_refused(Kind::OperandKind, "mov.u32",
                 {reg(Type::U32), Operand::special(isa::SpecialRegister::Tid, 0)});
  module_.target = {80, 0};
  const auto error = expect_refused(Kind::TargetTooLow, "mov.u32", {reg(Type::U32), rank});
  EXPECT_EQ(error.focus.index, 1);
}

TEST_F(InstructionJudgeTest, SuccessAllocatesNothing) {
  ir::Instruction& mma =
      add("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16",
          {vector(Type::F32, 32), reg(Type::B64), reg(Type::B64), reg(Type::Pred),
           Operand::integer(1), Operand::integer(1), Operand::integer(0), Operand::integer(0)});
  const long before = allocations_so_far();
  const bool is_ok = judge_.judge(module_, *function_, mma).ok();
  EXPECT_EQ(allocations_so_far(), before);
  EXPECT_TRUE(is_ok);
}

}  // namespace
}  // namespace pyptx::verify
