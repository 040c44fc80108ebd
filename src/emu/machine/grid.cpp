// SPDX-License-Identifier: Apache-2.0
//
// A launch: checks, then clusters over OS threads. Clusters that talk to each other through global
// memory run on one thread in turns, so that the same seed gives the same bits.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <iostream>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include "machine/cluster.h"
#include "machine/launch_check.h"
#include "observe/observer.h"
#include "pyptx/diag/exception.h"
#include "pyptx/emu/stream.h"
#include "race/detector.h"
#include "race/launch_trace.h"
#include "race/ledger.h"

namespace pyptx::emu {
namespace {

/// Clusters resident at once when they take turns, and warp instructions of a turn.
constexpr u64 kResident = 132;
constexpr u64 kTurn = 1U << 16;
/// What the calling thread does alone before it starts others: they cost about as much.
constexpr std::chrono::microseconds kAlone{100};
/// The work of making a cluster, in instructions.
constexpr u64 kStart = 256;

/// Threads that a run is given at most, whatever it asks for.
constexpr u64 kMostThreads = 1024;
/// What is kept of what a launch prints.
constexpr u64 kMostKept = u64{1} << 26;

u64 thread_count(const Launch& launch) {
  // Asked once: the answer comes from files, which is longer than a small launch.
  static const u64 cores = std::max(1U, std::thread::hardware_concurrency());
  const u64 threads = launch.options.threads == 0 ? cores : launch.options.threads;
  return std::min({threads, kMostThreads, cluster_count(launch)});
}

std::unique_ptr<const Observed> make_observed(const Program& program, const Options& options) {
  const bool is_counted = options.counters || options.trace != nullptr;
  if (!is_counted && program.function->shown.empty()) return nullptr;
  return std::make_unique<Observed>(program, is_counted);
}

class Grid {
 public:
  Grid(const Program& program, const Launch& launch)
      : program_(program),
        launch_(launch),
        observed_(make_observed(program, launch.options)),
        memory_(program, launch),
        clusters_(cluster_count(launch)),
        order_(clusters_, launch.options.seed, program.cancels),
        stop_(launch.options, clusters_ * product(launch.cluster)) {}

