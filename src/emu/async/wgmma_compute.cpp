// SPDX-License-Identifier: Apache-2.0
//
// D = A * B + D of one wgmma (PTX ISA, "wgmma.mma_async", "Register Fragments and Shared Memory
// Matrix Layouts") in the panels of numerics/panel.h. Panels are in the order of the accumulator's
// lanes, so that an f32 accumulator is never rearranged.
#include <cmath>
#include <cstring>
#include <vector>

#include "async/wgmma_form.h"
#include "async/wgmma_queue.h"
#include "async/wgmma_tile.h"
#include "machine/cluster.h"
#include "numerics/panel.h"
#include "numerics/sparse.h"

namespace pyptx::emu {
namespace {

/// What a thread keeps from one product to the next.
struct WgmmaRoom {
  std::vector<float> a;
  std::vector<float> b;
  std::vector<float> sums;
  std::vector<float*> vectors;
  std::vector<u8> places;
};

class WgmmaProduct {
 public:
  WgmmaProduct(Cta& cta, u32 warpgroup, const WgmmaOp& op, WgmmaRoom& room)
      : cta_(cta),
        first_(warpgroup * 4),
        op_(op),
        form_(WgmmaForm::unpack(op.inst->imm)),
        list_(cta.warps[first_].program->lists.data() + op.inst->list),
        room_(room) {}

  /// What is wrong with a descriptor or the metadata, or nothing.
  std::optional<diag::Diagnostic> run() {
    room_.a.resize(std::size_t{kPanels} * form_.stored() * kVector);
    room_.b.resize(std::size_t{columns()} * form_.depth() * kVector);
    if (form_.a_in_registers) {
      read_a_registers();
    } else if (!read_a_shared()) {
      return outside(op_, 'A');
    }
    if (has_long_rows()) {
      return bad_descriptor(op_, "the rows of the B tile are longer than its swizzle");
    }
    if (!read_b()) return outside(op_, 'B');
    if (form_.is_sparse && !read_places()) {
      return bad_descriptor(op_, "the sparsity metadata names a place twice");
    }
    start();
    const Numerics numerics =
        form_.is_integer() ? Numerics::Fast : cta_.cluster->launch->options.numerics;
    const SumRule rule = sum_rule({cta_.cluster->tensor_core, MatrixUnit::Wgmma, form_.a, form_.b,
                                   form_.d == Accumulator::F16, form_.stored()});
    const Panels panels{room_.a.data(), room_.b.data(), room_.vectors.data(),
                        kPanels,        columns(),      form_.depth()};
    if (form_.is_sparse) {
      multiply_sparse(panels, room_.places.data(), numerics, rule);
    } else {
      multiply(panels, numerics, rule);
    }
    finish();
    carry_gaps(cta_, first_ / 4, op_, a_gaps_, b_gaps_);
    return std::nullopt;
  }

 private:
  static constexpr u32 kPanels = 32;  // of A: 64 rows, two to a panel
  /// Panels of B: four columns to each.
  u32 columns() const { return form_.columns / 4; }

  bool read_a_shared() {
    const TileOperand operand{layout::MatrixDescriptor::decode(op_.a_descriptor),
                              form_.trans_a ? layout::Major::MN : layout::Major::K,
                              form_.a,
                              64,
                              form_.stored(),
                              form_.negate_a};
    return read_tile(cta_, operand, a_gaps_, [&](u32 group, const float* rows) {
      const u32 panel = group * 4;  // 8 rows are 4 panels; 8 panels are a warp's
      panel_kernels().rows_to_a(rows, form_.stored(),
                                room_.a.data() + panel * form_.stored() * kVector);
    });
  }

  void read_a_registers() {
    const u32* a = list_ + form_.d_registers();
    const u32 step = 4 * (32 / info(form_.a).bits);
    for (u32 w = 0; w < 4; ++w) {
      float* panels = room_.a.data() + w * 8 * form_.stored() * kVector;
      for (u32 r = 0; r < 4; ++r) {  // as mma's A of 16 rows
        panel_kernels().spread_a({form_.a, cta_.warps[first_ + w].lanes32(a[r]), r / 2 * step,
                                  r % 2, form_.stored(), false},
                                 panels);
      }
    }
    if (form_.negate_a) negate(room_.a.data(), room_.a.size());
  }

  /// Beside a sparse A, 64 bytes of B along K: the manual's layouts have no place for them in the
  /// 32-byte swizzle.
  bool has_long_rows() const {
    const auto type = layout::MatrixDescriptor::decode(op_.b_descriptor).type;
    return form_.is_sparse && !form_.trans_b && type == layout::LayoutType::B32;
  }

