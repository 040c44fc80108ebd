// SPDX-License-Identifier: Apache-2.0
#include "availability.h"

namespace pyptx::verify {

bool is_available(const ir::Module& module, const isa::Availability& needs) {
  return needs.admits(module.target) && needs.version <= module.version &&
         module.version <= needs.last;
}

diag::Diagnostic unavailable(const ir::Module& module, const isa::Availability& needs,
                             const std::string& what, VersionMode mode) {
  const bool is_open = mode == VersionMode::Lowest;
  const std::string version =
      is_open ? module.target.minimum_version().text() + " or later" : module.version.text();
  const auto finding = [&](diag::Kind kind, std::string needed, std::string present) {
    diag::Diagnostic diagnostic(kind, {what, std::move(needed), std::move(present)});
    diagnostic->needed = {needs.version.text(), needs.targets.empty() ? "" : needs.targets_text()};
    diagnostic->present = {version, module.target.text()};
    return diagnostic;
  };
  if (!needs.admits(module.target)) {
    auto diagnostic = finding(diag::Kind::TargetTooLow, needs.targets_text(), module.target.text());
    if (is_open) diagnostic->present.version.clear();
    return diagnostic;
  }
  if (is_open || needs.last < module.version) {
    auto diagnostic = finding(diag::Kind::VersionTooHigh, needs.last.text(), version);
    diagnostic->needed.version += " to " + needs.last.text();
    return diagnostic;
  }
  return finding(diag::Kind::VersionTooLow, needs.version.text(), version);
}

}  // namespace pyptx::verify
