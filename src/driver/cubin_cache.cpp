// SPDX-License-Identifier: Apache-2.0
//
// What is kept and what is given up; the files themselves are cache_folder.h's and their bytes
// cache_entry.h's.
#include "pyptx/driver/cubin_cache.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "cache_entry.h"
#include "cache_folder.h"
#include "pyptx/support/concat.h"
#include "pyptx/support/file.h"
#include "pyptx/support/sha256.h"

namespace pyptx::driver {
namespace {

using support::concat;

constexpr std::uint64_t kDefaultLimit = std::uint64_t{1} << 30;
/// No kernel is as large; a file that is was not written by us, and would only cost memory.
constexpr std::uint64_t kLargestEntry = std::uint64_t{1} << 30;
/// The folder is looked through about this often while as many bytes as the limit are written.
constexpr std::uint64_t kSweepsPerLimit = 64;

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

/// Removes the entries unused for longest until `wanted` more bytes fit into `limit`.
void make_room(const std::string& folder, std::uint64_t wanted, std::uint64_t limit) {
  FolderList list = sweep_folder(folder);
  std::uint64_t total = wanted;
  for (const FolderFile& file : list.entries) total += file.size;
  for (const FolderFile& file : list.temporaries) total += file.size;
  if (total <= limit) return;
  std::sort(list.entries.begin(), list.entries.end(),
            [](const FolderFile& a, const FolderFile& b) { return a.used < b.used; });
  for (const FolderFile& file : list.entries) {
    if (total <= limit) return;
    unlink(file.path.c_str());  // by now another process may have done so
    total -= file.size;
  }
}

/// Looking through a large folder takes longer than many compiles, so it is left to chance: a write
/// looks with the probability that makes kSweepsPerLimit looks per `limit` bytes. Processes need
/// not know of each other for that. Small caches are looked through every time.
void bound_size(const std::string& folder, std::uint64_t wanted, std::uint64_t limit) {
  const std::uint64_t stride = limit / kSweepsPerLimit;
  if (wanted >= stride) {
    make_room(folder, wanted, limit);
  } else if (support::unlikely_number() % stride < wanted) {
    make_room(folder, wanted, limit - limit / 16);  // what comes until the next look fits, too
  }
}

struct Global {
  std::mutex mutex;
  std::optional<CubinCache> chosen;
};

Global& global_cache() {
  static auto* made = new Global;  // never destroyed: threads may compile while the process ends
  return *made;
}

}  // namespace

std::string CacheKey::digest() const {
  support::Sha256 hash;
  hash.field("pyptx cubin 2");
  hash.field(ptx);
  hash.field(target);
  hash.field(compiler);
  for (const std::string& option : options) hash.field(option);
  return support::Sha256::hex(hash.finish());
}

CubinCache::CubinCache(std::string folder, std::uint64_t size_limit)
    : folder_(std::move(folder)), size_limit_(size_limit) {}

std::string CubinCache::default_folder() {
  if (const std::string base = environment("XDG_CACHE_HOME"); !base.empty()) return base + "/pyptx";
  if (const std::string home = environment("HOME"); !home.empty()) return home + "/.cache/pyptx";
  return {};
}

CubinCache CubinCache::from_environment() {
  const std::uint64_t limit = size_in(environment("PYPTX_CACHE_SIZE")).value_or(kDefaultLimit);
  if (environment("PYPTX_CACHE") == "0") return {"", limit};
  if (std::string chosen = environment("PYPTX_CACHE_DIR"); !chosen.empty()) return {chosen, limit};
  return {default_folder(), limit};
}

CubinCache CubinCache::global() {
  Global& global = global_cache();
  const std::scoped_lock lock(global.mutex);
  return global.chosen ? *global.chosen : from_environment();
}

void CubinCache::set_global(std::optional<CubinCache> cache) {
  Global& global = global_cache();
  const std::scoped_lock lock(global.mutex);
  global.chosen = std::move(cache);
}

std::string CubinCache::path(std::string_view digest) const {
  return concat(folder_, "/", digest, kEntrySuffix);
}

std::optional<CubinCache::Entry> CubinCache::get(std::string_view digest) const {
  if (folder_.empty() || !distrust(folder_).empty()) return std::nullopt;
  const std::string file = path(digest);
  const auto bytes = read_own_file(file, kLargestEntry);
  if (!bytes) return std::nullopt;
  auto entry = unpack_entry(digest, *bytes);
  // Another process may have put a good one there since; then that is built once more.
  if (!entry) unlink(file.c_str());
  return entry;
}

bool CubinCache::put(std::string_view digest, const Entry& entry) const {
  if (folder_.empty() || !make_folder(folder_) || !distrust(folder_).empty()) return false;
  const std::string bytes = pack_entry(digest, entry);
  if (bytes.size() > std::min(size_limit_, kLargestEntry)) return false;
  bound_size(folder_, bytes.size(), size_limit_);
  return replace_file(path(digest), bytes);
}

CubinCache::Usage CubinCache::usage() const {
  Usage out;
  if (folder_.empty()) return out;
  const FolderList list = sweep_folder(folder_);
  out.entries = list.entries.size();
  for (const FolderFile& file : list.entries) out.bytes += file.size;
  out.temporaries = list.temporaries.size();
  return out;
}

std::uint64_t CubinCache::clear() const {
  std::uint64_t removed = 0;
  if (folder_.empty() || !distrust(folder_).empty()) return removed;
  for (const FolderFile& file : sweep_folder(folder_).entries) {
    if (unlink(file.path.c_str()) == 0) ++removed;
  }
  return removed;
}

bool CubinCache::is_readable() const {
  return !folder_.empty() && distrust(folder_).empty() && access(folder_.c_str(), R_OK | X_OK) == 0;
}

std::string CubinCache::problem() const {
  if (folder_.empty()) {
    return environment("PYPTX_CACHE") == "0"
               ? "it is turned off by PYPTX_CACHE=0"
               : "no folder is named; set PYPTX_CACHE_DIR, XDG_CACHE_HOME or HOME";
  }
  if (!make_folder(folder_)) {
    return concat(folder_, " cannot be made: ", std::strerror(errno),
                  "; name another folder in PYPTX_CACHE_DIR");
  }
  if (std::string why = distrust(folder_); !why.empty()) return why;
  if (access(folder_.c_str(), R_OK | W_OK | X_OK) != 0) {
    return concat(folder_, " cannot be written: ", std::strerror(errno),
                  "; name another folder in PYPTX_CACHE_DIR to keep new entries");
  }
  return {};
}

}  // namespace pyptx::driver
