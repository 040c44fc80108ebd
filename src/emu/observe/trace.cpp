// SPDX-License-Identifier: Apache-2.0
//
// Timelines as a Chrome trace: a process per CTA, a thread per warp, asynchronous slices for copies
// and matrix operations under way. One microsecond of the trace is one step.
#include <bit>
#include <ostream>
#include <string>

#include "cluster.h"
#include "observe/timeline.h"
#include "pyptx/diag/render.h"

namespace pyptx::emu {
namespace {

using diag::json_quote;

std::string field(std::string_view name, u64 value) {
  return ",\"" + std::string(name) + "\":" + std::to_string(value);
}

class ClusterText {
 public:
  explicit ClusterText(const Cluster& cluster) : cluster_(cluster), lines_(count()) {}

  void names() {
    for (const auto& cta : cluster_.ctas) {
      const auto& at = cta->position;
      const std::string name = "CTA (" + std::to_string(at[0]) + "," + std::to_string(at[1]) + "," +
                               std::to_string(at[2]) + ")";
      meta("process_name", *cta, "", name);
      for (const Warp& warp : cta->warps) {
        meta("thread_name", *cta, field("tid", warp.id), "warp " + std::to_string(warp.id));
      }
    }
  }

  void add(const TimelineEvent& event) {
    const std::string name = json_quote(name_of(event));
    const std::string common = field("pid", process(event.rank)) + field("tid", event.warp) +
                               ",\"args\":{\"line\":" + line_of(event.pc);
    switch (event.kind) {
      case TimelineEvent::Kind::Instruction:
        put("{\"ph\":\"X\",\"cat\":\"instruction\",\"name\":" + name + field("ts", event.start) +
            field("dur", event.end - event.start) + common +
            field("lanes", static_cast<u64>(std::popcount(event.mask))) + "}}");
        return;
      case TimelineEvent::Kind::Wait:
        put("{\"ph\":\"X\",\"cat\":\"wait\",\"name\":" + name + field("ts", event.start) +
            field("dur", event.end - event.start) + common + "}}");
        return;
      case TimelineEvent::Kind::Operation: {
        const std::string id = ",\"id\":\"" + std::to_string(cluster_.index) + "." +
                               std::to_string(++operations_) + "\"";
        put("{\"ph\":\"b\",\"cat\":\"async\",\"name\":" + name + id + field("ts", event.start) +
            common + field("bytes", event.bytes) + "}}");
        put("{\"ph\":\"e\",\"cat\":\"async\",\"name\":" + name + id + field("ts", event.end) +
            field("pid", process(event.rank)) + field("tid", event.warp) + "}");
        return;
      }
    }
  }

  std::string take() { return std::move(text_); }

 private:
  std::size_t count() const { return cluster_.program->code.size(); }
  u64 process(u32 rank) const { return cluster_.index * cluster_.ctas.size() + rank; }
  void put(const std::string& event) { text_ += ",\n" + event; }

  void meta(std::string_view what, const Cta& cta, const std::string& thread,
            const std::string& name) {
    put("{\"ph\":\"M\",\"name\":\"" + std::string(what) + "\"" + field("pid", process(cta.rank)) +
        thread + ",\"args\":{\"name\":" + json_quote(name) + "}}");
  }

  /// "file.py:12", quoted; found once per instruction.
  const std::string& line_of(u32 pc) {
    std::string& line = lines_[pc];
    if (!line.empty()) return line;
    const Program& program = *cluster_.program;
    const auto place = program.module->locations.resolve(program.source(program.code[pc]).loc);
    line = json_quote(place ? place->file + ":" + std::to_string(place->line) : "");
    return line;
  }

  std::string name_of(const TimelineEvent& event) const {
    const Program& program = *cluster_.program;
    std::string spelling = program.source(program.code[event.pc]).spelling->text;
    if (event.kind != TimelineEvent::Kind::Wait) return spelling;
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
        return "wait: " + spelling;
    }
  }

  const Cluster& cluster_;
  std::vector<std::string> lines_;
  std::string text_;
  u64 operations_ = 0;
};

}  // namespace

std::string trace_text(const Cluster& cluster, Timeline& timeline) {
  timeline.close();
  ClusterText text(cluster);
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
