// SPDX-License-Identifier: Apache-2.0
//
// _core.KernelBase: what makes an instance of a Python class callable through its entry with no
// frame in between. The class also defines __call__ in Python, for whoever reads Python instead of
// running it (torch.compile inlines that function); call_through_entry() then puts the C functions
// back into the type, where defining __call__ had put the interpreter's own.
#include "call/entry.h"

#include <structmember.h>

#include <cstddef>

#include "call/operator_base.h"

namespace pyptx::python {
namespace {

struct KernelBase {
  OperatorBase operated;
  vectorcallfunc vectorcall;
  PyObject* entry;
};

PyTypeObject* base_type = nullptr;

PyObject* kernel_call(PyObject* object, PyObject* const* args, std::size_t flags,
                      PyObject* keywords) {
  PyObject* entry = reinterpret_cast<KernelBase*>(object)->entry;
  if (entry == nullptr) {
    PyErr_SetString(PyExc_TypeError, "this kernel has not been initialised");
    return nullptr;
  }
  Py_INCREF(entry);  // a call may replace it
  PyObject* result = PyObject_Vectorcall(entry, args, flags, keywords);
  Py_DECREF(entry);
  return result;
}

PyObject* kernel_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* object = type->tp_alloc(type, 0);
  if (object != nullptr) reinterpret_cast<KernelBase*>(object)->vectorcall = kernel_call;
  return object;
}

int kernel_traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<KernelBase*>(object)->entry);
  return operator_traverse(object, visit, arg);
}

int kernel_clear(PyObject* object) {
  Py_CLEAR(reinterpret_cast<KernelBase*>(object)->entry);
  return operator_clear(object);
}

void kernel_dealloc(PyObject* object) {
  PyObject_GC_UnTrack(object);
  kernel_clear(object);
  PyTypeObject* type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* call_through_entry(PyObject*, PyObject* object) {
  auto* type = reinterpret_cast<PyTypeObject*>(object);
  if (PyType_Check(object) == 0 || PyType_IsSubtype(type, base_type) == 0) {
    PyErr_SetString(PyExc_TypeError, "call_through_entry() takes a subclass of KernelBase");
    return nullptr;
  }
  type->tp_call = PyVectorcall_Call;
  type->tp_vectorcall_offset = offsetof(KernelBase, vectorcall);
  type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  PyType_Modified(type);
  return Py_NewRef(object);
}

PyMemberDef kernel_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(KernelBase, vectorcall), READONLY, nullptr},
    {"_entry", T_OBJECT, offsetof(KernelBase, entry), 0, "What a call of the object calls."},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot kernel_slots[] = {
    {Py_tp_doc, const_cast<char*>("An object that is called through its _entry.")},
    {Py_tp_new, reinterpret_cast<void*>(kernel_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(kernel_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(kernel_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(kernel_clear)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_members, kernel_members},
    {0, nullptr}};

PyType_Spec kernel_spec = {"pyptx._core.KernelBase", sizeof(KernelBase), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC |
                               Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
                           kernel_slots};

PyMethodDef install_method = {
    "call_through_entry", call_through_entry, METH_O,
    "call_through_entry(cls)\n--\n\n"
    "Makes calls of instances of `cls` calls of their _entry, whatever __call__ says; returns it."};

}  // namespace

void bind_kernel_base(nanobind::module_& m) {
  PyObject* type = PyType_FromSpecWithBases(&kernel_spec, m.attr("OperatorBase").ptr());
  if (type == nullptr) throw nanobind::python_error();
  base_type = reinterpret_cast<PyTypeObject*>(type);
  m.attr("KernelBase") = nanobind::handle(type);
  m.attr("call_through_entry") = nanobind::steal(PyCFunction_New(&install_method, nullptr));
}

}  // namespace pyptx::python
