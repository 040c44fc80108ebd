// SPDX-License-Identifier: Apache-2.0
//
// The judge of single instructions: operands against the table's forms, guard, target and version.
// Everything that depends on the spelling alone was settled when it was spelled (isa/spelling.h);
// what is left is a walk over the operands, without allocation when all is well. It refuses what
// ptxas refuses; control flow and whole-function rules are not its business.
#pragma once

#include <cstdint>
#include <span>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/ir/module.h"
#include "pyptx/isa/target.h"

namespace pyptx::verify {

/// What to do when an instruction needs a newer PTX ISA than the module says.
enum class VersionMode : std::uint8_t {
  Pinned,  // refuse it
  Lowest,  // accept it and raise required_version()
};

/// Judges instructions by the table.
class InstructionJudge final : public ir::Judge {
 public:
  explicit InstructionJudge(VersionMode mode = VersionMode::Pinned) : mode_(mode) {}

  /// Sets instruction.candidate, or fails with OperandCount, OperandKind, OperandType,
  /// OperandVector, ImmediateRange, AddressSpace, GuardType, TargetTooLow or VersionTooLow.
  diag::Status judge(const ir::Module& module, const ir::Function& function,
                     ir::Instruction& instruction) override;

  /// The lowest version that the target and all instructions judged so far allow.
  isa::Version required_version() const override { return required_; }

 private:
  bool is_available(const ir::Module& module, const isa::Availability& needs) const;
  /// The first requirement of the candidate, or of the operands given, that the module lacks.
  const isa::Availability* lacking(const ir::Module& module, const isa::Candidate& candidate,
                                   std::span<const isa::Availability* const> asked) const;
  void raise_required(const ir::Module& module, const isa::Candidate& candidate,
                      std::span<const isa::Availability* const> asked);
  diag::Status judge_specials(const ir::Module& module, const ir::Function& function,
                              const ir::Instruction& instruction);

  /// Literals that the table bounds by more than numbers: shares and parts.
  static diag::Status judge_bounds(const isa::Candidate& candidate, const ir::Function& function,
                                   const ir::Instruction& instruction);

  VersionMode mode_;
  isa::Version required_{1, 0};
  isa::Target last_target_{};
};

}  // namespace pyptx::verify
