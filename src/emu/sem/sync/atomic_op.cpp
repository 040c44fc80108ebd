// SPDX-License-Identifier: Apache-2.0
//
// See atomic_op.h. Floats are rounded to nearest; a NaN result is canonical but for f64.
#include "sem/sync/atomic_op.h"

#include <algorithm>
#include <cmath>

#include "numerics/half.h"
#include "sem/lane.h"

namespace pyptx::emu {
namespace {

u64 integer(AtomicOp op, Ty type, const AtomicOperands& in) {
  const u32 bits = info(type).bits;
  const u64 old = low_bits(in.old, bits);
  const u64 b = low_bits(in.b, bits);
  switch (op) {
    case AtomicOp::Add:
      return low_bits(old + b, bits);
    case AtomicOp::And:
      return old & b;
    case AtomicOp::Or:
      return old | b;
    case AtomicOp::Xor:
      return old ^ b;
    case AtomicOp::Exch:
      return b;
    case AtomicOp::Inc:
      return old >= b ? 0 : old + 1;
    case AtomicOp::Dec:
      return old == 0 || old > b ? b : old - 1;
    case AtomicOp::Cas:
      return old == b ? low_bits(in.c, bits) : old;
    case AtomicOp::Min:
    case AtomicOp::Max: {
      const bool is_less =
          is_signed(type) ? sign_extended(old, bits) < sign_extended(b, bits) : old < b;
      return is_less == (op == AtomicOp::Min) ? old : b;
    }
  }
  return old;
}

float flushed(float value, bool flushes) {
  return flushes && std::fabs(value) < 0x1p-126F ? std::copysign(0.0F, value) : value;
}

u64 add_single(const AtomicOperands& in) {
  const float a = flushed(std::bit_cast<float>(static_cast<u32>(in.old)), in.flushes);
  const float b = flushed(std::bit_cast<float>(static_cast<u32>(in.b)), in.flushes);
  const float sum = flushed(a + b, in.flushes);
  return std::isnan(sum) ? kF32.nan : std::bit_cast<u32>(sum);
}

u64 add_double(const AtomicOperands& in) {
  const double sum = std::bit_cast<double>(in.old) + std::bit_cast<double>(in.b);
  if (!std::isnan(sum)) return std::bit_cast<u64>(sum);
  const u64 first = in.quiets ? in.old : in.b;
  const u64 second = in.quiets ? in.b : in.old;
  for (const u64 from : {first, second}) {
    if (std::isnan(std::bit_cast<double>(from))) return from | (in.quiets ? 1ULL << 51 : 0);
  }
  return kF64.nan;
}

template <typename S>
u16 short_one(AtomicOp op, u16 old, u16 value) {
  const S a{old};
  const S b{value};
  if (op == AtomicOp::Add) return add_short(a, b).bits;
  if (a.is_nan() && b.is_nan()) return static_cast<u16>(S::format().nan);
  if (a.is_nan() || b.is_nan()) return a.is_nan() ? b.bits : a.bits;
  const bool is_min = op == AtomicOp::Min;
  if (a.value() == b.value()) return a.is_negative() == is_min ? a.bits : b.bits;
  return (a.value() < b.value()) == is_min ? a.bits : b.bits;
}

template <typename S>
u64 shorts(AtomicOp op, const AtomicOperands& in, u32 count) {
  u64 result = 0;
  for (u32 k = 0; k < count; ++k) {
    const u32 shift = 16 * k;
    const u16 one =
        short_one<S>(op, static_cast<u16>(in.old >> shift), static_cast<u16>(in.b >> shift));
    result |= static_cast<u64>(one) << shift;
  }
  return result;
}

}  // namespace

u64 apply(AtomicOp op, Ty type, const AtomicOperands& operands) {
  switch (type) {
    case Ty::F32:
      return add_single(operands);
    case Ty::F64:
      return add_double(operands);
    case Ty::F16:
      return shorts<Half>(op, operands, 1);
    case Ty::F16x2:
      return shorts<Half>(op, operands, 2);
    case Ty::Bf16:
      return shorts<BFloat>(op, operands, 1);
    case Ty::Bf16x2:
      return shorts<BFloat>(op, operands, 2);
    default:
      return integer(op, type, operands);
  }
}

std::optional<AtomicOp> take_atomic_op(Lowering& low) {
  constexpr std::string_view kNames[] = {"add", "and", "or",  "xor", "exch",
                                         "inc", "dec", "min", "max", "cas"};
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (low.take(kNames[i])) return static_cast<AtomicOp>(i);
  }
  return std::nullopt;
}

}  // namespace pyptx::emu
