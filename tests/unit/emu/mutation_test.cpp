// SPDX-License-Identifier: Apache-2.0
//
// Changed texts with changed launches (fuzz/mutate.h) end in an answer, in time, and touch nothing
// but their buffers. PYPTX_MUTATIONS says how many; a few in every run of the tests, very many by
// hand under the sanitizers.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "mutate.h"
#include "pyptx/isa/form_info.h"
#include "run_text.h"

namespace pyptx::fuzz {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::string with(std::string text, std::string_view name, std::string_view instead) {
  return text.replace(text.find(name), name.size(), instead);
}

/// Those of fuzz/run_seeds, and the table's examples in its frame, as fuzz/seeds.py makes them.
std::vector<std::string> seeds() {
  const std::filesystem::path folder(PYPTX_RUN_SEEDS);
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".ptx") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<std::string> texts;
  for (const auto& path : paths) texts.push_back(read(path));
  const std::string frame = read(folder / "frame.txt");
  for (const isa::Form& form : isa::all_forms()) {
    for (const isa::ExampleInfo& example : isa::examples(form)) {
      if (!example.code.empty()) continue;
      const bool is_hopper = example.text.starts_with("wgmma");
      texts.push_back(
          with(with(frame, "TARGET", is_hopper ? "sm_90a" : "sm_100a"), "EXAMPLE", example.text));
    }
  }
  return texts;
}

TEST(Mutation, EveryTextIsAnswered) {
  const char* given = std::getenv("PYPTX_MUTATIONS");
  const std::uint64_t count = given == nullptr ? 600 : std::strtoull(given, nullptr, 10);
  const std::vector<std::string> texts = seeds();
  ASSERT_GT(texts.size(), 900U);
  std::array<std::uint64_t, 4> outcomes{};
  for (std::uint64_t i = 0; i < count; ++i) {
    Random random(i);
    // Every other one is of a text that is made to run.
    const std::uint64_t among = random.below(2) == 0 ? 6 : texts.size();
    std::string text = texts[random.below(among)];
    for (std::uint64_t left = random.below(3); left > 0; --left) {
      text = cross(text, texts[random.below(texts.size())], random);
    }
    if (random.below(8) != 0) text = mutate(text, random);
    ++outcomes[static_cast<std::size_t>(run_text(text))];
  }
  RecordProperty("unreadable", static_cast<int>(outcomes[0]));
  RecordProperty("undecodable", static_cast<int>(outcomes[1]));
  RecordProperty("faulted", static_cast<int>(outcomes[2]));
  RecordProperty("ran", static_cast<int>(outcomes[3]));
  for (const std::uint64_t outcome : outcomes) EXPECT_GT(outcome, count / 100);
}

}  // namespace
}  // namespace pyptx::fuzz
