// SPDX-License-Identifier: Apache-2.0
#include "map_slot.h"

#include <cstring>

namespace pyptx::driver {

diag::Status MapSlot::make(int device, std::uint64_t address, Entry& out) const {
  auto encoded = encode_map(map_, address);
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

void MapSlot::write(const Entry& entry, unsigned char* block) const {
  if (by_value_) {
    std::memcpy(block + offset_, entry.map.bytes.data(), entry.map.bytes.size());
  } else {
    std::memcpy(block + offset_, &entry.resident, sizeof entry.resident);
  }
}

diag::Status MapSlot::fill(int device, std::uint64_t address, unsigned char* block) {
  // Threads that meet here do not queue: the loser makes its map anew, which is as correct.
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) {
    for (const Entry& entry : recent_) {
      if (entry.address == address && entry.device == device) {
        write(entry, block);
        return diag::success();
      }
    }
    lock.unlock();
  }
  Entry made;
  if (auto status = make(device, address, made); !status) return status;
  write(made, block);
  if (lock.try_lock()) {
    recent_[next_] = made;
    next_ = (next_ + 1) % recent_.size();
  }
  return diag::success();
}

}  // namespace pyptx::driver
