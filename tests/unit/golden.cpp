// SPDX-License-Identifier: Apache-2.0
#include "golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "pyptx/diag/render.h"

namespace pyptx::golden {
namespace {

namespace fs = std::filesystem;

void compare(fs::path expected, const char* extension, const std::string& shown) {
  expect_text(expected += extension, shown);
}

}  // namespace

void expect_text(const fs::path& expected, const std::string& shown) {
  if (std::getenv("PYPTX_UPDATE_GOLDENS") != nullptr) {
    fs::create_directories(expected.parent_path());
    std::ofstream(expected, std::ios::binary) << shown;
  }
  EXPECT_EQ(shown, contents(expected)) << expected;
}

fs::path folder(std::string_view name) {
  return fs::path(PYPTX_TEST_FILES) / "diagnostics" / fs::path(name);
}

std::string contents(const fs::path& file) {
  std::ostringstream out;
  out << std::ifstream(file, std::ios::binary).rdbuf();
  return out.str();
}

std::string name_of(diag::Kind kind) {
  std::string name(diag::info(kind).code);
  for (const char letter : diag::info(kind).name) {
    if (std::isupper(static_cast<unsigned char>(letter)) != 0) name += '_';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return name;
}

diag::Kind kind_of(const fs::path& golden) {
  const std::string code = golden.filename().string().substr(0, 7);
  const auto kind = diag::kind_from_code(code);
  EXPECT_TRUE(kind) << golden << " is named after no diagnostic";
  return kind.value_or(diag::Kind{});
}

std::string without_addresses(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    if (text.compare(at, 2, "0x") == 0) {
      end = text.find_first_not_of("0123456789abcdefABCDEF", at + 2);
      end = std::min(end, text.size());
    }
    if (end >= at + 11) {
      out += "0x...";
      at = end;
    } else {
      out += text[at++];
    }
  }
  return out;
}

void expect_rendering(const fs::path& golden, std::span<const diag::Diagnostic> findings,
                      const diag::LocationTable* table) {
  const diag::Kind kind = kind_of(golden);
  const std::string text = diag::render(findings, table);
  EXPECT_TRUE(std::ranges::any_of(findings, [&](const auto& d) { return d.kind == kind; }))
      << golden << "\n"
      << text;
  std::string lines;
  for (const diag::Diagnostic& finding : findings) lines += diag::to_json(finding, table) + "\n";
  compare(golden, ".txt", without_addresses(text));
  compare(golden, ".json", without_addresses(lines));
}

void Folder::expect(const diag::Diagnostic& finding, const diag::LocationTable* table) {
  const std::string name = name_of(finding.kind);
  EXPECT_TRUE(seen_.insert(name).second) << name << " is shown twice";
  expect_rendering(path_ / name, {&finding, 1}, table);
}

void Folder::expect_complete() const {
  std::set<std::string> there;
  for (const auto& entry : fs::directory_iterator(path_)) there.insert(entry.path().stem());
  EXPECT_EQ(there, seen_) << path_;
}

}  // namespace pyptx::golden
