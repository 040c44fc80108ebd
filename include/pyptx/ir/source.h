// SPDX-License-Identifier: Apache-2.0
//
// What a part of a module remembers of the text it was read from: which tokens, and whether they
// still say what the part says. The bytes are the token buffer's (syntax/token.h).
#pragma once

#include <cstdint>

namespace pyptx::ir {

/// Tokens [first, last); empty when nobody read the part from a text.
struct TokenRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  bool empty() const { return first == last; }
  bool operator==(const TokenRange&) const = default;
};

/// Which tokens a part was read from.
struct Mark {
  /// Changed since it was read: printed anew in the place of its tokens.
  bool edited = false;
  /// Of a comment: it stands on the line that the previous part ends on.
  bool trailing = false;
  /// Of a comment: it was found inside the part that follows it.
  bool inner = false;
};

}  // namespace pyptx::ir
