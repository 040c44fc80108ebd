// SPDX-License-Identifier: Apache-2.0
//
// Checks of operands made of operands (PTX ISA, "Addresses as Operands"): lists with optional
// places, [base, part, ...] and d|p.
#include <algorithm>

#include "operand.h"
#include "pyptx/isa/ids.h"
#include "pyptx/isa/type.h"

namespace pyptx::verify {
namespace {

using ir::Operand;
using ir::OperandKind;
using isa::Accept;
using isa::has;
using isa::Modifier;
using isa::OperandSpec;
using isa::TextureMode;
using isa::Type;
using isa::TypeKind;

std::optional<ir::Space> named_space(Modifier space) {
  switch (space) {
    case Modifier::Global:
      return ir::Space::Global;
    case Modifier::Shared:
    case Modifier::SharedCta:
    case Modifier::SharedCluster:
      return ir::Space::Shared;
    case Modifier::Const:
      return ir::Space::Const;
    case Modifier::Local:
      return ir::Space::Local;
    case Modifier::Param:
    case Modifier::ParamEntry:
    case Modifier::ParamFunc:
      return ir::Space::Param;
    default:
      return std::nullopt;
  }
}

/// Constants and parameters have no generic address by name: cvta gives them one.
bool is_generic(const Scope& scope, const Operand& symbol) {
  const auto found = space_of(scope, symbol);
  return found != ir::Space::Const && found != ir::Space::Param;
}

/// An address with a type but no state space is a place in tensor memory: a register, no variable.
bool is_in_tensor_memory(const OperandSpec& spec) {
  return spec.type != Type::None && spec.space == isa::Slot{} && spec.state_space == Modifier::None;
}

/// A register of `bits` bits for an address that needs `full` ones. The table says which sizes
/// ptxas takes; else it widens 8 and 16 bits everywhere, and 32 where the table says so.
bool takes_width(const Scope& scope, const OperandSpec& spec, unsigned bits, bool is_narrow) {
  if (is_narrow && scope.by_manual) return false;
  if (const auto sizes = widths_on(scope, spec)) return (*sizes & bits) != 0;
  return !is_narrow || bits != 32 || spec.narrow;
}

/// What ptxas refuses even where it does not look: no address has 128 bits.
Misfit check_unseen(const Scope& scope, const Operand& base) {
  if (base.kind == OperandKind::Register) {
    const Type declared = scope.function.at(base.register_id()).declared;
    return isa::info(declared).bits > 64 ? Misfit::Type : Misfit::None;
  }
  const bool is_taken = base.kind == OperandKind::Symbol || base.kind == OperandKind::Integer;
  return is_taken ? Misfit::None : Misfit::Kind;
}

Misfit check_base(const Scope& scope, const OperandSpec& spec, const Operand& base) {
  if (is_unseen(scope, spec)) return check_unseen(scope, base);
  if (is_in_tensor_memory(spec) && base.kind != OperandKind::Register) return Misfit::Kind;
  if (spec.type != Type::None && base.kind == OperandKind::Register) {
    const bool is_fit = fits_register(scope, scope.function.at(base.register_id()), spec);
    if (!is_fit || is_in_tensor_memory(spec)) return is_fit ? Misfit::None : Misfit::Type;
  }
  if (base.kind == OperandKind::Register) {
    // A kernel has no parameters of its caller; those of its calls have names.
    if (spec.state_space == Modifier::ParamFunc && scope.function.is_entry) return Misfit::Space;
    const Type declared = scope.function.at(base.register_id()).declared;
    const isa::TypeInfo& info = isa::info(declared);
    if (info.kind == TypeKind::Float || info.kind == TypeKind::Predicate) return Misfit::Type;
    if (info.bits > 64) return Misfit::Type;
    const bool is_narrow = is_narrow_address(scope, spec, base);
    return takes_width(scope, spec, info.bits, is_narrow) ? Misfit::None : Misfit::Type;
  }
  if (base.kind == OperandKind::Symbol) {
    if (spec.unnamed) return Misfit::Kind;
    if (spec.state_space == Modifier::None && !is_generic(scope, base)) return Misfit::Space;
    return lies_in(scope, spec.state_space, base) ? Misfit::None : Misfit::Space;
  }
  if (base.kind == OperandKind::Integer) {
    return spec.state_space == Modifier::Local ? Misfit::None : Misfit::Kind;
  }
  return Misfit::Kind;
}

/// A sampler where modules of this texture mode have none.
bool is_of_other_mode(const Scope& scope, const OperandSpec& spec) {
  return spec.texmode != TextureMode::Any && spec.texmode != texture_mode(scope.module);
}

/// Operands to places by backtracking over the optional ones, of which a form has a few at most.
class Matcher {
 public:
  Matcher(const Scope& scope, std::span<const OperandSpec> specs, std::span<const Operand> operands,
          std::span<const OperandSpec*> places)
      : scope_(scope), specs_(specs), operands_(operands), places_(places) {}

  Fit run() {
    const auto mandatory =
        static_cast<std::size_t>(std::ranges::count(specs_, false, &OperandSpec::optional));
    best_.has_count = operands_.size() >= mandatory && operands_.size() <= specs_.size();
    if (!best_.has_count) return best_;
    if (place(0, 0)) {
      best_.misfit = Misfit::None;
    } else if (best_.spec == nullptr) {
      best_.has_count = false;  // all that is given fits: a sampler, and no coordinates after it
    }
    return best_;
  }

