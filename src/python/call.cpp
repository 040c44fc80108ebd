// SPDX-License-Identifier: Apache-2.0
//
// The hot call entry (see the header). A plain CPython type with a vectorcall: a binding
// framework's dispatcher would cost more than everything that happens here before the driver.
#include "call.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <structmember.h>

#include <array>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <typeinfo>

#include "call_guards.h"
#include "call_table.h"
#include "call_tensors.h"
#include "errors.h"
#include "pyptx/interop/run.h"

namespace pyptx::python {
namespace {

struct Entry {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* slow_path;
  PyObject* guards;  // null: none
  PyObject* stale;   // set with the guards
  PyObject* weak_references;
  CallTable* table;
  unsigned long long hits;
  unsigned long long misses;
};

PyObject* out_name = nullptr;  // "out", interned

/// Turns a C++ exception into a Python one, for functions that CPython calls.
template <typename F>
PyObject* guarded(F&& body) {
  try {
    return body();
  } catch (nanobind::python_error& error) {
    error.restore();
  } catch (const nanobind::builtin_exception& error) {
    const bool value = error.type() == nanobind::exception_type::value_error;
    PyErr_SetString(value ? PyExc_ValueError : PyExc_TypeError, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::bad_cast& error) {
    PyErr_SetString(PyExc_TypeError, error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

// --- one call ----------------------------------------------------------------------------------

/// Lets other threads of the interpreter run while it lives.
class WithoutInterpreter {
 public:
  WithoutInterpreter() : state_(PyEval_SaveThread()) {}
  ~WithoutInterpreter() { PyEval_RestoreThread(state_); }
  WithoutInterpreter(const WithoutInterpreter&) = delete;
  WithoutInterpreter& operator=(const WithoutInterpreter&) = delete;

 private:
  PyThreadState* state_;
};

/// Sets the Python error of a refused launch; false.
bool refuse(const diag::Diagnostic& why, const interop::KernelImage& image) {
  const auto table = image.locations();
  return guarded([&]() -> PyObject* { raise(why, table.get()); }) != nullptr;
}

diag::Status launch_cuda(const CallTensors& tensors, interop::KernelImage& image, void* stream) {
  std::array<std::uint64_t, kMaxTensors> pointers;
  const std::size_t count = tensors.count();
  for (std::size_t i = 0; i < count; ++i) pointers[i] = tensors.address(i);
  return interop::launch(image, tensors.device().id, stream, {pointers.data(), count});
}

diag::Status run_emulator(const CallTensors& tensors, const Specialisation& specialisation) {
  std::array<interop::HostTensor, kMaxTensors> memory;
  const std::size_t inputs = tensors.input_count();
  const std::size_t count = tensors.count();
  for (std::size_t i = 0; i < count; ++i) {
    const TensorShape& shape =
        i < inputs ? specialisation.inputs[i] : specialisation.outputs[i - inputs];
    memory[i] = {tensors.address(i), shape.bytes, true};
  }
  emu::Options options;
  options.interrupt = &is_interrupted;
  auto report = interop::emulate(*specialisation.image, {memory.data(), count}, options);
  if (!report) return report.failure();
  return diag::success();
}

diag::Status launch(const CallTensors& tensors, const Specialisation& specialisation,
                    void* stream) {
  return specialisation.device == dlpack::DeviceType::Cuda
             ? launch_cuda(tensors, *specialisation.image, stream)
             : run_emulator(tensors, specialisation);
}

/// Makes the outputs where `make` says so, and launches. False with a Python error set. The
/// interpreter is let go meanwhile: a launch waits when the queue is full, and a host callback may
/// need the interpreter.
bool run(CallTensors& tensors, Specialisation& specialisation, bool make) {
  void* stream = nullptr;
  if (specialisation.device == dlpack::DeviceType::Cuda &&
      !tensors.torch().current_stream(tensors.device(), &stream)) {
    PyErr_SetString(PyExc_RuntimeError, "torch did not say which CUDA stream is current");
    return false;
  }
  std::optional<diag::Status> status;
  if (!make || tensors.can_make_tensors()) {
    const WithoutInterpreter released;
    if (!make || tensors.make_tensors(specialisation)) {
      status.emplace(launch(tensors, specialisation, stream));
    }
  }
  if (!status) {
    if (!tensors.make_objects(specialisation)) return false;
    const WithoutInterpreter released;
    status.emplace(launch(tensors, specialisation, stream));
  }
  if (PyErr_Occurred() != nullptr) return false;  // a signal handler's, during an emulation
  return status->ok() || refuse(status->error(), *specialisation.image);
}

/// Calls `function(args, kwargs)`.
PyObject* hand_on(PyObject* function, PyObject* const* args, std::size_t count,
                  PyObject* keywords) {
  PyObject* positional = PyTuple_New(static_cast<Py_ssize_t>(count));
  if (positional == nullptr) return nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    PyTuple_SET_ITEM(positional, static_cast<Py_ssize_t>(i), Py_NewRef(args[i]));
  }
  PyObject* named = PyDict_New();
  const Py_ssize_t names = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t i = 0; named != nullptr && i < names; ++i) {
    if (PyDict_SetItem(named, PyTuple_GET_ITEM(keywords, i), args[count + i]) != 0) {
      Py_CLEAR(named);
    }
  }
  PyObject* result = nullptr;
  if (named != nullptr) {
    // Held: the function may be replaced meanwhile, or the entry dropped.
    Py_INCREF(function);
    PyObject* both[] = {positional, named};
    result = PyObject_Vectorcall(function, both, 2, nullptr);
    Py_DECREF(function);
  }
  Py_DECREF(positional);
  Py_XDECREF(named);
  return result;
}

PyObject* call_slow_path(Entry* self, PyObject* const* args, std::size_t count,
                         PyObject* keywords) {
  ++self->misses;
  return hand_on(self->slow_path, args, count, keywords);
}

/// Whether the only keyword is out=; sets it (null for None).
bool read_keywords(PyObject* keywords, PyObject* const* values, PyObject** out) {
  if (keywords == nullptr || PyTuple_GET_SIZE(keywords) == 0) return true;
  if (PyTuple_GET_SIZE(keywords) != 1) return false;
  PyObject* name = PyTuple_GET_ITEM(keywords, 0);
  if (name != out_name && PyUnicode_Compare(name, out_name) != 0) return false;
  *out = values[0] == Py_None ? nullptr : values[0];
  return true;
}

PyObject* run_entry(Entry* self, PyObject* const* args, std::size_t count, PyObject* keywords) {
  PyObject* out = nullptr;
  CallTensors tensors;
  if (!read_keywords(keywords, args + count, &out) || !tensors.read_inputs(args, count) ||
      (out != nullptr && !tensors.read_outputs(out))) {
    return call_slow_path(self, args, count, keywords);
  }
  const auto given = out == nullptr ? std::nullopt : std::optional(tensors.outputs());
  const SpecialisationUse specialisation = self->table->find(tensors.inputs(), given);
  if (specialisation == nullptr || tensors.outputs_overlap(*specialisation)) {
    return call_slow_path(self, args, count, keywords);
  }
  ++self->hits;
  if (!run(tensors, *specialisation, out == nullptr)) return nullptr;
  if (out != nullptr && !tensors.mark_written()) return nullptr;
  return tensors.result();
}

PyObject* entry_call(PyObject* object, PyObject* const* args, std::size_t flags,
                     PyObject* keywords) {
  auto* self = reinterpret_cast<Entry*>(object);
  const auto count = static_cast<std::size_t>(PyVectorcall_NARGS(flags));
  if (self->guards != nullptr && !guards_hold(self->guards)) {
    return hand_on(self->stale, args, count, keywords);
  }
  return guarded([&] { return run_entry(self, args, count, keywords); });
}

// --- the type ----------------------------------------------------------------------------------

std::vector<TensorShape> read_shapes(nanobind::handle sequence) {
  namespace nb = nanobind;
  std::vector<TensorShape> shapes;
  for (nb::handle item : sequence) {
    if (nb::len(item) != 2) throw nb::type_error("a tensor is described by (dtype, shape)");
    const std::string name = nb::cast<std::string>(nb::str(nb::handle(item[0])));
    const dlpack::ElementType* element = dlpack::find_element_type(name);
    if (element == nullptr) throw nb::type_error(("not an element type: " + name).c_str());
    std::vector<std::int64_t> extents;
    for (nb::handle extent : nb::handle(nb::object(item[1]))) {
      extents.push_back(nb::cast<std::int64_t>(extent));
    }
    shapes.emplace_back(element->type, std::move(extents));
  }
  return shapes;
}

PyObject* entry_add(PyObject* object, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"inputs",       "outputs",       "device_type", "image",
                                "device_index", "makes_outputs", nullptr};
  PyObject* inputs = nullptr;
  PyObject* outputs = nullptr;
  const char* device = nullptr;
  PyObject* image = nullptr;
  int device_index = -1;
  int makes_outputs = 1;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "OOsO|ip:add", const_cast<char**>(names), &inputs,
                                  &outputs, &device, &image, &device_index, &makes_outputs) == 0) {
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    namespace nb = nanobind;
    SpecialisationUse added(new Specialisation);
    added->inputs = read_shapes(inputs);
    added->outputs = read_shapes(outputs);
    const std::string_view kind = device;
    if (kind != "cuda" && kind != "cpu") throw nb::value_error("device_type is 'cuda' or 'cpu'");
    added->device = kind == "cuda" ? dlpack::DeviceType::Cuda : dlpack::DeviceType::Cpu;
    added->device_index = device_index;
    added->makes_outputs = makes_outputs != 0;
    added->image = nb::cast<std::shared_ptr<interop::KernelImage>>(nb::handle(image));
    if (!added->complete()) throw nb::value_error("the image's plan counts other tensors");
    const bool on_cuda = added->device == dlpack::DeviceType::Cuda;
    if ((on_cuda ? Torch::load_cuda() : Torch::load()) == nullptr) return nullptr;
    reinterpret_cast<Entry*>(object)->table->add(std::move(added));
    Py_RETURN_NONE;
  });
}

