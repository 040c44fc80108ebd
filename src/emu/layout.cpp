// SPDX-License-Identifier: Apache-2.0
//
// Where registers, literals, variables and parameters of an entry lie.
#include <algorithm>

#include "lowering.h"

namespace pyptx::emu {
namespace {

u64 align_up(u64 value, u64 alignment) {
  return alignment <= 1 ? value : (value + alignment - 1) / alignment * alignment;
}

struct NamedSpecial {
  std::string_view name;
  SpecialId id;
};

constexpr NamedSpecial kSpecials[] = {
    {"tid", SpecialId::Tid},
    {"ntid", SpecialId::Ntid},
    {"ctaid", SpecialId::Ctaid},
    {"nctaid", SpecialId::Nctaid},
    {"clusterid", SpecialId::Clusterid},
    {"nclusterid", SpecialId::Nclusterid},
    {"cluster_ctaid", SpecialId::ClusterCtaid},
    {"cluster_nctaid", SpecialId::ClusterNctaid},
    {"cluster_ctarank", SpecialId::ClusterCtarank},
    {"cluster_nctarank", SpecialId::ClusterNctarank},
    {"laneid", SpecialId::Laneid},
    {"warpid", SpecialId::Warpid},
    {"nwarpid", SpecialId::Nwarpid},
    {"smid", SpecialId::Smid},
    {"nsmid", SpecialId::Nsmid},
    {"gridid", SpecialId::Gridid},
    {"lanemask_eq", SpecialId::LanemaskEq},
    {"lanemask_le", SpecialId::LanemaskLe},
    {"lanemask_lt", SpecialId::LanemaskLt},
    {"lanemask_ge", SpecialId::LanemaskGe},
    {"lanemask_gt", SpecialId::LanemaskGt},
    {"total_smem_size", SpecialId::TotalSmem},
    {"aggr_smem_size", SpecialId::TotalSmem},
    {"dynamic_smem_size", SpecialId::DynamicSmem},
    {"is_explicit_cluster", SpecialId::IsExplicitCluster},
    {"clock", SpecialId::Clock},
    {"clock64", SpecialId::Clock64},
    {"clock_hi", SpecialId::ClockHi},
    {"globaltimer", SpecialId::GlobalTimer},
    {"globaltimer_lo", SpecialId::GlobalTimerLo},
    {"globaltimer_hi", SpecialId::GlobalTimerHi},
};

}  // namespace

SpecialId special_id(std::string_view name) {
  if (name.starts_with('%')) name.remove_prefix(1);
  for (const NamedSpecial& special : kSpecials) {
    if (special.name == name) return special.id;
  }
  return SpecialId::Unknown;
}

Layout::Layout(Program& program, const ir::Module& module, const ir::Function& function)
    : program_(program), module_(module), function_(function) {
  offsets_.reserve(function.registers.size());
  for (std::size_t i = 0; i < function.registers.size(); ++i) {
    const u32 bytes = lane_bytes(register_bits(static_cast<ir::RegisterId>(i)));
    offsets_.push_back(take(bytes == 0 ? 4 : bytes * kLanes));
  }
  place_parameters();
  for (const ir::Variable& variable : module.variables) place_variable(variable);
  for (const ir::Variable& variable : function.variables) place_variable(variable);
  place_dynamic_shared();
}

u32 Layout::take(u32 bytes) {
  // Vectors of lanes start on a cache line; predicate words are packed.
  if (bytes > 4) next_ = static_cast<u32>(align_up(next_, 64));
  const u32 at = next_;
  next_ += bytes;
  return at;
}

u32 Layout::register_bits(ir::RegisterId id) const {
  const ir::Register& reg = function_.at(id);
  const isa::TypeInfo& type = isa::info(reg.declared == isa::Type::None ? reg.type : reg.declared);
  return type.kind == isa::TypeKind::Predicate ? 1U : type.bits;
}

u32 Layout::literal(u32 lane_size, u64 bits) {
  auto& known = lane_size == 8 ? literals64_ : literals32_;
  // A predicate word and 32 equal lanes are different things: keep their keys apart.
  const u64 key = lane_size == 0 ? bits | 1ULL << 40 : bits;
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  Fixed fixed;
  fixed.bytes = static_cast<u8>(lane_size);
  fixed.bits = bits;
  fixed.offset = take(lane_size == 0 ? 4 : lane_size * kLanes);
  program_.fixed.push_back(fixed);
  return known.emplace(key, fixed.offset).first->second;
}

u32 Layout::special(SpecialId id, u32 component, u32 lane_size) {
  const u64 key = static_cast<u64>(id) << 40 | static_cast<u64>(lane_size) << 32 | component;
  const auto found = specials_.find(key);
  if (found != specials_.end()) return found->second;
  Fixed fixed;
  fixed.what = Fixed::What::Special;
  fixed.bytes = static_cast<u8>(lane_size);
  fixed.special = id;
  fixed.component = component;
  fixed.offset = take(lane_size == 0 ? 4 : lane_size * kLanes);
  program_.fixed.push_back(fixed);
  return specials_.emplace(key, fixed.offset).first->second;
}

u32 Layout::sink() {
  if (!sink_) sink_ = take(16 * kLanes);
  return *sink_;
}

const Place* Layout::variable(ir::Symbol name) const {
  const auto found = variables_.find(static_cast<u32>(name));
  return found == variables_.end() ? nullptr : &program_.variables[found->second];
}

const ParamPlace* Layout::parameter(ir::Symbol name) const {
  const auto found = parameters_.find(static_cast<u32>(name));
  return found == parameters_.end() ? nullptr : &program_.parameters[found->second];
}

void Layout::place_parameters() {
  u64 offset = 0;
  for (const ir::Variable& parameter : function_.parameters) {
    offset = align_up(offset, parameter.alignment());
    parameters_.emplace(static_cast<u32>(parameter.name), program_.parameters.size());
    program_.parameters.push_back({std::string(module_.text(parameter.name)),
                                   static_cast<u32>(offset), static_cast<u32>(parameter.size())});
    offset += parameter.size();
  }
  program_.param_bytes = static_cast<u32>(offset);
}

void Layout::place_variable(const ir::Variable& variable) {
  Place place;
  place.variable = &variable;
  place.bytes = variable.size();
  place.align = std::max(1U, variable.alignment());
  place.name = module_.text(variable.name);
  const auto put = [&place](auto& total, u64 base) {
    total = static_cast<std::remove_reference_t<decltype(total)>>(align_up(total, place.align));
    place.offset = base + total;
    total = static_cast<std::remove_reference_t<decltype(total)>>(total + place.bytes);
  };
  switch (variable.space) {
    case ir::Space::Shared:
      place.space = Space::Shared;
      if (variable.linkage == ir::Linkage::Extern || variable.count == 0U) {
        program_.dynamic_align = std::max(program_.dynamic_align, place.align);
        place.offset = ~0ULL;  // after all static variables: set when they are known
      } else {
        put(program_.static_shared, kSharedReserved);
      }
      break;
    case ir::Space::Local:
      place.space = Space::Local;
      put(program_.local_bytes, 0);
      break;
    case ir::Space::Param: {  // of a call; blocks may use one name again, one after the other
      if (&variable < function_.variables.data() ||
          &variable >= function_.variables.data() + function_.variables.size() ||
          variables_.contains(static_cast<u32>(variable.name))) {
        return;
      }
      for (const ir::Variable& other : function_.variables) {
        if (other.name != variable.name || other.space != ir::Space::Param) continue;
        place.bytes = std::max<u64>(place.bytes, other.size());
        place.align = std::max(place.align, other.alignment());
      }
      place.space = Space::Local;
      put(program_.local_bytes, 0);
      break;
    }
    case ir::Space::Const:
      place.space = Space::Const;
      put(program_.const_bytes, 0);
      break;
    case ir::Space::Global:
      place.space = Space::Global;
      put(program_.global_bytes, 0);
      break;
    default:
      return;
  }
  variables_.emplace(static_cast<u32>(variable.name), program_.variables.size());
  program_.variables.push_back(std::move(place));
}

void Layout::place_dynamic_shared() {
  program_.static_shared =
      static_cast<u32>(align_up(program_.static_shared, program_.dynamic_align));
  for (Place& place : program_.variables) {
    if (place.space == Space::Shared && place.offset == ~0ULL) {
      place.offset = kSharedReserved + program_.static_shared;
    }
  }
}

}  // namespace pyptx::emu
