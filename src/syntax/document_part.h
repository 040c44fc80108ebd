// SPDX-License-Identifier: Apache-2.0
//
// What the editing and the printing of documents both know of parts and their tokens.
#pragma once

#include "pyptx/ir/module.h"
#include "pyptx/syntax/token.h"

namespace pyptx::syntax {

/// Whether the range of such a part counts comments: those, line markers and stray bytes.
template <typename Kind>
bool is_comment(Kind kind) {
  return kind == Kind::Comment || kind == Kind::BlockComment || kind == Kind::LineMarker ||
         kind == Kind::Stray;
}

/// Whether the next part shares the declaration of this one: .reg .b32 a, b;
template <typename Part>
bool is_continued(const TokenBuffer& tokens, const Part& part) {
  return !is_comment(part.kind) && part.kind != decltype(part.kind)::Error &&
         !part.tokens.empty() && tokens.tokens[part.tokens.last - 1].kind == TokenKind::Comma;
}

}  // namespace pyptx::syntax
