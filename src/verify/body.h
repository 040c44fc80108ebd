// SPDX-License-Identifier: Apache-2.0
//
// The rules of function bodies that one instruction alone does not tell: which declaration a name
// means at its place, what labels mark, calls, access to parameters. PTX ISA, sections 5.1.6
// (Parameter State Space), 7.1 (Function Declarations and Definitions) and 11.3 (Control Flow
// Directives).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "findings.h"
#include "flow.h"
#include "pyptx/isa/id.h"

namespace pyptx::verify {

/// A variable as a body sees it.
struct Named {
  enum class Origin : std::uint8_t { Module, Input, Result, Body };
  const ir::Variable* variable = nullptr;
  Origin origin = Origin::Module;
};

/// What stands behind a label.
struct LabelMark {
  enum class Kind : std::uint8_t { Code, BranchTargets, CallTargets, CallPrototype };
  Kind kind = Kind::Code;
  std::uint32_t index = 0;      // into the function's lists of that kind
  std::uint32_t statement = 0;  // where it is declared: lists come before their use
};

class BodyCheck {
 public:
  explicit BodyCheck(Findings& findings);
  void run(const ir::Function& function);

  // What the checks of single instructions (call.cpp) ask.
  Findings& findings() { return findings_; }
  const ir::Function& function() const { return *function_; }
  Named named(ir::Symbol symbol) const;
  /// The mark of a label that has been declared above; null when it is declared further down.
  const LabelMark* mark(ir::LabelId label) const;
  std::string label_name(ir::LabelId label) const;

 private:
  void statement(const ir::Statement& statement);
  void instruction(const ir::Instruction& instruction);
  void find_marks();
  void check_parameter_name(ir::Symbol name, diag::Loc loc);
  void bind(const ir::Variable& variable, Named::Origin origin);
  void unbind(std::size_t size);
  void check_branch(const ir::Instruction& instruction);
  void check_table_branch(const ir::Instruction& instruction);
  void check_branch_targets(const ir::Statement& statement);
  void check_call_targets(const ir::Statement& statement);
  void check_prototype(const ir::Statement& statement);
  void check_access(const ir::Instruction& instruction, std::size_t operand, bool is_store);
  void check_address_of(const ir::Instruction& instruction);
  void wrong_label(const ir::Instruction& instruction, std::size_t operand, ir::LabelId label,
                   std::string wanted);

  Findings& findings_;
  const ir::Function* function_ = nullptr;
  std::uint32_t position_ = 0;  // in the body
  std::vector<Named> names_;    // by symbol
  std::vector<std::pair<ir::Symbol, Named>> hidden_;
  std::vector<std::size_t> blocks_;  // sizes of hidden_ where each block began
  std::vector<LabelMark> marks_;     // by label; empty when all labels are of the code
  RegisterUse use_;
  isa::Modifier param_entry_;
  isa::Modifier param_func_;
};

/// A call against the prototype of what it calls.
void check_call(BodyCheck& body, const ir::Instruction& instruction);

}  // namespace pyptx::verify
