// SPDX-License-Identifier: Apache-2.0
//
// Any bytes come back from a document as they were, also from one that recovers. Where they are
// read without a problem, the canonical print is read without one too, and prints as itself.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "pyptx/syntax/document.h"
#include "pyptx/syntax/printer.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

/// Everything there is, read: it comes back too, and is as broken as before.
void recovered(std::string_view text, bool is_right) {
  pyptx::syntax::ParseOptions options;
  options.recover = true;
  const auto document = pyptx::syntax::Document::read(text, "<ptx>", options);
  require(pyptx::syntax::print(document) == text);
  require(document.diagnostics().empty() == is_right);
  for (const auto& item : document.module().items) {
    require(document.range(item).end <= text.size());
    if (item.kind != pyptx::ir::ItemKind::Function) continue;
    for (const auto& statement : document.module().functions[item.index]->body) {
      require(document.range(statement).end <= text.size());
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = pyptx::syntax::Document::read(text);
  require(pyptx::syntax::print(document) == text);
  recovered(text, document.diagnostics().empty());
  const std::string canonical = pyptx::syntax::print(document.module());
  if (!document.diagnostics().empty()) return 0;
  const auto again = pyptx::syntax::Document::read(canonical);
  require(again.diagnostics().empty());
  require(pyptx::syntax::print(again.module()) == canonical);
  return 0;
}
