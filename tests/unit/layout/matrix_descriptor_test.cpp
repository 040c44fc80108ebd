// SPDX-License-Identifier: Apache-2.0
//
// Descriptor addresses against a slow second definition: the canonical layouts written as nested
// shape:stride lists and enumerated, the swizzle applied bit by bit.
#include "pyptx/layout/matrix_descriptor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pyptx::layout {
namespace {

/// One mode of a layout: extent and stride, in elements.
struct Mode {
  std::uint32_t extent;
  std::uint32_t stride;
};
using Modes = std::vector<Mode>;

/// The value of a layout at a coordinate, the first mode varying fastest; the last is unbounded.
std::uint32_t evaluate(const Modes& modes, std::uint32_t coordinate) {
  std::uint32_t offset = 0;
  for (std::size_t i = 0; i < modes.size(); ++i) {
    const bool last = i + 1 == modes.size();
    const std::uint32_t digit = last ? coordinate : coordinate % modes[i].extent;
    coordinate /= modes[i].extent;
    offset += digit * modes[i].stride;
  }
  return offset;
}

/// Swizzle<bits, 4, 3> of a byte address: bit 7 + i is added (mod 2) to bit 4 + i.
std::uint32_t swizzle_bit_by_bit(std::uint32_t bits, std::uint32_t address) {
  std::uint32_t result = address;
  for (std::uint32_t i = 0; i < bits; ++i) {
    if ((address >> (7 + i)) & 1U) result ^= 1U << (4 + i);
  }
  return result;
}

struct DescriptorCase {
  LayoutType type;
  Major major;
  std::uint32_t bytes;
};

std::string name_of(const testing::TestParamInfo<DescriptorCase>& info) {
  const char* types[] = {"none", "b128", "b64", "b32"};
  return std::string(types[static_cast<int>(info.param.type)]) +
         (info.param.major == Major::K ? "_k_" : "_mn_") + std::to_string(8 * info.param.bytes);
}

class Canonical : public testing::TestWithParam<DescriptorCase> {
 protected:
  static constexpr std::uint32_t kLeading = 4096;
  static constexpr std::uint32_t kStride = 16384;

