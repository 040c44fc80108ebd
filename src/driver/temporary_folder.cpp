// SPDX-License-Identifier: Apache-2.0
#include "temporary_folder.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <system_error>

#include "pyptx/support/concat.h"

namespace pyptx::driver {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "pyptx-ptxas-";
// Age decides, not the process: one in another container may share the disk and not be seen here.
constexpr std::time_t kAbandonedSeconds = 24 * 3600;

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

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
  // Not fs::directory_iterator: where there is no memory for a name, libstdc++'s ends the process.
  const std::unique_ptr<DIR, CloseFolder> folder(opendir(base.c_str()));
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(kPrefix)) continue;
    const fs::path path = base / name;
    std::error_code ignored;
    if (is_abandoned(path)) fs::remove_all(path, ignored);
  }
}

}  // namespace pyptx::driver
