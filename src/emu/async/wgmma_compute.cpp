// SPDX-License-Identifier: Apache-2.0
//
// D = A * B + D of one wgmma (PTX ISA, "wgmma.mma_async", "Register Fragments and Shared Memory
// Matrix Layouts"). Operands become f32 (or s32) in the order of the accumulator's lanes, so that
// the accumulator is never rearranged. Products are exact in f32; sums are rounded to nearest in
// f32, which the manual leaves open.
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "async/wgmma_form.h"
#include "async/wgmma_queue.h"
#include "cluster.h"
#include "numerics/half.h"
#include "pyptx/layout/fragment.h"
#include "pyptx/layout/matrix_descriptor.h"
#include "sem/multiply.h"

namespace pyptx::emu {
namespace {

float half_bits_to_float(u16 h) {
  const float scaled = std::bit_cast<float>(static_cast<u32>(h & 0x7FFFU) << 13) * 0x1p112F;
  u32 bits = std::bit_cast<u32>(scaled);
  if ((h & 0x7C00U) == 0x7C00U) bits |= 0x7F800000U;
  return std::bit_cast<float>(bits | static_cast<u32>(h & 0x8000U) << 16);
}

std::array<float, 256> byte_table(const Format& format) {
  std::array<float, 256> table{};
  for (u32 i = 0; i < 256; ++i) table[i] = static_cast<float>(widen(i, format));
  return table;
}

template <typename T>
T element(Ty type, const std::byte* from) {
  if constexpr (std::is_same_v<T, i32>) {
    const u8 bits = static_cast<u8>(*from);
    return type == Ty::S8 ? static_cast<i8>(bits) : bits;
  } else {
    static const std::array<float, 256> kE4M3Table = byte_table(kE4M3);
    static const std::array<float, 256> kE5M2Table = byte_table(kE5M2);
    u16 half = 0;
    u32 word = 0;
    switch (type) {
      case Ty::F16:
        std::memcpy(&half, from, 2);
        return half_bits_to_float(half);
      case Ty::BF16:
        std::memcpy(&half, from, 2);
        return bfloat_to_float(half);
      case Ty::E4M3:
        return kE4M3Table[static_cast<u8>(*from)];
      case Ty::E5M2:
        return kE5M2Table[static_cast<u8>(*from)];
      default:
        std::memcpy(&word, from, 4);
        return std::bit_cast<float>(word & 0xFFFFE000U);
    }
  }
}

struct SharedOperand {
  layout::MatrixDescriptor descriptor;
  layout::Major major = layout::Major::K;
  Ty type = Ty::None;
  u32 element_bytes = 0;
  u32 rows = 0;  // M or N
  u32 depth = 0;
  bool is_negative = false;
};

/// Calls put(row, k, value) for every element; false when the tile leaves shared memory.
template <typename T, typename Put>
bool read_shared(const Cta& cta, const SharedOperand& operand, Put&& put) {
  const u32 chunk = 16 / operand.element_bytes;
  const bool along_k = operand.major == layout::Major::K;
  const u32 outer = along_k ? operand.rows : operand.depth;
  const u32 inner = along_k ? operand.depth : operand.rows;
  for (u32 o = 0; o < outer; ++o) {
    for (u32 i = 0; i < inner; i += chunk) {
      const u32 row = along_k ? o : i;
      const u32 k = along_k ? i : o;
      const u32 at =
          operand.descriptor.address(operand.major, operand.element_bytes, row, k) & 0x3FFFFU;
      if (at < kSharedReserved || at + 16 > cta.shared.size()) return false;
      const std::byte* from = cta.shared.data() + at;
      for (u32 e = 0; e < chunk; ++e) {
        T value = element<T>(operand.type, from + e * operand.element_bytes);
        if (operand.is_negative) value = -value;
        put(along_k ? row : row + e, along_k ? k + e : k, value);
      }
    }
  }
  return true;
}

template <typename T>
class Product {
 public:
  Product(Cta& cta, u32 warpgroup, const WgmmaOp& op)
      : cta_(cta),
        first_(warpgroup * 4),
        op_(op),
        form_(WgmmaForm::unpack(op.inst->imm)),
        depth_(form_.depth()) {}

  /// What is wrong with a descriptor, or nothing.
  std::string run() {
    a_.resize(std::size_t{4} * 2 * depth_ * kLanes);
    b_.resize(std::size_t{form_.columns} * depth_ * 2);
    const bool a_ok = form_.a_in_registers ? read_a_registers() : read_a_shared();
    if (!a_ok) return "the A tile leaves the CTA's shared memory";
    if (!read_b()) return "the B tile leaves the CTA's shared memory";
    for (u32 w = 0; w < 4; ++w) accumulate(w);
    return {};
  }

 private:
  void put_a(u32 row, u32 k, T value) {
    const u32 w = row / 16;
    const u32 half = (row / 8) % 2;
    T* to = a_.data() + ((w * 2 + half) * depth_ + k) * kLanes + (row % 8) * 4;
    to[0] = to[1] = to[2] = to[3] = value;
  }

  bool read_a_shared() {
    const SharedOperand operand{layout::MatrixDescriptor::decode(op_.a_descriptor),
                                form_.trans_a ? layout::Major::MN : layout::Major::K,
                                form_.a,
                                form_.element_bytes(),
                                64,
                                depth_,
                                form_.negate_a};
    return read_shared<T>(cta_, operand, [&](u32 m, u32 k, T value) { put_a(m, k, value); });
  }

