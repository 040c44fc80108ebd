// SPDX-License-Identifier: Apache-2.0
//
// Every kind of diagnostic as it is shown: tests/files/diagnostics/PTX0104_duplicate_name.ptx has
// its rendering beside it as .txt and .json. PYPTX_UPDATE_GOLDENS=1 writes them anew. What no text
// can provoke (it takes a trace, a driver, a framework) is in elsewhere.txt with the test that
// does; a kind in neither fails.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "judged.h"
#include "pyptx/diag/fix.h"
#include "pyptx/diag/render.h"

namespace pyptx::verify {
namespace {

namespace fs = std::filesystem;

fs::path folder() { return fs::path(PYPTX_TEST_FILES) / "diagnostics"; }

std::string contents(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

std::vector<fs::path> goldens() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder())) {
    if (entry.path().extension() == ".ptx") found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

std::string code_of(const fs::path& golden) { return golden.filename().string().substr(0, 7); }

/// Warnings and lints are left out where the golden is about an error.
Judged judge_golden(const fs::path& golden) {
  const auto kind = diag::kind_from_code(code_of(golden));
  Judged judged = judge_text(contents(golden), golden.filename().string());
  if (kind && diag::info(*kind).severity == diag::Severity::Error) {
    std::erase_if(judged.diagnostics,
                  [](const auto& d) { return d.severity() != diag::Severity::Error; });
  }
  return judged;
}

void compare(const fs::path& golden, const char* extension, const std::string& shown) {
  fs::path expected = golden;
  expected.replace_extension(extension);
  if (std::getenv("PYPTX_UPDATE_GOLDENS") != nullptr) {
    std::ofstream(expected, std::ios::binary) << shown;
  }
  EXPECT_EQ(shown, contents(expected)) << expected;
}

TEST(Goldens, EveryRendering) {
  for (const fs::path& golden : goldens()) {
    const auto kind = diag::kind_from_code(code_of(golden));
    ASSERT_TRUE(kind) << golden;
    const Judged judged = judge_golden(golden);
    EXPECT_TRUE(judged.has(*kind)) << golden << "\n" << judged.summary();
    const diag::LocationTable& locations = judged.module->locations;
    compare(golden, ".txt", diag::render(judged.diagnostics, &locations));
    std::string lines;
    for (const diag::Diagnostic& diagnostic : judged.diagnostics) {
      lines += diag::to_json(diagnostic, &locations) + "\n";
    }
    compare(golden, ".json", lines);
  }
}

TEST(Goldens, EveryKindIsShownOrProvokedElsewhere) {
  std::set<std::string> covered;
  for (const fs::path& golden : goldens()) covered.insert(code_of(golden));
  // Shown by tests/unit/emu/golden_test.cpp, which can run them.
  for (const auto& entry : fs::directory_iterator(folder() / "emulator")) {
    covered.insert(code_of(entry.path()));
  }
  std::ifstream list(folder() / "elsewhere.txt");
  for (std::string code, test; list >> code >> test;) {
    const auto kind = diag::kind_from_code(code);
    ASSERT_TRUE(kind) << code;
    const std::string text = contents(fs::path(PYPTX_TEST_FILES) / ".." / ".." / test);
    const std::string name = "Kind::" + std::string(diag::info(*kind).name);
    EXPECT_TRUE(text.find(code) != std::string::npos || text.find(name) != std::string::npos)
        << test << " does not provoke " << code;
    EXPECT_TRUE(covered.insert(code).second) << code << " has a golden already";
  }
  for (const diag::Kind kind : diag::all_kinds()) {
    EXPECT_TRUE(covered.contains(std::string(diag::info(kind).code)))
        << diag::info(kind).code << " " << diag::info(kind).name << " is shown nowhere";
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
    const auto kind = diag::kind_from_code(code_of(golden));
    EXPECT_FALSE(judge_text(fixed.text).has(*kind)) << golden << "\n" << fixed.text;
  }
  EXPECT_GE(applied, 4U);
}

}  // namespace
}  // namespace pyptx::verify
