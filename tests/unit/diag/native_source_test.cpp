// SPDX-License-Identifier: Apache-2.0
//
// What a caret underlines in C++ source, from the column that a compiler gives.
#include "native_source.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace pyptx::diag {
namespace {

class NativeSource : public ::testing::Test {
 protected:
  ~NativeSource() override { std::filesystem::remove(path_); }

  /// What is underlined where the compiler's column is that of `^` in `marks`, below line 2.
  std::string underlined(const std::string& line, const std::string& marks, Focus focus = {},
                         const std::string& more = {}) {
    std::ofstream(path_) << "// first\n" << line << "\n" << more << "\n";
    const auto column = static_cast<std::uint32_t>(marks.find('^') + 1);
    place_ = native_place(path_.c_str(), 2, column, focus);
    return place_.source_line.substr(place_.column - 1, place_.end_column - place_.column);
  }
  static Focus operand(std::uint16_t index) { return {Focus::Part::Operand, index}; }

  const std::string path_ =
      (std::filesystem::temp_directory_path() /
       ("native_source_" +
        std::string(testing::UnitTest::GetInstance()->current_test_info()->name())))
          .string();
  Place place_;
};

TEST_F(NativeSource, ACallIsItsNameAndItsArguments) {
  const std::string line = "  inst::ld.global.f32(x, ptx::addr(p + f(1, 2)));";
  const std::string call = "inst::ld.global.f32(x, ptx::addr(p + f(1, 2)))";
  EXPECT_EQ(underlined(line, "                     ^"), call) << "g++ points at the parenthesis";
  EXPECT_EQ(underlined(line, "  ^"), call) << "clang at the name";
  EXPECT_EQ(underlined(line, "                     ^", operand(1)), "ptx::addr(p + f(1, 2))");
  EXPECT_EQ(underlined(line, "  ^", {Focus::Part::Modifier, 0}), "global");
  EXPECT_EQ(underlined(line, "  ^", {Focus::Part::Modifier, 1}), "f32");
}

TEST_F(NativeSource, AGuardIsNoArgument) {
  const std::string line = "st.global.f32.at(p)(place, value);";
  EXPECT_EQ(underlined(line, "                   ^", operand(0)), "place");
  EXPECT_EQ(underlined(line, "^", operand(1)), "value");
  EXPECT_EQ(underlined(line, "^"), "st.global.f32.at(p)(place, value)");
}

TEST_F(NativeSource, AnOperandIsFromEitherEnd) {
  const std::string line = "r = a + reg::scalar(u32, 2) - tile[i];";
  EXPECT_EQ(underlined(line, "        ^"), "reg::scalar(u32, 2)");
  EXPECT_EQ(underlined(line, "                          ^"), "reg::scalar(u32, 2)");
  EXPECT_EQ(underlined(line, "                                    ^"), "tile[i]");
  EXPECT_EQ(underlined(line, "    ^"), "a");
}

TEST_F(NativeSource, TextsHideWhatStandsInThem) {
  const std::string line = "ptx::printf(\"(%d,\", /* ) */ {a, ')'});";
  EXPECT_EQ(underlined(line, "           ^"), "ptx::printf(\"(%d,\", /* ) */ {a, ')'})");
  EXPECT_EQ(underlined(line, "           ^", operand(0)), "\"(%d,\"");
}

TEST_F(NativeSource, AnArgumentMayStandOnTheNextLine) {
  EXPECT_EQ(underlined("inst::add.u32(a,", "             ^", operand(2), "              b, 1.5);"),
            "1.5");
  EXPECT_EQ(place_.line, 3U);
  EXPECT_EQ(underlined("inst::add.u32(a,", "             ^", {}, "b, c);"), "inst::add.u32(a,");
}

TEST_F(NativeSource, WhereNothingIsKnownTheColumnStays) {
  EXPECT_EQ(underlined("f(", " ^"), "f") << "never closed";
  const Place missing = native_place("/nowhere/at/all.cpp", 3, 7, {});
  EXPECT_EQ(missing.line, 3U);
  EXPECT_EQ(missing.column, 7U);
  EXPECT_TRUE(missing.source_line.empty());
}

}  // namespace
}  // namespace pyptx::diag
