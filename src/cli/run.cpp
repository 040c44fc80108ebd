// SPDX-License-Identifier: Apache-2.0
//
// pyptx run: an entry of a PTX file on the emulator, with arguments from the command line.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <ostream>

#include "arguments.h"
#include "array.h"
#include "color.h"
#include "file.h"
#include "pyptx/diag/render.h"
#include "pyptx/emu/emulator.h"
#include "pyptx/support/concat.h"
#include "pyptx/text/text.h"
#include "subcommands.h"

namespace pyptx::cli {
namespace {

constexpr std::string_view kRunHelp =
    "usage: pyptx run FILE [options]      ('-' reads standard input)\n\n"
    "Runs an entry on the CPU emulator and prints the buffers that it changed. Every access is\n"
    "checked; what goes wrong is shown at its line.\n\n"
    "  --entry NAME        which entry (default: the only one)\n"
    "  --grid X[,Y[,Z]]    CTAs (default 1)\n"
    "  --block X[,Y[,Z]]   threads of a CTA (default 32)\n"
    "  --cluster X[,Y[,Z]] CTAs of a cluster (default 1)\n"
    "  --smem N            bytes of dynamic shared memory\n"
    "  --arg ARGUMENT      one per parameter, in their order:\n"
    "                        u32:7  s64:-1  f32:1.5  b32:0xff     a scalar\n"
    "                        f32[1024]:FILL  bf16[16x8]:FILL      a buffer; FILL is zeros, ones,\n"
    "                        arange, random[:SEED] (floats in [-1, 1), integers below 100) or\n"
    "                        @FILE.npy;  @FILE.npy alone          type and shape are the file's\n"
    "  --save N=FILE.npy   writes the buffer of argument N (from 0) afterwards\n"
    "  --show N            elements of a buffer to print (default 8; 0: none)\n"
    "  --seed N            picks the order of warps (default 0)\n"
    "  --schedule WHEN     when copies land: latest (default), earliest, random\n"
    "  --numerics HOW      of matrix instructions: fast (default), exact\n"
    "  --tensor-core NAME  whose sums exact follows: target (default), ampere, hopper, ...\n"
    "  --checks WHICH      races (default), basic\n"
    "  --limit LIMIT       ends the run after so many warp instructions (1000000) or so long (2s,\n"
    "                        500ms, 1.5min); may be given once for each\n"
    "  --ignore CODES      findings not to report, with commas between them: PTX0919,PTX0931\n"
    "  --threads N         OS threads (default: one per core)\n"
    "  --counters          prints what the run cost, by opcode, line and instruction\n"
    "  --trace FILE.json   writes a trace that Perfetto opens\n"
    "  --color WHEN        auto (default), always, never\n\n"
    "Exit status: 0 it ran, 1 the text or the run has errors, 2 wrong use or an unreadable file.\n";

bool read_number(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool read_dim(std::string_view text, emu::Dim3& dim) {
  std::uint32_t* const to[] = {&dim.x, &dim.y, &dim.z};
  for (std::uint32_t* one : to) {
    const std::size_t comma = text.find(',');
    std::uint64_t value = 0;
    if (!read_number(text.substr(0, comma), value) || value == 0 || value >> 31 != 0) return false;
    *one = static_cast<std::uint32_t>(value);
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
  return false;
}

/// One run on its way from words to a launch. Each step says in `problem` what is wrong.
class KernelRun {
 public:
  KernelRun(const Arguments& arguments, Streams& streams)
      : arguments_(arguments), streams_(streams) {}

  std::string problem;

  bool read_options() {
    launch_.block = {32, 1, 1};
    launch_.options.races = true;
    launch_.options.interrupt = streams_.interrupt;
    launch_.options.counters = arguments_.has("--counters");
    std::uint64_t threads = 0;
    std::uint64_t shared = 0;
    return dim("--grid", launch_.grid) && dim("--block", launch_.block) &&
           dim("--cluster", launch_.cluster) && number("--smem", shared, launch_.dynamic_shared) &&
           number("--seed", launch_.options.seed, launch_.options.seed) &&
           number("--threads", threads, launch_.options.threads) &&
           number("--show", shown_, shown_) && word("--schedule", "schedule") &&
           word("--numerics", "numerics") && word("--tensor-core", "tensor_core") &&
           word("--checks", "checks") && word("--ignore", "ignore") && read_limits() &&
           read_saves() && read_values();
  }

  /// Puts the arguments into the parameter block.
  bool bind(const emu::Program& program) {
    const auto places = emu::params(program);
    if (places.size() != values_.size()) {
      problem = "the entry has " + std::to_string(places.size()) + " parameters, got " +
                std::to_string(values_.size()) + " --arg";
      return false;
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      Array& array = values_[i].array;
      const auto address = reinterpret_cast<std::uint64_t>(array.bytes.data());
      const std::uint64_t size = values_[i].is_buffer ? 8 : array.bytes.size();
      if (size != places[i].size) {
        problem =
            "parameter " + std::to_string(i) + " '" + places[i].name + "' has " +
            std::to_string(places[i].size) + " bytes, argument " + std::to_string(i) +
            (values_[i].is_buffer ? " is the address of a buffer" : " has " + std::to_string(size));
        return false;
      }
      launch_.params.resize(std::max<std::size_t>(launch_.params.size(), places[i].offset + size));
      std::memcpy(launch_.params.data() + places[i].offset,
                  values_[i].is_buffer ? static_cast<const void*>(&address) : array.bytes.data(),
                  size);
      if (values_[i].is_buffer) {
        launch_.buffers.push_back({address, array.bytes.size(), true, places[i].name});
      }
    }
    return true;
  }

  bool open_trace() {
    const auto path = arguments_.option("--trace");
    if (!path) return true;
    trace_.open(std::string(*path), std::ios::binary | std::ios::trunc);
    if (!trace_) problem = std::string(*path) + ": " + std::strerror(errno);
    launch_.options.trace = &trace_;
    return problem.empty();
  }

  diag::Result<emu::Report> execute(const emu::Program& program) {
    for (const KernelArgument& value : values_) before_.push_back(value.array.bytes);
    emu::ProgressLine line(streams_.err);
    if (streams_.is_error_terminal) launch_.options.progress = std::ref(line);
    return emu::run(program, launch_);
  }

  void show(const emu::Report& report) {
    for (std::size_t i = 0; i < values_.size() && shown_ != 0; ++i) {
      const Array& array = values_[i].array;
      if (!values_[i].is_buffer || array.bytes == before_[i]) continue;
      streams_.out << "argument " << i << ", " << array.describe() << ":";
      for (std::uint64_t e = 0; e < std::min(shown_, array.count()); ++e) {
        streams_.out << ' ' << array.text(e);
      }
      streams_.out << (array.count() > shown_ ? " ...\n" : "\n");
    }
    if (!report.counters) return;
    streams_.out << '\n'
                 << emu::to_text(*report.counters) << '\n'
                 << emu::profile_text(*report.counters);
  }

  bool save() {
    for (const auto& [index, path] : saves_) {
      if (!write_npy(path, values_[index].array, problem)) return false;
    }
    return true;
  }

 private:
  bool dim(std::string_view name, emu::Dim3& to) {
    const auto text = arguments_.option(name);
    if (!text || read_dim(*text, to)) return true;
    problem = std::string(name) + " is one to three positive numbers with commas, not '" +
              std::string(*text) + "'";
    return false;
  }

  template <typename T>
  bool number(std::string_view name, std::uint64_t& read, T& to) {
    const auto text = arguments_.option(name);
    if (!text) return true;
    if (!read_number(*text, read) || read > std::numeric_limits<T>::max()) {
      problem = std::string(name) + " is a number, not '" + std::string(*text) + "'";
      return false;
    }
    to = static_cast<T>(read);
    return true;
  }

  bool word(std::string_view name, std::string_view option) {
    const auto text = arguments_.option(name);
    const auto wrong = text ? emu::set_option(launch_.options, option, *text) : std::nullopt;
    if (wrong) problem = "--" + *wrong;
    return !wrong;
  }

  bool read_limits() {
    for (const std::string& text : arguments_.every("--limit")) {
      if (const auto wrong = emu::set_option(launch_.options, "limit", text)) {
        problem = "--" + *wrong;
        return false;
      }
    }
    return true;
  }

  bool read_values() {
    for (const std::string& text : arguments_.every("--arg")) {
      std::string wrong;
      auto value = read_argument(text, wrong);
      if (!value) {
        problem = support::concat("--arg ", text, ": ", wrong);
        return false;
      }
      values_.push_back(std::move(*value));
    }
    for (const auto& [index, path] : saves_) {
      if (index < values_.size() && values_[index].is_buffer) continue;
      problem = "--save " + std::to_string(index) + ": there is no buffer of that number";
      return false;
    }
    return true;
  }

  bool read_saves() {
    for (const std::string& text : arguments_.every("--save")) {
      const std::size_t equal = text.find('=');
      std::uint64_t index = 0;
      if (equal == std::string::npos ||
          !read_number(std::string_view(text).substr(0, equal), index)) {
        problem = "--save is N=FILE.npy, not '" + text + "'";
        return false;
      }
      saves_.emplace_back(index, text.substr(equal + 1));
    }
    return true;
  }

  const Arguments& arguments_;
  Streams& streams_;
  emu::Launch launch_;
  std::vector<KernelArgument> values_;
  std::vector<std::vector<std::byte>> before_;
  std::vector<std::pair<std::uint64_t, std::string>> saves_;
  std::ofstream trace_;
  std::uint64_t shown_ = 8;
};

void show_finding(const diag::Diagnostic& finding, const text::Checked& checked, bool is_colored,
                  Streams& streams) {
  streams.err << diag::render(finding, &checked.document.module().locations, {.color = is_colored})
              << '\n';
}

int show_error(const diag::Diagnostic& error, const text::Checked& checked, bool is_colored,
               Streams& streams) {
  show_finding(error, checked, is_colored, streams);
  return kInputErrors;
}

int run_checked(const text::Checked& checked, const Arguments& arguments, bool is_colored,
                Streams& streams) {
  for (const diag::Diagnostic& diagnostic : checked.diagnostics) {
    if (diagnostic.severity() == diag::Severity::Error) {
      show_error(diagnostic, checked, is_colored, streams);
    }
  }
  if (!checked.ok()) return kInputErrors;
  KernelRun run(arguments, streams);
  if (!run.read_options()) return usage_error(streams, "run", run.problem);
  const auto program =
      emu::decode(checked.document.share(), arguments.option("--entry").value_or(""));
  if (!program) return show_error(program.error(), checked, is_colored, streams);
  if (!run.bind(**program) || !run.open_trace()) return usage_error(streams, "run", run.problem);
  const auto report = run.execute(**program);
  if (!report) return show_error(report.error(), checked, is_colored, streams);
  for (const diag::Diagnostic& warning : report->warnings) {
    show_finding(warning, checked, is_colored, streams);
  }
  run.show(*report);
  return run.save() ? kSuccess : usage_error(streams, "run", run.problem);
}

}  // namespace

int run_entry(std::span<const std::string> words, Streams& streams) {
  std::string problem;
  const auto arguments =
      read_arguments(words,
                     {{"--counters", "--help"},
                      {"--entry", "--grid", "--block", "--cluster", "--smem", "--arg", "--save",
                       "--show", "--seed", "--schedule", "--numerics", "--tensor-core", "--checks",
                       "--ignore", "--limit", "--threads", "--trace", "--color"}},
                     problem);
  if (!arguments) return usage_error(streams, "run", problem);
  if (arguments->has("--help")) {
    streams.out << kRunHelp;
    return kSuccess;
  }
  if (arguments->positional.size() != 1) return usage_error(streams, "run", "name one file");
  const auto is_colored = wants_color(arguments->option("--color").value_or("auto"), streams);
  if (!is_colored) return usage_error(streams, "run", "--color is auto, always or never");
  const std::string& path = arguments->positional[0];
  const auto bytes = read_file(path, streams);
  if (!bytes) return kUsageError;
  const text::Checked checked = text::check(*bytes, path == "-" ? "<stdin>" : path);
  return run_checked(checked, *arguments, *is_colored, streams);
}

}  // namespace pyptx::cli
