// SPDX-License-Identifier: Apache-2.0
#include "pyptx/isa/limits.h"

#include <algorithm>

#include "tables.h"

namespace pyptx::isa {
namespace {

constexpr std::uint32_t kKiB = 1024;
constexpr std::uint16_t kReservedFrom = 80;  // the system takes 1 KiB of every CTA's shared memory

}  // namespace

std::optional<Multiprocessor> multiprocessor(Target target) {
  const auto row =
      std::ranges::find(tables::kTargets, target.sm, [](const auto& one) { return one.target.sm; });
  if (row == tables::kTargets.end() || row->limits.warps == 0) return std::nullopt;
  return Multiprocessor{row->limits.warps, row->limits.ctas, row->limits.shared_kib * kKiB,
                        target.sm >= kReservedFrom ? kKiB : 0, row->limits.cluster};
}

Multiprocessor multiprocessor_or_largest(Target target) {
  constexpr Multiprocessor kLargest{64, 32, 228 * kKiB, kKiB, kClusterCtas};
  return multiprocessor(target).value_or(kLargest);
}

std::uint64_t static_shared_bytes(Target target) {
  constexpr std::uint64_t kUsual = 48 * kKiB;
  return target.suffix == 'a' ? multiprocessor_or_largest(target).shared_of_cta() : kUsual;
}

}  // namespace pyptx::isa
