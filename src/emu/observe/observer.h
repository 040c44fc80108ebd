// SPDX-License-Identifier: Apache-2.0
//
// Who watches a run that asked for counters or a trace. A watched launch runs a copy of the program
// in which every instruction goes through run_observed(); a launch that nobody watches runs the
// program itself and pays nothing.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "decode/program.h"
#include "observe/tile_viewer.h"
#include "observe/timeline.h"
#include "pyptx/emu/counters.h"
#include "pyptx/emu/tensor_memory_use.h"

namespace pyptx::emu {

struct Cluster;
struct BulkOp;
struct TensorOp;
struct TensorRegion;

/// Rows of Counters::traffic.
enum class Route : u8 {
  Global,
  Shared,
  Dsmem,
  Local,
  Param,
  Const,
  AsyncToShared,
  AsyncToGlobal,
  AsyncSharedToShared,
  Count,
};

struct RouteCount {
  u64 requests = 0;
  u64 loaded = 0;
  u64 stored = 0;
};

using RouteCounts = std::array<RouteCount, static_cast<std::size_t>(Route::Count)>;

/// What clusters counted: sums, so that it does not matter in which order they are added.
struct Tally {
  std::vector<Cost> costs;       // by program counter
  std::map<u32, BankUse> banks;  // the same, where shared memory was used
  RouteCounts routes{};
  u64 branches = 0;
  u64 divergent_branches = 0;

  void add(const Tally& other);
};

/// The program that a watched launch runs.
struct Observed {
  /// `counts`: every instruction is watched; otherwise those that a tile is shown before.
  Observed(const Program& original, bool counts);
  Program program;
  std::vector<Handler> handlers;  // what run_observed() stands in front of
  std::vector<bool> shows;        // by program counter: a tile is shown before it
  bool is_counted = true;
};

/// Watches one cluster.
class Observer {
 public:
  /// `event_limit`: of the timeline; 0 records none.
  Observer(Cluster& cluster, const Observed& observed, u64 event_limit);

  Step run(Warp& warp, const Inst& inst, u32 mask);
  /// An asynchronous operation is on its way. The ticket names it when it lands; 0: nobody asks.
  u64 issued(const Warp& warp, const Inst& inst, u64 bytes);
  u64 issued(const BulkOp& op);
  u64 copy_issued(const Warp& warp, const Inst& inst, u64 bytes);
  void landed(u64 ticket);

  // Tensor memory.
  void allocated(const Warp& warp, const Inst& inst, u32 first, u32 columns);
  void freed(const Warp& warp, u32 first);
  void touched(const Warp& warp, const Inst& inst, const TensorRegion& region, bool is_write);
  /// An operation is on its way; gives what completed() wants to hear.
  std::size_t tensor_issued(const TensorOp& op);
  void tensor_completed(std::size_t first, std::size_t count);
  std::size_t tensor_use_count() const { return tensor_uses_.size(); }
  std::vector<TensorMemoryUse> take_tensor_uses();
  std::vector<ShownTile> take_shown() { return viewer_.take(); }

  const Tally& tally() const { return tally_; }
  Timeline& timeline() { return timeline_; }

 private:
  /// What an instruction is about to touch; added up once it has run.
  struct Touched {
    Cost costs;
    RouteCounts routes{};
    BankUse banks;
  };
  Step count(Warp& warp, const Inst& inst, u32 mask, u32 pc);
  TensorMemoryUse* note(const Warp& warp, const Inst& inst, const TensorRegion& region);
  u32 counter_of(const Inst& inst) const;
  void measure(Warp& warp, const Inst& inst, const MemoryAccess& access, u32 mask);
  void moved(Route route, const Inst& inst, u64 loaded, u64 stored);

  const Observed& observed_;
  Tally tally_;
  Timeline timeline_;
  Touched touched_;
  TileViewer viewer_;
  u64 clock_ = 0;  // warp instructions of the cluster
  bool keeps_tensor_uses_ = false;
  std::vector<TensorMemoryUse> tensor_uses_;
};

/// The sums as the launch's report tells them.
Counters make_counters(const Program& program, const Tally& tally,
                       const std::vector<u64>& issue_counts);

}  // namespace pyptx::emu
