// SPDX-License-Identifier: Apache-2.0
//
// Timelines as a Chrome trace: a process per CTA, a thread per warp, asynchronous slices for copies
// and matrix operations under way. One microsecond of the trace is one step.
#include <bit>
#include <charconv>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "machine/cluster.h"
#include "observe/timeline.h"
#include "pyptx/diag/render.h"

namespace pyptx::emu {
namespace {

using diag::json_quote;

/// No CTA has so many warps.
constexpr u64 kFirstBarrierTrack = 1000;

/// Texts and numbers, appended to one text: a trace has a million events.
template <typename... Parts>
void put(std::string& out, const Parts&... parts) {
  const auto one = [&](const auto& part) {
    if constexpr (std::is_convertible_v<decltype(part), std::string_view>) {
      out.append(std::string_view(part));
    } else {
      char digits[20];
      const auto end = std::to_chars(digits, digits + sizeof digits, u64{part}).ptr;
      out.append(digits, static_cast<std::size_t>(end - digits));
    }
  };
  (one(parts), ...);
}

class ClusterText {
 public:
  ClusterText(const Cluster& cluster, const TraceLabels& labels)
      : cluster_(cluster), labels_(labels) {}

  /// Room for so many events at once: a text that grows is copied, into pages that are new each
  /// time.
  void reserve(std::size_t events) {
    constexpr std::size_t kEventBytes = 208;  // what is not filled is never touched
    text_.reserve(events * kEventBytes);
  }

  void names() {
    for (const auto& cta : cluster_.ctas) {
      const auto& at = cta->position;
      const u64 pid = process(cta->rank);
      put(text_, ",\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":", pid,
          ",\"args\":{\"name\":\"CTA (", at[0], ",", at[1], ",", at[2], ")\"}}");
      for (const Warp& warp : cta->warps) {
        put(text_, ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":", pid, ",\"tid\":", warp.id,
            ",\"args\":{\"name\":\"warp ", warp.id, "\"}}");
      }
    }
  }

  void add(const TimelineEvent& event) {
    switch (event.kind) {
      case TimelineEvent::Kind::Instruction:
        put(text_,
            ",\n{\"ph\":\"X\",\"cat\":\"instruction\",\"name\":", labels_.spellings[event.pc],
            ",\"ts\":", event.start, ",\"dur\":", event.end - event.start);
        track_and_line(event);
        put(text_, ",\"lanes\":", static_cast<u32>(std::popcount(event.mask)), "}}");
        return;
      case TimelineEvent::Kind::Phase:
        phase(event);
        return;
      case TimelineEvent::Kind::Wait:
        put(text_, ",\n{\"ph\":\"X\",\"cat\":\"wait\",\"name\":", json_quote(wait_name(event)),
            ",\"ts\":", event.start, ",\"dur\":", event.end - event.start);
        track_and_line(event);
        cause(event.by);
        put(text_, "}}");
        return;
      case TimelineEvent::Kind::Operation:
        ++operations_;
        operation("b", event, event.start);
        track_and_line(event);
        put(text_, ",\"bytes\":", event.bytes, "}}");
        operation("e", event, event.end);
        track(event);
        put(text_, "}");
        return;
    }
  }

  std::string take() { return std::move(text_); }

 private:
  u64 process(u32 rank) const { return cluster_.index * cluster_.ctas.size() + rank; }

  void track(const TimelineEvent& event) {
    put(text_, ",\"pid\":", process(event.rank), ",\"tid\":", event.warp);
  }

  void track_and_line(const TimelineEvent& event) {
    track(event);
    put(text_, ",\"args\":{\"line\":", labels_.lines[event.pc], ",\"pc\":", event.pc);
  }

  /// Who ended it: where, and on which track.
  void cause(const Cause& by) {
    if (!by.is_known) return;
    put(text_, ",\"by\":\"", by.is_operation ? "operation of warp " : "warp ", by.warp,
        "\",\"by_line\":", labels_.lines[by.pc], ",\"by_pc\":", by.pc,
        ",\"by_pid\":", process(by.rank), ",\"by_tid\":", by.warp);
  }

