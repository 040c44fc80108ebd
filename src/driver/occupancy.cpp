// SPDX-License-Identifier: Apache-2.0
#include "pyptx/driver/occupancy.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "pyptx/isa/limits.h"

namespace pyptx::driver {
namespace {

constexpr std::uint32_t kWarp = 32;

template <typename T>
T rounded_up(T value, T unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

std::string_view text(OccupancyLimit limit) {
  constexpr std::array<std::string_view, 5> kTexts{"warps", "CTAs", "registers", "shared memory",
                                                   "barriers"};
  return kTexts[static_cast<std::size_t>(limit)];
}

std::optional<Occupancy> occupancy(std::string_view target, std::uint32_t registers,
                                   std::uint64_t shared, std::uint32_t threads,
                                   std::uint32_t barriers) {
  const auto known = isa::Target::parse(target);
  if (!known || threads == 0) return std::nullopt;
  const isa::Limits& limits = isa::limits(*known);
  const std::uint32_t warps = rounded_up(threads, kWarp) / kWarp;
  const std::uint32_t per_warp = rounded_up(std::max(registers, 1U) * kWarp, limits.register_unit);
  const std::uint32_t warps_of_partition = limits.registers / limits.partitions / per_warp;
  const std::uint64_t per_cta =
      rounded_up<std::uint64_t>(shared + limits.shared_reserved, limits.shared_unit);
  const bool shares_barriers = limits.barriers != 0 && barriers != 0;
  const bool shares_memory = per_cta != 0;
  const bool fits = shared <= limits.cta_shared;
  // In the order of OccupancyLimit; the first of equal bounds is named.
  const std::array<std::uint64_t, 5> bounds{
      limits.warps / warps, limits.ctas, warps_of_partition * limits.partitions / warps,
      !fits           ? 0
      : shares_memory ? limits.shared / per_cta
                      : limits.ctas,
      shares_barriers ? limits.barriers / barriers : limits.ctas};
  const auto least = std::ranges::min_element(bounds);
  const auto ctas = static_cast<std::uint32_t>(*least);
  return Occupancy{ctas, ctas * warps, limits.warps,
                   static_cast<OccupancyLimit>(least - bounds.begin())};
}

}  // namespace pyptx::driver
