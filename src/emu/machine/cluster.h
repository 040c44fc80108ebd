// SPDX-License-Identifier: Apache-2.0
//
// A cluster of CTAs: the unit that runs on one OS thread. Holds the deterministic scheduler, the
// queue of asynchronous operations and the cluster barrier. Nothing in it depends on other
// clusters, so a grid gives the same bits on any number of threads.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "async/bulk_queue.h"
#include "async/tcgen05_queue.h"
#include "machine/cta.h"
#include "machine/launch_order.h"
#include "machine/stop.h"
#include "memory/memory.h"

namespace pyptx::emu {

class Observer;
struct Observed;
class GlobalShadow;
class RaceDetector;

struct Cluster {
  Cluster();
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  enum class State : u8 { Running, Done, Failed };

  const Program* program = nullptr;
  const Launch* launch = nullptr;
  const GlobalMemory* memory = nullptr;
  u64 index = 0;                                // in the grid
  TensorCore tensor_core = TensorCore::Hopper;  // of Numerics::Exact
  std::vector<std::unique_ptr<Cta>> ctas;
  std::vector<Warp*> order;  // the scheduler's
  Random random{0};
  LaunchLine* line = nullptr;  // where clusters that have not started are asked for
  std::vector<Grant> unread;   // granted, and nobody has looked at the response
  u64 grants = 0;              // of all
  BulkQueue bulk;
  TensorQueue tensor;
  std::unique_ptr<RaceDetector> races;  // null: nobody asked
  std::unique_ptr<Observer> observer;   // null: nobody counts or traces
  std::size_t last_buffer = 0;
  /// Counts every event that a waiting warp could be waiting for.
  u64 progress = 0;
  u64 clock = 0;    // warp instructions so far
  u32 arrived = 0;  // threads at the cluster barrier
  u64 generation = 0;
  std::unique_ptr<diag::Diagnostic> error;
  std::vector<diag::Diagnostic> warnings;
  bool has_launched_dependents = false;
  std::string output;   // of vprintf
  u64 lost_output = 0;  // bytes that were printed beyond what is kept
  void print(std::string_view text);

  /// Runs about `budget` warp instructions; fewer when the pulse says that the run is to end.
  State run(u64 budget, u64* counts, Pulse& pulse);
  Standing standing() const;

  bool is_over(Warp& warp, Split& split);
  void lanes_exited(Warp& warp, u32 mask);
  void settle_cluster_barrier();
  Completion policy() const { return launch->options.completion; }
  /// Whether an operation issued now takes effect at once.
  bool is_immediate() { return policy() == Completion::Earliest; }

 private:
  bool step(u64* counts, Pulse& pulse);
  bool unstick();
  /// True now and then while nothing happens but instructions: a warp that polls with plain loads
  /// may wait for a copy.
  bool is_polling();
  State finish(Pulse& pulse);
  bool complete_one();
  /// Whether somebody has failed; the first one's fault becomes the error.
  bool take_fault();
  bool wake_timed_waits();
  diag::Diagnostic deadlock();
  /// What is wrong although everybody has finished: bytes that do not add up, copies in flight.
  std::unique_ptr<diag::Diagnostic> leftover();
  /// Tensor memory that nobody has freed.
  std::unique_ptr<diag::Diagnostic> leak();
  /// An mbarrier whose bytes do not add up.
  std::unique_ptr<diag::Diagnostic> unbalanced();
  /// A copy that nobody has waited for.
  std::unique_ptr<diag::Diagnostic> in_flight();
  /// An access to a CTA that may have ended.
  std::unique_ptr<diag::Diagnostic> outlived();
  /// A cluster that was cancelled and that nobody works for.
  std::unique_ptr<diag::Diagnostic> lost();

  u64 stuck_progress_ = ~0ULL;
  u32 stuck_rounds_ = 0;
  u64 polled_progress_ = ~0ULL;
  u32 polled_rounds_ = 0;
};

/// Builds the CTAs of cluster `index` of the grid. `shadow`: of clusters that talk to each other,
/// where races are looked for.
std::unique_ptr<Cluster> make_cluster(const Program& program, const Launch& launch,
                                      const GlobalMemory& memory, u64 index,
                                      GlobalShadow* shadow = nullptr);
/// "st.global.u32 (kernel.py:7)"
std::string place_text(const Program& program, const Inst& inst);
/// Where CTA `rank` of cluster `index` lies in the grid.
std::array<u32, 3> block_of(const Launch& launch, u64 index, u32 rank);

}  // namespace pyptx::emu
