// SPDX-License-Identifier: Apache-2.0
//
// Tensor maps for addresses that are new: made from another one where that is known to be exact.
#include "map_slot.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "fake_driver.h"

namespace pyptx::driver {
namespace {

constexpr std::uint64_t kLow = 0x10000;             // within the first 32 bits
constexpr std::uint64_t kHigh = 0x7f1234560000ULL;  // as processes have them

class MapSlotTest : public FakeDriverTest {
 protected:
  static ParamSlot by_value() {
    ParamSlot slot;
    slot.kind = ParamSlot::Kind::MapValue;
    slot.map.type = layout::MapType::F32;
    slot.map.rank = 1;
    slot.map.dims = {1024};
    slot.map.box = {64};
    return slot;
  }

  /// Fills the slot for an address and compares with what the driver encodes.
  void expect_exact(std::uint64_t address) {
    EncodedMap filled;
    ASSERT_TRUE(slot.fill(0, address, filled).ok());
    const int before = encoded();
    EXPECT_EQ(filled, *encode_map(by_value().map, address));
    asked_here += encoded() - before;
  }
  /// How often the slot has had a map encoded.
  int by_slot() { return encoded() - asked_here; }
  int encoded() { return count("cuTensorMapEncodeTiled"); }

  MapSlot slot{by_value()};
  int asked_here = 0;
};

TEST_F(MapSlotTest, TheDriverIsAskedForTwoAddressesAndEachOfTheirBits) {
  for (std::uint64_t i = 0; i < 2; ++i) expect_exact(kHigh + i * 4096);
  const int before = by_slot();
  EXPECT_GE(before, 2 + 43) << "the two, and every bit from the fifth to the 47th";
  for (std::uint64_t i = 2; i < 40; ++i) expect_exact(kHigh + i * 4112);
  for (std::uint64_t i = 1; i < 40; ++i) expect_exact(kLow * i);
  EXPECT_EQ(by_slot(), before);
}

TEST_F(MapSlotTest, ABitThatDoesMoreThanOthersIsLeftToTheDriver) {
  cuda().odd_bits = std::uint64_t{1} << 33;
  for (std::uint64_t i = 0; i < 4; ++i) expect_exact(kLow + i * 4096);
  const int before = by_slot();
  expect_exact(kLow + 5 * 4096);
  EXPECT_EQ(by_slot(), before);
  expect_exact(kLow | std::uint64_t{1} << 33);
  EXPECT_EQ(by_slot(), before + 1);
  expect_exact(kLow | std::uint64_t{1} << 34);
  EXPECT_EQ(by_slot(), before + 1);
}

TEST_F(MapSlotTest, WhatTwoBitsDoTogetherIsSeen) {
  cuda().address_factor = 3;  // a bit alone may be right, two carry
  for (std::uint64_t i = 0; i < 4; ++i) expect_exact(kHigh + i * 4096);
  for (std::uint64_t i = 0; i < 4; ++i) expect_exact(kLow + i * 4112);
}

TEST_F(MapSlotTest, WhereTheDriverRefusesAProbeMapsAreEncoded) {
  expect_exact(kHigh);
  const int before = by_slot();
  cuda().failures["cuTensorMapEncodeTiled"] = 1;
  EncodedMap filled;
  EXPECT_FALSE(slot.fill(0, kLow, filled).ok());
  cuda().failures.clear();
  EXPECT_EQ(by_slot(), before + 1);
  for (std::uint64_t i = 0; i < 4; ++i) expect_exact(kLow + i * 4096);
}

TEST_F(MapSlotTest, TheRulesHoldForAddressesThatTheDriverIsNotAskedAbout) {
  for (std::uint64_t i = 0; i < 3; ++i) expect_exact(kHigh + i * 4096);
  EncodedMap filled;
  EXPECT_EQ(slot.fill(0, kHigh + 8, filled).error().code(), "PTX0709");
  EXPECT_EQ(slot.fill(0, 0, filled).error().code(), "PTX0709");
}

}  // namespace
}  // namespace pyptx::driver