 private:
  bool place(std::size_t spec, std::size_t operand) {
    if (spec == specs_.size()) return operand == operands_.size();
    const bool is_bound = specs_[spec].texmode != TextureMode::Any;
    const bool is_foreign = is_of_other_mode(scope_, specs_[spec]);
    if (operand < operands_.size() && !is_foreign) {
      const std::size_t asked = scope_.asked != nullptr ? scope_.asked->size() : 0;
      const Misfit misfit = check(scope_, specs_[spec], operands_[operand]);
      if (misfit == Misfit::None && place(spec + 1, operand + 1)) {
        if (operand < places_.size()) places_[operand] = &specs_[spec];
        return true;
      }
      if (scope_.asked != nullptr) scope_.asked->shrink(asked);
      if (misfit != Misfit::None) note(misfit, spec, operand);
    }
    if (is_foreign && operand < operands_.size()) note(Misfit::Kind, spec, operand);
    return specs_[spec].optional && is_bound == is_foreign && place(spec + 1, operand);
  }

  void note(Misfit misfit, std::size_t spec, std::size_t operand) {
    if (best_.spec != nullptr && operand <= best_.operand) return;
    best_.misfit = misfit;
    best_.spec = &specs_[spec];
    best_.operand = operand;
  }

  const Scope& scope_;
  std::span<const OperandSpec> specs_;
  std::span<const Operand> operands_;
  std::span<const OperandSpec*> places_;
  Fit best_;
};

}  // namespace

isa::TextureMode texture_mode(const ir::Module& module) {
  const auto has_name = [&](const ir::TargetOption& option) {
    return module.text(option.name) == "texmode_independent";
  };
  const bool is_independent = std::ranges::any_of(module.target_options, has_name);
  return is_independent ? TextureMode::Independent : TextureMode::Unified;
}

/// A 64-bit module addresses global and generic memory by 64-bit registers; the other windows are
/// small enough for 32 bits.
bool needs_full_address(Modifier space) {
  return space == Modifier::None || space == Modifier::Global;
}

bool lies_in(const Scope& scope, Modifier space, const Operand& symbol) {
  const auto wanted = named_space(space);
  if (!wanted) return true;
  const auto found = space_of(scope, symbol);
  return !found || *found == *wanted;
}

std::optional<unsigned> widths_on(const Scope& scope, const OperandSpec& spec) {
  for (const isa::AddressWidths& widths : spec.widths) {
    if (!widths.needs || widths.needs->admits(scope.module.target)) return widths.bits;
  }
  return std::nullopt;
}

bool is_unseen(const Scope& scope, const OperandSpec& spec) {
  return spec.unseen && !scope.by_manual && !widths_on(scope, spec);
}

bool is_narrow_address(const Scope& scope, const OperandSpec& spec, const Operand& base) {
  if (base.kind != OperandKind::Register || !needs_full_address(spec.state_space)) return false;
  const Type declared = scope.function.at(base.register_id()).declared;
  return spec.type == Type::None && isa::info(declared).bits < scope.module.address_size;
}

Fit fit(const Scope& scope, std::span<const OperandSpec> specs, std::span<const Operand> operands,
        std::span<const OperandSpec*> places) {
  return Matcher(scope, specs, operands, places).run();
}

Misfit check_address(const Scope& scope, const OperandSpec& spec, const Operand& operand) {
  const std::span<const Operand> children = scope.function.children(operand);
  if (!has(spec.accept, Accept::Address) || children.empty()) return Misfit::Kind;
  if ((operand.component & ir::kUnified) != 0) {
    if (!spec.unified) return Misfit::Kind;
    if (spec.unified_needs && scope.asked != nullptr) scope.asked->add(*spec.unified_needs);
  }
  const bool is_plain = spec.parts.empty() || has(spec.parts[0].accept, Accept::Address);
  if (!is_plain && operand.value != 0) return Misfit::Kind;  // an offset from what is no address
  if (!is_plain && is_of_other_mode(scope, spec.parts[0])) return Misfit::Kind;
  const Misfit base =
      is_plain ? check_base(scope, spec, children[0]) : check(scope, spec.parts[0], children[0]);
  if (base != Misfit::None) return base;
  if (spec.parts.empty()) return children.size() == 1 ? Misfit::None : Misfit::Kind;
  const Fit rest = fit(scope, std::span(spec.parts).subspan(1), children.subspan(1));
  return rest.has_count ? rest.misfit : Misfit::Elements;
}

Misfit check_bare(const Scope& scope, const OperandSpec& spec, const Operand& base) {
  if (!spec.bare || scope.by_manual) return Misfit::Kind;
  // Where no size is given, ptxas does not look at a register without brackets.
  if (base.kind == OperandKind::Register && !widths_on(scope, spec)) return Misfit::None;
  return check_base(scope, spec, base);
}

Misfit check_pair(const Scope& scope, const OperandSpec& spec, const Operand& operand) {
  if (!has(spec.accept, Accept::Pipe) || operand.count != 2) return Misfit::Kind;
  return fit(scope, spec.parts, scope.function.children(operand)).misfit;
}

}  // namespace pyptx::verify
