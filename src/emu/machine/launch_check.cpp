// SPDX-License-Identifier: Apache-2.0
//
// Checks of a launch. See launch_check.h.
#include "machine/launch_check.h"

#include <unistd.h>

#include <array>

#include "memory/memory.h"
#include "pyptx/isa/limits.h"

namespace pyptx::emu {
namespace {

/// Where a dimension passes what every target has, that; else nothing. Products of what passes
/// have 63 bits.
std::optional<std::string> size_problem(std::string_view what, const Dim3& dim,
                                        const std::array<u32, 3>& most) {
  const std::array<u32, 3> sizes{dim.x, dim.y, dim.z};
  for (std::size_t i = 0; i < 3; ++i) {
    if (sizes[i] >= 1 && sizes[i] <= most[i]) continue;
    return "the " + std::string(what) + " has " + std::to_string(sizes[i]) + " in " + "xyz"[i] +
           ", the limits are 1 and " + std::to_string(most[i]);
  }
  return std::nullopt;
}

std::string text(const u32 (&dim)[3]) {
  return "(" + std::to_string(dim[0]) + ", " + std::to_string(dim[1]) + ", " +
         std::to_string(dim[2]) + ")";
}

}  // namespace

std::optional<std::string> launch_problem(const Program& program, const Launch& launch) {
  const Dim3& grid = launch.grid;
  const Dim3& block = launch.block;
  const Dim3& cluster = launch.cluster;
  const auto& target = program.module->target;
  const isa::Limits& limits = isa::limits(target);
  constexpr u32 kCtas = isa::kLargestLimits.cluster;
  if (auto problem = size_problem("grid", grid, limits.grid)) return problem;
  if (auto problem = size_problem("block", block, limits.block)) return problem;
  if (auto problem = size_problem("cluster", cluster, {kCtas, kCtas, kCtas})) return problem;
  const u64 threads = product(block);
  if (threads > limits.threads) {
    return "a block has 1 to " + std::to_string(limits.threads) + " threads, got " +
           std::to_string(threads);
  }
  if (product(cluster) > limits.cluster) {
    return "a cluster of " + target.text() + " has 1 to " + std::to_string(limits.cluster) +
           " CTAs, got " + std::to_string(product(cluster));
  }
  if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0) {
    return "the grid is not a multiple of the cluster";
  }
  const u32* needed = program.required_threads;
  if (needed[0] != 0 && (needed[0] != block.x || needed[1] != block.y || needed[2] != block.z)) {
    return "the kernel requires blocks of " + text(program.required_threads);
  }
  if (program.maximum_threads != 0 && threads > program.maximum_threads) {
    return "the kernel admits " + std::to_string(program.maximum_threads) +
           " threads per block, got " + std::to_string(threads);
  }
  needed = program.required_cluster;
  if (needed[0] != 0 &&
      (needed[0] != cluster.x || needed[1] != cluster.y || needed[2] != cluster.z)) {
    return "the kernel requires clusters of " + text(program.required_cluster);
  }
  if (launch.params.size() < program.param_bytes) {
    return "the kernel has " + std::to_string(program.param_bytes) + " bytes of parameters, got " +
           std::to_string(launch.params.size());
  }
  if (launch.variables && !launch.variables->fit(program)) {
    return "its variables are those of another program";
  }
  const u64 shared =
      align_up(program.declared_shared, program.dynamic_align) + launch.dynamic_shared;
  if (shared > limits.cta_shared) {
    return std::to_string(shared) + " bytes of shared memory per block are more than the " +
           std::to_string(limits.cta_shared) + " of " + target.text();
  }
  return std::nullopt;
}

std::optional<std::string> memory_problem(const Program& program, const Launch& launch,
                                          u64 resident) {
  const u64 threads = product(launch.block);
  const u64 warps = (threads + kLanes - 1) / kLanes;
  const u64 shared = kSharedReserved + program.static_shared + launch.dynamic_shared;
  constexpr u64 kStamps = 4;  // bytes of them for each byte of shared memory
  const u64 per_cta = shared * (launch.options.races ? 1 + kStamps : 1) +
                      warps * (program.register_bytes + sizeof(Warp)) +
                      2 * warps * kLanes * program.local_bytes;  // each byte has a flag
  const u64 needed = program.global_bytes + resident * product(launch.cluster) * per_cta;
  static const u64 present =
      static_cast<u64>(sysconf(_SC_PHYS_PAGES)) * static_cast<u64>(sysconf(_SC_PAGESIZE));
  if (needed <= present) return std::nullopt;
  return "it takes " + std::to_string(needed) + " bytes to emulate, this machine has " +
         std::to_string(present);
}

u64 cluster_count(const Launch& launch) {
  return u64{launch.grid.x / launch.cluster.x} * (launch.grid.y / launch.cluster.y) *
         (launch.grid.z / launch.cluster.z);
}

}  // namespace pyptx::emu
