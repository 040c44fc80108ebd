// SPDX-License-Identifier: Apache-2.0
//
// Registers into panels and back. Where an element lies is layout::mma_a, mma_b and
// mma_accumulator: lane 4 g + t has row g of A (and g + 8), column g of B, and columns 2 t and
// 2 t + 1 of rows g and g + 8 of C; PanelKernels::spread_a and spread_b move whole registers so.
#include "sem/matrix/mma_tile.h"

#include <cstring>

#include "sem/matrix/mma.h"

namespace pyptx::emu {
namespace {

constexpr i64 kGreatest = INT32_MAX;
constexpr i64 kLeast = INT32_MIN;

i32 add_integer(i32 c, i32 product, bool saturate) {
  const i64 sum = static_cast<i64>(c) + product;
  if (!saturate) return static_cast<i32>(static_cast<u32>(sum));
  return static_cast<i32>(sum > kGreatest ? kGreatest : sum < kLeast ? kLeast : sum);
}

}  // namespace

SumRule rule_of(const Warp& warp, const MmaForm& form, u32 depth) {
  // A sum of another type than C is made in f32 and converted.
  const bool is_half = form.d == Accumulator::F16 && form.c == Accumulator::F16;
  SumRule rule =
      sum_rule({warp.cta->cluster->tensor_core, MatrixUnit::Mma, form.a, form.b, is_half, depth});
  // ptxas makes wmma.m16n16k8 of m16n8k4.
  if (form.is_wmma && form.a == Element::TF32) rule.chunk = 4;
  return rule;
}

void MmaTile::read_a(u32 row_block, bool takes_pairs_apart) {
  const PanelKernels& kernels = panel_kernels();
  const u32 halves = form_.rows / 8;
  const u32 step = 4 * (32 / info(form_.a).bits);  // elements along K of one register of a quad
  for (u32 r = 0; r < form_.a_registers; ++r) {
    kernels.spread_a({form_.a, lanes(form_.a_first + row_block * form_.a_registers + r),
                      r / halves * step, r % halves, form_.stored(), takes_pairs_apart},
                     a_);
  }
}

void MmaTile::read_b(u32 column_block, bool takes_pairs_apart) {
  const PanelKernels& kernels = panel_kernels();
  const u32 step = 4 * (32 / info(form_.b).bits);
  for (u32 r = 0; r < form_.b_registers; ++r) {
    kernels.spread_b({form_.b, lanes(form_.b_first + column_block * form_.b_registers + r),
                      r * step, 0, form_.depth, takes_pairs_apart},
                     b_);
  }
}

void MmaTile::read_c(u32 row_block, u32 column_block) {
  const u32 block = row_block * form_.column_blocks + column_block;
  const u32 first = form_.c_first + block * form_.c_registers;
  for (u32 r = 0; r < form_.c_registers; ++r) {
    switch (form_.c) {
      case Accumulator::F32:
        std::memcpy(sums_[r], lanes(first + r), sizeof(sums_[r]));
        break;
      case Accumulator::F16:
        panel_kernels().unpack_halves(lanes(first + r), sums_[2 * r], sums_[2 * r + 1]);
        break;
      default:  // added as integers at the end
        std::memset(sums_[r], 0, sizeof(sums_[r]));
        break;
    }
  }
}

void MmaTile::add_integers(u32 row_block, u32 column_block) {
  const u32 block = row_block * form_.column_blocks + column_block;
  for (u32 r = 0; r < form_.d_registers; ++r) {
    const u32* c = lanes(form_.c_first + block * form_.c_registers + r);
    u32* d = results_[block * form_.d_registers + r];
    for (u32 i = 0; i < kLanes; ++i) {
      d[i] = static_cast<u32>(
          add_integer(static_cast<i32>(c[i]), static_cast<i32>(sums_[r][i]), form_.saturate));
    }
  }
}

void MmaTile::keep_d(u32 row_block, u32 column_block) {
  if (form_.d == Accumulator::S32) {
    add_integers(row_block, column_block);
    return;
  }
  const u32 first = (row_block * form_.column_blocks + column_block) * form_.d_registers;
  for (u32 r = 0; r < form_.d_registers; ++r) {
    if (form_.d == Accumulator::F32) {
      std::memcpy(results_[first + r], sums_[r], sizeof(sums_[r]));
    } else {
      panel_kernels().pack_halves(sums_[2 * r], sums_[2 * r + 1], results_[first + r]);
    }
  }
}

void MmaTile::write_d() {
  for (u32 r = 0; r < form_.row_blocks * form_.column_blocks * form_.d_registers; ++r) {
    std::memcpy(lanes(r), results_[r], sizeof(results_[r]));
  }
}

Panels MmaTile::panels(u32 depth) {
  for (u32 p = 0; p < a_panels(); ++p) {
    for (u32 q = 0; q < 2; ++q) vectors_[p][q] = vector(p, q);
  }
  return {a_, b_, &vectors_[0][0], a_panels(), 2, depth};
}

}  // namespace pyptx::emu
