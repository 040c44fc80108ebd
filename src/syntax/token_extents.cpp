// SPDX-License-Identifier: Apache-2.0
#include "token_extents.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace pyptx::syntax {
namespace {

using Part = diag::Focus::Part;

/// Walks over one statement; the last token of the buffer stops every walk.
class Walk {
 public:
  Walk(const std::vector<Token>& tokens, std::uint32_t first)
      : tokens_(tokens), first_(first), last_(static_cast<std::uint32_t>(tokens.size() - 1)) {}

  TokenKind kind(std::uint32_t i) const { return tokens_[std::min(i, last_)].kind; }

  /// Past the `;`, or where a statement without one stops.
  std::uint32_t end() const {
    const TokenKind begin = kind(first_);
    if (begin == TokenKind::Identifier && kind(first_ + 1) == TokenKind::Colon) return first_ + 2;
    if (begin != TokenKind::Identifier && begin != TokenKind::At && begin != TokenKind::DotWord) {
      return first_ + 1;
    }
    const std::uint32_t past = skip(first_, false);
    return kind(past) == TokenKind::Semicolon ? past + 1 : std::max(past, first_ + 1);
  }

  std::uint32_t opcode() const {
    if (kind(first_) != TokenKind::At) return first_;
    const std::uint32_t name = first_ + (kind(first_ + 1) == TokenKind::Exclamation ? 2 : 1);
    return name + 1;
  }

  std::uint32_t first_operand() const {
    std::uint32_t i = opcode() + 1;
    while (kind(i) == TokenKind::DotWord) ++i;
    return i;
  }

  /// From `i` to the token that ends an operand (`to_comma`) or the statement, in no bracket.
  std::uint32_t skip(std::uint32_t i, bool to_comma) const {
    std::uint32_t depth = 0;
    for (; i < last_; ++i) {
      switch (kind(i)) {
        case TokenKind::Semicolon:
          return i;
        case TokenKind::Comma:
          if (to_comma && depth == 0) return i;
          break;
        case TokenKind::BraceOpen:
        case TokenKind::ParenOpen:
        case TokenKind::BracketOpen:
          ++depth;
          break;
        case TokenKind::BraceClose:
        case TokenKind::ParenClose:
        case TokenKind::BracketClose:
          if (depth == 0) return i;
          --depth;
          break;
        default:
          break;
      }
    }
    return i;
  }

 private:
  const std::vector<Token>& tokens_;
  std::uint32_t first_;
  std::uint32_t last_;
};

}  // namespace

TokenRange statement_tokens(const TokenBuffer& buffer, std::uint32_t first, diag::Focus focus) {
  const Walk walk(buffer.tokens, first);
  const std::uint32_t opcode = walk.opcode();
  switch (focus.part) {
    case Part::Whole:
    case Part::Argument:  // of a call in another language
      break;
    case Part::Opcode:
      return {opcode, opcode + 1};
    case Part::Spelling:
      return {opcode, walk.first_operand()};
    case Part::Modifier:
      if (walk.kind(opcode + 1 + focus.index) != TokenKind::DotWord) break;
      return {opcode + 1 + focus.index, opcode + 2 + focus.index};
    case Part::Operand: {
      std::uint32_t begin = walk.first_operand();
      std::uint32_t end = walk.skip(begin, true);
      std::uint16_t index = 0;
      for (; index < focus.index && walk.kind(end) == TokenKind::Comma; ++index) {
        begin = end + 1;
        end = walk.skip(begin, true);
      }
      if (index != focus.index || begin == end) break;
      return {begin, end};
    }
    case Part::Guard:
      if (opcode > first) return {first, opcode};
      break;
  }
  return {first, walk.end()};
}

diag::TextRange BufferExtents::extent(std::uint32_t token, diag::Focus focus) const {
  const auto& tokens = buffer_->tokens;
  const auto last = static_cast<std::uint32_t>(tokens.size() - 1);
  const std::uint32_t first = std::min(token, last);
  const TokenRange range = statement_tokens(*buffer_, first, focus);
  const std::uint32_t final = std::min(std::max(range.last, range.first + 1) - 1, last);
  return {tokens[std::min(range.first, last)].begin, tokens[final].end};
}

}  // namespace pyptx::syntax
