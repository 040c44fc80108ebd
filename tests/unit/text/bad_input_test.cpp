// SPDX-License-Identifier: Apache-2.0
//
// Texts that nobody should have to read, as `pyptx check` reads them: each ends in a diagnostic
// with a code and a place (or is right, where it only looks odd), in time and memory bounded by its
// size. `make test` takes texts of some kilobytes; `make bad-input` the same texts of 100 MB, and
// prints time and peak memory of each.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "pyptx/diag/render.h"
#include "pyptx/text/text.h"

namespace pyptx::text {
namespace {

constexpr std::string_view kHead = ".version 9.4\n.target sm_90a\n.address_size 64\n";
constexpr std::string_view kBody = ".entry k() {\n.reg .b32 %r<8>;\n.reg .pred %p<2>;\n";

std::string repeated(std::string_view part, std::size_t size) {
  std::string text;
  text.reserve(size + part.size());
  while (text.size() < size) text += part;
  return text;
}

std::string in_body(const std::string& text) {
  return std::string(kHead) + std::string(kBody) + text;
}

std::string noise(std::size_t size) {
  std::mt19937 random(7);
  std::string text(size, '\0');
  for (char& byte : text) byte = static_cast<char>(random());
  return text;
}

struct Case {
  const char* name;
  const char* code;  // of one of the errors; "" when there must be none
  std::function<std::string(std::size_t)> text;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"semicolons", "PTX0101", [](std::size_t n) { return repeated(";", n); }},
      {"semicolons_in_a_body", "PTX0101",
       [](std::size_t n) { return in_body(repeated(";", n) + "\nret; }\n"); }},
      {"blocks", "PTX0106", [](std::size_t n) { return in_body(repeated("{", n)); }},
      {"closed_blocks", "PTX0101",
       [](std::size_t n) { return in_body("ret; " + repeated("}", n)); }},
      {"parentheses", "PTX0111",
       [](std::size_t n) { return in_body("mov.u32 %r1, " + repeated("(", n)); }},
      {"brackets", "PTX0101",
       [](std::size_t n) { return in_body("ld.global.u32 %r1, " + repeated("[", n)); }},
      {"vectors", "PTX0111",
       [](std::size_t n) { return in_body("mov.b32 %r1, " + repeated("{", n)); }},
      {"initialisers", "PTX0101",
       [](std::size_t n) { return std::string(kHead) + ".global .b32 v[] = " + repeated("{", n); }},
      {"unclosed_comment", "PTX0003",
       [](std::size_t n) { return in_body("ret;\n/* " + repeated("no end\n", n)); }},
      {"unclosed_string", "PTX0004",
       [](std::size_t n) { return in_body(".pragma \"" + repeated("no end\n", n)); }},
      {"noise", "PTX0001", noise},
      {"noise_in_a_body", "PTX0001", [](std::size_t n) { return in_body(noise(n)); }},
      {"zero_bytes", "PTX0001", [](std::size_t n) { return in_body(std::string(n, '\0')); }},
      {"bytes_beyond_ascii", "PTX0001",
       [](std::size_t n) { return in_body(repeated("\xc3\x28\xff ret;\n", n)); }},
      {"unknown_opcodes", "PTX0201",
       [](std::size_t n) {
         return in_body(repeated("frobnicate.u32 %r1, %r2;\n", n) + "ret; }\n");
       }},
      {"undeclared_names", "PTX0103",
       [](std::size_t n) { return in_body(repeated("add.u32 %r1, %r2, %x;\n", n) + "ret; }\n"); }},
      {"wrong_operands", "PTX0206",
       [](std::size_t n) { return in_body(repeated("add.u32 %r1, %p1, 1;\n", n) + "ret; }\n"); }},
      {"digits", "PTX0006",
       [](std::size_t n) { return in_body("mov.u32 %r1, " + repeated("9", n) + "; ret; }\n"); }},
      {"hexadecimal_digits", "PTX0006",
       [](std::size_t n) { return in_body("mov.u32 %r1, 0x" + repeated("f", n) + "; ret; }\n"); }},
      {"digits_of_a_float", "PTX0005",
       [](std::size_t n) { return in_body("mov.b32 %r1, 0f" + repeated("0", n) + "; ret; }\n"); }},
      {"a_sum", "",
       [](std::size_t n) { return in_body("mov.u32 %r1, 1" + repeated("+1", n) + "; ret; }\n"); }},
      {"operands", "PTX0112",
       [](std::size_t n) {
         return in_body("mov.u32 %r1" + repeated(", %r2", n + 400000) + "; ret; }\n");
       }},
      {"a_name", "PTX0103",
       [](std::size_t n) { return in_body("bra " + repeated("a", n) + "; ret; }\n"); }},
      {"modifiers", "PTX0202",
       [](std::size_t n) {
         return in_body("add" + repeated(".foo", n) + ".s32 %r1, %r2, 1;\n}\n");
       }},
      {"registers", "", [](std::size_t) { return in_body(".reg .b32 %x<2147483647>; ret; }\n"); }},
      {"one_line", "PTX0101",
       [](std::size_t n) { return in_body(repeated("add.u32 %r1, %r2, 1; ", n) + "ret;; }\n"); }},
      {"one_line_of_errors", "PTX0103",
       [](std::size_t n) { return in_body(repeated("add.u32 %r1, %x, 1; ", n) + "ret; }\n"); }},
      {"carriage_returns", "",
       [](std::size_t n) {
         std::string text = in_body(repeated("add.u32 %r1, %r2, 1;\n", n) + "ret;\n}\n");
         for (char& byte : text) byte = byte == '\n' ? '\r' : byte;
         return text;
       }},
      {"blank", "PTX0101", [](std::size_t n) { return repeated(" \n", n); }},
      {"empty", "PTX0101", [](std::size_t) { return std::string(); }},
      {"comments", "PTX0101", [](std::size_t n) { return repeated("/**/", n); }},
      {"labels", "",
       [](std::size_t n) {
         std::string text;
         for (std::size_t i = 0; text.size() < n; ++i) text += "L" + std::to_string(i) + ":\n";
         return in_body(text + "ret; }\n");
       }},
      {"functions", "",
       [](std::size_t n) {
         std::string text(kHead);
         for (std::size_t i = 0; text.size() < n; ++i) {
           text += ".func f" + std::to_string(i) + "() { ret; }\n";
         }
         return text;
       }},
  };
  return all;
}

