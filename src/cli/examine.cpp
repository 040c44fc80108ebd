// SPDX-License-Identifier: Apache-2.0
//
// What pyptx doctor tells of the machine: driver and devices, compilers, cache, emulator. Nothing
// is changed by looking, except that the cache's folder is made.
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <thread>

#include "pyptx/cli/doctor.h"
#include "pyptx/driver/assemble.h"
#include "pyptx/driver/cubin_cache.h"
#include "pyptx/driver/device.h"
#include "pyptx/emu/host.h"
#include "pyptx/support/concat.h"

namespace pyptx::cli {
namespace {

using driver::Compiler;
using support::concat;
using State = Finding::State;

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += (out.empty() ? "" : "; ") + line;
  return out;
}

Finding driver_finding() {
  Finding out{"driver", "libcuda", State::Good, "", "", {}};
  const auto version = driver::driver_version();
  if (version) {
    out.detail = concat("CUDA ", *version / 1000, ".", *version % 1000 / 10);
    out.facts.emplace_back("cuda", out.detail.substr(5));
  }
  if (const auto available = driver::available(); !available) {
    // A library that opens and does not work is a fault of the machine; none at all is a machine
    // without a GPU.
    out.state = version || is_set("PYPTX_LIBCUDA") ? State::Broken : State::Absent;
    out.detail = available.error().message();
    out.remedy = version ? joined(available.error()->notes)
                         : "on a machine with an NVIDIA GPU, install its driver (nvidia-smi shows "
                           "it); without one, kernels run on the emulator";
  }
  return out;
}

void add_devices(std::vector<Finding>& out) {
  const auto count = driver::device_count();
  for (int i = 0; count && i < *count; ++i) {
    const auto info = driver::device(i);
    if (!info) continue;
    const driver::DeviceInfo& device = **info;
    out.push_back(
        {"device",
         concat(i),
         State::Good,
         concat(device.name, ", ", device.target, ", ", device.multiprocessors, " multiprocessors"),
         "",
         {{"name", device.name}, {"target", device.target}}});
  }
}

struct Tool {
  Compiler kind;
  std::string_view name;
  const char* variable;  // names a file to use instead
  std::string_view remedy;
};
constexpr Tool kTools[] = {
    {Compiler::NvJitLink, "nvJitLink", "PYPTX_NVJITLINK", "pip install nvidia-nvjitlink"},
    {Compiler::Ptxas, "ptxas", "PYPTX_PTXAS", "pip install nvidia-cuda-nvcc"},
    {Compiler::DriverJit, "the driver's JIT", "PYPTX_LIBCUDA", ""},
};

Finding compiler_finding(const Tool& tool, bool is_needed) {
  Finding out{"compiler", std::string(tool.name), State::Good, "", "", {}};
  const auto found = driver::find_compiler(tool.kind);
  if (!found) {
    out.state = is_set(tool.variable) ? State::Broken : State::Absent;
    const auto& notes = found.error()->notes;
    out.detail = notes.empty() ? found.error().message() : notes.front();
    if (const std::string prefix = concat(tool.name, ": "); out.detail.starts_with(prefix)) {
      out.detail.erase(0, prefix.size());
    }
    if (out.state == State::Broken) {
      out.remedy = concat("correct or unset ", tool.variable);
    } else if (is_needed) {
      out.remedy = tool.remedy;
    }
    return out;
  }
  out.subject = found->name;
  const std::string isa = driver::newest_ptx(tool.kind);
  out.detail = isa.empty() ? "PTX ISA unknown" : concat("PTX ISA ", isa);
  if (!found->path.empty()) out.detail += concat(", ", found->path);
  out.facts = {{"path", found->path}, {"ptx", isa}, {"identity", found->identity}};
  return out;
}

/// A driver loads cubins of its own major version's compilers, and of older ones.
void compare_with_driver(Finding& compiler) {
  const auto version = driver::driver_version();
  const std::string_view name = compiler.subject;
  const std::string_view number = name.substr(name.rfind(' ') + 1);
  int major = 0;
  std::from_chars(number.data(), number.data() + number.size(), major);
  if (!version || major <= *version / 1000) return;
  compiler.state = State::Broken;
  compiler.detail += concat("; the driver is of CUDA ", *version / 1000, ".", *version % 1000 / 10,
                            " and may not load what it makes");
  compiler.remedy =
      concat("update the driver, or pip install nvidia-nvjitlink-cu", *version / 1000);
}

void add_compilers(std::vector<Finding>& out) {
  const auto used = driver::find_compiler();
  for (const Tool& tool : kTools) {
    // The best one that is missing is worth installing, the others not when there is one.
    out.push_back(compiler_finding(tool, tool.kind == Compiler::NvJitLink || !used));
    const bool is_used = used && used->kind == tool.kind;
    if (is_used) {
      out.back().detail += " (used)";
      compare_with_driver(out.back());
    }
    out.back().facts.emplace_back("used", is_used ? "true" : "false");
  }
  if (used) return;
  out.push_back({"compiler",
                 "any",
                 driver::available() ? State::Broken : State::Absent,
                 "no kernel can be assembled here: .cubin(), .sass() and launches on a GPU fail",
                 "pip install nvidia-nvjitlink",
                 {}});
}

std::string bytes_text(std::uint64_t bytes) {
  static constexpr std::string_view kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  std::uint64_t tenths = bytes * 10;
  for (; tenths >= 10240 && unit + 1 < std::size(kUnits); ++unit) tenths /= 1024;
  if (tenths % 10 == 0) return concat(tenths / 10, " ", kUnits[unit]);
  return concat(tenths / 10, ".", tenths % 10, " ", kUnits[unit]);
}

Finding cache_finding() {
  const driver::CubinCache cache = driver::CubinCache::global();
  const auto usage = cache.usage();
  Finding out{"cache",
              cache.folder().empty() ? "disk cache" : cache.folder(),
              State::Good,
              concat(usage.entries, usage.entries == 1 ? " entry, " : " entries, ",
                     bytes_text(usage.bytes), " of ", bytes_text(cache.size_limit())),
              "",
              {{"folder", cache.folder()},
               {"entries", concat(usage.entries)},
               {"bytes", concat(usage.bytes)},
               {"limit", concat(cache.size_limit())}}};
  const std::string problem = cache.problem();
  out.facts.emplace_back("writable", problem.empty() ? "true" : "false");
  if (problem.empty()) return out;
  const auto semicolon = problem.rfind("; ");
  if (semicolon != std::string::npos) out.remedy = problem.substr(semicolon + 2);
  if (cache.is_readable()) {  // as where an image brings its kernels along
    out.detail += ", read-only";
    return out;
  }
  out.detail = problem.substr(0, semicolon);
  // Turned off on purpose is no fault.
  out.state = cache.folder().empty() ? State::Absent : State::Broken;
  return out;
}

Finding emulator_finding() {
  const unsigned threads = std::thread::hardware_concurrency();
  const std::string variant(emu::host_variant());
  return {"emulator",  "CPU emulator",
          State::Good, concat("code for ", variant, " processors, ", threads, " threads"),
          "",          {{"variant", variant}, {"threads", concat(threads)}}};
}

}  // namespace

std::vector<Finding> examine() {
  std::vector<Finding> out{driver_finding()};
  add_devices(out);
  add_compilers(out);
  out.push_back(cache_finding());
  out.push_back(emulator_finding());
  return out;
}

}  // namespace pyptx::cli
