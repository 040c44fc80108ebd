// SPDX-License-Identifier: Apache-2.0
//
// One tensor-map parameter of a launcher, with the maps it passed lately. A map depends on the
// tensor's address alone (the rest is the plan's), so a call with a known address copies bytes. A
// program goes through the same addresses time and again, as its allocator hands them out, so there
// is room for as many as it has, up to kMostKnown.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/driver/plan.h"
#include "pyptx/driver/tensor_map.h"

namespace pyptx::driver {

class MapSlot {
 public:
  MapSlot(const ParamSlot& slot, std::uint32_t offset)
      : map_(slot.map),
        tensor_(slot.tensor),
        offset_(offset),
        by_value_(slot.kind == ParamSlot::Kind::MapValue) {}

  std::uint32_t tensor() const { return tensor_; }
  bool by_value() const { return by_value_; }

  /// Writes the parameter for the tensor at `address` into the block.
  diag::Status fill(int device, std::uint64_t address, unsigned char* block);

 private:
  struct Entry {
    std::uint64_t address = 0;  // 0: free; a tensor map's tensor is never at 0
    int device = -1;
    EncodedMap map;              // by value: the parameter
    std::uint64_t resident = 0;  // by pointer: the parameter
  };

  static constexpr std::size_t kFirstKnown = 8;
  static constexpr std::size_t kMostKnown = 1024;

  diag::Status make(int device, std::uint64_t address, Entry& out) const;
  void write(const Entry& entry, unsigned char* block) const;
  /// The two places where a map for `address` may be.
  std::array<std::size_t, 2> places(std::uint64_t address) const;
  void keep(const Entry& made);

  layout::TensorMap map_;
  std::uint32_t tensor_;
  std::uint32_t offset_;
  bool by_value_;
  std::mutex mutex_;                       // never waited for; see fill()
  std::vector<Entry> known_{kFirstKnown};  // a power of two
};

}  // namespace pyptx::driver
