// SPDX-License-Identifier: Apache-2.0
//
// Races and asynchronous hazards in what one cluster does to shared and global memory. Every access
// leaves a stamp in a shadow of one word per four bytes; an access is judged against the stamps
// that it finds and the knowledge of the thread that makes it. The verdict does not depend on when
// copies land: what was not waited for is reported even where it came in time. See
// docs/design/0008.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "machine/cta.h"
#include "memory/memory.h"
#include "race/deferred.h"
#include "race/global_shadow.h"
#include "race/phases.h"

namespace pyptx::emu {

struct BulkOp;
struct TensorOp;
struct TensorRegion;
struct LaunchTrace;

/// The last accesses of an actor to shared memory of a CTA that is not its own.
struct PeerAccess {
  struct Last {
    u32 epoch = 0;  // 0: none
    u32 offset = 0;
    const Inst* inst = nullptr;
  };
  std::array<Last, kLanes> lanes;
  Last many;             // of an asynchronous operation
  Warp* warp = nullptr;  // that issued it
};

/// fence.proxy.tensormap::generic.acquire: who, when, and what had been released to it.
struct MapAcquire {
  u32 actor = 0;
  u32 epoch = 0;
  u32 mask = 0;
  u32 rank = 0;  // of the CTA
  Scope scope = Scope::Cta;
  Knowledge known;
};

/// A copy that may still read the tensor map it was given: until it is complete, or until its
/// thread has waited for the group that it would be in.
struct MapRead {
  Stamp stamp;  // of the copy
  u32 warp = 0;
  u32 lane = 0;
  u64 group = 0;
};

class RaceDetector {
 public:
  /// `global`: of clusters that talk to each other; null: this one talks to nobody.
  RaceDetector(Cluster& cluster, GlobalShadow* global);

  // --- accesses of the generic proxy. False: the fault is recorded. ----------------------------
  /// A weak load or store of a warp. `values` has what a store writes, lane after lane.
  struct LaneAccess {
    Warp& warp;
    const Inst& inst;
    u32 mask = 0;
    u32 bytes = 0;  // of each lane
    bool is_write = false;
    bool is_row = false;  // lane i lies i * bytes behind lane 0, and all are active
    const std::byte* values = nullptr;
    u32 low = 0;  // where it begins and ends, of shared memory
    u32 high = 0;
  };
  /// At `offsets[i]` of the CTA's own shared memory; of a row, from `offsets[0]` on.
  bool lanes(const LaneAccess& access, const u32* offsets);
  /// At `base + offsets[i]` of global memory; of a row, at `base`.
  bool lanes(const LaneAccess& access, u64 base, const u64* offsets);
  /// One lane, anywhere in the cluster.
  bool one(Warp& warp, const Inst& inst, const AccessRequest& request, Cta& cta, u32 offset);
  /// Whether accesses to the buffer are judged: nobody need ask about what nobody may write.
  bool wants(std::size_t buffer) const;
  /// griddepcontrol.wait: the launches before this one are known.
  void wait_for_grids(Warp& warp, u32 mask);
  /// One lane in global memory.
  bool one(Warp& warp, const Inst& inst, const AccessRequest& request);

  // --- asynchronous operations -----------------------------------------------------------------
  bool issue(const BulkOp& op);
  /// `op` has landed in `cta` and is about to signal the mbarrier at `barrier` of `signalled`.
  void landed(const BulkOp& op, const Cta& cta, const Cta& signalled, u32 barrier);
  /// is_read: only what they read is theirs no longer.
  void wait_bulk(Warp& warp, u32 lane, u64 end, bool is_read);
  /// cp.async; the era of a copy is what cp.async.wait_group and mbarrier arrivals count in.
  bool copy(Warp& warp, const Inst& inst, u32 lane, u32 offset, u32 bytes);
  /// What it reads.
  bool copy_from(Warp& warp, const Inst& inst, u32 lane, u64 address, u32 bytes);
  u32 close_era(Warp& warp) { return warps_[number(warp)].era++; }
  void commit_copies(Warp& warp, u32 mask);
  void wait_copies(Warp& warp, u32 lane, u64 end, bool is_all);
  void copies_arrived(Warp& warp, u32 lane, u32 era, Cta& cta, u32 barrier);
  /// One warp's part of a wgmma; `epoch` counts the warpgroup's operations from one.
  bool matrix(Warp& warp, const Inst& inst, u64 a_descriptor, u64 b_descriptor, u32 epoch);
  void commit_matrix(Warp& warp, u64 issued);
  void wait_matrix(Warp& warp, u64 end);

