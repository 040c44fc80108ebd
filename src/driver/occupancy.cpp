// SPDX-License-Identifier: Apache-2.0
#include "pyptx/driver/occupancy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pyptx::driver {
namespace {

constexpr std::uint32_t kKiB = 1024;

struct Row {
  std::uint32_t capability;
  std::uint32_t warps;
  std::uint32_t ctas;
  std::uint32_t shared_kib;
};
constexpr Row kRows[] = {
    {75, 32, 16, 64},   {80, 64, 32, 164},  {86, 48, 16, 100},  {87, 48, 16, 164},
    {89, 48, 24, 100},  {90, 64, 32, 228},  {100, 64, 32, 228}, {103, 64, 32, 228},
    {110, 48, 24, 228}, {120, 48, 24, 100}, {121, 48, 24, 100},
};
constexpr std::uint32_t kReservedFrom = 80;  // the system takes 1 KiB of every CTA's shared memory

constexpr std::uint32_t kWarp = 32;
constexpr std::uint32_t kPartitions =
    4;  // of a multiprocessor, each with a quarter of its registers
constexpr std::uint32_t kPartitionRegisters = 16384;
constexpr std::uint32_t kRegisterUnit = 256;  // registers are given to a warp in these
constexpr std::uint64_t kSharedUnit = 128;

/// The number in "sm_90a"; 0 where there is none.
std::uint32_t capability(std::string_view target) {
  constexpr std::string_view kPrefix = "sm_";
  if (!target.starts_with(kPrefix)) return 0;
  target.remove_prefix(kPrefix.size());
  std::uint32_t number = 0;
  std::from_chars(target.data(), target.data() + target.size(), number);
  return number;
}

template <typename T>
T rounded_up(T value, T unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

std::optional<Multiprocessor> multiprocessor(std::string_view target) {
  const std::uint32_t wanted = capability(target);
  const auto* const row = std::ranges::find(kRows, wanted, &Row::capability);
  if (row == std::end(kRows)) return std::nullopt;
  return Multiprocessor{row->warps, row->ctas, row->shared_kib * kKiB,
                        wanted >= kReservedFrom ? kKiB : 0};
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
