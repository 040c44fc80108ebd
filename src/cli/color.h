// SPDX-License-Identifier: Apache-2.0
//
// When to colour: asked for, or a terminal that does not ask otherwise (the NO_COLOR convention).
#pragma once

#include <cstdlib>
#include <optional>
#include <string_view>

#include "pyptx/cli/command.h"

namespace pyptx::cli {

/// What "auto", "always" or "never" means here; nothing for another word.
inline std::optional<bool> wants_color(std::string_view when, const Streams& streams) {
  if (when == "always") return true;
  if (when == "never") return false;
  if (when != "auto") return std::nullopt;
  const char* const no_color = std::getenv("NO_COLOR");
  return streams.is_terminal && (no_color == nullptr || *no_color == '\0');
}

}  // namespace pyptx::cli