  // --- tensor memory ---------------------------------------------------------------------------
  /// tcgen05.ld or st of a warp.
  bool tensor(Warp& warp, const Inst& inst, const TensorRegion& region, bool is_write);
  bool free_tensor(Warp& warp, const Inst& inst, u32 first, u32 columns);
  void wait_tensor(Warp& warp, bool is_load);
  void fence_tensor(Warp& warp, u32 mask, bool is_after);
  bool issue(const TensorOp& op);
  /// What the arrival of a commit that is issued now will tell.
  std::shared_ptr<Knowledge> committed(const TensorOp& op);
  void arrive(const Knowledge& known, const Cta& cta, u32 barrier);

  // --- tensor maps that the kernel changes: map.cpp --------------------------------------------
  /// fence.proxy.tensormap::generic.release and acquire; address 0: of all maps.
  void release_maps(Warp& warp, u32 mask, Scope scope);
  void acquire_map(Warp& warp, u32 mask, u64 address, Scope scope);
  /// tensormap.cp_fenceproxy has written the map at `address`.
  void copied_map(Warp& warp, u64 address, Scope scope);
  /// A thread is about to change the map at `address`.
  bool change_map(Warp& warp, const Inst& inst, u32 lane, u64 address);
  /// A copy is about to use the map at `address`.
  bool use_map(Warp& warp, const Inst& inst, u32 lane, u64 address);

  // --- other CTAs of the cluster: peers.cpp ----------------------------------------------------
  /// Threads touch shared memory of another CTA, which must be known to have started; that it has
  /// not ended is judged when all is over.
  bool reach(Warp& warp, const Inst& inst, u32 mask, const Cta& cta, std::string_view what,
             u32 offset);
  /// tcgen05.commit arrives at an mbarrier of another CTA.
  void commit_reaches(const TensorOp& op, const Cta& cta, u32 offset);
  /// Lanes exit: barrier.cluster no longer waits for them.
  void exited(Warp& warp, u32 mask, u64 generation);

  /// When all is over: a copy that nobody has waited for, an access to a CTA that may have ended.
  std::unique_ptr<diag::Diagnostic> unfinished();
  std::unique_ptr<diag::Diagnostic> outlived();

