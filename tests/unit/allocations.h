// SPDX-License-Identifier: Apache-2.0
//
// Counts what a test program allocates, for the tests of code that must not, and refuses memory,
// for the tests of code that must bear it. A program that links pyptx_count_allocations has this
// operator new everywhere.
#pragma once

namespace pyptx {

/// How often this thread has called operator new so far.
long allocations_so_far();

/// While one lives, this thread gets no memory from operator new after the first `granted` times.
class NoMemory {
 public:
  explicit NoMemory(long granted);
  NoMemory(const NoMemory&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;
  ~NoMemory();

  /// Whether anything has been refused yet.
  static bool was_felt();
};

/// Memory for what a test does itself while a NoMemory lives.
class OwnMemory {
 public:
  OwnMemory();
  OwnMemory(const OwnMemory&) = delete;
  OwnMemory& operator=(const OwnMemory&) = delete;
  ~OwnMemory();

 private:
  long granted_;
};

}  // namespace pyptx
