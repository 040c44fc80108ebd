// SPDX-License-Identifier: Apache-2.0
//
// What was read of shared memory and has left no stamps yet. Most reads never need one: before
// somebody writes there, a barrier has made them known. Loads are kept by the warp, and forgotten
// when the whole CTA meets; operands of a wgmma are kept as a tile, and forgotten when somebody who
// knows of them overwrites it. Whoever writes in between has the stamps made first. See
// docs/design/0008.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "race/clock.h"

namespace pyptx::emu {

struct Warp;

/// Loads of one warp since it last learnt or told anything: its knowledge is what it was then.
class LoadLog {
 public:
  struct Load {
    const Inst* inst = nullptr;
    u32 mask = 0;
    u32 bytes = 0;  // of each lane
    bool is_row = false;
    std::array<u32, kLanes> offsets{};  // of a row, the first
  };

  Warp* warp = nullptr;

  bool empty() const { return loads_.empty(); }
  bool is_full() const { return loads_.size() == kMost; }
  u32 epoch() const { return epoch_; }
  const std::vector<Load>& loads() const { return loads_; }
  void clear() { loads_.clear(); }

  /// Whether the instruction has loaded the same when it came by last.
  bool has(const Inst& inst, u32 mask, bool is_row, const u32* offsets, u32 epoch) const {
    const u32 at = last_[slot(inst)];
    if (at >= loads_.size() || epoch != epoch_) return false;
    const Load& load = loads_[at];
    if (load.inst != &inst || load.mask != mask || load.is_row != is_row) return false;
    return std::equal(offsets, offsets + (is_row ? 1 : kLanes), load.offsets.begin());
  }
  void add(const Inst& inst, u32 mask, u32 bytes, bool is_row, const u32* offsets, u32 epoch) {
    epoch_ = epoch;
    last_[slot(inst)] = static_cast<u8>(loads_.size());
    Load& load = loads_.emplace_back();
    load.inst = &inst;
    load.mask = mask;
    load.bytes = bytes;
    load.is_row = is_row;
    std::copy_n(offsets, is_row ? 1 : kLanes, load.offsets.begin());
  }

 private:
  static constexpr std::size_t kMost = 128;
  static std::size_t slot(const Inst& inst) {
    return reinterpret_cast<std::uintptr_t>(&inst) / sizeof(Inst) % 64;
  }

  std::vector<Load> loads_;
  std::array<u8, 64> last_{};
  u32 epoch_ = 0;
};

/// When a CTA's shared memory was written and loaded from, by blocks, in phases: the whole CTA has
/// met between one and the next, so that everybody knows what was written in an earlier one.
class SharedPhases {
 public:
  static constexpr u32 kBlock = 256;  // bytes

  void start(u64 bytes) { blocks_.resize(bytes / kBlock + 1); }
  bool is_used() const { return !blocks_.empty(); }
  void next() { ++phase_; }

  /// Whether nothing in [low, high) was written in this phase; notes that it is loaded.
  bool load(u32 low, u32 high) {
    for (u32 i = low / kBlock; i <= (high - 1) / kBlock; ++i) {
      if (blocks_[i].wrote >= phase_) return false;
    }
    for (u32 i = low / kBlock; i <= (high - 1) / kBlock; ++i) blocks_[i].loaded = phase_;
    return true;
  }
  /// Notes that [low, high) is written; whether a load of this phase may be there. `is_pending`: it
  /// is a copy that the next meeting need not make known.
  bool write(u32 low, u32 high, bool is_pending) {
    bool is_loaded = false;
    for (u32 i = low / kBlock; i <= (high - 1) / kBlock; ++i) {
      is_loaded = is_loaded || blocks_[i].loaded == phase_;
      blocks_[i].wrote = is_pending ? ~0U : std::max(blocks_[i].wrote, phase_);
    }
    return is_loaded;
  }

 private:
  struct Block {
    u32 wrote = 0;
    u32 loaded = 0;
  };

  u32 phase_ = 1;
  std::vector<Block> blocks_;
};

/// Whether the words of a block all bear the same write, as far as somebody has looked.
class WrittenBlocks {
 public:
  static constexpr u32 kBlock = 1024;  // bytes

  struct Block {
    bool is_known = false;
    bool is_uniform = false;
    Stamp write;
  };

  const Block& at(u32 number, const std::vector<Stamp>& writes) {
    if (blocks_.empty()) blocks_.resize(writes.size() * 4 / kBlock + 1);
    Block& block = blocks_[number];
    if (!block.is_known) {
      const u32 first = number * (kBlock / 4);
      const u32 end = std::min(first + kBlock / 4, static_cast<u32>(writes.size()));
      block = {true, end_of_run(writes.data(), first, end) == end, writes[first]};
    }
    return block;
  }
  /// It is written, or its stamps change.
  void forget(u64 offset, u64 bytes) {
    for (u64 i = offset / kBlock; i * kBlock < offset + bytes && i < blocks_.size(); ++i) {
      blocks_[i].is_known = false;
    }
  }

 private:
  std::vector<Block> blocks_;  // none until somebody asks
};

/// An operand of a wgmma: `rows` rows of 32 bytes from `first` on, or as many columns.
struct TileShape {
  u64 descriptor = 0;
  u32 first = 0;
  u32 rows = 0;
  bool is_trans = false;

  bool operator==(const TileShape&) const = default;
};

/// The last read of one operand by one warpgroup.
struct TileRead {
  TileShape shape;
  u32 actor = 0;
  u32 from = 0;  // where it lies, in bytes; `to` is 0 where that is not known
  u32 to = 0;
  u32 low = 0;  // the part of it that nobody has written since; none where they are equal
  u32 high = 0;
  Stamp mine;
  Warp* warp = nullptr;
  const Inst* inst = nullptr;
};

/// Of one CTA.
class TileReads {
 public:
  /// The place of a tile that one actor reads: its own, or a new one. Null: there is none left.
  TileRead* place(const TileShape& shape, u32 actor) {
    if (places_.empty()) places_.resize(kPlaces);
    const u64 mixed = (shape.descriptor * 0x9E3779B97F4A7C15ULL) ^
                      ((u64{shape.first} << 20 | actor) * 0xD1342543DE82EF95ULL);
    for (u64 i = mixed >> 32;; ++i) {
      u16& place = places_[i % kPlaces];
      if (place == 0) {
        if (tiles_.size() == kMost) return nullptr;
        tiles_.emplace_back().actor = actor;
        place = static_cast<u16>(tiles_.size());
      }
      TileRead& tile = tiles_[place - 1U];
      if (tile.actor == actor && (tile.to == 0 || tile.shape == shape)) return &tile;
    }
  }
  void keep(TileRead& tile) {
    tile.low = tile.from;
    tile.high = tile.to;
    low_ = std::min(low_, tile.from);
    high_ = std::max(high_, tile.to);
  }
  bool may_overlap(u32 low, u32 high) const { return low < high_ && high > low_; }
  std::vector<TileRead>& all() { return tiles_; }
  void clear() {
    places_.clear();
    tiles_.clear();
    low_ = ~0U;
    high_ = 0;
  }

 private:
  static constexpr std::size_t kPlaces = 2048;
  static constexpr std::size_t kMost = kPlaces / 2;

  std::vector<TileRead> tiles_;
  std::vector<u16> places_;  // numbers in tiles_, plus one
  u32 low_ = ~0U;
  u32 high_ = 0;
};

}  // namespace pyptx::emu