  // --- synchronisation -------------------------------------------------------------------------
  void release(Warp& warp, u32 mask, Knowledge& into);
  void acquire(Warp& warp, u32 mask, const Knowledge& from);
  /// The lanes of the warp know what each of them did and knows.
  void sync_lanes(Warp& warp);
  /// fence.mbarrier_init: of mbarriers that were initialised, and nothing else.
  void fence_inits(Warp& warp, u32 mask);
  /// Between the generic and the asynchronous proxy, for these state spaces.
  void fence_proxy(Warp& warp, u32 mask, bool is_shared, bool is_global);
  /// The same one way, in two halves (fence.proxy.async::generic), of shared memory.
  void fence_halves(Warp& warp, u32 mask, Semantics semantics, Scope scope);
  /// A fence between threads.
  void fence(Warp& warp, u32 mask, Semantics semantics, Scope scope);
  BarrierKnowledge& named_barrier(const Cta& cta, u32 id) { return ctas_[cta.rank].barriers[id]; }
  BarrierKnowledge& cluster_barrier() { return cluster_barrier_; }
  /// An arrival at generation `generation`; and what those learn that it has let through, when so
  /// many generations are complete.
  void arrive(Warp& warp, u32 mask, BarrierKnowledge& barrier, u64 generation);
  /// The same at a named barrier, by a warp that waits there.
  void meet(Warp& warp, u32 mask, u32 barrier, u64 generation);
  /// All threads of the CTA have arrived at a named barrier, and none has left it.
  void met(const Cta& cta, u32 barrier);
  void passed(Warp& warp, u32 mask, const BarrierKnowledge& barrier, u64 complete);
  /// An arrival that tells only what stood before a fence.
  void arrive_relaxed(Warp& warp, u32 mask, BarrierKnowledge& barrier, u64 generation);
  void arrive(Warp& warp, u32 mask, const Cta& cta, u32 barrier);
  void waited(Warp& warp, u32 mask, const Cta& cta, const Mbarrier& barrier);
  /// The same by .relaxed instructions: they order tcgen05 operations, and the rest with a fence.
  void arrive_relaxed(Warp& warp, u32 mask, const Cta& cta, u32 barrier);
  void waited_relaxed(Warp& warp, u32 mask, const Cta& cta, const Mbarrier& barrier);
  /// What reports say of the warp's last wait.
  void note_wait(Warp& warp, const Inst& inst, u32 mask, const PassedWait& wait);
  /// To be called behind every change of the mbarrier.
  void follow(const Cta& cta, const Mbarrier& barrier);
  void initialised(Warp& warp, const Inst& inst, u32 lane, const Cta& cta, u32 barrier);
  /// Whether the thread can know that the mbarrier was initialised.
  bool use_barrier(Warp& warp, const Inst& inst, u32 lane, const Cta& cta, u32 barrier);

  /// What of global memory is this cluster's; null where it is everybody's.
  GlobalShadow* own_global() { return own_global_.get(); }

 private:
  enum class Channel : u8 {
    Warp,
    Transactions,
    BulkGroups,
    BulkWrites,  // the same, as far as global memory has them; the actor behind BulkGroups
    Copies,
    Matrix,
    Tensor,        // mma, cp of one thread, as far as they are complete
    TensorIssued,  // the same, as far as they are issued; the actor behind Tensor
    TensorLoads,   // of one warp
    TensorStores,
    Inits,  // mbarrier.init of one warp: an access of the generic proxy as any other
  };

  struct Shadow {
    std::vector<Stamp> writes;  // one per four bytes
    std::vector<Stamp> reads;   // a stamp, or the number of a set of them
    std::array<BarrierKnowledge, 16> barriers;
    std::unordered_map<u32, PhaseKnowledge> mbarriers;
    std::unordered_map<u32, SyncVariable> variables;  // by address
    TileReads tiles;
    WrittenBlocks written;
    SharedPhases phases;  // not used: loads leave their stamps at once
    u32 met_in_part = 0;  // barriers at which a warp has arrived with some of its lanes
    std::vector<Stamp> tensor_writes;  // of 16 lanes and one column each; made on use
    std::vector<Stamp> tensor_reads;
    std::map<u32, PeerAccess> peers;  // by actor
  };

