// SPDX-License-Identifier: Apache-2.0
//
// Counts what a test program allocates, for the tests of code that must not. A program that links
// pyptx_count_allocations has the counting operator new everywhere.
#pragma once

namespace pyptx {

/// How often this thread has called operator new so far.
long allocations_so_far();

}  // namespace pyptx
