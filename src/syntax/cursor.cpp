// SPDX-License-Identifier: Apache-2.0
#include "cursor.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace pyptx::syntax {

bool Cursor::fail_expected(std::string what) {
  const std::string found = at(TokenKind::EndOfText) ? std::string(describe(TokenKind::EndOfText))
                                                     : "'" + std::string(text()) + "'";
  return fail(diag::Diagnostic(diag::Kind::ExpectedToken, {std::move(what), found}));
}

bool Cursor::fail(diag::Diagnostic diagnostic, TokenRange range) {
  if (gave_up_) return false;
  diagnostic.loc = loc(range);
  diagnostics_.push_back(std::move(diagnostic));
  if (diagnostics_.size() >= max_diagnostics_) {
    gave_up_ = true;
    at_ = last();
  }
  return false;
}

diag::Loc Cursor::loc(TokenRange range) {
  const std::uint32_t final = std::max(range.first, range.last == 0 ? 0 : range.last - 1);
  return locations_.text(token(range.first).begin, token(final).end);
}

std::string Cursor::normalized(TokenRange range) const {
  std::string out;
  for (std::uint32_t i = range.first; i < range.last; ++i) {
    const Token& current = token(i);
    if (i != range.first) {
      const Token& previous = token(i - 1);
      const std::string_view between = source_.substr(previous.end, current.begin - previous.end);
      if (between.find_first_of("\r\n") != std::string_view::npos) {
        out += '\n';
      } else if (!between.empty()) {
        out += ' ';
      }
    }
    out += text(current);
  }
  return out;
}

void Cursor::skip_statement(std::uint32_t first) {
  const std::uint32_t reached = at_;
  int depth = 0;
  for (std::uint32_t i = first; i < last(); ++i) {
    const TokenKind kind = token(i).kind;
    if (kind == TokenKind::BraceOpen) ++depth;
    if (kind == TokenKind::BraceClose) {
      if (depth == 0 && i >= reached) return move_to(i);
      if (depth > 0) --depth;
    }
    if (kind == TokenKind::Semicolon && i >= reached) return move_to(i + 1);
  }
  move_to(last());
}

void Cursor::skip_item(std::uint32_t first) {
  const std::uint32_t reached = std::max(at_, first + 1);
  int depth = 0;
  for (std::uint32_t i = first; i < last(); ++i) {
    const TokenKind kind = token(i).kind;
    if (kind == TokenKind::BraceOpen) ++depth;
    if (kind == TokenKind::BraceClose) --depth;
    const bool ends = kind == TokenKind::Semicolon || kind == TokenKind::BraceClose;
    if (ends && depth <= 0 && i + 1 >= reached) return move_to(i + 1);
  }
  move_to(last());
}

}  // namespace pyptx::syntax
