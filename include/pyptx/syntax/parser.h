// SPDX-License-Identifier: Apache-2.0
//
// Text -> IR. A recursive-descent parser for whole PTX modules. It decides structure and resolves
// names; whether an instruction's operands fit is the judge's business, and candidates stay 0 when
// no judge is given. Nothing is dropped: what the IR has no place for is kept verbatim where it is
// a directive without meaning for the code (.loc, .file, .section), and is an error elsewhere.
// PTX ISA, chapters 4 (Syntax), 5 (State Spaces, Types, and Variables) and 11 (Directives).
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/ir/module.h"
#include "pyptx/syntax/token.h"

namespace pyptx::syntax {

struct ParseOptions {
  /// Judges every instruction as it is inserted; may be null.
  ir::Judge* judge = nullptr;
  /// Reading stops when this many problems have been found.
  std::size_t max_diagnostics = 20;
};

/// Which tokens the parts of a function were read from; statements parallel to Function::body.
struct FunctionTokens {
  TokenRange whole;
  std::vector<TokenRange> statements;
};

/// The tokens of a text beside the module read from it.
struct TokenMap {
  TokenBuffer buffer;
  std::vector<TokenRange> items;          // parallel to Module::items
  std::vector<FunctionTokens> functions;  // parallel to Module::functions
};

struct ParseOutcome {
  /// Never null; what could be read when there are errors.
  std::shared_ptr<ir::Module> module;
  /// In the order of the text. Their locations are in module->locations.
  diag::Diagnostics diagnostics;
  TokenMap tokens;

  bool ok() const { return diagnostics.empty(); }
};

/// Reads `text` to its end, going on after an error at the next `;` or `}`. `file` is the name that
/// diagnostics show.
ParseOutcome parse_all(std::string_view text, std::string_view file = "<ptx>",
                       const ParseOptions& options = {});

/// The module, or the first error with its place already resolved.
diag::Result<std::shared_ptr<ir::Module>> parse(std::string_view text,
                                                std::string_view file = "<ptx>",
                                                const ParseOptions& options = {});

}  // namespace pyptx::syntax
