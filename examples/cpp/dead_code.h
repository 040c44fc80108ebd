// SPDX-License-Identifier: Apache-2.0
//
// Dead code elimination over PTX of any origin: instructions that give nothing but results that
// nobody reads. Everything else stays as it was written, byte for byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pyptx/analysis/accesses.h"
#include "pyptx/analysis/control_flow.h"
#include "pyptx/analysis/def_use.h"
#include "pyptx/pyptx.h"
#include "pyptx/syntax/edits.h"

namespace examples {

/// What is needed: what acts, and what defines a register that something needed reads. Starting
/// from there, and not from what is dead, finds a counter that only counts itself.
class Needed {
 public:
  Needed(const pyptx::analysis::Accesses& accesses, const pyptx::analysis::ControlFlow& flow)
      : accesses_(accesses), chains_(accesses, flow), is_needed_(accesses.statements()) {
    for (std::uint32_t i = 0; i < accesses.statements(); ++i) {
      if (accesses.effect(i) == pyptx::isa::Effect::Acts) add(i);
    }
    // A result of the function is read where it ends; here every definition of it counts.
    for (const auto id : accesses.returned()) {
      for (const auto& site : chains_.definitions(id)) add(site.statement);
    }
    while (!pending_.empty()) {
      const std::uint32_t statement = pending_.back();
      pending_.pop_back();
      for (const auto& use : accesses_.at(statement)) {
        if (!use.reads()) continue;
        const auto seen = chains_.reaching(use.operand.register_id(), statement);
        for (const auto& site : seen.definitions) add(site.statement);
      }
    }
  }

  bool contains(std::uint32_t statement) const { return is_needed_[statement]; }

 private:
  void add(std::uint32_t statement) {
    if (is_needed_[statement]) return;
    is_needed_[statement] = true;
    pending_.push_back(statement);
  }

  const pyptx::analysis::Accesses& accesses_;
  pyptx::analysis::DefUse chains_;
  std::vector<bool> is_needed_;
  std::vector<std::uint32_t> pending_;
};

/// How many instructions it removed. A function whose graph is not known stays as it is.
inline std::size_t remove_dead_code(pyptx::Document& document) {
  std::size_t removed = 0;
  for (std::size_t f = 0; f < document.module().functions.size(); ++f) {
    const auto& function = *document.module().functions[f];
    const pyptx::analysis::ControlFlow flow(function);
    if (!flow.is_complete()) continue;
    const pyptx::analysis::Accesses accesses(document.module(), function);
    const Needed needed(accesses, flow);
    pyptx::syntax::Edits edits(f);
    for (std::uint32_t i = 0; i < function.body.size(); ++i) {
      const bool is_instruction = function.body[i].kind == pyptx::ir::StatementKind::Instruction;
      if (!is_instruction || needed.contains(i)) continue;
      edits.erase(i);
      ++removed;
    }
    edits.apply(document);
  }
  return removed;
}

}  // namespace examples
