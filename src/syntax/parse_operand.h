// SPDX-License-Identifier: Apache-2.0
//
// One operand of an instruction. PTX ISA, chapter 6 (Instruction Operands).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parse_context.h"
#include "pyptx/ir/module.h"

namespace pyptx::syntax {

/// What reading found about tokens that stay what they are.
struct ReadingFinding {
  diag::Diagnostic diagnostic;
  TokenRange tokens;
};

/// Reads operands into the pool of one function.
class OperandParser {
 public:
  OperandParser(ParseContext& context, ir::Function& function)
      : context_(context), cursor_(context.cursor), function_(function) {}

  /// The operands of an instruction up to its `;`, which is taken. They are appended to the pool as
  /// one run, behind the children of composite ones. False after a report. `spelling` tells the few
  /// texts apart that mean different things to different instructions: (a) is an argument list to
  /// call and a constant elsewhere. It is null where the table has no such instruction.
  bool parse_list(const isa::Spelling* spelling, ir::Instruction& instruction);
  /// What stands behind the @ of a guard.
  bool parse_guard(ir::Operand& guard);

  /// Another instruction begins.
  void begin() { finding_ = nullptr; }
  /// The first finding about the instruction is the one that counts.
  [[gnu::cold]] void note(ReadingFinding finding) {
    if (finding_ == nullptr) finding_ = std::make_unique<ReadingFinding>(std::move(finding));
  }
  bool is_unresolved() const { return finding_ != nullptr; }
  std::unique_ptr<ReadingFinding> take_finding() { return std::move(finding_); }

 private:
  bool operand(int depth);
  bool primary(int depth);
  bool name(bool in_address);
  bool resolved(const Name& name, std::string_view text, bool in_address);
  bool symbol(const Name& name, std::string_view text, bool in_address);
  bool index_of(ir::Operand& operand, const ir::Variable* variable);
  bool signed_name(ir::Operand (*make)(ir::RegisterId), std::uint8_t mark);
  bool constant();
  bool list(ir::OperandKind kind, TokenKind close, int depth);
  bool address(int depth);
  bool pipe(int depth);
  bool component(ir::Operand& operand);
  bool undeclared(std::uint32_t token, bool in_address, std::uint8_t marks);
  bool begins_list() const;
  bool finish(std::size_t base, ir::OperandKind kind, std::int64_t value = 0,
              std::uint8_t component = 0);
  bool push(const ir::Operand& operand) {
    stack_.push_back(operand);
    return true;
  }
  bool admits(isa::Accept kind) const;
  const ir::Variable* variable_of(const Name& name) const;
  bool unsupported(std::string what, TokenRange range);

  ParseContext& context_;
  Cursor& cursor_;
  ir::Function& function_;
  const isa::Spelling* spelling_ = nullptr;
  std::unique_ptr<ReadingFinding> finding_;
  /// Operands whose list is still being read; the innermost list is on top.
  std::vector<ir::Operand> stack_;
};

}  // namespace pyptx::syntax
