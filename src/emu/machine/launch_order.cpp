// SPDX-License-Identifier: Apache-2.0
//
// Lines of clusters. See launch_order.h.
#include "machine/launch_order.h"

#include <algorithm>
#include <numeric>

namespace pyptx::emu {
namespace {

/// What a device holds at once of clusters that fill it, about.
constexpr u64 kMostLines = 132;
/// One request in so many is refused although a cluster is left, as on a device that has found room
/// for it. Seed 0 refuses none.
constexpr u32 kRefuseOneIn = 8;

constexpr u64 kLineSeed = 0x8CB92BA72F3D8DD7ULL;

}  // namespace

LaunchLine::LaunchLine(const LaunchOrder& order, u64 number)
    : order_(order),
      number_(number),
      position_(number),
      random_(order.seed_ ^ (number + 1) * kLineSeed) {}

std::optional<u64> LaunchLine::take() {
  if (position_ >= order_.clusters_) return std::nullopt;
  const u64 cluster = order_.at(position_);
  position_ += order_.lines_;
  return cluster;
}

std::optional<u64> LaunchLine::launch() {
  is_refused_ = false;
  return take();
}

std::optional<u64> LaunchLine::cancel() {
  // A kernel may have several requests under way when it learns of the first refusal: behind one
  // none is granted, or a cluster would be lost.
  is_refused_ = is_refused_ || (order_.seed_ != 0 && random_.below(kRefuseOneIn) == 0);
  if (is_refused_) return std::nullopt;
  const std::optional<u64> cluster = take();
  is_refused_ = !cluster;
  return cluster;
}

LaunchOrder::LaunchOrder(u64 clusters, u64 seed, bool can_cancel)
    : clusters_(clusters), seed_(seed), lines_(clusters) {
  if (!can_cancel) return;
  if (seed ==
      0) {  // the natural order: a quarter of a small grid starts, and the rest is asked for
    lines_ = std::min((clusters + 3) / 4, kMostLines);
    return;
  }
  // At most half of them start: whoever asks has somebody to ask for.
  Random random(seed * kLineSeed);
  lines_ = 1 + random.below(static_cast<u32>(std::min((clusters + 1) / 2, kMostLines)));
  shift_ = random.next() % clusters;
  do {
    factor_ = 1 + random.next() % clusters;
  } while (std::gcd(factor_, clusters) != 1);
}

u64 LaunchOrder::at(u64 position) const {
  using Wide = unsigned __int128;
  return static_cast<u64>((Wide{position} * factor_ + shift_) % clusters_);
}

}  // namespace pyptx::emu
