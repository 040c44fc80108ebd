// SPDX-License-Identifier: Apache-2.0
//
// The rules of whole modules, case by case: tests/files/modules/*.txt holds texts under headings
// "== ok", "== PTX0134" (the first finding's code) or "== warns PTX0139". The text under
// "== around" is put around those that follow, in the place of its line "@@". Each verdict is
// compared with that of ptxas where there is one; "== alone" cases are where the two differ, with
// the reason in a comment.
#include "pyptx/verify/module.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "judged.h"
#include "ptxas.h"

namespace pyptx::verify {
namespace {

namespace fs = std::filesystem;

struct Case {
  std::string file;
  std::string text;
  std::string before, after;
  std::string code;  // empty: nothing is found
  bool is_warning = false;
  bool is_compared = true;

  bool is_refused() const { return !code.empty() && !is_warning; }
};

Case heading(const std::string& file, const std::string& line) {
  Case parsed;
  parsed.file = file;
  std::istringstream words(line.substr(2));
  for (std::string word; words >> word;) {
    if (word == "warns") {
      parsed.is_warning = true;
    } else if (word == "alone") {
      parsed.is_compared = false;
    } else if (word != "ok") {
      parsed.code = word;
    }
  }
  return parsed;
}

std::vector<Case> read_cases() {
  std::vector<Case> cases;
  for (const auto& entry : fs::directory_iterator(fs::path(PYPTX_TEST_FILES) / "modules")) {
    std::ifstream in(entry.path());
    std::string before;
    std::string after;
    std::string* part = nullptr;
    for (std::string line; std::getline(in, line);) {
      if (line == "== around") {
        before.clear();
        after.clear();
        part = &before;
      } else if (line == "@@") {
        part = &after;
      } else if (line.starts_with("==")) {
        cases.push_back(heading(entry.path().filename().string(), line));
        cases.back().before = before;
        cases.back().after = after;
        part = &cases.back().text;
      } else if (part != nullptr && !line.starts_with("//")) {
        *part += line + "\n";
      }
    }
  }
  return cases;
}

std::string module_of(const Case& one) {
  const std::string text = one.before + one.text + one.after;
  return whole_module(text,
                      text.starts_with(".version") ? diag::Example::Module : diag::Example::Items);
}

TEST(Modules, EveryCase) {
  const std::vector<Case> cases = read_cases();
  EXPECT_GT(cases.size(), 200U);
  for (const Case& one : cases) {
    const Judged judged = judge_text(module_of(one));
    std::string first;
    for (const diag::Diagnostic& diagnostic : judged.diagnostics) {
      // These short texts read registers that they do not write, whatever else they are about.
      if (diagnostic.kind == diag::Kind::NeverWritten && one.code != diagnostic.code()) continue;
      if (first.empty()) first = diagnostic.code();
    }
    EXPECT_EQ(first, one.code) << one.file << "\n" << one.text << judged.summary();
    EXPECT_EQ(judged.has_errors(), one.is_refused()) << one.text << judged.summary();
  }
}

// Every case when PYPTX_CERTIFY is set; else some of them, since each is a process.
TEST(Modules, PtxasAgrees) {
  const std::size_t step = std::getenv("PYPTX_CERTIFY") != nullptr ? 1 : 16;
  const std::vector<Case> cases = read_cases();
  for (std::size_t i = 0; i < cases.size(); i += step) {
    const Case& one = cases[i];
    if (!one.is_compared) continue;
    const std::string text = module_of(one);
    const std::string target = judge_text(text).module->target.text();
    const std::string known = target == "sm_0" ? "sm_90a" : target;
    const auto asked = ask_ptxas(text, "compute_" + known.substr(3));
    if (!asked || asked->messages.find("Unsupported .version 9.4") != std::string::npos) {
      GTEST_SKIP() << "no ptxas for PTX ISA 9.4 here";
    }
    EXPECT_EQ(asked->messages.empty(), !one.is_refused()) << one.file << "\n"
                                                          << one.text << asked->messages;
  }
}

TEST(Modules, WhatIsNotWantedIsNotSaid) {
  const Judged judged = judge_text(
      whole_module(".entry k() .minnctapersm 2 { .reg .b32 a, b; add.s32 a, b, 1; ret; ret; }",
                   diag::Example::Items));
  EXPECT_TRUE(judged.has(diag::Kind::DirectiveIgnored)) << judged.summary();
  EXPECT_TRUE(judged.has(diag::Kind::NeverWritten)) << judged.summary();
  EXPECT_TRUE(judged.has(diag::Kind::Unreachable)) << judged.summary();
  ModuleOptions options;
  options.lints = false;
  EXPECT_EQ(verify_module(*judged.module, options).size(), 2U);
  options.warnings = false;
  EXPECT_TRUE(verify_module(*judged.module, options).empty());
  options = {};
  options.max_diagnostics = 1;
  EXPECT_EQ(verify_module(*judged.module, options).size(), 1U);
}

}  // namespace
}  // namespace pyptx::verify
