// SPDX-License-Identifier: Apache-2.0
//
// A private folder for the files that a compiler process reads and writes, gone with its scope.
// What a process that was killed left is removed by a later one.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace pyptx::driver {

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  bool ok() const { return !path_.empty(); }
  std::string file(std::string_view name) const;

  /// Removes this user's folders of this kind in `base` that are older than any compile takes.
  /// Done once by each process that makes one.
  static void remove_abandoned(const std::filesystem::path& base);

 private:
  std::string path_;
};

}  // namespace pyptx::driver
