// SPDX-License-Identifier: Apache-2.0
//
// Any bytes, judged: instructions as they are read, then the module as a whole, also the one that a
// recovering parser makes of them. Whatever is found can be rendered, as text and as JSON.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "pyptx/diag/render.h"
#include "pyptx/syntax/parser.h"
#include "pyptx/verify/instruction.h"
#include "pyptx/verify/module.h"

namespace {

void show(std::span<const pyptx::diag::Diagnostic> diagnostics,
          const pyptx::diag::LocationTable& locations) {
  for (const auto& diagnostic : diagnostics) {
    if (pyptx::diag::render(diagnostic, &locations).empty()) std::abort();
    if (pyptx::diag::to_json(diagnostic, &locations).empty()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  pyptx::verify::InstructionJudge judge;
  pyptx::syntax::ParseOptions options;
  options.judge = &judge;
  const auto outcome = pyptx::syntax::parse_all(text, "fuzz.ptx", options);
  show(outcome.diagnostics, outcome.module->locations);
  show(pyptx::verify::verify_module(*outcome.module), outcome.module->locations);

  pyptx::syntax::ParseOptions recovering;
  recovering.recover = true;
  const auto recovered = pyptx::syntax::parse_all(text, "fuzz.ptx", recovering);
  show(recovered.diagnostics, recovered.module->locations);
  show(recovered.module->findings, recovered.module->locations);
  show(pyptx::verify::verify_module(*recovered.module), recovered.module->locations);
  return 0;
}
