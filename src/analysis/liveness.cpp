// SPDX-License-Identifier: Apache-2.0
#include "pyptx/analysis/liveness.h"

#include <bit>
#include <ranges>
#include <utility>

namespace pyptx::analysis {

std::uint32_t RegisterSet::size() const {
  std::uint32_t count = 0;
  for (const std::uint64_t word : words_) count += static_cast<std::uint32_t>(std::popcount(word));
  return count;
}

void Liveness::step_back(const Accesses& accesses, std::uint32_t statement, RegisterSet& live) {
  const auto uses = accesses.at(statement);
  for (const OperandUse& use : uses) {
    if (accesses.overwrites(statement, use)) live.erase(use.operand.register_id());
  }
  for (const OperandUse& use : uses) {
    if (use.reads()) live.insert(use.operand.register_id());
  }
}

Liveness::Liveness(const Accesses& accesses, const ControlFlow& flow) {
  const RegisterSet none(accesses.registers());
  in_.assign(flow.blocks().size(), none);
  out_.assign(flow.blocks().size(), none);
  if (!flow.is_complete()) {
    RegisterSet all = none;
    for (std::uint32_t i = 0; i < accesses.registers(); ++i) all.insert(ir::RegisterId{i});
    in_.assign(in_.size(), all);
    out_.assign(out_.size(), all);
    return;
  }
  // Blocks that nothing reaches are walked too: what they read is read when they are.
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (std::size_t b = in_.size(); b-- > 0;) {
      const Block& block = flow.blocks()[b];
      RegisterSet live = none;
      for (const BlockId next : block.successors) live.unite(live_in(next));
      if (block.leaves) {
        for (const ir::RegisterId id : accesses.returned()) live.insert(id);
      }
      out_[b] = live;
      for (std::uint32_t i = block.last; i-- > block.first;) step_back(accesses, i, live);
      is_changed = in_[b].unite(live) || is_changed;
    }
  }
}

}  // namespace pyptx::analysis
