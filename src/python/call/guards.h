// SPDX-License-Identifier: Apache-2.0
//
// _core.Guards: places in the interpreter whose contents a trace depends on, and the objects that
// were found there. Asked before every call whether all of them are still the same objects, so it
// is compared by identity, in C. What to watch, and what a change means, is Python's to decide.
#pragma once

#include <nanobind/nanobind.h>

namespace pyptx::python {

bool is_guards(PyObject* object);
/// Whether every place still holds what it held. `guards` is a _core.Guards.
bool guards_hold(PyObject* guards);

void bind_guards(nanobind::module_& m);

}  // namespace pyptx::python
