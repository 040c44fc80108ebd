// SPDX-License-Identifier: Apache-2.0
//
// What the names of a text mean at the point that has been read: PTX scopes are the module, the
// function and every `{}` in it, and an inner name hides an outer one. Registers of a pool
// (%r<12>) come into being on first use, so that a pool of two thousand million registers costs
// nothing. PTX ISA, sections 4.4 (Identifiers) and 5.4.7 (Parameterized Variable Names).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pyptx/ir/module.h"
#include "pyptx/support/symbol.h"

namespace pyptx::syntax {

struct Name {
  enum class Kind : std::uint8_t {
    None,
    Register,        // RegisterId
    Label,           // LabelId
    Variable,        // index into the function's variables
    Parameter,       // index into the function's parameters, then its returns
    ModuleVariable,  // index into the module's variables
    Function,        // index into the module's functions
  };
  Kind kind = Kind::None;
  std::uint32_t index = 0;
  std::uint32_t depth = 0;
};

class NameTable {
 public:
  explicit NameTable(ir::Module& module) : module_(module), scopes_(1) {}

  /// Pooled registers are added to this function from now on; null outside functions.
  void enter(ir::Function* function) { function_ = function; }
  void open_scope() { scopes_.emplace_back(); }
  void close_scope();
  std::uint32_t depth() const { return static_cast<std::uint32_t>(scopes_.size() - 1); }

  /// False when the scope has the name already; the first meaning then stays.
  bool declare(support::Symbol name, Name::Kind kind, std::uint32_t index);
  /// A run of names: `prefix` followed by a number below the pool's count.
  bool declare_pool(support::Symbol prefix, std::uint32_t pool);

  /// What `text` means here; Kind::None when it is not declared.
  Name find(std::string_view text);

 private:
  static constexpr std::uint32_t kNoPool = UINT32_MAX;
  // An inner pool hides the outer one of the same prefix only as far as its count goes.
  struct Pool {
    support::Symbol prefix{};
    std::uint32_t index = 0;
    std::uint32_t depth = 0;
    std::uint32_t outer = kNoPool;  // into pools_
  };
  struct HiddenName {
    support::Symbol symbol{};
    Name previous;
  };
  struct Scope {
    std::vector<HiddenName> names;
    std::uint32_t pool_count = 0;
    std::uint32_t outer_pool_depth = 0;
  };

  template <typename T>
  static T& slot(std::vector<T>& table, support::Symbol symbol, T fill);
  void bind(support::Symbol symbol, Name name);
  Name find_pooled(std::string_view text, std::uint32_t deeper_than, bool found);

  ir::Module& module_;
  ir::Function* function_ = nullptr;
  std::vector<Name> names_;           // by symbol
  std::vector<std::uint32_t> heads_;  // by symbol of the prefix: the innermost pool, into pools_
  std::vector<Pool> pools_;           // those in scope, outermost first
  std::vector<Scope> scopes_;
  std::uint32_t pool_depth_ = 0;  // of the innermost scope that declares a pool
};

}  // namespace pyptx::syntax
