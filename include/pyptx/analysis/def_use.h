// SPDX-License-Identifier: Apache-2.0
//
// Definitions and uses of registers: where each is written and read, which definitions a read may
// see, and which reads may see a definition. Worked out on demand, along the control-flow graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pyptx/analysis/accesses.h"
#include "pyptx/analysis/control_flow.h"
#include "pyptx/ir/module.h"

namespace pyptx::analysis {

/// A register in an instruction: operand `index`, or OperandUse::kGuard, of a statement.
struct Site {
  std::uint32_t statement = 0;
  std::uint16_t index = 0;
  bool operator==(const Site&) const = default;
};

/// What a read may see.
struct Reaching {
  std::vector<Site> definitions;  // in the order of the body
  /// A way from the entry has no definition that replaces the whole register: a parameter, or
  /// nothing that anybody wrote.
  bool from_entry = false;
};

/// Refers to what it was made from. Where the graph is not complete, so are the answers.
class DefUse {
 public:
  DefUse(const Accesses& accesses, const ControlFlow& flow);

  /// Every write and every read of a register, in the order of the body.
  std::span<const Site> definitions(ir::RegisterId id) const;
  std::span<const Site> uses(ir::RegisterId id) const;

  /// The definitions that a read of the register at `statement` may see.
  Reaching reaching(ir::RegisterId id, std::uint32_t statement) const;
  /// The reads that may see what `statement` writes to the register, in the order of the body.
  std::vector<Site> uses_of(ir::RegisterId id, std::uint32_t statement) const;

 private:
  bool replaces(ir::RegisterId id, std::uint32_t statement) const;

  const Accesses& accesses_;
  const ControlFlow& flow_;
  std::vector<std::vector<Site>> definitions_;  // by register
  std::vector<std::vector<Site>> uses_;
};

}  // namespace pyptx::analysis
