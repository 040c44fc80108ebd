// SPDX-License-Identifier: Apache-2.0
#include "pyptx/diag/render.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

namespace pyptx::diag {
namespace {

LocationTable table_with(std::string text) {
  LocationTable table;
  table.set_text("a.ptx", std::move(text));
  return table;
}

TEST(Render, ShowsCodePlaceCaretNotesHelpAndManual) {
  LocationTable table = table_with("ret;\n\tadd.f23 %f1, %f2, %f3;\n");
  Diagnostic diagnostic = Diagnostic(Kind::UnknownModifier, {"f23", "add"})
                              .at(table.text(10, 13))
                              .note("modifiers follow the opcode")
                              .fix("add.f32", "nearest legal spelling");
  diagnostic->manual = "floating-point-instructions-add";
  EXPECT_EQ(render(diagnostic, &table),
            "error[PTX0202]: 'add' has no modifier '.f23'\n"
            "  --> a.ptx:2:6\n"
            "  |\n"
            "2 | \tadd.f23 %f1, %f2, %f3;\n"
            "  | \t    ^^^\n"
            "  note: modifiers follow the opcode\n"
            "  help: nearest legal spelling: add.f32\n"
            "  see: PTX ISA, Floating Point Instructions: add (floating-point-instructions-add)\n");
}

TEST(Render, AnEmptyRangeAtTheEndStillHasACaret) {
  LocationTable table = table_with("ret");
  const Diagnostic diagnostic = Diagnostic(Kind::UnknownOpcode, {"x"}).see({}).at(table.text(3, 3));
  EXPECT_NE(render(diagnostic, &table).find("1 | ret\n  |    ^\n"), std::string::npos);
}

TEST(Render, WithoutAPlaceOnlyTheMessageRemains) {
  const Diagnostic diagnostic = Diagnostic(Kind::UnknownTarget, {"sm_1"}).see({});
  EXPECT_EQ(render(diagnostic, nullptr), "error[PTX0301]: unknown target 'sm_1'\n");
}

class FixedResolver : public LocationResolver {
 public:
  std::optional<SourcePoint> point(std::uint64_t, std::uint32_t position) const override {
    return SourcePoint{"kernel.py", position, 0};
  }
  std::optional<Place> resolve(std::uint64_t handle, std::uint32_t position,
                               Focus focus) const override {
    Place place;
    place.file = "k.py";
    place.line = static_cast<std::uint32_t>(handle);
    place.end_line = place.line;
    place.column = position + focus.index;
    place.end_column = place.column + 1;
    place.source_line = "call(x, y)";
    return place;
  }
};

TEST(Render, ALineIsFoundForEveryKindOfPlaceWithoutItsSource) {
  LocationTable table = table_with("a\nbc\r\nd");
  table.set_resolver(std::make_shared<FixedResolver>());
  const Loc text = table.text(6, 7);
  EXPECT_EQ(table.line(text)->line, 3U);
  EXPECT_EQ(table.line(text)->line, table.resolve(text)->line);
  EXPECT_EQ(table.line(text)->file, table.resolve(text)->file);
  const Loc past_the_end = table.text(99, 100);
  EXPECT_EQ(table.line(past_the_end)->line, table.resolve(past_the_end)->line);
  EXPECT_EQ(table.line(table.expansion(text, "helper"))->line, 3U);
  // The host is asked for the point, which needs no source, and not for the place.
  const Loc host = table.external(7, 12);
  EXPECT_EQ(table.line(host)->line, 12U);
  EXPECT_EQ(table.line(table.expansion(host, "helper"))->file, "kernel.py");
  EXPECT_EQ(table.line(table.native("kernel.cpp", 8))->line, 8U);
  EXPECT_FALSE(table.line(Loc::None));
}

TEST(Render, AHostLanguageResolvesItsOwnPlaces) {
  LocationTable table;
  table.set_resolver(std::make_shared<FixedResolver>());
  const Diagnostic diagnostic = Diagnostic(Kind::UnknownOpcode, {"x"})
                                    .see({})
                                    .at(table.external(7, 6), {Focus::Part::Operand, 3});
  EXPECT_NE(render(diagnostic, &table).find("  --> k.py:7:9\n"), std::string::npos);
}

TEST(Render, LabelsAreDashedUnderTheirOwnLine) {
  LocationTable table = table_with(".reg .b32 x;\n\n\n.reg .f32 x;\n");
  const Diagnostic diagnostic = Diagnostic(Kind::DuplicateName, {"x"})
                                    .see({})
                                    .at(table.text(25, 26))
                                    .label(table.text(10, 11), "first declared here");
  EXPECT_EQ(render(diagnostic, &table),
            "error[PTX0104]: 'x' is already declared in this scope\n"
            "  --> a.ptx:4:11\n"
            "  |\n"
            "1 | .reg .b32 x;\n"
            "  |           - first declared here\n"
            "...\n"
            "4 | .reg .f32 x;\n"
            "  |           ^\n");
}

TEST(Render, ALabelOnTheSameLineSharesIt) {
  LocationTable table = table_with(".reg .b32 x, x;\n");
  const Diagnostic diagnostic = Diagnostic(Kind::DuplicateName, {"x"})
                                    .see({})
                                    .at(table.text(13, 14))
                                    .label(table.text(10, 11), "first declared here");
  EXPECT_EQ(render(diagnostic, &table),
            "error[PTX0104]: 'x' is already declared in this scope\n"
            "  --> a.ptx:1:14\n"
            "  |\n"
            "1 | .reg .b32 x, x;\n"
            "  |              ^\n"
            "  |           - first declared here\n");
}

TEST(Render, APlaceOverSeveralLinesShowsTheFirstAndTheLast) {
  LocationTable table = table_with("add\n  .s32\n  .x a,\n  b;\nret;\n");
  const Diagnostic diagnostic =
      Diagnostic(Kind::UnknownOpcode, {"add"}).see({}).at(table.text(0, 23));
  EXPECT_EQ(render(diagnostic, &table),
            "error[PTX0201]: unknown instruction 'add'\n"
            "  --> a.ptx:1:1\n"
            "  |\n"
            "1 | add\n"
            "  | ^^^\n"
            "...\n"
            "4 |   b;\n"
            "  |   ^^\n");
}

TEST(Render, LinesEndAtCrLfAndLoneCr) {
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    LocationTable table = table_with("a" + end + "bad" + end + "c" + end);
    const auto at = static_cast<std::uint32_t>(1 + end.size());
    const Diagnostic diagnostic =
        Diagnostic(Kind::UnknownOpcode, {"bad"}).see({}).at(table.text(at, at + 3));
    EXPECT_EQ(render(diagnostic, &table),
              "error[PTX0201]: unknown instruction 'bad'\n"
              "  --> a.ptx:2:1\n"
              "  |\n"
              "2 | bad\n"
              "  | ^^^\n");
    // A range that takes in the line end, or begins there, is still of that line.
    for (std::uint32_t byte = at + 3; byte < at + 3 + end.size(); ++byte) {
      const auto place = table.resolve(table.text(byte, byte + 1));
      ASSERT_TRUE(place);
      EXPECT_EQ(place->line, 2U);
      EXPECT_EQ(place->end_line, 2U);
      EXPECT_EQ(place->source_line, "bad");
    }
  }
}

TEST(Render, BytesThatDoNotPrintAreEscapedAndKeepTheCaretInPlace) {
  LocationTable table = table_with("a\x01 \xFF bad \xC3\xA9 x\n");
  const Diagnostic diagnostic = Diagnostic(Kind::UnknownOpcode, {"b\x1b[2Jd"})
                                    .see({})
                                    .at(table.text(5, 8))
                                    .note("caf\xC3\xA9");
  EXPECT_EQ(render(diagnostic, &table),
            "error[PTX0201]: unknown instruction 'b\\x1b[2Jd'\n"
            "  --> a.ptx:1:6\n"
            "  |\n"
            "1 | a\\x01 \\xff bad \xC3\xA9 x\n"
            "  |            ^^^\n"
            "  note: caf\xC3\xA9\n");
}

// A text may be one line of megabytes: a place keeps what can be shown of it.
TEST(Render, AnEndlessLineIsKeptAroundTheColumn) {
  constexpr std::size_t kAt = 1000000;
  LocationTable table =
      table_with("ret;\n" + std::string(kAt, 'a') + "BAD" + std::string(kAt, 'z'));
  const auto bad = static_cast<std::uint32_t>(kAt + 5);
  const Diagnostic diagnostic =
      Diagnostic(Kind::UnknownOpcode, {"BAD"}).see({}).at(table.text(bad, bad + 3));
  EXPECT_EQ(render(diagnostic, &table, {.color = false, .line_columns = 12}),
            "error[PTX0201]: unknown instruction 'BAD'\n"
            "  --> a.ptx:2:1000001\n"
            "  |\n"
            "2 | ...aaaaBADzzzzz...\n"
            "  |        ^^^\n");
  EXPECT_LT(table.resolve(diagnostic.loc)->source_line.size(), 10000U);
  const auto whole = table.resolve(table.text(5, 2 * bad - 2));
  EXPECT_EQ(whole->end_column, 2 * kAt + 4);
  EXPECT_EQ(whole->column, 1U);
}

TEST(Render, LinesAreCountedTheSameFarIntoATextAsAtItsBeginning) {
  std::mt19937 random(3);
  std::string text;
  while (text.size() < 30000) text += std::string_view("ab\r\n\r\n\n")[random() % 7];
  LocationTable table = table_with(text);
  std::uint32_t line = 1;
  std::size_t begin = 0;
  for (std::uint32_t at = 0; at < text.size(); ++at) {
    const auto place = table.resolve(table.text(at, at));
    ASSERT_EQ(place->line, line) << at;
    ASSERT_EQ(place->column, at - begin + 1) << at;
    const bool is_first_of_two = text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n';
    if (text[at] == '\n' || (text[at] == '\r' && !is_first_of_two)) {
      ++line;
      begin = at + 1;
    }
  }
}

TEST(Render, ALongLineIsCutAroundTheCaret) {
  LocationTable table = table_with(std::string(500, 'a') + "BAD" + std::string(500, 'z'));
  const Diagnostic diagnostic =
      Diagnostic(Kind::UnknownOpcode, {"BAD"}).see({}).at(table.text(500, 503));
  EXPECT_EQ(render(diagnostic, &table, {.color = false, .line_columns = 30}),
            "error[PTX0201]: unknown instruction 'BAD'\n"
            "  --> a.ptx:1:501\n"
            "  |\n"
            "1 | ...aaaaaaaaaaBADzzzzzzzzzzzzzzzzz...\n"
            "  |              ^^^\n");
}

TEST(Render, ALabelInAnotherFileNamesIt) {
  Place here{"a.ptx", 1, 1, 1, 2, "x", {}};
  Place there{"b.ptx", 7, 1, 7, 2, "y", {}};
  Diagnostic diagnostic(Kind::DuplicateName, {"x"});
  diagnostic->place = here;
  diagnostic->labels.push_back({"first declared here", Loc::None, there});
  EXPECT_NE(render(diagnostic, nullptr)
                .find("1 | x\n  | ^\n  ::: b.ptx:7\n  |\n7 | y\n  | - first declared here\n"),
            std::string::npos);
}

TEST(Render, SaysWhatIsNeededAgainstWhatIsThere) {
  Diagnostic diagnostic(Kind::TargetTooLow, {"x", "sm_100a", "sm_90"});
  diagnostic->needed = {"8.6", "sm_100a"};
  diagnostic->present = {"8.0", "sm_90"};
  EXPECT_NE(render(diagnostic, nullptr)
                .find("  needs: PTX ISA 8.6 and sm_100a; the module has PTX ISA 8.0 and sm_90\n"),
            std::string::npos);
}

TEST(Render, ColoursOnlyWhenAsked) {
  LocationTable table = table_with("bad\n");
  const Diagnostic diagnostic =
      Diagnostic(Kind::UnknownOpcode, {"bad"}).see({}).at(table.text(0, 3));
  EXPECT_EQ(render(diagnostic, &table).find('\x1b'), std::string::npos);
  const std::string colored = render(diagnostic, &table, {.color = true});
  EXPECT_NE(colored.find("\x1b[1;31merror[PTX0201]\x1b[0m"), std::string::npos);
  EXPECT_NE(colored.find("\x1b[1;31m^^^\x1b[0m"), std::string::npos);
}

TEST(Kinds, ManualAnchorsAreReadable) {
  EXPECT_EQ(manual_title("data-movement-and-conversion-instructions-cp-async-bulk"),
            "Data Movement and Conversion Instructions: cp.async.bulk");
  EXPECT_EQ(manual_title("data-movement-and-conversion-instructions-mov-2"),
            "Data Movement and Conversion Instructions: mov");
  EXPECT_EQ(manual_title("performance-tuning-directives-maxntid"),
            "Performance Tuning Directives: .maxntid");
  EXPECT_EQ(manual_title("predicated-execution"), "Predicated Execution");
}

TEST(Kinds, CodesAreUniqueAndFindTheirKind) {
  for (const Kind kind : all_kinds()) {
    EXPECT_EQ(kind_from_code(info(kind).code), kind) << info(kind).code;
  }
  EXPECT_EQ(kind_from_code("PTX9999"), std::nullopt);
}

}  // namespace
}  // namespace pyptx::diag
