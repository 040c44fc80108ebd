// SPDX-License-Identifier: Apache-2.0
//
// mma with a sparse A and mma with block scales (PTX ISA, "mma.sp", "Block Scaling for mma.sync").
#include <array>

#include "numerics/scaled_sum.h"
#include "numerics/sparse.h"
#include "pyptx/layout/fragment.h"
#include "sem/matrix/mma.h"
#include "sem/matrix/mma_tile.h"

namespace pyptx::emu {
namespace {

/// Dense places of the stored elements of 16 rows, as sparse_places gives them.
using Places = std::array<u8, 8 * kGreatestDepth / 2 * 2>;

bool read_places(Warp& warp, const MmaForm& form, Places& places) {
  const SparsePattern pattern{form.a, form.stored(), form.sparsity.selector,
                              form.sparsity.is_ordered};
  return sparse_places(pattern, warp.lanes32(form.sparsity.metadata), form.rows, places.data());
}

Step refuse_sparse(Warp& warp, const Inst& inst, std::string why) {
  return warp.fail(inst,
                   diag::Diagnostic(diag::Kind::EmuOperandValue,
                                    {warp.program->source(inst).spelling->text, std::move(why)}));
}

Step refuse_metadata(Warp& warp, const Inst& inst) {
  return refuse_sparse(warp, inst,
                       "four bits of the sparsity metadata do not name two places in order");
}

/// The scale bytes of the rows or columns, from the lanes that the selectors name.
struct Scales {
  std::array<std::array<u8, 4>, 16> a{};
  std::array<std::array<u8, 4>, 8> b{};
};

/// Bytes from `byte` on; false where the selectors are none of the manual's.
bool read_scales(Warp& warp, const BlockScale& scale, Scales& to) {
  const auto selector = [&](u32 offset) { return warp.lanes32(offset)[0] & 0xFFFFU; };
  const u32 byte_a = selector(scale.select_a[0]);
  const u32 thread_a = selector(scale.select_a[1]);
  const u32 byte_b = selector(scale.select_b[0]);
  const u32 thread_b = selector(scale.select_b[1]);
  const u32 last = 4U - scale.count;
  if (byte_a > last || byte_b > last || byte_a % scale.count != 0 || byte_b % scale.count != 0 ||
      thread_a > 1 || thread_b > 3) {
    return false;
  }
  const auto byte_at = [&warp](u32 offset, const layout::BitsPlace& at) {
    return static_cast<u8>(warp.lanes32(offset)[at.thread] >> at.bit);
  };
  for (u32 i = 0; i < scale.count; ++i) {
    for (u32 row = 0; row < 16; ++row) {
      to.a[row][i] = byte_at(scale.a, layout::mma_scale_a(row, i, byte_a, thread_a));
    }
    for (u32 column = 0; column < 8; ++column) {
      to.b[column][i] = byte_at(scale.b, layout::mma_scale_b(column, i, byte_b, thread_b));
    }
  }
  return true;
}

}  // namespace

Step run_mma_sparse(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = converge_whole(warp, inst, mask);
  if (step != Step::Next) return step;
  const MmaForm& form = mma_form(warp, inst);
  Places places;
  if (!read_places(warp, form, places)) return refuse_metadata(warp, inst);
  const Numerics numerics =
      info(form.a).is_integer ? Numerics::Fast : warp.cta->cluster->launch->options.numerics;
  MmaTile tile(warp, inst, form);
  tile.read_a(0, false);
  tile.read_b(0, false);
  tile.read_c(0, 0);
  multiply_sparse(tile.panels(form.depth), places.data(), numerics,
                  rule_of(warp, form, form.stored()));
  tile.keep_d(0, 0);
  tile.write_d();
  return Step::Next;
}

Step run_mma_scaled(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = converge_whole(warp, inst, mask);
  if (step != Step::Next) return step;
  const MmaForm& form = mma_form(warp, inst);
  Places places;
  if (form.sparsity.is_sparse && !read_places(warp, form, places)) {
    return refuse_metadata(warp, inst);
  }
  Scales scales;
  if (!read_scales(warp, form.scale, scales)) {
    return refuse_sparse(warp, inst, "a selector of scales is out of range");
  }
  MmaTile tile(warp, inst, form);
  tile.read_a(0, false);
  tile.read_b(0, false);
  tile.read_c(0, 0);
  const Panels panels = tile.panels(form.depth);
  const u32 stored = form.stored();
  const SumRule rule = rule_of(warp, form, stored);
  const Numerics numerics = warp.cta->cluster->launch->options.numerics;
  std::array<float, kGreatestDepth> a{};
  std::array<float, kGreatestDepth> b{};
  for (u32 p = 0; p < panels.a_count; ++p) {
    for (u32 q = 0; q < 2; ++q) {
      float* d = panels.d[p * 2 + q];
      for (u32 lane = 0; lane < kVector; ++lane) {
        const u32 row = p / 4 * 8 + p % 4 * 2 + lane / 4;
        const u32 column = lane % 4 * 2 + q;
        for (u32 k = 0; k < stored; ++k) {
          const u32 at = form.sparsity.is_sparse ? places[(p * stored + k) * 2 + lane / 4] : k;
          a[k] = panels.a[(p * stored + k) * kVector + lane];
          b[k] = panels.b[(q * form.depth + at) * kVector + lane];
        }
        d[lane] =
            scaled_sum({a.data(), b.data(), 1, stored, scales.a[row].data(),
                        scales.b[column].data(), form.scale.count, form.scale.is_ue4m3, d[lane]},
                       numerics, rule);
      }
    }
  }
  tile.keep_d(0, 0);
  tile.write_d();
  return Step::Next;
}

}  // namespace pyptx::emu
