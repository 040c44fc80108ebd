// SPDX-License-Identifier: Apache-2.0
//
// The kernel being written on this thread, as the calls of pyptx::reg, pyptx::smem and pyptx::ptx
// find it. Everything in pyptx/build works beside them: `build::f(author::at(), ...)`. A body may
// not hand its work to other threads: what they write is outside of every body.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>

#include "pyptx/build/tracer.h"
#include "pyptx/diag/diagnostic.h"

namespace pyptx::author {

/// The tracer whose kernel body runs on this thread. Outside a body it is one that emits nothing,
/// and the mistake is kept: see take_stray().
build::Tracer& tracer();

/// tracer(), with what it emits from now on said to come from `where`.
build::Tracer& at(const std::source_location& where = std::source_location::current());
/// The same for a call whose arguments are the operands of one instruction.
build::Tracer& at_instruction(const std::source_location& where);

/// The block that is being written, see build::Tracer::block(); 0 outside a body.
std::uint32_t block();
/// The same, for a variable that from now on names `reg`, too.
std::uint32_t copied(const build::Reg& reg);
/// Reports a variable that named `reg` since `block` and now names another one, in a block that
/// does not run whenever that one ran (Rebinding).
void check_rebinding(const build::Reg& reg, std::uint32_t block);

/// The first thing that was written outside of every body since the last call, by any thread:
/// NoTrace, its place resolved. Kernel::trace() ends with it, since nobody else would say that the
/// kernel lacks it; what no trace has taken is written to standard error when the program ends.
std::optional<diag::Diagnostic> take_stray();

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
