// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics as text with a caret, and as JSON.
#pragma once

#include <span>
#include <string>

#include "pyptx/diag/diagnostic.h"

namespace pyptx::diag {

/// The message, `--> file:line:column`, the source line with carets, notes and help. `table` may
/// be null when the diagnostic has its place already (or none).
std::string render(const Diagnostic& diagnostic, const LocationTable* table);
/// All of them, separated by blank lines.
std::string render(std::span<const Diagnostic> diagnostics, const LocationTable* table);
/// One JSON object with the same content.
std::string to_json(const Diagnostic& diagnostic, const LocationTable* table);

/// `text` as a JSON string literal, quotes included.
std::string json_quote(std::string_view text);

}  // namespace pyptx::diag
