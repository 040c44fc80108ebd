// SPDX-License-Identifier: Apache-2.0
//
// Launches one after the other on the same memory. A launch ends before the next one begins, so
// values are those of a plain stream; what is followed is what a GPU would be free to do: a
// programmatic launch starts when every CTA of the one before has run
// griddepcontrol.launch_dependents or ended, and only griddepcontrol.wait joins the two. An access
// that is not behind the wait, to what the launch before touches, with a write on either side, is
// an error (PTX ISA, "griddepcontrol").
#pragma once

#include <memory>

namespace pyptx::emu {

struct LaunchTrace;

/// Launches in order, each on a thread of the stream.
class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// What the last launch did to global memory; null: nothing that a programmatic launch could
  /// overlap.
  const LaunchTrace* last() const { return last_.get(); }
  void set_last(std::unique_ptr<LaunchTrace> trace);

 private:
  std::unique_ptr<LaunchTrace> last_;
};

}  // namespace pyptx::emu
