// SPDX-License-Identifier: Apache-2.0
//
// Mistakes that only a trace can see, and what the author of each is shown: the golden
// tests/files/mistakes_in_cpp.txt. PYPTX_UPDATE_GOLDENS=1 writes it anew.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "golden.h"
#include "pyptx/author.h"

namespace pyptx {
namespace {

using namespace pyptx::types;
namespace inst = ptx::inst;

constexpr isa::Target kHopper{90, 'a'};
constexpr isa::Target kBlackwell{100, 'a'};

struct Mistake {
  const char* name;
  std::function<void(const Tensor&)> body;
  isa::Target target = kHopper;
};

Reg word() { return reg::scalar(u32, 1); }
Reg wide() { return reg::scalar(u64, 1); }
Reg real() { return reg::scalar(f32, 1.0); }
Reg truth() { return word() == 1; }

// clang-format off
const std::vector<Mistake>& mistakes() {
  static const std::vector<Mistake> all = {
      {"type of an operand", [](const Tensor&) { inst::add.u32(word(), wide(), 1); }},
      {"type of a destination", [](const Tensor&) { inst::mov.f32(word(), 1.0); }},
      {"literal too large", [](const Tensor&) { inst::add.u32(word(), word(), 1LL << 40); }},
      {"negative literal", [](const Tensor&) { inst::add.u16(reg::scalar(u16), reg::scalar(u16), -70000); }},
      {"float too large", [](const Tensor&) { inst::mov.f32(real(), 1e300); }},
      {"guard is no predicate", [](const Tensor&) { inst::bar.sync.at(word())(0); }},
      {"vector of wrong length", [](const Tensor& X) { inst::ld.global.v4.f32(reg::array(f32, 3), ptx::addr(ptx::global_ptr(X))); }},
      {"vector of wrong types", [](const Tensor& X) { inst::ld.global.v2.f32({real(), wide()}, ptx::addr(ptx::global_ptr(X))); }},
      {"address of 32 bits", [](const Tensor&) { inst::ld.global.f32(real(), ptx::addr(word())); }},
      {"offset too large", [](const Tensor& X) { inst::ld.global.f32(real(), ptx::addr(ptx::global_ptr(X), 1LL << 40)); }},
      {"undeclared variable", [](const Tensor&) { inst::ld.global.f32(real(), ptx::addr("tabel")); }},
      {"unknown special register", [](const Tensor&) { ptx::sreg("%tidd"); }},
      {"unknown parameter", [](const Tensor&) { ptx::param(u32, "n"); }},
      {"another kernel's tensor", [](const Tensor&) { ptx::global_ptr(Tensor("Y", false)); }},
      {"target without the instruction", [](const Tensor&) { inst::wgmma.fence.sync.aligned(); }, {80, 0}},
      {"target that is none", [](const Tensor&) {}, {12, 0}},
      {"register of no trace", [](const Tensor&) { inst::mov.u32(word(), build::Reg{ir::RegisterId{7}, u32, 1}); }},
      {"mixed types", [](const Tensor&) { real() + word(); }},
      {"mixed types on the right", [](const Tensor&) { 1.5 * word(); }},
      {"operator of another type", [](const Tensor&) { real() << 2; }},
      {"complement of a float", [](const Tensor&) { ~real(); }},
      {"comparison of two kinds", [](const Tensor&) { real() < word(); }},
      {"in place, another type", [](const Tensor&) { word() += real(); }},
      {"maximum of two kinds", [](const Tensor&) { word().max(real()); }},
      {"written with another type", [](const Tensor&) { word().set(wide()); }},
      {"element of another type", [](const Tensor&) { reg::array(u32, 2)[0] = wide() + 1; }},
      {"index of an array", [](const Tensor&) { reg::array(u32, 2)[2] = 1; }},
      {"negative index", [](const Tensor&) { reg::array(u32, 2)[-1] += 1; }},
      {"name that is no identifier", [](const Tensor&) { reg::scalar(u32, 1, "1st"); }},
      {"rebinding in a loop", [](const Tensor&) { Reg sum = word(); ptx::range(0, 4, [&](const Reg& i) { sum = sum + i; }); }},
      {"rebinding in a branch", [](const Tensor&) { Reg x = word(); ptx::if_(truth(), [&] { x = x + 1; }); }},
      {"condition is no predicate", [](const Tensor&) { ptx::if_(word(), [] {}); }},
      {"bound that is a float", [](const Tensor&) { ptx::range(0, real(), [](const Reg&) {}); }},
      {"step of zero", [](const Tensor&) { ptx::range(0, 4, [](const Reg&) {}, 0); }},
      {"unrolled no times", [](const Tensor&) { ptx::kloop(4, 0, [](const Reg&) {}); }},
      {"label that stands nowhere", [](const Tensor&) { ptx::bra("done"); }},
      {"label in two places", [](const Tensor&) { ptx::label("a"); ptx::label("a"); }},
      {"tile index", [](const Tensor&) { smem::alloc(f32, {4, 8})[4]; }},
      {"too many indices", [](const Tensor&) { smem::alloc(f32, {4, 8}).load({0, 0, 0}); }},
      {"element index", [](const Tensor&) { smem::alloc(f32, {4, 8}).store({0, 9}, 1.0); }},
      {"coordinates in place of shared memory", [](const Tensor& X) { ptx::ldmatrix(reg::array(b32, 4), ptx::addr(X.tma_desc(), {0, 0})); }},
      {"swizzle of a short row", [](const Tensor&) { smem::alloc(f32, {4, 8}, {.swizzle = Swizzle::B128}); }},
      {"alignment", [](const Tensor&) { smem::alloc(f32, {4, 8}, {.align = 24}); }},
      {"shared memory of nothing", [](const Tensor&) { smem::alloc(f32, {0}); }},
      {"mbarrier index", [](const Tensor&) { smem::mbarrier(2)[2]; }},
      {"named barrier to arrive at", [](const Tensor&) { ptx::named_barrier(1).arrive(); }},
      {"barrier number", [](const Tensor&) { ptx::bar::sync(16); }},
      {"width of a warp", [](const Tensor&) { ptx::warp::reduce_sum(word(), 33); }},
      {"registers of a warpgroup", [](const Tensor&) { ptx::setmaxnreg(100, true); }},
      {"bytes of a small copy", [](const Tensor& X) { ptx::cp_async::ca(smem::alloc(f32, {4}), ptx::addr(ptx::global_ptr(X)), 5); }},
      {"bytes of a bulk copy", [](const Tensor& X) { ptx::bulk::load(smem::alloc(f32, {4}), ptx::addr(ptx::global_ptr(X)), 8, smem::mbarrier(1)[0]); }},
      {"coordinates of a copy", [](const Tensor& X) { ptx::tma::load(smem::alloc(f32, {4}), X.tma_desc(), {real()}, smem::mbarrier(1)[0]); }},
      {"rows of a gather", [](const Tensor& X) { ptx::tma::gather4(smem::alloc(f32, {4}), X.tma_desc(), {0, 1}, smem::mbarrier(1)[0]); }, kBlackwell},
      {"fragment of a product", [](const Tensor&) { ptx::mma::sync({.shape = {16, 8, 16}, .type_d = f32, .type_a = f16, .type_b = f16, .type_c = f32, .d = reg::array(f32, 2), .a = reg::array(b32, 4), .b = reg::array(b32, 2), .c = reg::array(f32, 4)}); }},
      {"shape of a product", [](const Tensor&) { ptx::wgmma::mma_async({.shape = {64, 7, 16}, .type_d = f32, .type_a = bf16, .type_b = bf16}); }},
      {"fragment of a wgmma", [](const Tensor&) { reg::wgmma_frag(64, 7, f32); }},
      {"columns of tensor memory", [](const Tensor&) { ptx::tcgen05::alloc(smem::alloc(u32, {1}), 48); }, kBlackwell},
      {"tensor memory on Hopper", [](const Tensor&) { ptx::tcgen05::wait_ld(); }},
      {"instruction descriptor", [](const Tensor&) { ptx::tcgen05::instruction_descriptor({.m = 100}); }, kBlackwell},
      {"format of printf", [](const Tensor&) { ptx::printf("%d %f", {word()}); }},
      {"type of printf", [](const Tensor&) { ptx::printf("%d", {real()}); }},
      {"assertion on a number", [](const Tensor&) { ptx::assert_(word(), "one"); }},
      {"inside of an intrinsic", [](const Tensor&) { ptx::intrinsic("helper", [] { inst::add.f32(real(), real(), word()); }); }},
  };
  return all;
}
// clang-format on

TEST(Mistakes, AreShownAsTheyAreKept) {
  std::string shown;
  for (const Mistake& mistake : mistakes()) {
    const auto traced = Kernel("k", {"X"}, {.target = mistake.target}, mistake.body).trace();
    EXPECT_FALSE(traced) << mistake.name;
    if (traced) continue;
    diag::Diagnostic found = traced.error();
    if (found->place) {  // wherever the tree lies, and whatever stands above it
      found->place->file = "mistakes.cpp";
      found->place->line = found->place->end_line = 1;
    }
    for (std::string& note : found->notes) {
      if (note.starts_with("in helper, called at")) note = "in helper, called at mistakes.cpp:1";
    }
    shown += "== " + std::string(mistake.name) + "\n" + diag::describe(found) + "\n";
  }
  EXPECT_GE(mistakes().size(), 60U);
  golden::expect_text(golden::folder("../mistakes_in_cpp.txt"), shown);
}

}  // namespace
}  // namespace pyptx
