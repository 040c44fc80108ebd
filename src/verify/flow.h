// SPDX-License-Identifier: Apache-2.0
//
// Registers that are read and never written, and code that no path reaches. Both look at the whole
// function and follow no branches: what they report is certain, what they miss may be much.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "findings.h"

namespace pyptx::verify {

class RegisterUse {
 public:
  void begin(const ir::Function& function);
  /// Instruction number `index` of the function.
  void note(const ir::Function& function, std::uint32_t index);
  /// Text that nobody reads may write any register.
  void give_up() { is_known_ = false; }
  void report(Findings& findings, const ir::Function& function) const;

 private:
  void note_operands(const ir::Function& function, std::span<const ir::Operand> operands,
                     bool may_write, std::uint32_t index);

  static constexpr std::uint32_t kNever = UINT32_MAX;
  std::vector<std::uint8_t> is_written_;
  std::vector<std::uint32_t> first_read_;
  bool is_known_ = true;
};

/// Lints instructions behind an unconditional branch, ret or exit without a label between.
void check_reachable(Findings& findings, const ir::Function& function);

}  // namespace pyptx::verify
