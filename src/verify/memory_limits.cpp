// SPDX-License-Identifier: Apache-2.0
//
// Sizes are summed as they are: what ptxas adds for alignment is its own to judge.
#include "memory_limits.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
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
  explicit LimitCheck(Findings& findings)
      : findings_(findings), module_(findings.module()), limits_(isa::limits(module_.target)) {}

  void run() {
    constants();
    // Most modules have little of it: no call need be followed.
    std::uint64_t all = of_module();
    for (const auto& function : module_.functions) all = std::min(all + own(*function), kTooMuch);
    if (all <= limits_.static_shared) return;
    for (const auto& function : module_.functions) {
      if (!function->is_declaration) bodies_.emplace(function->name, function.get());
    }
    for (const auto& function : module_.functions) {
      if (function->is_entry && !function->is_declaration) entry(*function);
    }
  }

 private:
  static bool is_shared(const ir::Variable& variable) {
    return variable.space == Space::Shared && has_storage(variable);
  }

  static bool has_storage(const ir::Variable& variable) {
    return variable.linkage != ir::Linkage::Extern;
  }

  static void add(std::uint64_t& total, const ir::Variable& variable) {
    const std::uint64_t many = variable.run.value_or(1);
    total = std::min(total + std::min(variable.size(), kTooMuch / (many + 1)) * many, kTooMuch);
  }

  void constants() {
    std::uint64_t total = 0;
    for (const ir::Variable& variable : module_.variables) {
      if (variable.space != Space::Const || !has_storage(variable)) continue;
      add(total, variable);
      if (total <= limits_.constant) continue;
      return refuse(variable.name, total, "in .const, with those before it", limits_.constant,
                    variable.loc);
    }
  }

  std::uint64_t of_module() const {
    std::uint64_t total = 0;
    for (const ir::Variable& variable : module_.variables) {
      if (is_shared(variable)) add(total, variable);
    }
    return total;
  }

  static std::uint64_t own(const ir::Function& function) {
    std::uint64_t total = 0;
    for (const ir::Variable& variable : function.variables) {
      if (is_shared(variable)) add(total, variable);
    }
    return total;
  }

  /// Its own variables count, those of the functions it names, and so on, and those of the module
  /// that any of them names.
  void entry(const ir::Function& function) {
    std::unordered_set<ir::Symbol> named;
    std::vector<const ir::Function*> reached{&function};
    std::uint64_t shared = 0;
    for (std::size_t i = 0; i < reached.size(); ++i) {
      shared = std::min(shared + own(*reached[i]), kTooMuch);
      for (const ir::Operand& operand : reached[i]->operands) {
        if (operand.kind != ir::OperandKind::Symbol) continue;
        const auto name = static_cast<ir::Symbol>(operand.index);
        if (!named.insert(name).second) continue;
        const auto body = bodies_.find(name);
        if (body != bodies_.end() && body->second != &function) reached.push_back(body->second);
      }
    }
    for (const ir::Variable& variable : module_.variables) {
      if (is_shared(variable) && named.contains(variable.name)) add(shared, variable);
    }
    if (shared > limits_.static_shared) {
      refuse(function.name, shared, "in .shared", limits_.static_shared, function.loc);
    }
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
  const isa::Limits& limits_;
  std::unordered_map<ir::Symbol, const ir::Function*> bodies_;
};

}  // namespace

void check_memory_limits(Findings& findings) { LimitCheck(findings).run(); }

}  // namespace pyptx::verify
