// SPDX-License-Identifier: Apache-2.0
#include "pyptx/support/sha256.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sha256_blocks.h"

namespace pyptx::support {
namespace {

// Examples of FIPS 180-4 and the million-'a' vector of the NIST test suite.
TEST(Sha256, MatchesThePublishedVectors) {
  EXPECT_EQ(Sha256::hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256::hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256::hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256::hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, IsIndependentOfHowTheInputIsCut) {
  const std::string text(300, 'x');
  for (std::size_t cut = 0; cut <= text.size(); cut += 7) {
    Sha256 hash;
    hash.update(std::string_view(text).substr(0, cut));
    hash.update(std::string_view(text).substr(cut));
    EXPECT_EQ(Sha256::hex(hash.finish()), Sha256::hex(text)) << cut;
  }
}

TEST(Sha256, TheProcessorsInstructionsGiveTheSame) {
  const Sha256Blocks fast = sha256_blocks_for_host();
  if (fast == sha256_blocks_portable) GTEST_SKIP() << "this processor has no SHA instructions";
  std::vector<std::uint8_t> bytes(64 * 40);
  std::uint32_t seed = 1;
  for (std::uint8_t& byte : bytes)
    byte = static_cast<std::uint8_t>((seed = seed * 69069 + 1) >> 24);
  for (std::size_t count = 0; count <= 40; ++count) {
    Sha256State one{1, 2, 3, 4, 0xffffffff, 6, 0x80000000, 8};
    Sha256State other = one;
    sha256_blocks_portable(one, bytes.data(), count);
    fast(other, bytes.data(), count);
    ASSERT_EQ(one, other) << count;
  }
}

TEST(Sha256, FieldsDoNotRunIntoEachOther) {
  Sha256 a;
  a.field("ab");
  a.field("c");
  Sha256 b;
  b.field("a");
  b.field("bc");
  EXPECT_NE(a.finish(), b.finish());
}

}  // namespace
}  // namespace pyptx::support
