// SPDX-License-Identifier: Apache-2.0
//
// _core.KernelBase: what makes an instance of a Python class callable through its entry with no
// frame in between. The class also defines __call__ in Python, for whoever reads Python instead of
// running it (torch.compile inlines that function); call_through_entry() then puts the C functions
// back into the type, where defining __call__ had put the interpreter's own.
//
// Before its entry a call asks two things of torch: whether a profiler records what runs, which is
// then told the kernel's name, and, for kernels that say so, whether torch.autocast is on.
#include "call/entry.h"

#include <structmember.h>

#include <cstddef>

#include "call/operator_base.h"
#include "torch/torch.h"

namespace pyptx::python {
namespace {

struct KernelBase {
  OperatorBase operated;
  vectorcallfunc vectorcall;
  PyObject* entry;
  PyObject* shown_name;  // in torch's profiler; null: none
  char casts;            // whether torch.autocast changes the tensors of a call
};

PyTypeObject* base_type = nullptr;

/// A call under torch.autocast, which the class answers.
PyObject* call_cast(PyObject* object, PyObject* const* args, std::size_t flags,
                    PyObject* keywords) {
  PyObject* method = PyObject_GetAttrString(object, "_call_in_autocast");
  if (method == nullptr) return nullptr;
  const std::size_t count = PyVectorcall_NARGS(flags);
  PyObject* result = PyObject_Vectorcall(method, args, count, keywords);
  Py_DECREF(method);
  return result;
}

PyObject* call_unseen(const Torch* torch, PyObject* object, PyObject* const* args,
                      std::size_t flags, PyObject* keywords) {
  const auto* self = reinterpret_cast<KernelBase*>(object);
  if (self->casts != 0 && torch != nullptr && torch->is_autocast()) {
    return call_cast(object, args, flags, keywords);
  }
  PyObject* entry = self->entry;
  if (entry == nullptr) {
    PyErr_SetString(PyExc_TypeError, "this kernel has not been initialised");
    return nullptr;
  }
  Py_INCREF(entry);  // a call may replace it
  PyObject* result = PyObject_Vectorcall(entry, args, flags, keywords);
  Py_DECREF(entry);
  return result;
}

/// Enters a range of the kernel's name, with the inputs, whose shapes a profiler may want.
PyObject* enter_range(const Torch& torch, PyObject* name, PyObject* const* args, Py_ssize_t count) {
  PyObject* inputs = PyTuple_New(count);
  if (inputs == nullptr) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(inputs, i, Py_NewRef(args[i]));
  PyObject* range = PyObject_CallFunctionObjArgs(torch.range(), name, inputs, nullptr);
  Py_DECREF(inputs);
  PyObject* entered = range == nullptr ? nullptr : PyObject_CallMethod(range, "__enter__", nullptr);
  if (entered == nullptr) Py_CLEAR(range);
  Py_XDECREF(entered);
  return range;
}

PyObject* call_seen(const Torch& torch, PyObject* object, PyObject* const* args, std::size_t flags,
                    PyObject* keywords) {
  PyObject* name = Py_NewRef(reinterpret_cast<KernelBase*>(object)->shown_name);
  PyObject* range = enter_range(torch, name, args, PyVectorcall_NARGS(flags));
  Py_DECREF(name);
  if (range == nullptr) PyErr_Clear();  // a call is worth more than its name
  PyObject* result = call_unseen(&torch, object, args, flags, keywords);
  if (range == nullptr) return result;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* left = PyObject_CallMethod(range, "__exit__", "OOO", Py_None, Py_None, Py_None);
  if (left == nullptr) PyErr_Clear();
  PyErr_Restore(type, value, trace);
  Py_XDECREF(left);
  Py_DECREF(range);
  return result;
}

PyObject* kernel_call(PyObject* object, PyObject* const* args, std::size_t flags,
                      PyObject* keywords) {
  const Torch* torch = Torch::loaded();
  if (torch == nullptr) torch = Torch::load_imported();
  if (torch != nullptr && torch->is_profiled() && torch->range() != nullptr &&
      reinterpret_cast<KernelBase*>(object)->shown_name != nullptr) {
    return call_seen(*torch, object, args, flags, keywords);
  }
  return call_unseen(torch, object, args, flags, keywords);
}

PyObject* kernel_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* object = type->tp_alloc(type, 0);
  if (object != nullptr) reinterpret_cast<KernelBase*>(object)->vectorcall = kernel_call;
  return object;
}

int kernel_traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<KernelBase*>(object)->entry);
  Py_VISIT(reinterpret_cast<KernelBase*>(object)->shown_name);
  return operator_traverse(object, visit, arg);
}

int kernel_clear(PyObject* object) {
  Py_CLEAR(reinterpret_cast<KernelBase*>(object)->entry);
  Py_CLEAR(reinterpret_cast<KernelBase*>(object)->shown_name);
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
    {"_shown_name", T_OBJECT, offsetof(KernelBase, shown_name), 0,
     "What torch's profiler calls a call of the object."},
    {"_casts", T_BOOL, offsetof(KernelBase, casts), 0,
     "Whether a call under torch.autocast is one of _call_in_autocast()."},
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
