// SPDX-License-Identifier: Apache-2.0
//
// Kernels in C++: what the generated calls refuse to compile, what they print, and where mistakes
// are reported.
#include "pyptx/author.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>

#include "golden.h"

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
  return {"k", {"X"}, {.line_info = false}, body};
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

TEST(Author, ElementsHaveTheOperatorsOfRegisters) {
  const std::string found = text([](const Tensor&) {
    const RegArray v = reg::array(s32, 3);
    for (const auto& one : v) one = 7;
    v[0] += 1;
    v[1] = -v[0];
    v[2] = v[0].max(v[1]);
    ptx::trap(v[2] == v[0]);
    int count = 0;
    for (const auto& one : v) count += one.id == v.regs()[0].id ? 1 : 0;
    EXPECT_EQ(count, 1);
  });
  EXPECT_THAT(found, HasSubstr("mov.s32 %r0, 7;\n\tmov.s32 %r1, 7;\n\tmov.s32 %r2, 7;\n"
                               "\tadd.s32 %r0, %r0, 1;\n\tneg.s32 %r1, %r0;\n"
                               "\tmax.s32 %r2, %r0, %r1;\n"));
  EXPECT_THAT(found, HasSubstr("@%p0 trap;"));
}

TEST(Author, ASliceHasTheRegistersOfItsArray) {
  const auto body = [](const Tensor&) {
    const RegArray all = reg::array(f32, 4);
    ptx::inst::mov.f32(all.slice(1, 2)[1], 1.0);
    EXPECT_EQ(all.slice(4, 0).size(), 0U);
    EXPECT_EQ(all.slice(0, 4).dtype(), f32);
  };
  EXPECT_THAT(*Kernel("k", {"X"}, {}, body).ptx(), HasSubstr("mov.f32 %f2, 0f3F800000;"));
  for (const auto& [first, count] : {std::pair{3, 2}, {-1, 1}, {5, 0}}) {
    const auto outside = [first = first, count = count](const Tensor&) {
      static_cast<void>(reg::array(f32, 4).slice(first, static_cast<std::size_t>(count)));
    };
    EXPECT_EQ(Kernel("k", {"X"}, {}, outside).ptx().error().code(), "PTX0237");
  }
}

TEST(Author, AnIndexOutsideOfItsArrayIsReported) {
  const auto found = kernel([](const Tensor&) {
                       const RegArray v = reg::array(s32, 3);
                       v[3] = 1;
                     }).trace();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message(), "the index of an array must be below 3, got 3");
}

TEST(Author, RebindingInsideABlockIsReported) {
  std::uint32_t line = 0;
  const auto found = kernel([&](const Tensor&) {
                       Reg sum = reg::scalar(u32, 0);
                       line = __LINE__ + 1;
                       ptx::range(0, 10, [&](const Reg& i) { sum = sum + i; });
                     }).trace();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, diag::Kind::Rebinding);
  ASSERT_TRUE(found.error()->place);
  EXPECT_EQ(found.error()->place->line, line);
  EXPECT_THAT(found.error().message(), HasSubstr("'range_'"));
}

TEST(Author, RebindingIsShown) {
  golden::Folder goldens("author");
  const Kernel k("k", {}, {}, [] {
    Reg sum = reg::scalar(u32, 0);
    ptx::loop("top", {}, [&] { sum = sum + 1; });
  });
  const auto traced = k.trace();
  ASSERT_FALSE(traced);
  diag::Diagnostic found = traced.error();
  found->place->file = "kernel.cpp";  // wherever the tree lies
  found->place->line = found->place->end_line = 3;
  goldens.expect(found);
  goldens.expect_complete();
}

TEST(Author, RebindingInAnUnrolledLoopIsReported) {
  for (const bool is_known : {true, false}) {
    EXPECT_THAT(text([&](const Tensor&) {
                  Reg sum = reg::scalar(u32, 0);
                  const Reg total = reg::scalar(u32, 8);
                  const auto add = [&](const Reg& k) { sum = sum + k; };
                  is_known ? ptx::kloop(8, 2, add) : ptx::kloop(total, 2, add);
                }),
                HasSubstr("PTX0407"))
        << is_known;
  }
}

