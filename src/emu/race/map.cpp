// SPDX-License-Identifier: Apache-2.0
//
// Tensor maps that threads change while the kernel runs (PTX ISA, "membar/fence",
// "tensormap.cp_fenceproxy"). Copies read a map through the tensormap proxy: a write is seen behind
// a release to that proxy by its thread and an acquire of the map's address, each with a scope that
// has the other thread in it, and both on the way from the write to the copy.
#include <algorithm>
#include <string>

#include "async/bulk_queue.h"
#include "machine/cluster.h"
#include "race/advice.h"
#include "race/detector.h"

namespace pyptx::emu {
namespace {

constexpr u32 kMapBytes = 128;

}  // namespace

void RaceDetector::release_maps(Warp& warp, u32 mask, Scope scope) {
  WarpState& state = warps_[number(warp)];
  const auto cover = [&](Knowledge& knowledge) {
    Clock& released = knowledge.maps[static_cast<u32>(scope)];
    released.join(knowledge.base);
    mark_self(released, warp, mask);
  };
  cover(state.all);
  if (state.some_mask != 0) cover(state.some);
  fence(warp, mask, Semantics::Release, scope);
}

void RaceDetector::acquire_map(Warp& warp, u32 mask, u64 address, Scope scope) {
  fence(warp, mask, Semantics::Acquire, scope);
  const u32 self = number(warp);
  WarpState& state = warps_[self];
  std::vector<MapAcquire>& acquires = acquires_[address];
  // What a thread has acquired since holds more than what it had before.
  std::erase_if(acquires, [&](const MapAcquire& old) {
    return old.actor == self && (old.mask & ~mask) == 0 && old.scope <= scope;
  });
  const bool knows_more = state.some_mask != 0 && (mask & ~state.some_mask) == 0;
  acquires.push_back(
      {self, state.epoch, mask, warp.cta->rank, scope, knows_more ? state.some : state.all});
  ++state.epoch;  // what the warp writes from here on is behind it
}

void RaceDetector::copied_map(Warp& warp, u64 address, Scope scope) {
  const Cells cells = global_cells(address);
  const Stamp write = cells.writes[address % GlobalPage::kBytes / 4];
  global_.map_copies[address] = {write, cluster_.index, scope};
  // .sync.aligned: all lanes have made the copy.
  sync_lanes(warp);
}

/// What is missing between a write and an acquire behind it.
RaceDetector::MapGap RaceDetector::release_gap(const MapAcquire& acquire, u64 address,
                                               const Reader& write) const {
  const bool is_own = write.cluster == cluster_.index;
  const u32 warps = static_cast<u32>(cluster_.ctas[0]->warps.size());
  const Clocks* abroad = is_own ? nullptr : acquire.known.foreign.of(write.cluster);
  const bool is_known = is_own ? acquire.known.base.covers(write.stamp)
                               : abroad != nullptr && abroad->base.covers(write.stamp);
  // What its own warp wrote it knows without any synchronisation.
  const bool is_earlier = is_own && owners_[write.stamp.actor()] == acquire.actor &&
                          write.stamp.epoch() <= acquire.epoch;
  if (!is_known && !is_earlier) return MapGap::Acquire;
  std::optional<Scope> released;
  const auto copy = global_.map_copies.find(address);
  if (copy != global_.map_copies.end() && copy->second.write.key() == write.stamp.key() &&
      copy->second.cluster == write.cluster) {
    released = copy->second.scope;
  }
  for (u32 scope = 0; is_own && scope < acquire.known.maps.size(); ++scope) {
    if (acquire.known.maps[scope].covers(write.stamp)) released = static_cast<Scope>(scope);
  }
  if (abroad != nullptr && abroad->maps.covers(write.stamp)) released = Scope::Gpu;
  if (!released) return MapGap::Release;
  const bool is_near = is_own && owners_[write.stamp.actor()] / warps == acquire.rank;
  const Scope needed = is_near ? Scope::Cta : is_own ? Scope::Cluster : Scope::Gpu;
  return std::min(*released, acquire.scope) >= needed ? MapGap::None : MapGap::Scope;
}

RaceDetector::MapGap RaceDetector::map_gap(const View& view, u32 lane, u64 address,
                                           const Reader& write) {
  MapGap least = MapGap::Acquire;
  for (const u64 key : {address, u64{0}}) {
    const auto found = acquires_.find(key);
    if (found == acquires_.end()) continue;
    for (const MapAcquire& acquire : found->second) {
      bool is_before = acquire.actor == view.actor && ((acquire.mask >> lane) & 1U) != 0;
      for (u32 rest = acquire.mask; rest != 0 && !is_before; rest &= rest - 1) {
        const u32 by = Warp::first_lane(rest);
        is_before = view.knowledge.base.covers(Stamp::make(acquire.actor, acquire.epoch, by, 0, 0));
      }
      if (is_before) least = std::min(least, release_gap(acquire, address, write));
    }
  }
  return least;
}

bool RaceDetector::report_map(const View& view, u32 lane, u64 address, const Reader& write,
                              MapGap gap) {
  constexpr diag::Kind kKind = diag::Kind::EmuTensorMapFence;
  if (cluster_.launch->options.is_ignored(kKind)) return true;
  const bool is_own = write.cluster == cluster_.index;
  const u32 warps = static_cast<u32>(view.warp.cta->warps.size());
  const bool is_near = is_own && owners_[write.stamp.actor()] / warps == view.warp.cta->rank;
  const std::string scope = is_near ? ".cta" : is_own ? ".cluster" : ".gpu";
  const std::string fence = "fence.proxy.tensormap::generic.";
  std::string problem = "the scope of a fence between them does not reach the other CTA";
  std::string reason = "what the release and the acquire need, or a wider one";
  std::string missing = "scope " + scope;
  if (gap == MapGap::Acquire) {
    problem = "no " + fence + "acquire of it stands between the change and this";
    reason = "before the copy, where the thread knows of the change";
    missing = fence + "acquire" + scope + " [map], 128";
  } else if (gap == MapGap::Release) {
    problem = "the change is not released to the tensormap proxy";
    reason = "behind the change, in the thread that makes it";
    missing = fence + "release" + scope + "; or tensormap.cp_fenceproxy of a map in shared memory";
  }
  diag::Diagnostic diagnostic(kKind, {cluster_.program->source(view.inst).spelling->text,
                                      cluster_.memory->name(address), std::move(problem)});
  label(diagnostic, write, true);
  help(diagnostic, std::move(reason), std::move(missing));
  view.warp.active = 1U << lane;
  view.warp.fail(view.inst, std::move(diagnostic));
  return false;
}

bool RaceDetector::use_map(Warp& warp, const Inst& inst, u32 lane, u64 address) {
  const std::ptrdiff_t found = cluster_.memory->find(address, kMapBytes, cluster_.last_buffer);
  if (found < 0 || !wants(static_cast<std::size_t>(found))) return true;
  View by = view(warp, inst, 1U << lane);
  by.what = "tensor map read";
  if (!is_apart(by, lane, address, kMapBytes)) return false;
  Reader last;
  for (u64 at = address; at < address + kMapBytes; at += 4) {
    const Cells cells = global_cells(at);
    const u32 cell = static_cast<u32>(at % GlobalPage::kBytes) / 4;
    const Reader write{cells.writes[cell], cells.page->writer(cell)};
    const bool is_same = write.stamp.bits == last.stamp.bits && write.cluster == last.cluster;
    if (write.stamp.empty() || is_same) continue;
    last = write;
    if (!is_ordered(by, write, lane)) {
      return report(by, lane, {cells, cell}, write, true, false);
    }
    const MapGap gap = map_gap(by, lane, address, write);
    if (gap != MapGap::None && !report_map(by, lane, address, write, gap)) return false;
  }
  return true;
}

void RaceDetector::read_map(const View& view, const BulkOp& op, Stamp mine) {
  const u64 address = op.map_address;
  const std::ptrdiff_t found = cluster_.memory->find(address, kMapBytes, cluster_.last_buffer);
  if (found < 0 || !wants(static_cast<std::size_t>(found))) return;
  View by = view;
  by.is_write = by.is_atomic = false;
  const Stamp issued = Stamp::make(view.actor, view.state.epoch, op.lane, 15, view.pc);
  for (u64 at = address; at < address + kMapBytes; at += 4) {
    const Cells cells = global_cells(at);
    const u32 cell = static_cast<u32>(at % GlobalPage::kBytes) / 4;
    Stamp& reads = cells.reads[cell];
    reads = add_reader(by, cells.sets, op.lane, {reads, cells.page->reader(cell)}, issued);
    mark(by, {cells, cell}, 15, nullptr);
  }
  std::vector<MapRead>& all = map_reads_[address];
  std::erase_if(all, [&](const MapRead& old) { return old.stamp.actor() == mine.actor(); });
  all.push_back({mine, view.actor, op.lane, op.group});
}

bool RaceDetector::change_map(Warp& warp, const Inst& inst, u32 lane, u64 address) {
  const auto found = map_reads_.find(address);
  if (found == map_reads_.end()) return true;
  View by = view(warp, inst, 1U << lane);
  by.is_write = true;
  by.what = "change of a tensor map";
  for (const MapRead& read : found->second) {
    if (by.knowledge.base.covers(read.stamp)) continue;
    const Cells cells = global_cells(address);
    const u32 cell = static_cast<u32>(address % GlobalPage::kBytes) / 4;
    return report(by, lane, {cells, cell}, {read.stamp, cluster_.index}, false, false);
  }
  map_reads_.erase(found);
  return true;
}

}  // namespace pyptx::emu
