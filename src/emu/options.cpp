// SPDX-License-Identifier: Apache-2.0
//
// Options by the words that Python and the command spell them with, and the line that shows the
// progress of a long run.
#include <charconv>
#include <cstdint>
#include <cstdio>
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

std::string one_decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

}  // namespace

std::optional<std::string> set_option(Options& options, std::string_view name,
                                      std::string_view word) {
  if (name == "schedule") return choose<Completion>(name, word, kSchedules, options.completion);
  if (name == "numerics") return choose<emu::Numerics>(name, word, kNumerics, options.numerics);
  if (name == "tensor_core") {
    return choose<TensorCore>(name, word, kTensorCores, options.tensor_core);
  }
  if (name == "checks") return choose<bool>(name, word, kChecks, options.races);
  if (name == "limit") return set_limit(options, word);
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
