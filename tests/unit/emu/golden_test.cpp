// SPDX-License-Identifier: Apache-2.0
//
// The emulator's findings as they are shown: tests/files/diagnostics/emulator/*.ptx run on one
// block, whose first line says how, and their renderings are beside them. PYPTX_UPDATE_GOLDENS=1
// writes them anew. Addresses differ from run to run and are shown as 0x....
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "bench.h"

namespace pyptx::emu {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

/// What the parameter points to; aligned for every instruction, a tensor map's included.
struct alignas(128) Block {
  std::uint64_t words[16];
};

/// The number behind `key=` in the first line; `otherwise` when it does not say.
std::uint32_t option(const std::string& text, const std::string& key, std::uint32_t otherwise) {
  const std::string line = text.substr(0, text.find('\n'));
  const std::size_t at = line.find(key + "=");
  if (at == std::string::npos) return otherwise;
  return static_cast<std::uint32_t>(std::stoul(line.substr(at + key.size() + 1)));
}

/// Long hexadecimal numbers are addresses.
std::string without_addresses(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    if (text.compare(at, 2, "0x") == 0) {
      end = text.find_first_not_of("0123456789abcdefABCDEF", at + 2);
      end = std::min(end, text.size());
    }
    if (end >= at + 11) {
      out += "0x...";
      at = end;
    } else {
      out += text[at++];
    }
  }
  return out;
}

TEST(EmulatorGoldens, EveryRendering) {
  std::size_t count = 0;
  for (const auto& entry :
       fs::directory_iterator(fs::path(PYPTX_TEST_FILES) / "diagnostics" / "emulator")) {
    if (entry.path().extension() != ".ptx") continue;
    ++count;
    const std::string text = contents(entry.path());
    Bench bench(text, entry.path().filename().string());
    std::vector<Block> data(1);
    bench.buffer(0, data, option(text, "readonly", 0) == 0);
    bench.launch.params.resize(8);
    bench.launch.block = {option(text, "threads", 32), 1, 1};
    const std::string shown = without_addresses(bench.failure());
    const std::string code = entry.path().filename().string().substr(0, 7);
    EXPECT_TRUE(shown.starts_with("error[" + code + "]")) << entry.path() << "\n" << shown;
    fs::path expected = entry.path();
    expected.replace_extension(".txt");
    if (std::getenv("PYPTX_UPDATE_GOLDENS") != nullptr) {
      std::ofstream(expected, std::ios::binary) << shown;
    }
    EXPECT_EQ(shown, contents(expected)) << expected;
  }
  EXPECT_GE(count, 15U);
}

}  // namespace
}  // namespace pyptx::emu
