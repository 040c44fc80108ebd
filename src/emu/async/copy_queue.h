// SPDX-License-Identifier: Apache-2.0
//
// cp.async of one warp: non-bulk copies, their per-thread groups, and the mbarrier arrivals that
// follow them (PTX ISA, "Data Movement and Conversion Instructions: Non-bulk copy"). Groups belong
// to threads: a copy of the warp is complete lane by lane.
#pragma once

#include <array>
#include <deque>

#include "decode/program.h"

namespace pyptx::emu {

struct Cluster;
struct Warp;

class CopyQueue {
 public:
  struct Op {
    bool is_arrive = false;
    u8 bytes = 0;
    u32 pending = 0;  // lanes still to be done
    u32 era = 0;      // of an arrival: see race/detector.h
    u64 ticket = 0;   // of the observer
    Warp* warp = nullptr;
    std::array<u64, kLanes> group{};
    std::array<std::byte*, kLanes> to{};
    std::array<const std::byte*, kLanes> from{};
    std::array<u8, kLanes> from_bytes{};
    std::array<u32, kLanes> barrier{};  // shared address with the rank
  };

  /// Copies of a warp that are kept back at most.
  static constexpr std::size_t kMostPending = 1U << 12;

  bool empty() const { return ops_.empty(); }
  bool is_full() const { return ops_.size() >= kMostPending; }
  Op& push() { return ops_.emplace_back(); }
  u64 group(u32 lane) const { return groups_[lane]; }
  void commit(u32 mask);
  /// Completes every operation of `lane` in groups below `end`. False: `problem` says why.
  bool complete_lane(Cluster& cluster, u32 lane, u64 end, std::string& problem);
  /// Completes the oldest operation.
  bool complete_oldest(Cluster& cluster, std::string& problem);
  const Inst* issuer = nullptr;  // of the last operation

 private:
  static bool finish(Cluster& cluster, Op& op, u32 lane, std::string& problem);
  void drop_done();

  std::deque<Op> ops_;
  std::array<u64, kLanes> groups_{};
};

}  // namespace pyptx::emu
