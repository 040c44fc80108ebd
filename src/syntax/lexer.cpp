// SPDX-License-Identifier: Apache-2.0
#include "pyptx/syntax/lexer.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "character.h"
#include "number.h"

namespace pyptx::syntax {
namespace {

using diag::Kind;

constexpr std::size_t kMaxReports = 100;

class Lexer {
 public:
  Lexer(std::string_view text, diag::LocationTable& locations, diag::Diagnostics& diagnostics)
      : text_(text), locations_(locations), diagnostics_(diagnostics) {}

  TokenBuffer run() {
    // Offsets are 32 bits wide; a text beyond that is refused rather than read in part.
    if (text_.size() >= std::numeric_limits<std::uint32_t>::max()) {
      diagnostics_.push_back(diag::Diagnostic(Kind::TextTooLarge, {}));
      text_ = {};
    }
    buffer_.tokens.reserve(text_.size() / 4 + 1);
    while (true) {
      skip_trivia();
      begin_ = at_;
      if (at_ == text_.size()) break;
      scan();
    }
    push(TokenKind::EndOfText);
    return std::move(buffer_);
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  std::string_view word() const { return text_.substr(begin_, at_ - begin_); }

  void push(TokenKind kind) {
    buffer_.tokens.push_back(
        {static_cast<std::uint32_t>(begin_), static_cast<std::uint32_t>(at_), kind});
  }

  void report(Kind kind, std::initializer_list<std::string> arguments, std::size_t begin,
              std::size_t end) {
    // A text full of noise is described well enough by its beginning.
    if (diagnostics_.size() == kMaxReports) return;
    diagnostics_.push_back(diag::Diagnostic(kind, arguments)
                               .at(locations_.text(static_cast<std::uint32_t>(begin),
                                                   static_cast<std::uint32_t>(end))));
  }

  void skip_trivia() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (is_blank(c)) {
        ++at_;
      } else if (c == '/' && peek(1) == '/') {
        skip_line(Comment::Kind::Line);
      } else if (c == '/' && peek(1) == '*') {
        skip_block();
      } else if (c == '#' && is_marker()) {
        skip_line(Comment::Kind::Marker);
      } else {
        return;
      }
    }
  }

  // A line marker, as a preprocessor leaves it: # 12 "file.cu"
  bool is_marker() const {
    std::size_t i = at_ + 1;
    while (i < text_.size() && (text_[i] == ' ' || text_[i] == '\t')) ++i;
    return i < text_.size() && is_digit(text_[i]);
  }

