// SPDX-License-Identifier: Apache-2.0
#include "map_slot.h"

#include <cstring>
#include <utility>

namespace pyptx::driver {
namespace {

constexpr std::size_t kWords = sizeof(EncodedMap) / sizeof(std::uint64_t);
/// What a process has.
constexpr unsigned kAddressBits = 47;

std::uint64_t word(const EncodedMap& map, std::size_t index) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, map.bytes.data() + index * sizeof bits, sizeof bits);
  return bits;
}

}  // namespace

EncodedMap MapSlot::at(std::uint64_t address) const {
  EncodedMap map = first_;
  const std::uint64_t bits = word(first_, address_word_) ^ first_address_ ^ address;
  std::memcpy(map.bytes.data() + address_word_ * sizeof bits, &bits, sizeof bits);
  return map;
}

void MapSlot::learn(std::uint64_t address, const EncodedMap& encoded) {
  std::size_t differing = 0;
  for (std::size_t i = 0; i < kWords; ++i) {
    if (word(first_, i) == word(encoded, i)) continue;
    ++differing;
    address_word_ = i;
  }
  if (differing != 1) return;
  const auto is_exact = [&](std::uint64_t probe) {
    const auto asked = encode_map(map_, probe);
    return asked && *asked == at(probe);
  };
  // Each bit alone, then many together. A bit that the driver, or a rule, refuses stays unknown.
  std::uint64_t bits = 0;
  for (std::uint64_t bit = 1; bit < std::uint64_t{1} << kAddressBits; bit <<= 1U) {
    if (is_exact(first_address_ ^ bit)) bits |= bit;
  }
  constexpr std::uint64_t kAlternating = 0x5555555555555555U;
  for (const std::uint64_t some : {bits, bits & kAlternating, bits & ~kAlternating}) {
    if (!is_exact(first_address_ ^ some)) return;
  }
  if (((address ^ first_address_) & ~bits) != 0) return;
  address_bits_.store(bits, std::memory_order_release);
}

diag::Result<EncodedMap> MapSlot::encode(std::uint64_t address) {
  if (is_known_at(address)) return at(address);
  auto encoded = encode_map(map_, address);
  if (!encoded) return encoded;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return encoded;
  if (first_address_ == 0) {
    first_ = *encoded;
    first_address_ = address;
  } else if (!has_learnt_ && address != first_address_) {
    has_learnt_ = true;
    learn(address, *encoded);
  }
  return encoded;
}

diag::Status MapSlot::make(int device, std::uint64_t address, KnownMap& out) {
  auto encoded = encode(address);
  if (!encoded) return encoded.failure();
  out.address = address;
  out.device = device;
  out.map = *encoded;
  if (by_value_) return diag::success();
  auto resident = resident_map(device, *encoded);
  if (!resident) return resident.failure();
  out.resident = *resident;
  return diag::success();
}

void MapSlot::write(const KnownMap& entry, EncodedMap& parameter) const {
  if (by_value_) {
    parameter = entry.map;
  } else {
    std::memcpy(parameter.bytes.data(), &entry.resident, sizeof entry.resident);
  }
}

std::array<std::size_t, 2> MapSlot::places(std::uint64_t address) const {
  // Addresses are multiples of 16, and of 512 where an allocator chose them.
  const std::uint64_t mixed = (address >> 4) * 0x9E3779B97F4A7C15U;
  const auto first = static_cast<std::size_t>(mixed >> 40) & (known_.size() - 1);
  return {first, first ^ 1};
}

void MapSlot::keep(const KnownMap& made) {
  const auto [first, second] = places(made.address);
  for (const std::size_t place : {first, second}) {
    if (known_[place].address == 0) {
      known_[place] = made;
      return;
    }
  }
  if (known_.size() < kMostKnown) {
    // Others than these two may find no place either; a map that is dropped is made again.
    const std::vector<KnownMap> before =
        std::exchange(known_, std::vector<KnownMap>(known_.size() * 2));
    for (const KnownMap& entry : before) {
      if (entry.address == 0) continue;
      const auto [one, other] = places(entry.address);
      known_[known_[one].address == 0 ? one : other] = entry;
    }
    known_[places(made.address)[0]] = made;
    return;
  }
  known_[second] = std::exchange(known_[first], made);
}

diag::Status MapSlot::fill(int device, std::uint64_t address, EncodedMap& parameter) {
  if (by_value_ && is_known_at(address)) {
    parameter = at(address);
    return diag::success();
  }
  // Threads that meet here do not queue: the loser makes its map anew, which is as correct.
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) {
    for (const std::size_t place : places(address)) {
      const KnownMap& entry = known_[place];
      if (entry.address == address && entry.device == device) {
        write(entry, parameter);
        return diag::success();
      }
    }
    lock.unlock();
  }
  KnownMap made;
  if (auto status = make(device, address, made); !status) return status;
  write(made, parameter);
  if (lock.try_lock()) keep(made);
  return diag::success();
}

}  // namespace pyptx::driver
