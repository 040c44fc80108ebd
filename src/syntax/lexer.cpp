// SPDX-License-Identifier: Apache-2.0
#include "pyptx/syntax/lexer.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
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
// An integer of this many decimal digits fits in 64 bits whatever they are.
constexpr std::ptrdiff_t kSafeLength = 19;

/// What a byte begins.
enum class Start : std::uint8_t {
  Other,  // punctuation of two bytes, and bytes that begin nothing
  Blank,
  Letter,
  Mark,  // _ $ %: a name, or a token of one byte
  Digit,
  Dot,
  Slash,
  Hash,
  Quote,
  Single,  // a token of its own
};

struct StartTable {
  std::array<Start, 256> start{};
  std::array<TokenKind, 256> single{};
};

constexpr StartTable kStart = [] {
  StartTable table;
  const auto set = [&](char c, Start start) { table.start[static_cast<std::uint8_t>(c)] = start; };
  for (int c = 0; c < 256; ++c) {
    if (is_blank(static_cast<char>(c))) table.start[c] = Start::Blank;
    if (is_letter(static_cast<char>(c))) table.start[c] = Start::Letter;
    if (is_digit(static_cast<char>(c))) table.start[c] = Start::Digit;
  }
  for (const char c : {'_', '$', '%'}) set(c, Start::Mark);
  set('.', Start::Dot);
  set('/', Start::Slash);
  set('#', Start::Hash);
  set('"', Start::Quote);
  constexpr std::pair<char, TokenKind> kSingle[] = {
      {';', TokenKind::Semicolon},  {',', TokenKind::Comma},       {':', TokenKind::Colon},
      {'{', TokenKind::BraceOpen},  {'}', TokenKind::BraceClose},  {'(', TokenKind::ParenOpen},
      {')', TokenKind::ParenClose}, {'[', TokenKind::BracketOpen}, {']', TokenKind::BracketClose},
      {'@', TokenKind::At},         {'?', TokenKind::Question},    {'~', TokenKind::Tilde},
      {'+', TokenKind::Plus},       {'-', TokenKind::Minus},       {'*', TokenKind::Star},
      {'^', TokenKind::Caret},
  };
  for (const auto& [c, kind] : kSingle) {
    set(c, Start::Single);
    table.single[static_cast<std::uint8_t>(c)] = kind;
  }
  return table;
}();

class Lexer {
 public:
  Lexer(std::string_view text, diag::LocationTable& locations, diag::Diagnostics& diagnostics)
      : begin_(text.data()),
        end_(text.data() + text.size()),
        at_(begin_),
        token_(begin_),
        locations_(locations),
        diagnostics_(diagnostics) {}

  TokenBuffer run() {
    if (static_cast<std::size_t>(end_ - begin_) > kMaxTextBytes) {
      diagnostics_.push_back(diag::Diagnostic(Kind::TextTooLarge, {}).at(locations_.text(0, 0)));
      end_ = begin_;
    }
    // Compilers write four bytes per token, and three and a half in debugging sections.
    buffer_.tokens.reserve(static_cast<std::size_t>(end_ - begin_) / 3 + 2);
    while (at_ != end_) scan();
    token_ = at_;
    push(TokenKind::EndOfText);
    return std::move(buffer_);
  }

