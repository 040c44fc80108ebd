// SPDX-License-Identifier: Apache-2.0
//
// Where the whole-module checks put what they find, and what they all need to know of the module:
// which declaration a name of module level has.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/ir/module.h"
#include "pyptx/verify/module.h"

namespace pyptx::verify {

/// A table by symbol that grows as symbols are put in.
template <typename T>
class SymbolMap {
 public:
  const T* find(ir::Symbol symbol) const {
    const auto index = static_cast<std::size_t>(symbol);
    return index < values_.size() ? values_[index] : nullptr;
  }
  void set(ir::Symbol symbol, const T* value) {
    const auto index = static_cast<std::size_t>(symbol);
    if (index >= values_.size()) values_.resize(index + 1, nullptr);
    values_[index] = value;
  }

 private:
  std::vector<const T*> values_;
};

class Findings {
 public:
  Findings(const ir::Module& module, const ModuleOptions& options)
      : module_(module), options_(options) {}

  void add(diag::Diagnostic diagnostic) {
    const diag::Severity severity = diagnostic.severity();
    if (severity == diag::Severity::Warning && !options_.warnings) return;
    if (severity == diag::Severity::Lint && !(options_.warnings && options_.lints)) return;
    if (list_.size() < options_.max_diagnostics) list_.push_back(std::move(diagnostic));
  }
  bool wants(diag::Severity severity) const {
    if (list_.size() >= options_.max_diagnostics) return false;
    if (severity == diag::Severity::Error) return true;
    return options_.warnings && (severity == diag::Severity::Warning || options_.lints);
  }

  const ir::Module& module() const { return module_; }
  std::string name(ir::Symbol symbol) const { return std::string(module_.text(symbol)); }
  diag::Diagnostics take() { return std::move(list_); }

  /// The declarations of module level that have been passed.
  SymbolMap<ir::Function> functions;
  SymbolMap<ir::Variable> variables;
  SymbolMap<ir::Alias> aliased;

 private:
  const ir::Module& module_;
  const ModuleOptions& options_;
  diag::Diagnostics list_;
};

/// Where a statement stands.
inline diag::Loc loc_of(const ir::Statement& statement) {
  if (statement.tokens.empty()) return statement.loc;
  return diag::LocationTable::token(statement.tokens.first);
}

}  // namespace pyptx::verify
