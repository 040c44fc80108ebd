// SPDX-License-Identifier: Apache-2.0
//
// The guards of a trace (see the header): a Python object around the rows.
#include "call/guards.h"

#include "call/guard_rows.h"
#include "errors.h"

namespace pyptx::python {
namespace {

struct Guards {
  PyObject_HEAD GuardRows* rows;
  bool is_decided;
};

PyTypeObject* guards_type = nullptr;

int guards_traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  const auto* rows = reinterpret_cast<Guards*>(object)->rows;
  return rows == nullptr ? 0 : rows->traverse(visit, arg);
}

int guards_clear(PyObject* object) {
  auto* self = reinterpret_cast<Guards*>(object);
  // Without its rows it decides nothing, so a late question is answered with no.
  self->is_decided = false;
  GuardRows* rows = self->rows;
  self->rows = nullptr;
  delete rows;
  return 0;
}

void guards_dealloc(PyObject* object) {
  PyObject_GC_UnTrack(object);
  guards_clear(object);
  PyTypeObject* type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* guards_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"rows", "is_decided", nullptr};
  PyObject* rows = nullptr;
  int is_decided = 1;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "O!|p:Guards", const_cast<char**>(names),
                                  &PyList_Type, &rows, &is_decided) == 0) {
    return nullptr;
  }
  return with_python_errors([&]() -> PyObject* {
    nanobind::object made = nanobind::steal(type->tp_alloc(type, 0));
    if (!made.is_valid()) return nullptr;
    auto* self = reinterpret_cast<Guards*>(made.ptr());
    self->is_decided = is_decided != 0;
    self->rows = new GuardRows;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(rows); ++i) {
      PyObject* row = PyList_GET_ITEM(rows, i);
      if (self->rows->add(row)) continue;
      PyErr_Format(PyExc_TypeError, "not a row of guards: %.200R", row);
      return nullptr;
    }
    return made.release().ptr();
  });
}

PyObject* guards_hold_method(PyObject* object, PyObject*) {
  return PyBool_FromLong(guards_hold(object) ? 1 : 0);
}

Py_ssize_t guards_length(PyObject* object) {
  const auto* rows = reinterpret_cast<Guards*>(object)->rows;
  return rows == nullptr ? 0 : static_cast<Py_ssize_t>(rows->size());
}

PyMethodDef guards_methods[] = {{"hold", guards_hold_method, METH_NOARGS,
                                 "hold()\n--\n\nWhether every place still holds the same object."},
                                {nullptr, nullptr, 0, nullptr}};

PyType_Slot guards_slots[] = {
    {Py_tp_doc, const_cast<char*>("Guards(rows, is_decided=True)\n--\n\n"
                                  "Places and what was found there; with is_decided=False, "
                                  "identity cannot tell and hold() is False.")},
    {Py_tp_new, reinterpret_cast<void*>(guards_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(guards_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(guards_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(guards_clear)},
    {Py_sq_length, reinterpret_cast<void*>(guards_length)},
    {Py_tp_methods, guards_methods},
    {0, nullptr}};

PyType_Spec guards_spec = {"pyptx._core.Guards", sizeof(Guards), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
                           guards_slots};

/// The attributes of an object that are in a dict; None where it has no such dict. A function gets
/// its dict with its first attribute.
nanobind::object instance_dict(nanobind::handle object) {
  if (PyFunction_Check(object.ptr())) {
    PyObject* attributes = reinterpret_cast<PyFunctionObject*>(object.ptr())->func_dict;
    return attributes == nullptr ? nanobind::none() : nanobind::borrow(attributes);
  }
  PyObject* dict = PyObject_GenericGetDict(object.ptr(), nullptr);
  if (dict != nullptr) return nanobind::steal(dict);
  PyErr_Clear();
  return nanobind::none();
}

/// Whether a class statement made the class: its instances hold nothing that Python cannot see.
bool is_python_class(nanobind::handle type) {
  static const destructor of_python = [] {
    const nanobind::object made = nanobind::steal(
        PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type), "s(){}", "_"));
    if (!made.is_valid()) throw nanobind::python_error();
    return reinterpret_cast<PyTypeObject*>(made.ptr())->tp_dealloc;
  }();
  return reinterpret_cast<PyTypeObject*>(type.ptr())->tp_dealloc == of_python;
}

}  // namespace

bool is_guards(PyObject* object) { return Py_TYPE(object) == guards_type; }

bool guards_hold(PyObject* guards) {
  const auto* self = reinterpret_cast<Guards*>(guards);
  if (!self->is_decided) return false;
  // Held: a key of a dict may compare itself in Python, and drop the guards meanwhile.
  Py_INCREF(guards);
  const bool holds = self->rows->hold();
  Py_DECREF(guards);
  return holds;
}

void bind_guards(nanobind::module_& m) {
  PyObject* type = PyType_FromSpec(&guards_spec);
  if (type == nullptr) throw nanobind::python_error();
  guards_type = reinterpret_cast<PyTypeObject*>(type);
  m.attr("Guards") = nanobind::handle(type);
  m.def("instance_dict", &instance_dict, nanobind::arg("object"));
  m.def(
      "is_python_class", [](nanobind::type_object kind) { return is_python_class(kind); },
      nanobind::arg("kind"));
}

}  // namespace pyptx::python