PyObject* entry_watch(PyObject* object, PyObject* args) {
  PyObject* guards = nullptr;
  PyObject* stale = nullptr;
  if (PyArg_ParseTuple(args, "OO:watch", &guards, &stale) == 0) return nullptr;
  if (!is_guards(guards)) {
    PyErr_SetString(PyExc_TypeError, "watch() takes a Guards object and a callable");
    return nullptr;
  }
  auto* self = reinterpret_cast<Entry*>(object);
  Py_XSETREF(self->stale, Py_NewRef(stale));
  Py_XSETREF(self->guards, Py_NewRef(guards));
  Py_RETURN_NONE;
}

PyObject* entry_run(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&] {
    return run_entry(reinterpret_cast<Entry*>(object), args, static_cast<std::size_t>(count),
                     keywords);
  });
}

PyObject* entry_clear(PyObject* object, PyObject*) {
  reinterpret_cast<Entry*>(object)->table->clear();
  Py_RETURN_NONE;
}

PyObject* entry_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"slow_path", nullptr};
  PyObject* slow_path = nullptr;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "O:Entry", const_cast<char**>(names),
                                  &slow_path) == 0) {
    return nullptr;
  }
  auto* self = reinterpret_cast<Entry*>(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  self->vectorcall = entry_call;
  self->slow_path = Py_NewRef(slow_path);
  self->table = new CallTable;
  return reinterpret_cast<PyObject*>(self);
}

