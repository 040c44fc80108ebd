// SPDX-License-Identifier: Apache-2.0
//
// Names of the author's function that a block makes another register's. Python has no way to say
// that `a = a + x` happens; it is seen where the block ends, by comparing what each name is.
#pragma once

#include <Python.h>
#include <nanobind/nanobind.h>

#include <string>
#include <utility>
#include <vector>

#include "pyptx/build/tracer.h"

namespace pyptx::python {

namespace nb = nanobind;

/// The registers that the names of the innermost Python frame are, where a block begins.
class Names {
 public:
  /// What is known of the block that ends.
  struct Block {
    bool repeats = false;     // it is a loop
    bool is_certain = false;  // it runs once at least
    /// The loop's counter, which Python's `for` binds itself.
    const build::Reg* counter = nullptr;
  };

  /// Takes them down.
  void begin();
  /// Reports (Rebinding) the first name that is another register now, and that is read again.
  void end(build::Tracer& tracer, const Block& block) const;

 private:
  PyFrameObject* frame_ = nullptr;  // for comparison only
  int position_ = 0;                // of the frame, in bytes
  std::vector<std::pair<nb::object, build::Reg>> registers_;
};

}  // namespace pyptx::python
