// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <mutex>
#include <sstream>

#include "compilers.h"
#include "pyptx/support/concat.h"

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

std::vector<std::string> tool_files(std::string_view name) {
  std::string variable = "PYPTX_";
  for (const char c : name) {
    variable += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  std::vector<std::string> out;
  const char* chosen = std::getenv(variable.c_str());
  if (chosen != nullptr && *chosen != '\0') return {chosen};
  for (const std::string& folder : compiler_folders()) {
    for (const char* inside : {"/nvidia/cu13/bin/", "/nvidia/cuda_nvcc/bin/",
                               "/nvidia/cuda_nvdisasm/bin/", "/nvidia/cu12/bin/", "/bin/", "/"}) {
      out.push_back(support::concat(folder, inside, name));
    }
  }
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.empty()) out.push_back(support::concat(folder, "/", name));
  }
  std::erase_if(out, [](const std::string& file) { return access(file.c_str(), X_OK) != 0; });
  return out;
}

std::uint64_t folder_generation() {
  Folders& all = folders();
  const std::scoped_lock lock(all.mutex);
  return all.generation;
}

}  // namespace pyptx::driver
