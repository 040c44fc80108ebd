// SPDX-License-Identifier: Apache-2.0
//
// A text as `pyptx check` sees it: read, every instruction judged, the whole module verified
// and linted.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/diag/explain.h"
#include "pyptx/ir/module.h"
#include "pyptx/syntax/lint.h"
#include "pyptx/syntax/parser.h"
#include "pyptx/verify/instruction.h"
#include "pyptx/verify/lint.h"
#include "pyptx/verify/module.h"

namespace pyptx::verify {

struct Judged {
  std::shared_ptr<ir::Module> module;
  diag::Diagnostics diagnostics;

  bool has(diag::Kind kind) const {
    return std::ranges::any_of(diagnostics, [&](const auto& d) { return d.kind == kind; });
  }
  bool has_errors() const {
    return std::ranges::any_of(diagnostics,
                               [](const auto& d) { return d.severity() == diag::Severity::Error; });
  }
  /// Codes and messages, a line each.
  std::string summary() const {
    std::string text;
    for (const diag::Diagnostic& diagnostic : diagnostics) {
      text += std::string(diagnostic.code()) + " " + diagnostic.message() + "\n";
    }
    return text;
  }
};

inline Judged judge_text(std::string_view text, std::string_view file = "test.ptx") {
  InstructionJudge judge;
  syntax::ParseOptions options;
  options.judge = &judge;
  auto outcome = syntax::parse_all(text, file, options);
  Judged judged{std::move(outcome.module), std::move(outcome.diagnostics)};
  for (diag::Diagnostic& diagnostic : verify_module(*judged.module)) {
    judged.diagnostics.push_back(std::move(diagnostic));
  }
  for (diag::Diagnostic& diagnostic : lint(*judged.module)) {
    judged.diagnostics.push_back(std::move(diagnostic));
  }
  for (diag::Diagnostic& diagnostic :
       syntax::lint(*outcome.tokens, judged.module->locations.text())) {
    judged.diagnostics.push_back(std::move(diagnostic));
  }
  return judged;
}

/// `text` made a module: what an example leaves out is put around it.
inline std::string whole_module(std::string_view text, diag::Example example) {
  const std::string header = ".version 9.4\n.target sm_90a\n.address_size 64\n";
  const std::string kernel =
      ".global .align 16 .b8 gmem[64];\n"
      ".shared .align 16 .b8 smem[64];\n"
      ".entry k(.param .b32 param0) {\n"
      ".reg .pred %p<4>; .reg .b16 %rs<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
      ".reg .f32 %f<4>; .reg .f64 %fd<4>;\n";
  if (example == diag::Example::Module) return std::string(text);
  if (example == diag::Example::Items) return header + std::string(text) + "\n";
  return header + kernel + std::string(text) + "\nret;\n}\n";
}

}  // namespace pyptx::verify
