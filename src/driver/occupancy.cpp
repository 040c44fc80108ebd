// SPDX-License-Identifier: Apache-2.0
#include "pyptx/driver/occupancy.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pyptx::driver {
namespace {

constexpr std::uint32_t kWarp = 32;
constexpr std::uint32_t kPartitions =
    4;  // of a multiprocessor, each with a quarter of its registers
constexpr std::uint32_t kPartitionRegisters = 16384;
constexpr std::uint32_t kRegisterUnit = 256;  // registers are given to a warp in these
constexpr std::uint64_t kSharedUnit = 128;

template <typename T>
T rounded_up(T value, T unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

std::optional<isa::Multiprocessor> multiprocessor(std::string_view target) {
  const auto known = isa::Target::parse(target);
  return known ? isa::multiprocessor(*known) : std::nullopt;
}

std::string_view text(OccupancyLimit limit) {
  constexpr std::array<std::string_view, 4> kTexts{"warps", "CTAs", "registers", "shared memory"};
  return kTexts[static_cast<std::size_t>(limit)];
}

std::optional<Occupancy> occupancy(std::string_view target, std::uint32_t registers,
                                   std::uint64_t shared, std::uint32_t threads) {
  const auto limits = multiprocessor(target);
  if (!limits || threads == 0) return std::nullopt;
  const std::uint32_t warps = rounded_up(threads, kWarp) / kWarp;
  const std::uint32_t per_warp = rounded_up(std::max(registers, 1U) * kWarp, kRegisterUnit);
  const std::uint64_t per_cta = rounded_up(shared + limits->shared_reserved, kSharedUnit);
  // In the order of OccupancyLimit; the first of equal bounds is named.
  const std::array<std::uint64_t, 4> bounds{limits->warps / warps, limits->ctas,
                                            kPartitionRegisters / per_warp * kPartitions / warps,
                                            per_cta == 0 ? limits->ctas : limits->shared / per_cta};
  const auto least = std::ranges::min_element(bounds);
  const auto ctas = static_cast<std::uint32_t>(*least);
  return Occupancy{ctas, ctas * warps, limits->warps,
                   static_cast<OccupancyLimit>(least - bounds.begin())};
}

}  // namespace pyptx::driver
