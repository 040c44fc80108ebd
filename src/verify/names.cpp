// SPDX-License-Identifier: Apache-2.0
#include "pyptx/verify/names.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "findings.h"
#include "name_scopes.h"
#include "pyptx/ir/name.h"
#include "pyptx/isa/type.h"

namespace pyptx::verify {
namespace {

using diag::Diagnostic;
using diag::Kind;
using ir::OperandKind;
using ir::StatementKind;

// Depths of scopes.
constexpr std::uint32_t kParameters = 1;
constexpr std::uint32_t kOutermost = 2;

bool may_declare(const ir::Statement& statement) {
  return statement.kind == StatementKind::Raw || statement.kind == StatementKind::Error;
}

class NameCheck {
 public:
  explicit NameCheck(const ir::Module& module) : module_(module), scopes_(module) {}

  diag::Diagnostics run() {
    for (const ir::Item& item : module_.parts()) {
      is_open_ = is_open_ || item.kind == ir::ItemKind::Error;
      if (item.kind == ir::ItemKind::Variable) module_variable(module_.variables[item.index]);
      if (item.kind == ir::ItemKind::Function) function(*module_.functions[item.index]);
    }
    return std::move(found_);
  }

 private:
  void add(Kind kind, std::string name, diag::Loc loc, std::string note = {}) {
    Diagnostic diagnostic(kind, {std::move(name)});
    if (!note.empty()) diagnostic->notes.push_back(std::move(note));
    found_.push_back(std::move(diagnostic).at(loc).see("identifiers"));
  }
  void unknown(std::string name, diag::Loc loc) {
    if (!is_open_) add(Kind::UnknownName, std::move(name), loc);
  }
  std::string text(ir::Symbol symbol) const { return std::string(module_.text(symbol)); }

  void identifier(ir::Symbol name, diag::Loc loc) {
    if (!ir::is_identifier(module_.text(name))) add(Kind::BadName, text(name), loc);
  }

  void declare(ir::Symbol name, Meaning meaning, diag::Loc loc) {
    identifier(name, loc);
    // The names of the parameters belong to the outermost block, as far as single names go.
    const bool is_parameter = scopes_.depth() == kOutermost &&
                              meaning.kind != Meaning::Kind::Pool &&
                              scopes_.find(module_.text(name)).depth == kParameters;
    if (!scopes_.declare(name, meaning) || is_parameter) {
      add(Kind::DuplicateName, text(name), loc);
      told_.insert(text(name));
    }
  }

  void declare(const ir::Variable& variable) {
    Meaning meaning{Meaning::Kind::Variable};
    meaning.variable = &variable;
    declare(variable.name, meaning, variable.loc);
  }

  // Names of module level may be declared again; whether they agree is the module's check.
  void module_variable(const ir::Variable& variable) {
    identifier(variable.name, variable.loc);
    globals_.insert(variable.name);
    for (std::uint32_t i = 0; i < variable.run.value_or(0); ++i) {
      globals_.insert(module_.symbols.find(text(variable.name) + std::to_string(i)));
    }
    for (const ir::InitialValue& value : variable.initializer) {
      if (value.is_address() && !globals_.contains(value.symbol)) {
        unknown(text(value.symbol), variable.loc);
      }
    }
  }

  void function(const ir::Function& function) {
    function_ = &function;
    told_.clear();
    const bool was_open = is_open_;
    is_open_ = is_open_ || std::ranges::any_of(function.body, may_declare);
    identifier(function.name, function.loc);
    globals_.insert(function.name);
    scopes_.open();
    parameters(function);
    scopes_.open();
    block(0);
    for (std::size_t i = 0; i < function.pools.size(); ++i) {
      if (!function.pools[i].placed) declare_pool(i, diag::Loc::None);
    }
    for (std::size_t i = 0; i < function.body.size(); ++i) statement(i);
    while (scopes_.depth() != 0) scopes_.close();
    is_open_ = was_open;
  }

  /// Those in registers are the first registers of the function.
  void parameters(const ir::Function& function) {
    for (const auto* list : {&function.parameters, &function.returns}) {
      for (const ir::Variable& parameter : *list) {
        if (parameter.space != ir::Space::Register) {
          declare(parameter);
          continue;
        }
        const auto is_it = [&](const ir::Register& reg) { return reg.stem == parameter.name; };
        const auto reg = std::ranges::find_if(function.registers, is_it);
        const auto index = static_cast<std::uint32_t>(reg - function.registers.begin());
        declare(parameter.name, {Meaning::Kind::Register, index}, parameter.loc);
      }
    }
  }

  void declare_pool(std::size_t index, diag::Loc loc) {
    Meaning meaning{Meaning::Kind::Pool};
    meaning.pool = &function_->pools[index];
    declare(meaning.pool->prefix, meaning, loc);
  }

