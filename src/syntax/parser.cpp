// SPDX-License-Identifier: Apache-2.0
#include "pyptx/syntax/parser.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "parse_context.h"
#include "parse_module.h"
#include "pyptx/diag/order.h"
#include "pyptx/syntax/lexer.h"
#include "token_extents.h"

namespace pyptx::syntax {
namespace {

// An open comment or string swallows the braces behind it: that these are missing is not reported
// too. A text that was not read at all lacks everything.
void drop_consequences(diag::Diagnostics& diagnostics, const diag::Diagnostics& lexical) {
  if (lexical.empty()) return;
  const diag::Kind last = lexical.back().kind;
  if (last == diag::Kind::TextTooLarge) diagnostics.clear();
  if (last != diag::Kind::UnterminatedComment && last != diag::Kind::UnterminatedString) return;
  std::erase_if(diagnostics, [](const diag::Diagnostic& diagnostic) {
    return diagnostic.kind == diag::Kind::UnclosedBlock;
  });
}

}  // namespace

ParseOutcome parse_all(std::string_view text, std::string_view file, const ParseOptions& options) {
  ParseOutcome outcome;
  outcome.module = std::make_unique<ir::Module>();
  ir::Module& module = *outcome.module;
  // A text that is too large is refused by its size: no copy is made of it.
  const bool is_read = text.size() <= kMaxTextBytes;
  module.locations.set_text(std::string(file), std::string(is_read ? text : std::string_view()));
  diag::Diagnostics lexical;
  const auto tokens = std::make_shared<const TokenBuffer>(
      lex(is_read ? module.locations.text() : text, module.locations, lexical));
  outcome.tokens = tokens;
  module.locations.set_tokens(std::make_shared<BufferExtents>(tokens));
  if (lexical.size() > options.max_diagnostics) lexical.resize(options.max_diagnostics);

  ParseContext context(module, options, *tokens, outcome.diagnostics);
  ModuleParser(context).parse();

  if (options.judge != nullptr) {
    outcome.diagnostics.insert(outcome.diagnostics.end(), module.findings.begin(),
                               module.findings.end());
  }
  drop_consequences(outcome.diagnostics, lexical);
  outcome.diagnostics.insert(outcome.diagnostics.begin(), lexical.begin(), lexical.end());
  // The lexer reads the whole text before the parser begins: their reports are merged.
  diag::sort_by_place(outcome.diagnostics, module.locations);
  if (outcome.diagnostics.size() > options.max_diagnostics) {
    outcome.diagnostics.resize(options.max_diagnostics);
  }
  return outcome;
}

diag::Result<std::unique_ptr<ir::Module>> parse(std::string_view text, std::string_view file,
                                                const ParseOptions& options) {
  ParseOptions first_only = options;
  first_only.max_diagnostics = 1;
  ParseOutcome outcome = parse_all(text, file, first_only);
  if (outcome.ok()) return std::move(outcome.module);
  diag::Diagnostic first = std::move(outcome.diagnostics.front());
  first.resolve(outcome.module->locations);
  return diag::fail(std::move(first));
}

}  // namespace pyptx::syntax
