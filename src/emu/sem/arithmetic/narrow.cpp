// SPDX-License-Identifier: Apache-2.0
//
// cvt to and from the packed 8-, 6- and 4-bit formats, scales and fixed-point pairs, and cvt with
// .pzo and .rs (PTX ISA, "Data Movement and Conversion Instructions: cvt"). Every result is rounded
// once from the exact value.
#include "numerics/narrow.h"

#include "decode/select.h"
#include "sem/lane.h"

namespace pyptx::emu {
namespace {

NarrowModes modes_of(const Inst& inst) { return {inst.round, inst.flag2, inst.flag, inst.sat}; }

double source_value(u64 bits, Ty type, u32 index) {
  if (type == Ty::F32) return std::bit_cast<float>(static_cast<u32>(bits));
  return value_of(narrow_of(type), bits, index);
}

/// .scaled::n1 flushes subnormal inputs of the source type.
double flushed(double value, Ty type) {
  const double least = type == Ty::F16x2 ? 0x1p-14 : 0x1p-126;
  return std::fabs(value) < least ? std::copysign(0.0, value) : value;
}

/// The factor of element `index`: element_bytes scales lie in operand c.
double factor(Warp& warp, const Inst& inst, u32 lane, u32 index) {
  if (inst.element_bytes == 0) return 1.0;
  const u32 scales = warp.lanes32(inst.c)[lane];
  return scale_value((scales >> (inst.element_bytes == 2 ? 8 * index : 0)) & 0xFFU);
}

/// kind: the type of d, kind2: of the sources, which the list names from the lowest element on.
/// imm: 1 where a value is divided by the factor, else it is multiplied.
Step convert(Warp& warp, const Inst& inst, u32 mask) {
  const Ty from = static_cast<Ty>(inst.kind2);
  const Narrow element = narrow_of(static_cast<Ty>(inst.kind));
  const NarrowModes modes = modes_of(inst);
  each_active(mask, [&](u32 i) {
    u64 result = 0;
    for (u32 k = 0; k < inst.list_count; ++k) {
      const u32 source = warp.program->lists[inst.list + k];
      double value = source_value(warp.lanes32(source)[i], from, k);
      if (inst.element_bytes == 1) value = flushed(value, from);
      const double scale = factor(warp, inst, i, k);
      value = inst.imm != 0 ? value / scale : value * scale;
      result |= rounded(element, value, modes) << (element.slot * k);
    }
    warp.lanes32(inst.d)[i] = static_cast<u32>(result);
  });
  return Step::Next;
}

/// Adds `random`, of `width` bits, to what lies below the last bit that the format keeps, and cuts
/// off the sum.
double rounded_randomly(double value, const Format& format, u32 random, u32 width) {
  if (!std::isfinite(value)) return value;
  const double low = widen(narrow(value, format, Round::Zero, true), format);
  const int least = 1 - format.bias() - format.fraction_bits;
  const int last = low == 0 ? least : std::max(std::ilogb(low) - format.fraction_bits, least);
  const double step = std::ldexp(1.0, last);
  const double rest = (std::fabs(value) - std::fabs(low)) / step;
  const double cut = std::floor(std::ldexp(rest, static_cast<int>(width)));
  const bool is_up = cut + random >= std::ldexp(1.0, static_cast<int>(width));
  return std::copysign(std::fabs(low) + (is_up ? step : 0.0), value);
}

/// cvt.rs.f16x2.f32, cvt.rs.bf16x2.f32: the random bits of a are in the high half of c.
Step convert_randomly(Warp& warp, const Inst& inst, u32 mask) {
  const Narrow element = narrow_of(static_cast<Ty>(inst.kind));
  const u32 width = static_cast<u32>(23 - element.format->fraction_bits);
  each_active(mask, [&](u32 i) {
    u64 result = 0;
    for (u32 k = 0; k < 2; ++k) {
      const u32 source = warp.program->lists[inst.list + k];
      const double value = std::bit_cast<float>(warp.lanes32(source)[i]);
      const u64 random = low_bits(warp.lanes32(inst.c)[i] >> (16 * k), width);
      const double picked =
          rounded_randomly(value, *element.format, static_cast<u32>(random), width);
      result |= rounded(element, picked, modes_of(inst)) << (16 * k);
    }
    warp.lanes32(inst.d)[i] = static_cast<u32>(result);
  });
  return Step::Next;
}

/// cvt.pzo.tf32: 10 bits of fraction in an f32.
Step convert_tf32(Warp& warp, const Inst& inst, u32 mask) {
  static constexpr Format kTF32{8, 10, true, 0x3FFFFU};
  constexpr Narrow kElement{NarrowKind::Float, &kTF32, 32, 19, false};
  each_active(mask, [&](u32 i) {
    const double value = std::bit_cast<float>(warp.lanes32(inst.a)[i]);
    const u64 bits = rounded(kElement, value, modes_of(inst)) << 13;
    warp.lanes32(inst.d)[i] = static_cast<u32>(std::isnan(value) ? kF32.nan : bits);
  });
  return Step::Next;
}

/// Two s32 saturated to `kind`, a above b; c above both where there is room.
Step pack_integers(Warp& warp, const Inst& inst, u32 mask) {
  const Ty to = static_cast<Ty>(inst.kind);
  const u32 bits = info(to).bits;
  const i64 high = static_cast<i64>(low_bits(~0ULL, is_signed(to) ? bits - 1 : bits));
  const i64 low = is_signed(to) ? -high - 1 : 0;
  each_active(mask, [&](u32 i) {
    const auto part = [&](u32 offset) {
      const i64 value = static_cast<i32>(warp.lanes32(offset)[i]);
      return low_bits(static_cast<u64>(std::clamp(value, low, high)), bits);
    };
    u64 result = part(inst.b) | part(inst.a) << bits;
    if (inst.flag) result |= static_cast<u64>(warp.lanes32(inst.c)[i]) << (2 * bits);
    warp.lanes32(inst.d)[i] = static_cast<u32>(result);
  });
  return Step::Next;
}

void take_narrow_modes(Lowering& low) {
  low.out.round = low.take_rounding(Round::Nearest);
  low.out.flag = low.take("relu");
  low.out.flag2 = low.take("satfinite");
  low.out.sat = low.take("pzo");
  low.out.ftz = low.take("ftz");
}

Ty storage(Ty type) {
  const u32 bits = info(type).bits;
  return bits == 8 ? Ty::B8 : bits == 16 ? Ty::B16 : Ty::B32;
}

/// The sources of the elements, the lowest first: f32 registers (a is the high one), or one packed.
void set_sources(Lowering& low, Ty from, u32 count) {
  std::vector<u32> list;
  for (u32 k = 0; k < count; ++k) {
    if (from == Ty::F32) {
      list.push_back(low.source(count - k, Ty::F32));
    } else {
      list.push_back(low.source(1, storage(from)));
    }
  }
  low.set_list(list);
}

}  // namespace

Handler select_cvt_narrow(Lowering& low) {
  Inst& out = low.out;
  const Ty to = low.take_type();
  const Ty from = low.take_type();
  take_narrow_modes(low);
  if (out.ftz) return low.refuse(".ftz with .pzo is not in the manual");
  if (to == Ty::Tf32) {
    out.d = low.dest(0, Ty::B32);
    out.a = low.source(1, from);
    return &convert_tf32;
  }
  const std::string_view scaled = low.take_any({"scaled::n1::ue8m0", "scaled::n2::ue8m0"});
  out.kind = static_cast<u8>(to);
  out.kind2 = static_cast<u8>(from);
  out.element_bytes = scaled.empty() ? 0 : scaled == "scaled::n1::ue8m0" ? 1 : 2;
  // Down-conversions divide by the factor, up-conversions multiply.
  const bool is_up = to == Ty::F16x2 || to == Ty::Bf16x2;
  out.imm = is_up ? 0 : 1;
  out.d = low.dest(0, storage(to));
  const u32 count = to == Ty::F16 || to == Ty::Bf16 ? 1 : 2;
  set_sources(low, from, count);
  const std::size_t next = 1 + (from == Ty::F32 ? count : 1U);
  if (low.count() > next) {
    if (scaled.empty()) return low.refuse("a scale factor without .scaled has no meaning");
    out.c = low.source(next, out.element_bytes == 2 ? Ty::B16 : Ty::B8);
  }
  return &convert;
}

Handler select_cvt_random(Lowering& low) {
  Inst& out = low.out;
  low.take("rs");
  const Ty to = low.take_type();
  const Ty from = low.take_type();
  take_narrow_modes(low);
  out.kind = static_cast<u8>(to);
  out.d = low.dest(0, Ty::B32);
  set_sources(low, from, 2);
  out.c = low.source(3, Ty::B32);
  return &convert_randomly;
}

Handler select_cvt_pack(Lowering& low) {
  Inst& out = low.out;
  low.ignore({"pack", "sat"});
  out.kind = static_cast<u8>(low.take_type());
  const Ty from = low.take_type();
  const Ty rest = low.take_type();
  out.d = low.dest(0, from);
  out.a = low.source(1, from);
  out.b = low.source(2, from);
  out.flag = rest != Ty::None;
  if (out.flag) out.c = low.source(3, rest);
  return &pack_integers;
}

}  // namespace pyptx::emu
