// SPDX-License-Identifier: Apache-2.0
//
// Golden messages: every lexical and syntax diagnostic, with its caret, and which of them leave the
// text readable. A test fails when a kind of the two groups has no golden here.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/diag/render.h"
#include "pyptx/syntax/parser.h"

namespace pyptx::syntax {
namespace {

constexpr std::string_view kHeader = ".version 8.7\n.target sm_90a\n.address_size 64\n";

struct Golden {
  std::string_view code;
  std::string line;    // goes into a body, or to module level when `module` is set
  std::string carets;  // below the line
  std::string message;
  bool module = false;
};

const std::vector<Golden>& goldens() {
  static const std::vector<Golden> all = {
      {"PTX0001", "ret;\v", "", "byte 0x0b is not allowed: PTX text is ASCII"},
      {"PTX0002", "add.s32 %r1, %r2, `;", "                  ^", "'`' has no meaning here"},
      {"PTX0003", "ret; /* open", "     ^^", "this comment is never closed"},
      {"PTX0004", ".pragma \"nounroll;", "        ^", "this string is never closed"},
      {"PTX0005", "mov.f32 %f1, 0f3F8000;", "             ^^^^^^^^",
       "'0f3F8000' is not a number: 0f is followed by exactly 8 hexadecimal digits"},
      {"PTX0005", "mov.u32 %r1, 089;", "             ^^^",
       "'089' is not a number: a leading 0 makes it octal, whose digits are 0 to 7"},
      {"PTX0006", "mov.u64 %rd1, 99999999999999999999;", "              ^^^^^^^^^^^^^^^^^^^^",
       "'99999999999999999999' does not fit in 64 bits"},
      {"PTX0008",
       ".nv_intermediate_source_section { .code_block { .ir_name: \"a\" .sourceFileName: 1 "
       ".source_begin\nabc",
       "", "this source text has no line '.source_end' after it", true},

      {"PTX0101", "add.s32 %r1, %r2", "", "expected ',' or ';', found 'ret'"},
      {"PTX0101", "ret;;", "    ^", "expected a statement, found ';'"},
      {"PTX0101", "@%p1 { ret; }", "     ^", "expected an instruction, found '{'"},
      {"PTX0101", "ld.global.u32 %r1, [%rd1-4];", "                        ^",
       "expected ']', found '-'"},
      {"PTX0101", ".reg .b32 12;", "          ^^", "expected the name of a register, found '12'"},
      {"PTX0101", ".entry (.param .u64 p) { }", "       ^",
       "expected the name of the function, found '('", true},
      {"PTX0101", ".visible .visible .global .b32 q;", "         ^^^^^^^^",
       "expected '.entry', '.func' or a state space, found '.visible'", true},
      {"PTX0101", ".entry k2(.param .u64 p,) { }", "                        ^",
       "expected '.param', found ')'", true},
      {"PTX0102", ".branchy 12;", "^^^^^^^^", "'.branchy' is not a directive that can stand here"},
      {"PTX0102", ".entry k2() .maxthreads 3 { }", "            ^^^^^^^^^^^",
       "'.maxthreads' is not a directive that can stand here", true},
      {"PTX0103", "add.s32 %r1, %r2, %r8;", "                  ^^^", "'%r8' is not declared here"},
      {"PTX0103", "bra NOWHERE;", "    ^^^^^^^", "'NOWHERE' is not declared here"},
      {"PTX0103", "@%q bra.uni OUT;", " ^^", "'%q' is not declared here"},
      {"PTX0104", ".reg .b32 a; .reg .f32 a;",
       "                       ^\n  |           - first declared here",
       "'a' is already declared in this scope"},
      {"PTX0104", "{ .reg .b32 %r<3>; .reg .b32 %r2; }",
       "                             ^^^\n  |             -- first declared here",
       "'%r2' is already declared in this scope"},
      {"PTX0104", "L: L: ret;", "   ^\n  | - first declared here",
       "'L' is already declared in this scope"},
      {"PTX0103", ".global .u64 ptr = other;", "                   ^^^^^",
       "'other' is not declared here", true},
      {"PTX0105", "mov.b32 %r1, %r2.b8;", "                ^^^",
       "the selector '.b8' cannot be represented"},
      {"PTX0106", "{ ret;", "", "this '{' is never closed"},
      {"PTX0107", "mov.u32 %r1, 4 / (2 - 2);", "             ^^^^^^^^^^^",
       "constant expression: division by zero"},
      {"PTX0107", "mov.u32 %r1, 1 + 2.0;", "             ^^^^^^^",
       "constant expression: integers and floating-point values do not mix"},
      {"PTX0107", "ld.global.u32 %r1, [%rd1+1.5];", "                         ^^^",
       "constant expression: an integer is needed here"},
      {"PTX0108", ".local .align 12 .b8 x[4];", "              ^^",
       ".align must be a power of two below 2^32, got 12"},
      {"PTX0108", ".entry k2() .reqntid 1, 2, 3, 4 { }", "            ^^^^^^^^^^^^^^^^^^^",
       ".reqntid must be given 1 to 3 values, got more", true},
      {"PTX0109", ".reg .bf16 h;", "     ^^^^^", "'.bf16' is not a type that a register may have"},
      {"PTX0109", ".global .pred p;", "        ^^^^^",
       "'.pred' is not a type that a variable may have", true},
      {"PTX0110", ".global .b32 v[2] = {1, 2, 3};", "                           ^",
       "initialiser of 'v': more than 2 values", true},
      {"PTX0110", ".global .f32 v = 1;", "                  ^",
       "initialiser of 'v': a floating-point value is needed", true},
      {"PTX0110", ".global .v2 .b32 v = {1};", "                       ^",
       "initialiser of 'v': a vector needs all of its 2 values", true},
      {"PTX0110", ".global .u8 v = 0xf0(v);", "                    ^",
       "initialiser of 'v': a mask is 0xff, 0xff00, 0xff0000, ...", true},
      {"PTX0111", "mov.u32 %r1, " + std::string(300, '(') + "1" + std::string(300, ')') + ";", "",
       "nesting is deeper than 200 levels"},
      {"PTX0112",
       "mov.b32 %r1, {" +
           [] {
             std::string list = "1";
             for (int i = 0; i < 70000; ++i) list += ",1";
             return list;
           }() +
           "};",
       "", "more than 65535 operands in one list"},
  };
  return all;
}

std::string text_of(const Golden& golden) {
  const std::string kernel =
      ".entry k {\n.reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<8>;\nOUT:\n";
  if (golden.module) return std::string(kHeader) + golden.line + "\n" + kernel + "ret;\n}\n";
  return std::string(kHeader) + kernel + golden.line + "\nret;\n}\n";
}

/// What is said first of a text: an error of syntax, else what was found about names and words.
diag::Diagnostic first_of(const ParseOutcome& outcome) {
  const auto& list = outcome.ok() ? outcome.module->findings : outcome.diagnostics;
  diag::Diagnostic first = list.empty() ? diag::Diagnostic{} : list.front();
  first.resolve(outcome.module->locations);
  return first;
}

TEST(Diagnostics, EveryGolden) {
  for (const Golden& golden : goldens()) {
    const std::string text = text_of(golden);
    const ParseOutcome outcome = parse_all(text, "g.ptx");
    const bool is_about_names = golden.code == "PTX0103" || golden.code == "PTX0104";
    ASSERT_EQ(outcome.ok(), is_about_names) << golden.line.substr(0, 80);
    const diag::Diagnostic diagnostic = first_of(outcome);
    EXPECT_EQ(diagnostic.code(), golden.code) << golden.line.substr(0, 80);
    EXPECT_EQ(diagnostic.message(), golden.message) << golden.line.substr(0, 80);
    if (golden.carets.empty()) continue;
    const std::string number = golden.module ? "4" : "7";
    const std::string margin(number.size(), ' ');
    const std::string shown =
        number + " | " + golden.line + "\n" + margin + " | " + golden.carets + "\n";
    const std::string rendered = diag::render(diagnostic, nullptr);
    EXPECT_NE(rendered.find(shown), std::string::npos) << rendered;
  }
}

TEST(Diagnostics, EveryKindOfTheTwoGroupsHasAGolden) {
  std::set<std::string_view> seen = {"PTX0007"};  // in golden_test.cpp, with a text of 4 GiB
  for (const Golden& golden : goldens()) seen.insert(golden.code);
  for (const diag::Kind kind : diag::all_kinds()) {
    const std::string_view code = diag::info(kind).code;
    // From PTX0130 on the verifier's; what is no error is not found by reading alone.
    if (code < "PTX0130" && diag::info(kind).severity == diag::Severity::Error) {
      EXPECT_TRUE(seen.contains(code)) << code << " " << diag::info(kind).name;
    }
  }
}

TEST(Diagnostics, AWholeRenderedMessage) {
  const ParseOutcome outcome = parse_all(
      ".version 8.7\n.target sm_90a\n.entry k {\n\t.reg .b32 a;\n\tadd.s33 a, a, 1;\n}\n", "k.ptx");
  ASSERT_TRUE(outcome.ok());
  const std::string rendered = diag::render(first_of(outcome), nullptr);
  EXPECT_NE(rendered.find("--> k.ptx:5:5\n"), std::string::npos) << rendered;
  EXPECT_NE(rendered.find("5 | \tadd.s33 a, a, 1;\n  | \t   ^^^^\n"), std::string::npos)
      << rendered;
}

TEST(Diagnostics, HeadersAreChecked) {
  const auto first = [](std::string_view text) {
    const ParseOutcome outcome = parse_all(text);
    if (outcome.ok() && outcome.module->findings.empty()) return std::string("none");
    return (outcome.ok() ? "found " : "") + std::string(first_of(outcome).code());
  };
  EXPECT_EQ(first(""), "PTX0101");
  EXPECT_EQ(first(".target sm_90a"), "PTX0101");
  EXPECT_EQ(first(".version 9 .target sm_90a"), "PTX0101");
  EXPECT_EQ(first(".version 77.0 .target sm_90a"), "found PTX0304");
  EXPECT_EQ(first(".version 8.7 .target sm_12345"), "found PTX0301");
  EXPECT_EQ(first(".version 8.7 .target sm_52, debug"), "found PTX0301");
  EXPECT_EQ(first(".version 8.7 .target sm_90a .address_size 16"), "PTX0108");
  EXPECT_EQ(first(".version 8.7 .target sm_90a .address_size 64"), "none");
}

TEST(Diagnostics, ReadingGoesOnAfterAnError) {
  const std::string text = std::string(kHeader) + R"(.entry a {
	.reg .b32 %r<4>;
	add.s32 %r1, {%r9, %r2}, 1;
	frobnicate %r1;
	mov.u32 %r1, 1
	mov.u32 %r2, 1;
	{ mov.u32 %r5, 0; }
	ret;
}
.global .b33 x;
.entry b { ret; }
)";
  const ParseOutcome outcome = parse_all(text);
  const auto codes = [](const diag::Diagnostics& list) {
    std::vector<std::string> all;
    for (const auto& diagnostic : list) all.emplace_back(diagnostic.code());
    return all;
  };
  EXPECT_EQ(codes(outcome.diagnostics), (std::vector<std::string>{"PTX0101", "PTX0109"}))
      << diag::render(outcome.diagnostics, &outcome.module->locations);
  EXPECT_EQ(codes(outcome.module->findings),
            (std::vector<std::string>{"PTX0103", "PTX0201", "PTX0103"}));
  EXPECT_EQ(outcome.module->functions.size(), 2U);
}

TEST(Diagnostics, TheLimitIsKept) {
  std::string text = std::string(kHeader) + ".entry a {\n";
  for (int i = 0; i < 1000; ++i) text += "frobnicate;\n";
  const ParseOutcome outcome = parse_all(text + "}");
  EXPECT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.module->findings.size(), 20U);
  EXPECT_EQ(outcome.module->functions.at(0)->unresolved.size(), 1000U);
  // A syntax error behind them is not lost among them.
  EXPECT_FALSE(parse_all(text + "; }").ok());
  for (int i = 0; i < 30; ++i) text += ";";
  EXPECT_EQ(parse_all(text + "}").diagnostics.size(), 20U);
}

}  // namespace
}  // namespace pyptx::syntax