  void skip_line(Comment::Kind kind) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && !is_line_end(text_[at_])) ++at_;
    comment(kind, begin);
  }

  void skip_block() {
    const std::size_t begin = at_;
    const std::size_t close = text_.find("*/", at_ + 2);
    if (close == std::string_view::npos) {
      report(Kind::UnterminatedComment, {}, begin, begin + 2);
      at_ = text_.size();
    } else {
      at_ = close + 2;
    }
    comment(Comment::Kind::Block, begin);
  }

  void comment(Comment::Kind kind, std::size_t begin) {
    check_bytes(begin, at_);
    buffer_.comments.push_back({static_cast<std::uint32_t>(buffer_.tokens.size()),
                                static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at_),
                                kind});
  }

  // Comments and strings are ASCII like everything else; one report per run of bad bytes.
  void check_bytes(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (is_text_byte(text_[i])) continue;
      const std::size_t first = i;
      while (i < end && !is_text_byte(text_[i])) ++i;
      report(Kind::StrayByte, {byte_name(text_[first])}, first, i);
    }
  }

  void scan() {
    const char c = text_[at_];
    if (is_name_start(c)) {
      scan_name();
    } else if (is_digit(c) || (c == '.' && is_fraction())) {
      scan_number();
    } else if (c == '.' && is_name_byte(peek(1))) {
      scan_dot_word();
    } else if (c == '"') {
      scan_string();
    } else {
      scan_punctuation();
    }
  }

  void scan_name() {
    const char first = text_[at_++];
    while (is_name_byte(peek())) ++at_;
    if (at_ - begin_ > 1 || is_letter(first)) {
      push(TokenKind::Identifier);
    } else if (first == '_') {
      push(TokenKind::Underscore);
    } else if (first == '%') {
      push(TokenKind::Percent);
    } else {
      report(Kind::UnknownCharacter, {std::string(1, first)}, begin_, at_);
    }
  }

  // .global, and words joined by `::`, which allows no blanks: .shared::cta
  void scan_dot_word() {
    ++at_;
    while (is_name_byte(peek())) ++at_;
    while (peek() == ':' && peek(1) == ':' && is_name_byte(peek(2))) {
      at_ += 2;
      while (is_name_byte(peek())) ++at_;
    }
    push(TokenKind::DotWord);
  }

  // Tells .5 and .5e3 from modifiers that begin with a digit: .2d, .16x64b
  bool is_fraction() const {
    std::size_t i = at_ + 1;
    if (i >= text_.size() || !is_digit(text_[i])) return false;
    while (i < text_.size() && is_digit(text_[i])) ++i;
    if (i < text_.size() && (text_[i] == 'e' || text_[i] == 'E')) {
      std::size_t exponent = i + 1;
      if (exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-')) ++exponent;
      if (exponent < text_.size() && is_digit(text_[exponent])) {
        i = exponent;
        while (i < text_.size() && is_digit(text_[i])) ++i;
      }
    }
    return i >= text_.size() || !is_name_byte(text_[i]);
  }

  void scan_number() {
    at_ = number_end(text_, at_);
    const NumberShape shape = classify_number(word());
    if (!shape.problem.empty()) {
      report(Kind::MalformedNumber, {std::string(word()), std::string(shape.problem)}, begin_, at_);
    } else if (shape.kind == TokenKind::Integer && !integer_value(word())) {
      report(Kind::IntegerTooLarge, {std::string(word())}, begin_, at_);
    }
    push(shape.kind);
  }

  // No escapes: a backslash is a backslash, and only a quote ends a string.
  void scan_string() {
    const std::size_t close = text_.find('"', at_ + 1);
    if (close == std::string_view::npos) {
      report(Kind::UnterminatedString, {}, begin_, begin_ + 1);
      at_ = text_.size();
    } else {
      at_ = close + 1;
      check_bytes(begin_, at_);
    }
    push(TokenKind::String);
  }

  void scan_punctuation() {
    static constexpr auto kDouble = std::to_array<std::pair<std::string_view, TokenKind>>({
        {"<<", TokenKind::ShiftLeft},
        {">>", TokenKind::ShiftRight},
        {"<=", TokenKind::LessEqual},
        {">=", TokenKind::GreaterEqual},
        {"==", TokenKind::EqualEqual},
        {"!=", TokenKind::NotEqual},
        {"&&", TokenKind::AndAnd},
        {"||", TokenKind::OrOr},
    });
    const std::string_view two = text_.substr(at_, 2);
    for (const auto& [spelling, kind] : kDouble) {
      if (two != spelling) continue;
      at_ += 2;
      return push(kind);
    }
    const char c = text_[at_++];
    if (const TokenKind kind = punctuation(c); kind != TokenKind::EndOfText) return push(kind);
    if (is_text_byte(c)) return report(Kind::UnknownCharacter, {std::string(1, c)}, begin_, at_);
    while (at_ < text_.size() && !is_text_byte(text_[at_])) ++at_;
    report(Kind::StrayByte, {byte_name(c)}, begin_, at_);
  }

  static TokenKind punctuation(char c) {
    static constexpr std::string_view kBytes = ";,:{}()[]@=?!~+-*/<>&^|";
    static constexpr auto kKinds = std::to_array<TokenKind>(
        {TokenKind::Semicolon,   TokenKind::Comma,       TokenKind::Colon,
         TokenKind::BraceOpen,   TokenKind::BraceClose,  TokenKind::ParenOpen,
         TokenKind::ParenClose,  TokenKind::BracketOpen, TokenKind::BracketClose,
         TokenKind::At,          TokenKind::Equal,       TokenKind::Question,
         TokenKind::Exclamation, TokenKind::Tilde,       TokenKind::Plus,
         TokenKind::Minus,       TokenKind::Star,        TokenKind::Slash,
         TokenKind::Less,        TokenKind::Greater,     TokenKind::Ampersand,
         TokenKind::Caret,       TokenKind::Pipe});
    static_assert(kBytes.size() == kKinds.size());
    const std::size_t index = kBytes.find(c);
    return index == std::string_view::npos ? TokenKind::EndOfText : kKinds[index];
  }

  std::string_view text_;
  diag::LocationTable& locations_;
  diag::Diagnostics& diagnostics_;
  TokenBuffer buffer_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;
};

}  // namespace

TokenBuffer lex(std::string_view text, diag::LocationTable& locations,
                diag::Diagnostics& diagnostics) {
  return Lexer(text, locations, diagnostics).run();
}

}  // namespace pyptx::syntax
