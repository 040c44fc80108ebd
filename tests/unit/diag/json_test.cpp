// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "pyptx/diag/render.h"

namespace pyptx::diag {
namespace {

TEST(Json, CarriesEveryKeyAndQuotes) {
  LocationTable table;
  table.set_text("a.ptx", "a\"b\nc\n");
  Diagnostic diagnostic = Diagnostic(Kind::UnknownOpcode, {"a\"b"})
                              .at(table.text(0, 3))
                              .label(table.text(4, 5), "here")
                              .note("n")
                              .fix("abs", "nearest", table.text(0, 3))
                              .see("integer-arithmetic-instructions-abs");
  diagnostic->needed = {"8.6", ""};
  diagnostic->present = {"8.0", "sm_90"};
  EXPECT_EQ(to_json(diagnostic, &table),
            R"({"code":"PTX0201","kind":"UnknownOpcode","severity":"error",)"
            R"("message":"unknown instruction 'a\"b'",)"
            R"("file":"a.ptx","line":1,"column":1,"end_line":1,"end_column":4,)"
            R"("labels":[{"text":"here","file":"a.ptx","line":2,"column":1,"end_line":2,)"
            R"("end_column":2}],"notes":["n"],)"
            R"("fixits":[{"replacement":"abs","reason":"nearest","certain":false,)"
            R"("span":{"line":1,"column":1,"end_line":1,"end_column":4}}],)"
            R"("manual":{"anchor":"integer-arithmetic-instructions-abs",)"
            R"("title":"Integer Arithmetic Instructions: abs"},)"
            R"("needed":{"ptx":"8.6","target":null},"present":{"ptx":"8.0","target":"sm_90"}})");
}

TEST(Json, WithoutAPlaceTheKeysRemain) {
  const Diagnostic diagnostic = Diagnostic(Kind::UnknownTarget, {"sm_1"}).see({});
  EXPECT_EQ(to_json(diagnostic, nullptr),
            R"({"code":"PTX0301","kind":"UnknownTarget","severity":"error",)"
            R"("message":"unknown target 'sm_1'",)"
            R"("file":null,"line":null,"column":null,"end_line":null,"end_column":null,)"
            R"("labels":[],"notes":[],"fixits":[],"manual":null,"needed":null,"present":null})");
}

TEST(Json, StringsAreValidWhateverTheBytes) {
  EXPECT_EQ(json_quote(std::string("\x01\n", 2)), "\"\\u0001\\n\"");
  EXPECT_EQ(json_quote("\xFF\xC3\xA9\xC3"), "\"\\u00ff\xC3\xA9\\u00c3\"");
}

}  // namespace
}  // namespace pyptx::diag
