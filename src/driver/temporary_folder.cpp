// SPDX-License-Identifier: Apache-2.0
#include "temporary_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <mutex>
#include <new>
#include <system_error>

#include "pyptx/support/concat.h"

namespace pyptx::driver {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "pyptx-ptxas-";
// Age decides, not the process: one in another container may share the disk and not be seen here.
constexpr std::time_t kAbandonedSeconds = 24 * 3600;

fs::path base_folder() {
  std::error_code error;
  fs::path base = fs::temp_directory_path(error);
  return error ? fs::path("/tmp") : base;
}

bool is_abandoned(const fs::path& path) {
  struct stat info{};
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         info.st_mtime < std::time(nullptr) - kAbandonedSeconds;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  const fs::path base = base_folder();
  static std::once_flag once;
  std::call_once(once, [&base] { remove_abandoned(base); });
  std::string name = (base / support::concat(kPrefix, "XXXXXX")).string();
  if (mkdtemp(name.data()) != nullptr) path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  if (path_.empty()) return;
  try {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  } catch (const std::bad_alloc&) {
    // Left for remove_abandoned().
    return;
  }
}

std::string TemporaryFolder::file(std::string_view name) const {
  return support::concat(path_, "/", name);
}

void TemporaryFolder::remove_abandoned(const fs::path& base) {
  std::error_code error;
  for (fs::directory_iterator it(base, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const bool is_ours = it->path().filename().string().starts_with(kPrefix);
    if (is_ours && is_abandoned(it->path())) fs::remove_all(it->path(), ignored);
  }
}

}  // namespace pyptx::driver
