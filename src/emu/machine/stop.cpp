// SPDX-License-Identifier: Apache-2.0
//
// The reasons for which a run ends early (see the header).
#include "machine/stop.h"

#include <cstdio>
#include <utility>

namespace pyptx::emu {
namespace {

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", seconds);
  return text;
}

}  // namespace

void show(const Standing& standing, const ir::Module& module, diag::Diagnostic& diagnostic) {
  diagnostic.loc = standing.first;
  diagnostic->place = module.locations.resolve(standing.first);
  diagnostic->notes.insert(diagnostic->notes.end(), standing.lines.begin(), standing.lines.end());
  if (standing.count > standing.lines.size()) {
    const std::size_t more = standing.count - standing.lines.size();
    diagnostic->notes.push_back("and " + std::to_string(more) + " more");
  }
}

Stop::Stop(const Options& options, u64 total) : options_(options), total_(total) {}

u64 Stop::left() const {
  if (options_.limit_steps == 0) return ~0ULL;
  const u64 steps = steps_.load(std::memory_order_relaxed);
  return steps >= options_.limit_steps ? 0 : options_.limit_steps - steps;
}

bool Stop::ask(u64 steps, bool has_more) {
  if (options_.limit_steps != 0) {
    steps_ += steps;
    if (has_more && left() == 0) end(step_limit());
  }
  if (is_set()) return true;
  const bool has_deadline = options_.limit_seconds > 0;
  const bool is_caller =
      (options_.interrupt != nullptr || options_.progress) && std::this_thread::get_id() == caller_;
  if (!has_deadline && !is_caller) return false;
  const Clock::time_point now = Clock::now();
  if (has_deadline &&
      std::chrono::duration<double>(now - started_).count() >= options_.limit_seconds) {
    end(diag::Diagnostic(diag::Kind::EmuTimeLimit, {seconds_text(options_.limit_seconds)}));
  }
  return (is_caller && now - asked_ >= kAskEvery && ask_caller(now)) || is_set();
}

bool Stop::ask_caller(Clock::time_point now) {
  if (options_.progress) {
    const std::chrono::duration<double> passed = now - started_;
    options_.progress({done_, total_, passed.count()});
  }
  if (options_.interrupt != nullptr && options_.interrupt()) {
    end(diag::Diagnostic(diag::Kind::EmuInterrupted, {}));
  }
  asked_ = Clock::now();
  return is_set();
}

diag::Diagnostic Stop::step_limit() const {
  return {diag::Kind::EmuStepLimit, {std::to_string(options_.limit_steps)}};
}

void Stop::end(diag::Diagnostic why) {
  const std::lock_guard lock(mutex_);
  if (!why_) why_ = std::move(why);
  is_set_ = true;
}

void Stop::add_standing(u64 index, Standing standing) {
  const std::lock_guard lock(mutex_);
  standing_.insert_or_assign(index, std::move(standing));
}

std::optional<diag::Diagnostic> Stop::take(const ir::Module& module) {
  // Threads that knew nothing of each other's last steps may have done the work.
  if (options_.limit_steps != 0 && steps_ > options_.limit_steps) end(step_limit());
  if (!why_) return std::nullopt;
  Standing all;
  for (auto& [index, cluster] : standing_) {
    if (all.count == 0) all.first = cluster.first;
    all.count += cluster.count;
    for (std::string& line : cluster.lines) {
      if (all.lines.size() < Standing::kMostLines) all.lines.push_back(std::move(line));
    }
  }
  show(all, module, *why_);
  if (all.count == 0) {
    (*why_)->notes.push_back(std::to_string(done_) + " of " + std::to_string(total_) +
                             " CTAs are through, and no warp stands in one");
  }
  return std::move(why_);
}

}  // namespace pyptx::emu
