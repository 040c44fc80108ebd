// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics as text with carets, and as JSON. Nothing is decided here: both show what the
// diagnostic holds.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "pyptx/diag/diagnostic.h"

namespace pyptx::diag {

/// How diagnostics look.
struct RenderOptions {
  /// ANSI colours, for a terminal.
  bool color = false;
  /// Longer source lines are cut around the caret.
  std::uint32_t line_columns = 120;
};

/// The message, `--> file:line:column`, the source lines with carets under the place and dashes
/// under the labels, notes, help, the manual's section and what is needed. `table` may be null when
/// the diagnostic has its places already (or none). Bytes that do not print are escaped.
std::string render(const Diagnostic& diagnostic, const LocationTable* table,
                   const RenderOptions& options = {});
/// All of them, separated by blank lines.
std::string render(std::span<const Diagnostic> diagnostics, const LocationTable* table,
                   const RenderOptions& options = {});

/// One JSON object on one line, always with the same keys:
///   code, kind, severity, message: strings
///   file, line, column, end_line, end_column: of the place; null where unknown
///   labels: [{text, file, line, column, end_line, end_column}]
///   notes: [string]
///   fixits: [{replacement, reason, certain, span}], span null or {line, column, end_line,
///           end_column}
///   manual: null or {anchor, title}
///   needed, present: null or {ptx, target}, either null when it does not matter
std::string to_json(const Diagnostic& diagnostic, const LocationTable* table);

/// `text` as a JSON string literal, quotes included. Bytes that are not UTF-8 become \u00XX.
std::string json_quote(std::string_view text);

}  // namespace pyptx::diag
