// SPDX-License-Identifier: Apache-2.0
//
// One element at a time; see reduce.h. Sums of f32 flush subnormals unless .noftz says otherwise,
// sums of f16 and bf16 are correctly rounded and do not.
#include "async/reduce.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "numerics/half.h"

namespace pyptx::emu {
namespace {

float flushed(float value) {
  const u32 bits = std::bit_cast<u32>(value);
  return (bits & 0x7F800000U) == 0 ? std::bit_cast<float>(bits & 0x80000000U) : value;
}

float add_float(float a, float b, bool keeps_subnormals) {
  if (!keeps_subnormals) {
    a = flushed(a);
    b = flushed(b);
  }
  const float sum = a + b;
  if (std::isnan(sum)) return std::bit_cast<float>(0x7FFFFFFFU);
  return keeps_subnormals ? sum : flushed(sum);
}

double add_double(double a, double b) {
  const double sum = a + b;
  return std::isnan(sum) ? std::bit_cast<double>(0xFFF8000000000000ULL) : sum;
}

/// The number where one is NaN, the canonical NaN where both are; -0 is below +0.
template <typename S>
S extreme(S a, S b, bool is_max) {
  if (a.is_nan() && b.is_nan()) return S{static_cast<u16>(S::format().nan)};
  if (a.is_nan()) return b;
  if (b.is_nan()) return a;
  const bool is_less =
      a.value() < b.value() || (a.value() == b.value() && a.is_negative() && !b.is_negative());
  return is_less == is_max ? b : a;
}

template <typename S>
S combine_short(ReduceOp op, S a, S b) {
  if (op == ReduceOp::Add) return add_short(a, b);
  return extreme(a, b, op == ReduceOp::Max);
}

template <typename T>
T combine_integer(ReduceOp op, T a, T b) {
  switch (op) {
    case ReduceOp::Add:
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) +
                            static_cast<std::make_unsigned_t<T>>(b));
    case ReduceOp::Min:
      return a < b ? a : b;
    case ReduceOp::Max:
      return a > b ? a : b;
    case ReduceOp::Inc:
      return a >= b ? T{0} : static_cast<T>(a + 1);
    case ReduceOp::Dec:
      return a == 0 || a > b ? b : static_cast<T>(a - 1);
    case ReduceOp::And:
      return a & b;
    case ReduceOp::Or:
      return a | b;
    default:
      return a ^ b;
  }
}

template <typename T, typename F>
void each(std::byte* to, const std::byte* from, u64 bytes, F&& combine) {
  for (u64 at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
    T a;
    T b;
    std::memcpy(&a, to + at, sizeof(T));
    std::memcpy(&b, from + at, sizeof(T));
    a = combine(a, b);
    std::memcpy(to + at, &a, sizeof(T));
  }
}

}  // namespace

ReduceOp reduce_op(std::string_view word) {
  constexpr std::array<std::string_view, 9> kWords{"",    "add", "min", "max", "inc",
                                                   "dec", "and", "or",  "xor"};
  for (std::size_t i = 1; i < kWords.size(); ++i) {
    if (kWords[i] == word) return static_cast<ReduceOp>(i);
  }
  return ReduceOp::None;
}

bool can_reduce(ReduceOp op, Ty type) {
  switch (type) {
    case Ty::F32:
    case Ty::F64:
      return op == ReduceOp::Add;
    case Ty::F16:
    case Ty::BF16:
      return op == ReduceOp::Add || op == ReduceOp::Min || op == ReduceOp::Max;
    case Ty::U32:
    case Ty::S32:
    case Ty::U64:
    case Ty::S64:
    case Ty::B32:
    case Ty::B64:
      return op != ReduceOp::None;
    default:
      return false;
  }
}

void reduce(ReduceOp op, Ty type, bool keeps_subnormals, std::byte* to, const std::byte* from,
            u64 bytes) {
  const auto integers = [op](auto a, auto b) { return combine_integer(op, a, b); };
  switch (type) {
    case Ty::F16:
      return each<Half>(to, from, bytes, [op](Half a, Half b) { return combine_short(op, a, b); });
    case Ty::BF16:
      return each<BFloat>(to, from, bytes,
                          [op](BFloat a, BFloat b) { return combine_short(op, a, b); });
    case Ty::F32:
      return each<float>(to, from, bytes,
                         [&](float a, float b) { return add_float(a, b, keeps_subnormals); });
    case Ty::F64:
      return each<double>(to, from, bytes, add_double);
    case Ty::S32:
      return each<i32>(to, from, bytes, integers);
    case Ty::S64:
      return each<i64>(to, from, bytes, integers);
    case Ty::U64:
    case Ty::B64:
      return each<u64>(to, from, bytes, integers);
    default:
      return each<u32>(to, from, bytes, integers);
  }
}

}  // namespace pyptx::emu
