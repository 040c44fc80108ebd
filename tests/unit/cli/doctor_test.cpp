// SPDX-License-Identifier: Apache-2.0
#include "pyptx/cli/doctor.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>

#include "outcome.h"

namespace pyptx::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using State = Finding::State;

const Finding kTorch{"framework", "torch 2.13.0", State::Good, "CPU \"only\"", "", {{"cuda", ""}}};
const Finding kBroken{"framework", "jax", State::Broken, "it does not import", "pip install", {}};

/// The machine's own findings depend on the machine; those of the environment do not.
class DoctorTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/pyptx_doctor_cache" + std::to_string(getpid());
    set("PYPTX_CACHE_DIR", folder_.c_str());
    for (const char* name : {"PYPTX_CACHE", "PYPTX_NVJITLINK", "PYPTX_PTXAS", "NO_COLOR"}) {
      set(name, nullptr);
    }
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    for (const auto& [name, value] : saved_) put(name, value ? value->c_str() : nullptr);
  }
  void set(const char* name, const char* value) {
    const char* old = std::getenv(name);
    saved_.try_emplace(name, old != nullptr ? std::optional<std::string>(old) : std::nullopt);
    put(name, value);
  }
  static Outcome run(const std::vector<std::string>& words, const std::vector<Finding>& more = {},
                     bool is_terminal = false) {
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    Streams streams{in, out, err, is_terminal};
    const int status = doctor(words, streams, more);
    return {status, out.str(), err.str()};
  }
  static Finding part(std::string_view name) {
    const auto all = examine();
    const auto found = std::ranges::find(all, name, &Finding::part);
    return found == all.end() ? Finding{} : *found;
  }

  std::string folder_;

 private:
  static void put(const std::string& name, const char* value) {
    if (value != nullptr) {
      setenv(name.c_str(), value, 1);
    } else {
      unsetenv(name.c_str());
    }
  }
  std::map<std::string, std::optional<std::string>> saved_;
};

TEST_F(DoctorTest, ShowsWhatItWasGiven) {
  const Outcome told = run({"--color", "never"}, {kTorch});
  EXPECT_EQ(told.status, 0);
  EXPECT_THAT(told.out, HasSubstr("\nframework\n  good    torch 2.13.0: CPU \"only\"\n"));
  for (const char* heading : {"\ndriver\n", "\ncompiler\n", "\ncache\n", "\nemulator\n"}) {
    EXPECT_THAT(told.out, HasSubstr(heading));
  }
  EXPECT_THAT(run({}, {kTorch}, true).out, HasSubstr("\033[32mgood"));
}

TEST_F(DoctorTest, WhatIsBrokenIsAnError) {
  const Outcome told = run({}, {kTorch, kBroken});
  EXPECT_EQ(told.status, 1);
  EXPECT_THAT(told.out, HasSubstr("  broken  jax: it does not import\n          -> pip install\n"));
  EXPECT_THAT(told.out, HasSubstr("\n1 broken\n"));
}

TEST_F(DoctorTest, WhatIsRequiredMustBeThere) {
  EXPECT_EQ(run({"--require", "torch"}, {kTorch}).status, 0);
  const Outcome told = run({"--require", "torch", "--require=jax"}, {kTorch});
  EXPECT_EQ(told.status, 1);
  EXPECT_THAT(told.out, HasSubstr("required and not there: jax\n"));
  EXPECT_EQ(run({"--require", "jax"}, {{"framework", "jax", State::Absent, "", "", {}}}).status, 1);
}

TEST_F(DoctorTest, SpeaksJson) {
  const Outcome told = run({"--json"}, {kTorch, kBroken});
  EXPECT_EQ(told.status, 1);
  EXPECT_THAT(told.out, HasSubstr("{\"part\":\"framework\",\"subject\":\"torch 2.13.0\","
                                  "\"state\":\"good\",\"detail\":\"CPU \\\"only\\\"\","
                                  "\"remedy\":\"\",\"facts\":{\"cuda\":\"\"}}"));
  EXPECT_THAT(told.out, HasSubstr("\"ok\":false"));
  EXPECT_EQ(std::ranges::count(told.out, '\n'), 1);
}

TEST_F(DoctorTest, RefusesWhatItDoesNotKnow) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--nonsense"}, {"word"}, {"--require", "cobol"}, {"--color", "red"}, {"--require"}}) {
    const Outcome told = run(words);
    EXPECT_EQ(told.status, 2) << words[0];
    EXPECT_THAT(told.err, HasSubstr("pyptx doctor"));
  }
  EXPECT_EQ(run({"--help"}).status, 0);
}

TEST_F(DoctorTest, TellsOfTheCache) {
  Finding cache = part("cache");
  EXPECT_EQ(cache.state, State::Good);
  EXPECT_EQ(cache.subject, folder_);
  EXPECT_THAT(cache.detail, HasSubstr("0 entries, 0 bytes of 1 GiB"));
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  cache = part("cache");
  EXPECT_EQ(cache.state, State::Broken);
  EXPECT_EQ(cache.remedy, "chmod o-w " + folder_);
  set("PYPTX_CACHE_DIR", "/dev/null/cache");
  EXPECT_EQ(part("cache").state, State::Broken);
  set("PYPTX_CACHE", "0");
  cache = part("cache");
  EXPECT_EQ(cache.state, State::Absent);
  EXPECT_THAT(cache.detail, HasSubstr("PYPTX_CACHE=0"));
}

TEST_F(DoctorTest, ACompilerThatWasAskedForAndIsNotThereIsBroken) {
  set("PYPTX_PTXAS", "/no/such/ptxas");
  const auto all = examine();
  const auto found = std::ranges::find(all, "ptxas", &Finding::subject);
  // One that this process has found before stays.
  if (found == all.end()) GTEST_SKIP() << "ptxas was found before";
  EXPECT_EQ(found->state, State::Broken);
  EXPECT_EQ(found->remedy, "correct or unset PYPTX_PTXAS");
}

TEST_F(DoctorTest, TellsOfTheEmulator) {
  const Finding emulator = part("emulator");
  EXPECT_EQ(emulator.state, State::Good);
  ASSERT_FALSE(emulator.facts.empty());
  EXPECT_EQ(emulator.facts[0].first, "variant");
}

}  // namespace
}  // namespace pyptx::cli
