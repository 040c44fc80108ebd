// SPDX-License-Identifier: Apache-2.0
//
// Changes of one function that are collected first and made at once. A pass walks the statements
// by their indices, and what it was told of them (a graph, what is live) is about those indices;
// inserting and erasing on the way would move them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "pyptx/syntax/document.h"

namespace pyptx::syntax {

/// Changes to a text.
class Edits {
 public:
  /// `function` is an index in module().functions; statements are those of its body as it is now.
  explicit Edits(std::size_t function) : function_(function) {}

  /// Puts an instruction before statement `at`, behind what was put there already; the size of the
  /// body is the place behind all statements.
  void insert(std::size_t at, const NewInstruction& instruction);
  /// The last of replace() and erase() counts.
  void replace(std::size_t at, const NewInstruction& instruction);
  void erase(std::size_t at);

  bool empty() const { return changes_.empty(); }
  /// Makes the changes; whether the module is legal then is for verify to say.
  void apply(Document& document) const;

 private:
  /// An instruction that owns its operands.
  struct Kept {
    explicit Kept(const NewInstruction& instruction);
    NewInstruction view() const;

    NewInstruction instruction;
    std::vector<ir::Operand> operands;
  };
  struct Change {
    std::vector<Kept> before;
    std::optional<Kept> instead;
    bool is_erased = false;
  };

  std::size_t function_;
  std::map<std::size_t, Change> changes_;
};

}  // namespace pyptx::syntax
