// SPDX-License-Identifier: Apache-2.0
//
// One CTA: its warps, shared and local memory, named barriers and mbarriers.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "async/copy_queue.h"
#include "async/wgmma_queue.h"
#include "machine/warp.h"
#include "memory/aligned_bytes.h"
#include "memory/defined_bytes.h"
#include "memory/mbarrier.h"
#include "memory/tensor_memory.h"
#include "pyptx/isa/limits.h"

namespace pyptx::emu {

struct Cluster;

inline constexpr u32 kCtaBarriers = isa::kLargestLimits.cta_barriers;

/// A named barrier (PTX ISA, "bar, barrier"). Counts threads; with a count, a whole warp's arrival
/// counts 32. expected == 0: no one is here and no count is set.
struct NamedBarrier {
  u32 arrived = 0;
  u32 expected = 0;
  bool whole_cta = false;  // without a count: all threads that have not exited
  u64 generation = 0;
  u32 votes = 0;  // threads that came with a true predicate
  /// What a reduction over the last generation gives.
  u32 last_votes = 0;
  u32 last_arrived = 0;
};

struct Cta {
  Cluster* cluster = nullptr;
  u32 rank = 0;  // in the cluster
  std::array<u32, 3> position{};
  std::array<u32, 3> cluster_position{};
  u32 threads = 0;
  u32 finished_warps = 0;
  std::vector<std::byte> shared;          // the reserved part included
  DefinedBytes defined;                   // of shared
  AlignedBytes local;                     // made on first use
  AlignedBytes local_defined;             // a flag for each byte of it
  std::unordered_map<u32, Birth> births;  // of undefined words of shared memory that were stored
  std::unique_ptr<std::byte[]> register_storage;
  std::vector<Warp> warps;
  std::array<NamedBarrier, kCtaBarriers> barriers;
  MbarrierTable mbarriers;
  std::vector<CopyQueue> copies;      // per warp: cp.async
  std::vector<WarpgroupQueue> wgmma;  // per warpgroup
  TensorMemory tensor;
  const Inst* refused = nullptr;  // the query that said so: no cluster was cancelled for this CTA

  bool done() const { return finished_warps == warps.size(); }
  void lanes_exited(Warp& warp, u32 mask);
  /// Completes a barrier whose arrivals suffice.
  void settle(NamedBarrier& barrier);
  std::byte* local_of(u32 warp, u32 lane);
  /// The flags of local memory: whether each byte from `at` on has a value.
  u8* local_flags(const std::byte* at) {
    return reinterpret_cast<u8*>(local_defined.data()) + (at - local.data());
  }
};

}  // namespace pyptx::emu
