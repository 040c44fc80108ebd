// SPDX-License-Identifier: Apache-2.0
//
// Options by the words that Python and the command spell them with, and the line that shows the
// progress of a long run.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <ostream>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "pyptx/emu/emulator.h"

namespace pyptx::emu {
namespace {

template <typename T>
using Words = std::span<const std::pair<std::string_view, T>>;

using enum TensorCore;
constexpr std::pair<std::string_view, Completion> kSchedules[] = {
    {"earliest", Completion::Earliest},
    {"latest", Completion::Latest},
    {"random", Completion::Random},
};
constexpr std::pair<std::string_view, Numerics> kNumerics[] = {
    {"fast", Numerics::Fast},
    {"exact", Numerics::Exact},
};
constexpr std::pair<std::string_view, TensorCore> kTensorCores[] = {
    {"target", Target},
    {"turing", Turing},
    {"ampere", Ampere},
    {"ada", Ada},
    {"hopper", Hopper},
    {"blackwell", Blackwell},
    {"blackwell_rtx", BlackwellRtx},
};
constexpr double kMostSeconds = 1e9;  // thirty years
constexpr std::pair<std::string_view, bool> kChecks[] = {{"races", true}, {"basic", false}};

/// "schedule is 'earliest', 'latest' or 'random'"
template <typename T>
std::optional<std::string> choose(std::string_view name, std::string_view word, Words<T> words,
                                  T& to) {
  std::string problem(name);
  problem += " is ";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].first == word) {
      to = words[i].second;
      return std::nullopt;
    }
    if (i != 0) problem += i + 1 == words.size() ? " or " : ", ";
    problem += "'" + std::string(words[i].first) + "'";
  }
  return problem + ", not '" + std::string(word) + "'";
}

/// "1000000" is warp instructions; "2s", "500ms" and "1.5min" are time.
std::optional<std::string> set_limit(Options& options, std::string_view word) {
  const char* const first = word.begin();
  const char* const end = word.end();
  std::uint64_t steps = 0;
  const auto whole = std::from_chars(first, end, steps);
  if (whole.ec == std::errc() && whole.ptr == end && steps != 0) {
    options.limit_steps = steps;
    return std::nullopt;
  }
  double number = 0;
  const auto read = std::from_chars(first, end, number, std::chars_format::fixed);
  if (read.ec == std::errc()) {
    const std::string_view unit(read.ptr, static_cast<std::size_t>(end - read.ptr));
    const double seconds = unit == "s" ? 1 : unit == "ms" ? 1e-3 : unit == "min" ? 60 : 0;
    if (number * seconds > 0 && number * seconds <= kMostSeconds) {
      options.limit_seconds = number * seconds;
      return std::nullopt;
    }
  }
  return "limit is a number of warp instructions, as 1000000, or a time, as 2s, 500ms or 1.5min, "
         "not '" +
         std::string(word) + "'";
}

/// Rules that libraries break on purpose, and findings that a run can go on behind.
constexpr diag::Kind kIgnorable[] = {
    diag::Kind::EmuMissingWait,    diag::Kind::EmuReusedEarly,     diag::Kind::EmuProxyFence,
    diag::Kind::EmuRace,           diag::Kind::EmuMatrixFence,     diag::Kind::EmuMatrixRegister,
    diag::Kind::EmuTransactions,   diag::Kind::EmuExitPending,     diag::Kind::EmuTensorLeak,
    diag::Kind::EmuTensorOrder,    diag::Kind::EmuSameValue,       diag::Kind::EmuWeakRead,
    diag::Kind::EmuDependentGrid,  diag::Kind::EmuLaunchControl,   diag::Kind::EmuPeerCta,
    diag::Kind::EmuTensorMapFence, diag::Kind::EmuOutputUnwritten,
};

std::string ignorable_text() {
  std::vector<std::string_view> codes;
  for (const diag::Kind kind : kIgnorable) codes.push_back(diag::info(kind).code);
  std::ranges::sort(codes);
  std::string text;
  for (const std::string_view code : codes) text += (text.empty() ? "" : ", ") + std::string(code);
  return text;
}

/// Codes, with commas between them; none is all right.
std::optional<std::string> ignore(std::string_view codes, std::vector<diag::Kind>& to) {
  std::vector<diag::Kind> kinds;
  while (!codes.empty()) {
    const std::size_t comma = codes.find(',');
    const std::string_view code = codes.substr(0, comma);
    codes = comma == std::string_view::npos ? std::string_view() : codes.substr(comma + 1);
    const auto kind = diag::kind_from_code(code);
    if (!kind) return "ignore: there is no code '" + std::string(code) + "'";
    if (std::ranges::find(kIgnorable, *kind) == std::end(kIgnorable)) {
      return "ignore: a run cannot go on behind " + std::string(code) +
             "; what can be ignored: " + ignorable_text();
    }
    kinds.push_back(*kind);
  }
  to = std::move(kinds);
  return std::nullopt;
}

std::string one_decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

/// The environment is read once: others may change it meanwhile.
const std::string& default_checks() {
  static const std::string word = [] {
    const char* given = std::getenv("PYPTX_EMU_CHECKS");
    return std::string(given == nullptr ? "races" : given);
  }();
  return word;
}

}  // namespace

bool races_by_default() { return default_checks() != "basic"; }

std::optional<std::string> environment_problem() {
  Options options;
  auto problem = set_option(options, "checks", default_checks());
  if (problem) problem = "PYPTX_EMU_CHECKS: " + *problem;
  return problem;
}

std::optional<std::string> set_option(Options& options, std::string_view name,
                                      std::string_view word) {
  if (name == "schedule") return choose<Completion>(name, word, kSchedules, options.completion);
  if (name == "numerics") return choose<emu::Numerics>(name, word, kNumerics, options.numerics);
  if (name == "tensor_core") {
    return choose<TensorCore>(name, word, kTensorCores, options.tensor_core);
  }
  if (name == "checks") return choose<bool>(name, word, kChecks, options.races);
  if (name == "limit") return set_limit(options, word);
  if (name == "ignore") return ignore(word, options.ignored);
  return "there is no option '" + std::string(name) + "'";
}

std::string progress_text(const Progress& progress) {
  const double done = static_cast<double>(progress.done);
  const double rate = progress.seconds > 0 ? done / progress.seconds : 0;
  std::string text = "emulating: " + std::to_string(progress.done) + " of " +
                     std::to_string(progress.total) + " CTAs, " + one_decimal(progress.seconds) +
                     " s";
  if (rate <= 0) return text;
  const double left = static_cast<double>(progress.total - progress.done) / rate;
  return text + ", " + one_decimal(rate) + " per second, about " + one_decimal(left) + " s left";
}

ProgressLine::~ProgressLine() {
  if (width_ != 0) out_ << '\r' << std::string(width_, ' ') << '\r' << std::flush;
}

void ProgressLine::operator()(const Progress& progress) {
  if (progress.seconds < kQuietSeconds || progress.seconds - shown_ < kEverySeconds) return;
  shown_ = progress.seconds;
  const std::string text = progress_text(progress);
  const std::size_t blank = width_ > text.size() ? width_ - text.size() : 0;
  out_ << '\r' << text << std::string(blank, ' ') << std::flush;
  width_ = text.size();
}

}  // namespace pyptx::emu
