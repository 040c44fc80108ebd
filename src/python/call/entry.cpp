// SPDX-License-Identifier: Apache-2.0
//
// The hot call entry (see the header). A plain CPython type with a vectorcall: a binding
// framework's dispatcher would cost more than everything that happens here before the driver.
#include "call/entry.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <structmember.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "call/guards.h"
#include "call/run.h"
#include "call/table.h"
#include "errors.h"

namespace pyptx::python {
namespace {

struct KernelEntry {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* slow_path;
  PyObject* guards;  // null: none
  PyObject* stale;   // set with the guards
  PyObject* weak_references;
  CallScalars* scalars;
  CallTable* table;
  unsigned long long hits;
  unsigned long long misses;
  unsigned long long stale_calls;
};

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

PyObject* run_entry(KernelEntry* self, PyObject* const* args, std::size_t count,
                    PyObject* keywords) {
  PyObject* result = nullptr;
  if (run_call(*self->scalars, *self->table, self->hits, args, count, keywords, &result) ==
      CallOutcome::NotMine) {
    ++self->misses;
    return hand_on(self->slow_path, args, count, keywords);
  }
  return result;
}

PyObject* entry_call(PyObject* object, PyObject* const* args, std::size_t flags,
                     PyObject* keywords) {
  auto* self = reinterpret_cast<KernelEntry*>(object);
  const auto count = static_cast<std::size_t>(PyVectorcall_NARGS(flags));
  return with_python_errors([&] {
    if (self->guards != nullptr && !guards_hold(self->guards)) {
      ++self->stale_calls;
      return hand_on(self->stale, args, count, keywords);
    }
    return run_entry(self, args, count, keywords);
  });
}

// --- the type ----------------------------------------------------------------------------------

std::vector<std::int64_t> read_numbers(nanobind::handle sequence) {
  std::vector<std::int64_t> numbers;
  for (nanobind::handle item : sequence) numbers.push_back(nanobind::cast<std::int64_t>(item));
  return numbers;
}

/// The order in which a tensor lies: whether it is column-major, or its strides.
void read_order(TensorShape& shape, nanobind::handle order) {
  namespace nb = nanobind;
  if (nb::isinstance<nb::bool_>(order)) {
    shape.column_major = nb::cast<bool>(order);
    return;
  }
  shape.strides = read_numbers(order);
  if (shape.strides.size() != shape.shape.size()) {
    throw nb::value_error("a tensor has as many strides as dimensions");
  }
  const auto bytes = static_cast<std::uint64_t>(dlpack::element_bytes(shape.type));
  if (!shape.strides.empty()) {
    shape.rows = interop::ByteRows::of(shape.shape, shape.strides, bytes);
    shape.bytes = shape.rows.bytes;
  }
}

TensorShape read_shape(nanobind::handle item) {
  namespace nb = nanobind;
  const std::size_t parts = nb::len(item);
  if (parts < 2 || parts > 4) {
    throw nb::type_error(
        "a tensor is described by (dtype, shape[, is_column_major or strides[, alignment]])");
  }
  const std::string name = nb::cast<std::string>(nb::str(nb::handle(item[0])));
  const dlpack::ElementType* element = dlpack::find_element_type(name);
  if (element == nullptr) throw nb::type_error(("not an element type: " + name).c_str());
  TensorShape shape(element->type, read_numbers(nb::object(item[1])), false);
  if (parts > 2) read_order(shape, nb::object(item[2]));
  if (parts > 3) shape.alignment = nb::cast<std::uint64_t>(nb::handle(nb::object(item[3])));
  if (!std::has_single_bit(shape.alignment)) throw nb::value_error("no power of two");
  return shape;
}

/// Reads tensors; None stands for an argument that is left out, and sets a bit of `absent`.
std::vector<TensorShape> read_shapes(nanobind::handle sequence, std::uint64_t* absent = nullptr) {
  std::vector<TensorShape> shapes;
  std::size_t index = 0;
  for (nanobind::handle item : sequence) {
    if (index == kMaxTensors) throw nanobind::value_error("too many tensors");
    if (absent != nullptr && item.is_none()) {
      *absent |= std::uint64_t{1} << index;
    } else {
      shapes.push_back(read_shape(item));
    }
    ++index;
  }
  return shapes;
}

/// Takes the keywords that a specialisation is for, and what watches their values.
void read_values(Specialisation& added, PyObject* values, PyObject* guards, PyObject* grid) {
  namespace nb = nanobind;
  if (values != Py_None) {
    for (const auto& [name, value] : nb::cast<nb::dict>(nb::handle(values))) {
      added.keywords.emplace_back(Reference(nb::str(name).ptr()), Reference(value.ptr()));
    }
  }
  if (guards != Py_None) {
    if (!is_guards(guards)) throw nb::type_error("guards is a _core.Guards");
    added.guards = Reference(guards);
  }
  if (grid != Py_None) added.grid = Reference(grid);
}

PyObject* entry_add(PyObject* object, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"inputs",       "outputs",       "device_type", "image",
                                "device_index", "makes_outputs", "keywords",    "guards",
                                "grid",         "recorded",      "inouts",      nullptr};
  PyObject* inputs = nullptr;
  PyObject* outputs = nullptr;
  const char* device = nullptr;
  PyObject* image = nullptr;
  int device_index = -1;
  int makes_outputs = 1;
  PyObject* values = Py_None;
  PyObject* guards = Py_None;
  PyObject* grid = Py_None;
  PyObject* recorded = Py_None;
  unsigned int inouts = 0;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "OOsO|ipOOOOI:add", const_cast<char**>(names),
                                  &inputs, &outputs, &device, &image, &device_index, &makes_outputs,
                                  &values, &guards, &grid, &recorded, &inouts) == 0) {
    return nullptr;
  }
  return with_python_errors([&]() -> PyObject* {
    namespace nb = nanobind;
    SpecialisationUse added(new Specialisation);
    added->inputs = read_shapes(inputs, &added->absent);
    added->outputs = read_shapes(outputs);
    const std::string_view kind = device;
    if (kind != "cuda" && kind != "cpu") throw nb::value_error("device_type is 'cuda' or 'cpu'");
    added->device = kind == "cuda" ? dlpack::DeviceType::Cuda : dlpack::DeviceType::Cpu;
    added->device_index = device_index;
    added->makes_outputs = makes_outputs != 0;
    added->inouts = inouts;
    read_values(*added, values, guards, grid);
    if (recorded != Py_None) added->recorded = Reference(recorded);
    added->image = nb::cast<std::shared_ptr<interop::KernelImage>>(nb::handle(image));
    if (added->image->plan().argument_count() !=
        reinterpret_cast<KernelEntry*>(object)->scalars->all().size()) {
      throw nb::value_error("the image's plan counts other scalars");
    }
    if (!added->complete()) throw nb::value_error("the image's plan counts other tensors");
    if (added->absent != 0 && added->written_inputs() != 0) {
      throw nb::value_error("an argument that is written cannot be left out");
    }
    // On the CPU the arrays may be NumPy's alone; without torch it is not asked for.
    if (added->device == dlpack::DeviceType::Cuda) {
      if (Torch::load_cuda() == nullptr) return nullptr;
    } else if (Torch::is_imported() && Torch::load() == nullptr) {
      PyErr_Clear();
    }
    reinterpret_cast<KernelEntry*>(object)->table->add(std::move(added));
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
  auto* self = reinterpret_cast<KernelEntry*>(object);
  Py_XSETREF(self->stale, Py_NewRef(stale));
  Py_XSETREF(self->guards, Py_NewRef(guards));
  Py_RETURN_NONE;
}

PyObject* entry_run(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return with_python_errors([&] {
    return run_entry(reinterpret_cast<KernelEntry*>(object), args, static_cast<std::size_t>(count),
                     keywords);
  });
}

PyObject* entry_clear(PyObject* object, PyObject*) {
  reinterpret_cast<KernelEntry*>(object)->table->clear();
  Py_RETURN_NONE;
}

PyObject* entry_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"slow_path", "scalars", nullptr};
  PyObject* slow_path = nullptr;
  PyObject* scalars = nullptr;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "O|O:Entry", const_cast<char**>(names),
                                  &slow_path, &scalars) == 0) {
    return nullptr;
  }
  return with_python_errors([&]() -> PyObject* {
    auto wanted = std::make_unique<CallScalars>();
    if (scalars != nullptr) wanted->read(scalars);
    auto table = std::make_unique<CallTable>();
    auto* self = reinterpret_cast<KernelEntry*>(type->tp_alloc(type, 0));
    if (self == nullptr) return nullptr;
    self->vectorcall = entry_call;
    self->slow_path = Py_NewRef(slow_path);
    self->scalars = wanted.release();
    self->table = table.release();
    return reinterpret_cast<PyObject*>(self);
  });
}

