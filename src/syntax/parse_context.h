// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the parser share while one text is read: the module that grows, the position,
// the names in scope and the record of which tokens each part was read from.
#pragma once

#include <string>
#include <string_view>

#include "cursor.h"
#include "name_table.h"
#include "pyptx/ir/module.h"
#include "pyptx/syntax/parser.h"

namespace pyptx::syntax {

struct ParseContext {
  ParseContext(ir::Module& module_in, const ParseOptions& options_in, TokenMap& tokens_in,
               diag::Diagnostics& diagnostics)
      : module(module_in),
        options(options_in),
        tokens(tokens_in),
        cursor(module_in.locations.text(), tokens_in.buffer, module_in.locations, diagnostics,
               options_in.max_diagnostics),
        names(module_in) {}

  ir::Module& module;
  const ParseOptions& options;
  TokenMap& tokens;
  Cursor cursor;
  NameTable names;

  support::Symbol intern(std::string_view text) { return module.symbols.intern(text); }
  std::uint32_t intern_index(std::string_view text) {
    return static_cast<std::uint32_t>(intern(text));
  }
};

/// Calls `sink(is_marker, text)` for each line of a comment or line marker, without the comment
/// signs. A block comment gives a line each.
template <typename Sink>
void comment_lines(const Comment& comment, std::string_view text, Sink&& sink) {
  if (comment.kind != Comment::Kind::Block) {
    const bool is_marker = comment.kind == Comment::Kind::Marker;
    sink(is_marker, is_marker ? text : text.substr(2));
    return;
  }
  text.remove_prefix(2);
  if (text.ends_with("*/")) text.remove_suffix(2);
  bool first = true;
  while (true) {
    const std::size_t end = text.find_first_of("\r\n");
    std::string_view line = text.substr(0, end);
    while (line.ends_with(' ') || line.ends_with('\t')) line.remove_suffix(1);
    // Lines after the first are indented by where the comment stood.
    while (!first && (line.starts_with(' ') || line.starts_with('\t'))) line.remove_prefix(1);
    first = false;
    sink(false, line);
    if (end == std::string_view::npos) return;
    text.remove_prefix(text.substr(end, 2) == "\r\n" ? end + 2 : end + 1);
  }
}

}  // namespace pyptx::syntax
