// SPDX-License-Identifier: Apache-2.0
#include "pyptx/diag/render.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
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
  diagnostic.manual = "floating-point-instructions-add";
  EXPECT_EQ(render(diagnostic, &table),
            "error[PTX0202]: 'add' has no modifier '.f23'\n"
            "  --> a.ptx:2:6\n"
            "  |\n"
            "2 | \tadd.f23 %f1, %f2, %f3;\n"
            "  | \t    ^^^\n"
            "  note: modifiers follow the opcode\n"
            "  help: nearest legal spelling: add.f32\n"
            "  see: PTX ISA, floating-point-instructions-add\n");
}

TEST(Render, AnEmptyRangeAtTheEndStillHasACaret) {
  LocationTable table = table_with("ret");
  const Diagnostic diagnostic = Diagnostic(Kind::UnknownOpcode, {"x"}).at(table.text(3, 3));
  EXPECT_NE(render(diagnostic, &table).find("1 | ret\n  |    ^\n"), std::string::npos);
}

TEST(Render, WithoutAPlaceOnlyTheMessageRemains) {
  const Diagnostic diagnostic(Kind::UnknownTarget, {"sm_1"});
  EXPECT_EQ(render(diagnostic, nullptr), "error[PTX0301]: unknown target 'sm_1'\n");
}

TEST(Render, JsonCarriesTheSameFactsAndQuotesThem) {
  LocationTable table = table_with("a\"b\n");
  const Diagnostic diagnostic =
      Diagnostic(Kind::UnknownOpcode, {"a\"b"}).at(table.text(0, 3)).fix("abs", "nearest");
  EXPECT_EQ(to_json(diagnostic, &table),
            "{\"code\":\"PTX0201\",\"severity\":\"error\",\"message\":\"unknown instruction "
            "'a\\\"b'\",\"file\":\"a.ptx\",\"line\":1,\"column\":1,\"end_column\":4,\"notes\":[],"
            "\"fixits\":[{\"replacement\":\"abs\",\"reason\":\"nearest\"}],\"manual\":\"\"}");
  EXPECT_EQ(json_quote(std::string("\x01\n", 2)), "\"\\u0001\\n\"");
}

class FixedResolver : public LocationResolver {
 public:
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

TEST(Render, AHostLanguageResolvesItsOwnPlaces) {
  LocationTable table;
  table.set_resolver(std::make_shared<FixedResolver>());
  const Diagnostic diagnostic =
      Diagnostic(Kind::UnknownOpcode, {"x"}).at(table.external(7, 6), {Focus::Part::Operand, 3});
  EXPECT_NE(render(diagnostic, &table).find("  --> k.py:7:9\n"), std::string::npos);
}

TEST(Kinds, CodesAreUniqueAndFindTheirKind) {
  for (const Kind kind : all_kinds()) {
    EXPECT_EQ(kind_from_code(info(kind).code), kind) << info(kind).code;
  }
  EXPECT_EQ(kind_from_code("PTX9999"), std::nullopt);
}

}  // namespace
}  // namespace pyptx::diag