int entry_traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  auto* self = reinterpret_cast<Entry*>(object);
  Py_VISIT(self->slow_path);
  Py_VISIT(self->guards);
  Py_VISIT(self->stale);
  return 0;
}

int entry_drop(PyObject* object) {
  // The table holds no reference back to the entry; None keeps a late call from crashing.
  auto* self = reinterpret_cast<Entry*>(object);
  Py_XSETREF(self->slow_path, Py_NewRef(Py_None));
  Py_CLEAR(self->guards);
  Py_CLEAR(self->stale);
  return 0;
}

void entry_dealloc(PyObject* object) {
  PyObject_GC_UnTrack(object);
  auto* self = reinterpret_cast<Entry*>(object);
  if (self->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  Py_XDECREF(self->slow_path);
  Py_XDECREF(self->guards);
  Py_XDECREF(self->stale);
  delete self->table;
  PyTypeObject* type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

Py_ssize_t entry_length(PyObject* object) {
  return static_cast<Py_ssize_t>(reinterpret_cast<Entry*>(object)->table->size());
}

PyMethodDef entry_methods[] = {
    {"add", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(entry_add)),
     METH_VARARGS | METH_KEYWORDS,
     "add(inputs, outputs, device_type, image, device_index=-1, makes_outputs=True)\n--\n\n"
     "Prepares calls whose tensors are exactly these: (dtype, shape) of each. Without "
     "makes_outputs it is for calls with out= alone."},
    {"watch", entry_watch, METH_VARARGS,
     "watch(guards, stale)\n--\n\n"
     "Calls stale(args, kwargs) instead whenever the guards do not hold."},
    {"run", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(entry_run)),
     METH_FASTCALL | METH_KEYWORDS,
     "run(*tensors, out=None)\n--\n\nCalls the entry without asking the guards."},
    {"clear", entry_clear, METH_NOARGS, "clear()\n--\n\nForgets every specialisation."},
    {nullptr, nullptr, 0, nullptr}};

