// SPDX-License-Identifier: Apache-2.0
//
// One operand of an instruction. PTX ISA, chapter 6 (Instruction Operands).
#pragma once

#include <optional>

#include "parse_context.h"
#include "pyptx/ir/module.h"

namespace pyptx::syntax {

/// Reads operands into the pool of one function.
class OperandParser {
 public:
  OperandParser(ParseContext& context, ir::Function& function)
      : context_(context), cursor_(context.cursor), function_(function) {}

  /// The operand at `index` of an instruction; nothing after a report. `spelling` tells the few
  /// texts apart that mean different things to different instructions: (a) is an argument list to
  /// call and a constant elsewhere.
  std::optional<ir::Operand> parse(const isa::Spelling& spelling, std::size_t index);
  /// The register of a guard.
  std::optional<ir::RegisterId> parse_guard();

 private:
  using Result = std::optional<ir::Operand>;

  Result operand(int depth, isa::Accept accept);
  Result primary(int depth, isa::Accept accept);
  Result name(isa::Accept accept);
  Result resolved(const Name& name, std::string_view text, isa::Accept accept);
  Result symbol(std::string_view text, const ir::Variable* variable, isa::Accept accept);
  Result negated();
  Result constant();
  Result list(ir::OperandKind kind, TokenKind close, int depth, isa::Accept accept);
  Result address(int depth);
  Result address_base();
  Result pipe(ir::Operand first, int depth);
  bool component(ir::Operand& operand);
  const ir::Variable* variable_of(const Name& name) const;
  std::nullopt_t unknown(std::uint32_t token);
  std::nullopt_t unsupported(std::string what, TokenRange range);

  ParseContext& context_;
  Cursor& cursor_;
  ir::Function& function_;
};

}  // namespace pyptx::syntax
