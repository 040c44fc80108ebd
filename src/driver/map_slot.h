// SPDX-License-Identifier: Apache-2.0
//
// One tensor-map parameter of a launcher, with the maps it passed lately. A map depends on the
// tensor's address alone (the rest is the plan's), so a call with a known address copies bytes. A
// program goes through the same addresses time and again, as its allocator hands them out, so there
// is room for as many as it has, up to kMostKnown. For an address that is new the driver replaces
// that of a map which it has encoded, once it has been seen to make the same map that way.
#pragma once

#include <array>
#include <atomic>
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
  explicit MapSlot(const ParamSlot& slot)
      : tensor_(slot.tensor), by_value_(slot.kind == ParamSlot::Kind::MapValue), map_(slot.map) {}

  std::uint32_t tensor() const { return tensor_; }
  bool by_value() const { return by_value_; }

  /// Writes the parameter for the tensor at `address`: the map, or the address of one.
  diag::Status fill(int device, std::uint64_t address, EncodedMap& parameter);

 private:
  struct Entry {
    std::uint64_t address = 0;  // 0: free; a tensor map's tensor is never at 0
    int device = -1;
    EncodedMap map;              // by value: the parameter
    std::uint64_t resident = 0;  // by pointer: the parameter
  };

  static constexpr std::size_t kFirstKnown = 8;
  static constexpr std::size_t kMostKnown = 1024;

  diag::Status make(int device, std::uint64_t address, Entry& out);
  diag::Result<EncodedMap> encode(std::uint64_t address);
  /// Whether the driver makes from first_ what it encodes for `address`, which is `encoded`, and
  /// for addresses that have every bit set and not set.
  bool replaces_as_it_encodes(std::uint64_t address, const EncodedMap& encoded) const;
  void write(const Entry& entry, EncodedMap& parameter) const;
  /// The two places where a map for `address` may be.
  std::array<std::size_t, 2> places(std::uint64_t address) const;
  void keep(const Entry& made);

  std::uint32_t tensor_;
  bool by_value_;
  std::mutex mutex_;                       // never waited for; see fill()
  std::vector<Entry> known_{kFirstKnown};  // a power of two
  layout::TensorMap map_;

  enum class Replacing : std::uint8_t { NotTried, First, Exact, Inexact };
  std::atomic<Replacing> replacing_ = Replacing::NotTried;  // changes under the mutex
  EncodedMap first_;  // the first map that was encoded; written before First is
};

}  // namespace pyptx::driver
