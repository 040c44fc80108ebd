// SPDX-License-Identifier: Apache-2.0
//
// Counting and bit fields (PTX ISA, "Integer Arithmetic Instructions": popc, clz, bfind, fns, brev,
// bfe, bfi, szext, bmsk).
#include <bit>

#include "decode/select.h"
#include "sem/lane.h"

namespace pyptx::emu {
namespace {

template <typename T>
struct Popc {
  u32 operator()(T a) const { return static_cast<u32>(std::popcount(a)); }
};
template <typename T>
struct Clz {
  u32 operator()(T a) const { return static_cast<u32>(std::countl_zero(a)); }
};
template <typename T>
struct Brev {
  T operator()(T a) const {
    T r = 0;
    for (u32 i = 0; i < sizeof(T) * 8; ++i) {
      r = static_cast<T>(r << 1U | (a & 1U));
      a = static_cast<T>(a >> 1U);
    }
    return r;
  }
};
/// The highest bit that differs from the sign of a signed value; all ones when there is none.
template <typename T, bool kShiftAmount>
struct Bfind {
  u32 operator()(T a) const {
    using Bits = std::make_unsigned_t<T>;
    const Bits bits = static_cast<Bits>(a < 0 ? ~a : a);
    if (bits == 0) return ~0U;
    const u32 zeros = static_cast<u32>(std::countl_zero(bits));
    return kShiftAmount ? zeros : static_cast<u32>(sizeof(T) * 8 - 1) - zeros;
  }
};

/// A position or length: the manual takes 8 bits of it, and so do 32-bit fields; what ptxas expands
/// 64-bit ones into takes all.
template <typename T>
u32 measure(u32 operand) {
  return sizeof(T) == 8 ? operand : operand & 0xFFU;
}

template <typename T>
struct Bfe {
  T operator()(T a, u32 b, u32 c) const {
    constexpr u32 kTop = sizeof(T) * 8 - 1;
    const u32 position = measure<T>(b);
    const u32 length = measure<T>(c);
    if (length == 0) return 0;
    const u64 last = u64{position} + length - 1;
    // Bits above the register are its sign; so an arithmetic shift brings them down.
    const i64 wide = static_cast<i64>(a);
    const i64 moved = position > kTop       ? (std::is_signed_v<T> && a < 0 ? -1 : 0)
                      : std::is_signed_v<T> ? wide >> position
                                            : static_cast<i64>(static_cast<u64>(a) >> position);
    if (length > kTop || last > kTop) return static_cast<T>(moved);
    return static_cast<T>(std::is_signed_v<T>
                              ? sign_extended(static_cast<u64>(moved), length)
                              : static_cast<i64>(low_bits(static_cast<u64>(moved), length)));
  }
};

/// Operands a, b, c, e: the inserted bits, the background, position and length.
template <typename T>
Step insert(Warp& warp, const Inst& inst, u32 mask) {
  constexpr u32 kBits = sizeof(T) * 8;
  each_active(mask, [&](u32 i) {
    const u32 position = measure<T>(warp.lanes32(inst.c)[i]);
    const u32 length = measure<T>(warp.lanes32(inst.e)[i]);
    const u64 a = lanes_of<T>(warp, inst.a)[i];
    const u64 b = lanes_of<T>(warp, inst.b)[i];
    u64 result = b;
    if (position < kBits && length != 0) {
      const u64 field = low_bits(~0ULL, length) << position;
      result = (b & ~field) | ((a << position) & field);
    }
    lanes_of<T>(warp, inst.d)[i] = static_cast<T>(result);
  });
  return Step::Next;
}

template <bool kClamp, bool kSigned>
struct Szext {
  u32 operator()(u32 a, u32 b) const {
    if (kClamp && b >= 32) return a;
    const u32 width = b & 31U;
    if (width == 0) return 0;
    return static_cast<u32>(kSigned ? static_cast<u64>(sign_extended(a, width))
                                    : low_bits(a, width));
  }
};

template <bool kClamp>
struct Bmsk {
  u32 operator()(u32 a, u32 b) const {
    if (kClamp && a >= 32) return 0;
    const u32 position = a & 31U;
    const u32 width = kClamp && b >= 32 ? 32 : b & 31U;
    return static_cast<u32>(low_bits(~0ULL, width) << position);
  }
};

struct Fns {
  u32 operator()(u32 bits, u32 base, u32 offset) const {
    const i32 steps = static_cast<i32>(offset);
    if (base > 31) return ~0U;
    if (steps == 0) return ((bits >> base) & 1U) != 0 ? base : ~0U;
    i64 left = steps < 0 ? -i64{steps} : i64{steps};
    for (i32 at = static_cast<i32>(base); at >= 0 && at < 32; at += steps < 0 ? -1 : 1) {
      if (((bits >> at) & 1U) != 0 && --left == 0) return static_cast<u32>(at);
    }
    return ~0U;
  }
};

template <template <typename> typename Fn>
Handler count(Lowering& low) {
  const Ty type = low.take_type();
  low.out.d = low.dest(0, Ty::U32);
  low.out.a = low.source(1, type);
  return bytes_of(type) == 8 ? &map1<Fn<u64>, u32, u64> : &map1<Fn<u32>, u32, u32>;
}

template <bool kShiftAmount>
Handler find_handler(Ty type) {
  switch (type) {
    case Ty::U32:
      return &map1<Bfind<u32, kShiftAmount>, u32, u32>;
    case Ty::S32:
      return &map1<Bfind<i32, kShiftAmount>, u32, i32>;
    case Ty::U64:
      return &map1<Bfind<u64, kShiftAmount>, u32, u64>;
    default:
      return &map1<Bfind<i64, kShiftAmount>, u32, i64>;
  }
}

}  // namespace

Handler select_popc(Lowering& low) { return count<Popc>(low); }
Handler select_clz(Lowering& low) { return count<Clz>(low); }

Handler select_brev(Lowering& low) {
  const Ty type = low.take_type();
  low.out.d = low.dest(0, type);
  low.out.a = low.source(1, type);
  return bytes_of(type) == 8 ? &map1<Brev<u64>, u64, u64> : &map1<Brev<u32>, u32, u32>;
}

Handler select_bfind(Lowering& low) {
  const Ty type = low.take_type();
  low.out.d = low.dest(0, Ty::U32);
  low.out.a = low.source(1, type);
  return low.take("shiftamt") ? find_handler<true>(type) : find_handler<false>(type);
}

Handler select_bfe(Lowering& low) {
  const Ty type = low.take_type();
  low.out.d = low.dest(0, type);
  low.out.a = low.source(1, type);
  low.out.b = low.source(2, Ty::U32);
  low.out.c = low.source(3, Ty::U32);
  switch (type) {
    case Ty::U32:
      return &map3<Bfe<u32>, u32, u32, u32, u32>;
    case Ty::S32:
      return &map3<Bfe<i32>, i32, i32, u32, u32>;
    case Ty::U64:
      return &map3<Bfe<u64>, u64, u64, u32, u32>;
    default:
      return &map3<Bfe<i64>, i64, i64, u32, u32>;
  }
}

Handler select_bfi(Lowering& low) {
  const Ty type = low.take_type();
  low.out.d = low.dest(0, type);
  low.out.a = low.source(1, type);
  low.out.b = low.source(2, type);
  low.out.c = low.source(3, Ty::U32);
  low.out.e = low.source(4, Ty::U32);
  return bytes_of(type) == 8 ? &insert<u64> : &insert<u32>;
}

Handler select_szext(Lowering& low) {
  const bool is_clamp = low.take_any({"clamp", "wrap"}) == "clamp";
  const Ty type = low.take_type();
  low.out.d = low.dest(0, type);
  low.out.a = low.source(1, type);
  low.out.b = low.source(2, Ty::U32);
  if (type == Ty::S32) {
    return is_clamp ? &map2<Szext<true, true>, u32, u32> : &map2<Szext<false, true>, u32, u32>;
  }
  return is_clamp ? &map2<Szext<true, false>, u32, u32> : &map2<Szext<false, false>, u32, u32>;
}

Handler select_bmsk(Lowering& low) {
  const bool is_clamp = low.take_any({"clamp", "wrap"}) == "clamp";
  low.take_type();
  low.out.d = low.dest(0, Ty::U32);
  low.out.a = low.source(1, Ty::U32);
  low.out.b = low.source(2, Ty::U32);
  return is_clamp ? &map2<Bmsk<true>, u32, u32> : &map2<Bmsk<false>, u32, u32>;
}

Handler select_fns(Lowering& low) {
  const Ty type = low.take_type();
  low.out.d = low.dest(0, type);
  low.out.a = low.source(1, type);
  low.out.b = low.source(2, type);
  low.out.c = low.source(3, type);
  return &map3<Fns, u32, u32>;
}

}  // namespace pyptx::emu
