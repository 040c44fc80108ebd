// SPDX-License-Identifier: Apache-2.0
//
// What the names of a text mean at the point that has been read: PTX scopes are the module, the
// function and every `{}` in it, and an inner name hides an outer one. Registers of a pool
// (%r<12>) come into being on first use, so that a pool of two thousand million registers costs
// nothing. PTX ISA, sections 4.4 (Identifiers) and 5.4.7 (Parameterized Variable Names).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pyptx/diag/loc.h"
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
  std::uint32_t begin = 0;  // the byte of the text that its declaration stands at
};

class NameTable {
 public:
  explicit NameTable(ir::Module& module) : module_(module), scopes_(1) {}

  /// Pooled registers are added to this function from now on; null outside functions.
  void enter(ir::Function* function) { function_ = function; }
  void open_scope() { scopes_.emplace_back(); }
  void close_scope();
  std::uint32_t depth() const { return static_cast<std::uint32_t>(scopes_.size() - 1); }

  /// Where the scope has the name already, whose first meaning then stays; nothing for a new name.
  /// `begin` is the byte of the text that the name stands at.
  std::optional<diag::TextRange> declare(support::Symbol name, Name::Kind kind, std::uint32_t index,
                                         std::uint32_t begin);
  /// A run of names: `prefix` followed by a number below `count`. Registers (`index` is a pool of
  /// the function) or variables (`index` is the variable that stands for all of them).
  std::optional<diag::TextRange> declare_run(support::Symbol prefix, std::uint32_t count,
                                             Name::Kind kind, std::uint32_t index,
                                             std::uint32_t begin);

  /// What `text` means here; Kind::None when it is not declared.
  Name find(std::string_view text) {
    if (const std::uint32_t id = find_numbered(text); id != kNone) {
      return {Name::Kind::Register, id};
    }
    return find_slowly(text);
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::size_t kQuickRuns = 16;

  // An inner run hides the outer one of the same prefix only as far as its count goes.
  struct Run {
    support::Symbol prefix{};
    std::uint32_t count = 0;
    std::uint32_t index = 0;
    std::uint32_t depth = 0;
    std::uint32_t begin = 0;
    std::uint32_t outer = kNone;  // into runs_
    Name::Kind kind = Name::Kind::None;
    /// Register ids by number; those of numbers that would make this too long are in `sparse`.
    std::vector<std::uint32_t> dense;
    std::unordered_map<std::uint32_t, std::uint32_t> sparse;
  };
  struct RunName {
    Run* run = nullptr;
    std::uint32_t number = 0;
  };
  struct HiddenName {
    support::Symbol symbol{};
    Name previous;
  };
  struct Scope {
    std::vector<HiddenName> names;
    /// The first `indexed` of them that end in a number, by what stands before it.
    std::unordered_map<std::string_view, std::vector<support::Symbol>> numbered;
    std::size_t indexed = 0;
    std::uint32_t run_count = 0;
    std::uint32_t outer_run_depth = 0;
  };
  /// The innermost run of a short prefix that begins with %; found without hashing a string.
  struct QuickRun {
    std::uint64_t prefix = 0;
    std::uint32_t run = kNone;
  };

  template <typename T>
  static T& slot(std::vector<T>& table, support::Symbol symbol, T fill);
  std::uint32_t find_numbered(std::string_view text);
  std::uint32_t register_of(Run& run, std::uint32_t number);
  Name find_slowly(std::string_view text);
  /// The meaning of the whole text as one name, without the runs.
  Name find_single(std::string_view text) const;
  /// The innermost run that has the text as one of its names; with `single`, one that hides it.
  RunName find_in_runs(std::string_view text, const Name& single);
  std::optional<diag::TextRange> declared_here(std::string_view text);
  /// A name of this scope that a run would declare again.
  std::optional<diag::TextRange> declared_in_run(std::string_view prefix, std::uint32_t count);
  diag::TextRange range_of(const Run& run) const;
  void note_quick(std::string_view prefix, std::uint32_t run);

  ir::Module& module_;
  ir::Function* function_ = nullptr;
  std::vector<Name> names_;           // by symbol
  std::vector<std::uint32_t> heads_;  // by symbol of the prefix: the innermost run, into runs_
  std::vector<Run> runs_;             // those in scope, outermost first
  std::vector<Scope> scopes_;
  std::array<QuickRun, kQuickRuns> quick_{};
  std::uint32_t run_depth_ = 0;  // of the innermost scope that declares a run
  /// A name such as %r5 was declared on its own, or a run such as %r1<4>: a number alone no longer
  /// tells what is meant.
  bool ambiguous_ = false;
};

}  // namespace pyptx::syntax
