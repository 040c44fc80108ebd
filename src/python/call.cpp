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
#include <string>

#include "call_guards.h"
#include "call_table.h"
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
  OutputMaker::Source source;
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
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_TypeError, error.what());
  }
  return nullptr;
}

// --- one call ----------------------------------------------------------------------------------

/// The tensors of a call and where they are.
struct Call {
  const Torch* torch = nullptr;
  bool grad = false;
  std::array<dlpack::Tensor, kMaxTensors> views;
  std::array<PyObject*, kMaxTensors> outputs;  // owned references
  std::size_t input_count = 0;
  std::size_t output_count = 0;

  Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    for (std::size_t i = 0; i < output_count; ++i) Py_DECREF(outputs[i]);
  }

  bool read_inputs(PyObject* const* args, std::size_t count) {
    if (count > kMaxTensors) return false;
    torch = Torch::loaded();
    if (torch == nullptr || torch->is_watched()) return false;
    grad = torch->grad_enabled();
    for (std::size_t i = 0; i < count; ++i) {
      if (!torch->read(args[i], grad, views[i])) return false;
    }
    input_count = count;
    return true;
  }

  /// Takes the caller's output tensors. False when they are not what the kernel writes.
  bool take_outputs(const Specialisation& specialisation, PyObject* out) {
    PyObject* single[] = {out};
    PyObject* const* items = single;
    Py_ssize_t count = 1;
    if (PyTuple_CheckExact(out) || PyList_CheckExact(out)) {
      items = PySequence_Fast_ITEMS(out);
      count = PySequence_Fast_GET_SIZE(out);
    }
    if (static_cast<std::size_t>(count) != specialisation.outputs.size()) return false;
    for (std::size_t i = 0; i < specialisation.outputs.size(); ++i) {
      dlpack::Tensor& view = views[input_count + i];
      if (!torch->read(items[i], grad, view) || !(view.device == views[0].device) ||
          !specialisation.outputs[i].matches(view) || overlaps(specialisation, i)) {
        return false;
      }
      outputs[output_count++] = Py_NewRef(items[i]);
    }
    return true;
  }

  /// Whether output `i` shares memory with one before it.
  bool overlaps(const Specialisation& specialisation, std::size_t i) const {
    const std::uint64_t begin = address(input_count + i);
    for (std::size_t j = 0; j < i; ++j) {
      const std::uint64_t other = address(input_count + j);
      if (begin < other + specialisation.outputs[j].bytes &&
          other < begin + specialisation.outputs[i].bytes) {
        return true;
      }
    }
    return false;
  }

  /// False with a Python error set.
  bool make_outputs(Specialisation& specialisation, OutputMaker::Source source,
                    PyObject* const* args) {
    for (std::size_t i = 0; i < specialisation.makers.size(); ++i) {
      PyObject* made = specialisation.makers[i].make(*torch, source, views[0].device, args);
      if (made == nullptr) return false;
      outputs[output_count++] = made;
      if (torch->api().view(made, &views[input_count + i]) != 0) return false;
    }
    return true;
  }

  std::uint64_t address(std::size_t index) const {
    return reinterpret_cast<std::uintptr_t>(views[index].data) + views[index].byte_offset;
  }

  /// The outputs as the caller gets them: None, one, or a tuple.
  PyObject* result() {
    if (output_count == 0) Py_RETURN_NONE;
    if (output_count == 1) return Py_NewRef(outputs[0]);
    PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(output_count));
    for (std::size_t i = 0; tuple != nullptr && i < output_count; ++i) {
      PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), Py_NewRef(outputs[i]));
    }
    return tuple;
  }
};

/// False with a Python error set. The interpreter is let go while the driver or the emulator
/// works: a launch waits when the queue is full, and a host callback may need the interpreter.
bool launch_cuda(const Call& call, interop::KernelImage& image) {
  void* stream = nullptr;
  const dlpack::Device device = call.views[0].device;
  if (!call.torch->current_stream(device, &stream)) {
    PyErr_SetString(PyExc_RuntimeError, "torch did not say which CUDA stream is current");
    return false;
  }
  std::array<std::uint64_t, kMaxTensors> pointers;
  const std::size_t count = call.input_count + call.output_count;
  for (std::size_t i = 0; i < count; ++i) pointers[i] = call.address(i);

  PyThreadState* state = PyEval_SaveThread();
  const auto launched = interop::launch(image, device.id, stream, {pointers.data(), count});
  PyEval_RestoreThread(state);
  if (launched) return true;
  const auto table = image.locations();
  return guarded([&]() -> PyObject* { raise(launched.error(), table.get()); }) != nullptr;
}