  struct WarpState {
    Knowledge all;      // of every lane
    Knowledge some;     // of the lanes in some_mask, who know more
    u32 some_mask = 0;  // 0: nobody knows more than the others
    /// What the lanes knew at their last fences, by scope: a relaxed write tells it.
    std::array<Knowledge, 3> fenced;
    /// What relaxed reads saw of the own CTA, the own cluster, the grid: a fence makes it known.
    std::array<Knowledge, 3> glimpsed;
    /// The last variable that was polled, and by whom: a poll that finds nothing new is cheap.
    u64 polled = 0;
    u32 polled_by = 0;
    /// A release that was seen and did not reach here, or that this warp's access did not reach.
    u32 missed_pc = ~0U;
    u32 epoch = 1;
    LoadLog loads;
    u64 safe_write = 0;  // keys that every lane is known to be ordered behind
    u64 safe_read = 0;
    u32 inits = 0;  // actor of mbarrier.init, 0: none yet
    u32 met = 0;    // CTAs that every lane knows to have started
    u32 era = 1;    // of cp.async
    u32 copies = 0;
    std::array<u32, kLanes> bulk{};       // actors of bulk groups, 0: none yet
    std::array<u32, kLanes> bulk_last{};  // epoch of the last
    std::array<const Inst*, kLanes> bulk_inst{};
    std::array<GroupEpochs, kLanes> era_of_;  // last era of each cp.async group
    GroupEpochs epoch_of_group;               // wgmma operations in groups up to it
    Clock tensor;                            // what the warp's tcgen05 operations are ordered after
    std::array<u32, kLanes> tensor_actor{};  // of mma and cp, 0: none yet
    std::array<u32, kLanes> tensor_issued{};
    std::array<u32, 2> tensor_moves{};  // actors of stores and loads, 0: none yet
    std::array<u32, 2> move_epoch{1, 1};
    PassedWait waited;
  };

  /// What an access is judged by.
  struct View {
    Warp& warp;
    const Inst& inst;
    WarpState& state;
    const Knowledge& knowledge;
    u32 actor = 0;
    u32 pc = 0;
    bool is_write = false;
    bool is_strong = false;
    bool is_atomic = false;
    Scope scope = Scope::Cta;  // of a strong access
    bool is_async = false;     // by the asynchronous proxy
    bool is_common = false;    // the knowledge is every lane's
    bool is_pending = false;   // a write that somebody has yet to wait for
    std::string_view what = "access";
  };

  /// A stretch of stamps: the shared memory of a CTA, or a page of global memory.
  struct Cells {
    Stamp* writes;
    Stamp* reads;
    ReaderSets& sets;
    u64 base;          // address of the first
    const Cta* cta;    // null: global memory
    GlobalPage* page;  // null: shared memory
    bool is_own;       // all stamps are this cluster's
  };
  struct StampedWord {
    const Cells& cells;
    u32 cell;
    u32 bytes = 15;  // those of the word, a bit each
    u64 address() const { return cells.base + cell * 4ULL; }
  };

  /// What a walk over many words has found so far: neighbours mostly bear the same stamps.
  struct Cursor {
    Stamp safe_write;
    Stamp last_read;
    Stamp grown;  // what last_read becomes
  };
  /// The B tile of a wgmma, whose stamps the first of its four warps has looked up for all.
  struct MatrixTile {
    u32 actor = 0;
    u32 epoch = 0;
    std::vector<Stamp> found;  // every write there
    bool is_found = false;     // they are few, and the first warp knew of them
  };

  u32 number(const Warp& warp) const {
    return warp.cta->rank * static_cast<u32>(warp.cta->warps.size()) + warp.id;
  }
  u32 make_actor(Channel channel, u32 warp = 0);
  View view(Warp& warp, const Inst& inst, u32 mask);
  bool is_async(u32 actor) const {
    return channels_[actor] != Channel::Warp && channels_[actor] != Channel::Copies &&
           channels_[actor] != Channel::Inits;
  }
  /// A thread's own accesses.
  bool is_thread(u32 actor) const {
    return channels_[actor] == Channel::Warp || channels_[actor] == Channel::Inits;
  }
  /// Notes that these lanes have come as far as they have.
  void mark_self(Clock& clock, const Warp& warp, u32 mask) const;
  PhaseKnowledge& phase_of(const Cta& cta, u32 barrier);
  void hand_on(Warp& warp, u32 mask, Knowledge& into);

