// SPDX-License-Identifier: Apache-2.0
#include "pyptx/driver/tensor_map.h"

#include <gmock/gmock.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "cuda_abi.h"
#include "fake_driver.h"

namespace pyptx::driver {
namespace {

using testing::HasSubstr;

layout::TensorMap tile() {
  layout::TensorMap map;
  map.type = layout::MapType::BF16;
  map.rank = 3;
  map.dims = {64, 512, 16};
  map.strides = {2048, 128};
  map.box = {64, 128, 2};
  map.element_strides = {1, 2, 1, 1, 1};
  map.swizzle = layout::Swizzle::B128;
  map.oob_nan = true;
  return map;
}

EncodedMap numbered(unsigned number) {
  EncodedMap map;
  std::memcpy(map.bytes.data(), &number, sizeof number);
  return map;
}

class TensorMapTest : public FakeDriverTest {};

TEST_F(TensorMapTest, PassesTheMapToTheDriver) {
  const auto encoded = encode_map(tile(), 0x7f0000001000);
  ASSERT_TRUE(encoded.ok()) << encoded.error().message();
  std::uint64_t words[16];
  std::memcpy(words, encoded->bytes.data(), sizeof words);
  EXPECT_EQ(words[0], 0x7f0000001000U);
  EXPECT_EQ(words[1], 9U | 3U << 8 | 3U << 24 | 2ULL << 32 | 1ULL << 40);
  EXPECT_EQ(words[2], 64U);
  EXPECT_EQ(words[3], 512U);
  EXPECT_EQ(words[4], 16U);
  EXPECT_EQ(words[7], 2048U);
  EXPECT_EQ(words[8], 128U);
  EXPECT_EQ(words[12], 128U | 2ULL << 32);
}

TEST_F(TensorMapTest, RefusesBeforeTheDriverIsAsked) {
  auto map = tile();
  map.box[0] = 128;
  EXPECT_THAT(encode_map(map, 4096).error().message(), HasSubstr("the 128 B swizzle"));
  EXPECT_THAT(encode_map(tile(), 8).error().message(), HasSubstr("multiple of 16"));
  EXPECT_THAT(encode_map(tile(), 0).error().message(), HasSubstr("null"));
  EXPECT_EQ(count("cuTensorMapEncodeTiled"), 0);
  cuda().failures["cuTensorMapEncodeTiled"] = 1;
  EXPECT_EQ(encode_map(tile(), 4096).error().code(), "PTX0702");
}

TEST_F(TensorMapTest, EqualMapsShareAnAddress) {
  const auto first = resident_map(0, numbered(1));
  ASSERT_TRUE(first.ok()) << first.error().message();
  EXPECT_EQ(*first % 128, 0U);
  EXPECT_EQ(std::memcmp(reinterpret_cast<void*>(*first), numbered(1).bytes.data(), 128), 0);
  const int copies = count("cuMemcpyHtoDAsync");
  EXPECT_EQ(*resident_map(0, numbered(1)), *first);
  EXPECT_EQ(count("cuMemcpyHtoDAsync"), copies);
  EXPECT_NE(*resident_map(0, numbered(2)), *first);
  EXPECT_NE(*resident_map(1, numbered(1)), *first) << "memory of another device";
  EXPECT_EQ(library().context_depth(), 0);
}

TEST_F(TensorMapTest, DescriptorsStayAsTheyAre) {
  std::set<std::uint64_t> addresses;
  for (unsigned i = 1000; i < 1100; ++i) addresses.insert(*resident_map(0, numbered(i)));
  EXPECT_EQ(addresses.size(), 100U);
  for (unsigned i = 1000; i < 1100; ++i) {
    const std::uint64_t address = *resident_map(0, numbered(i));
    EXPECT_EQ(std::memcmp(reinterpret_cast<void*>(address), numbered(i).bytes.data(), 128), 0);
  }
  // 32 to a page of 4 KiB.
  EXPECT_GE(count("cuMemAlloc"), 3);
  EXPECT_LE(count("cuMemAlloc"), 4);
}

TEST_F(TensorMapTest, IsMadeDuringACapture) {
  cuda().capturing = true;
  const auto address = resident_map(1, numbered(5000));
  ASSERT_TRUE(address.ok()) << address.error().message();
  EXPECT_EQ(std::memcmp(reinterpret_cast<void*>(*address), numbered(5000).bytes.data(), 128), 0);
}

TEST_F(TensorMapTest, LiesInThePrimaryContextWhateverIsCurrent) {
  library().set_own_context(0);
  for (unsigned i = 8000; i < 8040; ++i) {  // more than a page
    const auto address = resident_map(0, numbered(i));
    ASSERT_TRUE(address.ok()) << address.error().message();
  }
  EXPECT_EQ(cuda().own_objects, 0);
  EXPECT_EQ(library().context_depth(), 1);
}

TEST_F(TensorMapTest, IsReadInThePrimaryContextAlone) {
  EXPECT_TRUE(check_resident_maps(1, nullptr).ok()) << "a thread without a context";
  library().set_context(0);
  EXPECT_TRUE(check_resident_maps(1, nullptr).ok()) << "that of the device will be pushed";
  EXPECT_TRUE(check_resident_maps(1, library().stream(1, false)).ok());
  EXPECT_FALSE(check_resident_maps(1, library().stream(1, true)).ok());
  library().set_own_context(1);
  EXPECT_EQ(check_resident_maps(1, nullptr).error().code(), "PTX0705");
  EXPECT_TRUE(check_resident_maps(1, library().stream(1, false)).ok());
}

TEST_F(TensorMapTest, AFailedCopyIsNotHandedOut) {
  cuda().failures["cuStreamSynchronize"] = cuda::kIllegalAddress;
  ASSERT_FALSE(resident_map(0, numbered(6000)).ok());
  cuda().failures.clear();
  const auto again = resident_map(0, numbered(6000));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(std::memcmp(reinterpret_cast<void*>(*again), numbered(6000).bytes.data(), 128), 0);
}

TEST_F(TensorMapTest, ThreadsAgreeOnAddresses) {
  std::vector<std::vector<std::uint64_t>> seen(10);
  std::vector<std::thread> threads;
  for (auto& mine : seen) {
    threads.emplace_back([&mine] {
      for (unsigned i = 0; i < 50; ++i) mine.push_back(*resident_map(0, numbered(7000 + i)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& other : seen) EXPECT_EQ(other, seen[0]);
}

}  // namespace
}  // namespace pyptx::driver
