// SPDX-License-Identifier: Apache-2.0
#include "module/edit.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "errors.h"
#include "pyptx/text/text.h"
#include "text_bytes.h"

namespace pyptx::python {
namespace {

struct Change {
  diag::TextRange range;
  std::string text;
};

}  // namespace

ModuleObject read_module(const std::string& text, const std::string& file, bool recover) {
  syntax::Document document = [&] {
    const nb::gil_scoped_release release;
    return recover ? text::recover(text, file) : text::parse(text, file);
  }();
  // A text that is too large is not even kept.
  const diag::Diagnostics& found = document.diagnostics();
  const bool is_kept = found.empty() || found.front().kind != diag::Kind::TextTooLarge;
  if (!found.empty() && (!recover || !is_kept)) raise(found, &document.module().locations);
  return ModuleObject(std::move(document), recover);
}

ModuleObject edit_module(const ModuleObject& object,
                         const std::vector<std::pair<Part, nb::object>>& changes) {
  const DocumentPtr document = walked(object);
  std::vector<Change> sorted;
  for (const auto& [part, text] : changes) {
    if (part.document != document) throw nb::value_error("a part belongs to another module");
    sorted.push_back({part.range, to_bytes(text, "the text of a part")});
  }
  std::ranges::stable_sort(sorted, {}, [](const Change& one) { return one.range.begin; });
  const std::string_view before = document->text();
  std::string after;
  std::uint32_t at = 0;
  for (const Change& change : sorted) {
    if (change.range.begin < at) throw nb::value_error("two parts that are edited overlap");
    after += before.substr(at, change.range.begin - at);
    after += change.text;
    at = change.range.end;
  }
  after += before.substr(at);
  return read_module(after, std::string(document->module().locations.file()), object.is_recovered);
}

}  // namespace pyptx::python
