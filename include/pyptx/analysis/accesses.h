// SPDX-License-Identifier: Apache-2.0
//
// The registers that the instructions of a function read and write, found once for the analyses
// that ask for them again and again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pyptx/analysis/operands.h"
#include "pyptx/ir/module.h"

namespace pyptx::analysis {

/// Made from a function as it is; an edit of its statements asks for a new one.
class Accesses {
 public:
  Accesses(const ir::Module& module, const ir::Function& function);

  /// The registers of the instruction that a statement is, as registers_of() has them; none of
  /// other statements.
  std::span<const OperandUse> at(std::uint32_t statement) const {
    return {uses_.data() + first_[statement], first_[statement + 1] - first_[statement]};
  }
  /// See effect_of(); Acts for what nobody knows (raw text, an instruction that was not resolved),
  /// None for other statements.
  isa::Effect effect(std::uint32_t statement) const { return effects_[statement]; }
  /// Whether `use`, one of at(statement), leaves nothing of what the register held: a guarded
  /// instruction may not run.
  bool overwrites(std::uint32_t statement, const OperandUse& use) const {
    return use.overwrites() && !is_guarded_[statement];
  }

  std::uint32_t statements() const { return static_cast<std::uint32_t>(effects_.size()); }
  std::uint32_t registers() const { return registers_; }
  /// The registers that the function returns; they are read where it ends.
  std::span<const ir::RegisterId> returned() const { return returned_; }

 private:
  std::vector<OperandUse> uses_;
  std::vector<std::uint32_t> first_;  // by statement, into uses_; and the end
  std::vector<isa::Effect> effects_;
  std::vector<bool> is_guarded_;
  std::vector<ir::RegisterId> returned_;
  std::uint32_t registers_ = 0;
};

}  // namespace pyptx::analysis
