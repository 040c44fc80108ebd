// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "compilers.h"

namespace pyptx::driver {
namespace {

struct Folders {
  std::mutex mutex;
  std::vector<std::string> added;
  std::uint64_t generation = 1;
};

Folders& folders() {
  static auto* made = new Folders;
  return *made;
}

}  // namespace

void add_compiler_folder(std::string folder) {
  Folders& all = folders();
  const std::scoped_lock lock(all.mutex);
  if (std::find(all.added.begin(), all.added.end(), folder) != all.added.end()) return;
  all.added.push_back(std::move(folder));
  ++all.generation;
}

std::vector<std::string> compiler_folders() {
  Folders& all = folders();
  std::vector<std::string> out;
  {
    const std::scoped_lock lock(all.mutex);
    out = all.added;
  }
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') out.emplace_back(value);
  }
  out.emplace_back("/usr/local/cuda");
  return out;
}

std::uint64_t folder_generation() {
  Folders& all = folders();
  const std::scoped_lock lock(all.mutex);
  return all.generation;
}

}  // namespace pyptx::driver
