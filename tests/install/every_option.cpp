// SPDX-License-Identifier: Apache-2.0
//
// All public headers together, and each record of options with some of its members named: what
// careful users compile without a warning. It runs, and prints the version.
#include <pyptx/author.h>
#include <pyptx/launch.h>
#include <pyptx/pyptx.h>
#include <pyptx/verify/instruction.h>
#include <pyptx/verify/lint.h>
#include <pyptx/verify/module.h>

#include <iostream>

static_assert(PYPTX_VERSION_NUMBER >= 100);

namespace {

using namespace pyptx;
using namespace pyptx::types;

Kernel kernel() {
  const auto body = [](const Tensor& X) {
    const auto [px] = ptx::global_ptrs(X);
    const Shared tile = smem::alloc(f16, {16, 16}, {.align = 256, .name = "tile"});
    const RegArray a = reg::array(b32, 4);
    const RegArray b = reg::array(b32, 2);
    const RegArray c = reg::array(f32, 4);
    ptx::cp_async::cg(tile, ptx::addr(px));
    ptx::ldmatrix(a, tile, {.trans = true});
    ptx::ldmatrix(b, tile, {.count = "x2"});
    ptx::mma::sync({.shape = {16, 8, 16},
                    .type_d = f32,
                    .type_a = f16,
                    .type_b = f16,
                    .type_c = f32,
                    .d = c,
                    .a = a,
                    .b = b,
                    .c = c});
    ptx::range(0, 4, [&](const Reg& i) { c[0] += reg::from(i, f32); });
  };
  return {"every_option", {"X"}, {.target = {80, 0}, .line_info = false}, body};
}

}  // namespace

int main() {
  const ptx::wgmma::MmaArguments wide{.shape = {64, 8, 16}, .type_d = f32};
  const ptx::tcgen05::MmaArguments tensor_memory{.kind = "f16"};
  const ptx::tma::LoadOptions load{.cta_group = 2};
  const ptx::tma::StoreOptions store{.mode = "tile"};
  const ptx::tcgen05::MoveOptions move{.count = 4};
  const Signature signature{.kernel = "every_option",
                            .inputs = {{"X", {.dims = {"N"}, .dtype = "f16"}}}};
  const KernelLaunch launch{.grid = {.x = 2}, .block = {.x = 32}};
  const CheckOptions options{.lint = true};
  const diag::RenderOptions render{.color = false};
  const Traced traced = kernel().trace().or_throw();
  const Checked checked = check(print(*traced.module), "every_option.ptx", options);
  std::cout << PYPTX_VERSION << "\n" << diag::render(checked.diagnostics, nullptr, render);
  const bool used = wide.shape[0] == 64 && tensor_memory.kind == "f16" && load.cta_group == 2 &&
                    store.mode == "tile" && move.count == 4 && launch.block.x == 32 &&
                    signature.tensor_count() == 1;
  return checked.ok() && used ? 0 : 1;
}
