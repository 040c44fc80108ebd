// SPDX-License-Identifier: Apache-2.0
//
// Bulk and tensor copies on their way (PTX ISA, "Data Movement and Conversion Instructions: Bulk
// copy", "Tensor copy"). An operation is checked when it is issued and moves its bytes when it
// completes; when that is, is the launch's completion policy.
#pragma once

#include <array>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "async/reduce.h"
#include "decode/program.h"
#include "pyptx/layout/tensor_box.h"

namespace pyptx::emu {

struct Cluster;
struct Cta;
struct Warp;

using TileMode = layout::BoxMode;

/// Of a tensor copy, the box that it moves; of others, nothing.
struct BulkOp : layout::TensorBox {
  enum class Kind : u8 {
    ToShared,
    ToGlobal,
    SharedToShared,
    TensorLoad,
    TensorStore,
    Word,      // st.async, red.async
    Response,  // of clusterlaunchcontrol.try_cancel
  };
  Kind kind = Kind::ToShared;
  const Inst* inst = nullptr;
  Warp* warp = nullptr;  // the issuer
  u32 lane = 0;
  u64 group = 0;  // of the issuing thread; only for stores
  bool has_group = false;
  u32 issuer_rank = 0;
  u32 shared = 0;       // shared address with the rank: destination of loads, source of stores
  u32 shared_from = 0;  // SharedToShared
  u64 global = 0;
  u64 bytes = 0;         // that move, and that an mbarrier counts
  u64 extent = 0;        // of shared memory; 0: `bytes`. A swizzle's rows may have gaps
  u32 barrier = 0;       // shared address with the rank
  u32 cta_mask = 0;      // 0: no multicast
  bool is_pair = false;  // .cta_group::2: signals in the CTA of the pair that `barrier` lies in
  ReduceOp reduce = ReduceOp::None;
  bool keeps_subnormals = false;
  Ty type = Ty::None;                // of the elements of a reduction
  u64 map_address = 0;               // 0: none, or where no thread can write
  std::array<std::byte, 16> data{};  // Word, Response
  u64 ticket = 0;                    // of the observer

  u64 shared_bytes() const { return extent != 0 ? extent : bytes; }
};

class BulkQueue {
 public:
  static constexpr std::size_t kMostPending = 1U << 14;
  bool empty() const { return ops_.empty(); }
  std::size_t size() const { return ops_.size(); }
  /// Queues it, or runs it now when the policy says so. False: fault recorded in the warp.
  bool issue(Cluster& cluster, const BulkOp& op);
  bool complete(Cluster& cluster, std::size_t index);
  /// Completes the operations of a thread in groups below `end`.
  bool complete_group(Cluster& cluster, const Warp& warp, u32 lane, u64 end);
  void commit(u32 warp_number, u32 mask);
  u64 group(u32 warp_number, u32 lane) const { return groups_[warp_number][lane]; }
  void reset(std::size_t warps) { groups_.assign(warps, {}); }

 private:
  std::deque<BulkOp> ops_;
  std::deque<std::array<u64, kLanes>> groups_;  // per warp of the cluster, per lane
};

/// The CTA whose mbarrier says that the part for CTA `rank` has landed.
u32 signalled_rank(const BulkOp& op, u32 rank);
/// Moves the bytes and signals. False: fault recorded in the issuing warp.
bool perform(Cluster& cluster, const BulkOp& op);
/// Tile copies of tensor_copy.cpp. `base` is the shared memory of one CTA.
void load_tile(const BulkOp& op, std::byte* shared, u32 offset);
/// False with the fault recorded: a byte that is stored, or added to, has no value.
bool store_tile(const BulkOp& op, const Cta& cta, u32 offset);
/// Records that a copy takes a byte of shared memory that nobody wrote; false.
bool fail_source(const BulkOp& op, const Cta& cta, u32 offset);
/// Address and size of each piece of global memory that the copy touches.
std::vector<std::pair<u64, u64>> global_spans(const BulkOp& op);
Ty element_type(layout::MapType type);

}  // namespace pyptx::emu
