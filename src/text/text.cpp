// SPDX-License-Identifier: Apache-2.0
#include "pyptx/text/text.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "pyptx/diag/order.h"
#include "pyptx/syntax/lint.h"
#include "pyptx/syntax/printer.h"
#include "pyptx/verify/instruction.h"
#include "pyptx/verify/lint.h"
#include "pyptx/verify/module.h"
#include "pyptx/verify/names.h"

namespace pyptx::text {
namespace {

using diag::Diagnostic;
using diag::Diagnostics;

std::size_t limit(const CheckOptions& options) {
  return options.max_diagnostics == 0 ? std::numeric_limits<std::size_t>::max()
                                      : options.max_diagnostics;
}

bool is_error(const Diagnostic& diagnostic) {
  return diagnostic.severity() == diag::Severity::Error;
}

/// Codes below PTX0200 are about the text itself: what follows from a module that could not be read
/// as a whole would be guesswork.
bool is_unreadable(const Diagnostic& diagnostic) { return diagnostic.code() < "PTX0200"; }

/// What is found beyond single instructions.
void add_whole_module(const ir::Module& module, const CheckOptions& options, Diagnostics& found) {
  verify::ModuleOptions rules;
  rules.max_diagnostics = limit(options);
  rules.lints = options.lint;
  for (Diagnostic& one : verify::verify_module(module, rules)) found.push_back(std::move(one));
  if (!options.lint) return;
  for (Diagnostic& one : verify::lint(module)) found.push_back(std::move(one));
}

void cut(const CheckOptions& options, Diagnostics& found) {
  if (found.size() > limit(options)) {
    found.erase(found.begin() + static_cast<std::ptrdiff_t>(limit(options)), found.end());
  }
}

}  // namespace

bool Checked::ok() const { return std::ranges::none_of(diagnostics, is_error); }

syntax::Document parse(std::string_view text, std::string_view file) {
  return syntax::Document::read(text, file);
}

syntax::Document recover(std::string_view text, std::string_view file) {
  syntax::ParseOptions options;
  options.recover = true;
  options.max_diagnostics = CheckOptions{}.max_diagnostics;
  return syntax::Document::read(text, file, options);
}

Checked check(std::string_view text, std::string_view file, const CheckOptions& options) {
  verify::InstructionJudge judge;
  syntax::ParseOptions reading;
  reading.judge = &judge;
  reading.max_diagnostics = limit(options);
  Checked checked{syntax::Document::read(text, file, reading), {}};
  checked.diagnostics = checked.document.diagnostics();
  if (std::ranges::none_of(checked.diagnostics, is_unreadable)) {
    add_whole_module(checked.document.module(), options, checked.diagnostics);
    if (options.lint) {
      const syntax::Document& document = checked.document;
      for (Diagnostic& one : syntax::lint(document.tokens(), document.text())) {
        checked.diagnostics.push_back(std::move(one));
      }
    }
    diag::sort_by_place(checked.diagnostics, checked.document.module().locations);
    cut(options, checked.diagnostics);
  }
  return checked;
}

Diagnostics check(const ir::Module& module, const CheckOptions& options) {
  Diagnostics found = module.findings;
  if (std::ranges::any_of(found, is_unreadable) || !verify::has_known_header(module)) {
    diag::sort_by_place(found, module.locations);
    cut(options, found);
    return found;
  }
  for (Diagnostic& one : verify::check_names(module)) found.push_back(std::move(one));
  const bool has_names = found.size() == module.findings.size();
  verify::InstructionJudge judge;
  for (const auto& function : module.functions) {
    for (ir::Instruction instruction : function->instructions) {
      auto status = judge.judge(module, *function, instruction);
      if (!status) found.push_back(std::move(status.error()));
    }
  }
  if (has_names) add_whole_module(module, options, found);
  cut(options, found);
  return found;
}

Diagnostics check(const syntax::Document& document, const CheckOptions& options) {
  const diag::LocationTable& read = document.module().locations;
  Checked checked = check(syntax::print(document), read.file(), options);
  for (Diagnostic& one : checked.diagnostics) one.resolve(checked.document.module().locations);
  // A text may be right and say something else: a name that an edit gave is another's in places.
  if (checked.ok()) {
    for (Diagnostic& one : verify::check_names(document.module())) {
      one.resolve(read);
      checked.diagnostics.push_back(std::move(one));
    }
  }
  return std::move(checked.diagnostics);
}

std::string format(const syntax::Document& document) { return syntax::print(document.module()); }

}  // namespace pyptx::text
