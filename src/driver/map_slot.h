// SPDX-License-Identifier: Apache-2.0
//
// One tensor-map parameter of a launcher. A map depends on the tensor's address alone (the rest is
// the plan's). Which bits of it are the address is learnt from the driver: what differs between two
// maps, checked for every bit of an address. From then on a map by value is the first one with
// another address in it, and the driver is asked no more. Maps that lie on the device, and all maps
// where nothing could be learnt, are kept by address: a program goes through the same addresses
// time and again, as its allocator hands them out, so there is room for kMostKnown of them.
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
  struct KnownMap {
    std::uint64_t address = 0;  // 0: free; a tensor map's tensor is never at 0
    int device = -1;
    EncodedMap map;              // by value: the parameter
    std::uint64_t resident = 0;  // by pointer: the parameter
  };

  static constexpr std::size_t kFirstKnown = 8;
  static constexpr std::size_t kMostKnown = 1024;

  diag::Status make(int device, std::uint64_t address, KnownMap& out);
  diag::Result<EncodedMap> encode(std::uint64_t address);
  /// Compares what at() gives with what the driver encodes; `encoded` is for `address`.
  void learn(std::uint64_t address, const EncodedMap& encoded);
  /// Whether at() is known to be what the driver would encode.
  bool is_known_at(std::uint64_t address) const {
    const std::uint64_t bits = address_bits_.load(std::memory_order_acquire);
    return bits != 0 && address != 0 && ((address ^ first_address_) & ~bits) == 0;
  }
  /// The first map with another address in it.
  EncodedMap at(std::uint64_t address) const;
  void write(const KnownMap& entry, EncodedMap& parameter) const;
  /// The two places where a map for `address` may be.
  std::array<std::size_t, 2> places(std::uint64_t address) const;
  void keep(const KnownMap& made);

  std::uint32_t tensor_;
  bool by_value_;
  std::mutex mutex_;                          // never waited for; see fill()
  std::vector<KnownMap> known_{kFirstKnown};  // a power of two
  layout::TensorMap map_;

  // Written under the mutex, before address_bits_ is.
  EncodedMap first_;  // that was encoded
  std::uint64_t first_address_ = 0;
  std::size_t address_word_ = 0;  // of first_, which holds the address
  bool has_learnt_ = false;
  std::atomic<std::uint64_t> address_bits_ = 0;  // that at() may change; 0: none
};

}  // namespace pyptx::driver
