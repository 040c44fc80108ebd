// SPDX-License-Identifier: Apache-2.0
//
// See run_text.h.
#include "run_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "pyptx/diag/render.h"
#include "pyptx/emu/emulator.h"
#include "pyptx/syntax/parser.h"
#include "pyptx/verify/instruction.h"

namespace pyptx::fuzz {
namespace {

constexpr std::size_t kBytes = 4096;
constexpr std::byte kPattern{0x5A};
constexpr std::chrono::milliseconds kPatience{50};

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 28;  // in variables of a module
thread_local std::chrono::steady_clock::time_point stop_at;

bool is_late() { return std::chrono::steady_clock::now() > stop_at; }

/// Gives the last number.
std::uint64_t read_launch(std::string_view text, emu::Launch& launch) {
  launch.block = {32, 1, 1};
  std::uint64_t schedule = 0;
  std::uint64_t races = 1;
  std::uint64_t more = 0;
  emu::Options& options = launch.options;
  const auto into = [](std::uint32_t& to) {
    return [&to](std::uint64_t value) { to = static_cast<std::uint32_t>(value); };
  };
  if (text.starts_with("//")) {
    std::array<std::uint64_t, 14> numbers = {1, 1, 1, 32, 1, 1, 1, 1, 1, 0, 0, 0, 1, 0};
    const char* at = text.data() + 2;
    const char* end = text.data() + std::min(text.find('\n'), text.size());
    for (std::uint64_t& number : numbers) {
      while (at < end && (*at == ' ' || *at == ',')) ++at;
      const auto [next, error] = std::from_chars(at, end, number);
      if (error != std::errc()) break;
      at = next;
    }
    std::size_t i = 0;
    for (emu::Dim3* dim : {&launch.grid, &launch.block, &launch.cluster}) {
      into(dim->x)(numbers[i]);
      into(dim->y)(numbers[i + 1]);
      into(dim->z)(numbers[i + 2]);
      i += 3;
    }
    into(launch.dynamic_shared)(numbers[9]);
    schedule = numbers[10];
    options.seed = numbers[11];
    races = numbers[12];
    more = numbers[13];
  }
  options.completion = static_cast<emu::Completion>(schedule % 3);
  options.races = races % 2 != 0;
  options.counters = more % 4 >= 2;
  options.numerics = static_cast<emu::Numerics>(more % 2);
  return more;
}

struct Memory {
  std::unique_ptr<std::byte[]> bytes = std::make_unique<std::byte[]>(kBytes);
  bool is_writable = true;
};

/// Every parameter gets something of its size: a buffer, a tensor map, a small number.
std::vector<Memory> bind(const emu::Program& program, emu::Launch& launch) {
  std::vector<Memory> memory;
  for (const emu::ParamPlace& place : emu::params(program)) {
    const std::size_t end = std::size_t{place.offset} + place.size;
    if (end > launch.params.size()) launch.params.resize(end);
    if (place.size == 8 || place.size == 128) {
      Memory& one = memory.emplace_back();
      one.is_writable = memory.size() % 3 != 0;
      std::memset(one.bytes.get(), static_cast<int>(kPattern), kBytes);
      const auto address = reinterpret_cast<std::uint64_t>(one.bytes.get());
      launch.buffers.push_back({address, kBytes, one.is_writable});
      std::memcpy(launch.params.data() + place.offset, &address, 8);
      if (place.size == 8) continue;
      layout::TensorMap map;
      map.type = layout::MapType::U32;
      map.rank = 2;
      map.dims = {32, 32};
      map.strides = {128};
      map.box = {16, 16};
      const auto encoded = emu::encode(map, address);
      std::memcpy(launch.params.data() + place.offset, encoded.data(), encoded.size());
    } else if (place.size != 0) {
      launch.params[place.offset] = std::byte{16};
    }
  }
  return memory;
}

}  // namespace

Outcome run_text(std::string_view text) {
  emu::Launch launch;
  const std::uint64_t more = read_launch(text, launch);
  const bool is_judged = more % 8 < 4;  // a caller in C++ may leave that out
  const bool is_traced = more % 16 >= 8;
  verify::InstructionJudge judge;
  syntax::ParseOptions reading;
  if (is_judged) reading.judge = &judge;
  auto read = syntax::parse(text, "fuzz.ptx", reading);
  if (!read) return Outcome::Unreadable;
  const std::shared_ptr<const ir::Module> module = std::move(*read);
  const ir::Function* entry = nullptr;
  for (const auto& function : module->functions) {
    if (function->is_entry && !function->is_declaration) entry = function.get();
  }
  const std::string name(entry == nullptr ? "" : module->text(entry->name));
  auto program = emu::decode(module, name);
  if (!program) return Outcome::Undecodable;
  // A module may have as much as the machine does; what counts here is how many are tried.
  std::uint64_t bytes = 0;
  const auto count = [&](const std::vector<ir::Variable>& variables) {
    for (const ir::Variable& one : variables) bytes += std::min(one.size(), kMostBytes + 1);
  };
  count(module->variables);
  count(entry->variables);
  if (bytes > kMostBytes) return Outcome::Undecodable;
  const std::vector<Memory> memory = bind(**program, launch);
  std::ostringstream output;
  launch.options.output = &output;
  std::ostringstream trace;
  if (is_traced) launch.options.trace = &trace;
  launch.options.trace_events = 1000;
  launch.options.threads = 1;
  launch.options.interrupt = &is_late;
  stop_at = std::chrono::steady_clock::now() + kPatience;
  const auto report = emu::run(**program, launch);
  for (const Memory& one : memory) {
    for (std::size_t i = 0; i < kBytes && !one.is_writable; ++i) {
      if (one.bytes[i] != kPattern) std::abort();
    }
  }
  if (report) return Outcome::Ran;
  if (diag::render(report.error(), &module->locations).empty()) std::abort();
  return Outcome::Faulted;
}

}  // namespace pyptx::fuzz
