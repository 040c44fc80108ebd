// SPDX-License-Identifier: Apache-2.0
#include "pyptx/syntax/lexer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pyptx::syntax {
namespace {

using Tokens = std::vector<std::pair<TokenKind, std::string>>;

struct Lexed {
  TokenBuffer buffer;
  diag::Diagnostics diagnostics;
  Tokens tokens;
};

Lexed run(std::string_view text) {
  Lexed lexed;
  diag::LocationTable locations;
  lexed.buffer = lex(text, locations, lexed.diagnostics);
  for (const Token& token : lexed.buffer.tokens) {
    if (token.kind == TokenKind::EndOfText) break;
    lexed.tokens.emplace_back(token.kind,
                              std::string(text.substr(token.begin, token.end - token.begin)));
  }
  return lexed;
}

std::vector<std::string> codes(const Lexed& lexed) {
  std::vector<std::string> all;
  for (const auto& diagnostic : lexed.diagnostics) all.emplace_back(diagnostic.code());
  return all;
}

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(Lexer, DotWordsAndFractionsAreToldApart) {
  EXPECT_THAT(run("x.2d.shared::cta .5 .5e-3 .16x64b .5e").tokens,
              ElementsAre(Pair(TokenKind::Identifier, "x"), Pair(TokenKind::DotWord, ".2d"),
                          Pair(TokenKind::DotWord, ".shared::cta"), Pair(TokenKind::Decimal, ".5"),
                          Pair(TokenKind::Decimal, ".5e-3"), Pair(TokenKind::DotWord, ".16x64b"),
                          Pair(TokenKind::DotWord, ".5e")));
}

TEST(Lexer, BlanksBreakDoubleColons) {
  EXPECT_THAT(run(".shared:: cta").tokens,
              ElementsAre(Pair(TokenKind::DotWord, ".shared"), Pair(TokenKind::Colon, ":"),
                          Pair(TokenKind::Colon, ":"), Pair(TokenKind::Identifier, "cta")));
}

TEST(Lexer, LiteralsOfEveryForm) {
  for (const std::string_view integer :
       {"0", "12", "0x1F", "0XfU", "017", "0b101", "0B1U", "12U", "18446744073709551615"}) {
    EXPECT_THAT(run(integer).tokens, ElementsAre(Pair(TokenKind::Integer, integer)));
    EXPECT_TRUE(run(integer).diagnostics.empty()) << integer;
  }
  for (const std::string_view decimal : {"1.5", "2.", "1e5", "1.5E-3", "1e+9", "8.7"}) {
    EXPECT_THAT(run(decimal).tokens, ElementsAre(Pair(TokenKind::Decimal, decimal)));
    EXPECT_TRUE(run(decimal).diagnostics.empty()) << decimal;
  }
  EXPECT_THAT(run("0f3F800000").tokens, ElementsAre(Pair(TokenKind::Float32, "0f3F800000")));
  EXPECT_THAT(run("0D3ff0000000000000").tokens,
              ElementsAre(Pair(TokenKind::Float64, "0D3ff0000000000000")));
}

TEST(Lexer, BadLiteralsAreOneTokenAndOneReport) {
  for (const std::string_view bad : {"0f3F80000", "0f3F8000000", "0d3FF", "1.0f", "09", "0b102",
                                     "0xG", "12u", "1.2.3", "1e", "0x"}) {
    EXPECT_EQ(run(bad).tokens.size(), 1U) << bad;
    EXPECT_THAT(codes(run(bad)), ElementsAre("PTX0005")) << bad;
  }
  EXPECT_THAT(codes(run("99999999999999999999")), ElementsAre("PTX0006"));
  EXPECT_THAT(codes(run("18446744073709551616 0x7fffffffffffffff0")),
              IsEmpty());  // cut, as by ptxas
  EXPECT_THAT(codes(run("0x80000000000000000")), ElementsAre("PTX0006"));
}

TEST(Lexer, NamesFollowTheManual) {
  EXPECT_THAT(
      run("%r1 $L__BB0_2 _foo a%b %a$b _").tokens,
      ElementsAre(Pair(TokenKind::Identifier, "%r1"), Pair(TokenKind::Identifier, "$L__BB0_2"),
                  Pair(TokenKind::Identifier, "_foo"), Pair(TokenKind::Identifier, "a"),
                  Pair(TokenKind::Identifier, "%b"), Pair(TokenKind::Identifier, "%a$b"),
                  Pair(TokenKind::Underscore, "_")));
  EXPECT_THAT(run("5 % 3").tokens,
              ElementsAre(Pair(TokenKind::Integer, "5"), Pair(TokenKind::Percent, "%"),
                          Pair(TokenKind::Integer, "3")));
  EXPECT_THAT(codes(run("$")), ElementsAre("PTX0002"));
}

TEST(Lexer, TriviaBelongsToTheNextToken) {
  const Lexed lexed = run("add // one\r\n/* two\n*/ # 12 \"f\"\n.s32;/*tail*/");
  ASSERT_EQ(lexed.buffer.comments.size(), 4U);
  EXPECT_EQ(lexed.buffer.comments[0].token, 1U);
  EXPECT_EQ(lexed.buffer.comments[2].kind, Comment::Kind::Marker);
  EXPECT_EQ(lexed.buffer.comments[3].token, 3U);
  EXPECT_THAT(lexed.tokens,
              ElementsAre(Pair(TokenKind::Identifier, "add"), Pair(TokenKind::DotWord, ".s32"),
                          Pair(TokenKind::Semicolon, ";")));
  EXPECT_EQ(lexed.buffer.comments[0].end - lexed.buffer.comments[0].begin, 6U);
}

TEST(Lexer, AnyLineEndEndsALineComment) {
  for (const std::string_view text : {"// c\nret", "// c\r\nret", "// c\rret"}) {
    EXPECT_THAT(run(text).tokens, ElementsAre(Pair(TokenKind::Identifier, "ret")));
  }
}

TEST(Lexer, BytesThatArePtxNowhere) {
  EXPECT_THAT(codes(run("ret\v;")), ElementsAre("PTX0001"));
  EXPECT_THAT(codes(run("// caf\xc3\xa9")), ::testing::IsEmpty());
  EXPECT_THAT(codes(run(std::string("// \0", 4))), ElementsAre("PTX0001"));
  EXPECT_THAT(codes(run("\"caf\xc3\xa9\"")), ElementsAre("PTX0001"));
  EXPECT_THAT(codes(run(std::string_view("a\0b", 3))), ElementsAre("PTX0001"));
  EXPECT_THAT(codes(run("`")), ElementsAre("PTX0002"));
  EXPECT_THAT(codes(run("# word")), ElementsAre("PTX0002"));
  EXPECT_THAT(codes(run("/* open")), ElementsAre("PTX0003"));
  EXPECT_THAT(codes(run("\"open")), ElementsAre("PTX0004"));
}

TEST(Lexer, EveryByteIsInATokenOrItsTrivia) {
  const std::string_view text = "  add.s32 \t%r1 ,\n[ %rd1 + 4 ];  // end\n";
  const Lexed lexed = run(text);
  std::string rebuilt;
  std::size_t at = 0;
  for (const Token& token : lexed.buffer.tokens) {
    rebuilt += text.substr(at, token.end - at);
    at = token.end;
  }
  EXPECT_EQ(rebuilt, text);
}

}  // namespace
}  // namespace pyptx::syntax
