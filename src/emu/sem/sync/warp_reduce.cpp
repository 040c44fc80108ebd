// SPDX-License-Identifier: Apache-2.0
//
// match.sync and redux.sync (PTX ISA, "Parallel Synchronization and Communication Instructions").
#include <cmath>

#include "decode/select.h"
#include "numerics/convert.h"
#include "sem/lane.h"
#include "sem/sync/rendezvous.h"

namespace pyptx::emu {
namespace {

/// d: the lanes that hold the same value; register_bytes: of the value.
Step match_any(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = gather(warp, inst, mask);
  if (step != Step::Next) return step;
  u32 result[kLanes] = {};
  each_rendezvous(warp, inst, mask, [&](u32 lanes) {
    each_active(lanes, [&](u32 i) {
      const u64 value = read_lane(warp, inst.a, inst.register_bytes, i);
      each_active(lanes, [&](u32 k) {
        if (read_lane(warp, inst.a, inst.register_bytes, k) == value) result[i] |= 1U << k;
      });
    });
  });
  each_active(mask, [&](u32 i) { warp.lanes32(inst.d)[i] = result[i]; });
  return Step::Next;
}

/// d: the member mask where all hold the same value, else zero; b: the predicate, where flag.
Step match_all(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = gather(warp, inst, mask);
  if (step != Step::Next) return step;
  each_rendezvous(warp, inst, mask, [&](u32 lanes) {
    const u64 first = read_lane(warp, inst.a, inst.register_bytes, Warp::first_lane(lanes));
    bool is_same = true;
    each_active(lanes, [&](u32 i) {
      is_same = is_same && read_lane(warp, inst.a, inst.register_bytes, i) == first;
    });
    each_active(lanes, [&](u32 i) { warp.lanes32(inst.d)[i] = is_same ? lanes : 0; });
    if (!inst.flag) return;
    u32& p = warp.predicate(inst.b);
    p = (p & ~lanes) | (is_same ? lanes : 0);
  });
  return Step::Next;
}

enum class Reduce : u8 { Add, Min, Max, And, Or, Xor };

u32 reduced(Reduce op, bool is_signed, u32 a, u32 b) {
  const bool is_less = is_signed ? static_cast<i32>(a) < static_cast<i32>(b) : a < b;
  switch (op) {
    case Reduce::Add:
      return a + b;
    case Reduce::Min:
      return is_less ? a : b;
    case Reduce::Max:
      return is_less ? b : a;
    case Reduce::And:
      return a & b;
    case Reduce::Or:
      return a | b;
    case Reduce::Xor:
      return a ^ b;
  }
  return a;
}

/// kind: Reduce, flag: signed.
Step reduce_integer(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = gather(warp, inst, mask);
  if (step != Step::Next) return step;
  each_rendezvous(warp, inst, mask, [&](u32 lanes) {
    const u32 leader = Warp::first_lane(lanes);
    u32 result = warp.lanes32(inst.a)[leader];
    each_active(lanes & (lanes - 1), [&](u32 i) {
      result = reduced(static_cast<Reduce>(inst.kind), inst.flag, result, warp.lanes32(inst.a)[i]);
    });
    each_active(lanes, [&](u32 i) { warp.lanes32(inst.d)[i] = result; });
  });
  return Step::Next;
}

/// The lesser or the greater of two floats; -0 < +0, and a NaN loses.
float extreme(bool is_min, float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
  if (a == b) return std::signbit(a) == is_min ? a : b;
  return (a < b) == is_min ? a : b;
}

/// kind2: .abs, flag2: .NaN gives a NaN where any lane has one.
Step reduce_float(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = gather(warp, inst, mask);
  if (step != Step::Next) return step;
  each_rendezvous(warp, inst, mask, [&](u32 lanes) {
    const auto in = [&](u32 i) {
      const float value = std::bit_cast<float>(warp.lanes32(inst.a)[i]);
      return inst.kind2 != 0 ? std::fabs(value) : value;
    };
    float result = in(Warp::first_lane(lanes));
    bool has_nan = false;
    each_active(lanes, [&](u32 i) {
      has_nan = has_nan || std::isnan(in(i));
      result = extreme(static_cast<Reduce>(inst.kind) == Reduce::Min, result, in(i));
    });
    const bool is_nan = std::isnan(result) || (inst.flag2 && has_nan);
    const u32 bits = is_nan ? static_cast<u32>(kF32.nan) : std::bit_cast<u32>(result);
    each_active(lanes, [&](u32 i) { warp.lanes32(inst.d)[i] = bits; });
  });
  return Step::Next;
}

}  // namespace

Handler select_match(Lowering& low) {
  Inst& out = low.out;
  const bool is_all = low.take_any({"any", "all"}) == "all";
  low.take("sync");
  const Ty type = low.take_type();
  out.register_bytes = static_cast<u8>(bytes_of(type));
  const ir::Operand& d = low.operand(0);
  out.flag = d.kind == ir::OperandKind::Pipe;
  out.d = low.dest(out.flag ? low.child(d, 0) : d, Ty::U32);
  if (out.flag) out.b = low.predicate_dest(low.child(d, 1));
  out.a = low.source(1, type);
  out.e = low.source(2, Ty::B32);
  return is_all ? &match_all : &match_any;
}

Handler select_redux(Lowering& low) {
  constexpr std::string_view kNames[] = {"add", "min", "max", "and", "or", "xor"};
  Inst& out = low.out;
  low.take("sync");
  bool is_known = false;
  for (u32 i = 0; i < std::size(kNames) && !is_known; ++i) {
    is_known = low.take(kNames[i]);
    if (is_known) out.kind = static_cast<u8>(i);
  }
  out.kind2 = low.take("abs") ? 1 : 0;
  out.flag2 = low.take("NaN");
  const Ty type = low.take_type();
  out.flag = is_signed(type);
  out.d = low.dest(0, type);
  out.a = low.source(1, type);
  out.e = low.source(2, Ty::B32);
  if (!is_known) return nullptr;
  return type == Ty::F32 ? &reduce_float : &reduce_integer;
}

}  // namespace pyptx::emu