  /// A track for each mbarrier of a CTA, below its warps.
  void phase(const TimelineEvent& event) {
    const u64 pid = process(event.rank);
    const auto [at, is_new] = barriers_.try_emplace({event.rank, event.address}, barriers_.size());
    const u64 tid = kFirstBarrierTrack + at->second;
    if (is_new) {
      const Warp& warp = cluster_.ctas[event.rank]->warps[0];
      const std::string name =
          "mbarrier " +
          describe_address(warp, Space::Shared, event.rank << kRankShift | event.address);
      put(text_, ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":", pid, ",\"tid\":", tid,
          ",\"args\":{\"name\":", json_quote(name), "}}");
    }
    put(text_, ",\n{\"ph\":\"X\",\"cat\":\"phase\",\"name\":\"phase ", event.number,
        "\",\"ts\":", event.start, ",\"dur\":", event.end - event.start, ",\"pid\":", pid,
        ",\"tid\":", tid, ",\"args\":{\"line\":", labels_.lines[event.pc], ",\"pc\":", event.pc);
    cause(event.by);
    put(text_, "}}");
  }

  void operation(std::string_view phase, const TimelineEvent& event, u64 when) {
    put(text_, ",\n{\"ph\":\"", phase,
        "\",\"cat\":\"async\",\"name\":", labels_.spellings[event.pc], ",\"id\":\"", cluster_.index,
        ".", operations_, "\",\"ts\":", when);
  }

  std::string wait_name(const TimelineEvent& event) const {
    const Program& program = *cluster_.program;
    const Warp& warp = cluster_.ctas[event.rank]->warps[event.warp];
    switch (event.wait) {
      case Wait::Kind::Barrier:
        return "wait: barrier " + std::to_string(event.address);
      case Wait::Kind::ClusterBarrier:
        return "wait: cluster barrier";
      case Wait::Kind::Mbarrier:
        return "wait: mbarrier " + describe_address(warp, Space::Shared, event.address);
      case Wait::Kind::Converge:
        return "wait: other lanes";
      default:
        return "wait: " + program.source(program.code[event.pc]).spelling->text;
    }
  }

  const Cluster& cluster_;
  const TraceLabels& labels_;
  std::string text_;
  u64 operations_ = 0;
  std::map<std::pair<u32, u32>, u64> barriers_;  // rank and address
};

}  // namespace

TraceLabels::TraceLabels(const Program& program) {
  if (program.function->instructions.empty()) return;  // the exit at the end has no source then
  for (const Inst& inst : program.code) {
    const ir::Instruction& source = program.source(inst);
    spellings.push_back(json_quote(source.spelling->text));
    const auto line = program.module->locations.line(source.loc);
    lines.push_back(
        json_quote(line ? std::string(line->file) + ":" + std::to_string(line->line) : ""));
  }
}

std::string trace_text(const Cluster& cluster, Timeline& timeline, const TraceLabels& labels) {
  timeline.close();
  ClusterText text(cluster, labels);
  text.reserve(timeline.events().size());
  text.names();
  for (const TimelineEvent& event : timeline.events()) text.add(event);
  return text.take();
}

TraceWriter::TraceWriter(std::ostream& out) : out_(out) {
  out_ << R"({"displayTimeUnit":"ns","traceEvents":[)" << '\n'
       << R"({"ph":"M","name":"trace","pid":0,"args":{"unit":"1 us is one step of a warp"}})";
}

void TraceWriter::add(u64 cluster, std::string text, u64 dropped) {
  dropped_ += dropped;
  early_.emplace(cluster, std::move(text));
  while (!early_.empty() && early_.begin()->first == next_) {
    out_ << early_.begin()->second;
    early_.erase(early_.begin());
    ++next_;
  }
}

void TraceWriter::finish() {
  for (const auto& [cluster, text] : early_) out_ << text;  // some before it never ended
  early_.clear();
  out_ << "\n],\"otherData\":{\"events_left_out\":" << dropped_ << "}}\n";
  out_.flush();
}

}  // namespace pyptx::emu
