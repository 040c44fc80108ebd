// SPDX-License-Identifier: Apache-2.0
//
// Sizes are summed as they are: what ptxas adds for alignment is its own to judge.
#include "memory_limits.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/isa/limits.h"

namespace pyptx::verify {
namespace {

using diag::Diagnostic;
using diag::Kind;
using ir::Space;

/// Every total stays below this, so that none wraps.
constexpr std::uint64_t kTooMuch = std::uint64_t{1} << 60;

class LimitCheck {
 public:
  explicit LimitCheck(Findings& findings) : findings_(findings), module_(findings.module()) {}

  void run() {
    std::uint64_t constants = 0;
    for (const ir::Variable& variable : module_.variables) {
      if (!has_storage(variable)) continue;
      if (variable.space == Space::Const) add(constants, variable);
      if (variable.space == Space::Const && constants > isa::kConstBytes) {
        refuse(variable.name, constants, "in .const, with those before it", isa::kConstBytes,
               variable.loc);
        break;
      }
    }
    for (const auto& function : module_.functions) {
      if (function->is_entry && !function->is_declaration) entry(*function);
    }
  }

 private:
  static bool has_storage(const ir::Variable& variable) {
    return variable.linkage != ir::Linkage::Extern;
  }

  static void add(std::uint64_t& total, const ir::Variable& variable) {
    const std::uint64_t many = variable.run.value_or(1);
    total = std::min(total + std::min(variable.size(), kTooMuch / (many + 1)) * many, kTooMuch);
  }

  /// Its own variables count, those of the module where it names them.
  void entry(const ir::Function& function) {
    std::uint64_t shared = 0;
    for (const ir::Variable& variable : function.variables) {
      if (variable.space == Space::Shared && has_storage(variable)) add(shared, variable);
    }
    for (const ir::Variable& variable : module_.variables) {
      if (variable.space != Space::Shared || !has_storage(variable)) continue;
      if (is_named(function, variable.name)) add(shared, variable);
    }
    const std::uint64_t limit = isa::static_shared_bytes(module_.target);
    if (shared > limit) refuse(function.name, shared, "in .shared", limit, function.loc);
  }

  bool is_named(const ir::Function& function, ir::Symbol name) {
    if (scanned_ != &function) {
      scanned_ = &function;
      named_.assign(named_.size(), false);
      for (const ir::Operand& operand : function.operands) {
        if (operand.kind != ir::OperandKind::Symbol) continue;
        if (operand.index >= named_.size()) named_.resize(operand.index + 1);
        named_[operand.index] = true;
      }
    }
    const auto index = static_cast<std::size_t>(name);
    return index < named_.size() && named_[index];
  }

  void refuse(ir::Symbol name, std::uint64_t bytes, std::string_view what, std::uint64_t limit,
              diag::Loc loc) {
    findings_.add(Diagnostic(Kind::TargetLimit, {findings_.name(name), std::to_string(bytes),
                                                 std::string(what), std::to_string(limit)})
                      .at(loc)
                      .see("state-spaces"));
  }

  Findings& findings_;
  const ir::Module& module_;
  const ir::Function* scanned_ = nullptr;
  std::vector<bool> named_;  // by symbol, of `scanned_`
};

}  // namespace

void check_memory_limits(Findings& findings) { LimitCheck(findings).run(); }

}  // namespace pyptx::verify
