// SPDX-License-Identifier: Apache-2.0
//
// A launch: checks, then clusters over OS threads. Clusters that talk to each other through global
// memory run on one thread in turns, so that the same seed gives the same bits.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "cluster.h"

namespace pyptx::emu {
namespace {

/// Clusters resident at once when they take turns, and warp instructions of a turn.
constexpr u64 kResident = 132;
constexpr u64 kTurn = 1U << 16;
/// How often the caller's interrupt is asked.
constexpr std::chrono::milliseconds kAskEvery{20};

std::string text(const u32 (&dim)[3]) {
  return "(" + std::to_string(dim[0]) + ", " + std::to_string(dim[1]) + ", " +
         std::to_string(dim[2]) + ")";
}

std::optional<std::string> launch_problem(const Program& program, const Launch& launch) {
  const Dim3& grid = launch.grid;
  const Dim3& block = launch.block;
  const Dim3& cluster = launch.cluster;
  const u64 threads = static_cast<u64>(block.x) * block.y * block.z;
  const u64 ctas = static_cast<u64>(cluster.x) * cluster.y * cluster.z;
  if (threads == 0 || threads > 1024) {
    return "a block has 1 to 1024 threads, got " + std::to_string(threads);
  }
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return "the grid is empty";
  if (ctas == 0 || ctas > 16) {
    return "a cluster has 1 to 16 CTAs, got " + std::to_string(ctas);
  }
  if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0) {
    return "the grid is not a multiple of the cluster";
  }
  const u32* needed = program.required_threads;
  if (needed[0] != 0 && (needed[0] != block.x || needed[1] != block.y || needed[2] != block.z)) {
    return "the kernel requires blocks of " + text(program.required_threads);
  }
  if (program.maximum_threads != 0 && threads > program.maximum_threads) {
    return "the kernel admits " + std::to_string(program.maximum_threads) +
           " threads per block, got " + std::to_string(threads);
  }
  needed = program.required_cluster;
  if (needed[0] != 0 &&
      (needed[0] != cluster.x || needed[1] != cluster.y || needed[2] != cluster.z)) {
    return "the kernel requires clusters of " + text(program.required_cluster);
  }
  if (launch.params.size() < program.param_bytes) {
    return "the kernel has " + std::to_string(program.param_bytes) + " bytes of parameters, got " +
           std::to_string(launch.params.size());
  }
  const u64 shared = kSharedReserved + program.static_shared + u64{launch.dynamic_shared};
  if (shared > 228U * 1024U) {
    return std::to_string(shared) + " bytes of shared memory per block are more than 233472";
  }
  return std::nullopt;
}

class Grid {
 public:
  Grid(const Program& program, const Launch& launch)
      : program_(program),
        launch_(launch),
        memory_(program, launch.buffers, launch.params),
        clusters_(static_cast<u64>(launch.grid.x / launch.cluster.x) *
                  (launch.grid.y / launch.cluster.y) * (launch.grid.z / launch.cluster.z)) {}

  diag::Result<Report> run() {
    const u64 cores = std::max(1U, std::thread::hardware_concurrency());
    u64 threads = launch_.options.threads == 0 ? cores : launch_.options.threads;
    threads = std::min(threads, clusters_);
    if (program_.is_ordered) {
      run_in_turns();
    } else if (threads <= 1) {
      run_independent();
    } else {
      run_on(threads);
    }
    if (error_) return diag::fail(std::move(*error_));
    return report();
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// The calling thread takes part, and goes on asking for interrupts until the last is done.
  void run_on(u64 threads) {
    std::vector<std::thread> pool;
    u64 busy = threads - 1;
    std::condition_variable one_done;
    for (u64 i = 1; i < threads; ++i) {
      pool.emplace_back([&] {
        run_independent();
        const std::lock_guard lock(mutex_);
        --busy;
        one_done.notify_one();
      });
    }
    run_independent();
    std::unique_lock lock(mutex_);
    while (!one_done.wait_for(lock, kAskEvery, [&] { return busy == 0; })) {
      lock.unlock();
      is_interrupted();
      lock.lock();
    }
    lock.unlock();
    for (std::thread& thread : pool) thread.join();
  }

  bool is_interrupted() {
    if (stop_ || launch_.options.interrupt == nullptr) return stop_;
    if (std::this_thread::get_id() != caller_ || Clock::now() - asked_ < kAskEvery) return false;
    if (launch_.options.interrupt()) {
      record(~0ULL - 1, diag::Diagnostic(diag::Kind::EmuInterrupted, {}));
      stop_ = true;
    }
    asked_ = Clock::now();
    return stop_;
  }

  /// Keeps the error of the lowest cluster: which one is reported does not depend on timing.
  void record(u64 index, diag::Diagnostic diagnostic) {
    const std::lock_guard lock(mutex_);
    if (error_ && index >= failed_) return;
    error_ = std::move(diagnostic);
    failed_ = index;
  }

  void add_counts(const std::vector<u64>& counts) {
    const std::lock_guard lock(mutex_);
    counts_.resize(counts.size());
    for (std::size_t i = 0; i < counts.size(); ++i) counts_[i] += counts[i];
  }

  void run_independent() {
    std::vector<u64> counts(program_.code.size());
    for (u64 index = next_++; index < clusters_ && index < failed_; index = next_++) {
      const std::unique_ptr<Cluster> cluster = make_cluster(program_, launch_, memory_, index);
      Cluster::State state = Cluster::State::Running;
      while (state == Cluster::State::Running && !is_interrupted()) {
        state = cluster->run(kTurn, counts.data());
      }
      if (state == Cluster::State::Failed) record(index, std::move(*cluster->error));
      if (stop_) break;
    }
    add_counts(counts);
  }

  void run_in_turns() {
    std::vector<u64> counts(program_.code.size());
    std::vector<std::unique_ptr<Cluster>> resident;
    u64 next = 0;
    while (!error_ && (next < clusters_ || !resident.empty())) {
      while (next < clusters_ && resident.size() < kResident) {
        resident.push_back(make_cluster(program_, launch_, memory_, next++));
      }
      for (auto& cluster : resident) {
        const Cluster::State state = cluster->run(kTurn, counts.data());
        if (state == Cluster::State::Failed) {
          record(cluster->index, std::move(*cluster->error));
          break;
        }
        if (state == Cluster::State::Done) cluster.reset();
        if (is_interrupted()) break;
      }
      std::erase(resident, nullptr);
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
    return report;
  }

  const Program& program_;
  const Launch& launch_;
  GlobalMemory memory_;
  u64 clusters_;
  std::atomic<u64> next_{0};
  std::atomic<u64> failed_{~0ULL};
  std::atomic<bool> stop_{false};
  const std::thread::id caller_ = std::this_thread::get_id();
  Clock::time_point asked_ = Clock::now();
  std::mutex mutex_;
  std::optional<diag::Diagnostic> error_;
  std::vector<u64> counts_;
};

}  // namespace

diag::Result<Report> run(const Program& program, const Launch& launch) {
  if (const auto problem = launch_problem(program, launch)) {
    return diag::fail(diag::Kind::EmuLaunch, {*problem});
  }
  Grid grid(program, launch);
  return grid.run();
}

}  // namespace pyptx::emu