  // --- what has left no stamps yet: deferred.cpp ------------------------------------------------
  bool defer(const LaneAccess& access, const u32* offsets, Shadow& shadow);
  /// The warp's loads leave their stamps: it is about to learn or tell something.
  void settle_loads(WarpState& state) {
    if (!state.loads.empty()) stamp_loads(state);
  }
  void stamp_loads(WarpState& state);
  /// [low, high) of the CTA's shared memory is about to be written, all of it or somewhere in it.
  void before_write(const View& view, const Cta& cta, u32 low, u32 high, bool is_all);
  void overwrite_tiles(const View& view, const Cta& cta, u32 low, u32 high, bool is_all);
  void stamp_tile(const Cells& cells, TileRead& tile);
  bool read_tile(const View& view, const Cta& cta, const TileShape& shape, Stamp mine,
                 MatrixTile& found);
  bool judge_tile(const View& view, const Cells& cells, const TileShape& shape);
  bool knows(const View& view, Stamp stamp) const;

  Cells shared_cells(const Cta& cta);
  Cells global_cells(u64 address);
  /// `value`: what the word becomes, where a thread stores all of it.
  bool word(const View& view, const StampedWord& place, u32 lane, const std::byte* value);
  /// Whole words of one lane, and of a whole warp in a row.
  struct Memory {
    u64 safe_write = ~0ULL;
    Stamp reads;
    Stamp become;  // what they become where a write of that key stands
  };
  bool stamp_lanes(const LaneAccess& access, const u32* offsets);
  bool quick_words(const View& view, const Cells& cells, u32 cell, u32 count, u32 lane,
                   const std::byte* value, Memory& last);
  bool row(const View& view, const Cells& cells, u32 cell, u32 count, u32 per_lane, u32 lane,
           const std::byte* values);
  bool words(const View& view, const Cells& cells, u32 lane, u32 offset, u64 bytes,
             const std::byte* value);
  bool whole_run(const View& view, u64 address, u32 count, u32 per_lane, u32 lane,
                 const std::byte* values);
  bool global_words(const View& view, u32 lane, u64 address, u64 bytes, const std::byte* value);
  void mark(const View& view, const StampedWord& place, u32 bytes, const std::byte* value) const;
  void mark_all(const View& view, const Cells& cells, u32 cell, u32 end) const;
  bool is_safe(const View& view, ReaderSets& sets, Stamp stamp) const;
  bool is_known(const View& view, const Reader& other) const;
  bool is_ordered(const View& view, const Reader& other, u32 lane) const;
  bool is_morally_strong(const View& view, const Reader& other) const;
  bool judge_write(const View& view, u32 lane, const StampedWord& place, const std::byte* value);
  bool judge_reads(const View& view, u32 lane, const StampedWord& place);
  bool judge(const View& view, u32 lane, const StampedWord& place, const Reader& other,
             bool other_wrote, const std::byte* value);
  Stamp add_reader(const View& view, ReaderSets& sets, u32 lane, const Reader& old, Stamp mine);
  bool range(const View& view, u32 lane, const Cells& cells, u32 offset, u64 bytes, Stamp mine);
  bool walk(const View& view, u32 lane, const Cells& cells, u32 offset, u64 bytes, Stamp mine,
            Cursor& cursor);
  /// Whether the launch before, which may still run, leaves the bytes alone.
  bool is_apart(const View& view, u32 lane, u64 address, u64 bytes);
  bool global_range(const View& view, u32 lane, u64 address, u64 bytes, Stamp mine);
  bool global_part(const View& view, const BulkOp& op, Stamp mine);

  /// Whether the CTA is known to have started; false with the fault recorded.
  bool is_started(const View& view, u32 lane, const Cta& cta, u32 offset);
  bool knows_start(const Knowledge& knowledge, u32 rank) const;
  void note_peer(u32 actor, Warp& warp, const Cta& cta, const PeerAccess::Last& last);
  diag::Diagnostic peer_diagnostic(const Warp& warp, std::string_view what, u32 rank, u32 offset,
                                   std::string problem) const;

