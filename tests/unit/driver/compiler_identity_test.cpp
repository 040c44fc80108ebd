// SPDX-License-Identifier: Apache-2.0
#include "compiler_identity.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "pyptx/driver/assemble.h"

namespace pyptx::driver {
namespace {

namespace fs = std::filesystem;

class CompilerIdentityTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "pyptx-identity-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string file(const std::string& name, const std::string& bytes) const {
    std::ofstream(root_ / name, std::ios::binary) << bytes;
    return (root_ / name).string();
  }
  /// The beginning of an ELF file, its headers and notes included.
  static std::string own_bytes() {
    std::string out(8192, '\0');
    std::ifstream("/proc/self/exe", std::ios::binary).read(out.data(), 8192);
    return out;
  }

  fs::path root_;
};

TEST_F(CompilerIdentityTest, OnlyElfFilesHaveOne) {
  EXPECT_EQ(compiler_identity("/no/such/file"), "");
  EXPECT_EQ(compiler_identity(root_.string()), "");
  EXPECT_EQ(compiler_identity(file("script", "#!/bin/sh\nexec ptxas \"$@\"\n")), "");
  EXPECT_EQ(compiler_identity(file("short",
                                   "\x7f"
                                   "ELF")),
            "");
}

TEST_F(CompilerIdentityTest, IsThatOfTheBytesOrOfTheFile) {
  const std::string bytes = own_bytes();
  const std::string one = file("tool", bytes);
  const std::string identity = compiler_identity(one);
  EXPECT_THAT(identity, testing::StartsWith("tool "));
  EXPECT_EQ(identity, compiler_identity(one));
  // Without a note that it can read, the size and the time have to do.
  std::string cut = bytes.substr(0, 64);
  const std::string other = file("tool", cut);
  const std::string first = compiler_identity(other);
  EXPECT_THAT(first, testing::HasSubstr("64 bytes"));
  fs::last_write_time(other, fs::last_write_time(other) + std::chrono::seconds(1));
  EXPECT_NE(compiler_identity(other), first);
}

TEST_F(CompilerIdentityTest, NvJitLinkHasABuildId) {
  add_compiler_folder(PYPTX_SITE_PACKAGES);
  const auto found = find_compiler(Compiler::NvJitLink);
  if (!found) GTEST_SKIP() << found.error()->notes.at(0);
  EXPECT_THAT(found->identity, testing::ContainsRegex("libnvJitLink.so.1[23] build [0-9a-f]+$"));
  EXPECT_EQ(found->identity, compiler_identity(found->path));
}

TEST_F(CompilerIdentityTest, DamagedHeadersAreNoTrouble) {
  const std::string bytes = own_bytes();
  for (std::size_t i = 4; i < 1024; ++i) {
    std::string bad = bytes;
    bad[i] = static_cast<char>(0xff);
    const std::string identity = compiler_identity(file("tool", bad));
    EXPECT_TRUE(identity.empty() || identity.starts_with("tool ")) << i;
  }
}

}  // namespace
}  // namespace pyptx::driver
