// SPDX-License-Identifier: Apache-2.0
#include "pyptx/build/control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pyptx/build/warp.h"
#include "trace_support.h"

namespace pyptx::build {
namespace {

using isa::Type;
using testing::HasSubstr;

class ControlTest : public TraceTest {
 protected:
  diag::Kind error() {
    const auto module = tracer.finish();
    EXPECT_FALSE(module.ok());
    return module.ok() ? diag::Kind{} : module.error().kind;
  }
};

TEST_F(ControlTest, DownwardRangesCompareTheOtherWay) {
  Range range(10, 0, -2);
  EXPECT_EQ(range.begin(tracer).type, Type::S32);
  range.end(tracer);
  const std::string out = text();
  EXPECT_THAT(out, HasSubstr("add.s32 %r0, %r0, -2;\n\tsetp.gt.s32 %p0, %r0, 0;"));
  EXPECT_EQ(out.find("setp.le"), std::string::npos) << "the first trip is certain";
}

TEST_F(ControlTest, ARangeThatMayBeEmptyIsCheckedFirst) {
  Range range(4, 4, 1);
  range.begin(tracer);
  range.end(tracer);
  EXPECT_THAT(text(), HasSubstr("setp.ge.u32 %p0, %r0, 4;\n\t@%p0 bra $L_endrange;"));
}

TEST_F(ControlTest, AValueOfTheLaunchIsLoadedOnceBeforeEveryBranch) {
  tracer.add_parameter("M", Type::U32);
  If branch({tracer.reg(Type::Pred), false});
  branch.begin(tracer);
  const Reg rows = tracer.launch_value(Type::U32, "M");
  tracer.emit("add.u32", {tracer.reg(Type::U32), rows, rows});
  branch.end(tracer);
  EXPECT_EQ(tracer.launch_value(Type::U32, "M").id, rows.id);
  const std::string out = text();
  EXPECT_THAT(out, HasSubstr("ld.param.u32 %r0, [M];"));
  EXPECT_LT(out.find("ld.param"), out.find("bra"));
  EXPECT_EQ(out.find("ld.param"), out.rfind("ld.param"));
}

TEST_F(ControlTest, AValueThatIsNoParameterIsRefused) {
  tracer.launch_value(Type::U32, "M");
  EXPECT_EQ(tracer.take_error()->kind, diag::Kind::UnknownParameter);
}

TEST_F(ControlTest, OpenAndCrossedConstructsAreRefused) {
  Scope scope;
  If branch({tracer.reg(Type::Pred), false});
  scope.begin(tracer);
  branch.begin(tracer);
  scope.end(tracer);
  EXPECT_EQ(tracer.take_error()->kind, diag::Kind::CrossedConstructs);
  EXPECT_EQ(error(), diag::Kind::OpenConstruct);
}

TEST_F(ControlTest, ElseNeedsItsIf) {
  If branch({tracer.reg(Type::Pred), false});
  branch.begin(tracer);
  branch.end(tracer);
  tracer.comment("between");
  Else otherwise;
  otherwise.begin(tracer);
  EXPECT_EQ(error(), diag::Kind::ElseWithoutIf);
}

TEST_F(ControlTest, KloopOverARegisterHasARemainderLoop) {
  const Reg total = tracer.reg(Type::U32);
  int calls = 0;
  kloop(tracer, total, 4, [&](Value index) {
    EXPECT_NE(index.reg(), nullptr);
    ++calls;
  });
  EXPECT_EQ(calls, 5);
  const std::string out = text();
  EXPECT_THAT(out, HasSubstr("kloop:"));
  EXPECT_THAT(out, HasSubstr("kloop_rest:"));
}

TEST_F(ControlTest, ShortKloopsAreWrittenOut) {
  std::vector<std::int64_t> seen;
  kloop(tracer, 3, 4, [&](Value index) { seen.push_back(*index.integer()); });
  EXPECT_THAT(seen, testing::ElementsAre(0, 1, 2));
  kloop(tracer, 3, 0, [](Value) {});
  EXPECT_EQ(error(), diag::Kind::BadArgument);
}

TEST_F(ControlTest, WideReductionsShuffleBothHalves) {
  warp_reduce(tracer, BinaryOp::Min, tracer.reg(Type::S64), 2);
  const std::string out = text();
  EXPECT_THAT(out, HasSubstr("mov.b64 {%r0, %r1}, %rd0;"));
  EXPECT_THAT(out, HasSubstr("shfl.sync.bfly.b32 %r1, %r1, 1, 7711, 4294967295;"));
  EXPECT_THAT(out, HasSubstr("min.s64 %rd0, %rd0, %rd1;"));
}

TEST_F(ControlTest, HalfReductionsGoThroughAWord) {
  warp_reduce(tracer, BinaryOp::Add, tracer.reg(Type::F16), 2);
  EXPECT_THAT(text(), HasSubstr("add.f16 %h0, %h0, %h1;"));
}

}  // namespace
}  // namespace pyptx::build
