// SPDX-License-Identifier: Apache-2.0
#include "trace/trace.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "errors.h"
#include "pyptx/verify/instruction.h"

namespace pyptx::python {
namespace {

/// Innermost last. A trace is entered on the thread that runs the kernel function.
thread_local std::vector<Trace*> entered;

}  // namespace

Trace::Trace(build::Options options, bool maps_as_values)
    : judge(std::make_unique<verify::InstructionJudge>(
          options.version ? verify::VersionMode::Pinned : verify::VersionMode::Lowest)),
      tracer(std::move(options), judge.get()),
      locations(std::make_shared<PythonLocations>()),
      maps_by_value(maps_as_values) {
  tracer.module().locations.set_resolver(locations);
}

Trace* innermost_trace() { return entered.empty() ? nullptr : entered.back(); }

Trace& needed_trace(bool arguments_map) {
  if (entered.empty()) raise_here({diag::Kind::NoTrace, {}});
  Trace& trace = *entered.back();
  trace.tracer.set_loc(trace.locations->capture(trace.tracer.module().locations, arguments_map));
  return trace;
}

build::Tracer& current_trace() { return needed_trace(false).tracer; }

void raise_here(diag::Diagnostic problem) {
  diag::LocationTable table;
  const auto locations = std::make_shared<PythonLocations>();
  table.set_resolver(locations);
  problem.loc = locations->capture(table, false);
  raise(problem, &table);
}

void enter_trace(Trace& trace) { entered.push_back(&trace); }

void leave_trace(Trace& trace) {
  // Leaving is also the way out of an exception: inner traces that were not left go with it.
  const auto found = std::ranges::find(entered, &trace);
  entered.erase(found, entered.end());
}

void check(build::Tracer& tracer) {
  if (!tracer.has_error()) return;
  raise(*tracer.take_error(), &tracer.module().locations);
}

}  // namespace pyptx::python