 private:
  bool is_next(char c, std::ptrdiff_t ahead = 0) const {
    return end_ - at_ > ahead && at_[ahead] == c;
  }
  bool is_next_name(std::ptrdiff_t ahead = 0) const {
    return end_ - at_ > ahead && is_name_byte(at_[ahead]);
  }
  std::uint32_t offset(const char* place) const {
    return static_cast<std::uint32_t>(place - begin_);
  }
  std::string_view word() const { return {token_, static_cast<std::size_t>(at_ - token_)}; }
  std::string_view rest() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }

  void push(TokenKind kind) { buffer_.tokens.push_back({offset(token_), offset(at_), kind}); }

  [[gnu::cold, gnu::noinline]] void report(Kind kind, std::initializer_list<std::string> arguments,
                                           const char* begin, const char* end) {
    // A text full of noise is described well enough by its beginning.
    if (diagnostics_.size() >= kMaxReports) return;
    diagnostics_.push_back(
        diag::Diagnostic(kind, arguments).at(locations_.text(offset(begin), offset(end))));
  }

  // Bytes that begin no token: reading goes on behind them, as behind a comment.
  [[gnu::cold, gnu::noinline]] void stray(Kind kind, std::initializer_list<std::string> arguments) {
    report(kind, arguments, token_, at_);
    trivia(Comment::Kind::Stray);
  }

  void trivia(Comment::Kind kind) {
    buffer_.comments.push_back(
        {static_cast<std::uint32_t>(buffer_.tokens.size()), offset(token_), offset(at_), kind});
  }

  void scan() {
    token_ = at_;
    const auto c = static_cast<std::uint8_t>(*at_);
    switch (kStart.start[c]) {
      case Start::Blank:
        ++at_;
        return;
      case Start::Letter:
        ++at_;
        skip_name();
        return push(TokenKind::Identifier);
      case Start::Mark:
        return scan_marked_name();
      case Start::Digit:
        return scan_number();
      case Start::Dot:
        return scan_dot();
      case Start::Slash:
        return scan_slash();
      case Start::Hash:
        return scan_hash();
      case Start::Quote:
        return scan_string();
      case Start::Single:
        ++at_;
        return push(kStart.single[c]);
      case Start::Other:
        return scan_other();
    }
  }

  void skip_name() {
    while (at_ != end_ && is_name_byte(*at_)) ++at_;
  }

  void scan_marked_name() {
    const char first = *at_++;
    skip_name();
    if (at_ - token_ > 1) {
      push(TokenKind::Identifier);
    } else if (first == '_') {
      push(TokenKind::Underscore);
    } else if (first == '%') {
      push(TokenKind::Percent);
    } else {
      stray(Kind::UnknownCharacter, {std::string(1, first)});
    }
  }

  // .global, and words joined by `::`, which allows no blanks: .shared::cta. A ratio goes on after
  // its colon: .sp::2:4
  void scan_dot() {
    if (!is_next_name(1)) {
      ++at_;
      return stray(Kind::UnknownCharacter, {"."});
    }
    if (is_digit(at_[1]) && is_fraction()) return scan_number();
    ++at_;
    skip_name();
    if (is_next(':')) skip_joined_words();
    push(TokenKind::DotWord);
    if (word() == ".source_begin") scan_raw_text();
  }

  void skip_joined_words() {
    bool is_joined = false;
    while (is_next(':') && is_next(':', 1) && is_next_name(2)) {
      is_joined = true;
      at_ += 2;
      skip_name();
    }
    const bool is_ratio = is_joined && is_digit(at_[-1]) && is_next(':') && end_ - at_ > 1;
    if (!is_ratio || !is_digit(at_[1])) return;
    ++at_;
    while (at_ != end_ && is_digit(*at_)) ++at_;
  }

  // Tells .5 and .5e3 from modifiers that begin with a digit: .2d, .16x64b
  bool is_fraction() const {
    const char* i = at_ + 1;
    const auto digits = [&] {
      while (i != end_ && is_digit(*i)) ++i;
    };
    digits();
    if (i != end_ && (*i == 'e' || *i == 'E')) {
      const char* const exponent = i++;
      if (i != end_ && (*i == '+' || *i == '-')) ++i;
      if (i == end_ || !is_digit(*i)) {
        i = exponent;
      } else {
        digits();
      }
    }
    return i == end_ || !is_name_byte(*i);
  }

  void scan_number() {
    // Most numbers are a few decimal digits.
    if (*at_ != '0' && *at_ != '.') {
      while (at_ != end_ && is_digit(*at_)) ++at_;
      const bool ends = at_ == end_ || (!is_name_byte(*at_) && *at_ != '.');
      if (ends && at_ - token_ <= kSafeLength) return push(TokenKind::Integer);
    }
    at_ = token_;
    at_ += number_end(rest(), 0);
    const NumberShape shape = classify_number(word());
    if (!shape.problem.empty()) {
      report(Kind::MalformedNumber, {shown(word()), std::string(shape.problem)}, token_, at_);
    } else if (shape.kind == TokenKind::Integer && !integer_value(word())) {
      report(Kind::IntegerTooLarge, {shown(word())}, token_, at_);
    }
    push(shape.kind);
  }

  // A message has no use for a megabyte of digits.
  static std::string shown(std::string_view text) {
    constexpr std::size_t kMost = 64;
    return text.size() <= kMost ? std::string(text) : std::string(text.substr(0, kMost)) + "...";
  }

  void scan_slash() {
    if (is_next('/', 1)) return scan_line(Comment::Kind::Line);
    if (is_next('*', 1)) return scan_block();
    ++at_;
    push(TokenKind::Slash);
  }

  void scan_line(Comment::Kind kind) {
    const std::size_t length = rest().find_first_of("\r\n");
    at_ = length == std::string_view::npos ? end_ : at_ + length;
    comment(kind);
  }

  void scan_block() {
    const std::size_t close = rest().find("*/", 2);
    if (close == std::string_view::npos) {
      report(Kind::UnterminatedComment, {}, token_, token_ + 2);
      at_ = end_;
    } else {
      at_ += close + 2;
    }
    comment(Comment::Kind::Block);
  }

  // ptxas skips what comments hold, whatever the bytes, but stops at a zero byte.
  void comment(Comment::Kind kind) {
    if (const auto* zero = static_cast<const char*>(
            std::memchr(token_, 0, static_cast<std::size_t>(at_ - token_)));
        zero != nullptr) {
      report(Kind::StrayByte, {byte_name(0)}, zero, zero + 1);
    }
    trivia(kind);
  }

  // A line marker, as a preprocessor leaves it: # 12 "file.cu" or #line 12 "file.cu"
  void scan_hash() {
    const auto blanks = [&](const char* i) {
      while (i != end_ && (*i == ' ' || *i == '\t')) ++i;
      return i;
    };
    const char* i = blanks(at_ + 1);
    if (end_ - i >= 4 && std::string_view(i, 4) == "line") i = blanks(i + 4);
    if (i != end_ && is_digit(*i)) return scan_line(Comment::Kind::Marker);
    ++at_;
    stray(Kind::UnknownCharacter, {"#"});
  }

  // Strings are ASCII like everything else; one report per run of bad bytes.
  void check_bytes(const char* begin, const char* end) {
    for (const char* i = begin; i != end; ++i) {
      if (is_text_byte(*i)) continue;
      const char* const first = i;
      while (i != end && !is_text_byte(*i)) ++i;
      report(Kind::StrayByte, {byte_name(*first)}, first, i);
      if (i == end) return;
    }
  }

  // No escapes: a backslash is a backslash, and only a quote ends a string.
  void scan_string() {
    const std::size_t close = rest().find('"', 1);
    if (close == std::string_view::npos) {
      report(Kind::UnterminatedString, {}, token_, token_ + 1);
      at_ = end_;
    } else {
      at_ += close + 1;
      check_bytes(token_, at_);
    }
    push(TokenKind::String);
  }

  // What follows .source_begin to the end of its line is left to the parser to refuse. The lines up
  // to one that is just `.source_end` are one token.
  void scan_raw_text() {
    const char* i = at_;
    while (i != end_ && is_blank(*i) && *i != '\n') ++i;
    if (i == end_ || *i != '\n') return;
    at_ = token_ = i + 1;
    while (at_ != end_) {
      std::string_view one = rest().substr(0, rest().find('\n'));
      const std::size_t length = one.size();
      while (!one.empty() && is_blank(one.back())) one.remove_suffix(1);
      while (!one.empty() && is_blank(one.front())) one.remove_prefix(1);
      if (one == ".source_end") {
        check_bytes(token_, at_);
        return push(TokenKind::RawText);
      }
      at_ += length + (length < rest().size() ? 1 : 0);
    }
    report(Kind::UnterminatedSource, {}, token_ - 1, token_);
    push(TokenKind::RawText);
  }

  void scan_other() {
    static constexpr std::pair<std::string_view, TokenKind> kOperators[] = {
        {"<<", TokenKind::ShiftLeft},  {">>", TokenKind::ShiftRight},
        {"<=", TokenKind::LessEqual},  {">=", TokenKind::GreaterEqual},
        {"==", TokenKind::EqualEqual}, {"!=", TokenKind::NotEqual},
        {"&&", TokenKind::AndAnd},     {"||", TokenKind::OrOr},
        {"<", TokenKind::Less},        {">", TokenKind::Greater},
        {"=", TokenKind::Equal},       {"!", TokenKind::Exclamation},
        {"&", TokenKind::Ampersand},   {"|", TokenKind::Pipe},
    };
    for (const auto& [spelling, kind] : kOperators) {
      if (!rest().starts_with(spelling)) continue;
      at_ += spelling.size();
      return push(kind);
    }
    const char c = *at_++;
    if (is_text_byte(c)) return stray(Kind::UnknownCharacter, {std::string(1, c)});
    while (at_ != end_ && !is_text_byte(*at_)) ++at_;
    stray(Kind::StrayByte, {byte_name(c)});
  }

  const char* begin_;
  const char* end_;
  const char* at_;
  const char* token_;  // where the current token begins
  diag::LocationTable& locations_;
  diag::Diagnostics& diagnostics_;
  TokenBuffer buffer_;
};

}  // namespace

TokenBuffer lex(std::string_view text, diag::LocationTable& locations,
                diag::Diagnostics& diagnostics) {
  return Lexer(text, locations, diagnostics).run();
}

}  // namespace pyptx::syntax
