// SPDX-License-Identifier: Apache-2.0
#include "ptxas.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace pyptx {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> path_folders() {
  std::vector<fs::path> folders;
  const char* path = std::getenv("PATH");
  std::istringstream words(path == nullptr ? "" : path);
  for (std::string folder; std::getline(words, folder, ':');) folders.emplace_back(folder);
  return folders;
}

std::vector<fs::path> children(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) found.push_back(entry.path());
  return found;
}

std::optional<fs::path> find_ptxas() {
  if (const char* given = std::getenv("PYPTX_PTXAS")) return fs::path(given);
  for (const fs::path& folder : path_folders()) {
    if (fs::exists(folder / "ptxas")) return folder / "ptxas";
    if (!fs::exists(folder / "python")) continue;
    for (const fs::path& python : children(folder.parent_path() / "lib")) {
      for (const fs::path& part : children(python / "site-packages" / "nvidia")) {
        if (fs::exists(part / "bin" / "ptxas")) return part / "bin" / "ptxas";
      }
    }
  }
  return std::nullopt;
}

std::string contents(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

}  // namespace

std::optional<Assembled> ask_ptxas(const std::string& text, const std::string& target) {
  static const std::optional<fs::path> ptxas = find_ptxas();
  if (!ptxas) return std::nullopt;
  std::string name = (fs::temp_directory_path() / "pyptx_test_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) return Assembled{"no temporary folder", {}};
  const fs::path folder(name);
  std::ofstream(folder / "in.ptx") << text;
  const std::string command = "cd '" + folder.string() + "' && '" + ptxas->string() +
                              "' -arch=" + target + " -o out.cubin in.ptx > log 2>&1";
  const int status = std::system(command.c_str());
  Assembled result{status == 0 ? "" : "ptxas: " + contents(folder / "log"),
                   contents(folder / "out.cubin")};
  fs::remove_all(folder);
  return result;
}

}  // namespace pyptx