TEST(Author, BothBranchesCannotNameOneVariable) {
  EXPECT_THAT(
      text([](const Tensor&) {
        Reg chosen;
        const Reg p = ptx::special::tid.x() == 0;
        ptx::if_(p, [&] { chosen = reg::scalar(u32, 1); }, [&] { chosen = reg::scalar(u32, 2); });
      }),
      HasSubstr("PTX0407"));
}

TEST(Author, WritingIsNoRebindingNorIsANameOfTheBlockItself) {
  const std::string found = text([](const Tensor&) {
    const Reg sum = reg::scalar(u32, 0);
    Reg row = ptx::special::tid.x();
    row = row + 1;  // before the block
    ptx::range(0, 10, [&](const Reg& i) {
      Reg twice = i + i;
      twice = twice + row;
      sum += twice;
      sum.set(sum ^ 3);
      ptx::scope([&] { twice = twice + 1; });  // runs just once for each turn
    });
    row = row + sum;
  });
  EXPECT_THAT(found, HasSubstr("xor.b32 %r0, %r0, 3;\n"));
}

TEST(Author, KernelsWithoutTensorsAreWrittenLikeOthers) {
  const auto found = Kernel("alone", {}, {}, [] { inst::bar.sync(0); }).ptx();
  ASSERT_TRUE(found);
  EXPECT_THAT(*found, HasSubstr(".visible .entry alone()\n"));
  EXPECT_FALSE(Kernel("none", {}, {}, Kernel::Body()).trace());
}

TEST(Author, KloopGivesRegisters) {
  for (const std::int64_t total : {2, 8}) {
    EXPECT_THAT(text([&](const Tensor&) {
                  const Reg sum = reg::scalar(u32, 0);
                  ptx::kloop(total, 2, [&](const Reg& k) { inst::add.u32(sum, sum, k); });
                }),
                HasSubstr("add.u32 %r0, %r0, %r"));
  }
}

TEST(Author, IntrinsicsAreNamed) {
  const auto helper = [](bool is_right) {
    ptx::intrinsic("helper", [&] {
      const Reg a = reg::scalar(f32, 1.0);
      if (!is_right) static_cast<void>(a + reg::scalar(u32, 2));
    });
  };
  EXPECT_THAT(text([&](const Tensor&) { helper(true); }),
              HasSubstr("// begin helper\n\tmov.f32 %f0, 0f3F800000;\n\t// end helper\n"));
  const auto found = kernel([&](const Tensor&) { helper(false); }).trace();
  ASSERT_FALSE(found);
  ASSERT_FALSE(found.error()->notes.empty());
  EXPECT_THAT(found.error()->notes.back(), HasSubstr("in helper, called at "));
}

/// The place of the mistake of a body; `marked` is what the caret underlines.
struct Marked {
  std::uint32_t line = 0;
  std::string marked;
};

template <typename F>
Marked mistake(F body) {
  const auto found = kernel(body).ptx();
  if (found || !found.error()->place) return {};
  const diag::Place& place = *found.error()->place;
  EXPECT_THAT(place.file, EndsWith("author_test.cpp"));
  if (place.column == 0) return {place.line, ""};
  return {place.line, place.source_line.substr(place.column - 1, place.end_column - place.column)};
}

TEST(Author, AMistakeIsReportedWhereItStands) {
  std::uint32_t line = 0;
  const Marked instruction = mistake([&](const Tensor& X) {
    const auto [px] = ptx::global_ptrs(X);
    line = __LINE__ + 1;
    inst::ld.global.f32(reg::scalar(f64), ptx::addr(px));
    inst::bar.sync(0);
  });
  EXPECT_EQ(instruction.line, line);
  EXPECT_EQ(instruction.marked, "reg::scalar(f64)");
  const Marked operation = mistake([&](const Tensor&) {
    const Reg a = reg::scalar(f32, 1.0);
    line = __LINE__ + 1;
    static_cast<void>(a + reg::scalar(u32, 2));
  });
  EXPECT_EQ(operation.line, line);
  EXPECT_EQ(operation.marked, "reg::scalar(u32, 2)");
}

