// SPDX-License-Identifier: Apache-2.0
//
// Operands against OperandSpecs, and the words for what went wrong. The check is the hot path and
// says only which rule failed; describe() runs for refused instructions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/ir/module.h"
#include "pyptx/isa/spelling.h"

namespace pyptx::verify {

enum class Misfit : std::uint8_t { None, Kind, Type, Elements, Range, Space };

/// What operands ask for on their own, beyond their form (most ask for nothing).
class Asked {
 public:
  void add(const isa::Availability& needs) {
    if (count_ < needs_.size()) needs_[count_++] = &needs;
  }
  std::size_t size() const { return count_; }
  void shrink(std::size_t size) { count_ = size; }
  std::span<const isa::Availability* const> all() const { return {needs_.data(), count_}; }

 private:
  std::array<const isa::Availability*, 8> needs_{};
  std::size_t count_ = 0;
};

struct Scope {
  const ir::Module& module;
  const ir::Function& function;
  Asked* asked = nullptr;  // filled by check(), where somebody wants to know
  /// What only ptxas takes is refused: narrow registers that it widens to addresses, operands that
  /// it does not look at. Nobody who traces a kernel means that.
  bool by_manual = false;
};

/// Whether an address in `space` has all bits of the module's addresses.
bool needs_full_address(isa::Modifier space);

/// A register that holds fewer bits than addresses of the operand's space have.
bool is_narrow_address(const Scope& scope, const isa::OperandSpec& spec, const ir::Operand& base);

/// The sizes that the table gives for the register of an address, as their sum; none: the usual.
std::optional<unsigned> widths_on(const Scope& scope, const isa::OperandSpec& spec);

/// Whether anything passes for the address, since ptxas does not look at it.
bool is_unseen(const Scope& scope, const isa::OperandSpec& spec);

Misfit check(const Scope& scope, const isa::OperandSpec& spec, const ir::Operand& operand);

/// How well a list of operands fits a list of places: `operand` is the one that comes furthest
/// without fitting, `spec` its place.
struct Fit {
  bool has_count = false;
  Misfit misfit = Misfit::None;
  std::size_t operand = 0;
  const isa::OperandSpec* spec = nullptr;
  bool ok() const { return has_count && misfit == Misfit::None; }
};

/// Operands in order, each in its place; optional places may stay empty. `places`, when it has room
/// for every operand, is told the place of each that fits.
Fit fit(const Scope& scope, std::span<const isa::OperandSpec> specs,
        std::span<const ir::Operand> operands, std::span<const isa::OperandSpec*> places = {});

/// An address without its brackets, which ptxas takes in places.
Misfit check_bare(const Scope& scope, const isa::OperandSpec& spec, const ir::Operand& base);

/// check() for [base, part, ...] and for d|p (operand_tree.cpp), and for {a, b} (vector.cpp).
Misfit check_address(const Scope& scope, const isa::OperandSpec& spec, const ir::Operand& operand);
Misfit check_vector(const Scope& scope, const isa::OperandSpec& spec, const ir::Operand& operand);
Misfit check_pair(const Scope& scope, const isa::OperandSpec& spec, const ir::Operand& operand);

/// The state space of the variable that a symbol names, if the module declares it.
std::optional<ir::Space> space_of(const Scope& scope, const ir::Operand& symbol);

/// Whether the variable that a symbol names lies in the state space that a modifier names; true
/// where the modifier names none, or the module does not declare the variable.
bool lies_in(const Scope& scope, isa::Modifier space, const ir::Operand& symbol);

/// The texture mode of a module, unified where its .target says nothing.
isa::TextureMode texture_mode(const ir::Module& module);

/// Integer literals that `spec` admits.
bool admits_literal(const isa::OperandSpec& spec, std::int64_t value);

/// Whether one of the operand's types passes `test`; the first settles nearly every case.
template <typename Test>
bool any_type(const isa::OperandSpec& spec, Test test) {
  if (test(spec.type)) return true;
  return std::ranges::any_of(spec.also,
                             [&](isa::Type type) { return type != isa::Type::None && test(type); });
}
/// The same with the type that only the module's target adds.
template <typename Test>
bool any_type_here(const Scope& scope, const isa::OperandSpec& spec, Test test) {
  if (any_type(spec, test)) return true;
  return spec.also_needs && spec.also_needs->admits(scope.module.target) &&
         test(spec.also_somewhere);
}

/// Whether a register suits one of the operand's types.
bool fits_register(const Scope& scope, const ir::Register& reg, const isa::OperandSpec& spec);

/// Whether a literal of that kind may stand there: the 16-bit formats and integers have no
/// floating-point ones, and floats no integer ones.
bool takes_float(const isa::OperandSpec& spec);
bool takes_integer(const isa::OperandSpec& spec);

/// The diagnostic for operand number `index` of an instruction spelled `spelling`.
diag::Diagnostic describe(const Scope& scope, const isa::OperandSpec& spec,
                          const ir::Operand& operand, Misfit misfit, std::size_t index,
                          const isa::Spelling& spelling);

}  // namespace pyptx::verify
