// SPDX-License-Identifier: Apache-2.0
//
// Parts of a module as Python sees them: which document, and which part of it. Nothing is copied;
// a part keeps its document alive. A module never changes, so that a part never goes stale.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyptx/diag/loc.h"
#include "pyptx/ir/module.h"
#include "pyptx/syntax/document.h"

namespace pyptx::python {

using DocumentPtr = std::shared_ptr<const syntax::Document>;

/// A part of a text: a directive, a statement, a comment, or what could not be read.
struct Part {
  DocumentPtr document;
  std::string_view kind;
  diag::TextRange range;

  std::string_view text() const {
    return document->text().substr(range.begin, range.end - range.begin);
  }
};

struct OperandPart {
  DocumentPtr document;
  const ir::Function* function = nullptr;
  ir::Operand operand;
};

struct InstructionPart : Part {
  const ir::Function* function = nullptr;
  /// One of the two is there.
  const ir::Instruction* resolved = nullptr;
  const ir::UnresolvedInstruction* unresolved = nullptr;

  std::string_view spelling() const;
  std::vector<OperandPart> operands() const;
  std::optional<OperandPart> guard() const;
};

struct VariablePart : Part {
  const ir::Variable* variable = nullptr;
};

struct FunctionPart : Part {
  const ir::Function* function = nullptr;
};

std::string_view kind_name(ir::OperandKind kind);
std::string_view name_of(ir::Space space);
std::string_view name_of(ir::Linkage linkage);
/// A parameter, which is a part of its function's prototype.
VariablePart parameter(const DocumentPtr& document, const ir::Variable& variable);
FunctionPart function_part(const DocumentPtr& document, const ir::Item& item);
/// What no class of its own stands for.
Part plain_part(const DocumentPtr& document, const ir::Item& item);
Part plain_part(const DocumentPtr& document, const ir::Statement& statement);
InstructionPart instruction_part(const DocumentPtr& document, const ir::Function& function,
                                 const ir::Statement& statement);
bool is_instruction(const ir::Statement& statement);

}  // namespace pyptx::python
