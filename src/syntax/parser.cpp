// SPDX-License-Identifier: Apache-2.0
#include "pyptx/syntax/parser.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parse_context.h"
#include "parse_module.h"
#include "pyptx/syntax/lexer.h"

namespace pyptx::syntax {
namespace {

// The lexer reads the whole text before the parser begins, so their reports are merged.
void sort_by_place(diag::Diagnostics& diagnostics, const diag::LocationTable& locations) {
  if (diagnostics.size() < 2) return;
  using Key = std::pair<std::uint32_t, std::uint32_t>;
  std::vector<std::pair<Key, diag::Diagnostic>> keyed;
  for (diag::Diagnostic& diagnostic : diagnostics) {
    const auto place = locations.resolve(diagnostic.loc);
    keyed.emplace_back(place ? Key{place->line, place->column} : Key{}, std::move(diagnostic));
  }
  std::ranges::stable_sort(keyed, {}, [](const auto& entry) { return entry.first; });
  diagnostics.clear();
  for (auto& [key, diagnostic] : keyed) diagnostics.push_back(std::move(diagnostic));
}

// An open comment or string swallows the braces behind it; that these are missing is no news.
void drop_consequences(diag::Diagnostics& diagnostics, const diag::Diagnostics& lexical) {
  if (lexical.empty()) return;
  const diag::Kind last = lexical.back().kind;
  if (last != diag::Kind::UnterminatedComment && last != diag::Kind::UnterminatedString) return;
  std::erase_if(diagnostics, [](const diag::Diagnostic& diagnostic) {
    return diagnostic.kind == diag::Kind::UnclosedBlock;
  });
}

}  // namespace

ParseOutcome parse_all(std::string_view text, std::string_view file, const ParseOptions& options) {
  ParseOutcome outcome;
  outcome.module = std::make_shared<ir::Module>();
  ir::Module& module = *outcome.module;
  module.locations.set_text(std::string(file), std::string(text));
  diag::Diagnostics lexical;
  outcome.tokens.buffer = lex(module.locations.text(), module.locations, lexical);
  if (lexical.size() > options.max_diagnostics) lexical.resize(options.max_diagnostics);

  ParseContext context(module, options, outcome.tokens, outcome.diagnostics);
  ModuleParser(context).parse();

  drop_consequences(outcome.diagnostics, lexical);
  outcome.diagnostics.insert(outcome.diagnostics.begin(), lexical.begin(), lexical.end());
  sort_by_place(outcome.diagnostics, module.locations);
  if (outcome.diagnostics.size() > options.max_diagnostics) {
    outcome.diagnostics.resize(options.max_diagnostics);
  }
  return outcome;
}

diag::Result<std::shared_ptr<ir::Module>> parse(std::string_view text, std::string_view file,
                                                const ParseOptions& options) {
  ParseOptions first_only = options;
  first_only.max_diagnostics = 1;
  ParseOutcome outcome = parse_all(text, file, first_only);
  if (outcome.ok()) return std::move(outcome.module);
  diag::Diagnostic first = std::move(outcome.diagnostics.front());
  first.place = outcome.module->locations.resolve(first.loc, first.focus);
  return diag::fail(std::move(first));
}

}  // namespace pyptx::syntax