  bool read_b() {
    const TileOperand operand{layout::MatrixDescriptor::decode(op_.b_descriptor),
                              form_.trans_b ? layout::Major::MN : layout::Major::K,
                              form_.b,
                              form_.columns,
                              form_.depth(),
                              form_.negate_b};
    return read_tile(cta_, operand, b_gaps_, [&](u32 group, const float* rows) {
      panel_kernels().rows_to_b(rows, form_.depth(),
                                room_.b.data() + group * 2 * form_.depth() * kVector);
    });
  }

  bool read_places() {
    room_.places.resize(std::size_t{kPanels} * form_.stored() * 2);
    const u32 metadata = list_[form_.d_registers() + (form_.a_in_registers ? 4 : 0)];
    for (u32 w = 0; w < 4; ++w) {
      const SparsePattern pattern{form_.a, form_.stored(), form_.selector, false};
      u8* places = room_.places.data() + w * 8 * form_.stored() * 2;
      if (!sparse_places(pattern, cta_.warps[first_ + w].lanes32(metadata), 16, places)) {
        return false;
      }
    }
    return true;
  }

  bool is_in_place() const { return form_.d == Accumulator::F32; }
  u32 sums_of_warp() const { return form_.columns / 2; }
  /// Register `r` of an f32 accumulator, as 32 floats.
  float* sums(u32 w, u32 r) {
    if (is_in_place()) {
      return reinterpret_cast<float*>(cta_.warps[first_ + w].lanes32(list_[r]));
    }
    return room_.sums.data() + (w * sums_of_warp() + r) * kLanes;
  }

  /// Points at the accumulators and puts C there.
  void start() {
    if (!is_in_place()) room_.sums.resize(std::size_t{4} * sums_of_warp() * kLanes);
    room_.vectors.resize(std::size_t{kPanels} * columns());
    for (u32 w = 0; w < 4; ++w) {
      const bool is_zero = !op_.scale_d || form_.is_integer();
      for (u32 r = 0; r < sums_of_warp(); ++r) {
        if (is_zero) std::memset(sums(w, r), 0, sizeof(float) * kLanes);
      }
      if (!is_zero && form_.d == Accumulator::F16) {
        for (u32 r = 0; r < form_.d_registers(); ++r) {
          panel_kernels().unpack_halves(cta_.warps[first_ + w].lanes32(list_[r]), sums(w, 2 * r),
                                        sums(w, 2 * r + 1));
        }
      }
      for (u32 r = 0; r < sums_of_warp(); ++r) {
        // Register r: half r / 2 % 2 of the rows, columns r % 2 of a pair, eight columns r / 4.
        float* lanes = sums(w, r);
        float** to = room_.vectors.data() + (w * 8 + r / 2 % 2 * 4) * columns() + r / 4 * 2 + r % 2;
        for (u32 v = 0; v < 4; ++v) to[v * columns()] = lanes + v * kVector;
      }
    }
  }

  void finish() {
    if (is_in_place()) return;
    for (u32 w = 0; w < 4; ++w) {
      Warp& warp = cta_.warps[first_ + w];
      for (u32 r = 0; r < form_.d_registers(); ++r) {
        if (form_.d == Accumulator::F16) {
          panel_kernels().pack_halves(sums(w, 2 * r), sums(w, 2 * r + 1), warp.lanes32(list_[r]));
        } else {
          add_integers(warp.lanes32(list_[r]), sums(w, r));
        }
      }
    }
  }

  /// The product alone is exact in f32; only adding D can pass the range.
  void add_integers(u32* d, const float* product) const {
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const i64 old = op_.scale_d ? static_cast<i32>(d[lane]) : 0;
      const i64 sum = old + static_cast<i64>(product[lane]);
      const i64 limited = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
      d[lane] = static_cast<u32>(form_.saturate ? limited : sum);
    }
  }

  Cta& cta_;
  u32 first_;
  const WgmmaOp& op_;
  WgmmaForm form_;
  const u32* list_;
  WgmmaRoom& room_;
  TileGaps a_gaps_;
  TileGaps b_gaps_;
};

}  // namespace

void perform(Cta& cta, u32 warpgroup, const WgmmaOp& op) {
  thread_local WgmmaRoom room;
  const WgmmaForm form = WgmmaForm::unpack(op.inst->imm);
  auto problem = form.a == Element::B1 ? multiply_bits(cta, warpgroup, op)
                                       : WgmmaProduct(cta, warpgroup, op, room).run();
  if (problem) cta.warps[warpgroup * 4].fail(*op.inst, std::move(*problem));
}

}  // namespace pyptx::emu
