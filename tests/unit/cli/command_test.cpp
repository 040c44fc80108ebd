// SPDX-License-Identifier: Apache-2.0
#include "pyptx/cli/command.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "outcome.h"

namespace pyptx::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr const char* kGood =
    ".version 8.0\n.target sm_90a\n.address_size 64\n\n.visible .entry k()\n{\n\tret;\n}\n";

Outcome pyptx(const std::vector<std::string>& words, const std::string& input = "",
              bool is_terminal = false) {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  const int status = run(words, {in, out, err, is_terminal});
  return {status, out.str(), err.str()};
}

class FileTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  static std::string read(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      ("pyptx_cli_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST(CommandTest, SaysWhatItCanDo) {
  EXPECT_EQ(pyptx({"--help"}).status, 0);
  EXPECT_THAT(pyptx({"--help"}).out, HasSubstr("explain"));
  EXPECT_EQ(pyptx({}).status, 2);
  EXPECT_THAT(pyptx({"--version"}).out, StartsWith("pyptx "));
  for (const char* command : {"check", "fmt", "run", "explain", "isa"}) {
    EXPECT_THAT(pyptx({command, "--help"}).out, StartsWith("usage: pyptx " + std::string(command)));
  }
}

TEST(CommandTest, RefusesWrongUse) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"frobnicate"},
                                                {"check"},
                                                {"check", "--frob", "x.ptx"},
                                                {"check", "--max"},
                                                {"check", "--max=many", "-"},
                                                {"check", "--json=yes", "-"},
                                                {"check", "--color", "blue", "-"},
                                                {"check", "/nonexistent/file.ptx"},
                                                {"check", "/"},
                                                {"fmt"},
                                                {"run"},
                                                {"run", "a.ptx", "b.ptx"},
                                                {"fmt", "-i", "--check", "-"},
                                                {"fmt", "-i", "-"},
                                                {"explain", "PTX9999"},
                                                {"explain", "--json"}}) {
    const Outcome outcome = pyptx(words);
    EXPECT_EQ(outcome.status, 2) << words[0];
    EXPECT_THAT(outcome.err, Not(IsEmpty()));
  }
}

TEST(CommandTest, ChecksStandardInput) {
  EXPECT_EQ(pyptx({"check", "-"}, kGood).status, 0);
  const Outcome bad = pyptx({"check", "-"}, std::string(kGood) + ".global .u33 x;\n");
  EXPECT_EQ(bad.status, 1);
  EXPECT_THAT(bad.out, HasSubstr("<stdin>:9:9"));
  EXPECT_THAT(bad.out, HasSubstr("1 error in 1 file"));
}

TEST(CommandTest, JsonIsOneObjectPerLine) {
  const Outcome outcome = pyptx({"check", "--json", "-"}, std::string(kGood) + ".global .u33 x;\n");
  EXPECT_THAT(outcome.out, StartsWith("{\"code\":\"PTX"));
  EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 1);
}

TEST(CommandTest, ColorsOnATerminalOnly) {
  const std::string bad = std::string(kGood) + "x\n";
  const std::string escape = "\x1b[";
  EXPECT_THAT(pyptx({"check", "-"}, bad, true).out, HasSubstr(escape));
  EXPECT_THAT(pyptx({"check", "-"}, bad, false).out, Not(HasSubstr(escape)));
  EXPECT_THAT(pyptx({"check", "--color=never", "-"}, bad, true).out, Not(HasSubstr(escape)));
  EXPECT_THAT(pyptx({"check", "--color=always", "-"}, bad, false).out, HasSubstr(escape));
}

TEST_F(FileTest, FormatsInPlaceAndKeepsTheRest) {
  const std::string path = write("a.ptx", ".version 8.0 .target sm_90a\n.entry k(){ret;}");
  EXPECT_EQ(pyptx({"fmt", "--check", path}).status, 1);
  EXPECT_EQ(pyptx({"fmt", "-i", path}).status, 0);
  EXPECT_EQ(pyptx({"fmt", "--check", path}).status, 0);
  EXPECT_EQ(pyptx({"fmt", path}).out, read(path));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(FileTest, ABrokenFileIsNeverRewritten) {
  const std::string text = ".version 8.0\n.target sm_90a\n.entry k( {\n";
  const std::string path = write("broken.ptx", text);
  const Outcome outcome = pyptx({"fmt", "-i", path});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("PTX0"));
  EXPECT_EQ(read(path), text);
}

TEST_F(FileTest, EveryFileIsCheckedAlthoughOneIsMissing) {
  const std::string path = write("bad.ptx", std::string(kGood) + ".global .u33 x;\n");
  const Outcome outcome = pyptx({"check", (folder_ / "none.ptx").string(), path});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.out, HasSubstr("bad.ptx:9"));
}

TEST(CommandTest, ExplainsCodesInAnyCase) {
  const Outcome outcome = pyptx({"explain", "ptx0206"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, HasSubstr("PTX0206"));
  EXPECT_EQ(pyptx({"explain", "0206"}).out, outcome.out);
  EXPECT_THAT(pyptx({"explain", "206"}).err, HasSubstr("there is no code '206'"));
  EXPECT_THAT(pyptx({"explain"}).out, HasSubstr("PTX0001"));
}

TEST(CommandTest, TellsWhatTheTableKnows) {
  EXPECT_THAT(pyptx({"isa", "wgmma.fence"}).out, HasSubstr("wgmma.fence.sync.aligned"));
  EXPECT_THAT(pyptx({"isa", "wgmma.fence"}).out, HasSubstr("sm_90a"));
  EXPECT_THAT(pyptx({"isa", "--json", "wgmma.fence"}).out, StartsWith("{\"syntax\":\"wgmma.fence"));
  EXPECT_THAT(pyptx({"isa"}).out, HasSubstr("ld\n"));
  const Outcome unknown = pyptx({"isa", "wgmma.fense"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.err, HasSubstr("wgmma.fence"));
}

}  // namespace
}  // namespace pyptx::cli
