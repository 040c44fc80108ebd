// SPDX-License-Identifier: Apache-2.0
//
// The state that a cluster starts with: CTAs, warps, literals and special registers.
#include <algorithm>
#include <numeric>

#include "machine/cluster.h"
#include "numerics/tensor_sum.h"
#include "pyptx/isa/ids.h"
#include "race/detector.h"

namespace pyptx::emu {
namespace {

std::array<u32, 3> unflatten(u64 index, const Dim3& dim) {
  return {static_cast<u32>(index % dim.x), static_cast<u32>(index / dim.x % dim.y),
          static_cast<u32>(index / dim.x / dim.y)};
}

u32 axis(const Dim3& dim, u32 component) {
  return component == 0 ? dim.x : component == 1 ? dim.y : component == 2 ? dim.z : 0;
}

using isa::SpecialRegister;

u64 special_value(const Warp& warp, const Fixed& fixed, u32 lane) {
  const Cta& cta = *warp.cta;
  const Cluster& cluster = *cta.cluster;
  const Launch& launch = *cluster.launch;
  const u32 component = static_cast<u32>(std::min<u64>(fixed.component, 3));
  const u32 thread = warp.id * kLanes + lane;
  const auto at = [component](const std::array<u32, 3>& v) {
    return component < 3 ? v[component] : 0U;
  };
  const Dim3 clusters{launch.grid.x / launch.cluster.x, launch.grid.y / launch.cluster.y,
                      launch.grid.z / launch.cluster.z};
  switch (fixed.special) {
    case SpecialRegister::Tid:
      return at(unflatten(thread, launch.block));
    case SpecialRegister::Ntid:
      return axis(launch.block, component);
    case SpecialRegister::Ctaid:
      return at(cta.position);
    case SpecialRegister::Nctaid:
      return axis(launch.grid, component);
    case SpecialRegister::Clusterid:
      return at(unflatten(cluster.index, clusters));
    case SpecialRegister::Nclusterid:
      return axis(clusters, component);
    case SpecialRegister::ClusterCtaid:
      return at(cta.cluster_position);
    case SpecialRegister::ClusterNctaid:
      return axis(launch.cluster, component);
    case SpecialRegister::ClusterCtarank:
      return cta.rank;
    case SpecialRegister::ClusterNctarank:
      return cluster.ctas.size();
    case SpecialRegister::Laneid:
      return lane;
    case SpecialRegister::Warpid:
      return warp.id;
    case SpecialRegister::Nwarpid:
      return cta.warps.size();
    case SpecialRegister::Smid:
      return cluster.index % 132;
    case SpecialRegister::Nsmid:
      return 132;
    case SpecialRegister::LanemaskEq:
      return 1U << lane;
    case SpecialRegister::LanemaskLe:
      return 0xFFFFFFFFU >> (31 - lane);
    case SpecialRegister::LanemaskLt:
      return (1U << lane) - 1;
    case SpecialRegister::LanemaskGe:
      return 0xFFFFFFFFU << lane;
    case SpecialRegister::LanemaskGt:
      return ~(0xFFFFFFFFU >> (31 - lane));
    case SpecialRegister::TotalSmemSize:
    case SpecialRegister::AggrSmemSize:
      return cluster.program->declared_shared + launch.dynamic_shared;
    case SpecialRegister::DynamicSmemSize:
      return launch.dynamic_shared;
    case SpecialRegister::IsExplicitCluster:
      return cluster.ctas.size() > 1 ? kAllLanes : 0;
    default:  // %gridid
      return 0;
  }
}

/// Of what all lanes of a warp see alike.
u64 value_of(const Warp& warp, const Fixed& fixed) {
  const Cluster& cluster = *warp.cta->cluster;
  switch (fixed.what) {
    case Fixed::What::Literal:
      return fixed.bits;
    case Fixed::What::Special:
      return special_value(warp, fixed, 0);
    case Fixed::What::SharedBase:
      return (static_cast<u64>(warp.cta->rank) << kRankShift) + fixed.component;
    case Fixed::What::GlobalBase:
      return cluster.memory->global_base() + fixed.component;
    case Fixed::What::ConstBase:
      return cluster.memory->const_base() + fixed.component;
  }
  return 0;
}

void fill_fixed(Warp& warp) {
  for (const Fixed& fixed : warp.program->fixed) {
    if (fixed.differs_by_lane) {
      for (u32 lane = 0; lane < kLanes; ++lane) {
        const u64 value = special_value(warp, fixed, lane);
        if (fixed.bytes == 8) {
          warp.lanes64(fixed.offset)[lane] = value;
        } else {
          warp.lanes32(fixed.offset)[lane] = static_cast<u32>(value);
        }
      }
      continue;
    }
    const u64 value = value_of(warp, fixed);
    if (fixed.bytes == 8) {
      std::fill_n(warp.lanes64(fixed.offset), kLanes, value);
    } else if (fixed.bytes == 4) {
      std::fill_n(warp.lanes32(fixed.offset), kLanes, static_cast<u32>(value));
    } else {
      warp.predicate(fixed.offset) = static_cast<u32>(value);
    }
  }
}

void make_warps(Cta& cta, const Program& program) {
  const u32 count = (cta.threads + kLanes - 1) / kLanes;
  const std::size_t bytes = std::max(program.register_bytes, 64U);
  // Cache-line alignment inside one block; registers start as zero.
  cta.register_storage = std::make_unique<std::byte[]>(bytes * count + 64);
  void* start = cta.register_storage.get();
  std::size_t space = bytes * count + 64;
  std::align(64, bytes * count, start, space);
  cta.warps.resize(count);
  cta.copies.resize(count);
  cta.wgmma.resize((count + 3) / 4);
  for (u32 i = 0; i < count; ++i) {
    Warp& warp = cta.warps[i];
    warp.program = &program;
    warp.cta = &cta;
    warp.id = i;
    warp.registers = static_cast<std::byte*>(start) + bytes * i;
    const u32 threads = std::min(cta.threads - i * kLanes, kLanes);
    warp.lanes = threads == kLanes ? kAllLanes : (1U << threads) - 1;
    warp.live = warp.lanes;
    warp.unwritten.assign(program.unwritten.size(), kAllLanes);
    warp.split_count = 1;
    warp.splits[0].mask = warp.lanes;
  }
}

}  // namespace

std::array<u32, 3> block_of(const Launch& launch, u64 index, u32 rank) {
  const Dim3& shape = launch.cluster;
  const Dim3 clusters{launch.grid.x / shape.x, launch.grid.y / shape.y, launch.grid.z / shape.z};
  const std::array<u32, 3> at = unflatten(index, clusters);
  const std::array<u32, 3> inner = unflatten(rank, shape);
  return {at[0] * shape.x + inner[0], at[1] * shape.y + inner[1], at[2] * shape.z + inner[2]};
}

std::unique_ptr<Cluster> make_cluster(const Program& program, const Launch& launch,
                                      const GlobalMemory& memory, u64 index, GlobalShadow* shadow) {
  auto cluster = std::make_unique<Cluster>();
  cluster->program = &program;
  cluster->launch = &launch;
  cluster->memory = &memory;
  cluster->index = index;
  cluster->tensor_core = launch.options.tensor_core == TensorCore::Target
                             ? tensor_core_of(*program.module)
                             : launch.options.tensor_core;
  cluster->random = Random(launch.options.seed ^ (index + 1) * 0xD1342543DE82EF95ULL);
  const Dim3& shape = launch.cluster;
  const u32 count = shape.x * shape.y * shape.z;
  for (u32 rank = 0; rank < count; ++rank) {
    auto cta = std::make_unique<Cta>();
    cta->cluster = cluster.get();
    cta->rank = rank;
    cta->cluster_position = unflatten(rank, shape);
    cta->position = block_of(launch, index, rank);
    cta->threads = launch.block.x * launch.block.y * launch.block.z;
    // What was there before is undefined: quiet NaNs show in results that use it.
    cta->shared.assign(kSharedReserved + program.static_shared + launch.dynamic_shared,
                       std::byte{0xFF});
    cta->defined.start(cta->shared.size(), launch.options.races);
    // The race detector keeps accesses out of the gaps; the question for values need not.
    for (const auto& [first, end] : program.shared_gaps) cta->defined.add(first, end);
    make_warps(*cta, program);
    cluster->ctas.push_back(std::move(cta));
  }
  for (const auto& cta : cluster->ctas) {
    for (Warp& warp : cta->warps) {
      fill_fixed(warp);
      cluster->order.push_back(&warp);
    }
  }
  if (launch.options.races) cluster->races = std::make_unique<RaceDetector>(*cluster, shadow);
  cluster->bulk.reset(cluster->order.size());
  if (launch.options.seed != 0) {  // seed 0: the natural order
    for (std::size_t i = cluster->order.size(); i > 1; --i) {
      std::swap(cluster->order[i - 1], cluster->order[cluster->random.below(static_cast<u32>(i))]);
    }
  }
  return cluster;
}

}  // namespace pyptx::emu