bool run_emulator(const Call& call, const Specialisation& specialisation) {
  std::array<interop::HostTensor, kMaxTensors> tensors;
  const std::size_t inputs = call.input_count;
  const std::size_t count = inputs + call.output_count;
  for (std::size_t i = 0; i < count; ++i) {
    const TensorShape& shape =
        i < inputs ? specialisation.inputs[i] : specialisation.outputs[i - inputs];
    tensors[i] = {call.address(i), shape.bytes, true};
  }
  interop::KernelImage& image = *specialisation.image;

  PyThreadState* state = PyEval_SaveThread();
  emu::Options options;
  options.interrupt = &is_interrupted;
  const auto report = interop::emulate(image, {tensors.data(), count}, options);
  PyEval_RestoreThread(state);
  if (PyErr_Occurred() != nullptr) return false;  // the signal handler's
  if (report) return true;
  const auto table = image.locations();
  return guarded([&]() -> PyObject* { raise(report.error(), table.get()); }) != nullptr;
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
  Call call;
  if (!read_keywords(keywords, args + count, &out) || !call.read_inputs(args, count)) {
    return call_slow_path(self, args, count, keywords);
  }
  const auto* found = self->table->find({call.views.data(), count});
  if (found == nullptr) return call_slow_path(self, args, count, keywords);
  // Held: the table may change while the interpreter is let go.
  const std::shared_ptr<Specialisation> specialisation = *found;
  if (out != nullptr) {
    if (!call.take_outputs(*specialisation, out)) {
      return call_slow_path(self, args, count, keywords);
    }
  } else if (!call.make_outputs(*specialisation, self->source, args)) {
    return nullptr;
  }
  ++self->hits;
  const bool done = specialisation->device == dlpack::DeviceType::Cuda
                        ? launch_cuda(call, *specialisation->image)
                        : run_emulator(call, *specialisation);
  if (!done) return nullptr;
  if (out != nullptr && !call.torch->mark_written(call.outputs.data(), call.output_count)) {
    return nullptr;
  }
  return call.result();
}

PyObject* entry_call(PyObject* object, PyObject* const* args, std::size_t flags,
                     PyObject* keywords) {
  auto* self = reinterpret_cast<Entry*>(object);
  const auto count = static_cast<std::size_t>(PyVectorcall_NARGS(flags));
  if (self->guards != nullptr && !guards_hold(self->guards)) {
    return hand_on(self->stale, args, count, keywords);
  }
  return run_entry(self, args, count, keywords);
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
  static const char* names[] = {"inputs", "outputs", "device_type", "image", nullptr};
  PyObject* inputs = nullptr;
  PyObject* outputs = nullptr;
  const char* device = nullptr;
  PyObject* image = nullptr;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "OOsO:add", const_cast<char**>(names), &inputs,
                                  &outputs, &device, &image) == 0) {
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    namespace nb = nanobind;
    auto added = std::make_shared<Specialisation>();
    added->inputs = read_shapes(inputs);
    added->outputs = read_shapes(outputs);
    const std::string_view kind = device;
    if (kind != "cuda" && kind != "cpu") throw nb::value_error("device_type is 'cuda' or 'cpu'");
    added->device = kind == "cuda" ? dlpack::DeviceType::Cuda : dlpack::DeviceType::Cpu;
    added->image = nb::cast<std::shared_ptr<interop::KernelImage>>(nb::handle(image));
    if (!added->complete()) throw nb::value_error("the image's plan counts other tensors");
    if (Torch::load() == nullptr) return nullptr;
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
  return run_entry(reinterpret_cast<Entry*>(object), args, static_cast<std::size_t>(count),
                   keywords);
}

PyObject* entry_clear(PyObject* object, PyObject*) {
  reinterpret_cast<Entry*>(object)->table->clear();
  Py_RETURN_NONE;
}

PyObject* entry_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"slow_path", "outputs_from", nullptr};
  PyObject* slow_path = nullptr;
  const char* source = "empty";
  if (PyArg_ParseTupleAndKeywords(args, keywords, "O|s:Entry", const_cast<char**>(names),
                                  &slow_path, &source) == 0) {
    return nullptr;
  }
  const std::string_view from = source;
  if (from != "empty" && from != "exchange") {
    PyErr_SetString(PyExc_ValueError, "outputs_from is 'empty' or 'exchange'");
    return nullptr;
  }
  auto* self = reinterpret_cast<Entry*>(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  self->vectorcall = entry_call;
  self->slow_path = Py_NewRef(slow_path);
  self->table = new CallTable;
  self->source = from == "empty" ? OutputMaker::Source::Strided : OutputMaker::Source::Exchange;
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
     "add(inputs, outputs, device_type, image)\n--\n\n"
     "Prepares calls whose tensors are exactly these: (dtype, shape) of each."},
    {"watch", entry_watch, METH_VARARGS,
     "watch(guards, stale)\n--\n\n"
     "Calls stale(args, kwargs) instead whenever the guards do not hold."},
    {"run", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(entry_run)),
     METH_FASTCALL | METH_KEYWORDS,
     "run(*tensors, out=None)\n--\n\nCalls the entry without asking the guards."},
    {"clear", entry_clear, METH_NOARGS, "clear()\n--\n\nForgets every specialisation."},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef entry_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Entry, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Entry, weak_references), READONLY, nullptr},
    {"slow_path", T_OBJECT, offsetof(Entry, slow_path), 0,
     "Called as slow_path(args, kwargs) when no specialisation matches."},
    {"hits", T_ULONGLONG, offsetof(Entry, hits), READONLY, "Calls that ran without Python."},
    {"misses", T_ULONGLONG, offsetof(Entry, misses), READONLY, "Calls of the slow path."},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot entry_slots[] = {
    {Py_tp_doc, const_cast<char*>("Entry(slow_path, outputs_from='empty')\n--\n\n"
                                  "A kernel as a callable: entry(*tensors, out=None).")},
    {Py_tp_new, reinterpret_cast<void*>(entry_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(entry_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(entry_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(entry_drop)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_sq_length, reinterpret_cast<void*>(entry_length)},
    {Py_tp_methods, entry_methods},
    {Py_tp_members, entry_members},
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

void bind_entry(nanobind::module_& m) {
  out_name = PyUnicode_InternFromString("out");
  PyObject* type = PyType_FromSpec(&entry_spec);
  if (type == nullptr) throw nanobind::python_error();
  m.attr("Entry") = nanobind::steal(type);
}

}  // namespace pyptx::python
