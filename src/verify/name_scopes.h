// SPDX-License-Identifier: Apache-2.0
//
// What the names of a function mean at a point of its body: a block in braces is a scope, and an
// inner name hides an outer one. The reader has a faster table of its own, which makes registers as
// it finds their names (syntax/name_table.h); here they are there already.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pyptx/ir/module.h"

namespace pyptx::verify {

struct Meaning {
  enum class Kind : std::uint8_t { None, Register, Pool, Label, Variable };
  Kind kind = Kind::None;
  std::uint32_t index = 0;  // of a register or label; of others among what was declared
  const ir::RegisterPool* pool = nullptr;
  const ir::Variable* variable = nullptr;
  std::uint32_t depth = 0;
};

class NameScopes {
 public:
  explicit NameScopes(const ir::Module& module) : module_(module) {}

  void open() { scopes_.emplace_back(); }
  void close();
  /// How many scopes are open.
  std::uint32_t depth() const { return static_cast<std::uint32_t>(scopes_.size()); }

  /// Whether the name was new in the innermost scope. A pool and a variable that stands for a run
  /// have the names of their numbers.
  bool declare(ir::Symbol name, Meaning meaning);
  Meaning find(std::string_view text) const;

 private:
  struct Declared {
    ir::Symbol name{};
    Meaning meaning;
  };
  /// How many numbered names it stands for; 0: it is one name.
  static std::uint32_t run_of(const Meaning& meaning);
  /// The innermost run that has the text as one of its names.
  Meaning find_in_runs(std::string_view text) const;

  const ir::Module& module_;
  std::vector<std::vector<Declared>> scopes_;
  std::unordered_map<ir::Symbol, std::vector<Meaning>> names_;  // innermost last
  std::unordered_map<ir::Symbol, std::vector<Meaning>> runs_;   // by prefix
};

}  // namespace pyptx::verify
