// SPDX-License-Identifier: Apache-2.0
//
// When a run ends before its work is done: the caller's interrupt and the limits on instructions
// and time. The threads of a launch share one Stop; each asks it through a Pulse, between the
// quanta of its warps, so that the loop that runs instructions knows nothing of it.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "decode/program.h"

namespace pyptx::emu {

/// Where the warps of a cluster stand.
struct Standing {
  static constexpr std::size_t kMostLines = 16;
  std::vector<std::string> lines;  // of the first warps; there may be thousands
  std::size_t count = 0;           // of all that have not ended
  diag::Loc first = diag::Loc::None;
};

/// Shows them in `diagnostic`, and its place is the first's.
void show(const Standing& standing, const ir::Module& module, diag::Diagnostic& diagnostic);

class Stop {
 public:
  using Clock = std::chrono::steady_clock;
  /// How often the caller's interrupt is asked.
  static constexpr std::chrono::milliseconds kAskEvery{20};

  /// For a launch of `total` CTAs.
  Stop(const Options& options, u64 total);

  bool is_set() const { return is_set_.load(std::memory_order_relaxed); }
  /// Ends the run for a reason of the caller's own.
  void set() { is_set_ = true; }
  /// Whether the run is to end. `steps` warp instructions have run since the last question, and
  /// `has_more`: the thread has another to run.
  bool ask(u64 steps, bool has_more);
  /// Warp instructions that may still run.
  u64 left() const;
  /// `ctas` more are through.
  void add_done(u64 ctas) { done_ += ctas; }

  /// Where the warps of cluster `index` stand, for what the run will say.
  void add_standing(u64 index, Standing standing);
  /// What ended the run, if one of its own reasons did; for the end, when all threads have asked.
  std::optional<diag::Diagnostic> take(const ir::Module& module);

 private:
  diag::Diagnostic step_limit() const;
  void end(diag::Diagnostic why);
  bool ask_caller(Clock::time_point now);

  const Options& options_;
  const u64 total_;
  const std::thread::id caller_ = std::this_thread::get_id();
  const Clock::time_point started_ = Clock::now();
  Clock::time_point asked_ = started_;  // the caller's thread's own
  std::atomic<bool> is_set_{false};
  std::atomic<u64> steps_{0};
  std::atomic<u64> done_{0};
  std::mutex mutex_;
  std::optional<diag::Diagnostic> why_;
  std::map<u64, Standing> standing_;
};

/// One thread's way to ask. A question costs about as much as three instructions, so there is one
/// in a thousand of them.
class Pulse {
 public:
  /// What counts as this many instructions besides: the completion of an asynchronous operation.
  static constexpr u64 kOperation = 64;

  explicit Pulse(Stop& stop) : stop_(stop), left_(stop.left()) {}

  bool is_over() const { return stop_.is_set(); }
  /// What a warp may run of its quantum; nothing when the run is to end.
  u32 grant(u32 quantum) {
    if (left_ == 0 && beat(true)) return 0;
    return left_ < quantum ? static_cast<u32>(left_) : quantum;
  }
  /// `steps` instructions have run; true when the run is to end.
  bool spend(u64 steps) {
    left_ -= steps;
    steps_ += steps;
    return work(steps);
  }
  /// Work that is no instruction; true when the run is to end.
  bool work(u64 amount) {
    work_ += amount;
    return work_ >= kBeat && beat();
  }
  /// Asks now.
  bool beat(bool has_more = false) {
    const bool is_over = stop_.ask(steps_, has_more);
    work_ = steps_ = 0;
    left_ = stop_.left();
    return is_over;
  }

 private:
  static constexpr u64 kBeat = 1024;
  Stop& stop_;
  u64 left_;       // of the limit, as far as this thread knows
  u64 steps_ = 0;  // since the last question
  u64 work_ = 0;
};

}  // namespace pyptx::emu
