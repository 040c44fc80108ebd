// SPDX-License-Identifier: Apache-2.0
//
// Declarations of variables, parameters and registers. PTX ISA, chapter 5 (State Spaces, Types,
// and Variables).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "parse_context.h"
#include "pyptx/ir/module.h"

namespace pyptx::syntax {

/// The space a directive names: ".shared" -> Shared.
std::optional<ir::Space> space_of(std::string_view word);
/// The linkage a directive names: ".visible" -> Visible.
std::optional<ir::Linkage> linkage_of(std::string_view word);

/// A name of a declaration and its tokens, up to its comma or semicolon; the first of a list has
/// the specifiers too.
struct DeclaredVariable {
  ir::Variable variable;
  TokenRange tokens;
};
/// `.space .align 8 .b8 a[4] = {1, 2}, b;` from the space on, with the `;`. Every variable of the
/// list gets the linkage; `first` is the token that the declaration begins with. Nothing after a
/// report.
std::optional<std::vector<DeclaredVariable>> parse_variables(ParseContext& context,
                                                             ir::Linkage linkage,
                                                             std::uint32_t first);
/// `(.param .u64 a, .reg .b32 b)` with its parentheses. Those of a prototype may be called `_`.
std::optional<std::vector<ir::Variable>> parse_parameters(ParseContext& context,
                                                          bool may_be_unnamed);
/// `.attribute(.managed, .unified(1, 2))`; false after a report.
bool parse_attributes(ParseContext& context, ir::Attributes& attributes);
/// `<12>` after a name: how many names are declared at once.
std::optional<std::uint32_t> parse_run(ParseContext& context);

/// What `.reg .v4 .f32` says, read with the `.reg`.
struct RegisterType {
  isa::Type type{};
  std::uint8_t vector = 0;
};
std::optional<RegisterType> parse_register_type(ParseContext& context);

}  // namespace pyptx::syntax
