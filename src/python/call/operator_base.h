// SPDX-License-Identifier: Apache-2.0
//
// _core.OperatorBase: an object that torch calls by an operator, and the name of that operator.
// torch.compile compares the name before each call of a compiled function, so asking for it also
// asks whether what the operator stands for is still what it was.
#pragma once

#include <nanobind/nanobind.h>

namespace pyptx::python {

struct OperatorBase {
  PyObject_HEAD PyObject* name;  // null: not known
  PyObject* guards;              // a tuple of _core.Guards, set with the name
};

int operator_traverse(PyObject* object, visitproc visit, void* arg);
int operator_clear(PyObject* object);

void bind_operator_base(nanobind::module_& m);

}  // namespace pyptx::python
