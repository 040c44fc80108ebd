// SPDX-License-Identifier: Apache-2.0
//
// One call of an entry: keywords and tensors read, a specialisation found, its kernel launched.
#pragma once

#include <Python.h>

#include <cstddef>

#include "call/keywords.h"
#include "call/table.h"

namespace pyptx::python {

/// What became of a call that the entry looked at.
enum class CallOutcome : unsigned char {
  NotMine,  // no specialisation is for it; nothing was done
  Done,     // `result` is what the caller gets
  Failed,   // a Python error is set
};

/// Runs the call if a specialisation of `table` is for it, and counts it in `hits` then.
CallOutcome run_call(const CallScalars& scalars, CallTable& table, unsigned long long& hits,
                     PyObject* const* args, std::size_t count, PyObject* keywords,
                     PyObject** result);

}  // namespace pyptx::python
