// SPDX-License-Identifier: Apache-2.0
//
// Every helper of C++, in kernels that tests/support/helper_twins.py has too, line by line: the
// texts are equal byte for byte (tests/package/test_install.py). Prints each behind its name.
#include <pyptx/author.h>

#include <cstdint>
#include <functional>
#include <iostream>
#include <vector>

namespace {

using namespace pyptx;
using namespace pyptx::types;
namespace inst = ptx::inst;
namespace tc = ptx::tcgen05;

Reg word(std::int64_t value = 1) { return reg::scalar(u32, value); }
Reg wide() { return reg::scalar(u64, 1); }
Shared tile_of() { return smem::alloc(bf16, {64, 64}, {.swizzle = Swizzle::B128}); }

void registers(const Tensor&, const Tensor&) {
  const Reg a = word();
  const RegArray acc = reg::array(f32, 4, "acc");
  for (int i = 0; i < 4; ++i) acc[i] = 1.5;
  acc[0] = acc[1] * acc[2];
  const Reg b = reg::from(a, u64) + 3;
  reg::from(2.5, f32);
  reg::scalar(f32, reg::scalar(s32, -1), "named");
  const Reg c = (a ^ 5).max(a).min(9);
  const Reg d = -c;
  abs(reg::scalar(f32, -1.0));
  d.set(~c);
  b += 4;
  reg::wgmma_frag(64, 16, f32);
  ptx::sreg("%lanemask_lt");
  ptx::special::ctaid.x();
  ptx::special::laneid();
}

void forms(const Tensor&, const Tensor&) {
  for (const isa::Type type : {u32, s32, u64, f32, f64}) {
    const Reg a = reg::scalar(type, 1);
    const Reg d = reg::scalar(type);
    ptx::add(type, {d, a, 2});
    ptx::sub(type, {d, a, 2});
    ptx::mul(type, {d, a, a});
    ptx::min(type, {d, a, d});
    ptx::max(type, {d, a, d});
    ptx::mad(type, {d, a, a, d});
    ptx::mov(type, {d, 7});
  }
  const Reg p = reg::scalar(pred);
  const Reg x = reg::scalar(s32, -3);
  ptx::neg(s32, {x, x});
  ptx::abs(s32, {x, x}, p);
  ptx::mul(u32, {reg::scalar(u64), word(), 8}, "wide");
  ptx::mad(u32, {word(), word(), word(), 1}, "hi");
  const Reg bits = reg::scalar(b32, 1);
  ptx::and_(b32, {bits, bits, 3});
  ptx::or_(b32, {bits, bits, 4});
  ptx::xor_(b32, {bits, bits, 5});
  ptx::not_(b32, {bits, bits});
  ptx::shl(b32, {bits, bits, 4});
  ptx::shr(s32, {x, x, 2}, !p);
  ptx::setp("lt", f32, {p, reg::scalar(f32, 1.0), 2});
  ptx::selp(u32, {word(), 1, 2, p});
  ptx::cvt(f16, f32, {reg::scalar(f16), reg::scalar(f32, 1.0)}, {.rounding = "rn"});
  ptx::cvt(s32, f32, {reg::scalar(s32), reg::scalar(f32, 1.0)}, {.rounding = "rzi", .ftz = true});
  ptx::cvt(u8, s32, {reg::scalar(u8), x}, {.sat = true});
  ptx::instruction("popc.b32", {word(), bits}, p);
}

void memory(const Tensor& A, const Tensor& B) {
  const auto [pa, pb] = ptx::global_ptrs(A, B);
  ptx::global_ptr(A);
  const Reg n = ptx::param(u32, "n");
  ptx::param(u32, "n", n);
  ptx::cvta::param(wide());
  ptx::cvta::to_global(ptx::param(u64, "A"));
  const Reg x = reg::scalar(f32);
  ptx::ld(f32, x, ptx::addr(pa, 16));
  ptx::ld(f32, {x, reg::scalar(f32)}, ptx::addr(pa), {.cache = "nc"});
  ptx::st(f32, ptx::addr(pb), x, {.guard = n > 3});
  ptx::st(u32, pb, 7, {.cache = "cg"});
  ptx::var("local", b8, "stack", {.size = 64, .align = 16});
  ptx::ld(f32, x, ptx::var("global", f32, "table", {.size = 4, .linking = "visible"}));
  const Reg p = reg::scalar(pred);
  inst::setp.lt.u32(ptx::pipe(p, reg::scalar(pred)), n, 3);
  inst::tex._2d.v4.f32.s32({x, x, x, x}, ptx::addr(wide(), {n, n}));
}

void shared(const Tensor&, const Tensor&) {
  const Shared tile = smem::alloc(bf16, {2, 64, 64}, {.swizzle = Swizzle::B128, .name = "tile"});
  const Reg lane = ptx::special::laneid();
  tile.store({1, lane, 3}, tile.load({0, lane, lane}));
  inst::st.shared.u32(ptx::addr(tile[1].address(), 4), lane);
  const Shared flat = smem::alloc(f32, {32}, {.align = 256});
  flat.store({lane}, flat.load({0}) + 1.0);
  smem::store(u32, flat.address(), smem::load(u32, flat.address()));
  smem::wgmma_tile(f16, {32, 64}, layout::Major::MN);
  smem::base("tile");
  smem::apply_swizzle(lane, Swizzle::B64);
  smem::mbarrier(4, "full");
}

void control(const Tensor&, const Tensor&) {
  const Reg x = word();
  const Reg n = ptx::param(u32, "n");
  ptx::if_(
      x > 3,
      [&] {
        x += 1;
        ptx::if_(!(x > 5), [&] { x += 2; });
      },
      [&] { x -= 1; });
  const Reg p = reg::scalar(pred);
  ptx::loop("again", p, [&] {
    x += 1;
    ptx::setp("lt", u32, {p, x, 10});
  });
  ptx::range(0, n, [&](const Reg& i) { x += i; }, 2);
  ptx::kloop(n, 4, [&](const Reg& i) { ptx::add(u32, {x, x, i}); });
  ptx::scope([&] { word(); });
  ptx::intrinsic("helper", [&] { x += 3; });
  ptx::bra("skip", p);
  ptx::trap(!p);
  ptx::label("skip");
  ptx::comment("two\nlines");
  ptx::raw("{ .reg .b32 %scratch; mov.b32 %scratch, 0; }");
  ptx::pragma("nounroll");
  ptx::printf("%d %f\n", {x, 2.5}, p);
  ptx::file(1, "kernel.py");
  ptx::loc(1, 10, 5);
  ptx::ret(p);
}

void warps(const Tensor&, const Tensor&) {
  ptx::warp::reduce_sum(reg::scalar(f32, 1.0));
  ptx::warp::reduce_max(reg::scalar(s32, 1), 8);
  ptx::warp::reduce_min(reg::scalar(f64, 1.0), 16);
  const Reg p = reg::scalar(pred);
  ptx::elect_sync(p, 0xFFFFFFFF, word());
  ptx::elect_sync(p);
  ptx::bar::sync();
  ptx::bar::sync(1, 128);
  ptx::bar::arrive(1, 128);
  const auto group = ptx::named_barrier(2, 64);
  group.sync();
  group.arrive();
  ptx::fence::proxy_async();
  ptx::fence::proxy_async_global();
  ptx::fence::proxy_async_shared_cta();
  ptx::fence::proxy_async_generic_acquire_shared_cluster();
  ptx::fence::proxy_async_generic_release_shared_cta();
  ptx::fence::proxy_tensormap_release();
  ptx::fence::proxy_tensormap_acquire(wide(), "cta");
  ptx::fence::mbarrier_init();
  ptx::fence::acq_rel("cluster");
  ptx::fence::sc("cta");
  ptx::setmaxnreg(40, false);
  ptx::cluster::arrive(true);
  ptx::cluster::wait(true);
  ptx::cluster::sync();
  ptx::cluster::rank();
  const Mbarriers bars = smem::mbarrier(1);
  ptx::cluster::map_shared(bars[0], 1);
  ptx::cluster::arrive_remote(bars[0], 0, 3);
  ptx::cluster::arrive_multicast(bars[0], 5);
}

void mbarriers(const Tensor&, const Tensor&) {
  const Mbarriers bars = smem::mbarrier(2);
  const Reg p = word() > 0;
  ptx::mbarrier::init(bars[0], 1);
  ptx::mbarrier::init_all(bars, 4, p);
  ptx::mbarrier::arrive(bars[0], 4, p);
  const Reg state = ptx::mbarrier::arrive_state(bars[1]);
  ptx::mbarrier::pending_count(state);
  ptx::mbarrier::arrive_drop(bars[1], 2);
  ptx::mbarrier::arrive_expect_tx(bars[0], 8192, p);
  ptx::mbarrier::expect_tx(bars[0], 64);
  ptx::mbarrier::complete_tx(bars[0], 64);
  ptx::mbarrier::arrive_remote(bars[0], 1, 2);
  ptx::mbarrier::arrive_remote_all(bars, 1, 2, p);
  ptx::mbarrier::try_wait(bars[0], 0);
  ptx::mbarrier::test_wait(bars[0], state, false);
  ptx::mbarrier::wait(bars[1], 1);
  ptx::mbarrier::inval(bars[0]);
  const Mbarriers more = ptx::mbarrier::array(smem::alloc(u64, {8}).address(), 16, 4);
  ptx::mbarrier::arrive(more[word()]);
  const ptx::Pipeline ring = ptx::pipeline(4);
  ring.advance();
}

void copies(const Tensor& A, const Tensor&) {
  const Shared tile = smem::alloc(bf16, {64, 64});
  const Reg p = ptx::global_ptr(A);
  const Mbarriers bars = smem::mbarrier(1);
  ptx::cp_async::ca(tile, ptx::addr(p, 8), 8, word(4));
  ptx::cp_async::cg(tile, ptx::addr(p, 16), 16, {}, p > 0);
  ptx::cp_async::commit_group();
  ptx::cp_async::wait_group(1);
  ptx::cp_async::wait_all();
  ptx::bulk::load(tile, ptx::addr(p), 1024, bars[0]);
  ptx::bulk::load(tile, ptx::addr(p), word(64), bars[0], 3);
  ptx::bulk::store(ptx::addr(p), tile, 1024);
  ptx::bulk::reduce("add", f32, ptx::addr(p), tile, 256);
  ptx::bulk::reduce("max", u64, ptx::addr(p), tile, 256);
  ptx::bulk::prefetch(ptx::addr(p), 4096);
  const Reg remote = ptx::cluster::map_shared(tile, 1);
  ptx::bulk::to_cluster(remote, tile, 256, ptx::cluster::map_shared(bars[0], 1));
  const Reg map = A.tma_desc();
  const Reg x = word(0);
  ptx::tma::load(tile, map, {x, 1}, bars[0]);
  ptx::tma::load(tile, map, {x, 1, 2}, bars[0], {.multicast_mask = 3, .cache_policy = wide()});
  ptx::tma::store(map, {x, 1}, tile, {.guard = x > 0});
  ptx::tma::reduce("add", map, {x}, tile);
  ptx::tma::prefetch(map, {x, 1, 2, 3});
  ptx::tma::commit_group();
  ptx::tma::wait_group(1, true);
}

void rows(const Tensor& A, const Tensor&) {
  const Shared tile = tile_of();
  const Mbarriers bars = smem::mbarrier(1);
  const Reg map = A.tma_desc();
  const Reg x = word(0);
  ptx::tma::gather4(tile, map, {x, 3, 1, 4, 1}, bars[0], {.cta_group = 2});
  ptx::tma::scatter4(map, {x, 3, 1, 4, 1}, tile);
  ptx::tma::prefetch_gather4(map, {x, 3, 1, 4, 1});
}

void matrices(const Tensor&, const Tensor&) {
  const RegArray c = reg::array(f32, 4);
  const RegArray a = reg::array(b32, 4);
  const RegArray b = reg::array(b32, 2);
  const Shared tile = tile_of();
  ptx::ldmatrix(a, tile);
  ptx::ldmatrix(b, tile, {.count = "x2", .trans = true});
  ptx::mma::sync({.shape = {16, 8, 16},
                  .type_d = f32,
                  .type_a = bf16,
                  .type_b = bf16,
                  .type_c = f32,
                  .d = c,
                  .a = a,
                  .b = b,
                  .c = c});
  ptx::stmatrix(tile, a);
  ptx::stmatrix_x4_trans_f32_bf16(reg::wgmma_frag(64, 16, f32), tile, ptx::special::laneid(), 128);
}

void warpgroups(const Tensor&, const Tensor&) {
  const Shared a = smem::wgmma_tile(bf16, {64, 64});
  const Shared b = smem::wgmma_tile(bf16, {128, 64});
  const RegArray acc = reg::wgmma_frag(64, 128, f32);
  ptx::wgmma::fence();
  ptx::wgmma::mma_async({.shape = {64, 128, 16},
                         .type_d = f32,
                         .type_a = bf16,
                         .type_b = bf16,
                         .d = acc,
                         .a = a,
                         .b = b,
                         .scale_d = true,
                         .k_offset_b = 16});
  ptx::wgmma::commit_group();
  ptx::wgmma::wait_group(0);
  ptx::wgmma::make_descriptor(
      a, {.leading_bytes = 16, .stride_bytes = 1024, .type = layout::LayoutType::B128});
  ptx::wgmma::auto_descriptor(a, bf16, {64, 64}, layout::Major::K);
  ptx::wgmma::masked_descriptor(a, 32);
}

void tensor_memory(const Tensor&, const Tensor&) {
  const Shared slot = smem::alloc(u32, {1});
  const Shared a = smem::wgmma_tile(bf16, {128, 64});
  const Shared b = smem::wgmma_tile(bf16, {64, 64});
  const Mbarriers bars = smem::mbarrier(1);
  const Reg tmem = reg::scalar(b32, 0);
  tc::alloc(slot, 512);
  tc::relinquish_alloc_permit();
  const Reg p = word() > 0;
  const std::int64_t kind = tc::instruction_descriptor({.n = 64});
  tc::mma({.d = tmem, .a = a, .b = b, .instruction = kind, .enable_input_d = p, .guard = p});
  tc::mma({.d = tmem,
           .a = tc::masked_descriptor(a),
           .b = tc::masked_descriptor(b, 64),
           .instruction = kind,
           .enable_input_d = false,
           .collector_a = "fill"});
  tc::commit(bars[0]);
  tc::commit(bars[0], {.multicast_mask = 3, .guard = p});
  const RegArray values = reg::array(b32, 4);
  tc::ld(values, {tmem, 64}, {.shape = "32x32b", .count = 4});
  tc::wait_ld();
  tc::st(tmem, values, {.shape = "32x32b", .count = 4});
  tc::wait_st();
  const Reg matrix = tc::descriptor(
      a, {.leading_bytes = 16, .stride_bytes = 1024, .swizzle = layout::Tcgen05Swizzle::B128});
  tc::cp(tmem, matrix, "128x256b");
  tc::cp({tmem, 4}, matrix, "32x128b", {.multicast = "warpx4"});
  tc::shift(tmem);
  tc::auto_descriptor(a, bf16, {128, 64}, layout::Major::K);
  tc::fence_before_thread_sync();
  tc::fence_after_thread_sync();
  tc::dealloc(tmem, 512);
  tc::alloc(slot, 96, 1, true);
  tc::dealloc(tmem, 96, 1, true);
}

void reductions(const Tensor&, const Tensor&) {
  const Reg least = reg::scalar(f32);
  tc::ld_red(reg::array(f32, 4), reg::scalar(b32, 0),
             {.op = "max", .type = f32, .abs = true, .result = least},
             {.shape = "32x32b", .count = 4});
}

struct Twin {
  const char* name;
  std::function<void(const Tensor&, const Tensor&)> body;
  isa::Target target{90, 'a'};
};

}  // namespace

int main() {
  const std::vector<Twin> twins{
      {"registers", registers},
      {"forms", forms},
      {"memory", memory},
      {"shared", shared},
      {"control", control},
      {"warps", warps},
      {"mbarriers", mbarriers},
      {"copies", copies},
      {"rows", rows, {100, 'a'}},
      {"matrices", matrices},
      {"warpgroups", warpgroups},
      {"tensor_memory", tensor_memory, {100, 'a'}},
      {"reductions", reductions, {103, 'a'}},
  };
  for (const Twin& twin : twins) {
    const Kernel kernel(twin.name, {"A", "B"},
                        {.target = twin.target, .raw_params = {{u32, "n"}}, .line_info = false},
                        twin.body);
    const auto text = kernel.ptx();
    std::cout << "== " << twin.name << "\n" << (text ? *text : diag::describe(text.error()));
  }
  return 0;
}
