// SPDX-License-Identifier: Apache-2.0
#include "pyptx/diag/order.h"

#include <algorithm>

namespace pyptx::diag {

void sort_by_place(Diagnostics& findings, const LocationTable& locations) {
  std::ranges::stable_sort(findings, {}, [&](const Diagnostic& finding) {
    const auto range = locations.range(finding.loc, finding.focus);
    return range ? range->begin : 0;
  });
}

}  // namespace pyptx::diag
