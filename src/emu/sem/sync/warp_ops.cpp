// SPDX-License-Identifier: Apache-2.0
//
// shfl.sync, vote.sync, activemask, elect.sync (PTX ISA, "Data Movement: shfl.sync", "Parallel
// Synchronization: vote.sync, activemask, elect.sync"). Each waits until the lanes of its member
// mask have come to it.
#include "decode/select.h"
#include "sem/sync/rendezvous.h"

namespace pyptx::emu {

Step gather(Warp& warp, const Inst& inst, u32 mask) {
  const u32* masks = warp.lanes32(inst.e);
  u32 outside = 0;
  each_active(mask, [&](u32 i) {
    if (((masks[i] >> i) & 1U) == 0) outside |= 1U << i;
  });
  if (outside != 0) {
    warp.active = outside;
    return warp.fail(inst, diag::Diagnostic(diag::Kind::EmuConvergence,
                                            {warp.program->source(inst).spelling->text,
                                             "the executing lane is not in its member mask"}));
  }
  Step step = Step::Next;
  each_rendezvous(warp, inst, mask, [&](u32 lanes) {
    if (step == Step::Next) step = warp.converge(inst, masks[Warp::first_lane(lanes)], lanes);
  });
  return step;
}

namespace {

enum class Mode : u8 { Up, Down, Butterfly, Index };

Step shuffle(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = gather(warp, inst, mask);
  if (step != Step::Next) return step;
  u32 source[kLanes];
  const u32* a = warp.lanes32(inst.a);
  for (u32 i = 0; i < kLanes; ++i) source[i] = a[i];
  u32 p = 0;
  u32 bereft = 0;  // lanes that read from one that has exited
  const u32* members = warp.lanes32(inst.e);
  u32* d = warp.lanes32(inst.d);
  each_active(mask, [&](u32 lane) {
    const u32 b = warp.lanes32(inst.b)[lane] & 31U;
    const u32 c = warp.lanes32(inst.c)[lane];
    const u32 clamp = c & 31U;
    const u32 segment = (c >> 8) & 31U;
    const u32 maximum = (lane & segment) | (clamp & ~segment);
    const u32 minimum = lane & segment;
    u32 from = 0;
    bool in_range = false;
    switch (static_cast<Mode>(inst.kind)) {
      case Mode::Up:
        from = lane - b;
        in_range = static_cast<i32>(from) >= static_cast<i32>(maximum);
        break;
      case Mode::Down:
        from = lane + b;
        in_range = from <= maximum;
        break;
      case Mode::Butterfly:
        from = lane ^ b;
        in_range = from <= maximum;
        break;
      case Mode::Index:
        from = minimum | (b & ~segment);
        in_range = from <= maximum;
        break;
    }
    if (!in_range) from = lane;
    const u32 gone = members[lane] & ~warp.live;
    bereft |= ((gone >> (from & 31U)) & 1U) << lane;
    d[lane] = source[from & 31U];
    if (in_range) p |= 1U << lane;
  });
  if (bereft != 0) {
    warp.active = bereft;
    return warp.fail(inst,
                     diag::Diagnostic(diag::Kind::EmuConvergence,
                                      {warp.program->source(inst).spelling->text,
                                       "the lane reads from one that is in the member mask and "
                                       "has exited, or never was"}));
  }
  if (inst.flag) {
    u32& q = warp.predicate(inst.flip);
    q = (q & ~mask) | p;
  }
  return Step::Next;
}

enum class Vote : u8 { All, Any, Uni, Ballot };

bool holds(Vote kind, u32 value, u32 lanes) {
  switch (kind) {
    case Vote::All:
      return value == lanes;
    case Vote::Any:
      return value != 0;
    default:
      return value == lanes || value == 0;
  }
}

Step vote(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = gather(warp, inst, mask);
  if (step != Step::Next) return step;
  const Vote kind = static_cast<Vote>(inst.kind);
  const u32 values = warp.predicate(inst.a) ^ inst.flip;  // read once: d may be the same register
  each_rendezvous(warp, inst, mask, [&](u32 lanes) {
    const u32 value = values & lanes;
    if (kind == Vote::Ballot) {
      each_active(lanes, [&](u32 i) { warp.lanes32(inst.d)[i] = value; });
      return;
    }
    u32& d = warp.predicate(inst.d);
    d = (d & ~lanes) | (holds(kind, value, lanes) ? lanes : 0);
  });
  return Step::Next;
}

Step active_mask(Warp& warp, const Inst& inst, u32 mask) {
  each_active(mask, [&](u32 i) { warp.lanes32(inst.d)[i] = mask; });
  return Step::Next;
}

/// The lowest lane of the mask leads.
Step elect(Warp& warp, const Inst& inst, u32 mask) {
  const Step step = gather(warp, inst, mask);
  if (step != Step::Next) return step;
  each_rendezvous(warp, inst, mask, [&](u32 lanes) {
    const u32 leader = Warp::first_lane(lanes);
    each_active(lanes, [&](u32 i) { warp.lanes32(inst.d)[i] = leader; });
    u32& p = warp.predicate(inst.b);
    p = (p & ~lanes) | (1U << leader);
  });
  return Step::Next;
}

}  // namespace

Handler select_shfl(Lowering& low) {
  Inst& out = low.out;
  low.take("sync");
  const std::string_view mode = low.take_any({"up", "down", "bfly", "idx"});
  out.kind = static_cast<u8>(mode == "up"     ? Mode::Up
                             : mode == "down" ? Mode::Down
                             : mode == "bfly" ? Mode::Butterfly
                                              : Mode::Index);
  low.take_type();
  if (low.count() != 5) return low.refuse("shfl without .sync does not exist on these targets");
  const ir::Operand& d = low.operand(0);
  if (d.kind == ir::OperandKind::Pipe) {
    out.d = low.dest(low.child(d, 0), Ty::B32);
    out.flip = low.predicate_dest(low.child(d, 1));
    out.flag = true;
  } else {
    out.d = low.dest(0, Ty::B32);
  }
  out.a = low.source(1, Ty::B32);
  out.b = low.source(2, Ty::B32);
  out.c = low.source(3, Ty::B32);
  out.e = low.source(4, Ty::B32);
  return &shuffle;
}

Handler select_vote(Lowering& low) {
  Inst& out = low.out;
  low.take("sync");
  const std::string_view mode = low.take_any({"all", "any", "uni", "ballot"});
  out.kind = static_cast<u8>(mode == "all"   ? Vote::All
                             : mode == "any" ? Vote::Any
                             : mode == "uni" ? Vote::Uni
                                             : Vote::Ballot);
  const Ty type = low.take_type();
  bool negated = false;
  out.d = type == Ty::Pred ? low.predicate_dest(low.operand(0)) : low.dest(0, Ty::B32);
  out.a = low.predicate(low.operand(1), negated);
  out.flip = negated ? kAllLanes : 0;
  if (low.count() != 3) return low.refuse("vote without .sync does not exist on these targets");
  out.e = low.source(2, Ty::B32);
  return &vote;
}

Handler select_activemask(Lowering& low) {
  low.out.d = low.dest(0, low.take_type());
  return &active_mask;
}

Handler select_elect(Lowering& low) {
  Inst& out = low.out;
  low.take("sync");
  const ir::Operand& d = low.operand(0);
  if (d.kind != ir::OperandKind::Pipe) return nullptr;
  out.d = low.dest(low.child(d, 0), Ty::B32);
  out.b = low.predicate_dest(low.child(d, 1));
  out.e = low.source(1, Ty::B32);
  return &elect;
}

}  // namespace pyptx::emu
