// SPDX-License-Identifier: Apache-2.0
//
// What a launch did to global memory, for the launch that may start before it has ended. See
// pyptx/emu/stream.h.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "race/global_shadow.h"

namespace pyptx::emu {

struct LaunchTrace {
  struct Page {
    std::array<u8, GlobalPage::kCells> touched{};
    std::array<u16, GlobalPage::kCells> writer{};  // the instruction
    std::array<u16, GlobalPage::kCells> reader{};
  };
  std::unordered_map<u64, std::unique_ptr<Page>> pages;
  /// "st.global.u32 (kernel.py:7)", by instruction.
  std::vector<std::string> instructions;

  void add(const GlobalShadow& shadow);
  /// What conflicts with an access to the byte range, in a word of it: "writes" or "reads"; empty:
  /// nothing. `by` is set to the instruction.
  std::string_view conflict(u64 address, u64 bytes, bool is_write, std::string& by) const;
};

}  // namespace pyptx::emu
