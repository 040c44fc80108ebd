// SPDX-License-Identifier: Apache-2.0
//
// An entry is one file: a line naming the format and the digest of all that follows it, then the
// log and the cubin, each after its length. Files are never changed once they have their name.
#include "pyptx/driver/cubin_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "pyptx/support/concat.h"
#include "pyptx/support/sha256.h"

namespace pyptx::driver {
namespace {

namespace fs = std::filesystem;
using support::concat;

constexpr std::string_view kMagic = "pyptx-cubin 1 ";
constexpr std::string_view kSuffix = ".cubin";
constexpr std::string_view kTemporary = ".tmp";
constexpr std::uint64_t kDefaultLimit = std::uint64_t{1} << 30;
constexpr auto kAbandoned = std::chrono::hours(1);  // age of a temporary that nobody will rename

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Bytes in "512", "64K", "100M", "2G"; nothing for anything else.
std::optional<std::uint64_t> size_in(std::string_view text) {
  std::uint64_t value = 0;
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc{}) return std::nullopt;
  if (stop == end) return value;
  const auto unit = std::string_view("KMG").find(*stop);
  if (unit == std::string_view::npos || stop + 1 != end) return std::nullopt;
  const unsigned shift = 10 * (static_cast<unsigned>(unit) + 1);
  if (value > (~std::uint64_t{0} >> shift)) return std::nullopt;
  return value << shift;
}

std::string pack(const CubinCache::Entry& entry) {
  support::Sha256 hash;
  hash.field(entry.log);
  hash.field(entry.cubin);
  return concat(kMagic, support::Sha256::hex(hash.finish()), " ", entry.log.size(), " ",
                entry.cubin.size(), "\n", entry.log, entry.cubin);
}

std::optional<CubinCache::Entry> unpack(std::string_view bytes) {
  const auto end = bytes.find('\n');
  if (end == std::string_view::npos || !bytes.starts_with(kMagic)) return std::nullopt;
  // The digest covers the lengths; the split of log and cubin is found by it or not at all.
  const std::string_view head = bytes.substr(kMagic.size(), end - kMagic.size());
  const std::string_view body = bytes.substr(end + 1);
  const auto space = head.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  std::size_t log_size = 0;
  const char* head_end = head.data() + head.size();
  const auto [stop, error] = std::from_chars(head.data() + space + 1, head_end, log_size);
  if (error != std::errc{} || log_size > body.size()) return std::nullopt;
  CubinCache::Entry entry{std::string(body.substr(log_size)),
                          std::string(body.substr(0, log_size))};
  if (pack(entry) != bytes) return std::nullopt;
  return entry;
}

/// All of a regular file's bytes; nothing on any error.
std::optional<std::string> read_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return std::nullopt;
  struct stat info{};
  std::optional<std::string> out;
  if (fstat(file, &info) == 0 && S_ISREG(info.st_mode)) {
    out.emplace(static_cast<std::size_t>(info.st_size), '\0');
    std::size_t done = 0;
    while (done < out->size()) {
      const ssize_t got = read(file, out->data() + done, out->size() - done);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    out->resize(done);
    futimens(file, nullptr);  // now is the time of its last use; failing only ages it
  }
  close(file);
  return out;
}

bool write_file(const std::string& path, std::string_view bytes) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return false;
  bool ok = true;
  while (ok && !bytes.empty()) {
    const ssize_t put = write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    ok = put > 0;
    if (ok) bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return close(file) == 0 && ok;  // a network disk may say only now that it is full
}

/// A folder that others may write to would let them choose what runs here.
bool is_private(const std::string& folder) {
  struct stat info{};
  return stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         (info.st_uid == geteuid() || info.st_uid == 0) && (info.st_mode & S_IWOTH) == 0;
}

bool make_folder(const std::string& folder) {
  std::error_code error;
  const fs::path parent = fs::path(folder).parent_path();
  if (!parent.empty()) fs::create_directories(parent, error);
  return mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST;
}

}  // namespace

CubinCache::CubinCache(std::string folder, std::uint64_t size_limit)
    : folder_(std::move(folder)), size_limit_(size_limit) {}

CubinCache CubinCache::from_environment() {
  const std::uint64_t limit = size_in(environment("PYPTX_CACHE_SIZE")).value_or(kDefaultLimit);
  if (environment("PYPTX_CACHE") == "0") return {"", limit};
  if (std::string chosen = environment("PYPTX_CACHE_DIR"); !chosen.empty()) return {chosen, limit};
  if (const std::string base = environment("XDG_CACHE_HOME"); !base.empty()) {
    return {base + "/pyptx", limit};
  }
  if (const std::string home = environment("HOME"); !home.empty()) {
    return {home + "/.cache/pyptx", limit};
  }
  return {"", limit};
}

std::string CubinCache::path(std::string_view key) const {
  return concat(folder_, "/", key, kSuffix);
}

std::optional<CubinCache::Entry> CubinCache::get(std::string_view key) const {
  if (folder_.empty() || !is_private(folder_)) return std::nullopt;
  const std::string file = path(key);
  const auto bytes = read_file(file);
  if (!bytes) return std::nullopt;
  auto entry = unpack(*bytes);
  if (!entry) unlink(file.c_str());
  return entry;
}

bool CubinCache::put(std::string_view key, const Entry& entry) const {
  if (folder_.empty() || !make_folder(folder_) || !is_private(folder_)) return false;
  static std::atomic<unsigned> counter = 0;
  std::string bytes = pack(entry);
  if (bytes.size() > size_limit_) return false;
  // The name tells hosts that share a disk, their processes and their threads apart.
  std::array<char, 64> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  const std::string temporary = concat(folder_, "/", key, ".", host.data(), ".", getpid(), ".",
                                       counter.fetch_add(1), kTemporary);
  const bool kept =
      write_file(temporary, bytes) && rename(temporary.c_str(), path(key).c_str()) == 0;
  if (!kept) {
    unlink(temporary.c_str());
    return false;
  }
  evict();
  return true;
}

/// Removes the entries unused for longest until the rest fits, and temporaries left by a crash.
void CubinCache::evict() const {
  struct File {
    fs::file_time_type used;
    std::uint64_t size;
    fs::path path;
  };
  std::vector<File> files;
  std::uint64_t total = 0;
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;  // another process may evict at the same time
    const std::string name = it->path().filename().string();
    const auto used = it->last_write_time(gone);
    if (gone) continue;
    if (name.ends_with(kTemporary) && now - used > kAbandoned) fs::remove(it->path(), gone);
    if (!name.ends_with(kSuffix)) continue;
    const std::uint64_t size = it->file_size(gone);
    if (gone) continue;
    files.push_back({used, size, it->path()});
    total += size;
  }
  if (total <= size_limit_) return;
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& file : files) {
    if (total <= size_limit_) return;
    std::error_code gone;
    fs::remove(file.path, gone);
    total -= file.size;
  }
}

}  // namespace pyptx::driver
