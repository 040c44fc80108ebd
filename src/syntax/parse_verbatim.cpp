// SPDX-License-Identifier: Apache-2.0
//
// Directives that the IR keeps as text: debugging information and the tables of indirect control
// flow. Few of them have a terminator, so their extent follows from their grammar. PTX ISA,
// sections 11.3 (Control Flow Directives) and 11.5 (Debugging Directives).
#include <optional>
#include <string_view>
#include <vector>

#include "parse_function.h"

namespace pyptx::syntax {
namespace {

bool to_semicolon(Cursor& cursor) {
  while (!cursor.at(TokenKind::Semicolon)) {
    if (cursor.at(TokenKind::EndOfText) || cursor.at(TokenKind::BraceClose) ||
        cursor.at(TokenKind::BraceOpen)) {
      return cursor.fail_expected("';'");
    }
    cursor.next();
  }
  cursor.next();
  return true;
}

bool integers(Cursor& cursor, int count) {
  for (int i = 0; i < count; ++i) {
    if (!cursor.expect(TokenKind::Integer)) return false;
  }
  return true;
}

// .loc file line column [, function_name label [+ offset], inlined_at file line column]
bool location(Cursor& cursor) {
  if (!integers(cursor, 3)) return false;
  if (!cursor.accept(TokenKind::Comma)) return true;
  if (!cursor.at_name("function_name")) return cursor.fail_expected("'function_name'");
  cursor.next();
  if (!cursor.expect(TokenKind::Identifier)) return false;
  if (cursor.accept(TokenKind::Plus) && !integers(cursor, 1)) return false;
  if (!cursor.expect(TokenKind::Comma)) return false;
  if (!cursor.at_name("inlined_at")) return cursor.fail_expected("'inlined_at'");
  cursor.next();
  return integers(cursor, 3);
}

// .file number "name" [, time, size]
bool file(Cursor& cursor) {
  if (!integers(cursor, 1) || !cursor.expect(TokenKind::String)) return false;
  if (!cursor.accept(TokenKind::Comma)) return true;
  return integers(cursor, 1) && cursor.expect(TokenKind::Comma) && integers(cursor, 1);
}

// .section .name { ... }
bool section(Cursor& cursor) {
  if (!cursor.expect(TokenKind::DotWord)) return false;
  const auto open = cursor.position();
  if (!cursor.expect(TokenKind::BraceOpen)) return false;
  while (!cursor.accept(TokenKind::BraceClose)) {
    if (cursor.at(TokenKind::EndOfText)) {
      return cursor.fail(diag::Diagnostic(diag::Kind::UnclosedBlock, {}), {open, open + 1});
    }
    if (cursor.at(TokenKind::BraceOpen)) return cursor.fail_expected("'}'");
    cursor.next();
  }
  return true;
}

}  // namespace

std::optional<std::vector<std::string_view>> parse_pragma(Cursor& cursor) {
  cursor.next();
  std::vector<std::string_view> texts;
  do {
    if (!cursor.at(TokenKind::String)) {
      cursor.fail_expected("a string");
      return std::nullopt;
    }
    // A string that the lexer saw no end of has been reported and ends with the text.
    const std::string_view quoted = cursor.text(cursor.next());
    texts.push_back(quoted.substr(1, quoted.size() < 2 ? 0 : quoted.size() - 2));
  } while (cursor.accept(TokenKind::Comma));
  if (!cursor.expect(TokenKind::Semicolon)) return std::nullopt;
  return texts;
}

bool is_verbatim_directive(std::string_view word) {
  return word == ".loc" || word == ".file" || word == ".section" || word == ".alias" ||
         word == ".branchtargets" || word == ".calltargets" || word == ".callprototype";
}

bool skip_verbatim_directive(Cursor& cursor) {
  const std::string_view word = cursor.text(cursor.next());
  if (word == ".loc") return location(cursor);
  if (word == ".file") return file(cursor);
  if (word == ".section") return section(cursor);
  return to_semicolon(cursor);
}

}  // namespace pyptx::syntax
