// SPDX-License-Identifier: Apache-2.0
//
// The emulator's findings as they are shown (golden.h): tests/files/diagnostics/emulator/*.ptx run
// on one block, whose first line says how, and their renderings are beside them.
#include "golden.h"

#include <filesystem>

#include "bench.h"
#include "pyptx/emu/stream.h"

namespace pyptx::emu {
namespace {

namespace fs = std::filesystem;

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

TEST(EmulatorGoldens, EveryRendering) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(golden::folder("emulator"))) {
    if (entry.path().extension() != ".ptx") continue;
    ++count;
    const std::string text = golden::contents(entry.path());
    Bench bench(text, entry.path().filename().string());
    std::vector<Block> data(1);
    bench.buffer(0, data, option(text, "readonly", 0) == 0);
    bench.launch.buffers[0].has_value = option(text, "fresh", 0) == 0;
    bench.launch.buffers[0].element_bytes = 8;
    bench.launch.params.resize(8);
    bench.launch.block = {option(text, "threads", 32), 1, 1};
    const std::uint32_t ctas = option(text, "cluster", 1);
    bench.launch.grid = bench.launch.cluster = {ctas, 1, 1};
    bench.launch.options.races = option(text, "races", 0) != 0;
    if (option(text, "interrupt", 0) != 0) bench.launch.options.interrupt = [] { return true; };
    bench.launch.options.limit_steps = option(text, "steps", 0);
    bench.launch.options.limit_seconds = option(text, "milliseconds", 0) / 1000.0;
    Stream stream;
    if (option(text, "programmatic", 0) != 0) {
      bench.launch.options.stream = &stream;
      bench.run();
      bench.launch.options.is_programmatic = true;
    }
    const auto refused = bench.refusal();
    const diag::Diagnostics found = refused ? diag::Diagnostics{*refused} : bench.last.warnings;
    ASSERT_EQ(found.size(), 1U) << entry.path();
    golden::expect_rendering(entry.path().parent_path() / entry.path().stem(), found, nullptr);
  }
  EXPECT_GE(count, 25U);
}

}  // namespace
}  // namespace pyptx::emu
