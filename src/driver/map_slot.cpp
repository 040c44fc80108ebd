// SPDX-License-Identifier: Apache-2.0
#include "map_slot.h"

#include <cstring>
#include <utility>

#include "pyptx/driver/function.h"

namespace pyptx::driver {

bool MapSlot::replaces_as_it_encodes(std::uint64_t address, const EncodedMap& encoded) const {
  const auto replaced = with_address(first_, address);
  if (!replaced || !(*replaced == encoded)) return false;
  // Of the 47 bits that a process has, from the lowest that alignment leaves on; where the map may
  // not be at one of them there is nothing to compare.
  for (const std::uint64_t probe : {0x2AAAAAAAAAA0U, 0x555555555540U, 0x555555555550U}) {
    const auto as_encoded = encode_map(map_, probe);
    if (!as_encoded) continue;
    const auto as_replaced = with_address(first_, probe);
    if (!as_replaced || !(*as_encoded == *as_replaced)) return false;
  }
  return true;
}

diag::Result<EncodedMap> MapSlot::encode(std::uint64_t address) {
  if (replacing_.load(std::memory_order_acquire) == Replacing::Exact && address != 0 &&
      !map_.problem(address).has_value()) {
    auto replaced = with_address(first_, address);
    if (replaced) return replaced;
  }
  auto encoded = encode_map(map_, address);
  if (!encoded) return encoded;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return encoded;
  const Replacing now = replacing_.load(std::memory_order_relaxed);
  if (now == Replacing::NotTried) {
    first_ = *encoded;
    replacing_.store(Replacing::First, std::memory_order_release);
  } else if (now == Replacing::First) {
    const bool is_exact = replaces_as_it_encodes(address, *encoded);
    replacing_.store(is_exact ? Replacing::Exact : Replacing::Inexact, std::memory_order_release);
  }
  return encoded;
}

diag::Status MapSlot::make(int device, std::uint64_t address, Entry& out) {
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

void MapSlot::write(const Entry& entry, EncodedMap& parameter) const {
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

void MapSlot::keep(const Entry& made) {
  const auto [first, second] = places(made.address);
  for (const std::size_t place : {first, second}) {
    if (known_[place].address == 0) {
      known_[place] = made;
      return;
    }
  }
  if (known_.size() < kMostKnown) {
    // Others than these two may find no place either; a map that is dropped is made again.
    const std::vector<Entry> before = std::exchange(known_, std::vector<Entry>(known_.size() * 2));
    for (const Entry& entry : before) {
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
  // Threads that meet here do not queue: the loser makes its map anew, which is as correct.
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) {
    for (const std::size_t place : places(address)) {
      const Entry& entry = known_[place];
      if (entry.address == address && entry.device == device) {
        write(entry, parameter);
        return diag::success();
      }
    }
    lock.unlock();
  }
  Entry made;
  if (auto status = make(device, address, made); !status) return status;
  write(made, parameter);
  if (lock.try_lock()) keep(made);
  return diag::success();
}

}  // namespace pyptx::driver
