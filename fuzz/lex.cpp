// SPDX-License-Identifier: Apache-2.0
//
// The lexer on any bytes: tokens and comments are in order, do not overlap, and nothing but blanks
// and reported bytes lies between them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pyptx/diag/loc.h"
#include "pyptx/syntax/lexer.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  pyptx::diag::LocationTable locations;
  pyptx::diag::Diagnostics diagnostics;
  const auto buffer = pyptx::syntax::lex(text, locations, diagnostics);
  require(!buffer.tokens.empty());
  require(buffer.tokens.back().kind == pyptx::syntax::TokenKind::EndOfText);
  std::size_t comment = 0;
  std::size_t end = 0;
  for (std::size_t i = 0; i < buffer.tokens.size(); ++i) {
    const auto& token = buffer.tokens[i];
    const auto gap = [&](std::size_t begin) {
      require(end <= begin);
      const std::string_view between = text.substr(end, begin - end);
      require(!diagnostics.empty() ||
              between.find_first_not_of(" \t\f\r\n") == std::string_view::npos);
    };
    for (; comment < buffer.comments.size() && buffer.comments[comment].token == i; ++comment) {
      gap(buffer.comments[comment].begin);
      end = buffer.comments[comment].end;
    }
    gap(token.begin);
    require(token.begin <= token.end && token.end <= size);
    end = token.end;
  }
  require(comment == buffer.comments.size());
  require(end == size);
  return 0;
}