  enum class MapGap : u8 { None, Scope, Release, Acquire };
  MapGap map_gap(const View& view, u32 lane, u64 address, const Reader& write);
  MapGap release_gap(const MapAcquire& acquire, u64 address, const Reader& write) const;
  bool report_map(const View& view, u32 lane, u64 address, const Reader& write, MapGap gap);
  void read_map(const View& view, const BulkOp& op, Stamp mine);

  // --- release and acquire patterns: strong.cpp ------------------------------------------------
  void strong(const View& view, const AccessRequest& request, SyncVariable& variable);
  void observe(const View& view, u32 lane, SyncVariable& variable, Semantics semantics);
  void publish(const View& view, const AccessRequest& request, SyncVariable& variable);
  void add_part(const View& view, SyncVariable& variable, Scope scope, const Knowledge& known);
  Knowledge arriving(SyncVariable::Part& part) const;
  u32 distance(const View& view, const SyncVariable::Part& part) const;
  MatrixTile& tile_of(const Warp& warp);
  /// One access to tensor memory: how it is judged and what it leaves.
  struct TensorView {
    const View& view;
    Stamp mine;
    bool is_pipelined = false;  // mma and cp follow each other in the order of their issue
    bool is_blocking = false;   // dealloc: needs no fence
  };
  bool tensor_cells(const TensorView& by, u32 lane, const TensorRegion& region);
  bool judge_tensor(const TensorView& by, u32 lane, u32 cell, Stamp other, bool other_wrote);
  bool report_tensor(const TensorView& by, u32 lane, u32 cell, Stamp other, bool other_wrote,
                     bool only_fence);
  void label(diag::Diagnostic& diagnostic, const Reader& other, bool other_wrote) const;
  std::string block_text(u64 cluster, u32 rank) const;
  std::string text_of(const View& view, const StampedWord& place) const;
  bool report(const View& view, u32 lane, const StampedWord& place, const Reader& other,
              bool other_wrote, bool only_fence);
  bool report_gap(const View& view, u32 lane, const StampedWord& place);
  /// Tells of what need not be wrong, once for each pair of instructions; true.
  bool warn(diag::Kind kind, const View& view, u32 lane, const StampedWord& place,
            const Reader& other, bool other_wrote);

  // --- what would have ordered two accesses: advice.cpp ----------------------------------------
  void advise(diag::Diagnostic& diagnostic, const View& view, u32 lane, const Reader& other,
              bool other_wrote) const;
  void advise_race(diag::Diagnostic& diagnostic, const View& view, const Reader& other) const;
  void advise_channel(diag::Diagnostic& diagnostic, const View& view, u32 lane, Stamp other) const;
  void advise_mbarrier(diag::Diagnostic& diagnostic, const View& view, u32 lane, Stamp other) const;
  /// Where release and acquire were meant to order them: what they lack. False: no sign of them.
  bool advise_pattern(diag::Diagnostic& diagnostic, const View& view, const Reader& other) const;

  Cluster& cluster_;
  std::vector<Shadow> ctas_;
  std::vector<WarpState> warps_;
  std::vector<Channel> channels_;
  std::vector<u32> owners_;           // number of the warp that a channel belongs to
  std::vector<MatrixTile> matrices_;  // of each warpgroup
  ReaderSets sets_;
  BarrierKnowledge cluster_barrier_;
  std::unique_ptr<GlobalShadow> own_global_;
  GlobalShadow& global_;
  const LaunchTrace* before_ = nullptr;              // the launch that this one may overlap
  std::map<u64, std::vector<MapAcquire>> acquires_;  // by address; 0: of all
  std::map<u64, std::vector<MapRead>> map_reads_;    // by address
  std::set<u64> warned_;
};

}  // namespace pyptx::emu
