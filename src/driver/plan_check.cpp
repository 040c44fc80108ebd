// SPDX-License-Identifier: Apache-2.0
//
// LaunchPlan::problem: the rules of a launch that hold on every device (CUDA programming guide,
// "Compute Capabilities"; PTX ISA, "Cluster Dimension Directives"). What depends on the device is
// checked by the launcher when it first meets that device.
#include <cstdint>
#include <optional>
#include <string>

#include "pyptx/driver/plan.h"
#include "pyptx/isa/limits.h"
#include "pyptx/support/concat.h"

namespace pyptx::driver {
namespace {

using diag::Diagnostic;
using diag::Kind;
using support::concat;
using Problem = std::optional<Diagnostic>;

/// A plan is for whatever device it is launched on.
constexpr const isa::Limits& kMost = isa::kLargestLimits;
constexpr Dim3 kMaxBlock{kMost.block[0], kMost.block[1], kMost.block[2]};
constexpr Dim3 kMaxGrid{kMost.grid[0], kMost.grid[1], kMost.grid[2]};
constexpr Dim3 kMaxCluster{kMost.cluster, kMost.cluster, kMost.cluster};

std::string text(const Dim3& dim) { return concat("(", dim.x, ", ", dim.y, ", ", dim.z, ")"); }

std::uint64_t wide_volume(const Dim3& dim) {
  // Each factor is checked to be below 2^31 and two of them below 2^16 before this is used.
  return std::uint64_t{dim.x} * dim.y * dim.z;
}

Problem shape_problem(std::string what, std::string expected, std::string got) {
  return Diagnostic(Kind::LaunchShape, {std::move(what), std::move(expected), std::move(got)});
}

Problem range_problem(std::string_view what, const Dim3& dim, const Dim3& most) {
  if (dim.x >= 1 && dim.y >= 1 && dim.z >= 1 && dim.x <= most.x && dim.y <= most.y &&
      dim.z <= most.z) {
    return std::nullopt;
  }
  return shape_problem(concat("the ", what), concat("between (1, 1, 1) and ", text(most)),
                       text(dim));
}

Problem cluster_problem(const LaunchPlan& plan) {
  if (auto found = range_problem("cluster", plan.cluster, kMaxCluster)) return found;
  if (wide_volume(plan.cluster) > kMost.cluster) {
    return shape_problem("the cluster", concat("at most ", kMost.cluster, " blocks"),
                         concat(text(plan.cluster), ", ", wide_volume(plan.cluster), " blocks"));
  }
  return std::nullopt;
}

/// Whether the clusters of a plan fill this grid; the cluster is known to have no zero.
Problem division_problem(const Dim3& grid, const Dim3& cluster) {
  if (grid.x % cluster.x == 0 && grid.y % cluster.y == 0 && grid.z % cluster.z == 0) {
    return std::nullopt;
  }
  return shape_problem("the grid", concat("a multiple of the cluster ", text(cluster)), text(grid));
}

Problem slot_problem(const LaunchPlan& plan, std::size_t index) {
  const ParamSlot& slot = plan.params[index];
  const std::string name = concat("parameter ", index);
  if (slot.kind == ParamSlot::Kind::Scalar || slot.kind == ParamSlot::Kind::Argument) {
    if (slot.size == 1 || slot.size == 2 || slot.size == 4 || slot.size == 8) return std::nullopt;
    return shape_problem(concat("the size of ", name), "1, 2, 4 or 8 bytes", concat(slot.size));
  }
  if (slot.tensor >= plan.tensor_count) {
    return shape_problem(concat("the tensor of ", name), concat("one of ", plan.tensor_count),
                         concat("tensor ", slot.tensor));
  }
  if (slot.kind != ParamSlot::Kind::MapValue && slot.size != 8) {
    return shape_problem(concat("the size of ", name), "the 8 bytes of an address",
                         concat(slot.size));
  }
  if (slot.kind == ParamSlot::Kind::Pointer) return std::nullopt;
  if (const auto why = slot.map.problem(0)) {
    return Diagnostic(Kind::TensorMapRule, {*why}).note(concat("it is ", name));
  }
  return std::nullopt;
}

Problem fill_problem(const LaunchPlan& plan, const Fill& fill) {
  constexpr std::uint64_t kMostElements = std::uint64_t{1} << 60;
  const bool has_size = fill.size == 1 || fill.size == 2 || fill.size == 4 || fill.size == 8;
  if (fill.tensor < plan.tensor_count && has_size && fill.count <= kMostElements &&
      !plan.is_programmatic) {
    return std::nullopt;
  }
  return Diagnostic(
      Kind::BadPlan,
      {plan.is_programmatic
           ? std::string("a programmatic launch may begin before its outputs are filled")
           : concat("it fills ", fill.count, " elements of ", fill.size, " bytes of tensor ",
                    fill.tensor)});
}

}  // namespace

std::optional<Diagnostic> LaunchPlan::grid_problem(const Dim3& given) const {
  if (auto found = range_problem("grid", given, kMaxGrid)) return found;
  return division_problem(given, cluster);
}

std::optional<Diagnostic> LaunchPlan::problem() const {
  if (entry.empty()) return Diagnostic(Kind::BadPlan, {"it names no entry"});
  if (auto found = range_problem("grid", grid, kMaxGrid)) return found;
  if (auto found = range_problem("block", block, kMaxBlock)) return found;
  if (wide_volume(block) > kMost.threads) {
    return shape_problem("the block", concat("at most ", kMost.threads, " threads"),
                         concat(text(block), ", ", wide_volume(block), " threads"));
  }
  if (auto found = cluster_problem(*this)) return found;
  if (auto found = division_problem(grid, cluster)) return found;
  if (!tensor_bytes.empty() && tensor_bytes.size() != tensor_count) {
    return Diagnostic(Kind::BadPlan,
                      {concat("it counts ", tensor_count, " tensors and gives the bytes of ",
                              tensor_bytes.size())});
  }
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (auto found = slot_problem(*this, i)) return found;
  }
  for (const Fill& fill : fills) {
    if (auto found = fill_problem(*this, fill)) return found;
  }
  return std::nullopt;
}

}  // namespace pyptx::driver