int entry_traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  auto* self = reinterpret_cast<KernelEntry*>(object);
  Py_VISIT(self->slow_path);
  Py_VISIT(self->guards);
  Py_VISIT(self->stale);
  return self->table->traverse(visit, arg);
}

int entry_drop(PyObject* object) {
  // None keeps a late call from crashing.
  auto* self = reinterpret_cast<KernelEntry*>(object);
  Py_XSETREF(self->slow_path, Py_NewRef(Py_None));
  Py_CLEAR(self->guards);
  Py_CLEAR(self->stale);
  self->table->clear();
  return 0;
}

void entry_dealloc(PyObject* object) {
  PyObject_GC_UnTrack(object);
  auto* self = reinterpret_cast<KernelEntry*>(object);
  if (self->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  Py_XDECREF(self->slow_path);
  Py_XDECREF(self->guards);
  Py_XDECREF(self->stale);
  delete self->table;
  delete self->scalars;
  PyTypeObject* type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

Py_ssize_t entry_length(PyObject* object) {
  return static_cast<Py_ssize_t>(reinterpret_cast<KernelEntry*>(object)->table->size());
}

PyMethodDef entry_methods[] = {
    {"add", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(entry_add)),
     METH_VARARGS | METH_KEYWORDS,
     "add(inputs, outputs, device_type, image, device_index=-1, makes_outputs=True, "
     "keywords=None, guards=None, grid=None, recorded=None, inouts=0)\n--\n\n"
     "Prepares calls whose tensors are exactly these: (dtype, shape[, is_column_major or strides[, "
     "alignment]]) of each, None for an argument that is None, and whose keywords but the scalars "
     "have these values, as long as the guards hold. Without makes_outputs it is for calls with "
     "out= alone. grid(*scalars) gives the grid where that depends on them. recorded(*tensors) is "
     "called instead where autograd records what is done to them. The last `inouts` inputs are "
     "written, too."},
    {"watch", entry_watch, METH_VARARGS,
     "watch(guards, stale)\n--\n\n"
     "Calls stale(args, kwargs) instead whenever the guards do not hold."},
    {"run", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(entry_run)),
     METH_FASTCALL | METH_KEYWORDS,
     "run(*tensors, out=None)\n--\n\nCalls the entry without asking the guards."},
    {"clear", entry_clear, METH_NOARGS, "clear()\n--\n\nForgets every specialisation."},
    {nullptr, nullptr, 0, nullptr}};

