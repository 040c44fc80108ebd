// SPDX-License-Identifier: Apache-2.0
//
// What the table knows of directives, attributes, pragmas and target options (PTX ISA, chapter 11,
// "Directives", and 12.x, "Pragma Strings"): where each may stand, what follows it, what it needs.
// It says nothing about their grammar beyond that: the parser's business, and nothing about what
// they mean together: the verifier's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "pyptx/isa/target.h"

namespace pyptx::isa {

/// Where a directive may stand. A directive that may stand in several places has a row for each
/// group of places that need the same.
enum class DirectivePlace : std::uint16_t {
  None = 0,
  Module = 1U << 0,     // between functions
  Entry = 1U << 1,      // between the parameters of an .entry and its body
  Func = 1U << 2,       // the same for a .func
  Prototype = 1U << 3,  // at the end of a .callprototype
  Body = 1U << 4,       // among the statements of a function
  Linking = 1U << 5,    // before a variable or function: .extern, .visible, ...
  Variable = 1U << 6,   // in a declaration, before the name: .align, .attribute
  Parameter = 1U << 7,  // in a parameter: .ptr, .align
  Attribute = 1U << 8,  // inside .attribute(...)
};
constexpr DirectivePlace operator|(DirectivePlace a, DirectivePlace b) {
  return static_cast<DirectivePlace>(static_cast<std::uint16_t>(a) | static_cast<std::uint16_t>(b));
}
constexpr bool has(DirectivePlace set, DirectivePlace bit) {
  return (static_cast<std::uint16_t>(set) & static_cast<std::uint16_t>(bit)) != 0;
}

/// What follows the name.
enum class DirectiveArguments : std::uint8_t {
  None,
  Integers,  // `minimum` to `maximum` of them, between commas
  Strings,   // the same, in quotes
  Own,       // a grammar of its own
};

/// What the table says of a directive.
struct DirectiveInfo {
  std::string_view name;    // without the dot: "maxntid"
  std::string_view manual;  // anchor
  DirectivePlace places = DirectivePlace::None;
  DirectiveArguments arguments = DirectiveArguments::None;
  std::uint8_t minimum = 0;  // number of arguments
  std::uint8_t maximum = 0;
  Availability needs;
};

/// The row of the directive called `name` for `place`; null when it cannot stand there.
const DirectiveInfo* find_directive(std::string_view name, DirectivePlace place);
/// Whether any place takes a directive of this name.
bool is_directive(std::string_view name);
/// Every row, in the order of the table.
std::span<const DirectiveInfo> all_directives();

/// A pragma by its first word. ptxas warns of unknown ones; a known one in the wrong place is an
/// error for some and a warning for others.
struct PragmaInfo {
  std::string_view name;  // "nounroll"
  std::string_view manual;
  DirectivePlace places = DirectivePlace::None;
  bool takes_value = false;  // "frequency 10"
  bool is_checked = false;   // elsewhere it is an error, not a warning
  Availability needs;
};
const PragmaInfo* find_pragma(std::string_view first_word);
std::span<const PragmaInfo> all_pragmas();

/// A word after the target in a .target directive ("debug", "texmode_unified").
struct TargetOptionInfo {
  std::string_view name;
  std::string_view group;  // of options that exclude each other; empty: none
  Availability needs;
};
const TargetOptionInfo* find_target_option(std::string_view name);
std::span<const TargetOptionInfo> all_target_options();

}  // namespace pyptx::isa
