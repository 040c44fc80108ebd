// SPDX-License-Identifier: Apache-2.0
#include "pyptx/analysis/control_flow.h"

#include <algorithm>
#include <optional>

#include "label_marks.h"

namespace pyptx::analysis {
namespace {

using ir::StatementKind;

std::size_t number(BlockId id) { return static_cast<std::size_t>(id); }

const ir::Instruction* instruction_at(const ir::Function& function, std::uint32_t statement) {
  const ir::Statement& here = function.body[statement];
  if (here.kind != StatementKind::Instruction) return nullptr;
  return &function.instructions[here.index];
}

bool ends_block(const ir::Instruction& instruction) {
  const isa::Flow flow = instruction.form().form->flow;
  return flow == isa::Flow::Jump || flow == isa::Flow::End;
}

/// Nobody knows what such a statement does.
bool is_opaque(StatementKind kind) {
  return kind == StatementKind::Raw || kind == StatementKind::Unresolved ||
         kind == StatementKind::Error;
}

}  // namespace

ControlFlow::ControlFlow(const ir::Function& function) {
  cut(function);
  link(function);
  find_order();
  find_dominators();
}

// A block begins at a label of the code and behind what ends one.
void ControlFlow::cut(const ir::Function& function) {
  const auto size = static_cast<std::uint32_t>(function.body.size());
  const LabelMarks marks(function);
  block_of_.resize(size);
  bool is_ended = true;
  bool has_code = false;
  for (std::uint32_t i = 0; i < size; ++i) {
    const ir::Statement& statement = function.body[i];
    const bool is_label = statement.kind == StatementKind::Label &&
                          marks.is_code(static_cast<ir::LabelId>(statement.index));
    // Labels that follow each other mark one place.
    if (is_ended || (is_label && has_code)) {
      if (!blocks_.empty()) blocks_.back().last = i;
      blocks_.emplace_back().first = i;
      has_code = false;
    }
    block_of_[i] = static_cast<BlockId>(blocks_.size() - 1);
    const ir::Instruction* instruction = instruction_at(function, i);
    is_ended = instruction != nullptr && ends_block(*instruction);
    has_code = has_code || !is_label;
    is_complete_ = is_complete_ && !is_opaque(statement.kind);
  }
  if (!blocks_.empty()) blocks_.back().last = size;
}

void ControlFlow::add_edge(BlockId from, BlockId to) {
  std::vector<BlockId>& out = blocks_[number(from)].successors;
  if (std::ranges::find(out, to) != out.end()) return;
  out.push_back(to);
  blocks_[number(to)].predecessors.push_back(from);
}

void ControlFlow::link(const ir::Function& function) {
  const LabelMarks marks(function);
  const auto go = [&](BlockId from, ir::LabelId label) {
    const auto at = marks.statement(label);
    if (at && marks.is_code(label)) {
      add_edge(from, block_of_[*at]);
    } else {
      is_complete_ = false;
    }
  };
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const auto id = static_cast<BlockId>(b);
    const ir::Instruction* last = instruction_at(function, blocks_[b].last - 1);
    const bool is_end = last != nullptr && ends_block(*last);
    if (!is_end || last->guard) {
      if (b + 1 < blocks_.size()) {
        add_edge(id, static_cast<BlockId>(b + 1));
      } else {
        blocks_[b].leaves = true;
      }
    }
    if (!is_end) continue;
    if (last->form().form->flow == isa::Flow::End) {
      blocks_[b].leaves = true;
      continue;
    }
    bool has_target = false;
    for (const ir::Operand& operand : function.operands_of(*last)) {
      if (operand.kind != ir::OperandKind::Label) continue;
      has_target = true;
      const auto label = static_cast<ir::LabelId>(operand.index);
      if (const auto* targets = marks.branch_targets(label)) {
        for (const ir::LabelId target : *targets) go(id, target);
      } else {
        go(id, label);
      }
    }
    is_complete_ = is_complete_ && has_target;
  }
}

// Depth first without recursion: a block is done when all that follows it is.
void ControlFlow::find_order() {
  position_.assign(blocks_.size(), UINT32_MAX);
  if (blocks_.empty()) return;
  struct Visit {
    BlockId block;
    std::size_t next = 0;
  };
  std::vector<bool> is_seen(blocks_.size());
  std::vector<Visit> path{{kEntry}};
  is_seen[0] = true;
  while (!path.empty()) {
    Visit& here = path.back();
    const auto& successors = at(here.block).successors;
    if (here.next == successors.size()) {
      order_.push_back(here.block);
      path.pop_back();
      continue;
    }
    const BlockId next = successors[here.next++];
    if (is_seen[number(next)]) continue;
    is_seen[number(next)] = true;
    path.push_back({next});
  }
  std::ranges::reverse(order_);
  for (std::uint32_t i = 0; i < order_.size(); ++i) position_[number(order_[i])] = i;
}

// Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm".
void ControlFlow::find_dominators() {
  dominators_.assign(blocks_.size(), kNoBlock);
  if (blocks_.empty()) return;
  dominators_[0] = kEntry;
  const auto common = [&](BlockId a, BlockId b) {
    while (a != b) {
      while (order_of(a) > order_of(b)) a = dominators_[number(a)];
      while (order_of(b) > order_of(a)) b = dominators_[number(b)];
    }
    return a;
  };
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (const BlockId id : order_) {
      if (id == kEntry) continue;
      BlockId found = kNoBlock;
      for (const BlockId from : at(id).predecessors) {
        if (dominators_[number(from)] == kNoBlock) continue;
        found = found == kNoBlock ? from : common(found, from);
      }
      is_changed = is_changed || dominators_[number(id)] != found;
      dominators_[number(id)] = found;
    }
  }
  dominators_[0] = kNoBlock;
}

bool ControlFlow::dominates(BlockId other, BlockId id) const {
  if (!is_reachable(id)) return false;
  while (id != other && id != kNoBlock) id = dominator(id);
  return id == other;
}

std::uint32_t ControlFlow::begin_of(const ir::Function& function, BlockId id) const {
  const Block& block = at(id);
  std::uint32_t after = block.first;
  for (std::uint32_t i = block.first; i < block.last; ++i) {
    if (instruction_at(function, i) != nullptr || is_opaque(function.body[i].kind)) break;
    // Braces and comments are passed where a declaration or label stands behind them.
    const StatementKind kind = function.body[i].kind;
    const bool is_declaration = kind == StatementKind::Label || kind == StatementKind::Variable ||
                                kind == StatementKind::Registers || kind == StatementKind::Pool ||
                                kind == StatementKind::BranchTargets ||
                                kind == StatementKind::CallTargets ||
                                kind == StatementKind::CallPrototype;
    if (is_declaration) after = i + 1;
  }
  return after;
}

std::uint32_t ControlFlow::end_of(const ir::Function& function, BlockId id) const {
  const Block& block = at(id);
  const ir::Instruction* last = instruction_at(function, block.last - 1);
  return last != nullptr && ends_block(*last) ? block.last - 1 : block.last;
}

}  // namespace pyptx::analysis
