// SPDX-License-Identifier: Apache-2.0
//
// Shared memory, with the names and meanings of Python's pyptx.smem. See pyptx/build/shared.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <string_view>
#include <utility>

#include "pyptx/author/reg.h"
#include "pyptx/build/mbarrier.h"
#include "pyptx/build/shared.h"

namespace pyptx {

using build::Index;
using build::MbarrierRef;
using build::SharedOptions;
using layout::Swizzle;

struct Address;

namespace author {

/// What stands between brackets, and where.
struct Subscript {
  Index index;
  std::source_location where;

  template <std::convertible_to<Index> T>
  Subscript(const T& given,  // NOLINT(*-explicit-*)
            std::source_location from = std::source_location::current())
      : index(given), where(from) {}
};

/// A shared address: an allocation or a part of one, an mbarrier, a 32-bit register, or one with an
/// offset, ptx::addr(place, 64).
struct Place : build::SharedPlace {
  Place(const build::SharedPlace& place) : build::SharedPlace(place) {}  // NOLINT(*-explicit-*)
  Place(const build::SharedView& view)
      : build::SharedPlace(view.whole()) {}                                 // NOLINT(*-explicit-*)
  Place(const MbarrierRef& barrier) : build::SharedPlace(barrier.place) {}  // NOLINT(*-explicit-*)
  Place(const build::Reg& address)
      : build::SharedPlace(of_register(address)) {}  // NOLINT(*-explicit-*)
  /// BadArgument where it is no register with an offset.
  Place(const Address& address,  // NOLINT(*-explicit-*)
        std::source_location where = std::source_location::current());
};

}  // namespace author

/// An allocation, or a part of one.
class Shared : public build::SharedView {
 public:
  Shared() = default;
  Shared(build::SharedView view) : build::SharedView(std::move(view)) {}  // NOLINT(*-explicit-*)

  /// That stage: fewer indices than dimensions.
  Shared at(std::initializer_list<Index> indices,
            std::source_location where = std::source_location::current()) const;
  Shared operator[](const author::Subscript& index) const { return at({index.index}, index.where); }
  /// The element with one index per dimension, the swizzle applied.
  Reg load(std::initializer_list<Index> indices,
           std::source_location where = std::source_location::current()) const;
  void store(std::initializer_list<Index> indices, const author::Right& value) const;
  /// The shared address in a 32-bit register.
  Reg address(std::source_location where = std::source_location::current()) const;
};

/// mbarriers one after the other.
class Mbarriers : public build::MbarrierArray {
 public:
  Mbarriers() = default;
  Mbarriers(build::MbarrierArray array)  // NOLINT(*-explicit-*)
      : build::MbarrierArray(std::move(array)) {}
  MbarrierRef operator[](const author::Subscript& index) const;
};

namespace smem {

/// Allocates shared memory; a swizzled allocation is stored in blocks one swizzle row wide.
Shared alloc(isa::Type type, std::initializer_list<std::uint64_t> shape, SharedOptions options = {},
             std::source_location where = std::source_location::current());
/// A tile for wgmma with the widest swizzle its contiguous dimension fills.
Shared wgmma_tile(isa::Type type, std::initializer_list<std::uint64_t> shape,
                  layout::Major major = layout::Major::K, SharedOptions options = {},
                  std::source_location where = std::source_location::current());
/// Allocates mbarriers, 8 bytes each.
Mbarriers mbarrier(std::uint64_t count, std::string_view name = {},
                   std::source_location where = std::source_location::current());
/// The address of the dynamic array, or of the block called `name`.
Reg base(std::string_view name = {}, std::source_location where = std::source_location::current());
/// The value at a shared address.
Reg load(isa::Type type, const author::Place& place, const Guard& guard = {},
         std::source_location where = std::source_location::current());
/// Writes one value to a shared address.
void store(isa::Type type, const author::Place& place, const author::Right& value,
           const Guard& guard = {});
/// The byte offset `offset` under a swizzle whose pattern starts at offset 0.
Reg apply_swizzle(const Reg& offset, Swizzle swizzle,
                  std::source_location where = std::source_location::current());
constexpr std::int64_t apply_swizzle(std::int64_t offset, Swizzle swizzle) {
  return layout::apply_swizzle(swizzle, static_cast<std::uint32_t>(offset));
}

}  // namespace smem

namespace ptx {

using build::ShowOptions;

/// Shows what is in the tile where a run on the emulator comes by; emits nothing.
void show(const Shared& tile, const ShowOptions& options = {},
          std::source_location where = std::source_location::current());

}  // namespace ptx
}  // namespace pyptx
