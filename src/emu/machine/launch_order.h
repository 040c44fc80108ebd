// SPDX-License-Identifier: Apache-2.0
//
// Which clusters of a grid start, and which are cancelled by those that run (PTX ISA,
// "clusterlaunchcontrol.try_cancel"). The grid is divided into lines by its seed. The first cluster
// of a line starts; a request of it is granted the next of the line, or refused, which the seed
// says too; when it has ended, the next that is left starts. A line depends on no other, so that
// the same seed gives the same run on any number of threads. In a kernel that cancels nothing every
// cluster is a line.
#pragma once

#include <optional>

#include "machine/random.h"

namespace pyptx::emu {

struct Warp;

/// Clusters of one line that have not started, in their order.
class LaunchLine {
 public:
  /// The next starts; nothing where there is none.
  std::optional<u64> launch();
  /// The next is cancelled, for the one that was launched last; nothing: none is, nor will be.
  std::optional<u64> cancel();
  u64 number() const { return number_; }

 private:
  friend class LaunchOrder;
  LaunchLine(const class LaunchOrder& order, u64 number);
  std::optional<u64> take();

  const LaunchOrder& order_;
  u64 number_;
  u64 position_;  // of the next
  Random random_;
  bool is_refused_ = false;
};

class LaunchOrder {
 public:
  LaunchOrder(u64 clusters, u64 seed, bool can_cancel);
  u64 lines() const { return lines_; }
  LaunchLine line(u64 number) const { return {*this, number}; }

 private:
  friend class LaunchLine;
  /// A permutation of the clusters; that of seed 0 changes nothing.
  u64 at(u64 position) const;

  u64 clusters_;
  u64 seed_;
  u64 lines_;
  u64 factor_ = 1;  // has no divisor in common with clusters_
  u64 shift_ = 0;
};

/// A cluster that was cancelled for one that runs.
struct Grant {
  u64 cluster = 0;
  u32 response = 0;  // shared address with the rank
  const Inst* inst = nullptr;
  Warp* warp = nullptr;
  u32 lane = 0;
};

}  // namespace pyptx::emu
