// SPDX-License-Identifier: Apache-2.0
//
// From a token to the part of the text that begins there: the whole statement, or the operand,
// modifier or guard that a diagnostic is about. Found again by looking at the tokens, so that
// nothing has to be stored for the statements that nobody complains about.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "pyptx/diag/loc.h"
#include "pyptx/syntax/token.h"

namespace pyptx::syntax {

/// The tokens of the statement that begins with token `first`, narrowed to `focus`.
TokenRange statement_tokens(const TokenBuffer& buffer, std::uint32_t first, diag::Focus focus);

/// Answers a LocationTable about the tokens it shares.
class BufferExtents final : public diag::TokenExtents {
 public:
  explicit BufferExtents(std::shared_ptr<const TokenBuffer> buffer) : buffer_(std::move(buffer)) {}
  diag::TextRange extent(std::uint32_t token, diag::Focus focus) const override;

 private:
  std::shared_ptr<const TokenBuffer> buffer_;
};

}  // namespace pyptx::syntax
