// SPDX-License-Identifier: Apache-2.0
//
// Every kind of diagnostic has a golden (golden.h): its rendering as text and as JSON, kept by the
// test of the layer that reports it, or by tests/trace/test_diagnostic_goldens.py.
#include "golden.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace pyptx::diag {
namespace {

namespace fs = std::filesystem;

/// Where the goldens of each kind are, without extension.
std::map<Kind, fs::path> goldens() {
  std::map<Kind, fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(golden::folder())) {
    if (!entry.is_regular_file()) continue;
    const fs::path base = entry.path().parent_path() / entry.path().stem();
    const Kind kind = golden::kind_of(base);
    EXPECT_EQ(base.filename(), golden::name_of(kind)) << "is not named after its kind";
    EXPECT_EQ(found.try_emplace(kind, base).first->second, base) << "two goldens of one kind";
  }
  return found;
}

TEST(Goldens, EveryKindIsShown) {
  const std::map<Kind, fs::path> found = goldens();
  for (const Kind kind : all_kinds()) {
    const std::string code(info(kind).code);
    const auto at = found.find(kind);
    ASSERT_NE(at, found.end()) << code << " " << info(kind).name << " is shown nowhere";
    fs::path text = at->second;
    fs::path json = at->second;
    const std::string headline = std::string(diag::text(info(kind).severity)) + "[" + code + "]: ";
    EXPECT_NE(golden::contents(text += ".txt").find(headline), std::string::npos) << text;
    EXPECT_NE(golden::contents(json += ".json").find("{\"code\":\"" + code + "\""),
              std::string::npos)
        << json;
  }
}

}  // namespace
}  // namespace pyptx::diag
