// SPDX-License-Identifier: Apache-2.0
//
// Fix-its put into the text. Which of them to take is the caller's choice: a diagnostic may offer
// several that exclude each other.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "pyptx/diag/diagnostic.h"

namespace pyptx::diag {

/// A text with fix-its put in.
struct Fixed {
  std::string text;
  std::size_t applied = 0;
  /// Had no place in the text, or one that an earlier fix-it had changed already.
  std::size_t skipped = 0;
};

/// The text that `table` holds with `fixits` put in, in the order of the text. Of two that overlap
/// the one that begins first is taken (the longer one when both begin there, the first given when
/// both are equal).
Fixed apply_fixits(const LocationTable& table, std::span<const FixIt> fixits);

/// From each diagnostic the first fix-it that has a place; with `only_certain` the first that is
/// certain.
std::vector<FixIt> chosen_fixits(std::span<const Diagnostic> diagnostics, bool only_certain);

}  // namespace pyptx::diag
