// SPDX-License-Identifier: Apache-2.0
//
// Integer products and sums of a special kind (PTX ISA, "Integer Arithmetic Instructions": mul24,
// mad24, sad, dp4a, dp2a, clmad).
#include <algorithm>

#include "decode/select.h"
#include "sem/lane.h"

namespace pyptx::emu {
namespace {

/// The 48-bit product of the low 24 bits: .lo is its low 32 bits, .hi its high 32 bits.
template <bool kSigned, bool kHigh>
i64 product24(u32 a, u32 b) {
  const i64 x = kSigned ? sign_extended(a, 24) : static_cast<i64>(a & 0xFFFFFFU);
  const i64 y = kSigned ? sign_extended(b, 24) : static_cast<i64>(b & 0xFFFFFFU);
  const i64 product = x * y;
  return kHigh ? product >> 16 : product;
}

template <bool kSigned, bool kHigh>
struct Mul24 {
  u32 operator()(u32 a, u32 b) const { return static_cast<u32>(product24<kSigned, kHigh>(a, b)); }
};
template <bool kSigned, bool kHigh>
struct Mad24 {
  u32 operator()(u32 a, u32 b, u32 c) const { return Mul24<kSigned, kHigh>{}(a, b) + c; }
};
struct Mad24Sat {
  i32 operator()(u32 a, u32 b, i32 c) const {
    const i64 sum = static_cast<i32>(product24<true, true>(a, b)) + i64{c};
    return static_cast<i32>(std::clamp<i64>(sum, INT32_MIN, INT32_MAX));
  }
};

template <typename T>
struct Sad {
  using Bits = std::make_unsigned_t<T>;
  T operator()(T a, T b, T c) const {
    const u64 difference = a < b ? static_cast<u64>(b) - static_cast<u64>(a)
                                 : static_cast<u64>(a) - static_cast<u64>(b);
    return static_cast<T>(static_cast<Bits>(static_cast<u64>(c) + difference));
  }
};

template <bool kSigned>
i64 part(u32 value, u32 bits, u32 index) {
  const u32 moved = value >> (bits * index);
  return kSigned ? sign_extended(moved, bits) : static_cast<i64>(low_bits(moved, bits));
}

template <bool kA, bool kB>
struct Dp4a {
  u32 operator()(u32 a, u32 b, u32 c) const {
    i64 sum = c;
    for (u32 i = 0; i < 4; ++i) sum += part<kA>(a, 8, i) * part<kB>(b, 8, i);
    return static_cast<u32>(sum);
  }
};
/// Two halves of a with two bytes of b: the low or the high pair.
template <bool kA, bool kB, bool kHigh>
struct Dp2a {
  u32 operator()(u32 a, u32 b, u32 c) const {
    i64 sum = c;
    for (u32 i = 0; i < 2; ++i) sum += part<kA>(a, 16, i) * part<kB>(b, 8, i + (kHigh ? 2 : 0));
    return static_cast<u32>(sum);
  }
};

/// The 128-bit product over GF(2), low or high half, xor c.
template <bool kHigh>
struct Clmad {
  u64 operator()(u64 a, u64 b, u64 c) const {
    u64 result = 0;
    for (u32 i = 0; i < 64; ++i) {
      if (((b >> i) & 1U) == 0) continue;
      if (!kHigh) result ^= a << i;
      if (kHigh && i != 0) result ^= a >> (64 - i);
    }
    return result ^ c;
  }
};

void three(Lowering& low, Ty d, Ty a, Ty b, Ty c) {
  low.out.d = low.dest(0, d);
  low.out.a = low.source(1, a);
  low.out.b = low.source(2, b);
  if (low.count() > 3) low.out.c = low.source(3, c);
}

template <bool kA, bool kB>
Handler dp2a_of(bool is_high) {
  return is_high ? &map3<Dp2a<kA, kB, true>, u32, u32> : &map3<Dp2a<kA, kB, false>, u32, u32>;
}

}  // namespace

Handler select_mul24(Lowering& low) {
  const bool is_high = low.take_any({"hi", "lo"}) == "hi";
  const Ty type = low.take_type();
  three(low, type, type, type, type);
  if (type == Ty::S32) {
    return is_high ? &map2<Mul24<true, true>, u32, u32> : &map2<Mul24<true, false>, u32, u32>;
  }
  return is_high ? &map2<Mul24<false, true>, u32, u32> : &map2<Mul24<false, false>, u32, u32>;
}

Handler select_mad24(Lowering& low) {
  const bool is_high = low.take_any({"hi", "lo"}) == "hi";
  const bool is_saturated = low.take("sat");
  const Ty type = low.take_type();
  three(low, type, type, type, type);
  if (is_saturated) return &map3<Mad24Sat, i32, u32, u32, i32>;
  if (type == Ty::S32) {
    return is_high ? &map3<Mad24<true, true>, u32, u32> : &map3<Mad24<true, false>, u32, u32>;
  }
  return is_high ? &map3<Mad24<false, true>, u32, u32> : &map3<Mad24<false, false>, u32, u32>;
}

Handler select_sad(Lowering& low) {
  const Ty type = low.take_type();
  three(low, type, type, type, type);
  switch (type) {
    case Ty::U16:
      return &map3<Sad<u16>, u16, u16>;
    case Ty::S16:
      return &map3<Sad<i16>, i16, i16>;
    case Ty::U32:
      return &map3<Sad<u32>, u32, u32>;
    case Ty::S32:
      return &map3<Sad<i32>, i32, i32>;
    case Ty::U64:
      return &map3<Sad<u64>, u64, u64>;
    default:
      return &map3<Sad<i64>, i64, i64>;
  }
}

Handler select_dp4a(Lowering& low) {
  const Ty a = low.take_type();
  const Ty b = low.take_type();
  three(low, Ty::U32, a, b, Ty::U32);
  if (is_signed(a)) {
    return is_signed(b) ? &map3<Dp4a<true, true>, u32, u32> : &map3<Dp4a<true, false>, u32, u32>;
  }
  return is_signed(b) ? &map3<Dp4a<false, true>, u32, u32> : &map3<Dp4a<false, false>, u32, u32>;
}

Handler select_dp2a(Lowering& low) {
  const bool is_high = low.take_any({"hi", "lo"}) == "hi";
  const Ty a = low.take_type();
  const Ty b = low.take_type();
  three(low, Ty::U32, a, b, Ty::U32);
  if (is_signed(a))
    return is_signed(b) ? dp2a_of<true, true>(is_high) : dp2a_of<true, false>(is_high);
  return is_signed(b) ? dp2a_of<false, true>(is_high) : dp2a_of<false, false>(is_high);
}

Handler select_clmad(Lowering& low) {
  const bool is_high = low.take_any({"hi", "lo"}) == "hi";
  const Ty type = low.take_type();
  three(low, type, type, type, type);
  return is_high ? &map3<Clmad<true>, u64, u64> : &map3<Clmad<false>, u64, u64>;
}

}  // namespace pyptx::emu
