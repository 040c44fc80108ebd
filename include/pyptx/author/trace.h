// SPDX-License-Identifier: Apache-2.0
//
// The kernel being written on this thread, as the calls of pyptx::reg, pyptx::smem and pyptx::ptx
// find it. Everything in pyptx/build works beside them: `build::f(author::at(), ...)`.
#pragma once

#include <source_location>

#include "pyptx/build/tracer.h"

namespace pyptx::author {

/// The tracer whose kernel body runs on this thread. Outside a body it is one that emits nothing
/// and whose error is NoTrace.
build::Tracer& tracer();

/// tracer(), with what it emits from now on said to come from `where`.
build::Tracer& at(const std::source_location& where = std::source_location::current());

/// Makes `tracer` the one of this thread until it goes out of scope.
class Writing {
 public:
  explicit Writing(build::Tracer& tracer);
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
  ~Writing();

 private:
  build::Tracer* outer_;
};

}  // namespace pyptx::author
