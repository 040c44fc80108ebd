// SPDX-License-Identifier: Apache-2.0
//
// Release and acquire patterns (PTX ISA, "Memory Consistency Model: Release and Acquire Patterns",
// "Memory synchronization"): what a strong write hands to those that read it, or read what atomics
// have made of it, as far as the scopes on both sides reach. A fence of scope S followed by a
// relaxed write releases what stood before the fence; a relaxed read followed by a fence acquires.
// `red` acquires nothing.
#include <algorithm>

#include "machine/cluster.h"
#include "race/detector.h"

namespace pyptx::emu {

/// 0: the same CTA wrote it, 1: another of the cluster, 2: another cluster.
u32 RaceDetector::distance(const View& view, const SyncVariable::Part& part) const {
  if (part.cluster != cluster_.index) return 2;
  return part.rank == view.warp.cta->rank ? 0 : 1;
}

/// A part as this cluster takes it in.
Knowledge RaceDetector::arriving(SyncVariable::Part& part) const {
  if (part.cluster == cluster_.index) return part.known;
  if (!part.abroad) {
    part.abroad = std::make_shared<const Clocks>(
        Clocks{part.known.base, part.known.global_proxy, part.known.maps.back()});
  }
  Knowledge known;
  known.foreign = part.known.foreign;
  known.foreign.merge(part.cluster, part.abroad);
  known.is_behind_wait = part.known.is_behind_wait;
  if (const Clocks* own = known.foreign.of(cluster_.index)) {
    known.base = own->base;
    known.global_proxy = own->proxy;
  }
  return known;
}

void RaceDetector::observe(const View& view, u32 lane, SyncVariable& variable,
                           Semantics semantics) {
  WarpState& state = view.state;
  const u32 bit = 1U << lane;
  if (state.polled != variable.version) state.polled_by = 0;
  state.polled = variable.version;
  if ((state.polled_by & bit) != 0) return;
  state.polled_by |= bit;
  for (SyncVariable::Part& part : variable.parts) {
    const u32 far = distance(view, part);
    if (far > static_cast<u32>(part.scope) || far > static_cast<u32>(view.scope)) {
      state.missed_pc = part.pc;
      continue;
    }
    const Knowledge known = arriving(part);
    if (acquires(semantics)) {
      acquire(view.warp, bit, known);
    } else {
      state.glimpsed[far].join(known);
    }
  }
}

void RaceDetector::add_part(const View& view, SyncVariable& variable, Scope scope,
                            const Knowledge& known) {
  const u32 rank = view.warp.cta->rank;
  const auto is_same = [&](const SyncVariable::Part& part) {
    return part.cluster == cluster_.index && part.rank == rank && part.scope == scope;
  };
  auto part = std::ranges::find_if(variable.parts, is_same);
  if (part == variable.parts.end()) {
    variable.parts.push_back({cluster_.index, rank, view.actor, view.pc, scope, {}, nullptr});
    part = variable.parts.end() - 1;
  }
  part->actor = view.actor;
  part->pc = view.pc;
  part->known.join(known);
  part->abroad = nullptr;
}

void RaceDetector::publish(const View& view, const AccessRequest& request, SyncVariable& variable) {
  if (!request.is_atomic) {
    // What a thread released at an address stays released behind its own later writes there.
    std::erase_if(variable.parts, [&](const SyncVariable::Part& part) {
      return part.cluster != cluster_.index || part.actor != view.actor;
    });
  }
  if (releases(request.semantics)) {
    Knowledge known;
    release(view.warp, 1U << request.lane, known);
    add_part(view, variable, request.scope, known);
  }
  for (const Scope scope : {Scope::Cta, Scope::Cluster}) {
    const Knowledge& fenced = view.state.fenced[static_cast<u32>(scope)];
    if (!fenced.empty()) add_part(view, variable, std::min(request.scope, scope), fenced);
  }
  if (!view.knowledge.fences.empty()) {
    Knowledge fenced;
    fenced.base = view.knowledge.fences;
    fenced.global_proxy = view.knowledge.global_proxy;
    fenced.maps = view.knowledge.maps;
    fenced.foreign = view.knowledge.foreign;
    fenced.is_behind_wait = view.knowledge.is_behind_wait;
    add_part(view, variable, request.scope, fenced);
  }
  variable.version = global_.next_version();
}

/// A strong access to the address of `variable`.
void RaceDetector::strong(const View& view, const AccessRequest& request, SyncVariable& variable) {
  View by = view;
  by.scope = request.scope;
  const bool reads = !request.is_write || (request.is_atomic && !request.is_blind);
  if (reads && !variable.parts.empty()) observe(by, request.lane, variable, request.semantics);
  if (request.is_write) publish(by, request, variable);
}

}  // namespace pyptx::emu