std::size_t text_bytes() {
  const char* chosen = std::getenv("PYPTX_BAD_INPUT_BYTES");
  return chosen == nullptr ? 20000 : static_cast<std::size_t>(std::atoll(chosen));
}

/// Peak of resident memory in megabytes since the last call of forget_peak().
double peak_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::atof(line.c_str() + 6) / 1024;
  }
  return 0;
}
void forget_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";
}

class BadInput : public testing::TestWithParam<Case> {};

TEST_P(BadInput, IsRefusedWithItsPlace) {
  const std::string text = GetParam().text(text_bytes());
  forget_peak();
  const double before = peak_megabytes();
  const auto begin = std::chrono::steady_clock::now();
  const Checked checked = check(text, "bad.ptx");
  const std::string shown = diag::render(checked.diagnostics, &checked.document.module().locations);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  if (std::getenv("PYPTX_BAD_INPUT_BYTES") != nullptr) {
    std::printf("%-22s %7.1f MB %8.2f s %9.0f MB  %s\n", GetParam().name,
                static_cast<double>(text.size()) / 1e6, taken.count(), peak_megabytes() - before,
                shown.substr(0, std::min<std::size_t>(shown.find('\n'), 90)).c_str());
    std::fflush(stdout);  // a run is long, and may be watched through a pipe
  }
  const std::string_view code = GetParam().code;
  EXPECT_EQ(checked.ok(), code.empty()) << shown.substr(0, 1000);
  if (code.empty()) return;
  ASSERT_FALSE(checked.diagnostics.empty());
  EXPECT_TRUE(std::ranges::any_of(checked.diagnostics, [&](const auto& one) {
    return one.code() == code;
  })) << shown.substr(0, 1000);
  EXPECT_LE(shown.size(), 100000U) << "what is shown does not grow with the text";
  for (const diag::Diagnostic& one : checked.diagnostics) {
    const auto place = checked.document.module().locations.resolve(one.loc, one.focus);
    ASSERT_TRUE(place) << one.message();
    EXPECT_GE(place->line, 1U);
    EXPECT_GE(place->column, 1U);
  }
}

INSTANTIATE_TEST_SUITE_P(Texts, BadInput, testing::ValuesIn(cases()),
                         [](const auto& one) { return one.param.name; });

// Also what the verifier alone sees: no prefix of a right text is right, unless only blanks miss.
TEST(BadInput, EveryPrefixIsRefused) {
  const std::string text = in_body(
      "LOOP:\n@%p1 bra LOOP;\n{ mov.b64 {%r1, %r2}, 1; }\ncall (%r3), f, (%r1);\nret;\n}\n");
  const std::string whole = std::string(kHead) +
                            ".func (.reg .b32 a) f(.reg .b32 b) { mov.b32 a, b; ret; }\n" +
                            text.substr(kHead.size());
  ASSERT_TRUE(check(whole).ok()) << diag::render(check(whole).diagnostics, nullptr);
  std::size_t refused = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Checked checked = check(std::string_view(whole).substr(0, size), "cut.ptx");
    for (const diag::Diagnostic& one : checked.diagnostics) {
      const auto place = checked.document.module().locations.resolve(one.loc, one.focus);
      EXPECT_TRUE(place && place->line >= 1 && place->column >= 1) << size << one.message();
    }
    if (!checked.ok()) ++refused;
  }
  // Whole are: the header with and without its line end, both again before the function's
  // successor.
  EXPECT_GE(refused + 8, whole.size());
}

}  // namespace
}  // namespace pyptx::text
