// SPDX-License-Identifier: Apache-2.0
#include "pyptx/build/tracer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "pyptx/build/memory.h"
#include "pyptx/build/operators.h"
#include "trace_support.h"

namespace pyptx::build {
namespace {

using isa::Type;
using testing::HasSubstr;
using testing::Not;

class TracerTest : public TraceTest {};

TEST_F(TracerTest, ARefusedInstructionIsTakenBackWhole) {
  const Reg wide = tracer.reg(Type::U64);
  const Reg narrow = tracer.reg(Type::U32);
  tracer.emit("add.u32", {narrow, wide, ir::Operand::integer(1)});
  ASSERT_TRUE(tracer.has_error());
  EXPECT_TRUE(tracer.function().instructions.empty());
  EXPECT_TRUE(tracer.function().body.empty());
  tracer.emit("mov.u32", {narrow, ir::Operand::integer(1)});  // ignored: the error is sticky
  EXPECT_TRUE(tracer.function().instructions.empty());
  EXPECT_EQ(tracer.take_error()->kind, diag::Kind::OperandType);
  tracer.emit("mov.u32", {narrow, ir::Operand::integer(1)});
  EXPECT_EQ(tracer.function().instructions.size(), 1U);
}

TEST_F(TracerTest, ASymbolThatNothingDeclaresIsRefusedAtTheEnd) {
  tracer.emit("mov.u64", {tracer.reg(Type::U64), tracer.symbol("tabel")});
  const auto finished = tracer.finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().kind, diag::Kind::UnknownSymbol);
  EXPECT_EQ(finished.error().focus.index, 1U);
}

TEST_F(TracerTest, AFinishedModuleIsLeftAlone) {
  const Reg held = tracer.reg(Type::U32);
  tracer.emit("mov.u32", {held, ir::Operand::integer(1)});
  const auto finished = tracer.finish();
  ASSERT_TRUE(finished);
  const std::size_t operands = (*finished)->functions.front()->operands.size();
  EXPECT_EQ((*finished).use_count(), 2) << "one for us, one for who asks the tracer";
  EXPECT_EQ(tracer.type_of(held.id), Type::U32);
  tracer.vector(std::array<ir::Operand, 1>{ir::Operand::integer(1)});
  tracer.emit("bar.sync", {ir::Operand::integer(0)});
  EXPECT_EQ(tracer.take_error()->kind, diag::Kind::NoTrace);
  tracer.emit("mov.u32", {held, ir::Operand::integer(1)});
  EXPECT_TRUE(tracer.has_error());
  EXPECT_EQ((*finished)->functions.front()->instructions.size(), 2U) << "the mov and the ret";
  EXPECT_EQ((*finished)->functions.front()->operands.size(), operands);
}

TEST_F(TracerTest, RegistersOfAnotherTracerAreRefusedAlsoInsideVectors) {
  Tracer first(kernel(), &judge_);
  Tracer second(kernel(), &judge_);
  const Reg foreign = first.reg(Type::U32);
  const Reg own = second.reg(Type::U32);
  second.emit("mov.u32", {own, foreign});
  EXPECT_EQ(second.take_error()->kind, diag::Kind::ForeignRegister);
  second.vector(std::array<ir::Operand, 2>{own, foreign});
  EXPECT_EQ(second.take_error()->kind, diag::Kind::ForeignRegister);
}

TEST_F(TracerTest, AddressesThatShareTheirNameMoveTogether) {
  Options options = kernel();
  options.force_dynamic_shared = true;
  Tracer dynamic(options, &judge_);
  dynamic.allocate_shared(16, 16, "first");
  const std::size_t second = dynamic.allocate_shared(16, 16, "second");
  const ir::Operand place = dynamic.address(dynamic.shared_symbol(second), 4);
  const Reg x = dynamic.reg(Type::U32);
  dynamic.emit("ld.shared.u32", {x, place});
  dynamic.emit("st.shared.u32", {place, x});
  const std::string printed = text_of(dynamic);
  EXPECT_THAT(printed, HasSubstr("ld.shared.u32 %r0, [dyn_smem+20];"));
  EXPECT_THAT(printed, HasSubstr("st.shared.u32 [dyn_smem+20], %r0;"));
}

TEST_F(TracerTest, RetargetNeedsAnUnseenTemporary) {
  const Reg element = tracer.reg(Type::F32);
  const Reg x = tracer.reg(Type::F32);
  const Reg sum = binary(tracer, BinaryOp::Add, x, x);
  EXPECT_TRUE(tracer.retarget(sum, element));
  EXPECT_EQ(tracer.reg(Type::F32).id, sum.id) << "the temporary's number was given back";

  const Reg product = binary(tracer, BinaryOp::Mul, x, x);
  assign(tracer, x, product);  // seen: it must keep its register
  EXPECT_FALSE(tracer.retarget(product, element));
  const Reg count = scalar(tracer, Type::U32, 1);
  EXPECT_FALSE(tracer.retarget(count, element)) << "declared differently";
  EXPECT_THAT(text_of(tracer), HasSubstr("add.f32 %f0, %f1, %f1;"));
}

TEST_F(TracerTest, DiscardTakesBackOnlyTheLastComparison) {
  const Reg x = tracer.reg(Type::U32);
  const Reg less = compare(tracer, Comparison::Lt, x, 5);
  const Reg more = compare(tracer, Comparison::Gt, x, 5);
  EXPECT_FALSE(tracer.discard(less));
  EXPECT_TRUE(tracer.discard(more));
  EXPECT_EQ(tracer.function().instructions.size(), 1U);
}

TEST_F(TracerTest, SmallSharedBlocksAreStaticAndAligned) {
  const auto a = tracer.allocate_shared(100, 16, "a");
  const auto b = tracer.allocate_shared(8, 128, "b");
  EXPECT_EQ(tracer.shared_block(b).offset, 128U);
  tracer.shared_address(a);
  const std::string text = text_of(tracer);
  EXPECT_THAT(text, HasSubstr(".shared .align 16 .b8 a[100];"));
  EXPECT_THAT(text, HasSubstr("mov.u32 %r0, a;"));
  EXPECT_EQ(tracer.dynamic_shared_bytes(), 0U);
}

TEST_F(TracerTest, PastTheLimitEverythingMovesIntoOneArray) {
  const auto a = tracer.allocate_shared(40 * 1024, 128, "a");
  const auto b = tracer.allocate_shared(16 * 1024, 1024, "b");
  const Reg value = tracer.reg(Type::U32);
  tracer.emit("ld.shared.u32", {value, tracer.address(tracer.shared_symbol(b, 4), 8)});
  const Reg address = tracer.shared_address(b);
  EXPECT_EQ(tracer.shared_address(b).id, address.id);
  tracer.shared_address(a);
  const std::string text = text_of(tracer);
  EXPECT_THAT(text, HasSubstr(".extern .shared .align 1024 .b8 dyn_smem[];"));
  EXPECT_THAT(text, HasSubstr("ld.shared.u32 %r0, [dyn_smem+40972];"));
  EXPECT_THAT(text, HasSubstr("mov.u32 %r1, dyn_smem+40960;"));
  EXPECT_THAT(text, Not(HasSubstr("b8 a[")));
  EXPECT_EQ(tracer.dynamic_shared_bytes(), 56U * 1024);
}

TEST_F(TracerTest, TheVersionIsTheLowestThatWorks) {
  Options plain = kernel();
  plain.target = {80, 0};
  verify::InstructionJudge older_judge(verify::VersionMode::Lowest);
  Tracer older(plain, &older_judge);
  EXPECT_THAT(text_of(older), HasSubstr(".version 7.0"));

  verify::InstructionJudge judge(verify::VersionMode::Lowest);
  Tracer newer(plain, &judge);
  newer.emit("cvt.rn.relu.bf16.f32", {newer.reg(Type::Bf16), newer.reg(Type::F32)});
  const std::array<ir::Operand, 2> halves{newer.reg(Type::U64), newer.reg(Type::U64)};
  newer.emit("mov.b128", {newer.reg(Type::B128), newer.vector(halves)});
  EXPECT_THAT(text_of(newer), HasSubstr(".version 8.3"));
}

TEST_F(TracerTest, WideRegistersNeedAVersionOfTheirOwn) {
  Options plain = kernel();
  plain.target = {80, 0};
  verify::InstructionJudge judge(verify::VersionMode::Lowest);
  Tracer older(plain, &judge);
  older.reg(Type::B128);
  EXPECT_THAT(text_of(older), HasSubstr(".version 8.3"));
}

TEST_F(TracerTest, APinnedVersionBelowTheTargetIsTheFirstError) {
  Options pinned = kernel();
  pinned.version = isa::Version{7, 0};
  verify::InstructionJudge judge(verify::VersionMode::Lowest);
  Tracer older(pinned, &judge);
  EXPECT_EQ(older.take_error()->kind, diag::Kind::VersionForTarget);
}

TEST_F(TracerTest, RawDeclarationsAreNotDeclaredAgain) {
  tracer.raw(".reg .b32 hidden;");
  const Reg hidden = tracer.reg_by_name(Type::U32, "hidden");
  const Reg fresh = tracer.reg_by_name(Type::U32, "fresh");
  EXPECT_EQ(tracer.reg_by_name(Type::U32, "fresh").id, fresh.id);
  tracer.emit("mov.u32", {hidden, fresh});
  const std::string text = text_of(tracer);
  EXPECT_THAT(text, Not(HasSubstr(".reg .u32 hidden;")));
  EXPECT_THAT(text, HasSubstr(".reg .u32 fresh;"));
  EXPECT_THAT(text, HasSubstr("mov.u32 hidden, fresh;"));
}

TEST_F(TracerTest, CommentsCannotLeakIntoTheText) {
  tracer.comment("one\ntrap;");
  const std::string text = text_of(tracer);
  EXPECT_THAT(text, HasSubstr("// one"));
  EXPECT_THAT(text, HasSubstr("// trap;"));
}

TEST_F(TracerTest, AGuardedRetDoesNotEndTheBody) {
  const Reg p = tracer.reg(Type::Pred);
  tracer.emit("ret", {}, {p, false});
  const std::string text = text_of(tracer);
  EXPECT_THAT(text, HasSubstr("@%p0 ret;\n\tret;"));
}

}  // namespace
}  // namespace pyptx::build