  diag::Result<Report> run() {
    const u64 threads = thread_count(launch_);
    if (launch_.options.trace != nullptr) {
      trace_.emplace(*launch_.options.trace);
      labels_.emplace(program_);
    }
    if (launch_.options.races) {
      if (program_.is_ordered) {
        shadow_.emplace();
      } else if (clusters_ > 1 || launch_.options.stream != nullptr) {
        ledger_.emplace(program_, launch_, memory_);
      }
    }
    if (program_.is_ordered) {
      run_in_turns();
    } else if (threads <= 1) {
      run_independent([] {});
    } else {
      run_on(threads);
    }
    if (trace_) trace_->finish();
    std::ostream& out = launch_.options.output != nullptr ? *launch_.options.output : std::cout;
    for (const auto& [cluster, text] : output_) out << text;
    if (lost_output_ != 0) out << "[" << lost_output_ << " more bytes were printed]\n";
    if (!output_.empty()) out.flush();
    // Of a run that was stopped it depends on the time what could be compared.
    if (ledger_ && !stop_.is_set()) judge_clusters();
    // What is wrong with the kernel is more than that it was stopped.
    if (!error_) error_ = stop_.take(*program_.module);
    if (launch_.options.stream != nullptr) leave_trace();
    if (error_) return diag::fail(std::move(*error_));
    return report();
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// The calling thread takes part, and goes on asking for interrupts until the last is done.
  void run_on(u64 threads) {
    std::vector<std::thread> pool;
    bool is_alone = true;
    u64 busy = 0;
    std::condition_variable one_done;
    const auto help = [&] {
      keep_thrown([&] { run_independent([] {}); });
      const std::lock_guard lock(mutex_);
      --busy;
      one_done.notify_one();
    };
    const Clock::time_point begin = Clock::now();
    keep_thrown([&] {
      run_independent([&] {
        if (!is_alone || Clock::now() - begin < kAlone || next_ >= order_.lines()) return;
        is_alone = false;
        pool.reserve(threads - 1);
        while (pool.size() < threads - 1 && start_thread(pool, help, busy)) {
        }
      });
    });
    std::unique_lock lock(mutex_);
    while (!one_done.wait_for(lock, Stop::kAskEvery, [&] { return busy == 0; })) {
      lock.unlock();
      keep_thrown([&] { stop_.ask(0, false); });
      lock.lock();
    }
    lock.unlock();
    for (std::thread& thread : pool) thread.join();
    if (thrown_) std::rethrow_exception(thrown_);
  }

  /// Where the system has no thread left, those that there are do the work: false.
  template <typename F>
  bool start_thread(std::vector<std::thread>& pool, const F& body, u64& busy) {
    // Held while it starts: the thread counts itself out under the lock.
    const std::lock_guard lock(mutex_);
    try {
      pool.emplace_back(body);
      ++busy;
      return true;
    } catch (const std::system_error&) {
      return false;
    }
  }

  /// Runs `body`. What it throws (there is no memory, or the caller's own function threw) ends the
  /// launch, but not before every thread has been joined.
  template <typename F>
  void keep_thrown(F&& body) {
    try {
      body();
    } catch (const std::exception&) {
      const std::lock_guard lock(mutex_);
      if (!thrown_) thrown_ = std::current_exception();
      stop_.set();
    }
  }

  /// Keeps the error of the lowest line: which one is reported does not depend on timing.
  void record(u64 line, diag::Diagnostic diagnostic) {
    const std::lock_guard lock(mutex_);
    if (error_ && line >= own_failed_) return;
    error_ = std::move(diagnostic);
    own_failed_ = line;
    u64 failed = failed_;
    while (line < failed && !failed_.compare_exchange_weak(failed, line)) {
    }
  }

  void add_counts(const std::vector<u64>& counts) {
    const std::lock_guard lock(mutex_);
    counts_.resize(counts.size());
    for (std::size_t i = 0; i < counts.size(); ++i) counts_[i] += counts[i];
  }

  std::unique_ptr<Cluster> start(u64 index, LaunchLine& line) {
    GlobalShadow* shadow = shadow_ ? &*shadow_ : nullptr;
    const Program& program = observed_ ? observed_->program : program_;
    auto cluster = make_cluster(program, launch_, memory_, index, shadow);
    cluster->line = &line;
    if (!observed_) return cluster;
    const u64 events = std::max<u64>(1, launch_.options.trace_events / clusters_);
    cluster->observer = std::make_unique<Observer>(*cluster, *observed_, trace_ ? events : 0);
    return cluster;
  }

  /// The cluster is through: takes what its observer has gathered.
  void end(Cluster& cluster) {
    stop_.add_done(cluster.ctas.size() * (1 + cluster.grants));
    if (!cluster.output.empty()) keep_output(cluster);
    if (cluster.has_launched_dependents) has_launched_dependents_ = true;
    if (!cluster.warnings.empty()) {
      const std::lock_guard lock(mutex_);
      warnings_.emplace(cluster.index, std::move(cluster.warnings));
    }
    if (!cluster.observer) return;
    Timeline& timeline = cluster.observer->timeline();
    std::string text = trace_ ? trace_text(cluster, timeline, *labels_) : std::string();
    const std::lock_guard lock(mutex_);
    tally_.add(cluster.observer->tally());
    if (auto shown = cluster.observer->take_shown(); !shown.empty()) {
      shown_.emplace(cluster.index, std::move(shown));
    }
    if (cluster.index == 0) tensor_uses_ = cluster.observer->take_tensor_uses();
    if (trace_) trace_->add(cluster.index, std::move(text), timeline.dropped());
  }

  /// The run ends here: says where the warps of a cluster stand, and keeps what it has gathered.
  void leave(Cluster& cluster) {
    stop_.add_standing(cluster.index, cluster.standing());
    end(cluster);
  }

  /// Of clusters in their order as much as there is room for, whoever comes first.
  void keep_output(Cluster& cluster) {
    const std::lock_guard lock(mutex_);
    lost_output_ += cluster.lost_output;
    kept_output_ += cluster.output.size();
    output_.emplace(cluster.index, std::move(cluster.output));
    while (!output_.empty() && (kept_output_ > kMostKept || output_.rbegin()->first > last_kept_)) {
      const auto last = std::prev(output_.end());
      last_kept_ = std::min(last_kept_, last->first == 0 ? 0 : last->first - 1);
      kept_output_ -= last->second.size();
      lost_output_ += last->second.size();
      output_.erase(last);
    }
  }

  /// The cluster has ended, or failed: what it did to global memory is compared with the others'.
  /// Behind a race nobody need start.
  void enter(const Cluster& cluster) {
    GlobalShadow& touched = *cluster.races->own_global();
    if (launch_.options.stream != nullptr) {
      const std::lock_guard lock(mutex_);
      trace_of_launch_->add(touched);
    }
    const u64 later = ledger_->add(cluster.index, touched);
    // Lines do not follow the order of the clusters in them: all are needed for the first race.
    if (program_.cancels) return;
    u64 failed = failed_;
    while (later < failed && !failed_.compare_exchange_weak(failed, later)) {
    }
  }

  void judge_clusters() {
    std::optional<diag::Diagnostic> race = ledger_->race();
    // An error of an earlier cluster's own comes first. That a value was not there yet is the same
    // race where another cluster writes it.
    const bool has_no_value = error_ && error_->kind == diag::Kind::EmuUninitialised;
    const bool is_first =
        !program_.cancels &&
        (own_failed_ > failed_ || (has_no_value && own_failed_ == ledger_->later_of_race()));
    if (race && (!error_ || is_first)) error_ = std::move(race);
    if (auto same = ledger_->same_value()) warnings_[0].push_back(std::move(*same));
  }

  /// What the next launch of the stream may overlap.
  void leave_trace() {
    Stream& stream = *launch_.options.stream;
    std::unique_ptr<LaunchTrace> trace;
    if (launch_.options.races && !error_ && has_launched_dependents_) {
      trace = std::move(trace_of_launch_);
      if (shadow_) trace->add(*shadow_);
      for (const Inst& inst : program_.code) {
        const bool is_last = &inst == &program_.code.back();
        trace->instructions.push_back(is_last ? std::string() : place_text(program_, inst));
      }
    }
    stream.set_last(std::move(trace));
  }

  /// Calls after_turn() now and then.
  template <typename F>
  void run_independent(F&& after_turn) {
    std::vector<u64> counts(program_.code.size());
    Pulse pulse(stop_);
    u64 turn = kTurn / 32;  // the first is short: nobody else has started yet
    // The clusters of one line; false: nobody need start behind them.
    const auto run_line = [&](LaunchLine line) {
      for (auto index = line.launch(); index; index = line.launch()) {
        const std::unique_ptr<Cluster> cluster = start(*index, line);
        Cluster::State state = Cluster::State::Running;
        while (state == Cluster::State::Running && !pulse.is_over()) {
          state = cluster->run(turn, counts.data(), pulse);
          after_turn();
          turn = kTurn;
        }
        if (state == Cluster::State::Failed) record(line.number(), std::move(*cluster->error));
        if (state == Cluster::State::Running) {
          leave(*cluster);
        } else {
          end(*cluster);
        }
        if (state != Cluster::State::Running && ledger_) enter(*cluster);
        if (pulse.work(kStart) || pulse.is_over()) return false;
        if (state == Cluster::State::Failed) break;
      }
      return true;
    };
    u64 number = next_++;
    while (number < order_.lines() && number < failed_ && run_line(order_.line(number))) {
      number = next_++;
    }
    pulse.beat();
    add_counts(counts);
  }

  void run_in_turns() {
    struct Resident {
      LaunchLine line;
      std::unique_ptr<Cluster> cluster;
    };
    std::vector<u64> counts(program_.code.size());
    Pulse pulse(stop_);
    std::vector<std::unique_ptr<Resident>> resident;  // a cluster knows where its line is
    u64 next = 0;
    const auto start_next = [&](Resident& at) {
      const std::optional<u64> index = at.line.launch();
      at.cluster = index ? start(*index, at.line) : nullptr;
    };
    while (!error_ && !pulse.is_over() && (next < order_.lines() || !resident.empty())) {
      while (next < order_.lines() && resident.size() < kResident) {
        resident.push_back(std::make_unique<Resident>(order_.line(next++), nullptr));
        start_next(*resident.back());
        if (pulse.work(kStart)) break;
      }
      for (const auto& at : resident) {
        const Cluster::State state = at->cluster->run(kTurn, counts.data(), pulse);
        if (state != Cluster::State::Running) end(*at->cluster);
        if (state == Cluster::State::Failed) {
          record(at->line.number(), std::move(*at->cluster->error));
          break;
        }
        if (state == Cluster::State::Done) start_next(*at);
        if (pulse.is_over()) break;
      }
      std::erase_if(resident, [](const auto& at) { return at->cluster == nullptr; });
    }
    for (const auto& at : resident) {
      if (!error_) leave(*at->cluster);
    }
    add_counts(counts);
  }

  Report report() const {
    Report report;
    std::map<std::string_view, u64> rows;
    for (std::size_t i = 0; i + 1 < counts_.size(); ++i) {
      if (counts_[i] == 0) continue;
      rows[program_.source(program_.code[i]).spelling->text] += counts_[i];
      report.warp_instructions += counts_[i];
    }
    for (const auto& [spelling, count] : rows) {
      report.rows.push_back({std::string(spelling), count});
    }
    std::ranges::stable_sort(report.rows, std::greater{}, &Report::Row::warp_instructions);
    const bool tells_gaps = !launch_.options.is_ignored(diag::Kind::EmuOutputUnwritten);
    for (const Gap& gap : tells_gaps ? memory_.gaps() : std::vector<Gap>()) {
      report.warnings.push_back(diag::Diagnostic(
          diag::Kind::EmuOutputUnwritten, {std::to_string(gap.count), std::to_string(gap.elements),
                                           gap.buffer, std::to_string(gap.first)}));
    }
    std::set<std::pair<diag::Kind, diag::Loc>> told;
    for (const auto& [cluster, warnings] : warnings_) {
      for (const diag::Diagnostic& warning : warnings) {
        // Every cluster has the same to tell: once for each place.
        if (told.emplace(warning.kind, warning.loc).second) report.warnings.push_back(warning);
      }
    }
    for (auto& [cluster, tiles] : shown_) {
      for (const ShownTile& tile : tiles) report.shown.push_back(tile);
    }
    if (!launch_.options.counters) return report;
    report.counters = make_counters(program_, tally_, counts_);
    report.tensor_uses = tensor_uses_;
    return report;
  }

  const Program& program_;
  const Launch& launch_;
  std::unique_ptr<const Observed> observed_;  // null: nobody counts or traces
  std::optional<TraceWriter> trace_;
  std::optional<TraceLabels> labels_;  // where there is a trace
  Tally tally_;
  std::map<u64, std::vector<ShownTile>> shown_;  // by cluster
  std::vector<TensorMemoryUse> tensor_uses_;     // of the first one
  std::map<u64, std::string> output_;            // of each cluster that printed
  u64 kept_output_ = 0;                          // bytes of it
  u64 lost_output_ = 0;
  u64 last_kept_ = ~0ULL;  // no later cluster's output is kept
  GlobalMemory memory_;
  std::optional<GlobalShadow> shadow_;  // of clusters that take turns
  std::optional<Ledger> ledger_;        // of others
  std::unique_ptr<LaunchTrace> trace_of_launch_ = std::make_unique<LaunchTrace>();
  std::atomic<bool> has_launched_dependents_{false};
  std::map<u64, std::vector<diag::Diagnostic>> warnings_;
  u64 own_failed_ = ~0ULL;  // the line that error_ is of
  u64 clusters_;
  LaunchOrder order_;
  std::atomic<u64> next_{0};
  std::atomic<u64> failed_{~0ULL};
  Stop stop_;
  std::mutex mutex_;
  std::optional<diag::Diagnostic> error_;
  std::exception_ptr thrown_;
  std::vector<u64> counts_;
};

}  // namespace

diag::Result<Report> run(const Program& program, const Launch& launch) try {
  auto problem = environment_problem();
  if (!problem) problem = launch_problem(program, launch);
  if (!problem) {
    const u64 resident =
        program.is_ordered ? std::min(kResident, cluster_count(launch)) : thread_count(launch);
    problem = memory_problem(program, launch, resident);
  }
  if (problem) return diag::fail(diag::Kind::EmuLaunch, {*problem});
  Grid grid(program, launch);
  return grid.run();
} catch (const std::bad_alloc&) {
  return diag::fail(diag::current_exception());
} catch (const std::length_error&) {
  return diag::fail(diag::current_exception());
}

}  // namespace pyptx::emu