  bool read_a_registers() {
    const u32* list =
        cta_.warps[first_].program->lists.data() + op_.inst->list + form_.d_registers();
    const u32 bytes = form_.element_bytes();
    const layout::Fragment fragment = layout::wgmma_a(8 * bytes);
    for (u32 thread = 0; thread < fragment.threads; ++thread) {
      Warp& warp = cta_.warps[first_ + thread / kLanes];
      for (u32 reg = 0; reg < fragment.registers; ++reg) {
        const auto* held =
            reinterpret_cast<const std::byte*>(&warp.lanes32(list[reg])[thread % kLanes]);
        for (u32 i = 0; i < fragment.elements; ++i) {
          const layout::FragmentPlace at = fragment.at(thread, reg, i);
          const T value = element<T>(form_.a, held + i * bytes);
          put_a(at.row, at.column, form_.negate_a ? -value : value);
        }
      }
    }
    return true;
  }

  bool read_b() {
    const SharedOperand operand{layout::MatrixDescriptor::decode(op_.b_descriptor),
                                form_.trans_b ? layout::Major::MN : layout::Major::K,
                                form_.b,
                                form_.element_bytes(),
                                form_.columns,
                                depth_,
                                form_.negate_b};
    return read_shared<T>(cta_, operand, [&](u32 n, u32 k, T value) {
      T* to = b_.data() + ((n / 8 * 2 + n % 2) * depth_ + k) * 8 + n % 8 / 2;
      to[0] = to[4] = value;
    });
  }

  void accumulate(u32 w) {
    Warp& warp = cta_.warps[first_ + w];
    const u32* list = warp.program->lists.data() + op_.inst->list;
    const u32 count = form_.columns / 2;
    T* d[128];
    std::vector<T> wide;
    const bool is_packed = form_.d == Ty::F16;
    const bool is_apart = is_packed || form_.saturate;
    if (is_apart) wide.resize(std::size_t{count} * kLanes);
    for (u32 i = 0; i < count; ++i) {
      d[i] = is_apart ? wide.data() + i * kLanes : reinterpret_cast<T*>(warp.lanes32(list[i]));
    }
    if (!op_.scale_d) {
      for (u32 i = 0; i < count; ++i) std::memset(d[i], 0, sizeof(T) * kLanes);
    } else if (is_packed) {
      if constexpr (std::is_same_v<T, float>) unpack_halves(warp, list, d, count);
    }
    multiply(MultiplyArgs<T>{a_.data() + std::size_t{w} * 2 * depth_ * kLanes, b_.data(), d,
                             form_.columns / 8, depth_});
    if constexpr (std::is_same_v<T, float>) {
      if (is_packed)
        pack_halves(warp, list, d, count);
      else
        canonical_nans(d, count);
    } else if (form_.saturate) {
      add_saturating(warp, list, d, count);
    }
  }

  static void unpack_halves(Warp& warp, const u32* list, T* const* d, u32 count) {
    for (u32 i = 0; i < count; ++i) {
      for (u32 lane = 0; lane < kLanes; ++lane) {
        const u32 both = warp.lanes32(list[i / 2])[lane];
        d[i][lane] = half_bits_to_float(static_cast<u16>(both >> (16 * (i % 2))));
      }
    }
  }

  static void pack_halves(Warp& warp, const u32* list, T* const* d, u32 count) {
    for (u32 i = 0; i < count; i += 2) {
      for (u32 lane = 0; lane < kLanes; ++lane) {
        const u32 low = Half::from(d[i][lane]).bits;
        const u32 high = Half::from(d[i + 1][lane]).bits;
        warp.lanes32(list[i / 2])[lane] = low | high << 16;
      }
    }
  }

  static void canonical_nans(T* const* d, u32 count) {
    for (u32 i = 0; i < count; ++i) {
      for (u32 lane = 0; lane < kLanes; ++lane) {
        const T value = d[i][lane];
        d[i][lane] = std::isnan(value) ? std::bit_cast<float>(0x7FFFFFFFU) : value;
      }
    }
  }

  /// The product alone fits 32 bits; only adding D can pass the range.
  void add_saturating(Warp& warp, const u32* list, T* const* d, u32 count) {
    for (u32 i = 0; i < count; ++i) {
      u32* to = warp.lanes32(list[i]);
      for (u32 lane = 0; lane < kLanes; ++lane) {
        const i64 old = op_.scale_d ? static_cast<i32>(to[lane]) : 0;
        const i64 sum = old + static_cast<i64>(d[i][lane]);
        to[lane] = static_cast<u32>(static_cast<i32>(sum > INT32_MAX   ? INT32_MAX
                                                     : sum < INT32_MIN ? INT32_MIN
                                                                       : sum));
      }
    }
  }

  Cta& cta_;
  u32 first_;
  const WgmmaOp& op_;
  WgmmaForm form_;
  u32 depth_;
  std::vector<T> a_;
  std::vector<T> b_;
};

}  // namespace

void perform(Cta& cta, u32 warpgroup, const WgmmaOp& op) {
  const WgmmaForm form = WgmmaForm::unpack(op.inst->imm);
  const std::string problem = form.is_integer() ? Product<i32>(cta, warpgroup, op).run()
                                                : Product<float>(cta, warpgroup, op).run();
  if (problem.empty()) return;
  Warp& warp = cta.warps[warpgroup * 4];
  warp.fail(*op.inst, diag::Diagnostic(diag::Kind::EmuDescriptor, {problem})
                          .note("A descriptor " + hex(op.a_descriptor) + ", B descriptor " +
                                hex(op.b_descriptor)));
}

}  // namespace pyptx::emu
