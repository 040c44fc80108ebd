// SPDX-License-Identifier: Apache-2.0
//
// Declarations of variables, parameters and registers. PTX ISA, chapter 5 (State Spaces, Types,
// and Variables).
#pragma once

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

/// `.space .align 8 .b8 a[4] = {1, 2}, b;` from the space on, with the `;`. Every variable of the
/// list gets the linkage. Nothing after a report.
std::optional<std::vector<ir::Variable>> parse_variables(ParseContext& context,
                                                         ir::Linkage linkage);
/// `(.param .u64 a, .reg .b32 b)` with its parentheses.
std::optional<std::vector<ir::Variable>> parse_parameters(ParseContext& context);

/// What `.reg .v4 .f32` says, read with the `.reg`.
struct RegisterType {
  isa::Type type{};
  std::uint8_t vector = 0;
};
std::optional<RegisterType> parse_register_type(ParseContext& context);

}  // namespace pyptx::syntax
