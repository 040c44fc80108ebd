// SPDX-License-Identifier: Apache-2.0
//
// Tensor maps for addresses that are new: made by replacing an address where that is exact.
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

TEST_F(MapSlotTest, NewAddressesAreReplacedOnceTheDriverHasShownThatItIsExact) {
  for (std::uint64_t i = 0; i < 2; ++i) expect_exact(kHigh + i * 4096);
  const int before = by_slot();
  EXPECT_GE(before, 4) << "the two, and addresses with every bit set and not set";
  for (std::uint64_t i = 2; i < 40; ++i) expect_exact(kHigh + i * 4112);
  EXPECT_EQ(by_slot(), before);
}

TEST_F(MapSlotTest, AnAddressThatLosesBitsIsNoticedBeforeOneHasThem) {
  cuda().replaced_bits = 0xFFFFFFFF;
  for (std::uint64_t i = 0; i < 4; ++i) expect_exact(kLow + i * 4096);
  for (std::uint64_t i = 0; i < 4; ++i) expect_exact(kHigh + i * 4096);
}

TEST_F(MapSlotTest, WhereReplacingFailsMapsAreEncoded) {
  cuda().failures["cuTensorMapReplaceAddress"] = 801;
  for (std::uint64_t i = 0; i < 4; ++i) expect_exact(kHigh + i * 4096);
  cuda().failures.clear();
  MapSlot exact{by_value()};
  EncodedMap filled;
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(exact.fill(0, kHigh + i * 4096, filled).ok());
  }
  cuda().failures["cuTensorMapReplaceAddress"] = 801;
  ASSERT_TRUE(exact.fill(0, kLow, filled).ok());
  EXPECT_EQ(filled, *encode_map(by_value().map, kLow));
}

TEST_F(MapSlotTest, TheRulesHoldForReplacedAddressesToo) {
  for (std::uint64_t i = 0; i < 3; ++i) expect_exact(kHigh + i * 4096);
  EncodedMap filled;
  EXPECT_EQ(slot.fill(0, kHigh + 8, filled).error().code(), "PTX0709");
  EXPECT_EQ(slot.fill(0, 0, filled).error().code(), "PTX0709");
}

}  // namespace
}  // namespace pyptx::driver
