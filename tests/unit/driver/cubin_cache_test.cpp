// SPDX-License-Identifier: Apache-2.0
#include "pyptx/driver/cubin_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

namespace pyptx::driver {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 40;
const std::string kKey(64, 'a');

class CubinCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "pyptx-cache-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string folder() const { return (root_ / "deep" / "cache").string(); }
  CubinCache cache(std::uint64_t limit = kNoLimit) const { return {folder(), limit}; }
  fs::path file(const std::string& key = kKey) const {
    return fs::path(folder()) / (key + ".cubin");
  }
  std::size_t file_count() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder()), fs::directory_iterator()));
  }
  static std::string read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  fs::path root_;
};

const CubinCache::Entry kEntry{std::string("\x7f"
                                           "ELF\0\n cubin",
                                           12),
                               "info : 4 registers\n", "nvJitLink 13.5"};

TEST_F(CubinCacheTest, KeepsEntries) {
  EXPECT_EQ(cache().get(kKey), std::nullopt);
  ASSERT_TRUE(cache().put(kKey, kEntry));
  EXPECT_EQ(cache().get(kKey), kEntry);
  EXPECT_EQ(cache().get(std::string(64, 'b')), std::nullopt);
  ASSERT_TRUE(cache().put(std::string(64, 'c'), {"", "", ""}));
  EXPECT_EQ(cache().get(std::string(64, 'c')), (CubinCache::Entry{"", "", ""}));
}

