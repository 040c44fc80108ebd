// SPDX-License-Identifier: Apache-2.0
//
// Matching modifiers against one form: which modifier fills which slot, whether the form's rules
// hold, and what the operands must then be. ptxas ignores the order of modifiers, so a modifier may
// fill any slot that lists it; slots that only their order tells apart (.dtype.atype, .dst.src) are
// filled in the manual's order. Says nothing about operands given: that is verify's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "form_index.h"
#include "pyptx/isa/spelling.h"
#include "tables.h"

namespace pyptx::isa {

/// For each slot of a form the number of the modifier that fills it; -1: left out.
using Binding = std::vector<std::int16_t>;

/// A way to fill a form's slots. `broken` is a rule it breaks; a binding that breaks none is
/// preferred.
struct Match {
  Binding binding;
  const tables::RuleRow* broken = nullptr;
};

/// Form number `form` of the opcode filled with all `modifiers`; nothing when one finds no place
/// or a mandatory slot stays empty.
std::optional<Match> bind_form(const OpcodeIndex& opcode, std::size_t form,
                               std::span<const Modifier> modifiers);

/// Whether a term of a rule or condition is true.
bool holds(const tables::TermRow& term, const Binding& binding,
           std::span<const Modifier> modifiers);

/// What the operands of the form must be under `binding` (resolve.cpp).
std::vector<OperandSpec> resolve_operands(const tables::FormRow& form, const Binding& binding,
                                          std::span<const Modifier> modifiers);

/// The number of the modifier that a broken rule speaks of; -1: the whole spelling.
int rule_focus(const tables::RuleRow& rule, const Binding& binding);

Candidate make_candidate(const tables::FormRow& form, const Form& row, const Binding& binding,
                         std::span<const Modifier> modifiers);

/// How far a form is from `modifiers` when it does not match.
struct NearMiss {
  Binding binding;               // of the modifiers that found a place
  std::vector<int> unplaced;     // modifiers that did not
  std::vector<int> empty_slots;  // mandatory slots that nothing filled
  int score = 0;                 // higher is nearer
};
NearMiss near_miss(const OpcodeIndex& opcode, std::size_t form,
                   std::span<const Modifier> modifiers);

/// `modifiers` without the second and later uses of words that ptxas takes any number of times
/// (isa/common/modifiers.toml).
std::vector<Modifier> without_repeats(std::span<const Modifier> modifiers);

}  // namespace pyptx::isa
