// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 (FIPS 180-4). Kernels, cubins and cache entries are named by content; the digest is that
// name. Not used for secrets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pyptx::support {

/// The hash of bytes that come in parts.
class Sha256 {
 public:
  using Digest = std::array<std::uint8_t, 32>;

  void update(std::string_view bytes);
  /// Adds a length-prefixed field, so that ("ab","c") and ("a","bc") differ.
  void field(std::string_view bytes);
  Digest finish();

  /// Hexadecimal digest of one string.
  static std::string hex(std::string_view bytes);
  static std::string hex(const Digest& digest);

 private:
  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> buffer_{};
  std::size_t buffered_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace pyptx::support