  /// The manual's layouts of (mn) and (k), T elements to 16 bytes, w chunks to a swizzle row.
  static std::pair<Modes, Modes> layouts(const DescriptorCase& c) {
    const std::uint32_t t = 16 / c.bytes;
    const std::uint32_t lbo = kLeading / c.bytes;
    const std::uint32_t sbo = kStride / c.bytes;
    const std::uint32_t w = chunks(c.type);
    if (c.major == Major::K) {
      if (c.type == LayoutType::Interleave) return {{{8, t}, {1, sbo}}, {{t, 1}, {2, lbo}}};
      return {{{8, w * t}, {1, sbo}}, {{t, 1}, {2, t}}};
    }
    if (c.type == LayoutType::Interleave) {
      return {{{t, 1}, {1, t}, {1, sbo}}, {{8, t}, {1, lbo}}};
    }
    return {{{t, 1}, {w, t}, {1, lbo}}, {{8, w * t}, {1, sbo}}};
  }
  static std::uint32_t chunks(LayoutType type) {
    switch (type) {
      case LayoutType::Interleave:
        return 1;
      case LayoutType::B32:
        return 2;
      case LayoutType::B64:
        return 4;
      case LayoutType::B128:
        return 8;
    }
    return 0;
  }
  static std::uint32_t swizzle_bits(LayoutType type) {
    return type == LayoutType::Interleave ? 0 : 4 - static_cast<std::uint32_t>(type);
  }
};

TEST_P(Canonical, addresses_are_the_manuals) {
  const DescriptorCase c = GetParam();
  const auto [mn_layout, k_layout] = layouts(c);
  const MatrixDescriptor descriptor{8192, kLeading, kStride, 0, c.type};
  for (std::uint32_t mn = 0; mn < 64; ++mn) {
    for (std::uint32_t k = 0; k < 32 / c.bytes; ++k) {
      const std::uint32_t linear =
          8192 + (evaluate(mn_layout, mn) + evaluate(k_layout, k)) * c.bytes;
      ASSERT_EQ(descriptor.address(c.major, c.bytes, mn, k),
                swizzle_bit_by_bit(swizzle_bits(c.type), linear))
          << "mn " << mn << " k " << k;
    }
  }
}

TEST_P(Canonical, no_two_elements_share_a_byte) {
  const DescriptorCase c = GetParam();
  const MatrixDescriptor descriptor{0, kLeading, kStride, 0, c.type};
  std::set<std::uint32_t> seen;
  for (std::uint32_t mn = 0; mn < 64; ++mn) {
    for (std::uint32_t k = 0; k < 32 / c.bytes; ++k) {
      const std::uint32_t address = descriptor.address(c.major, c.bytes, mn, k);
      EXPECT_EQ(address % c.bytes, 0U);
      EXPECT_TRUE(seen.insert(address).second) << "mn " << mn << " k " << k;
    }
  }
}

TEST_P(Canonical, base_offset_moves_the_pattern_with_the_tile) {
  const DescriptorCase c = GetParam();
  // A tile whose pattern starts two lines of 128 bytes off is the aligned tile, moved.
  const MatrixDescriptor aligned{8192, kLeading, kStride, 0, c.type};
  const MatrixDescriptor moved{8192 + 256, kLeading, kStride, 2, c.type};
  for (std::uint32_t mn = 0; mn < 64; ++mn) {
    for (std::uint32_t k = 0; k < 32 / c.bytes; ++k) {
      ASSERT_EQ(moved.address(c.major, c.bytes, mn, k),
                aligned.address(c.major, c.bytes, mn, k) + 256);
    }
  }
}

std::vector<DescriptorCase> all_cases() {
  std::vector<DescriptorCase> cases;
  for (const LayoutType type :
       {LayoutType::Interleave, LayoutType::B128, LayoutType::B64, LayoutType::B32}) {
    for (const Major major : {Major::K, Major::MN}) {
      for (const std::uint32_t bytes : {1U, 2U, 4U}) cases.push_back({type, major, bytes});
    }
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(All, Canonical, testing::ValuesIn(all_cases()), name_of);

TEST(MatrixDescriptor, swizzled_k_major_ignores_the_leading_offset) {
  const MatrixDescriptor a{1024, 16, 1024, 0, LayoutType::B128};
  const MatrixDescriptor b{1024, 8192, 1024, 0, LayoutType::B128};
  EXPECT_EQ(a.address(Major::K, 2, 5, 9), b.address(Major::K, 2, 5, 9));
}

TEST(MatrixDescriptor, unswizzled_mn_major_exchanges_the_offsets) {
  const MatrixDescriptor none{0, 128, 2048, 0, LayoutType::Interleave};
  EXPECT_EQ(none.address(Major::MN, 2, 8, 0), 2048U);  // next 16 bytes of MN: SBO
  EXPECT_EQ(none.address(Major::MN, 2, 0, 8), 128U);   // next eight k: LBO
  const MatrixDescriptor b32{0, 128, 2048, 0, LayoutType::B32};
  EXPECT_EQ(b32.address(Major::MN, 2, 16, 0), 128U ^ 16U);
  EXPECT_EQ(b32.address(Major::MN, 2, 0, 8), 2048U);
}

TEST(MatrixDescriptor, encoding_is_the_manuals_bit_positions) {
  const MatrixDescriptor descriptor{0x12340, 0x10, 0x400, 5, LayoutType::B64};
  const std::uint64_t bits = descriptor.encode();
  EXPECT_EQ(bits & 0x3FFF, 0x1234U);
  EXPECT_EQ((bits >> 16) & 0x3FFF, 1U);
  EXPECT_EQ((bits >> 32) & 0x3FFF, 0x40U);
  EXPECT_EQ((bits >> 49) & 7, 5U);
  EXPECT_EQ(bits >> 62, 2U);
  EXPECT_EQ(MatrixDescriptor::decode(bits).encode(), bits);
}

}  // namespace
}  // namespace pyptx::layout
