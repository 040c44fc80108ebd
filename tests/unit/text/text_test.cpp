// SPDX-License-Identifier: Apache-2.0
#include "pyptx/text/text.h"

#include <gmock/gmock.h>

#include <string>

namespace pyptx::text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::string_view kHead = ".version 8.0\n.target sm_90a\n.address_size 64\n";

std::string module_of(const std::string& body) {
  return std::string(kHead) +
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
  EXPECT_THAT(codes(verify(document.module())), ElementsAre("PTX0206"));
}

TEST(TextTest, FormattingIsAFixpoint) {
  const std::string once = format(parse(module_of("  add.u32 %r1,%r0,0x10;   ret;\n")));
  EXPECT_EQ(format(parse(once)), once);
  EXPECT_NE(once.find("\tadd.u32 %r1, %r0, 16;\n"), std::string::npos);
}

}  // namespace
}  // namespace pyptx::text
