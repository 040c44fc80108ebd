// SPDX-License-Identifier: Apache-2.0
//
// Splits of a warp: selection, merging, branches, exits. See warp.h for the scheme.
#include "machine/warp.h"

#include <algorithm>
#include <string>

#include "machine/cluster.h"
#include "machine/cta.h"

namespace pyptx::emu {
namespace {

/// Backward jumps after which a split lets the others of its warp run: a lane may be waiting, with
/// plain loads, for what a sibling has yet to do.
constexpr u32 kPatience = 1U << 12;

bool can_merge(const Split& split) {
  return !split.resumed && !split.timed_out &&
         (split.wait.kind == Wait::Kind::None || split.wait.kind == Wait::Kind::Converge);
}

}  // namespace

bool Warp::run(u32& budget) {
  bool ran = false;
  u32 left = budget;  // its own: the loop keeps it in a register
  // Apart: the usual loop keeps its registers.
  const auto with_shadow = [this](u32& rest)
                               __attribute__((noinline)) { return execute<true>(rest); };
  for (u32 i = 0; i < split_count; ++i) splits[i].behind = false;
  while (left > 0 && select()) {
    ran = true;
    if (!shadow) {
      if (!execute<false>(left)) break;
      continue;
    }
    u32 rest = left;
    if (!with_shadow(rest)) break;
    left = rest;
  }
  budget = left;
  return ran;
}

bool Warp::select() {
  u32 best = ~0U;
  for (u32 i = 0; i < split_count; ++i) {
    Split& split = splits[i];
    if (split.wait.kind != Wait::Kind::None) {
      if (!cta->cluster->is_over(*this, split)) continue;
      split.resumed = split.wait.kind != Wait::Kind::Converge;
      split.wait = {};
    }
    if (split.behind) continue;
    if (best == ~0U || split.pc < splits[best].pc) best = i;
  }
  if (best == ~0U) return false;
  current = best;
  merge_at(splits[best].pc);
  pc = splits[current].pc;
  active = splits[current].mask;
  update_limit();
  return true;
}

void Warp::merge_at(u32 where) {
  if (split_count == 1 || !can_merge(splits[current])) return;
  for (u32 i = 0; i < split_count;) {
    if (i == current || splits[i].pc != where || !can_merge(splits[i])) {
      ++i;
      continue;
    }
    splits[current].mask |= splits[i].mask;
    splits[current].behind = false;
    splits[i] = splits[--split_count];
    if (current == split_count) current = i;
  }
}

void Warp::update_limit() {
  limit = ~0U;
  for (u32 i = 0; i < split_count; ++i) {
    if (i != current && splits[i].pc > pc && can_merge(splits[i])) {
      limit = std::min(limit, splits[i].pc);
    }
  }
}

void Warp::store_current() {
  splits[current].pc = pc;
  splits[current].mask = active;
}

template <bool kCarries>
bool Warp::execute(u32& budget) {
  while (budget > 0) {
    // A handler that says Next has left these as they are: the loop keeps them in registers.
    u32 at = pc;
    const u32 lanes_here = active;
    const Inst* inst = program->code.data() + at;
    u64* count = counts + at;
    Step step = Step::Next;
    while (true) {
      --budget;
      ++*count;
      const u32 mask =
          kCarries ? lanes_here : lanes_here & (predicate(inst->guard) ^ inst->guard_flip);
      if (mask != 0) {
        step = kCarries ? run_carrying(*this, *inst) : inst->run(*this, *inst, mask);
        if (step != Step::Next) [[unlikely]]
          break;
      }
      pc = ++at;
      ++inst;
      ++count;
      if (at == limit || budget == 0) {
        store_current();
        return true;
      }
    }
    if (step == Step::Jump) {
      if (split_count == 1) continue;
      return true;  // the handler stored the splits
    }
    if (step == Step::Fault && fault) [[unlikely]]
      return false;
    if (step == Step::Gone) return true;
    if (step == Step::Wait || step == Step::Fault) {
      --*count;
    } else {  // Yield
      ++pc;
      splits[current].behind = true;
    }
    store_current();
    return true;
  }
  store_current();
  return true;
}

Step Warp::branch(u32 taken, u32 target) {
  const bool is_back = target <= pc;
  if (taken == active) {
    pc = target;
  } else {
    active &= ~taken;
    ++pc;
    splits[split_count] = {};
    splits[split_count].pc = target;
    splits[split_count].mask = taken;
    ++split_count;
  }
  if (split_count > 1) {
    if (is_back && ++jumps_back >= kPatience) {
      jumps_back = 0;
      splits[current].behind = taken == active;
      if (taken != active) splits[split_count - 1].behind = true;
    }
    store_current();
  }
  return Step::Jump;
}

Step Warp::scatter(std::span<const std::pair<u32, u32>> groups) {
  if (groups.size() == 1) return branch(groups[0].first, groups[0].second);
  const u32 from = pc;
  for (const auto& [mask, target] : groups) active &= ~mask;
  ++pc;
  store_current();
  for (const auto& [mask, target] : groups) {
    Split split;
    split.pc = target;
    split.mask = mask;
    if (target <= from && ++jumps_back >= kPatience) {
      jumps_back = 0;
      split.behind = true;
    }
    // There are never more splits than lanes: where nobody stays, the first takes the place.
    if (splits[current].mask == 0) {
      splits[current] = split;
    } else {
      splits[split_count++] = split;
    }
  }
  return Step::Gone;  // whoever is first goes on
}

Step Warp::exit_lanes(u32 mask) {
  live &= ~mask;
  active &= ~mask;
  cta->lanes_exited(*this, mask);
  if (active != 0) {
    ++pc;
    store_current();
    return Step::Jump;
  }
  splits[current] = splits[--split_count];
  return Step::Gone;
}

Step Warp::converge(const Inst& inst, u32 member, u32 mask) {
  const u32 missing = member & live & ~mask;
  if (missing == 0) [[likely]]
    return Step::Next;
  if ((missing & active) != 0) {
    const ir::Instruction& source = program->source(inst);
    return fail(inst,
                diag::Diagnostic(diag::Kind::EmuConvergence,
                                 {source.spelling->text,
                                  "lane " + std::to_string(first_lane(missing & active)) +
                                      " takes part by the member mask, but its guard is false"}));
  }
  Wait wait;
  wait.kind = Wait::Kind::Converge;
  wait.mask = member;
  return block(wait);
}

}  // namespace pyptx::emu
