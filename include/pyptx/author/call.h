// SPDX-License-Identifier: Apache-2.0
//
// The base of generated instruction calls (pyptx/author/inst/*.h): a spelling, known to the
// compiler word by word and looked up in the table once, and a guard.
#pragma once

#include <initializer_list>
#include <source_location>

#include "pyptx/author/operand.h"
#include "pyptx/isa/ids.h"
#include "pyptx/isa/spelling.h"

namespace pyptx::author {

/// A spelling of the table, or why its words do not go together.
using Spelling = diag::Result<const isa::Spelling*>;

/// The spelling of words that the generated calls allow together.
Spelling spell(isa::Opcode opcode, std::initializer_list<isa::Modifier> modifiers);

/// The one object of a state.
template <typename State>
inline constexpr State kOne{};

/// Inserts one instruction; the operands' names are looked up here.
void emit(const Spelling& spelling, const Guard& guard, std::initializer_list<Operand> operands,
          const std::source_location& where);

/// `operand` with its name looked up, and with what a label of `spelling` means.
ir::Operand resolved(build::Tracer& tracer, const Operand& operand, std::uint16_t index = 0);
ir::Operand resolved(build::Tracer& tracer, const isa::Spelling& spelling, const Operand& operand,
                     std::uint16_t index);

/// The register that `operand` is; an empty one where it is something else.
Reg register_of(const Operand& operand);

// States are aggregates, so the constructor cannot be theirs alone.
/// A state of a generated call: the words that were written so far.
template <typename Self, isa::Opcode kOpcode, isa::Modifier... kModifiers>
struct Spelled {  // NOLINT(bugprone-crtp-constructor-accessibility)
  Guard guard{};

  /// The same instruction under a guard: st.global.f32.at(p)(place, x), .at(!p)(...).
  Self at(const Guard& condition) const {
    Self guarded;
    guarded.guard = condition;
    return guarded;
  }

 protected:
  void insert(std::initializer_list<Operand> operands, const std::source_location& where) const {
    static const Spelling spelling = spell(kOpcode, {kModifiers...});
    emit(spelling, guard, operands, where);
  }
  /// Returns the first operand.
  Reg insert_first(std::initializer_list<Operand> operands,
                   const std::source_location& where) const {
    insert(operands, where);
    return register_of(*operands.begin());
  }
};

}  // namespace pyptx::author
