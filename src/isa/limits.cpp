// SPDX-License-Identifier: Apache-2.0
#include "pyptx/isa/limits.h"

#include <algorithm>

#include "tables.h"

namespace pyptx::isa {

const Limits& limits(Target target) {
  const auto row = std::ranges::find(tables::kTargets, target, &tables::TargetRow::target);
  return row == tables::kTargets.end() ? kLargestLimits : row->limits;
}

}  // namespace pyptx::isa