PyObject* entry_slow_path(PyObject* object, void*) {
  return Py_NewRef(reinterpret_cast<Entry*>(object)->slow_path);
}

int entry_set_slow_path(PyObject* object, PyObject* value, void*) {
  if (value == nullptr) {
    PyErr_SetString(PyExc_AttributeError, "slow_path is called and cannot be deleted");
    return -1;
  }
  Py_XSETREF(reinterpret_cast<Entry*>(object)->slow_path, Py_NewRef(value));
  return 0;
}

PyGetSetDef entry_properties[] = {
    {"slow_path", entry_slow_path, entry_set_slow_path,
     "Called as slow_path(args, kwargs) when no specialisation matches.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef entry_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Entry, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Entry, weak_references), READONLY, nullptr},
    {"hits", T_ULONGLONG, offsetof(Entry, hits), READONLY, "Calls that ran without Python."},
    {"misses", T_ULONGLONG, offsetof(Entry, misses), READONLY, "Calls of the slow path."},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot entry_slots[] = {
    {Py_tp_doc, const_cast<char*>("Entry(slow_path)\n--\n\n"
                                  "A kernel as a callable: entry(*tensors, out=None).")},
    {Py_tp_new, reinterpret_cast<void*>(entry_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(entry_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(entry_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(entry_drop)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_sq_length, reinterpret_cast<void*>(entry_length)},
    {Py_tp_methods, entry_methods},
    {Py_tp_members, entry_members},
    {Py_tp_getset, entry_properties},
    {0, nullptr}};

PyType_Spec entry_spec = {
    "pyptx._core.Entry", sizeof(Entry), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
    entry_slots};

}  // namespace

bool is_interrupted() {
  const PyGILState_STATE state = PyGILState_Ensure();
  const bool raised = PyErr_CheckSignals() != 0;
  PyGILState_Release(state);
  return raised;
}

/// torch_indirect(allow_direct=None): see the docstring.
PyObject* torch_indirect(PyObject*, PyObject* allowed) {
  const Torch* torch = Torch::load();
  if (torch == nullptr) return nullptr;
  if (allowed != Py_None) Torch::allow_direct(PyObject_IsTrue(allowed) == 1);
  const std::string_view why = torch->indirect_reason();
  return PyUnicode_FromStringAndSize(why.data(), static_cast<Py_ssize_t>(why.size()));
}

PyMethodDef torch_indirect_method = {
    "torch_indirect", torch_indirect, METH_O,
    "torch_indirect(allow_direct)\n--\n\n"
    "Why torch's tensors are read through Python and the exchange API, \"\" where they are read "
    "directly. A bool allows the direct way or not; None asks."};

void bind_entry(nanobind::module_& m) {
  out_name = PyUnicode_InternFromString("out");
  PyObject* type = PyType_FromSpec(&entry_spec);
  if (type == nullptr) throw nanobind::python_error();
  m.attr("Entry") = nanobind::steal(type);
  m.attr("torch_indirect") = nanobind::steal(PyCFunction_New(&torch_indirect_method, nullptr));
}

}  // namespace pyptx::python
