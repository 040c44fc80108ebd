// SPDX-License-Identifier: Apache-2.0
#include "pyptx/text/text.h"

#include <gmock/gmock.h>

#include <string>

namespace pyptx::text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::string_view kTextHead = ".version 8.0\n.target sm_90a\n.address_size 64\n";

std::string module_of(const std::string& body) {
  return std::string(kTextHead) +
         ".visible .entry k()\n{\n\t.reg .u32 %r<4>;\n\t.reg .f32 %f<4>;\n"
         "\tmov.u32 %r0, 1;\n\tmov.f32 %f0, 0f3F800000;\n" +
         body + "\tret;\n}\n";
}

std::vector<std::string> codes(const diag::Diagnostics& found) {
  std::vector<std::string> texts;
  for (const diag::Diagnostic& one : found) texts.emplace_back(one.code());
  return texts;
}

TEST(TextTest, GoodTextHasNoFindingsAndComesBack) {
  const std::string text = module_of("\tadd.u32  %r1, %r0, 1; // kept\r\n");
  const Checked checked = check(text);
  EXPECT_THAT(codes(checked.diagnostics), IsEmpty());
  EXPECT_TRUE(checked.ok());
  EXPECT_EQ(print(checked.document), text);
}

TEST(TextTest, FindingsOfAllLayersComeInTheOrderOfTheText) {
  const std::string text = module_of(
      "\tadd.u33 %r1, %r0, 1;\n"
      "\tbra nowhere;\n"
      "\tadd.f32 %f1, %r0, %f0;\n");
  EXPECT_THAT(codes(check(text).diagnostics), ElementsAre("PTX0202", "PTX0103", "PTX0206"));
}

TEST(TextTest, LintsAreFoundOnlyWhenAskedFor) {
  const std::string text = module_of("\tadd.f32.rn %f1, %f0, %f0;\n");
  EXPECT_THAT(check(text).diagnostics, IsEmpty());
  const Checked linted = check(text, "<ptx>", {.lint = true});
  EXPECT_THAT(linted.diagnostics, SizeIs(1));
  EXPECT_TRUE(linted.ok());
  EXPECT_EQ(linted.diagnostics[0].severity(), diag::Severity::Lint);
  const std::string unreachable = module_of("\tret;\n\tmov.u32 %r1, 1;\n");
  EXPECT_THAT(check(unreachable).diagnostics, IsEmpty());
  EXPECT_THAT(codes(check(unreachable, "<ptx>", {.lint = true}).diagnostics),
              ElementsAre("PTX0415"));
  const std::string cut = module_of("\tmov.u32 %r1, 18446744073709551617;\n");
  EXPECT_THAT(check(cut).diagnostics, IsEmpty());
  EXPECT_THAT(codes(check(cut, "<ptx>", {.lint = true}).diagnostics), ElementsAre("PTX0009"));
}

TEST(TextTest, TheLimitHolds) {
  std::string body;
  for (int i = 0; i < 50; ++i) body += "\tadd.u33 %r1, %r0, 1;\n";
  EXPECT_THAT(check(module_of(body), "<ptx>", {.max_diagnostics = 7}).diagnostics, SizeIs(7));
  EXPECT_THAT(check(module_of(body), "<ptx>", {.max_diagnostics = 0}).diagnostics, SizeIs(50));
}

TEST(TextTest, AModuleIsVerifiedWithoutItsText) {
  const syntax::Document document = parse(module_of("\tadd.f32 %f1, %r0, %f0;\n"));
  EXPECT_THAT(document.diagnostics(), IsEmpty());
  EXPECT_THAT(codes(check(document.module())), ElementsAre("PTX0206"));
}

