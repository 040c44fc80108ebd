// SPDX-License-Identifier: Apache-2.0
//
// The mma that are not sums of f32 products: of f64, of single bits, and the four products of
// m8n8k4. One output at a time.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "machine/cluster.h"
#include "numerics/half.h"
#include "numerics/host_rounding.h"
#include "pyptx/layout/fragment.h"
#include "sem/lanes.h"
#include "sem/matrix/mma.h"

namespace pyptx::emu {
namespace {

/// Calls visit(register, lane, place) for every register of a fragment of one element each.
template <typename Visit>
void each_place(const layout::Fragment& fragment, Visit&& visit) {
  for (u32 reg = 0; reg < fragment.registers; ++reg) {
    for (u32 lane = 0; lane < kLanes; ++lane) visit(reg, lane, fragment.at(lane, reg));
  }
}

/// A NaN among the operands comes out quiet: that of B, else of C, else of A.
double fma_with_nans(double a, double b, double c) {
  constexpr u64 kQuiet = 1ULL << 51;
  for (const double operand : {b, c, a}) {
    if (std::isnan(operand)) return std::bit_cast<double>(std::bit_cast<u64>(operand) | kQuiet);
  }
  const double result = std::fma(a, b, c);
  return std::isnan(result) ? std::bit_cast<double>(kF64.nan) : result;
}

float half_of(u32 pair, u32 element) {
  return half_to_float(static_cast<u16>(pair >> (16 * element)));
}

/// The operands of the four products of m8n8k4.
struct Quads {
  float a[4][8][4];
  float b[4][4][8];
  float d[4][8][8];
};

template <typename Put>
void read_halves(Warp& warp, const u32* list, const layout::Fragment& fragment, Put&& put) {
  for (u32 reg = 0; reg < fragment.registers; ++reg) {
    for (u32 lane = 0; lane < kLanes; ++lane) {
      for (u32 e = 0; e < 2; ++e) {
        put(fragment.at(lane, reg, e), half_of(warp.lanes32(list[reg])[lane], e));
      }
    }
  }
}

void read_quads(Warp& warp, const u32* list, const MmaForm& form, Quads& quads) {
  read_halves(warp, list + form.a_first, layout::mma_m8n8k4_a(form.a_by_rows),
              [&](const layout::FragmentPlace& at, float value) {
                quads.a[at.matrix][at.row][at.column] = value;
              });
  read_halves(warp, list + form.b_first, layout::mma_m8n8k4_b(form.b_by_rows),
              [&](const layout::FragmentPlace& at, float value) {
                quads.b[at.matrix][at.row][at.column] = value;
              });
  const u32* c = list + form.c_first;
  if (form.c == Accumulator::F16) {
    read_halves(warp, c, layout::mma_m8n8k4_accumulator(16),
                [&](const layout::FragmentPlace& at, float value) {
                  quads.d[at.matrix][at.row][at.column] = value;
                });
    return;
  }
  each_place(
      layout::mma_m8n8k4_accumulator(32), [&](u32 reg, u32 lane, const layout::FragmentPlace& at) {
        quads.d[at.matrix][at.row][at.column] = std::bit_cast<float>(warp.lanes32(c[reg])[lane]);
      });
}

/// As a library of ptxas has it, in f32: the sum of products starts at +0 and C comes last; with
/// f16 accumulators two pairs of products are added to C.
void multiply_quads(Quads& quads, bool is_half) {
  for (u32 matrix = 0; matrix < 4; ++matrix) {
    for (u32 m = 0; m < 8; ++m) {
      for (u32 n = 0; n < 8; ++n) {
        const auto& a = quads.a[matrix][m];
        const auto& b = quads.b[matrix];
        const float c = quads.d[matrix][m][n];
        const float first = a[0] * b[0][n];
        const float low = std::fma(a[1], b[1][n], is_half ? first : 0.0F + first);
        const float d = is_half ? (c + low) + std::fma(a[3], b[3][n], a[2] * b[2][n])
                                : c + std::fma(a[3], b[3][n], std::fma(a[2], b[2][n], low));
        quads.d[matrix][m][n] = std::isnan(d) ? std::bit_cast<float>(0x7FFFFFFFU) : d;
      }
    }
  }
}

void write_quads(Warp& warp, const u32* list, const MmaForm& form, const Quads& quads) {
  const bool is_half = form.d == Accumulator::F16;
  const layout::Fragment fragment = layout::mma_m8n8k4_accumulator(is_half ? 16 : 32);
  each_place(fragment, [&](u32 reg, u32 lane, const layout::FragmentPlace& at) {
    const float first = quads.d[at.matrix][at.row][at.column];
    u32& to = warp.lanes32(list[reg])[lane];
    if (!is_half) {
      to = std::bit_cast<u32>(first);
      return;
    }
    const float second = quads.d[at.matrix][at.row][at.column + 1];
    to = Half::from(first).bits | static_cast<u32>(Half::from(second).bits) << 16;
  });
}

}  // namespace

Step run_mma_quads(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = converge_whole(warp, inst, mask);
  if (step != Step::Next) return step;
  const MmaForm& form = mma_form(warp, inst);
  const u32* list = warp.program->lists.data() + inst.list;
  Quads quads;
  read_quads(warp, list, form, quads);
  multiply_quads(quads, form.d == Accumulator::F16);
  write_quads(warp, list, form, quads);
  return Step::Next;
}

Step run_mma_double(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = converge_whole(warp, inst, mask);
  if (step != Step::Next) return step;
  const MmaForm& form = mma_form(warp, inst);
  const u32* list = warp.program->lists.data() + inst.list;
  const auto value = [&](u32 at, u32 lane) {
    return std::bit_cast<double>(warp.lanes64(list[at])[lane]);
  };
  std::array<std::array<double, 16>, 16> a{};
  std::array<std::array<double, 8>, 16> b{};
  std::array<std::array<double, 8>, 16> d{};
  std::array<std::array<u64, kLanes>, 16> results{};  // D may be A, B or C
  const layout::Fragment accumulator = layout::mma_accumulator(form.rows, 64);
  const HostRounding rounding(form.round);
  for (u32 i = 0; i < form.row_blocks; ++i) {
    each_place(layout::mma_a(form.rows, form.depth, 64), [&](u32 reg, u32 lane, const auto& at) {
      a[at.row][at.column] = value(form.a_first + i * form.a_registers + reg, lane);
    });
    for (u32 j = 0; j < form.column_blocks; ++j) {
      const u32 block = i * form.column_blocks + j;
      each_place(layout::mma_b(form.depth, 64), [&](u32 reg, u32 lane, const auto& at) {
        b[at.row][at.column] = value(form.b_first + j * form.b_registers + reg, lane);
      });
      each_place(accumulator, [&](u32 reg, u32 lane, const auto& at) {
        d[at.row][at.column] = value(form.c_first + block * form.c_registers + reg, lane);
      });
      for (u32 m = 0; m < form.rows; ++m) {
        for (u32 n = 0; n < 8; ++n) {
          for (u32 k = 0; k < form.depth; ++k) d[m][n] = fma_with_nans(a[m][k], b[k][n], d[m][n]);
        }
      }
      each_place(accumulator, [&](u32 reg, u32 lane, const auto& at) {
        results[block * form.d_registers + reg][lane] = std::bit_cast<u64>(d[at.row][at.column]);
      });
    }
  }
  for (u32 r = 0; r < form.row_blocks * form.column_blocks * form.d_registers; ++r) {
    std::memcpy(warp.lanes64(list[r]), results[r].data(), sizeof(results[r]));
  }
  return Step::Next;
}

/// Lane 4 g + t has the 32 places along K from 32 t on, of row g of A and of column g of B; the
/// registers of A are those rows and g + 8, and then the next 128 places.
Step run_mma_bits(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = converge_whole(warp, inst, mask);
  if (step != Step::Next) return step;
  const MmaForm& form = mma_form(warp, inst);
  const u32* list = warp.program->lists.data() + inst.list;
  const u32 words = form.depth / 32;
  const layout::Fragment a = layout::mma_a(form.rows, form.depth, 1);
  const layout::Fragment b = layout::mma_b(form.depth, 1);
  std::array<std::array<u32, 8>, 16> rows{};
  std::array<std::array<u32, 8>, 8> columns{};
  each_place(a, [&](u32 reg, u32 lane, const auto& at) {
    rows[at.row][at.column / 32] = warp.lanes32(list[form.a_first + reg])[lane];
  });
  each_place(b, [&](u32 reg, u32 lane, const auto& at) {
    columns[at.column][at.row / 32] = warp.lanes32(list[form.b_first + reg])[lane];
  });
  std::array<std::array<u32, kLanes>, 4> results{};  // D may be A, B or C
  each_place(layout::mma_accumulator(form.rows, 32), [&](u32 reg, u32 lane, const auto& at) {
    u32 sum = warp.lanes32(list[form.c_first + reg])[lane];
    for (u32 w = 0; w < words; ++w) {
      const u32 x = rows[at.row][w];
      const u32 y = columns[at.column][w];
      sum += static_cast<u32>(std::popcount(form.is_xor ? x ^ y : x & y));
    }
    results[reg][lane] = sum;
  });
  for (u32 r = 0; r < form.d_registers; ++r) {
    std::memcpy(warp.lanes32(list[r]), results[r].data(), sizeof(results[r]));
  }
  return Step::Next;
}

}  // namespace pyptx::emu
