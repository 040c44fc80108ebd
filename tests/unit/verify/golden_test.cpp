// SPDX-License-Identifier: Apache-2.0
//
// Every kind of diagnostic that a text provokes, as it is shown (golden.h): beside
// tests/files/diagnostics/PTX0104_duplicate_name.ptx lie its rendering and its JSON.
#include "golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "judged.h"
#include "pyptx/diag/fix.h"

namespace pyptx::verify {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> goldens() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(golden::folder())) {
    if (entry.path().extension() == ".ptx") found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

/// Warnings and lints are left out where the golden is about an error.
Judged judge_golden(const fs::path& golden) {
  Judged judged = judge_text(golden::contents(golden), golden.filename().string());
  if (diag::info(golden::kind_of(golden)).severity == diag::Severity::Error) {
    std::erase_if(judged.diagnostics,
                  [](const auto& d) { return d.severity() != diag::Severity::Error; });
  }
  return judged;
}

TEST(Goldens, EveryRendering) {
  for (const fs::path& golden : goldens()) {
    const Judged judged = judge_golden(golden);
    golden::expect_rendering(golden.parent_path() / golden.stem(), judged.diagnostics,
                             &judged.module->locations);
  }
}

// A fix-it that names a place must make things better there.
TEST(Goldens, AppliedFixItsRemoveTheirFinding) {
  std::size_t applied = 0;
  for (const fs::path& golden : goldens()) {
    const Judged judged = judge_golden(golden);
    const auto fixits = diag::chosen_fixits(judged.diagnostics, false);
    if (fixits.empty()) continue;
    const diag::Fixed fixed = diag::apply_fixits(judged.module->locations, fixits);
    applied += fixed.applied;
    EXPECT_FALSE(judge_text(fixed.text).has(golden::kind_of(golden))) << golden << "\n"
                                                                      << fixed.text;
  }
  EXPECT_GE(applied, 4U);
}

}  // namespace
}  // namespace pyptx::verify
