// SPDX-License-Identifier: Apache-2.0
//
// Looking at the table itself, for people: what a form's slots take, what it needs, its rules and
// examples (`pyptx isa`). Nothing that judges an instruction uses this: see spelling.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/isa/spelling.h"

namespace pyptx::isa {

/// What a slot may be, and what that needs.
struct SlotValueInfo {
  std::string_view text;  // "shared::cta"
  Availability needs;
};

/// A slot of a form.
struct SlotInfo {
  std::string_view name;  // the manual's: "ss"; a fixed word names itself
  bool optional = false;
  std::vector<SlotValueInfo> values;
};

/// A rule of a form.
struct RuleInfo {
  std::string_view message;
  bool is_lint = false;  // the manual's only
};

/// An example of the table; `code` is the diagnostic of one that is refused, empty otherwise.
struct ExampleInfo {
  std::string_view text;
  std::string_view code;
};

/// Every form, in the order of the table.
std::span<const Form> all_forms();
/// The forms of one opcode.
std::span<const Form> forms_of(Opcode opcode);
/// Those of them in which each of `modifiers` has a place of its own.
std::vector<const Form*> forms_with_room(Opcode opcode, std::span<const Modifier> modifiers);
/// Every opcode, in the order of the table.
std::span<const std::string_view> all_opcodes();

/// What a form needs at least.
Availability needs(const Form& form);
/// "PTX ISA 8.0, sm_90a", "PTX ISA 7.0, sm_80 or later", "every version and target".
std::string text(const Availability& needs);
std::vector<SlotInfo> slots(const Form& form);
/// Rules with words of their own; availability that depends on modifiers is not among them.
std::vector<RuleInfo> rules(const Form& form);
std::span<const ExampleInfo> examples(const Form& form);
/// The legal spellings of `form` that have each of `words`, in the order of the table. What the
/// form leaves open is left out, unless a word asks for it.
std::vector<const Spelling*> spellings(const Form& form, std::span<const std::string_view> words);

}  // namespace pyptx::isa
