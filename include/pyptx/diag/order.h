// SPDX-License-Identifier: Apache-2.0
//
// Findings in the order of the text.
#pragma once

#include "pyptx/diag/diagnostic.h"
#include "pyptx/diag/loc.h"

namespace pyptx::diag {

/// Sorts by where each finding begins in the text that `locations` holds; those without a place in
/// it come first, and findings at one place keep their order.
void sort_by_place(Diagnostics& findings, const LocationTable& locations);

}  // namespace pyptx::diag
