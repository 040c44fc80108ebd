// SPDX-License-Identifier: Apache-2.0
//
// The mbarrier instructions (PTX ISA, "Parallel Synchronization and Communication Instructions:
// mbarrier"). The state machine is mbarrier.h; here are operands, scopes and waits.
#include "decode/select.h"
#include "machine/cluster.h"
#include "race/detector.h"
#include "sem/lanes.h"

namespace pyptx::emu {
namespace {

/// Failed test_waits in a row, with nothing happening in between, before a poll becomes a wait.
constexpr u32 kPollPatience = 8;

struct Target {
  Cta* cta = nullptr;
  u32 offset = 0;
};

/// The CTA and offset of the mbarrier that `lane` names.
bool locate(Warp& warp, const Inst& inst, u32 lane, Target& target) {
  AccessRequest request;
  request.space = inst.space;
  request.address = lane_address(warp, inst, lane);
  request.bytes = 8;
  request.align = 8;
  request.lane = lane;
  request.what = "mbarrier access";
  if (request.space == Space::Generic) {
    if ((request.address & kWindowMask) != kSharedWindow) {
      warp.active = 1U << lane;
      warp.fail(inst, diag::Diagnostic(diag::Kind::EmuMbarrier,
                                       {hex(request.address), "this is not shared memory"}));
      return false;
    }
    request.address &= 0xFFFFFFFFU;
    request.space = Space::SharedCluster;
  }
  if (request.address % 8 != 0) {
    warp.active = 1U << lane;
    warp.fail(inst, diag::Diagnostic(diag::Kind::EmuMisaligned,
                                     {"mbarrier access", hex(request.address), "8"}));
    return false;
  }
  target.cta = resolve_shared(warp, inst, request, target.offset);
  return target.cta != nullptr;
}

Step refuse(Warp& warp, const Inst& inst, u32 lane, const Target& target,
            const std::string& problem) {
  warp.active = 1U << lane;
  const u32 address = target.cta->rank << kRankShift | target.offset;
  return warp.fail(inst,
                   diag::Diagnostic(diag::Kind::EmuMbarrier,
                                    {describe_address(warp, Space::Shared, address), problem}));
}

/// Whether the mbarrier is in a CTA that these lanes may reach; false with the fault recorded.
bool reach(Warp& warp, const Inst& inst, u32 mask, const Target& target) {
  RaceDetector* races = warp.cta->cluster->races.get();
  return races == nullptr || target.cta == warp.cta ||
         races->reach(warp, inst, mask, *target.cta, "mbarrier access", target.offset);
}

Mbarrier* find(Warp& warp, const Inst& inst, u32 lane, Target& target) {
  if (!locate(warp, inst, lane, target)) return nullptr;
  Mbarrier* barrier = target.cta->mbarriers.find(target.offset);
  if (barrier == nullptr) refuse(warp, inst, lane, target, "it is not initialised");
  RaceDetector* races = warp.cta->cluster->races.get();
  if (barrier != nullptr && races != nullptr &&
      !races->use_barrier(warp, inst, lane, *target.cta, target.offset)) {
    return nullptr;
  }
  return barrier;
}

template <typename F>
Step for_lanes(u32 mask, F&& body) {
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    if (body(Warp::first_lane(rest)) == Step::Fault) return Step::Fault;
  }
  return Step::Next;
}

Step init(Warp& warp, const Inst& inst, u32 mask) {
  return for_lanes(mask, [&](u32 lane) {
    Target target;
    if (!locate(warp, inst, lane, target)) return Step::Fault;
    const auto problem = target.cta->mbarriers.init(target.offset, warp.lanes32(inst.b)[lane]);
    if (problem) return refuse(warp, inst, lane, target, *problem);
    target.cta->defined.add(target.offset, target.offset + 8);
    if (RaceDetector* races = warp.cta->cluster->races.get()) {
      races->initialised(warp, inst, lane, *target.cta, target.offset);
    }
    return Step::Next;
  });
}

Step invalidate(Warp& warp, const Inst& inst, u32 mask) {
  return for_lanes(mask, [&](u32 lane) {
    Target target;
    if (!locate(warp, inst, lane, target)) return Step::Fault;
    const auto problem = target.cta->mbarriers.invalidate(target.offset);
    return problem ? refuse(warp, inst, lane, target, *problem) : Step::Next;
  });
}

constexpr u64 kStateCount = (1U << 24) - 1;

/// The opaque state that an arrival returns: the phase it belongs to, and what was pending.
u64 state_of(const Mbarrier& barrier) {
  return barrier.phase << 24 | (static_cast<u64>(barrier.pending) & kStateCount);
}

/// kind: 0 plain, 1 expect_tx, 2 noComplete; flag: a count is given; flag2: state is written.
Step arrive(Warp& warp, const Inst& inst, u32 mask) {
  RaceDetector* races = warp.cta->cluster->races.get();
  Target released;
  return for_lanes(mask, [&](u32 lane) {
    Target target;
    Mbarrier* barrier = find(warp, inst, lane, target);
    if (barrier == nullptr) return Step::Fault;
    if (races != nullptr && (released.cta != target.cta || released.offset != target.offset)) {
      // Lanes of one instruction arrive at one barrier in nearly every program: once for all.
      if (!reach(warp, inst, mask, target)) return Step::Fault;
      if (inst.ftz) {
        races->arrive_relaxed(warp, mask, *target.cta, target.offset);
      } else {
        races->arrive(warp, mask, *target.cta, target.offset);
      }
      released = target;
    }
    const u64 state = state_of(*barrier);
    u32 count = inst.flag && inst.kind != 1 ? warp.lanes32(inst.b)[lane] : 1;
    std::optional<std::string> problem;
    if (inst.kind == 1) {
      // The expectation and the arrival are one step: the phase cannot complete in between,
      // because this arrival is still pending.
      barrier->last_tx = &inst;
      problem = MbarrierTable::expect(*barrier, warp.lanes32(inst.b)[lane]);
      count = 1;
    }
    if (inst.kind == 2 && count >= barrier->pending) {
      problem = "noComplete, but this arrival would complete the phase";
    }
    if (!problem) problem = MbarrierTable::arrive(*barrier, count, inst.sat);
    if (problem) return refuse(warp, inst, lane, target, *problem);
    if (races != nullptr) races->follow(*target.cta, *barrier);
    if (inst.flag2) warp.lanes64(inst.d)[lane] = state;
    ++warp.cta->cluster->progress;
    return Step::Next;
  });
}

/// flag: complete_tx.
Step expect_tx(Warp& warp, const Inst& inst, u32 mask) {
  return for_lanes(mask, [&](u32 lane) {
    Target target;
    Mbarrier* barrier = find(warp, inst, lane, target);
    if (barrier == nullptr || !reach(warp, inst, 1U << lane, target)) return Step::Fault;
    barrier->last_tx = &inst;
    const i64 bytes = warp.lanes32(inst.b)[lane];
    const auto problem = inst.flag ? MbarrierTable::complete(*barrier, bytes)
                                   : MbarrierTable::expect(*barrier, bytes);
    ++warp.cta->cluster->progress;
    if (problem) return refuse(warp, inst, lane, target, *problem);
    if (RaceDetector* races = warp.cta->cluster->races.get()) races->follow(*target.cta, *barrier);
    return Step::Next;
  });
}

/// Decides between an answer and waiting for it. A try_wait waits; a test_wait answers at once,
/// until it has become a fruitless loop.
Step not_yet(Warp& warp, const Inst& inst, const Wait& wait) {
  if (warp.splits[warp.current].timed_out) {
    warp.splits[warp.current].timed_out = false;
    return Step::Yield;
  }
  const u64 progress = warp.cta->cluster->progress;
  if (inst.sat) return warp.block(wait);
  if (warp.poll_progress != progress) {
    warp.poll_progress = progress;
    warp.fruitless_polls = 0;
  }
  return ++warp.fruitless_polls >= kPollPatience ? warp.block(wait) : Step::Yield;
}

/// Those whose wait is over know what the phase's arrivals and transactions brought.
void learn(Warp& warp, const Inst& inst, u32 done, bool at_once) {
  RaceDetector* races = warp.cta->cluster->races.get();
  if (races == nullptr) return;
  while (done != 0) {
    Target target;
    const u32 first = Warp::first_lane(done);
    const Mbarrier* barrier = find(warp, inst, first, target);
    u32 same = 0;
    each_active(done, [&](u32 lane) {
      const bool is_same = lane_address(warp, inst, lane) == lane_address(warp, inst, first);
      same |= (is_same ? 1U : 0U) << lane;
    });
    if (inst.ftz) {
      races->waited_relaxed(warp, same, *target.cta, *barrier);
    } else {
      races->waited(warp, same, *target.cta, *barrier);
    }
    const u32 parity = inst.kind == 1 ? warp.lanes32(inst.b)[first] & 1U : 0;
    races->note_wait(
        warp, inst, same,
        {target.cta->rank, barrier->address, barrier->phase, parity, inst.kind == 1, at_once});
    done &= ~same;
  }
}

/// kind: 0 by state, 1 by parity; sat: try_wait; d: predicate; ftz: relaxed.
Step wait(Warp& warp, const Inst& inst, u32 mask) {
  const bool at_once = !warp.take_resumed() && warp.fruitless_polls == 0;
  u32 done = 0;
  Wait what;
  what.kind = Wait::Kind::Mbarrier;
  what.may_time_out = true;
  const Step step = for_lanes(mask, [&](u32 lane) {
    Target target;
    const Mbarrier* barrier = find(warp, inst, lane, target);
    if (barrier == nullptr) return Step::Fault;
    bool is_complete = false;
    if (inst.kind == 1) {
      is_complete = (barrier->phase & 1U) != (warp.lanes32(inst.b)[lane] & 1U);
    } else {
      const u64 of = warp.lanes64(inst.b)[lane] >> 24;
      is_complete = barrier->phase != of;
      if (barrier->phase > of + 1) {
        return refuse(warp, inst, lane, target,
                      "the state is of phase " + std::to_string(of) + ", the current one is " +
                          std::to_string(barrier->phase) +
                          ": only the phase before the current one can be tested");
      }
    }
    if (is_complete) {
      done |= 1U << lane;
    } else {
      what.rank = target.cta->rank;
      what.address = target.offset;
      what.value = barrier->phase;
    }
    return Step::Next;
  });
  if (step == Step::Fault) return step;
  if (done != 0) learn(warp, inst, done, at_once);
  // Lanes agree in nearly every program; where they do not, an answer for some is an answer.
  Step next = Step::Next;
  if (done == 0) {
    next = not_yet(warp, inst, what);
    if (next == Step::Wait) return next;
  } else {
    warp.splits[warp.current].timed_out = false;
    warp.fruitless_polls = 0;
    if (done != mask) next = Step::Yield;
  }
  u32& p = warp.predicate(inst.d);
  p = (p & ~mask) | done;
  return next;
}

Step pending_count(Warp& warp, const Inst& inst, u32 mask) {
  each_active(mask, [&](u32 lane) {
    warp.lanes32(inst.d)[lane] = static_cast<u32>(warp.lanes64(inst.a)[lane] & kStateCount);
  });
  return Step::Next;
}

void take_common(Lowering& low) {
  low.ignore({"init", "inval", "arrive", "arrive_drop", "expect_tx", "complete_tx", "test_wait",
              "try_wait"});
  low.out.ftz = low.take("relaxed");
  low.ignore({"acquire", "release", "cta", "cluster"});
  low.take_type();  // .b64
}

/// The instructions whose first operand is the barrier.
void take_barrier(Lowering& low) {
  const Space space = take_space(low);
  take_common(low);
  set_address(low, low.address(low.operand(0)), space);
}

}  // namespace

