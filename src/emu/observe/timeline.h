// SPDX-License-Identifier: Apache-2.0
//
// What happened when, for a trace. Time is logical: a warp takes one step per instruction, all
// warps at once; a wait ends when what it waited for has happened; a copy is under way from its
// issue until the scheduler lets it land. Nothing here depends on how clusters are spread over
// threads.
#pragma once

#include <array>
#include <iosfwd>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "machine/warp.h"

namespace pyptx::emu {

struct Cluster;

/// Who made something happen: an instruction of a warp, or what it had under way.
struct Cause {
  u32 rank = 0;
  u32 warp = 0;
  u32 pc = 0;
  bool is_known = false;
  bool is_operation = false;
};

struct TimelineEvent {
  /// A phase is one of an mbarrier, from the end of the one before it.
  enum class Kind : u8 { Instruction, Wait, Operation, Phase };
  Kind kind = Kind::Instruction;
  Wait::Kind wait = Wait::Kind::None;
  u32 rank = 0;  // of the CTA
  u32 warp = 0;  // in the CTA
  u32 pc = 0;
  u32 mask = 0;
  u32 address = 0;  // of a barrier that is waited for; of the mbarrier of a phase
  u64 number = 0;   // of a phase
  u64 start = 0;
  u64 end = 0;
  u64 bytes = 0;  // of an operation
  Cause by;       // that ended a wait or a phase
};

class Timeline {
 public:
  Timeline(Cluster& cluster, u64 event_limit) : cluster_(cluster), limit_(event_limit) {}
  bool is_on() const { return limit_ != 0; }

  void start(const Warp& warp);
  void finish(const Warp& warp, u32 pc, u32 mask, Step step);
  u64 issue(const Warp& warp, u32 pc, u64 bytes);
  void land(u64 ticket);
  /// The warp arrives at the mbarrier at this shared address.
  void arrive(const Warp& warp, u32 address, u32 pc);

  const std::vector<TimelineEvent>& events() const { return events_; }
  u64 dropped() const { return dropped_; }
  /// Ends what is still open.
  void close();

 private:
  struct WarpTime {
    u64 now = 0;
    u32 waiting = 0;  // a bit for the lowest lane of each split that waits
    std::array<TimelineEvent, kLanes> waits{};
    std::array<u64, kLanes> released{};
    std::array<Cause, kLanes> by{};
  };
  /// The latest arrival at an mbarrier, and the phase that it is in.
  struct Arrivals {
    u64 last = 0;
    Cause by;
    u64 phase = 0;
    u64 since = 0;
  };

  WarpTime& of(const Warp& warp);
  void end_waits(WarpTime& time, u32 lanes);
  /// Whoever can go on since the last event, which happened at `when`, goes on. Gives when the
  /// instruction at `pc` that made the event runs: with those that it met at a barrier.
  u64 release(u64 when, u32 pc, const Cause& by);
  /// Notes the phases that have ended since the last event, which happened at `when`.
  void end_phases(u64 when, const Cause& by);
  void add_wait(const Warp& warp, u32 pc, u64 start, u64 end);
  void add(const TimelineEvent& event);

  Cluster& cluster_;
  u64 limit_;
  u64 dropped_ = 0;
  u64 seen_progress_ = 0;
  u64 last_landing_ = 0;
  const Warp* running_ = nullptr;
  std::unordered_map<u32, Arrivals> arrivals_;  // by the address of the mbarrier
  Cause last_landed_;
  Cause last_to_come_;  // to the barrier that the last event was about
  std::vector<WarpTime> warps_;
  std::vector<TimelineEvent> flying_;  // by ticket - 1; end == 0: still under way
  std::vector<TimelineEvent> events_;
};

/// What every event of an instruction says, as JSON strings by program counter. Made once per
/// launch: clusters have the same program, and an instruction runs many times.
struct TraceLabels {
  explicit TraceLabels(const Program& program);
  std::vector<std::string> spellings;
  std::vector<std::string> lines;  // "file.py:12"
};

/// The timeline of a cluster as events of a Chrome trace (JSON, one per line).
std::string trace_text(const Cluster& cluster, Timeline& timeline, const TraceLabels& labels);

/// A trace under way: the texts of clusters, written in the order of their numbers.
class TraceWriter {
 public:
  explicit TraceWriter(std::ostream& out);
  void add(u64 cluster, std::string text, u64 dropped);
  void finish();

 private:
  std::ostream& out_;
  std::map<u64, std::string> early_;
  u64 next_ = 0;
  u64 dropped_ = 0;
};

}  // namespace pyptx::emu
