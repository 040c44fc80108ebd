// SPDX-License-Identifier: Apache-2.0
//
// A PTX text with its launch, run on the emulator as a stranger's would be: read, judged, decoded,
// given buffers, and stopped after a while. The first line may be the launch, a comment of numbers:
//   // grid(3) block(3) cluster(3) dynamic shared memory, schedule, seed, races, more
// The bits of the last: exact numerics, counters, instructions that nobody judges, a trace. What is
// missing is one CTA of 32 threads.
#pragma once

#include <string_view>

namespace pyptx::fuzz {

/// How far a text got.
enum class Outcome { Unreadable, Undecodable, Faulted, Ran };

/// Aborts where the run has changed what it was given to read only.
Outcome run_text(std::string_view text);

}  // namespace pyptx::fuzz
