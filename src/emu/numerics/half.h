// SPDX-License-Identifier: Apache-2.0
//
// f16 and bf16 values, alone and in pairs. Arithmetic is done in double and rounded once, so every
// result is correctly rounded; NaN results are canonical.
#pragma once

#include "numerics/convert.h"

namespace pyptx::emu {

template <const Format& F>
struct Short {
  u16 bits = 0;

  static constexpr const Format& format() { return F; }
  double value() const { return widen(bits, F); }
  static Short from(double value, Round mode = Round::Nearest) {
    return {static_cast<u16>(narrow(value, F, mode))};
  }
  bool is_nan() const { return (bits & (F.sign() - 1)) > F.infinity(); }
  bool is_negative() const { return (bits & F.sign()) != 0; }
};

using Half = Short<kF16>;
using BFloat = Short<kBF16>;

template <typename S>
struct Pair {
  u16 low = 0;
  u16 high = 0;
};

using Half2 = Pair<Half>;
using BFloat2 = Pair<BFloat>;

template <typename S>
S flush(S a) {
  const auto& format = S::format();
  const bool is_subnormal = (a.bits & format.infinity()) == 0;
  return is_subnormal ? S{static_cast<u16>(a.bits & format.sign())} : a;
}

/// Clamps to [0, 1]; NaN becomes zero.
template <typename S>
S saturate(S a) {
  if (a.is_nan() || a.is_negative()) return S{0};
  const S one = S::from(1.0);
  return a.bits > one.bits ? one : a;
}

template <typename S>
S relu(S a) {
  if (a.is_nan()) return S{static_cast<u16>(S::format().nan)};
  return a.is_negative() ? S{0} : a;
}

template <typename S>
S add_short(S a, S b) {
  return S::from(add_to_odd(a.value(), b.value()));
}
template <typename S>
S mul_short(S a, S b) {
  return S::from(a.value() * b.value());
}
template <typename S>
S fma_short(S a, S b, S c) {
  return S::from(add_to_odd(a.value() * b.value(), c.value()));
}

}  // namespace pyptx::emu