// A macro's argument has one line for all of it, so the bodies are not written in EXPECT_EQ.
TEST(Author, OperatorsAndIndicesKnowTheirLine) {
  std::uint32_t line = 0;
  const Marked shift = mistake([&](const Tensor&) {
    const Reg p = reg::scalar(f32, 1.0);
    line = __LINE__ + 1;
    static_cast<void>(3 << p);
  });
  EXPECT_EQ(shift.line, line);
  EXPECT_EQ(shift.marked, "p");
  const Marked comparison = mistake([&](const Tensor&) {
    const Reg a = reg::scalar(f32, 1.0);
    const Reg b = reg::scalar(u32, 1);
    line = __LINE__ + 1;
    static_cast<void>(a == b);
  });
  EXPECT_EQ(comparison.line, line);
  EXPECT_EQ(comparison.marked, "b");
  const Marked complement = mistake([&](const Tensor&) {
    const Reg a = reg::scalar(f32, 1.0);
    line = __LINE__ + 1;
    static_cast<void>(~a);
  });
  EXPECT_EQ(complement.line, line);
  EXPECT_EQ(complement.marked, "a");
  const Marked subscript = mistake([&](const Tensor&) {
    const Shared tile = smem::alloc(f32, {4, 4});
    line = __LINE__ + 1;
    static_cast<void>(tile[4]);
  });
  EXPECT_EQ(subscript.line, line);
  EXPECT_EQ(subscript.marked, "tile[4]");
  const Marked pointers = mistake([&](const Tensor&) {
    const Tensor other("Y", false);
    line = __LINE__ + 1;
    static_cast<void>(ptx::global_ptrs(other));
  });
  EXPECT_EQ(pointers.line, line);
  EXPECT_EQ(pointers.marked, "ptx::global_ptrs(other)");
}

TEST(Author, AGuardBeforeTheCallIsPartOfIt) {
  const Marked found = mistake([&](const Tensor& X) {
    const auto [px] = ptx::global_ptrs(X);
    const Reg p = px == 0;
    inst::st.global.f32.at(p)(ptx::addr(px), px);
  });
  EXPECT_EQ(found.marked, "px");
}

TEST(Author, LinesOfTheSourceAreInTheText) {
  KernelOptions options;
  options.line_info = true;
  const std::uint32_t line = __LINE__ + 1;
  const auto found = Kernel("k", {}, options, [] { inst::bar.sync(0); }).ptx();
  ASSERT_TRUE(found);
  EXPECT_THAT(*found, HasSubstr("author_test.cpp\""));
  EXPECT_THAT(*found, HasSubstr("\t.loc 1 " + std::to_string(line) + " "));
  options.line_info = false;
  const auto bare = Kernel("k", {}, options, [] { inst::bar.sync(0); }).ptx();
  EXPECT_THAT(*bare, ::testing::Not(HasSubstr(".loc")));
}

TEST(Author, TheTargetDecidesAvailability) {
  const Kernel k("k", {"X"}, {.target = {80, 0}},
                 [](const Tensor&) { inst::wgmma.fence.sync.aligned(); });
  const auto found = k.ptx();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().severity(), diag::Severity::Error);
  EXPECT_THAT(found.error().message(), HasSubstr("sm_90a"));
}

TEST(Author, WhatIsWrittenOutsideABodyFailsTheNextTrace) {
  const std::uint32_t line = __LINE__ + 1;
  const Reg r = reg::scalar(u32, 1);
  inst::add.u32(r, r, 1);
  const auto found = kernel([](const Tensor&) {}).trace();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, diag::Kind::NoTrace);
  ASSERT_TRUE(found.error()->place);
  EXPECT_EQ(found.error()->place->line, line) << "the first of the two";
  EXPECT_TRUE(kernel([](const Tensor&) {}).trace()) << "it is told once";
}

TEST(Author, AnotherThreadThanTheTracesIsOutsideOfIt) {
  const auto found =
      kernel([](const Tensor&) { std::thread([] { inst::bar.sync(0); }).join(); }).trace();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, diag::Kind::NoTrace);
}

TEST(Author, ATargetThatIsNoneIsRefused) {
  const auto found = Kernel("k", {}, {.target = {12}}, [] {}).trace();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message(), "unknown target 'sm_12'");
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
