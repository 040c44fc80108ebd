// SPDX-License-Identifier: Apache-2.0
#include "pyptx/support/sha256.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "sha256_blocks.h"

namespace pyptx::support {
namespace {

std::uint32_t big_endian(const std::uint8_t* p) {
  return static_cast<std::uint32_t>(p[0]) << 24 | static_cast<std::uint32_t>(p[1]) << 16 |
         static_cast<std::uint32_t>(p[2]) << 8 | static_cast<std::uint32_t>(p[3]);
}

void add_block(Sha256State& state, const std::uint8_t* bytes) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 16; ++i) w[i] = big_endian(bytes + 4 * i);
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kSha256Rounds[i] + w[i];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> add = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += add[i];
}

}  // namespace

void sha256_blocks_portable(Sha256State& state, const std::uint8_t* bytes, std::size_t count) {
  for (; count > 0; --count, bytes += 64) add_block(state, bytes);
}

void Sha256::update(std::string_view bytes) {
  static const Sha256Blocks kAdd = sha256_blocks_for_host();
  total_ += bytes.size();
  const auto* p = reinterpret_cast<const std::uint8_t*>(bytes.data());
  std::size_t left = bytes.size();
  while (left > 0) {
    if (buffered_ == 0 && left >= buffer_.size()) {
      const std::size_t whole = left / buffer_.size();
      kAdd(state_, p, whole);
      p += whole * buffer_.size();
      left -= whole * buffer_.size();
      continue;
    }
    const std::size_t take = std::min(left, buffer_.size() - buffered_);
    std::memcpy(buffer_.data() + buffered_, p, take);
    buffered_ += take;
    p += take;
    left -= take;
    if (buffered_ == buffer_.size()) {
      kAdd(state_, buffer_.data(), 1);
      buffered_ = 0;
    }
  }
}

void Sha256::field(std::string_view bytes) {
  const std::uint64_t size = bytes.size();
  std::array<char, 8> prefix{};
  for (std::size_t i = 0; i < 8; ++i) prefix[i] = static_cast<char>(size >> (8 * i));
  update({prefix.data(), prefix.size()});
  update(bytes);
}

Sha256::Digest Sha256::finish() {
  const std::uint64_t bits = total_ * 8;
  update(std::string_view("\x80", 1));
  while (buffered_ != 56) update(std::string_view("\0", 1));
  std::array<char, 8> length{};
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(bits >> (56 - 8 * i));
  update({length.data(), length.size()});
  Digest digest{};
  for (std::size_t i = 0; i < 32; ++i) {
    digest[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

std::string Sha256::hex(const Digest& digest) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * digest.size());
  for (const std::uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string Sha256::hex(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hex(hash.finish());
}

}  // namespace pyptx::support
