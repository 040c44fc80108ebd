// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the parser share while one text is read: the module that grows, the position
// and the names in scope.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cursor.h"
#include "name_table.h"
#include "pyptx/ir/module.h"
#include "pyptx/syntax/parser.h"

namespace pyptx::syntax {

struct ParseContext {
  ParseContext(ir::Module& module_in, const ParseOptions& options_in, const TokenBuffer& tokens,
               diag::Diagnostics& diagnostics)
      : module(module_in),
        options(options_in),
        cursor(module_in, options_in, tokens, diagnostics),
        names(module_in) {}

  ir::Module& module;
  const ParseOptions& options;
  Cursor cursor;
  NameTable names;
  /// Judges instructions; null where nobody asked, or where the header does not say against what.
  ir::Judge* judge = options.judge;

  support::Symbol intern(std::string_view text) { return module.symbols.intern(text); }
  std::uint32_t intern_index(std::string_view text) {
    return static_cast<std::uint32_t>(intern(text));
  }
  /// Notes a second declaration.
  void duplicate(support::Symbol name, TokenRange range, diag::TextRange earlier) {
    cursor.report(
        diag::Diagnostic(diag::Kind::DuplicateName, {std::string(module.text(name))})
            .label(module.locations.text(earlier.begin, earlier.end), "first declared here"),
        range);
  }
  void undeclared(std::string_view name, TokenRange range) {
    cursor.report(diag::Diagnostic(diag::Kind::UnknownName, {std::string(name)}), range);
  }
  /// A variable or parameter; what declares a run is told by Variable::run.
  std::optional<diag::TextRange> declare(const ir::Variable& variable, Name::Kind kind,
                                         std::uint32_t index) {
    const auto range = module.locations.range(variable.loc);
    const std::uint32_t begin = range ? range->begin : 0;
    return variable.run ? names.declare_run(variable.name, *variable.run, kind, index, begin)
                        : names.declare(variable.name, kind, index, begin);
  }
  bool unknown_directive() {
    return cursor.fail(
        diag::Diagnostic(diag::Kind::UnknownDirective, {std::string(cursor.text())}));
  }
};

/// A comment or line marker as a part of the module, a Statement or an Item. `owner` is the first
/// token of the part that follows it.
template <typename Part, typename Kind = decltype(Part::kind)>
Part comment_part(ParseContext& context, const Comment& comment, std::uint32_t index,
                  std::uint32_t owner) {
  std::string_view text = context.cursor.text(comment);
  Part part;
  switch (comment.kind) {
    case Comment::Kind::Line:
      part.kind = Kind::Comment;
      text.remove_prefix(2);
      if (text.starts_with(' ')) text.remove_prefix(1);
      break;
    case Comment::Kind::Block:
      part.kind = Kind::BlockComment;
      text.remove_prefix(2);
      if (text.ends_with("*/")) text.remove_suffix(2);
      break;
    case Comment::Kind::Marker:
      part.kind = Kind::LineMarker;
      break;
    case Comment::Kind::Stray:  // the text has it
      part.kind = Kind::Stray;
      text = {};
      break;
  }
  while (part.kind != Kind::BlockComment && (text.ends_with(' ') || text.ends_with('\t'))) {
    text.remove_suffix(1);
  }
  part.index = context.intern_index(text);
  part.tokens = {index, index + 1};
  part.mark.inner = comment.token > owner;
  part.mark.trailing = !part.mark.inner && context.cursor.is_trailing(comment);
  return part;
}

}  // namespace pyptx::syntax
