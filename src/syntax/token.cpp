// SPDX-License-Identifier: Apache-2.0
#include "pyptx/syntax/token.h"

#include <string_view>

namespace pyptx::syntax {

std::string_view describe(TokenKind kind) {
  switch (kind) {
    case TokenKind::EndOfText:
      return "the end of the text";
    case TokenKind::Identifier:
      return "a name";
    case TokenKind::DotWord:
      return "a directive";
    case TokenKind::Integer:
      return "an integer";
    case TokenKind::Decimal:
    case TokenKind::Float32:
    case TokenKind::Float64:
      return "a floating-point literal";
    case TokenKind::String:
      return "a string";
    case TokenKind::RawText:
      return "source text";
    case TokenKind::Semicolon:
      return "';'";
    case TokenKind::Comma:
      return "','";
    case TokenKind::Colon:
      return "':'";
    case TokenKind::BraceOpen:
      return "'{'";
    case TokenKind::BraceClose:
      return "'}'";
    case TokenKind::ParenOpen:
      return "'('";
    case TokenKind::ParenClose:
      return "')'";
    case TokenKind::BracketOpen:
      return "'['";
    case TokenKind::BracketClose:
      return "']'";
    case TokenKind::Greater:
      return "'>'";
    default:
      return "an operator";
  }
}

}  // namespace pyptx::syntax
