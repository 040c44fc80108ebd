// SPDX-License-Identifier: Apache-2.0
//
// A tensor map described in words: what a CUtensorMap encodes, before any encoding. The driver
// turns it into NVIDIA's opaque 128 bytes, the emulator into its own; both accept the same maps,
// because the rules (CUDA driver API, "Tensor Map Object Management") are checked here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "pyptx/layout/swizzle.h"

namespace pyptx::layout {

/// Element types, in the order and with the values of the driver's CUtensorMapDataType.
enum class MapType : std::uint8_t {
  U8 = 0,
  U16 = 1,
  U32 = 2,
  S32 = 3,
  U64 = 4,
  S64 = 5,
  F16 = 6,
  F32 = 7,
  F64 = 8,
  BF16 = 9,
  F32Ftz = 10,
  TF32 = 11,
  TF32Ftz = 12
};

/// Bytes of an element.
constexpr std::uint32_t element_bytes(MapType type) {
  switch (type) {
    case MapType::U8:
      return 1;
    case MapType::U16:
    case MapType::F16:
    case MapType::BF16:
      return 2;
    case MapType::U64:
    case MapType::S64:
    case MapType::F64:
      return 8;
    default:
      return 4;
  }
}

/// Channels in slices of 16 or 32 bytes (NC/8DHWC8, NC/16DHWC16), with the driver's values.
/// Dimension 0 (W) then counts slices, whatever the type; the last but one (C) counts slices too,
/// and a copy brings one of them, whatever its box (as an H200 has it; no manual says so).
enum class Interleave : std::uint8_t { None, B16, B32 };

/// The bounding box of an im2col map, in the order W, H, D; only of maps that have pixels.
struct Im2col {
  std::array<std::int32_t, 3> lower{};
  std::array<std::int32_t, 3> upper{};
  std::uint32_t channels = 0;  // per pixel
  std::uint32_t pixels = 0;    // per column
  bool operator==(const Im2col&) const = default;
};

/// Index 0 is the innermost (contiguous) dimension, as in the driver's API.
struct TensorMap {
  MapType type = MapType::U8;
  std::uint8_t rank = 0;  // 1..5
  std::array<std::uint64_t, 5> dims{};
  std::array<std::uint64_t, 4> strides{};  // bytes, of dimensions 1..rank-1
  std::array<std::uint32_t, 5> box{};
  std::array<std::uint32_t, 5> element_strides{1, 1, 1, 1, 1};
  Swizzle swizzle = Swizzle::None;
  Interleave interleave = Interleave::None;
  bool oob_nan = false;           // fill out-of-bounds elements with NaN instead of zero
  std::uint8_t l2_promotion = 2;  // 0 none, 1 64 B, 2 128 B, 3 256 B
  Im2col im2col;                  // in place of `box`

  bool is_im2col() const { return im2col.pixels != 0; }
  bool is_interleaved() const { return interleave != Interleave::None; }
  /// Bytes of what dimension 0 counts: an element, or a slice of channels.
  std::uint32_t unit_bytes() const {
    return is_interleaved() ? 8U << static_cast<std::uint32_t>(interleave) : element_bytes(type);
  }
  /// How many of what dimension `i` counts one copy of the box brings.
  std::uint32_t box_count(std::size_t i) const;

  /// Bytes that one load of a whole box writes to shared memory.
  std::uint64_t box_bytes() const;
  /// Bytes of one row of the box: dimension 0, or the channels of a pixel.
  std::uint64_t row_bytes() const {
    return std::uint64_t{is_im2col() ? im2col.channels : box_count(0)} * unit_bytes();
  }
  /// Bytes of shared memory from one row of the box to the next: a swizzle's rows are as wide as
  /// its span, however little of it the box fills.
  std::uint64_t row_pitch() const {
    return swizzle == Swizzle::None || is_interleaved() ? row_bytes() : swizzle_span(swizzle);
  }
  /// Why the driver would refuse it for a tensor at `address` (0: any address), or nothing.
  std::optional<std::string> problem(std::uint64_t address) const;
  bool operator==(const TensorMap&) const = default;
};

}  // namespace pyptx::layout
