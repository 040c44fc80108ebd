// SPDX-License-Identifier: Apache-2.0
//
// What ends an emulation from outside: Ctrl-C, a progress callback that raises, and the end of the
// interpreter while another thread emulates.
//
// Only the main thread runs Python's signal handlers, so an emulation there asks them. XLA's
// threads run while the main thread waits in XLA, where no handler runs: while one of them
// emulates, SIGINT is seen on its way to Python's own handler.
#pragma once

#include <Python.h>
#include <nanobind/nanobind.h>

#include "pyptx/diag/diagnostic.h"

namespace pyptx::python {

/// For emu::Options: whether the emulation is to end. Keeps the Python error, where there is one,
/// for has_python_error().
bool is_interrupted();

/// Clears the Python error of a question that may go without an answer. An interrupt is none of its
/// errors: it is raised when the main thread is back in Python.
void drop_error();

/// An emulation that a thread of the interpreter waits for; made and destroyed while it holds the
/// interpreter. The interpreter does not end before it.
class Emulation {
 public:
  Emulation();
  ~Emulation();
  Emulation(const Emulation&) = delete;
  Emulation& operator=(const Emulation&) = delete;
};

/// Whether an error of Python is to be raised instead of `why`, which ended the emulation: the one
/// that is_interrupted() left, with a note that says where each warp stood, or the end of this
/// thread, since the interpreter ends.
bool has_python_error(const diag::Diagnostic* why);

void bind_interrupts(nanobind::module_& m);

}  // namespace pyptx::python
