// SPDX-License-Identifier: Apache-2.0
//
// Kernels in C++: what the generated calls refuse to compile, what they print, and where mistakes
// are reported.
#include "pyptx/author.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace pyptx {
namespace {

using namespace pyptx::types;
using ::testing::EndsWith;
using ::testing::HasSubstr;
namespace inst = ptx::inst;

// What does not compile. The templates make the question one of substitution.
template <typename T>
concept HasF99 = requires(T t) { t.f99; };
template <typename T>
concept HasGlobal = requires(T t) { t.global; };
template <typename T>
concept HasNoAllocate = requires(T t) { t.L1_no_allocate; };
template <typename T>
concept HasNothing = requires(T t, Reg r, Address a) { t(r, a); };
template <typename T, typename... A>
concept Takes = requires(T t, A... operands) { t(operands...); };

using Load = decltype(inst::ld.global.f32);
static_assert(!HasF99<decltype(inst::ld.global)>);
static_assert(!HasGlobal<decltype(inst::ld.f32)>, "modifiers come in the manual's order");
static_assert(HasNoAllocate<decltype(inst::ld.global)>);
static_assert(!HasNoAllocate<decltype(inst::ld.shared)>, "the table's rules hold");
static_assert(!HasNothing<decltype(inst::ld.global)>, "the type is missing");
static_assert(Takes<Load, Reg, Address>);
static_assert(!Takes<Load, Reg>);
static_assert(!Takes<Load, Reg, Address, Address, Address>);
static_assert(!Takes<Load, Reg, Reg>, "an address is no register");
static_assert(!Takes<decltype(inst::ld.global.v2.f32), Reg, Address>, "two elements");
static_assert(Takes<decltype(inst::ld.global.v2.f32), RegArray, Address>);
static_assert(Takes<decltype(inst::add.f32), Reg, Reg, double>);
static_assert(!Takes<decltype(inst::add.u32), Reg, Reg, double>, "no float there");
static_assert(Takes<decltype(inst::selp.u32), Reg, Reg, int, Reg>);
static_assert(Takes<decltype(inst::bra), const char*>);

template <typename F>
Kernel kernel(F body) {
  return {"k", {"X"}, {}, body};
}

template <typename F>
std::string text(F body) {
  const auto found = kernel(body).ptx();
  return found ? *found : std::string(found.error().code()) + " " + found.error().message();
}

TEST(Author, EmptyKernelsReturn) {
  EXPECT_THAT(text([](const Tensor&) {}), EndsWith("\tret;\n}\n"));
}

TEST(Author, InstructionsGuardsAndVectors) {
  const std::string found = text([](const Tensor& X) {
    const auto [px] = ptx::global_ptrs(X);
    const Reg p = ptx::special::tid.x() < 4;
    const RegArray pair = reg::array(f32, 2);
    inst::ld.global.v2.f32.at(p)(pair, ptx::addr(px, 8));
    inst::st.global.v2.f32.at(!p)(ptx::addr(px), {pair[1], pair[0]});
    inst::ld.global.L2_cache_hint.b32(reg::scalar(b32), ptx::addr(px), 7);
    inst::bra.at(p)("done");
    inst::mov.u32(reg::scalar(u32), "%laneid");
    ptx::label("done");
  });
  EXPECT_THAT(found, HasSubstr("@%p0 ld.global.v2.f32 {%f0, %f1}, [%rd0+8];\n"));
  EXPECT_THAT(found, HasSubstr("@!%p0 st.global.v2.f32 [%rd0], {%f1, %f0};\n"));
  EXPECT_THAT(found, HasSubstr("ld.global.L2::cache_hint.b32 %r1, [%rd0], 7;\n"));
  EXPECT_THAT(found, HasSubstr("@%p0 bra done;\n\tmov.u32 %r2, %laneid;\ndone:\n"));
}

TEST(Author, AResultIsWrittenIntoItsElement) {
  const std::string found = text([](const Tensor&) {
    const RegArray v = reg::array(u32, 2);
    const Reg tid = ptx::special::tid.x();
    v[0] = tid + 1;
    v[1] = tid;
    v[1] = v[0];
    v[0] = 3;
  });
  EXPECT_THAT(found, HasSubstr("add.u32 %r0, %r2, 1;\n\tmov.u32 %r1, %r2;\n\tmov.u32 %r1, %r0;\n"
                               "\tmov.u32 %r0, 3;\n"));
}

TEST(Author, OperatorsTakeLiteralsOnEitherSide) {
  const std::string found = text([](const Tensor&) {
    const Reg a = reg::scalar(s32, 1);
    const Reg b = 4 * a;
    const Reg c = a == b;
    const Reg d = 0 != a;
    const Reg e = c & d;
    ptx::if_(e, [&] { ptx::trap(); }, [&] { ptx::comment("kept"); });
    Reg counter = a;
    counter += 2;
  });
  EXPECT_THAT(found, HasSubstr("mul.lo.s32 %r1, 4, %r0;\n\tsetp.eq.s32 %p0, %r0, %r1;\n"));
  EXPECT_THAT(found, HasSubstr("and.pred %p2, %p0, %p1;\n"));
  EXPECT_THAT(found, HasSubstr("// kept\n"));
  EXPECT_THAT(found, HasSubstr("add.s32 %r0, %r0, 2;\n"));
}

TEST(Author, AMistakeIsReportedOnItsLine) {
  std::uint32_t line = 0;
  const auto found = kernel([&](const Tensor& X) {
                       const auto [px] = ptx::global_ptrs(X);
                       line = __LINE__ + 1;
                       inst::ld.global.f32(reg::scalar(f64), ptx::addr(px));
                       inst::bar.sync(0);
                     }).ptx();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), "PTX0206");
  ASSERT_TRUE(found.error()->place);
  EXPECT_EQ(found.error()->place->line, line);
  EXPECT_THAT(found.error()->place->file, EndsWith("author_test.cpp"));
}

