// SPDX-License-Identifier: Apache-2.0
#include "pyptx/syntax/lint.h"

#include <cstdint>
#include <string>

#include "number.h"

namespace pyptx::syntax {
namespace {

using diag::Diagnostic;
using diag::Focus;
using diag::Kind;

constexpr std::size_t kFewestCutDigits = 17;  // of 0x10000000000000000, without its prefix
constexpr std::size_t kMostShown = 64;

std::string_view text_of(const Token& token, std::string_view text) {
  return text.substr(token.begin, token.end - token.begin);
}

}  // namespace

diag::Diagnostics lint(const TokenBuffer& buffer, std::string_view text) {
  diag::Diagnostics findings;
  const auto& tokens = buffer.tokens;
  for (std::uint32_t i = 0; i < tokens.size(); ++i) {
    const diag::Loc loc = diag::LocationTable::token(i);
    if (tokens[i].kind == TokenKind::Integer &&
        tokens[i].end - tokens[i].begin >= kFewestCutDigits) {
      const std::string_view literal = text_of(tokens[i], text);
      const auto value = integer_value(literal);
      if (!value || !value->is_cut) continue;
      findings.push_back(Diagnostic(Kind::IntegerCut, {std::string(literal.substr(0, kMostShown)),
                                                       std::to_string(value->bits)})
                             .at(loc));
    } else if (tokens[i].kind == TokenKind::DotWord && i > 0 &&
               text_of(tokens[i], text) == ".align" && text_of(tokens[i - 1], text) == ".reg") {
      findings.push_back(
          Diagnostic(Kind::DirectiveIgnored, {"'.align'", "a register has no address"})
              .at(loc, {Focus::Part::Opcode, 0})
              .see("register-state-space"));
    }
  }
  return findings;
}

}  // namespace pyptx::syntax
