// SPDX-License-Identifier: Apache-2.0
//
// A position in the tokens of a text, and the one place where syntax errors are reported. When the
// limit of diagnostics is reached the cursor jumps to the end of the text (unless everything is to
// be read), where no rule can go on: the parser needs no second way out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/diag/loc.h"
#include "pyptx/ir/module.h"
#include "pyptx/syntax/parser.h"
#include "pyptx/syntax/token.h"

namespace pyptx::syntax {

class Cursor {
 public:
  Cursor(ir::Module& module, const ParseOptions& options, const TokenBuffer& buffer,
         diag::Diagnostics& diagnostics)
      : source_(module.locations.text()),
        tokens_(buffer.tokens.data()),
        last_(static_cast<std::uint32_t>(buffer.tokens.size() - 1)),
        buffer_(buffer),
        comments_(buffer.comments),
        locations_(module.locations),
        diagnostics_(diagnostics),
        findings_(module.findings),
        options_(options) {}

  std::uint32_t position() const { return at_; }
  void move_to(std::uint32_t position) { at_ = gave_up_ ? last_ : position; }
  std::uint32_t last() const { return last_; }

  const Token& token(std::uint32_t index) const { return tokens_[index < last_ ? index : last_]; }
  const Token& peek() const { return tokens_[at_]; }
  const Token& peek(std::uint32_t ahead) const { return token(at_ + ahead); }
  TokenKind kind() const { return tokens_[at_].kind; }
  bool at(TokenKind kind) const { return tokens_[at_].kind == kind; }
  bool at_word(std::string_view word) const {
    return at(TokenKind::DotWord) && text(peek()) == word;
  }
  bool at_name(std::string_view name) const {
    return at(TokenKind::Identifier) && text(peek()) == name;
  }
  std::string_view text(const Token& token) const {
    return {source_.data() + token.begin, token.end - token.begin};
  }
  std::string_view text() const { return text(peek()); }
  /// The bytes from one token to another, both included.
  std::string_view text(const Token& first, const Token& last) const {
    return {source_.data() + first.begin, last.end - first.begin};
  }

  const Token& next() {
    const Token& token = tokens_[at_];
    if (at_ != last_) ++at_;
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
  /// Takes a string and gives what is between its quotes, or nothing after a report.
  std::optional<std::string_view> take_string();
  /// Reports ExpectedToken here; always false.
  bool fail_expected(std::string what);
  /// Notes a finding about tokens that have been read and stay what they are.
  void report(diag::Diagnostic diagnostic, TokenRange range) {
    add(findings_, std::move(diagnostic), range);
  }
  /// Whether one more finding would be kept.
  bool keeps_findings() const { return has_room(findings_); }
  /// Reports what the judge says of tokens that have been read.
  void report_judged(diag::Diagnostic diagnostic, TokenRange range) {
    add(diagnostics_, std::move(diagnostic), range);
  }
  /// Whether enough has been said. Whoever reads parts then gives up, and makes one part of what is
  /// left of the text.
  bool is_full() const { return options_.judge != nullptr && !gave_up_ && !has_room(findings_); }
  /// Where to go back to, as if nothing had been read since.
  struct Mark {
    std::uint32_t at = 0;
    std::size_t diagnostics = 0;
    std::size_t findings = 0;
  };
  Mark mark() const { return {at_, diagnostics_.size(), findings_.size()}; }
  void go_back(const Mark& mark) {
    at_ = mark.at;
    diagnostics_.resize(mark.diagnostics);
    findings_.resize(mark.findings);
  }
  void give_up() {
    gave_up_ = true;
    at_ = last_;
  }
  /// Reports a diagnostic about tokens that cannot be read, one or a range; always false.
  bool fail(diag::Diagnostic diagnostic, TokenRange range);
  bool fail(diag::Diagnostic diagnostic) {
    return fail(std::move(diagnostic), TokenRange{at_, at_ + 1});
  }

  diag::Loc loc(TokenRange range);
  /// Of the current token.
  diag::Loc loc_here() { return loc({at_, at_ + 1}); }
  /// The part of the instruction begun at `first` that a diagnostic is about.
  TokenRange focused(std::uint32_t first, diag::Focus focus) const;
  /// From token `first` up to the current position.
  TokenRange since(std::uint32_t first) const { return {first, at_}; }

  /// Hands every comment before token `until` to `sink`, once, with its index.
  template <typename Sink>
  void take_comments(std::uint32_t until, Sink&& sink) {
    while (comment_ < comments_.size() && comments_[comment_].token <= until) {
      sink(comments_[comment_], static_cast<std::uint32_t>(comment_));
      ++comment_;
    }
  }
  bool has_comments(std::uint32_t until) const {
    return comment_ < comments_.size() && comments_[comment_].token <= until;
  }
  std::string_view text(const Comment& comment) const {
    return source_.substr(comment.begin, comment.end - comment.begin);
  }
  /// Whether a comment stands on the line that the token before it ends on.
  bool is_trailing(const Comment& comment) const;

  /// After an error: past the `;` that ends the statement begun at `first`, or to the `}` that
  /// ends its block.
  void skip_statement(std::uint32_t first);
  /// After a `{` that cannot be entered: past the `}` that belongs to it.
  void skip_block(std::uint32_t open);
  /// The same as skip_statement at module level, where a whole `{...}` may have to be passed.
  void skip_item(std::uint32_t first);

 private:
  /// With a judge the limit is one for all.
  bool has_room(const diag::Diagnostics& list) const {
    const bool judged = options_.judge != nullptr;
    return (judged ? diagnostics_.size() + findings_.size() : list.size()) <
           options_.max_diagnostics;
  }
  void add(diag::Diagnostics& list, diag::Diagnostic&& diagnostic, TokenRange range);

  std::string_view source_;
  const Token* tokens_;
  std::uint32_t last_;
  const TokenBuffer& buffer_;
  const std::vector<Comment>& comments_;
  diag::LocationTable& locations_;
  diag::Diagnostics& diagnostics_;
  diag::Diagnostics& findings_;
  const ParseOptions& options_;
  std::size_t comment_ = 0;
  std::uint32_t at_ = 0;
  bool gave_up_ = false;
};

}  // namespace pyptx::syntax
