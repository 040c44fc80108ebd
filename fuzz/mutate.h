// SPDX-License-Identifier: Apache-2.0
//
// Changes to a PTX text that keep most of it readable: numbers become sizes at which arithmetic
// wraps, registers change places, instructions move between texts, a launch becomes another one.
// Random bytes hardly ever get as far as the emulator; these do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pyptx::fuzz {

/// SplitMix64, the same on every platform.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : next() % bound; }

 private:
  std::uint64_t state_;
};

/// One to four changes.
std::string mutate(std::string_view text, Random& random);
/// Lines of `other` go into `text`.
std::string cross(std::string_view text, std::string_view other, Random& random);

}  // namespace pyptx::fuzz
