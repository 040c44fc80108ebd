// SPDX-License-Identifier: Apache-2.0
//
// cvt (PTX ISA, "Data Movement and Conversion Instructions: cvt"). Conversions are exact
// or rounded once, in integers (numerics/convert.h); the widenings that addresses need have loops
// of their own.
#include <algorithm>
#include <cmath>

#include "decode/select.h"
#include "numerics/half.h"
#include "sem/lane.h"

namespace pyptx::emu {
namespace {

/// inst.kind: destination type, kind2: source type, sub-modes in flag (.relu), sat, ftz, flag2
/// (.satfinite), e: rounding to an integral value (0 none, 1 rni, 2 rzi, 3 rmi, 4 rpi).
struct ConvertSpec {
  explicit ConvertSpec(const Inst& inst)
      : to(static_cast<Ty>(inst.kind)), from(static_cast<Ty>(inst.kind2)) {}
  Ty to;
  Ty from;
};

const Format& format_of(Ty type) {
  switch (type) {
    case Ty::F64:
      return kF64;
    case Ty::F16:
    case Ty::F16x2:
      return kF16;
    case Ty::Bf16:
    case Ty::Bf16x2:
      return kBF16;
    case Ty::E4m3:
    case Ty::E4m3x2:
      return kE4M3;
    case Ty::E5m2:
    case Ty::E5m2x2:
      return kE5M2;
    default:
      return kF32;
  }
}

double to_double(u64 bits, Ty type) {
  if (type == Ty::F64) return std::bit_cast<double>(bits);
  if (type == Ty::F32 || type == Ty::Tf32) return std::bit_cast<float>(static_cast<u32>(bits));
  const Format& format = format_of(type);
  return widen(bits & ((format.sign() << 1) - 1), format);
}

double integral(double value, u32 mode) {
  switch (mode) {
    case 1:
      return std::nearbyint(value);
    case 2:
      return std::trunc(value);
    case 3:
      return std::floor(value);
    case 4:
      return std::ceil(value);
    default:
      return value;
  }
}

u64 integer_to_integer(u64 raw, const ConvertSpec& spec, bool sat) {
  const u32 from_bits = info(spec.from).bits;
  const u32 to_bits = info(spec.to).bits;
  const bool from_signed = is_signed(spec.from);
  const i64 value =
      from_signed ? sign_extended(raw, from_bits) : static_cast<i64>(low_bits(raw, from_bits));
  if (!sat) return static_cast<u64>(value);
  const bool is_huge = !from_signed && value < 0;  // u64 above the signed range
  if (is_signed(spec.to)) {
    const i64 high = static_cast<i64>(low_bits(~0ULL, to_bits - 1));
    return static_cast<u64>(is_huge ? high : std::clamp(value, -high - 1, high));
  }
  const u64 high = low_bits(~0ULL, to_bits);
  if (from_signed && value < 0) return 0;
  return std::min(static_cast<u64>(value), high);
}

u64 float_to_integer(double value, const ConvertSpec& spec, u32 mode) {
  const u32 bits = info(spec.to).bits;
  if (std::isnan(value)) {
    const bool is_wide = spec.from == Ty::F64 || bits == 64;
    return is_wide ? 1ULL << (bits - 1) : 0;
  }
  const double whole = integral(value, mode == 0 ? 2 : mode);
  if (is_signed(spec.to)) {
    const double limit = std::ldexp(1.0, static_cast<int>(bits) - 1);
    if (whole >= limit) return low_bits(~0ULL, bits - 1);
    if (whole < -limit) return static_cast<u64>(-static_cast<i64>(low_bits(~0ULL, bits - 1)) - 1);
    return static_cast<u64>(static_cast<i64>(whole));
  }
  if (whole <= 0) return 0;
  if (whole >= std::ldexp(1.0, static_cast<int>(bits))) return low_bits(~0ULL, bits);
  return static_cast<u64>(whole);
}

u64 finish_float(u64 bits, const Format& format, const Inst& inst) {
  const u64 magnitude = bits & (format.sign() - 1);
  const bool is_nan =
      format.has_infinity ? magnitude > format.infinity() : magnitude == format.sign() - 1;
  const bool is_negative = (bits & format.sign()) != 0;
  if (inst.flag && !is_nan && is_negative) return 0;  // .relu
  const bool is_subnormal = (bits & format.infinity()) == 0;
  if (inst.ftz && format.exponent_bits == 8 && is_subnormal) bits &= format.sign();
  if (inst.sat) {
    if (is_nan || is_negative) return 0;
    const u64 one = narrow(1.0, format, Round::Nearest);
    return std::min(bits, one);
  }
  return bits;
}

u64 float_to_float(double value, Ty to, const Inst& inst) {
  const Format& format = format_of(to);
  const double whole = integral(value, inst.e);
  if (to == Ty::Tf32) {  // f32 with 10 fraction bits; the 13 below are zero
    constexpr Format kTF32{8, 10, true, 0x3FFFFU};
    const u64 bits = narrow(whole, kTF32, inst.round, inst.flag2);
    return finish_float(bits << 13, kF32, inst);
  }
  u64 bits = narrow(whole, format, inst.round, inst.flag2);
  // .ftz: what is below the normal numbers once it has 24 bits, as the same on larger numbers
  // tells.
  if (inst.ftz && to == Ty::F32 && std::fabs(whole) < 0x1p-126) {
    const u64 raised = narrow(whole * 0x1p64, format, inst.round);
    if ((raised & (format.sign() - 1)) < narrow(0x1p-62, format, Round::Nearest)) {
      bits &= format.sign();
    }
  }
  return finish_float(bits, format, inst);
}

u64 integer_to_float(u64 raw, const ConvertSpec& spec, const Inst& inst) {
  const u32 bits = info(spec.from).bits;
  Number number;
  if (is_signed(spec.from)) {
    const i64 value = sign_extended(raw, bits);
    number.negative = value < 0;
    number.significand = value < 0 ? 0 - static_cast<u64>(value) : static_cast<u64>(value);
  } else {
    number.significand = low_bits(raw, bits);
  }
  const Format& format = format_of(spec.to);
  return finish_float(round_to(number, false, format, inst.round), format, inst);
}

/// What a conversion does to a NaN of `from`: canonical, but where f64 takes part its sign and the
/// high bits of its payload stay, and a conversion of nothing changes nothing.
u64 converted_nan(u64 raw, const ConvertSpec& spec, const Inst& inst, u64 canonical) {
  const bool is_widening = spec.to == Ty::F32 && spec.from == Ty::Bf16 && !inst.ftz;
  const bool is_plain = spec.to == Ty::F32 || spec.to == Ty::F64;
  const bool is_same = is_plain && spec.to == spec.from && inst.e == 0 && !inst.ftz;
  if (inst.sat || inst.flag) return canonical;
  if (spec.to == Ty::Tf32) return inst.round == Round::NearestAway ? raw & ~0x1FFFULL : canonical;
  if (is_same) return raw;
  if (is_widening) return raw << 16;
  if (spec.to != Ty::F64 && spec.from != Ty::F64) return canonical;
  if (inst.ftz && spec.from == Ty::F32) raw = kF32.nan;
  const Format& from = format_of(spec.from);
  const Format& to = format_of(spec.to);
  const u64 fraction = raw & ((1ULL << from.fraction_bits) - 1);
  const int shift = to.fraction_bits - from.fraction_bits;
  const u64 payload = shift >= 0 ? fraction << shift : fraction >> -shift;
  const u64 sign = (raw & from.sign()) != 0 ? to.sign() : 0;
  return sign | to.infinity() | 1ULL << (to.fraction_bits - 1) | payload;
}

/// .ftz flushes an f32 input, but not on its way to f16.
double flushed(double value, const ConvertSpec& spec, bool ftz) {
  const bool is_single = spec.from == Ty::F32 && spec.to != Ty::F16;
  return ftz && is_single && std::fabs(value) < 0x1p-126 ? std::copysign(0.0, value) : value;
}

u64 convert(u64 raw, const ConvertSpec& spec, const Inst& inst) {
  if (!is_float(spec.from)) {
    return is_float(spec.to) ? integer_to_float(raw, spec, inst)
                             : integer_to_integer(raw, spec, inst.sat);
  }
  const double value = flushed(to_double(raw, spec.from), spec, inst.ftz);
  if (!is_float(spec.to)) return float_to_integer(value, spec, inst.e);
  const u64 result = float_to_float(value, spec.to, inst);
  return std::isnan(value) ? converted_nan(raw, spec, inst, result) : result;
}

/// Extends the result to the destination register.
Step convert_one(Warp& warp, const Inst& inst, u32 mask) {
  const ConvertSpec spec(inst);
  const u32 bits = info(spec.to).bits;
  each_active(mask, [&](u32 i) {
    const u64 value = convert(read_lane(warp, inst.a, inst.element_bytes, i), spec, inst);
    const u64 wide =
        is_signed(spec.to) ? static_cast<u64>(sign_extended(value, bits)) : low_bits(value, bits);
    if (inst.register_bytes == 8) {
      warp.lanes64(inst.d)[i] = wide;
    } else {
      // A 16-bit register keeps its high half zero.
      warp.lanes32(inst.d)[i] = static_cast<u32>(inst.target == 16 ? wide & 0xFFFFU : wide);
    }
  });
  return Step::Next;
}

/// Two f32 into one packed register: a is the high part, b the low part.
Step convert_pair(Warp& warp, const Inst& inst, u32 mask) {
  const ConvertSpec spec(inst);
  const u32 bits = info(spec.to).bits / 2U;
  each_active(mask, [&](u32 i) {
    const u64 high = convert(warp.lanes32(inst.a)[i], spec, inst);
    const u64 low = convert(warp.lanes32(inst.b)[i], spec, inst);
    warp.lanes32(inst.d)[i] = static_cast<u32>(low | high << bits);
  });
  return Step::Next;
}

/// A packed pair into a packed pair of another width (fp8 <-> f16).
Step convert_packed(Warp& warp, const Inst& inst, u32 mask) {
  const ConvertSpec spec(inst);
  const u32 to = info(spec.to).bits / 2U;
  const u32 from = info(spec.from).bits / 2U;
  each_active(mask, [&](u32 i) {
    const u32 raw = warp.lanes32(inst.a)[i];
    const u64 low = convert(low_bits(raw, from), spec, inst);
    const u64 high = convert(low_bits(raw >> from, from), spec, inst);
    warp.lanes32(inst.d)[i] = static_cast<u32>(low | high << to);
  });
  return Step::Next;
}

template <typename T>
struct Widen {
  using Result = std::conditional_t<std::is_signed_v<T>, i64, u64>;
  Result operator()(T a) const { return a; }
};
struct Truncate {
  u32 operator()(u64 a) const { return static_cast<u32>(a); }
};
struct SignedToFloat {
  float operator()(i32 a) const { return static_cast<float>(a); }
};
struct UnsignedToFloat {
  float operator()(u32 a) const { return static_cast<float>(a); }
};
/// f32 to bf16, to nearest even.
struct ToBFloat {
  u32 operator()(float a) const {
    const u32 bits = std::bit_cast<u32>(a);
    const u32 rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
    return a == a ? rounded : 0x7FFFU;
  }
};
struct FromBFloat {
  u32 operator()(u32 a) const { return a << 16; }
};
Step bfloat_pair(Warp& warp, const Inst& inst, u32 mask) {
  u32* d = warp.lanes32(inst.d);
  const u32* a = warp.lanes32(inst.a);
  const u32* b = warp.lanes32(inst.b);
  PYPTX_EACH_LANE {
    const u32 value =
        ToBFloat{}(std::bit_cast<float>(b[i])) | ToBFloat{}(std::bit_cast<float>(a[i])) << 16;
    d[i] = ((mask >> i) & 1U) != 0 ? value : d[i];
  }
  return Step::Next;
}

/// Handlers of their own for what addresses and epilogues use.
Handler common(const Inst& out, Ty to, Ty from) {
  const bool is_plain = !out.sat && !out.ftz && !out.flag && !out.flag2 && out.e == 0;
  if (!is_plain) return nullptr;
  const bool wide_to = out.register_bytes == 8;
  const bool wide_from = out.element_bytes == 8;
  const bool from_word = from == Ty::U32 || from == Ty::S32;
  if (from_word && !wide_from && bytes_of(to) == 8 && !is_float(to)) {
    return from == Ty::S32 ? &map1<Widen<i32>, i64, i32> : &map1<Widen<u32>, u64, u32>;
  }
  if ((to == Ty::U32 || to == Ty::S32) && !wide_to && wide_from && bytes_of(from) == 8 &&
      !is_float(from)) {
    return &map1<Truncate, u32, u64>;
  }
  if (out.round != Round::Nearest || wide_to || wide_from) return nullptr;
  if (to == Ty::F32 && from == Ty::S32) return &map1<SignedToFloat, float, i32>;
  if (to == Ty::F32 && from == Ty::U32) return &map1<UnsignedToFloat, float, u32>;
  if (to == Ty::Bf16 && from == Ty::F32) return &map1<ToBFloat, u32, float>;
  if (to == Ty::F32 && from == Ty::Bf16) return &map1<FromBFloat, u32, u32>;
  return nullptr;
}

void take_modes(Lowering& low) {
  Inst& out = low.out;
  const std::string_view whole = low.take_any({"rni", "rzi", "rmi", "rpi"});
  out.e = whole == "rni" ? 1 : whole == "rzi" ? 2 : whole == "rmi" ? 3 : whole == "rpi" ? 4 : 0;
  out.round = low.take_rounding(Round::Nearest);
  out.ftz = low.take("ftz");
  out.sat = low.take("sat");
  out.flag = low.take("relu");
  out.flag2 = low.take("satfinite");
}

bool is_pair(Ty type) {
  return type == Ty::F16x2 || type == Ty::Bf16x2 || type == Ty::E4m3x2 || type == Ty::E5m2x2;
}

}  // namespace

Handler select_cvt(Lowering& low) {
  Inst& out = low.out;
  const Ty to = low.take_type();
  const Ty from = low.take_type();
  if (to == Ty::None || from == Ty::None) return nullptr;
  take_modes(low);
  out.kind = static_cast<u8>(to);
  out.kind2 = static_cast<u8>(from);
  if (is_pair(to) || is_pair(from)) {
    const Ty packed = bytes_of(to) == 2 ? Ty::B16 : Ty::B32;
    out.d = low.dest(0, packed);
    if (low.count() == 3 && from == Ty::F32) {
      out.a = low.source(1, Ty::F32);
      out.b = low.source(2, Ty::F32);
      const bool is_plain = out.round == Round::Nearest && !out.flag && !out.flag2;
      return to == Ty::Bf16x2 && is_plain ? &bfloat_pair : &convert_pair;
    }
    if (!is_pair(to) || !is_pair(from) || low.count() != 2) return nullptr;
    out.a = low.source(1, bytes_of(from) == 2 ? Ty::B16 : Ty::B32);
    return &convert_packed;
  }
  if (low.count() != 2 || low.operand(0).kind != ir::OperandKind::Register) return nullptr;
  u8 bytes = 0;
  out.d = low.source_any(low.operand(0), to, bytes);
  out.register_bytes = bytes;
  out.target = low.bits_of(low.operand(0));
  out.a = low.source_any(low.operand(1), from, bytes);
  out.element_bytes = bytes;
  if (out.register_bytes > 8 || out.element_bytes > 8) return nullptr;
  if (const Handler handler = common(out, to, from)) return handler;
  return &convert_one;
}

}  // namespace pyptx::emu