TEST(Author, AnOperatorsMistakeIsReportedOnItsLine) {
  std::uint32_t line = 0;
  const auto found = kernel([&](const Tensor&) {
                       const Reg a = reg::scalar(f32, 1.0);
                       line = __LINE__ + 1;
                       static_cast<void>(a + reg::scalar(u32, 2));
                     }).ptx();
  ASSERT_FALSE(found);
  ASSERT_TRUE(found.error()->place);
  EXPECT_EQ(found.error()->place->line, line);
}

TEST(Author, TheTargetDecidesAvailability) {
  const Kernel k("k", {"X"}, {.target = {80, 0}},
                 [](const Tensor&) { inst::wgmma.fence.sync.aligned(); });
  const auto found = k.ptx();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().severity(), diag::Severity::Error);
  EXPECT_THAT(found.error().message(), HasSubstr("sm_90a"));
}

TEST(Author, NothingHappensOutsideAKernel) {
  const Reg r = reg::scalar(u32, 1);
  inst::add.u32(r, r, 1);
  EXPECT_EQ(author::tracer().take_error()->kind, diag::Kind::NoTrace);
}

TEST(Author, TracingTwiceGivesTheSameText) {
  const Kernel k = kernel([](const Tensor& X) {
    const auto [px] = ptx::global_ptrs(X);
    ptx::range(0, 4, [&](const Reg& i) { inst::st.global.u32(ptx::addr(px), i); });
  });
  EXPECT_EQ(*k.ptx(), *k.ptx());
}

TEST(Author, RegistersOfAnotherKernelAreRefused) {
  Reg kept;
  static_cast<void>(kernel([&](const Tensor&) { kept = reg::scalar(u32, 1); }).ptx());
  EXPECT_THAT(text([&](const Tensor&) { inst::add.u32(kept, kept, 1); }), HasSubstr("PTX"));
}

}  // namespace
}  // namespace pyptx
