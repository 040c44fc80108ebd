// SPDX-License-Identifier: Apache-2.0
#include "cursor.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "token_extents.h"

namespace pyptx::syntax {
namespace {

// A message has no use for a megabyte of text.
std::string quoted(std::string_view text) {
  constexpr std::size_t kMost = 64;
  std::string result = "'";
  result += text.substr(0, kMost);
  if (text.size() > kMost) result += "...";
  return result + "'";
}

}  // namespace

bool Cursor::fail_expected(std::string what) {
  const std::string found =
      at(TokenKind::EndOfText) ? std::string(describe(TokenKind::EndOfText)) : quoted(text());
  return fail(diag::Diagnostic(diag::Kind::ExpectedToken, {std::move(what), found}));
}

std::optional<std::string_view> Cursor::take_string() {
  if (!at(TokenKind::String)) {
    fail_expected("a string");
    return std::nullopt;
  }
  // A string that the lexer saw no end of has been reported and ends with the text.
  const std::string_view quoted_text = text(next());
  return quoted_text.substr(1, quoted_text.size() < 2 ? 0 : quoted_text.size() - 2);
}

void Cursor::add(diag::Diagnostics& list, diag::Diagnostic&& diagnostic, TokenRange range) {
  if (!has_room(list)) return;
  diagnostic.loc = loc(range);
  list.push_back(std::move(diagnostic));
}

bool Cursor::fail(diag::Diagnostic diagnostic, TokenRange range) {
  if (gave_up_) return false;
  add(diagnostics_, std::move(diagnostic), range);
  if (!options_.recover && !has_room(diagnostics_)) give_up();
  return false;
}

diag::Loc Cursor::loc(TokenRange range) {
  const std::uint32_t final = std::max(range.first, range.last == 0 ? 0 : range.last - 1);
  return locations_.text(token(range.first).begin, token(final).end);
}

TokenRange Cursor::focused(std::uint32_t first, diag::Focus focus) const {
  return statement_tokens(buffer_, first, focus);
}

bool Cursor::is_trailing(const Comment& comment) const {
  if (comment.token == 0) return false;
  const std::uint32_t end = tokens_[comment.token - 1].end;
  return source_.substr(end, comment.begin - end).find_first_of("\r\n") == std::string_view::npos;
}

// Each token is looked at once: errors that follow each other do not go back.
void Cursor::skip_statement(std::uint32_t first) {
  const std::uint32_t reached = at_;
  int depth = 0;
  for (std::uint32_t i = first; i < last_; ++i) {
    const TokenKind kind = tokens_[i].kind;
    if (kind == TokenKind::BraceOpen) ++depth;
    if (kind == TokenKind::BraceClose) {
      if (depth == 0 && i >= reached) return move_to(i);
      if (depth > 0) --depth;
    }
    if (kind == TokenKind::Semicolon && i >= reached) return move_to(i + 1);
  }
  move_to(last_);
}

void Cursor::skip_block(std::uint32_t open) {
  std::size_t depth = 0;
  for (std::uint32_t i = open; i < last_; ++i) {
    if (tokens_[i].kind == TokenKind::BraceOpen) ++depth;
    if (tokens_[i].kind == TokenKind::BraceClose && --depth == 0) return move_to(i + 1);
  }
  move_to(last_);
}

void Cursor::skip_item(std::uint32_t first) {
  const std::uint32_t reached = std::max(at_, first + 1);
  int depth = 0;
  for (std::uint32_t i = first; i < last_; ++i) {
    const TokenKind kind = tokens_[i].kind;
    if (kind == TokenKind::BraceOpen) ++depth;
    if (kind == TokenKind::BraceClose) --depth;
    const bool ends = kind == TokenKind::Semicolon || kind == TokenKind::BraceClose;
    if (ends && depth <= 0 && i + 1 >= reached) return move_to(i + 1);
  }
  move_to(last_);
}

}  // namespace pyptx::syntax
