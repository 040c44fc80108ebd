// SPDX-License-Identifier: Apache-2.0
//
// Where registers, literals, variables and parameters of an entry lie.
#include <algorithm>
#include <string>

#include "decode/lowering.h"
#include "pyptx/isa/limits.h"

namespace pyptx::emu {
namespace {

/// Of the register file of a warp: offsets in it have 32 bits.
constexpr u64 kMostRegisterBytes = u64{1} << 30;
/// Gaps between variables of shared memory. With all of them it still ends below 256 KiB, which is
/// as far as matrix descriptors reach.
constexpr u64 kSmallestGap = 16;
constexpr u64 kLargestGap = 512;
constexpr u64 kMostGaps = u64{20} << 10;
/// No total grows past this, so that none wraps; every limit is far below.
constexpr u64 kTooMuch = u64{1} << 60;

/// In .shared, with a size that its declaration says.
bool is_static_shared(const ir::Variable& variable) {
  return variable.space == ir::Space::Shared && variable.linkage != ir::Linkage::Extern &&
         variable.count != 0U;
}

}  // namespace

Layout::Layout(Program& program, const ir::Module& module, const ir::Function& function)
    : program_(program), module_(module), function_(function) {
  offsets_.reserve(function.registers.size());
  for (std::size_t i = 0; i < function.registers.size(); ++i) {
    const u32 bytes = lane_bytes(register_bits(static_cast<ir::RegisterId>(i)));
    offsets_.push_back(take(bytes == 0 ? 4 : bytes * kLanes));
  }
  place_parameters();
  for (const ir::Variable& variable : function.variables) {
    if (variable.space != ir::Space::Param) continue;
    CallSlot& slot = call_slots_[static_cast<u32>(variable.name)];
    slot.bytes = std::max(slot.bytes, variable.size());
    slot.align = std::max(slot.align, variable.alignment());
  }
  for (const ir::Variable& variable : module.variables) {
    if (!is_static_shared(variable) || names(variable.name)) place_variable(variable);
  }
  for (const ir::Variable& variable : function.variables) place_variable(variable);
  place_dynamic_shared();
}

bool Layout::names(ir::Symbol name) {
  if (!named_) {
    named_.emplace();
    for (const ir::Operand& operand : function_.operands) {
      if (operand.kind == ir::OperandKind::Symbol) named_->insert(operand.index);
    }
  }
  return named_->contains(static_cast<u32>(name));
}

u32 Layout::take(u32 bytes) {
  // Vectors of lanes start on a cache line; predicate words are packed.
  if (bytes > 4) next_ = align_up(next_, 64);
  const u64 at = next_;
  next_ += bytes;
  return static_cast<u32>(at);  // see problem()
}

u32 Layout::register_bits(ir::RegisterId id) const {
  const ir::Register& reg = function_.at(id);
  const isa::TypeInfo& type = isa::info(reg.declared == isa::Type::None ? reg.type : reg.declared);
  return type.kind == isa::TypeKind::Predicate ? 1U : type.bits;
}

std::vector<RegisterPlace> Layout::register_places() const {
  std::vector<RegisterPlace> places;
  places.reserve(offsets_.size());
  for (std::size_t i = 0; i < offsets_.size(); ++i) {
    const u32 bits = register_bits(static_cast<ir::RegisterId>(i));
    places.push_back({offsets_[i], static_cast<u16>(bits), static_cast<u8>(lane_bytes(bits))});
  }
  return places;
}

u32 Layout::literal(u32 lane_size, u64 bits) {
  const std::pair key(lane_size, bits);
  const auto found = literals_.find(key);
  if (found != literals_.end()) return found->second;
  Fixed fixed;
  fixed.bytes = static_cast<u8>(lane_size);
  fixed.bits = bits;
  fixed.offset = take(lane_size == 0 ? 4 : lane_size * kLanes);
  program_.fixed.push_back(fixed);
  return literals_.emplace(key, fixed.offset).first->second;
}

u32 Layout::special(isa::SpecialRegister reg, u64 component, u32 lane_size) {
  return fixed(Fixed::What::Special, reg, component, lane_size);
}

u32 Layout::base(Fixed::What what, u64 offset, u32 lane_size) {
  return fixed(what, {}, offset, lane_size);
}

u32 Layout::fixed(Fixed::What what, isa::SpecialRegister reg, u64 component, u32 lane_size) {
  const std::tuple key(what, reg, lane_size, component);
  const auto found = specials_.find(key);
  if (found != specials_.end()) return found->second;
  Fixed fixed;
  fixed.what = what;
  fixed.bytes = static_cast<u8>(lane_size);
  fixed.differs_by_lane = isa::info(reg).emulated == isa::Emulated::Lane;
  fixed.special = reg;
  fixed.component = component;
  fixed.offset = take(lane_size == 0 ? 4 : lane_size * kLanes);
  program_.fixed.push_back(fixed);
  return specials_.emplace(key, fixed.offset).first->second;
}

u32 Layout::sink() {
  if (!sink_) sink_ = take(16 * kLanes);
  return *sink_;
}

std::span<const ir::LabelId> Layout::branch_targets(u32 list) {
  if (!knows_branch_lists_) {
    knows_branch_lists_ = true;
    u32 last = ~0U;  // the label before the statement
    for (const ir::Statement& statement : function_.body) {
      if (statement.kind == ir::StatementKind::Label) last = statement.index;
      if (statement.kind == ir::StatementKind::BranchTargets) {
        branch_lists_.emplace(last, statement.index);
      }
    }
  }
  const auto found = branch_lists_.find(list);
  if (found == branch_lists_.end()) return {};
  return function_.branch_targets[found->second];
}

const PlacedVariable* Layout::variable(ir::Symbol name) const {
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
    offset = std::min(align_up(offset, parameter.alignment()), kTooMuch);
    parameters_.emplace(static_cast<u32>(parameter.name), program_.parameters.size());
    program_.parameters.push_back({std::string(module_.text(parameter.name)),
                                   static_cast<u32>(offset), static_cast<u32>(parameter.size())});
    offset += parameter.size();
  }
  param_bytes_ = offset;
  program_.param_bytes = static_cast<u32>(offset);
}

