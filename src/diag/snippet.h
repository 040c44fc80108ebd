// SPDX-License-Identifier: Apache-2.0
//
// Source lines with what is pointed at underlined: carets for the finding, dashes for labels.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "pyptx/diag/loc.h"

namespace pyptx::diag {

/// The colours of one rendering; every one is empty when there are none.
struct Palette {
  std::string_view severity, secondary, margin, strong, reset;
};

struct Annotation {
  Place place;
  std::string_view text;
  bool is_primary = false;
};

/// Appends `annotations`, the primary one first, each under its source line. Those in other files
/// than the first follow with a line that names the file.
void append_snippets(std::span<const Annotation> annotations, const Palette& palette,
                     std::uint32_t line_columns, std::string& out);

}  // namespace pyptx::diag