  // A label is known in all of its block, also above its place.
  void block(std::size_t first) {
    int depth = 0;
    for (std::size_t i = first; i < function_->body.size() && depth >= 0; ++i) {
      const ir::Statement& statement = function_->body[i];
      if (statement.kind == StatementKind::BlockOpen) ++depth;
      if (statement.kind == StatementKind::BlockClose) --depth;
      if (statement.kind != StatementKind::Label || depth != 0) continue;
      declare(function_->labels[statement.index], {Meaning::Kind::Label, statement.index},
              loc_of(statement));
    }
  }

  void statement(std::size_t at) {
    const ir::Statement& statement = function_->body[at];
    const std::uint32_t index = statement.index;
    switch (statement.kind) {
      case StatementKind::BlockOpen:
        scopes_.open();
        return block(at + 1);
      case StatementKind::BlockClose:
        if (scopes_.depth() > kOutermost) scopes_.close();
        return;
      case StatementKind::Registers:
        return declare(function_->registers[index].stem, {Meaning::Kind::Register, index},
                       loc_of(statement));
      case StatementKind::Pool:
        return declare_pool(index, loc_of(statement));
      case StatementKind::Variable:
        return declare(function_->variables[index]);
      case StatementKind::BranchTargets:
        for (const ir::LabelId label : function_->branch_targets[index]) {
          this->label(label, loc_of(statement));
        }
        return;
      case StatementKind::Instruction: {
        const ir::Instruction& instruction = function_->instructions[index];
        if (instruction.guard) reg(*instruction.guard, instruction.loc);
        return operands(function_->operands_of(instruction), instruction.loc);
      }
      default:
        return;
    }
  }

  void operands(std::span<const ir::Operand> operands, diag::Loc loc) {
    for (const ir::Operand& operand : operands) {
      if (operand.is_composite()) this->operands(function_->children(operand), loc);
      if (operand.is_register()) reg(operand.register_id(), loc);
      if (operand.kind == OperandKind::Label) {
        label(static_cast<ir::LabelId>(operand.index), loc);
      } else if (operand.kind == OperandKind::Symbol) {
        symbol(operand, loc);
      } else if (operand.kind == OperandKind::Special) {
        special(static_cast<isa::SpecialRegister>(operand.index), loc);
      }
    }
  }

  // Once for each name: at its first use, or at the second declaration that it follows from.
  void taken(std::string name, diag::Loc loc, std::string_view meant) {
    if (!told_.insert(name).second) return;
    add(Kind::NameTaken, std::move(name), loc,
        "here it means another declaration, not the " + std::string(meant));
  }

  void reg(ir::RegisterId id, diag::Loc loc) {
    const ir::Register& meant = function_->at(id);
    std::string name = module_.name(meant);
    const Meaning found = scopes_.find(name);
    const bool is_it = found.kind == Meaning::Kind::Pool
                           ? meant.pooled && meant.stem == found.pool->prefix
                           : found.kind == Meaning::Kind::Register &&
                                 found.index == static_cast<std::uint32_t>(id);
    if (is_it) return;
    if (found.kind == Meaning::Kind::None) {
      unknown(std::move(name), loc);
    } else {
      taken(std::move(name), loc, "register that was declared elsewhere");
    }
  }

  void label(ir::LabelId id, diag::Loc loc) {
    const auto index = static_cast<std::uint32_t>(id);
    std::string name = text(function_->labels[index]);
    const Meaning found = scopes_.find(name);
    if (found.kind == Meaning::Kind::Label && found.index == index) return;
    if (found.kind == Meaning::Kind::None) {
      unknown(std::move(name), loc);
    } else {
      taken(std::move(name), loc, "label that was placed elsewhere");
    }
  }

  void symbol(const ir::Operand& operand, diag::Loc loc) {
    const auto name = static_cast<ir::Symbol>(operand.index);
    const Meaning found = scopes_.find(module_.text(name));
    const int known = operand.component & ~ir::kZeroOffset;
    if (found.kind == Meaning::Kind::None) {
      if (!globals_.contains(name)) unknown(text(name), loc);
      return;
    }
    const bool is_it =
        found.kind == Meaning::Kind::Variable &&
        (known == 0 || known == ir::kSpaceComponent + static_cast<int>(found.variable->space));
    if (!is_it) taken(text(name), loc, "variable or function that was declared elsewhere");
  }

  /// A declaration of that name hides a special register.
  void special(isa::SpecialRegister id, diag::Loc loc) {
    const std::string_view name = isa::info(id).name;
    if (scopes_.find(name).kind != Meaning::Kind::None) {
      taken(std::string(name), loc, "special register");
    }
  }

  const ir::Module& module_;
  const ir::Function* function_ = nullptr;
  NameScopes scopes_;
  std::unordered_set<ir::Symbol> globals_;  // declared at module level so far
  std::unordered_set<std::string> told_;    // names of this function that mean another
  /// Something that nobody reads may declare what is not declared elsewhere.
  bool is_open_ = false;
  diag::Diagnostics found_;
};

}  // namespace

diag::Diagnostics check_names(const ir::Module& module) { return NameCheck(module).run(); }

}  // namespace pyptx::verify
