// SPDX-License-Identifier: Apache-2.0
//
// Encoding and decoding of tensor maps. See emulator.h.
#include "pyptx/emu/emulator.h"

#include <cstring>

#include "memory/relaxed.h"

namespace pyptx::emu {
namespace {

struct Encoded {
  char magic[8] = {'p', 'y', 'p', 't', 'x', 'm', 'a', 'p'};
  std::uint64_t address = 0;
  std::uint64_t dims[5] = {};
  std::uint64_t strides[4] = {};
  std::uint16_t box[5] = {};
  std::uint8_t element_strides[5] = {};
  std::uint8_t type = 0;
  std::uint8_t rank = 0;
  std::uint8_t swizzle = 0;
  std::uint8_t oob_nan = 0;
  std::uint8_t l2_promotion = 0;
  std::uint8_t interleave = 0;
  std::int16_t lower[3] = {};
  std::int16_t upper[3] = {};
  std::uint16_t channels = 0;
  std::uint16_t pixels = 0;
  std::uint8_t padding[2] = {};
};
static_assert(sizeof(Encoded) == 128);

}  // namespace

std::array<std::byte, 128> encode(const layout::TensorMap& map, std::uint64_t address) {
  Encoded encoded;
  encoded.address = address;
  for (std::size_t i = 0; i < 5; ++i) {
    encoded.dims[i] = map.dims[i];
    encoded.box[i] = static_cast<std::uint16_t>(map.box[i]);
    encoded.element_strides[i] = static_cast<std::uint8_t>(map.element_strides[i]);
    if (i < 4) encoded.strides[i] = map.strides[i];
  }
  encoded.type = static_cast<std::uint8_t>(map.type);
  encoded.rank = map.rank;
  encoded.swizzle = static_cast<std::uint8_t>(map.swizzle);
  encoded.oob_nan = map.oob_nan ? 1 : 0;
  encoded.interleave = static_cast<std::uint8_t>(map.interleave);
  encoded.l2_promotion = map.l2_promotion;
  for (std::size_t i = 0; i < 3; ++i) {
    encoded.lower[i] = static_cast<std::int16_t>(map.im2col.lower[i]);
    encoded.upper[i] = static_cast<std::int16_t>(map.im2col.upper[i]);
  }
  encoded.channels = static_cast<std::uint16_t>(map.im2col.channels);
  encoded.pixels = static_cast<std::uint16_t>(map.im2col.pixels);
  std::array<std::byte, 128> bytes;
  std::memcpy(bytes.data(), &encoded, sizeof(encoded));
  return bytes;
}

std::optional<DecodedMap> decode_map(const std::byte* bytes) {
  Encoded encoded;
  const Encoded reference;
  copy_from_global(reinterpret_cast<std::byte*>(&encoded), bytes, sizeof(encoded));
  if (std::memcmp(encoded.magic, reference.magic, sizeof(encoded.magic)) != 0) return std::nullopt;
  DecodedMap result;
  result.address = encoded.address;
  for (std::size_t i = 0; i < 5; ++i) {
    result.map.dims[i] = encoded.dims[i];
    result.map.box[i] = encoded.box[i];
    result.map.element_strides[i] = encoded.element_strides[i];
    if (i < 4) result.map.strides[i] = encoded.strides[i];
  }
  result.map.type = static_cast<layout::MapType>(encoded.type);
  result.map.rank = encoded.rank;
  result.map.swizzle = static_cast<layout::Swizzle>(encoded.swizzle);
  result.map.oob_nan = encoded.oob_nan != 0;
  result.map.interleave = static_cast<layout::Interleave>(encoded.interleave);
  result.map.l2_promotion = encoded.l2_promotion;
  for (std::size_t i = 0; i < 3; ++i) {
    result.map.im2col.lower[i] = encoded.lower[i];
    result.map.im2col.upper[i] = encoded.upper[i];
  }
  result.map.im2col.channels = encoded.channels;
  result.map.im2col.pixels = encoded.pixels;
  return result;
}

}  // namespace pyptx::emu