void Layout::put(PlacedVariable& place, u64& total, u64 base) {
  total = align_up(total, place.align);
  place.offset = base + total;
  total = std::min(total + place.bytes, kTooMuch);
}

void Layout::place_variable(const ir::Variable& variable) {
  PlacedVariable place;
  place.variable = &variable;
  place.bytes = variable.size();
  place.align = std::max(1U, variable.alignment());
  place.name = module_.text(variable.name);
  switch (variable.space) {
    case ir::Space::Shared:
      place.space = Space::Shared;
      if (!is_static_shared(variable)) {
        program_.dynamic_align = std::max<u64>(program_.dynamic_align, place.align);
        place.offset = ~0ULL;  // after all static variables: set when they are known
      } else {
        put(place, program_.declared_shared, 0);
        leave_gap(place.align);
        put(place, program_.static_shared, kSharedReserved);
        shared_gap_ = std::clamp(place.bytes, kSmallestGap, kLargestGap);
      }
      break;
    case ir::Space::Local:
      place.space = Space::Local;
      put(place, program_.local_bytes, 0);
      break;
    case ir::Space::Param: {  // of a call; blocks may use one name again, one after the other
      if (&variable < function_.variables.data() ||
          &variable >= function_.variables.data() + function_.variables.size() ||
          variables_.contains(static_cast<u32>(variable.name))) {
        return;
      }
      const CallSlot& slot = call_slots_[static_cast<u32>(variable.name)];
      place.bytes = slot.bytes;
      place.align = std::max(1U, slot.align);
      place.space = Space::Local;
      put(place, program_.local_bytes, 0);
      break;
    }
    case ir::Space::Const:
      place.space = Space::Const;
      put(place, program_.const_bytes, 0);
      break;
    case ir::Space::Global:
      place.space = Space::Global;
      put(place, program_.global_bytes, 0);
      break;
    default:
      return;
  }
  variables_.emplace(static_cast<u32>(variable.name), program_.variables.size());
  program_.variables.push_back(std::move(place));
}

/// Before the next variable of shared memory. No program may know how they lie, so an index past
/// the end of one is kept from finding another.
void Layout::leave_gap(u64 align) {
  if (shared_gap_ == 0 || gap_bytes_ + shared_gap_ + align > kMostGaps) return;
  const u64 first = kSharedReserved + align_up(program_.static_shared, 4);
  program_.static_shared = align_up(program_.static_shared + shared_gap_, align);
  const u64 end = kSharedReserved + program_.static_shared;
  gap_bytes_ += end - first;
  program_.shared_gaps.emplace_back(static_cast<u32>(first), static_cast<u32>(end));
}

void Layout::place_dynamic_shared() {
  const auto is_dynamic = [](const PlacedVariable& place) {
    return place.space == Space::Shared && place.offset == ~0ULL;
  };
  if (std::ranges::any_of(program_.variables, is_dynamic)) leave_gap(program_.dynamic_align);
  program_.static_shared = align_up(program_.static_shared, program_.dynamic_align);
  program_.local_bytes = align_up(program_.local_bytes, 16);
  for (PlacedVariable& place : program_.variables) {
    if (is_dynamic(place)) place.offset = kSharedReserved + program_.static_shared;
  }
}

std::optional<diag::Diagnostic> Layout::problem() const {
  const std::string name(module_.text(function_.name));
  const auto over = [&](u64 bytes, std::string_view what, u64 limit) {
    return diag::Diagnostic(diag::Kind::TargetLimit, {name, std::to_string(bytes),
                                                      std::string(what), std::to_string(limit)});
  };
  const isa::Limits& limits = isa::limits(module_.target);
  if (program_.declared_shared > limits.static_shared) {
    return over(program_.declared_shared, "in .shared", limits.static_shared);
  }
  if (program_.local_bytes > limits.local) {
    return over(program_.local_bytes, "of local memory per thread", limits.local);
  }
  if (program_.const_bytes > limits.constant) {
    return over(program_.const_bytes, "in .const", limits.constant);
  }
  if (param_bytes_ > limits.parameters) {
    return over(param_bytes_, "of parameters", limits.parameters);
  }
  if (next_ > kMostRegisterBytes) {
    return over(next_, "of registers and literals per warp", kMostRegisterBytes);
  }
  return std::nullopt;
}

}  // namespace pyptx::emu