Handler select_mbarrier_init(Lowering& low) {
  take_barrier(low);
  low.out.b = low.source(1, Ty::U32);
  return &init;
}

Handler select_mbarrier_inval(Lowering& low) {
  take_barrier(low);
  return &invalidate;
}

Handler select_mbarrier_arrive(Lowering& low) {
  Inst& out = low.out;
  out.sat = low.is_word("arrive_drop");
  out.kind = low.is_word("expect_tx") ? 1 : low.is_word("noComplete") ? 2 : 0;
  const Space space = take_space(low);
  take_common(low);
  const bool has_state = low.operand(0).kind != ir::OperandKind::Address;
  const std::size_t first = has_state ? 1 : 0;
  if (has_state && low.operand(0).kind != ir::OperandKind::Sink) {
    out.d = low.dest(0, Ty::B64);
    out.flag2 = true;
  }
  set_address(low, low.address(low.operand(first)), space);
  if (low.count() > first + 1) {
    out.b = low.source(first + 1, Ty::U32);
    out.flag = true;
  }
  return &arrive;
}

Handler select_mbarrier_expect_tx(Lowering& low) {
  low.out.flag = low.is_word("complete_tx");
  take_barrier(low);
  low.out.b = low.source(1, Ty::U32);
  return &expect_tx;
}

Handler select_mbarrier_pending_count(Lowering& low) {
  low.ignore({"pending_count"});
  low.take_type();
  low.out.d = low.dest(0, Ty::U32);
  low.out.a = low.source(1, Ty::B64);
  return &pending_count;
}

Handler select_mbarrier_wait(Lowering& low) {
  Inst& out = low.out;
  out.sat = low.is_word("try_wait");
  if (!out.sat) low.is_word("test_wait");
  out.kind = low.is_word("parity") ? 1 : 0;
  const Space space = take_space(low);
  take_common(low);
  const ir::Operand& done = low.operand(0);
  out.d = low.predicate_dest(done.kind == ir::OperandKind::Pipe ? low.child(done, 0) : done);
  set_address(low, low.address(low.operand(1)), space);
  out.b = low.source(2, out.kind == 1 ? Ty::U32 : Ty::B64);
  return &wait;
}

}  // namespace pyptx::emu
