// SPDX-License-Identifier: Apache-2.0
//
// Tiles of shared memory that a kernel shows (ptx.show): what was in them, in their logical order,
// when a run came by.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace pyptx::emu {

/// What one CTA had in a tile when it came by.
struct ShownTile {
  std::string name;     // of the allocation, or what the author calls it
  std::string place;    // "kernel.py:12"; empty where there is none
  std::string type;     // of an element
  std::string swizzle;  // "none", "32B", "64B", "128B"
  std::vector<std::uint64_t> shape;
  std::array<std::uint32_t, 3> cta{};
  std::uint32_t pass = 1;  // of the CTA there
  std::uint32_t address = 0;
  /// The elements row by row, as words: "0.5"; "?" where a byte has no value.
  std::vector<std::string> elements;
};

/// The tile as matrices for people, long rows and columns cut in their middle.
std::string to_text(const ShownTile& tile);

}  // namespace pyptx::emu
