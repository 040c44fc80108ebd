// SPDX-License-Identifier: Apache-2.0
//
// The helpers of Python's package in C++: what each writes, for the targets that have it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "pyptx/author.h"

namespace pyptx {
namespace {

using namespace pyptx::types;
using ::testing::AllOf;
using ::testing::HasSubstr;

template <typename F>
std::string traced(isa::Target target, F body) {
  const auto found = Kernel("k", {"X"}, {.target = target, .line_info = false}, body).ptx();
  return found ? *found : std::string(found.error().code()) + " " + found.error().message();
}

template <typename F>
std::string hopper(F body) {
  return traced({90, 'a'}, std::move(body));
}

TEST(Helpers, Warps) {
  EXPECT_THAT(hopper([](const Tensor&) {
                const Reg p = reg::scalar(pred);
                const Reg lane = reg::scalar(u32);
                ptx::elect_sync(p, 0xFFFFFFFF, lane);
                ptx::elect_sync(p);
                ptx::named_barrier(3, 64).sync();
                ptx::named_barrier(lane, 64).arrive();
                ptx::fence::acq_rel("cluster");
              }),
              AllOf(HasSubstr("elect.sync %r0|%p0, 4294967295;"),
                    HasSubstr("elect.sync _|%p0, 4294967295;"), HasSubstr("bar.sync 3, 64;"),
                    HasSubstr("bar.arrive %r0, 64;"), HasSubstr("fence.acq_rel.cluster;")));
  EXPECT_THAT(hopper([](const Tensor&) { ptx::named_barrier(3).arrive(); }), HasSubstr("PTX0237"));
}

TEST(Helpers, Mbarriers) {
  EXPECT_THAT(hopper([](const Tensor&) {
                const Mbarriers bars = smem::mbarrier(2);
                const Reg p = ptx::special::tid.x() == 0;
                ptx::mbarrier::init_all(bars, 1, p);
                ptx::mbarrier::arrive_remote(bars[1], 0, 1, !p);
                const Reg state = ptx::mbarrier::arrive_state(bars[0]);
                const Reg done = ptx::mbarrier::test_wait(bars[0], state, false);
                ptx::trap(!done);
                ptx::mbarrier::complete_tx(bars[0], 16);
                ptx::cluster::arrive_multicast(bars[0], 3);
                static_cast<void>(ptx::cluster::map_shared(bars[0], 1));
              }),
              AllOf(HasSubstr("@%p0 mbarrier.init.shared"), HasSubstr("@!%p0 mapa.shared::cluster"),
                    HasSubstr("mbarrier.test_wait.shared"), HasSubstr("mbarrier.complete_tx")));
}

TEST(Helpers, AnAddressIsAPlace) {
  EXPECT_THAT(hopper([](const Tensor&) {
                const Shared tile = smem::alloc(bf16, {64, 64}, {.swizzle = Swizzle::B128});
                const Reg base = tile.address();
                const Reg offset = smem::apply_swizzle(base, Swizzle::B128);
                ptx::ldmatrix(reg::array(b32, 4), ptx::addr(offset, 64));
                ptx::stmatrix(ptx::addr(tile.place, smem::apply_swizzle(128, Swizzle::B128)),
                              reg::array(b32, 4));
              }),
              AllOf(HasSubstr("xor.b32 %r3, %r0, %r2;"),
                    HasSubstr("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, "
                              "[%r3+64];"),
                    HasSubstr("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r0+144],")));
}

TEST(Helpers, BulkCopies) {
  EXPECT_THAT(
      traced({100, 'a'},
             [](const Tensor& X) {
               const Reg map = X.tma_desc();
               const auto [px] = ptx::global_ptrs(X);
               const Shared tile = smem::alloc(f32, {4, 32});
               const Mbarriers bars = smem::mbarrier(1);
               ptx::tma::reduce("add", map, {0, 0}, tile);
               ptx::tma::prefetch(map, {0, 0});
               ptx::tma::gather4(tile, map, {0, 1, 2, 3, 4}, bars[0]);
               ptx::tma::scatter4(map, {0, 1, 2, 3, 4}, tile);
               ptx::bulk::load(tile, ptx::addr(px), 512, bars[0]);
               ptx::bulk::reduce("add", f32, ptx::addr(px), tile, 512);
               ptx::bulk::store(ptx::addr(px), tile, 512);
               ptx::bulk::prefetch(ptx::addr(px), 512);
               ptx::tma::commit_group();
             }),
      AllOf(HasSubstr("cp.reduce.async.bulk.tensor.2d"), HasSubstr(".tile::gather4"),
            HasSubstr(".tile::scatter4"), HasSubstr("cp.async.bulk.prefetch.tensor.2d"),
            HasSubstr("cp.reduce.async.bulk.global"), HasSubstr("cp.async.bulk.prefetch.L2"),
            HasSubstr("cp.async.bulk.global.shared::cta")));
}

TEST(Helpers, Memory) {
  EXPECT_THAT(hopper([](const Tensor& X) {
                const auto [px] = ptx::global_ptrs(X);
                const Address table = ptx::var("global", f32, "table", {.size = 8});
                ptx::inst::ld.global.f32(reg::scalar(f32), table);
                static_cast<void>(ptx::cvta::to_global(px));
                static_cast<void>(ptx::sreg("%laneid"));
                const Shared tile = smem::alloc(f32, {4});
                smem::store(f32, tile, 1.0);
                static_cast<void>(smem::load(f32, tile.address()));
              }),
              AllOf(HasSubstr(".global .f32 table[8];"), HasSubstr("ld.global.f32 %f0, [table];"),
                    HasSubstr("%laneid"), HasSubstr("st.shared.f32 [")));
}

TEST(Helpers, FormsTakeTheirTypeAsAValue) {
  const auto scaled = [](isa::Type type) {
    return hopper([=](const Tensor&) {
      const Reg d = reg::scalar(type);
      const Reg p = ptx::setp("lt", type, {reg::scalar(pred), d, 2});
      ptx::mul(type, {d, d, 2}, {}, !p);
      ptx::instruction("bra", {"end"}, p);
      ptx::label("end");
    });
  };
  EXPECT_THAT(scaled(f32),
              AllOf(HasSubstr("setp.lt.f32 %p0, %f0, 0f40000000;"),
                    HasSubstr("@!%p0 mul.f32 %f0, %f0, 0f40000000;"), HasSubstr("@%p0 bra end;")));
  EXPECT_THAT(scaled(s32), HasSubstr("@!%p0 mul.lo.s32 %r0, %r0, 2;"));
  // What the compiler cannot see is seen when the kernel is traced.
  EXPECT_THAT(scaled(pred), HasSubstr("PTX02"));
  EXPECT_THAT(hopper([](const Tensor&) { ptx::instruction("lod.f32", {}); }), HasSubstr("PTX0201"));
  EXPECT_THAT(hopper([](const Tensor&) { ptx::add(f32, {reg::scalar(f32), 1}); }),
              HasSubstr("PTX0204"));
  EXPECT_THAT(hopper([](const Tensor&) { ptx::ld(f32, reg::scalar(u32), ptx::addr("x")); }),
              HasSubstr("PTX0206"));
}

TEST(Helpers, MatricesTakeTheSameOperands) {
  EXPECT_THAT(hopper([](const Tensor&) {
                const Shared a = smem::wgmma_tile(bf16, {64, 64});
                const Shared b = smem::wgmma_tile(bf16, {8, 64});
                const RegArray acc = reg::wgmma_frag(64, 8, f32);
                ptx::wgmma::mma_async({.shape = {64, 8, 16},
                                       .type_d = f32,
                                       .type_a = bf16,
                                       .type_b = bf16,
                                       .d = acc,
                                       .a = a,
                                       .b = b});
                ptx::wgmma::mma_async({.shape = {64, 8, 16},
                                       .type_d = f32,
                                       .type_a = bf16,
                                       .type_b = bf16,
                                       .d = acc,
                                       .a = reg::array(b32, 4),
                                       .b = ptx::wgmma::masked_descriptor(b)});
              }),
              AllOf(HasSubstr("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, "
                              "%f2, %f3}, %rd"),
                    HasSubstr("{%f0, %f1, %f2, %f3}, {%r")));
  EXPECT_THAT(traced({100, 'a'},
                     [](const Tensor&) {
                       const Shared a = smem::wgmma_tile(bf16, {128, 64});
                       const Reg tmem = reg::scalar(u32, 0);
                       const Reg p = ptx::special::tid.x() == 0;
                       const auto kind = ptx::tcgen05::instruction_descriptor({.n = 64});
                       ptx::tcgen05::mma({.d = tmem,
                                          .a = a,
                                          .b = ptx::tcgen05::masked_descriptor(a),
                                          .instruction = kind,
                                          .enable_input_d = p,
                                          .guard = p});
                     }),
              HasSubstr("@%p0 tcgen05.mma.cta_group::1.kind::f16 [%r0], %rd"));
  EXPECT_THAT(traced({100, 'a'},
                     [](const Tensor&) {
                       static_cast<void>(ptx::tcgen05::instruction_descriptor({.m = 100}));
                     }),
              HasSubstr("PTX0509"));
}

}  // namespace
}  // namespace pyptx
