// SPDX-License-Identifier: Apache-2.0
//
// A position in the tokens of a text, and the one place where syntax errors are reported. When the
// limit of diagnostics is reached the cursor jumps to the end of the text, where no rule can go on:
// the parser needs no second way out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/diag/loc.h"
#include "pyptx/syntax/token.h"

namespace pyptx::syntax {

class Cursor {
 public:
  Cursor(std::string_view source, const TokenBuffer& buffer, diag::LocationTable& locations,
         diag::Diagnostics& diagnostics, std::size_t max_diagnostics)
      : source_(source),
        buffer_(buffer),
        locations_(locations),
        diagnostics_(diagnostics),
        max_diagnostics_(max_diagnostics) {}

  std::uint32_t position() const { return at_; }
  void move_to(std::uint32_t position) { at_ = gave_up_ ? last() : position; }
  std::uint32_t last() const { return static_cast<std::uint32_t>(buffer_.tokens.size() - 1); }

  const Token& token(std::uint32_t index) const {
    return buffer_.tokens[index < last() ? index : last()];
  }
  const Token& peek(std::uint32_t ahead = 0) const { return token(at_ + ahead); }
  bool at(TokenKind kind) const { return buffer_.tokens[at_].kind == kind; }
  bool at_word(std::string_view word) const {
    return at(TokenKind::DotWord) && text(peek()) == word;
  }
  bool at_name(std::string_view name) const {
    return at(TokenKind::Identifier) && text(peek()) == name;
  }
  std::string_view text(const Token& token) const {
    return source_.substr(token.begin, token.end - token.begin);
  }
  std::string_view text() const { return text(peek()); }

  Token next() {
    const Token token = buffer_.tokens[at_];
    if (at_ != last()) ++at_;
    return token;
  }
  bool accept(TokenKind kind) {
    if (!at(kind)) return false;
    next();
    return true;
  }
  bool accept_word(std::string_view word) {
    if (!at_word(word)) return false;
    next();
    return true;
  }
  /// Consumes a token of this kind, or reports what was found in its place.
  bool expect(TokenKind kind) { return accept(kind) || fail_expected(std::string(describe(kind))); }
  /// Reports ExpectedToken here; always false.
  bool fail_expected(std::string what);
  /// Reports a diagnostic about one token or a range of tokens; always false.
  bool fail(diag::Diagnostic diagnostic, TokenRange range);
  bool fail(diag::Diagnostic diagnostic) {
    return fail(std::move(diagnostic), TokenRange{at_, at_ + 1});
  }

  diag::Loc loc(TokenRange range);
  /// From token `first` up to the current position.
  TokenRange since(std::uint32_t first) const { return {first, at_}; }

  /// Hands every comment before the current token to `sink`, once.
  template <typename Sink>
  void take_comments(Sink&& sink) {
    while (comment_ < buffer_.comments.size() && buffer_.comments[comment_].token <= at_) {
      const Comment& comment = buffer_.comments[comment_++];
      sink(comment, source_.substr(comment.begin, comment.end - comment.begin));
    }
  }

  /// The tokens of a range with one blank, or one line end, where the source has any.
  std::string normalized(TokenRange range) const;

  /// After an error: past the `;` that ends the statement begun at `first`, or to the `}` that
  /// ends its block.
  void skip_statement(std::uint32_t first);
  /// The same at module level, where a whole `{...}` may have to be passed.
  void skip_item(std::uint32_t first);

 private:
  std::string_view source_;
  const TokenBuffer& buffer_;
  diag::LocationTable& locations_;
  diag::Diagnostics& diagnostics_;
  std::size_t max_diagnostics_;
  std::size_t comment_ = 0;
  std::uint32_t at_ = 0;
  bool gave_up_ = false;
};

}  // namespace pyptx::syntax
