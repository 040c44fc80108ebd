// SPDX-License-Identifier: Apache-2.0
//
// The control-flow graph of a function: its body cut into basic blocks. A call is an instruction
// among others, since execution comes back behind it; so is a block in braces, which is about names
// alone. PTX ISA, "Control Flow Instructions" and "Control Flow Directives".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pyptx/ir/module.h"

namespace pyptx::analysis {

/// A basic block, by its index.
enum class BlockId : std::uint32_t {};
inline constexpr BlockId kNoBlock = static_cast<BlockId>(UINT32_MAX);
/// The block that a function is entered by.
inline constexpr BlockId kEntry = static_cast<BlockId>(0);

/// Statements [first, last) of the body. Control enters at the first and goes on at the last.
struct Block {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::vector<BlockId> successors;  // each once
  std::vector<BlockId> predecessors;
  /// The function may end here: ret, exit, trap, or the end of the body.
  bool leaves = false;
};

/// Made from a function as it is; an edit of its statements asks for a new one.
class ControlFlow {
 public:
  explicit ControlFlow(const ir::Function& function);

  /// In the order of the body; a function without a body has none.
  std::span<const Block> blocks() const { return blocks_; }
  const Block& at(BlockId id) const { return blocks_[static_cast<std::size_t>(id)]; }
  BlockId block_of(std::uint32_t statement) const { return block_of_[statement]; }

  /// False where a statement says anything at all: raw text, what could not be read or resolved,
  /// and a branch whose target is no label of the code. Such a function may have other edges.
  bool is_complete() const { return is_complete_; }
  bool is_reachable(BlockId id) const { return order_of(id) != UINT32_MAX; }
  /// The blocks that can be reached, each before its successors but for those that a loop closes.
  std::span<const BlockId> reverse_postorder() const { return order_; }

  /// The last block that every way to `id` goes through before it; kNoBlock of the entry and of
  /// what cannot be reached.
  BlockId dominator(BlockId id) const { return dominators_[static_cast<std::size_t>(id)]; }
  /// Whether every way to `id` goes through `other`; a block dominates itself.
  bool dominates(BlockId other, BlockId id) const;

  /// Where an instruction goes that is to run first in the block: behind its labels and the
  /// declarations at its begin.
  std::uint32_t begin_of(const ir::Function& function, BlockId id) const;
  /// Where one goes that is to run last: before the branch or return that ends the block.
  std::uint32_t end_of(const ir::Function& function, BlockId id) const;

 private:
  void cut(const ir::Function& function);
  void link(const ir::Function& function);
  void add_edge(BlockId from, BlockId to);
  void find_order();
  void find_dominators();
  std::uint32_t order_of(BlockId id) const { return position_[static_cast<std::size_t>(id)]; }

  std::vector<Block> blocks_;
  std::vector<BlockId> block_of_;  // by statement
  std::vector<BlockId> order_;
  std::vector<std::uint32_t> position_;  // by block: its place in order_
  std::vector<BlockId> dominators_;
  bool is_complete_ = true;
};

}  // namespace pyptx::analysis
