// SPDX-License-Identifier: Apache-2.0
//
// The trace that is under way on this thread, as bindings see it. A binding that emits is one
// expression: `traced([&](build::Tracer& t) { return build::elect_sync(t, d, p, mask); })`.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "module/object.h"
#include "pyptx/build/tracer.h"
#include "trace/frames.h"

namespace pyptx::python {

/// One tracing session: the tracer, its judge, and where its instructions came from.
struct Trace {
  explicit Trace(build::Options options, bool maps_as_values);

  std::unique_ptr<ir::Judge> judge;
  build::Tracer tracer;
  std::shared_ptr<PythonLocations> locations;
  /// tma_desc() gives the map in the parameter block instead of a pointer to one.
  bool maps_by_value = false;
};

/// The innermost trace entered on this thread. Sets the tracer's location to the Python expression
/// being evaluated. Raises VerifyError where no trace is under way.
build::Tracer& current_trace();
/// The session of current_trace(). `arguments_map`: the Python call's positional arguments are the
/// instruction's operands, so that carets can point at them.
Trace& needed_trace(bool arguments_map);
/// The session of current_trace(), without touching the location; null where there is none.
Trace* innermost_trace();

/// Raises `problem` at the Python expression being evaluated, in a trace or outside one: for
/// functions that only compute.
[[noreturn]] void raise_here(diag::Diagnostic problem);

void enter_trace(Trace& trace);
/// Leaves `trace`, and with it what was entered after it.
void leave_trace(Trace& trace);

/// Raises what `tracer` recorded, if anything.
void check(build::Tracer& tracer);

/// Calls `f(tracer)` on the current trace and raises what it recorded.
template <typename F>
auto traced(F&& f) {
  build::Tracer& tracer = current_trace();
  if constexpr (std::is_void_v<decltype(f(tracer))>) {
    std::forward<F>(f)(tracer);
    check(tracer);
  } else {
    auto result = std::forward<F>(f)(tracer);
    check(tracer);
    return result;
  }
}

}  // namespace pyptx::python