TEST_F(CubinCacheTest, IsPrivate) {
  const mode_t old = umask(0);
  ASSERT_TRUE(cache().put(kKey, kEntry));
  umask(old);
  struct stat info{};
  ASSERT_EQ(stat(folder().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  ASSERT_EQ(stat(file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  EXPECT_EQ(file_count(), 1U) << "a temporary was left behind";
}

TEST_F(CubinCacheTest, RefusesAFolderThatAnyoneMayWrite) {
  ASSERT_TRUE(cache().put(kKey, kEntry));
  ASSERT_EQ(chmod(folder().c_str(), 0777), 0);
  EXPECT_EQ(cache().get(kKey), std::nullopt);
  EXPECT_FALSE(cache().put(kKey, kEntry));
}

TEST_F(CubinCacheTest, RemovesDamagedEntries) {
  ASSERT_TRUE(cache().put(kKey, kEntry));
  const std::string good = read(file());
  // Every byte matters, and so does the length.
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    write(file(), bad);
    ASSERT_EQ(cache().get(kKey), std::nullopt) << "byte " << i;
    ASSERT_FALSE(fs::exists(file()));
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    write(file(), good.substr(0, size));
    ASSERT_EQ(cache().get(kKey), std::nullopt) << "cut to " << size;
  }
  write(file(), good + "x");
  EXPECT_EQ(cache().get(kKey), std::nullopt);
  ASSERT_TRUE(cache().put(kKey, kEntry));
  EXPECT_EQ(cache().get(kKey), kEntry);
}

TEST_F(CubinCacheTest, AnEntryUnderAnotherKeysNameIsBad) {
  ASSERT_TRUE(cache().put(kKey, kEntry));
  const std::string other(64, 'b');
  fs::copy_file(file(), file(other));
  EXPECT_EQ(cache().get(other), std::nullopt);
  EXPECT_FALSE(fs::exists(file(other)));
  EXPECT_EQ(cache().get(kKey), kEntry);
}

TEST_F(CubinCacheTest, TrustsOnlyFilesThatNobodyElseCanWrite) {
  ASSERT_TRUE(cache().put(kKey, kEntry));
  for (const mode_t mode : {0620U, 0602U}) {
    ASSERT_EQ(chmod(file().c_str(), mode), 0);
    EXPECT_EQ(cache().get(kKey), std::nullopt) << mode;
  }
  ASSERT_TRUE(cache().put(kKey, kEntry)) << "it is replaced, not written into";
  EXPECT_EQ(cache().get(kKey), kEntry);
  ASSERT_EQ(chmod(folder().c_str(), 0770), 0);
  EXPECT_EQ(cache().get(kKey), kEntry) << "a group's folder with files of our own";
}

TEST_F(CubinCacheTest, AnEndlessFileCostsNoMemory) {
  ASSERT_TRUE(cache().put(kKey, kEntry));
  fs::resize_file(file(), std::uintmax_t{1} << 36);  // sparse
  EXPECT_EQ(cache().get(kKey), std::nullopt);
  ASSERT_TRUE(cache().put(kKey, kEntry));
  EXPECT_EQ(cache().get(kKey), kEntry);
}

TEST_F(CubinCacheTest, IgnoresLinksAndFolders) {
  ASSERT_TRUE(cache().put(kKey, kEntry));
  fs::rename(file(), root_ / "elsewhere");
  fs::create_symlink(root_ / "elsewhere", file());
  EXPECT_EQ(cache().get(kKey), std::nullopt);
  fs::remove(file());
  fs::create_directory(file());
  EXPECT_EQ(cache().get(kKey), std::nullopt);
  EXPECT_FALSE(cache().put(kKey, kEntry));
}

TEST_F(CubinCacheTest, EvictsTheLeastRecentlyUsed) {
  const CubinCache::Entry large{std::string(1000, 'x'), "", ""};
  std::vector<std::string> keys;
  for (const char c : {'1', '2', '3'}) {
    keys.emplace_back(64, c);
    ASSERT_TRUE(cache().put(keys.back(), large));
  }
  const auto now = fs::file_time_type::clock::now();
  for (std::size_t i = 0; i < 3; ++i) {
    fs::last_write_time(file(keys[i]), now - 10min + std::chrono::minutes(i));
  }
  ASSERT_TRUE(cache().get(keys[0])) << "used now, so key 1 is the oldest";
  ASSERT_TRUE(cache(3500).put(std::string(64, '4'), large));
  EXPECT_TRUE(fs::exists(file(keys[0])));
  EXPECT_FALSE(fs::exists(file(keys[1])));
  EXPECT_TRUE(fs::exists(file(keys[2])));
  EXPECT_FALSE(cache(500).put(kKey, large)) << "larger than the whole cache";
  EXPECT_EQ(file_count(), 3U);
}

TEST_F(CubinCacheTest, ClearsAbandonedTemporaries) {
  ASSERT_TRUE(cache().put(kKey, kEntry));
  const fs::path old = fs::path(folder()) / "x.host.1.0.tmp";
  const fs::path fresh = fs::path(folder()) / "x.host.1.1.tmp";
  write(old, "half");
  write(fresh, "half");
  fs::last_write_time(old, fs::file_time_type::clock::now() - 2h);
  ASSERT_TRUE(cache(4096).put(std::string(64, 'b'), kEntry));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh)) << "another process may be writing it";
}

TEST_F(CubinCacheTest, ClearsWhatAKilledProcessLeft) {
  std::array<char, 256> host{};
  ASSERT_EQ(gethostname(host.data(), host.size() - 1), 0);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  ASSERT_TRUE(cache().put(kKey, kEntry));
  const auto name = [&](const std::string& where, pid_t process) {
    return fs::path(folder()) /
           (kKey + ".cubin." + where + "." + std::to_string(process) + ".17.tmp");
  };
  const std::string here = host.data();
  for (const auto& path : {name(here, child), name(here, getpid()), name(here + "x", child)}) {
    write(path, "half");
  }
  EXPECT_EQ(cache().usage().temporaries, 2U);
  EXPECT_FALSE(fs::exists(name(here, child)));
  EXPECT_TRUE(fs::exists(name(here, getpid()))) << "this process may be writing it";
  EXPECT_TRUE(fs::exists(name(here + "x", child))) << "another host's process";
  fs::create_directory(fs::path(folder()) / "folder.tmp");
  EXPECT_EQ(cache().usage().temporaries, 2U) << "not ours";
}

TEST_F(CubinCacheTest, ALargeCacheStaysWithinItsLimit) {
  // Entries so small that the folder is looked through by chance only.
  constexpr std::uint64_t kLimit = 200000;
  const CubinCache::Entry small{std::string(1000, 'x'), "", ""};
  std::uint64_t most = 0;
  for (int i = 0; i < 800; ++i) {
    std::string key = std::to_string(i);
    key.insert(0, 64 - key.size(), '0');
    ASSERT_TRUE(cache(kLimit).put(key, small));
    if (i % 50 == 49) most = std::max(most, cache().usage().bytes);
  }
  EXPECT_GT(most, kLimit / 2);
  EXPECT_LT(most, kLimit + kLimit / 4);
}

TEST_F(CubinCacheTest, SaysWhatItHoldsAndForgetsIt) {
  EXPECT_EQ(cache().usage().entries, 0U) << "there is no folder yet";
  EXPECT_EQ(cache().clear(), 0U);
  ASSERT_TRUE(cache().put(kKey, kEntry));
  ASSERT_TRUE(cache().put(std::string(64, 'b'), kEntry));
  write(fs::path(folder()) / "README", "not an entry");
  EXPECT_EQ(cache().usage().entries, 2U);
  EXPECT_EQ(cache().usage().bytes, 2 * fs::file_size(file()));
  EXPECT_EQ(cache().clear(), 2U);
  EXPECT_EQ(cache().usage().entries, 0U);
  EXPECT_EQ(file_count(), 1U) << "what is not ours stays";
}

TEST_F(CubinCacheTest, SaysWhyItIsOfNoUse) {
  EXPECT_EQ(cache().problem(), "");
  EXPECT_TRUE(fs::exists(folder()));
  ASSERT_EQ(chmod(folder().c_str(), 0777), 0);
  EXPECT_THAT(cache().problem(), testing::HasSubstr("chmod o-w " + folder()));
  write(root_ / "file", "in the way");
  const CubinCache blocked((root_ / "file" / "cache").string(), kNoLimit);
  EXPECT_THAT(blocked.problem(), testing::HasSubstr("cannot be made: Not a directory"));
  const CubinCache file_itself((root_ / "file").string(), kNoLimit);
  EXPECT_THAT(file_itself.problem(), testing::HasSubstr("is not a folder"));
  EXPECT_THAT(CubinCache("", kNoLimit).problem(), testing::HasSubstr("PYPTX_CACHE_DIR"));
}

TEST_F(CubinCacheTest, AKeyIsAllThatItHolds) {
  const CacheKey key{"text", "sm_90a", {"-O1", "-v"}, "nvJitLink 13.5"};
  EXPECT_EQ(key.digest().size(), 64U);
  EXPECT_EQ(key.digest(), CacheKey(key).digest());
  const CacheKey others[] = {
      {"texT", "sm_90a", {"-O1", "-v"}, "nvJitLink 13.5"},
      {"text", "sm_90", {"-O1", "-v"}, "nvJitLink 13.5"},
      {"text", "sm_90a", {"-v", "-O1"}, "nvJitLink 13.5"},
      {"text", "sm_90a", {"-O1-v"}, "nvJitLink 13.5"},
      {"text", "sm_90a", {}, "nvJitLink 13.5"},
      {"text", "sm_90a", {"-O1", "-v"}, "nvJitLink 13.6"},
  };
  std::set<std::string> digests{key.digest()};
  for (const CacheKey& other : others) EXPECT_TRUE(digests.insert(other.digest()).second);
}

TEST_F(CubinCacheTest, TheGlobalOneCanBeSet) {
  CubinCache::set_global(cache(1234));
  EXPECT_EQ(CubinCache::global().folder(), folder());
  EXPECT_EQ(CubinCache::global().size_limit(), 1234U);
  CubinCache::set_global(std::nullopt);
  EXPECT_EQ(CubinCache::global().folder(), CubinCache::from_environment().folder());
}

TEST_F(CubinCacheTest, AFolderThatCannotBeMadeIsAnEmptyCache) {
  write(root_ / "file", "in the way");
  const CubinCache blocked((root_ / "file" / "cache").string(), kNoLimit);
  EXPECT_FALSE(blocked.put(kKey, kEntry));
  EXPECT_EQ(blocked.get(kKey), std::nullopt);
  const CubinCache off("", kNoLimit);
  EXPECT_FALSE(off.put(kKey, kEntry));
  EXPECT_EQ(off.get(kKey), std::nullopt);
}

TEST_F(CubinCacheTest, AFullDiskLeavesNothingBehind) {
  ASSERT_TRUE(cache().put(std::string(64, 'b'), kEntry));
  struct rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = old;
  small.rlim_cur = 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const bool kept = cache().put(kKey, {std::string(100000, 'x'), "", ""});
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(kept);
  EXPECT_EQ(file_count(), 1U);
}

TEST_F(CubinCacheTest, ManyWritersOneResult) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 30; ++i) {
        if (!cache().put(kKey, kEntry)) ++wrong;
        const auto got = cache().get(kKey);
        if (!got || *got != kEntry) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(file_count(), 1U);
}

class CacheEnvironmentTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"PYPTX_CACHE", "PYPTX_CACHE_DIR", "PYPTX_CACHE_SIZE", "XDG_CACHE_HOME", "HOME"}) {
      const char* value = std::getenv(name);
      saved_.emplace_back(name,
                          value != nullptr ? std::optional<std::string>(value) : std::nullopt);
      unsetenv(name);
    }
  }
  void TearDown() override {
    for (const auto& [name, value] : saved_) {
      if (value) {
        setenv(name.c_str(), value->c_str(), 1);
      } else {
        unsetenv(name.c_str());
      }
    }
  }
  std::vector<std::pair<std::string, std::optional<std::string>>> saved_;
};

TEST_F(CacheEnvironmentTest, ChoosesTheFolder) {
  const auto chosen = [] { return CubinCache::from_environment().folder(); };
  EXPECT_EQ(chosen(), "");
  setenv("HOME", "/srv/someone", 1);
  EXPECT_EQ(chosen(), "/srv/someone/.cache/pyptx");
  setenv("XDG_CACHE_HOME", "/var/xdg", 1);
  EXPECT_EQ(chosen(), "/var/xdg/pyptx");
  setenv("PYPTX_CACHE_DIR", "/own", 1);
  EXPECT_EQ(chosen(), "/own");
  setenv("PYPTX_CACHE", "0", 1);
  EXPECT_EQ(chosen(), "");
}

TEST_F(CacheEnvironmentTest, ReadsTheSize) {
  const auto limit = [](const char* text) {
    setenv("PYPTX_CACHE_SIZE", text, 1);
    return CubinCache::from_environment().size_limit();
  };
  EXPECT_EQ(limit("12345"), 12345U);
  EXPECT_EQ(limit("64K"), 65536U);
  EXPECT_EQ(limit("3M"), 3U << 20);
  EXPECT_EQ(limit("2G"), std::uint64_t{2} << 30);
  for (const char* nonsense :
       {"", "x", "1T", "1Kx", "-1", "99999999999999999999", "18446744073709551615G"}) {
    EXPECT_EQ(limit(nonsense), std::uint64_t{1} << 30) << nonsense;
  }
}

}  // namespace
}  // namespace pyptx::driver
