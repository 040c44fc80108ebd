// SPDX-License-Identifier: Apache-2.0
//
// printf as a GPU does it: the format is parsed on the host, the values come from a buffer in which
// each is aligned to its size (CUDA C++ Programming Guide, "Formatted Output").
#pragma once

#include <string>
#include <string_view>

#include "decode/program.h"

namespace pyptx::emu {

class FormatMemory {
 public:
  virtual ~FormatMemory() = default;
  /// False ends the formatting.
  virtual bool read(u64 address, u32 bytes, u64& value) = 0;
  virtual bool read_text(u64 address, std::string& text) = 0;
};

struct Formatted {
  std::string text;
  u32 count = 0;        // values taken: what vprintf returns
  std::string problem;  // why it was given up, where the memory is not to blame
};

/// The most values that one printf takes, and the widest field: what a stranger's format may cost.
inline constexpr u32 kMostValues = 32;
inline constexpr u32 kWidestField = 4096;

/// False: a value cannot be read, or `out.problem` says what is wrong.
bool format_values(std::string_view format, u64 values, FormatMemory& memory, Formatted& out);

}  // namespace pyptx::emu
