// SPDX-License-Identifier: Apache-2.0
#include "availability.h"

namespace pyptx::verify {
namespace {

diag::Diagnostic worded(const ir::Module& module, const isa::Availability& needs,
                        const std::string& what) {
  if (!needs.admits(module.target)) {
    return {diag::Kind::TargetTooLow, {what, needs.targets_text(), module.target.text()}};
  }
  if (needs.last < module.version) {
    return {diag::Kind::VersionTooHigh, {what, needs.last.text(), module.version.text()}};
  }
  return {diag::Kind::VersionTooLow, {what, needs.version.text(), module.version.text()}};
}

}  // namespace

diag::Diagnostic unavailable(const ir::Module& module, const isa::Availability& needs,
                             const std::string& what) {
  diag::Diagnostic diagnostic = worded(module, needs, what);
  diagnostic.needed = {needs.version.text(), needs.targets.empty() ? "" : needs.targets_text()};
  diagnostic.present = {module.version.text(), module.target.text()};
  return diagnostic;
}

}  // namespace pyptx::verify