// Each is read as it stands: reading says nothing, checking and verifying the same.
TEST(TextTest, NamesAndWordsAreJudgedNotParsed) {
  const auto expect = [](const std::string& text, const char* code) {
    const syntax::Document document = parse(text);
    EXPECT_THAT(document.diagnostics(), IsEmpty()) << text;
    EXPECT_EQ(print(document), text);
    EXPECT_THAT(codes(check(text).diagnostics), ElementsAre(code)) << text;
    EXPECT_THAT(codes(check(document)), ElementsAre(code)) << text;
    EXPECT_THAT(codes(check(document.module())), ElementsAre(code)) << text;
    const std::string canonical = format(document);
    EXPECT_EQ(format(parse(canonical)), canonical);
  };
  expect(module_of("\tadd.u32 %r1, %r0, %x;\n"), "PTX0103");
  expect(module_of("\t@!%q mov.u32 %r1, 1;\n"), "PTX0103");
  expect(module_of("\tld.global.u32 %r1, [table+-4];\n"), "PTX0103");
  expect(module_of("\tmov.b32 d[3], {!a, -b.b0, c.x, e+0};\n"), "PTX0103");
  expect(module_of("\tcall (%r1), nothing, (%r0);\n"), "PTX0103");
  expect(module_of("\tL: .branchtargets M0<3>;\n"), "PTX0103");
  expect(module_of("\tC: .calltargets f;\n"), "PTX0103");
  expect(std::string(kTextHead) + ".global .u64 p = other;\n", "PTX0103");
  expect(module_of("\t.reg .f32 a, a;\n"), "PTX0104");
  expect(module_of("\t.reg .f32 %r1;\n"), "PTX0104");
  expect(module_of("\tL:\n\tL:\n"), "PTX0104");
  expect(std::string(kTextHead) + ".global .u32 k;\n.func k() { ret; }\n", "PTX0104");
  expect(module_of("\tfrobnicate.b32 (%r1, %r2), {%r0}, (1 + 2), _;\n"), "PTX0201");
  expect(module_of("\tadd .u33 %r1, %r0, 1;\n"), "PTX0202");
  expect(module_of("\tmul.u32 %r1, %r0, %r0;\n"), "PTX0203");
  for (const char* target : {"sm_50", "sm_61", "sm_72", "sm_12345", "compute_90"}) {
    std::string text = module_of("\tadd.f32 %f1, %f0, %f0;\n");
    text.replace(text.find("sm_90a"), 6, target);
    expect(text, "PTX0301");
  }
  expect(module_of("").replace(9, 3, "7.9"), "PTX0304");
}

TEST(TextTest, AnEditedDocumentIsVerifiedAsItPrints) {
  syntax::Document document = parse(module_of("\tmov.u32 %x, %r0;\n"));
  EXPECT_THAT(codes(check(document)), ElementsAre("PTX0103"));
  document.insert_register(0, 0, "%x", isa::Type::U32);
  EXPECT_THAT(codes(check(document)), IsEmpty()) << print(document);
  // The names of an instruction that cannot be resolved follow those of its registers.
  syntax::Document other = parse(module_of("L:\tbrr L, %r1;\n"));
  other.rename(0, *other.module().functions[0]->find_register(other.module().symbols, "%r1"), "%s");
  other.rename(0, static_cast<ir::LabelId>(0), "M");
  EXPECT_NE(print(other).find("M:\tbrr M, %s;\n"), std::string::npos) << print(other);
}

// In both ways of printing, and for verify of the tree.
TEST(TextTest, WhatWasErasedStaysAway) {
  syntax::Document document = parse(std::string(kTextHead) + ".func f()\n{\n\tret;\n}\n" +
                                    module_of("").substr(kTextHead.size()));
  document.erase_item(1);
  EXPECT_EQ(print(document).find("f()"), std::string::npos);
  EXPECT_EQ(format(document).find("f()"), std::string::npos);
  EXPECT_THAT(check(document.module()), IsEmpty());
}

TEST(TextTest, FormattingIsAFixpoint) {
  const std::string once = format(parse(module_of("  add.u32 %r1,%r0,0x10;   ret;\n")));
  EXPECT_EQ(format(parse(once)), once);
  EXPECT_NE(once.find("\tadd.u32 %r1, %r0, 16;\n"), std::string::npos);
}

}  // namespace
}  // namespace pyptx::text
