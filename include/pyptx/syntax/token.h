// SPDX-License-Identifier: Apache-2.0
//
// Tokens of PTX text. A token is a kind and a byte range; what lies between two tokens (blanks,
// comments, line markers) is trivia and belongs to the token that follows it, so the bytes of a
// text are exactly its tokens with their trivia. PTX ISA, chapter 4 (Syntax).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "pyptx/ir/source.h"

namespace pyptx::syntax {

/// What a token is.
enum class TokenKind : std::uint8_t {
  EndOfText,
  Identifier,  // add, %r1, $L__BB0_2, _foo
  Underscore,  // _
  DotWord,     // .global, .shared::cta, .2d
  Integer,     // 12, 0x1F, 017, 0b101, 12U
  Decimal,     // 1.5, 2., .5, 1e5
  Float32,     // 0f3F800000
  Float64,     // 0d3FF0000000000000
  String,      // "..."
  RawText,     // the lines between .source_begin and .source_end
  Semicolon,
  Comma,
  Colon,
  BraceOpen,
  BraceClose,
  ParenOpen,
  ParenClose,
  BracketOpen,
  BracketClose,
  At,
  Equal,
  Question,
  Exclamation,
  Tilde,
  Plus,
  Minus,
  Star,
  Slash,
  Percent,
  ShiftLeft,
  ShiftRight,
  Less,
  Greater,
  LessEqual,
  GreaterEqual,
  EqualEqual,
  NotEqual,
  Ampersand,
  Caret,
  Pipe,
  AndAnd,
  OrOr,
};

/// A kind and a range of bytes.
struct Token {
  std::uint32_t begin = 0;  // the trivia before it begins where the previous token ends
  std::uint32_t end = 0;
  TokenKind kind = TokenKind::EndOfText;
};

/// A comment, a line marker or stray bytes, found in the trivia of a token.
struct Comment {
  /// // text, /* text */, # 12 "file", and bytes that no PTX has
  enum class Kind : std::uint8_t { Line, Block, Marker, Stray };
  std::uint32_t token = 0;  // index of the token whose trivia holds it
  std::uint32_t begin = 0;
  std::uint32_t end = 0;  // without the end of the line
  Kind kind = Kind::Line;
};

/// The tokens of one text. The last one is EndOfText, whose trivia is the tail of the text.
struct TokenBuffer {
  std::vector<Token> tokens;
  std::vector<Comment> comments;  // ascending
};

using ir::TokenRange;

/// "';'", "an identifier", ... for messages.
std::string_view describe(TokenKind kind);

}  // namespace pyptx::syntax