PyObject* entry_slow_path(PyObject* object, void*) {
  return Py_NewRef(reinterpret_cast<KernelEntry*>(object)->slow_path);
}

int entry_set_slow_path(PyObject* object, PyObject* value, void*) {
  if (value == nullptr) {
    PyErr_SetString(PyExc_AttributeError, "slow_path is called and cannot be deleted");
    return -1;
  }
  Py_XSETREF(reinterpret_cast<KernelEntry*>(object)->slow_path, Py_NewRef(value));
  return 0;
}

PyGetSetDef entry_properties[] = {
    {"slow_path", entry_slow_path, entry_set_slow_path,
     "Called as slow_path(args, kwargs) when no specialisation matches.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef entry_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(KernelEntry, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(KernelEntry, weak_references), READONLY, nullptr},
    {"hits", T_ULONGLONG, offsetof(KernelEntry, hits), READONLY, "Calls that ran without Python."},
    {"misses", T_ULONGLONG, offsetof(KernelEntry, misses), READONLY, "Calls of the slow path."},
    {"stale_calls", T_ULONGLONG, offsetof(KernelEntry, stale_calls), READONLY,
     "Calls before which the guards did not hold."},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot entry_slots[] = {
    {Py_tp_doc, const_cast<char*>("Entry(slow_path, scalars=())\n--\n\n"
                                  "A kernel as a callable: entry(*tensors, out=None, ...). "
                                  "`scalars` are the parameters that calls give by keyword: "
                                  "(name, type[, bits where none is given]) of each.")},
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
    "pyptx._core.Entry", sizeof(KernelEntry), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
    entry_slots};

}  // namespace

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
  bind_keywords();
  PyObject* type = PyType_FromSpec(&entry_spec);
  if (type == nullptr) throw nanobind::python_error();
  m.attr("Entry") = nanobind::steal(type);
  m.attr("torch_indirect") = nanobind::steal(PyCFunction_New(&torch_indirect_method, nullptr));
}

}  // namespace pyptx::python
