// SPDX-License-Identifier: Apache-2.0
//
// The name of an operator, as long as it holds (see the header).
#include "call/operator_base.h"

#include "call/guards.h"

namespace pyptx::python {
namespace {

bool holds(const OperatorBase* self) {
  if (self->name == nullptr) return false;
  // Held: a guard may run code of the author's, which may name the operator anew.
  PyObject* guards = Py_NewRef(self->guards);
  bool hold = true;
  for (Py_ssize_t i = 0; hold && i < PyTuple_GET_SIZE(guards); ++i) {
    hold = guards_hold(PyTuple_GET_ITEM(guards, i));
  }
  Py_DECREF(guards);
  return hold && self->name != nullptr;
}

PyObject* operator_name(PyObject* object, void*) {
  const auto* self = reinterpret_cast<OperatorBase*>(object);
  if (holds(self)) return Py_NewRef(self->name);
  return PyObject_CallMethod(object, "_name_operator", nullptr);
}

PyObject* operator_watch(PyObject* object, PyObject* args) {
  PyObject* name = nullptr;
  PyObject* guards = nullptr;
  if (PyArg_ParseTuple(args, "UO!:_watch_operator", &name, &PyTuple_Type, &guards) == 0) {
    return nullptr;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(guards); ++i) {
    if (is_guards(PyTuple_GET_ITEM(guards, i))) continue;
    PyErr_SetString(PyExc_TypeError, "_watch_operator() takes a name and a tuple of Guards");
    return nullptr;
  }
  auto* self = reinterpret_cast<OperatorBase*>(object);
  Py_XSETREF(self->guards, Py_NewRef(guards));
  Py_XSETREF(self->name, Py_NewRef(name));
  return Py_NewRef(name);
}

PyObject* operator_forget(PyObject* object, PyObject*) {
  Py_CLEAR(reinterpret_cast<OperatorBase*>(object)->name);
  Py_RETURN_NONE;
}

void operator_dealloc(PyObject* object) {
  PyObject_GC_UnTrack(object);
  operator_clear(object);
  PyTypeObject* type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

PyMethodDef operator_methods[] = {
    {"_watch_operator", operator_watch, METH_VARARGS,
     "_watch_operator(name, guards)\n--\n\n"
     "Answers with this name as long as all guards hold; returns it."},
    {"_forget_operator", operator_forget, METH_NOARGS,
     "_forget_operator()\n--\n\nAsks _name_operator() for the name the next time."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef operator_properties[] = {
    {"_operator_name", operator_name, nullptr,
     "The name of the operator: the one that is watched, else what _name_operator() returns.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot operator_slots[] = {
    {Py_tp_doc, const_cast<char*>("An object that torch calls by an operator.")},
    {Py_tp_new, reinterpret_cast<void*>(PyType_GenericNew)},
    {Py_tp_dealloc, reinterpret_cast<void*>(operator_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(operator_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(operator_clear)},
    {Py_tp_methods, operator_methods},
    {Py_tp_getset, operator_properties},
    {0, nullptr}};

PyType_Spec operator_spec = {
    "pyptx._core.OperatorBase", sizeof(OperatorBase), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    operator_slots};

}  // namespace

int operator_traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  const auto* self = reinterpret_cast<OperatorBase*>(object);
  Py_VISIT(self->name);
  Py_VISIT(self->guards);
  return 0;
}

int operator_clear(PyObject* object) {
  auto* self = reinterpret_cast<OperatorBase*>(object);
  Py_CLEAR(self->name);
  Py_CLEAR(self->guards);
  return 0;
}

void bind_operator_base(nanobind::module_& m) {
  PyObject* type = PyType_FromSpec(&operator_spec);
  if (type == nullptr) throw nanobind::python_error();
  m.attr("OperatorBase") = nanobind::steal(type);
}

}  // namespace pyptx::python
