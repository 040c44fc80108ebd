// SPDX-License-Identifier: Apache-2.0
//
// The folder of the cubin cache as a file system sees it: who may write there, whole files in and
// out, which files are entries and which were left by processes that are gone. It knows nothing of
// what is in an entry. Every function bears other processes changing the folder at the same time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pyptx::driver {

/// How the name of an entry's file ends.
inline constexpr std::string_view kEntrySuffix = ".cubin";

/// Why the entries in a folder cannot be trusted, with the remedy; empty when they can.
std::string distrust(const std::string& folder);

/// Makes the folder, for its owner alone, and those it is in. False with errno set.
bool make_folder(const std::string& folder);

/// All bytes of a regular file that only this user (or root) can have written, and marks it as
/// used now. Nothing on any error, and for a file of more than `most` bytes.
std::optional<std::string> read_own_file(const std::string& path, std::uint64_t most);

/// Writes `path` so that it has these bytes or is what it was before; false in the latter case.
bool replace_file(const std::string& path, std::string_view bytes);

struct FolderFile {
  std::string path;
  std::uint64_t size = 0;
  std::int64_t used = 0;  // nanoseconds since the epoch
};

/// What a look into the folder found; temporaries of processes that are gone were removed.
struct FolderList {
  std::vector<FolderFile> entries;
  std::vector<FolderFile> temporaries;
};
FolderList sweep_folder(const std::string& folder);

}  // namespace pyptx::driver
