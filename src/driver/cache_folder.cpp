// SPDX-License-Identifier: Apache-2.0
#include "cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <memory>

#include "pyptx/support/concat.h"
#include "pyptx/support/file.h"

namespace pyptx::driver {
namespace {

using support::concat;

constexpr std::string_view kTemporarySuffix = ".tmp";
constexpr std::int64_t kSecond = 1'000'000'000;
// Age at which a temporary of another host, whose processes cannot be asked for, is abandoned.
constexpr std::int64_t kAbandoned = 3600 * kSecond;

std::int64_t nanoseconds(const struct timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * kSecond + time.tv_nsec;
}

std::int64_t now() {
  struct timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return nanoseconds(time);
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

bool is_mine(const struct stat& info) { return info.st_uid == geteuid() || info.st_uid == 0; }

/// Where an entry is written before it gets its name. It tells hosts that share a disk, their
/// processes and their threads apart; the last number, also processes that had the same number.
std::string temporary_name(const std::string& path) {
  return concat(path, ".", host_name(), ".", getpid(), ".", support::unlikely_number(),
                kTemporarySuffix);
}

/// The text before the last dot of `name`, which is cut off there; empty when there is none.
std::string_view cut_last_part(std::string_view& name) {
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view last = name.substr(dot + 1);
  name = name.substr(0, dot);
  return last;
}

/// Whether the process that wrote a temporary is known to be gone. A process in another container
/// with this host's name may look so; it then keeps its cubin without an entry, which is harmless.
bool writer_is_gone(std::string_view name) {
  cut_last_part(name);  // the suffix
  cut_last_part(name);  // the unlikely number
  const std::string_view process = cut_last_part(name);
  if (!name.ends_with(concat(".", host_name()))) return false;
  pid_t number = 0;
  const auto [stop, error] =
      std::from_chars(process.data(), process.data() + process.size(), number);
  if (error != std::errc{} || stop != process.data() + process.size() || number <= 0) return false;
  return kill(number, 0) != 0 && errno == ESRCH;
}

bool write_new_file(const std::string& path, std::string_view bytes) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return false;
  const bool written = support::write_all(file, bytes);
  return close(file) == 0 && written;  // a network disk may say only now that it is full
}

std::string read_all(int file, std::size_t size) {
  std::string out(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = read(file, out.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  out.resize(done);
  return out;
}

}  // namespace

std::string distrust(const std::string& folder) {
  struct stat info{};
  if (stat(folder.c_str(), &info) != 0) return concat(folder, " cannot be read");
  if (!S_ISDIR(info.st_mode)) return concat(folder, " is not a folder");
  if (!is_mine(info)) {
    return concat(folder, " belongs to user ", info.st_uid, ", who could choose what runs here; ",
                  "name a folder of your own in PYPTX_CACHE_DIR");
  }
  if ((info.st_mode & S_IWOTH) != 0) {
    return concat("anybody may write to ", folder, ", and so choose what runs here; chmod o-w ",
                  folder);
  }
  return {};
}

bool make_folder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return true;
  std::error_code error;
  const auto parent = std::filesystem::path(folder).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, error);
  return mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST;
}

std::optional<std::string> read_own_file(const std::string& path, std::uint64_t most) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return std::nullopt;
  struct stat info{};
  std::optional<std::string> out;
  if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && is_mine(info) &&
      (info.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
      static_cast<std::uint64_t>(info.st_size) <= most) {
    out = read_all(file, static_cast<std::size_t>(info.st_size));
    futimens(file, nullptr);  // now is the time of its last use; failing only ages it
  }
  close(file);
  return out;
}

bool replace_file(const std::string& path, std::string_view bytes) {
  const std::string temporary = temporary_name(path);
  if (write_new_file(temporary, bytes) && rename(temporary.c_str(), path.c_str()) == 0) {
    return true;
  }
  unlink(temporary.c_str());
  return false;
}

FolderList sweep_folder(const std::string& folder) {
  FolderList out;
  const auto close_folder = [](DIR* open_folder) { closedir(open_folder); };
  const std::unique_ptr<DIR, decltype(close_folder)> listing(opendir(folder.c_str()), close_folder);
  if (listing == nullptr) return out;
  const std::int64_t oldest = now() - kAbandoned;
  while (const dirent* row = readdir(listing.get())) {
    const std::string_view name = row->d_name;
    const bool is_temporary = name.ends_with(kTemporarySuffix);
    if (!is_temporary && !name.ends_with(kEntrySuffix)) continue;
    struct stat info{};
    if (fstatat(dirfd(listing.get()), row->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(info.st_mode)) {
      continue;
    }
    FolderFile file{concat(folder, "/", name), static_cast<std::uint64_t>(info.st_size),
                    nanoseconds(info.st_mtim)};
    if (!is_temporary) {
      out.entries.push_back(std::move(file));
    } else if (file.used < oldest || writer_is_gone(name)) {
      unlink(file.path.c_str());
    } else {
      out.temporaries.push_back(std::move(file));
    }
  }
  return out;
}

}  // namespace pyptx::driver
