// SPDX-License-Identifier: Apache-2.0
//
// Directives that are neither declarations nor functions. PTX ISA, chapter 11 (Directives). What
// is legal where and since when is the verifier's business.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "parse_context.h"
#include "pyptx/ir/module.h"
#include "pyptx/isa/directive.h"

namespace pyptx::syntax {

// Each is called with its word as the current token and gives nothing after a report.

/// A string of `.pragma "a", "b";` without its quotes, and its tokens up to the comma or semicolon.
struct PragmaText {
  std::string_view text;
  TokenRange tokens;
};
std::optional<std::vector<PragmaText>> parse_pragma(ParseContext& context);

/// The directives between a prototype and what follows it: .maxntid 128, .pragma "x"; `place` is
/// Entry, Func or Prototype.
bool parse_function_directives(ParseContext& context, std::vector<ir::Directive>& directives,
                               isa::DirectivePlace place);

/// .loc 1 2 3, function_name L+4, inlined_at 1 9 9 and .loc_intermediate 1 2 3
std::optional<ir::SourceLine> parse_line(ParseContext& context);
std::optional<ir::SourceFile> parse_file(ParseContext& context);
std::optional<ir::Section> parse_section(ParseContext& context);
std::optional<ir::IntermediateSources> parse_intermediate_sources(ParseContext& context);
std::optional<ir::Alias> parse_alias(ParseContext& context);

/// A label that nothing declares is added to the function and stands nowhere.
std::optional<std::vector<ir::LabelId>> parse_branch_targets(ParseContext& context,
                                                             ir::Function& function);
std::optional<std::vector<ir::Symbol>> parse_call_targets(ParseContext& context);
std::optional<ir::CallPrototype> parse_call_prototype(ParseContext& context);

}  // namespace pyptx::syntax
