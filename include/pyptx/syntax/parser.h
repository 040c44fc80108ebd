// SPDX-License-Identifier: Apache-2.0
//
// Text -> IR. A recursive-descent parser for whole PTX modules. It decides structure and resolves
// names. Only broken syntax is an error: a name that nothing declares, an instruction or target
// that the table lacks is read as it is written and noted in Module::findings. Whether an
// instruction's operands fit is the judge's business, and candidates stay 0 when no judge is given.
// Nothing is dropped: every part remembers the tokens it was read from, and what cannot be read is
// an error that owns its tokens (document.h prints them all). PTX ISA, chapters 4 (Syntax), 5
// (State Spaces, Types, and Variables) and 11 (Directives).
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/ir/module.h"
#include "pyptx/isa/spelling.h"
#include "pyptx/syntax/token.h"

namespace pyptx::syntax {

/// How a text is read.
struct ParseOptions {
  /// Judges every instruction as it is inserted; may be null. With a judge the findings about names
  /// and words are among the diagnostics, and count for the limit.
  ir::Judge* judge = nullptr;
  /// Reading stops when this many problems have been found.
  std::size_t max_diagnostics = 20;
  /// Reads everything there is, also behind a broken header; diagnostics beyond the limit are
  /// dropped.
  bool recover = false;
  /// How much to say about illegal spellings; a judge of batches asks for the verdict only.
  isa::Detail detail = isa::Detail::Full;
};

/// A module, the tokens it was read from, and what is wrong.
struct ParseOutcome {
  /// Never null; what could be read when there are errors.
  std::unique_ptr<ir::Module> module;
  /// In the order of the text. Their locations are in module->locations.
  diag::Diagnostics diagnostics;
  /// The tokens that the parts of the module name; shared with module->locations.
  std::shared_ptr<const TokenBuffer> tokens;

  bool ok() const { return diagnostics.empty(); }
};

/// Reads `text` to its end, going on after an error at the next `;` or `}`. `file` is the name that
/// diagnostics show.
ParseOutcome parse_all(std::string_view text, std::string_view file = "<ptx>",
                       const ParseOptions& options = {});

/// The module, or the first error with its place already resolved.
diag::Result<std::unique_ptr<ir::Module>> parse(std::string_view text,
                                                std::string_view file = "<ptx>",
                                                const ParseOptions& options = {});

}  // namespace pyptx::syntax
