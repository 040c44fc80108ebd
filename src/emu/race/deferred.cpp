// SPDX-License-Identifier: Apache-2.0
//
// Reads that leave their stamps only when somebody asks. See deferred.h.
#include "race/deferred.h"

#include "machine/cluster.h"
#include "pyptx/layout/matrix_descriptor.h"
#include "race/detector.h"

namespace pyptx::emu {
namespace {

/// Calls f with the offset of each 16 bytes of an operand, as long as it says true.
template <typename F>
bool each_chunk(const TileShape& shape, F&& f) {
  const auto descriptor = layout::MatrixDescriptor::decode(shape.descriptor);
  // A K-major row is 32 bytes of any type; only 16-bit elements may be MN-major.
  const u32 inner = shape.is_trans ? shape.rows : 32;
  const u32 outer = shape.is_trans ? 16 : shape.rows;
  const u32 step = shape.is_trans ? 8 : 16;
  for (u32 o = 0; o < outer; ++o) {
    for (u32 i = 0; i < inner; i += step) {
      const u32 at = shape.is_trans ? descriptor.address(layout::Major::MN, 2, shape.first + i, o)
                                    : descriptor.address(layout::Major::K, 1, shape.first + o, i);
      if (!f(at & 0x3FFFFU)) return false;
    }
  }
  return true;
}

/// Different writes in a tile that are worth a list.
constexpr std::size_t kMostWrites = 16;

}  // namespace

bool RaceDetector::defer(const LaneAccess& access, const u32* offsets, Shadow& shadow) {
  WarpState& state = warps_[number(access.warp)];
  LoadLog& log = state.loads;
  if (log.has(access.inst, access.mask, access.is_row, offsets, state.epoch) &&
      shadow.phases.load(access.low, access.high)) {
    return true;
  }
  if (!shadow.phases.load(access.low, access.high)) return false;
  if (log.is_full() || (!log.empty() && log.epoch() != state.epoch)) stamp_loads(state);
  log.add(access.inst, access.mask, access.bytes, access.is_row, offsets, state.epoch);
  log.warp = &access.warp;
  return true;
}

void RaceDetector::stamp_loads(WarpState& state) {
  LoadLog& log = state.loads;
  const u32 epoch = std::exchange(state.epoch, log.epoch());
  for (const LoadLog::Load& load : log.loads()) {
    // Nothing has been written there since: what was in order then is so now.
    stamp_lanes({*log.warp, *load.inst, load.mask, load.bytes, false, load.is_row},
                load.offsets.data());
  }
  state.epoch = epoch;
  log.clear();
}

void RaceDetector::met(const Cta& cta, u32 barrier) {
  Shadow& shadow = ctas_[cta.rank];
  if (!shadow.phases.is_used()) return;
  // Nobody knows what a warp did that has left, or that came with some of its lanes.
  const u32 bit = 1U << barrier;
  const bool is_whole = (shadow.met_in_part & bit) == 0;
  shadow.met_in_part &= ~bit;
  if (!is_whole || std::ranges::any_of(cta.warps, &Warp::done)) return;
  shadow.phases.next();
  for (const Warp& warp : cta.warps) warps_[number(warp)].loads.clear();
}

void RaceDetector::before_write(const View& view, const Cta& cta, u32 low, u32 high, bool is_all) {
  if (low >= high) return;
  Shadow& shadow = ctas_[cta.rank];
  shadow.written.forget(low, high - low);
  if (shadow.tiles.may_overlap(low, high)) overwrite_tiles(view, cta, low, high, is_all);
  if (!shadow.phases.is_used() || !shadow.phases.write(low, high, view.is_pending)) return;
  for (const Warp& warp : cta.warps) settle_loads(warps_[number(warp)]);
}

void RaceDetector::overwrite_tiles(const View& view, const Cta& cta, u32 low, u32 high,
                                   bool is_all) {
  for (TileRead& tile : ctas_[cta.rank].tiles.all()) {
    if (low >= tile.high || high <= tile.low) continue;
    const bool is_over = is_all && view.knowledge.base.covers(tile.mine);
    if (is_over && low <= tile.low) {
      tile.low = std::min(high, tile.high);
    } else if (is_over && high >= tile.high) {
      tile.high = low;
    } else {
      stamp_tile(shared_cells(cta), tile);
    }
  }
}

void RaceDetector::stamp_tile(const Cells& cells, TileRead& tile) {
  if (tile.low >= tile.high) return;
  // Whatever else was read there stays: what the reader knew then is not known any more.
  static const Knowledge nothing;
  View view{*tile.warp, *tile.inst, warps_[number(*tile.warp)], nothing};
  view.actor = Stamp::kReaderSet;
  // Another tile of the same warpgroup, which was read after this one, may have been here first.
  const auto is_after = [&](Stamp other) {
    return other.actor() == tile.mine.actor() && other.epoch() >= tile.mine.epoch();
  };
  const auto is_later = [&](const ReaderSets& sets, Stamp reads) {
    if (!ReaderSets::is_set(reads)) return is_after(reads);
    return std::ranges::any_of(sets.at(reads), is_after, &Reader::stamp);
  };
  each_chunk(tile.shape, [&](u32 offset) {
    for (u32 at = std::max(offset, tile.low); at < std::min(offset + 16, tile.high); at += 4) {
      Stamp& reads = cells.reads[at / 4];
      if (is_later(cells.sets, reads)) continue;
      reads = add_reader(view, cells.sets, 0, {reads, cluster_.index}, tile.mine);
    }
    return true;
  });
  tile.low = tile.high = 0;
}

/// Whether an asynchronous operation is ordered behind a write.
bool RaceDetector::knows(const View& view, Stamp stamp) const {
  if (stamp.empty()) return true;
  if (stamp.actor() == Stamp::kNobody) return false;
  const Knowledge& known = view.knowledge;
  return (is_async(stamp.actor()) ? known.base : known.proxy).covers(stamp);
}

bool RaceDetector::judge_tile(const View& view, const Cells& cells, const TileShape& shape) {
  Stamp safe;
  return each_chunk(shape, [&](u32 offset) {
    for (u32 cell = offset / 4; cell < offset / 4 + 4; ++cell) {
      const Stamp write = cells.writes[cell];
      if (write.bits == safe.bits) continue;
      if (!judge_write(view, 0, {cells, cell}, nullptr)) return false;
      safe = write;
    }
    return true;
  });
}

bool RaceDetector::read_tile(const View& view, const Cta& cta, const TileShape& shape, Stamp mine,
                             MatrixTile& found) {
  Shadow& shadow = ctas_[cta.rank];
  TileReads& tiles = shadow.tiles;
  const Cells cells = shared_cells(cta);
  TileRead* place = tiles.place(shape, mine.actor());
  if (place == nullptr) {
    for (TileRead& one : tiles.all()) stamp_tile(cells, one);
    tiles.clear();
    place = tiles.place(shape, mine.actor());
  }
  TileRead& tile = *place;
  if (tile.to == 0) {
    u32 from = ~0U;
    u32 to = 0;
    const bool is_inside = each_chunk(shape, [&](u32 offset) {
      from = std::min(from, offset);
      to = std::max(to, offset + 16);
      return offset >= kSharedReserved && offset + 16 <= cta.shared.size();
    });
    if (!is_inside) return true;  // told elsewhere
    tile.shape = shape;
    tile.from = from;
    tile.to = to;
  }
  found.found.clear();
  found.is_found = true;
  const auto find = [&](Stamp write) {
    if (!found.found.empty() && found.found.back().bits == write.bits) return;
    found.found.push_back(write);
    found.is_found = found.is_found && knows(view, write) && found.found.size() <= kMostWrites;
  };
  for (u32 cell = tile.from / 4; cell < tile.to / 4 && found.is_found;) {
    constexpr u32 kCells = WrittenBlocks::kBlock / 4;
    const u32 end = std::min(tile.to / 4, (cell / kCells + 1) * kCells);
    const WrittenBlocks::Block& block = shadow.written.at(cell / kCells, shadow.writes);
    find(block.is_uniform ? block.write : cells.writes[cell]);
    cell = block.is_uniform ? end : end_of_run(cells.writes, cell, end);
  }
  if (!found.is_found && !judge_tile(view, cells, shape)) return false;
  tile.mine = mine;
  tile.warp = &view.warp;
  tile.inst = &view.inst;
  tiles.keep(tile);
  return true;
}

}  // namespace pyptx::emu
