// SPDX-License-Identifier: Apache-2.0
//
// PTX text: read it, check it, write it in canonical form; syntax::print writes it back unchanged.
// This layer joins `syntax` and `verify`, which do not know each other; it decides nothing itself.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/syntax/document.h"

namespace pyptx::text {

/// Reads `text`; broken syntax is in the document's diagnostics, and no byte is lost. Whether names
/// are declared, instructions legal and the target known is for verify to say. `file` is the name
/// that diagnostics show.
syntax::Document parse(std::string_view text, std::string_view file = "<ptx>");
/// The same for any bytes, also without a header: everything is read that can be, and what cannot
/// is a part of kind Error or Stray. parse() stops when it has seen enough errors.
syntax::Document recover(std::string_view text, std::string_view file = "<ptx>");

/// What check() looks for.
struct CheckOptions {
  /// Also what assembles but is not by the manual.
  bool lint = false;
  /// Findings after which reading stops; 0: none.
  std::size_t max_diagnostics = 100;
};

/// A text that was read and verified.
struct Checked {
  syntax::Document document;
  /// Everything found, in the order of the text; their places are in the module's locations.
  diag::Diagnostics diagnostics;

  /// No errors; warnings and lints may be there.
  bool ok() const;
};

/// Reads and verifies: syntax, names, instructions, targets and versions, declarations, calls,
/// labels.
Checked check(std::string_view text, std::string_view file = "<ptx>",
              const CheckOptions& options = {});

/// Checks a module that is already there, its names too; places are in its locations. Of a module
/// that was read it knows nothing of the syntax, and of one that was edited since then what was
/// found in reading.
diag::Diagnostics check(const ir::Module& module, const CheckOptions& options = {});
/// Checks the text that the document prints, edits included, and that names mean in it what they
/// mean in the module; places are resolved.
diag::Diagnostics check(const syntax::Document& document, const CheckOptions& options = {});

/// The canonical text, from the tree alone.
std::string format(const syntax::Document& document);

}  // namespace pyptx::text
