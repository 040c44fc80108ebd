// SPDX-License-Identifier: Apache-2.0
//
// The guards of a trace (see the header). A place that was empty is watched for being filled. A
// dict that has not changed at all since it was last looked into is not looked into again.
#include "call_guards.h"

#include "dict_version.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace pyptx::python {
namespace {

/// One place: `name` of a dict, a cell, or a function's code and defaults.
struct Guard {
  PyObject* holder;
  PyObject* name;         // of a dict's item; null for cells and functions
  PyObject* expected[3];  // null: nothing was there; a function's code, defaults, named defaults

  bool holds() const {
    if (name != nullptr) {
      PyObject* found = PyDict_GetItemWithError(holder, name);
      if (found == nullptr) PyErr_Clear();
      return found == expected[0];
    }
    if (PyCell_Check(holder)) return PyCell_GET(holder) == expected[0];
    return PyFunction_GET_CODE(holder) == expected[0] &&
           PyFunction_GET_DEFAULTS(holder) == expected[1] &&
           PyFunction_GET_KW_DEFAULTS(holder) == expected[2];
  }
};

/// A dict that guards look into, and its version when they last held.
struct Watched {
  PyObject* dict;  // borrowed from a guard
  std::uint64_t version;
};

struct Rows {
  std::vector<Guard> in_dicts;
  std::vector<Guard> elsewhere;
  std::vector<Watched> dicts;

  void add(const Guard& guard) {
    (guard.name != nullptr ? in_dicts : elsewhere).push_back(guard);
    if (guard.name == nullptr) return;
    const auto same = [&](const Watched& watched) { return watched.dict == guard.holder; };
    if (std::none_of(dicts.begin(), dicts.end(), same)) dicts.push_back({guard.holder, 0});
  }

  std::size_t size() const { return in_dicts.size() + elsewhere.size(); }

  bool are_dicts_unchanged() const {
    for (const Watched& watched : dicts) {
      if (watched.version == 0 || dict_version(watched.dict) != watched.version) return false;
    }
    return true;
  }

  bool hold() {
    for (const Guard& guard : elsewhere) {
      if (!guard.holds()) return false;
    }
    if (are_dicts_unchanged()) return true;
    for (const Guard& guard : in_dicts) {
      if (!guard.holds()) return false;
    }
    for (Watched& watched : dicts) watched.version = dict_version(watched.dict);
    return true;
  }

  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const Guard& guard : in_dicts) visit(guard);
    for (const Guard& guard : elsewhere) visit(guard);
  }
};

struct Guards {
  PyObject_HEAD Rows* rows;
  bool is_decided;
};

PyTypeObject* guards_type = nullptr;

PyObject* null_for_none(PyObject* object) { return object == Py_None ? nullptr : object; }

/// Reads (dict, name[, value]), (cell[, value]) or (function, code, defaults, named defaults).
/// Borrowed references; false when it is none of them.
bool read_guard(PyObject* row, Guard& out) {
  out = {};
  if (PyTuple_Check(row) == 0 || PyTuple_GET_SIZE(row) == 0) return false;
  const Py_ssize_t size = PyTuple_GET_SIZE(row);
  const auto item = [&](Py_ssize_t i) { return i < size ? PyTuple_GET_ITEM(row, i) : nullptr; };
  out.holder = item(0);
  if (PyDict_Check(out.holder)) {
    out.name = item(1);
    out.expected[0] = item(2);
    return out.name != nullptr && PyUnicode_CheckExact(out.name) && size <= 3;
  }
  if (PyCell_Check(out.holder)) {
    out.expected[0] = item(1);
    return size <= 2;
  }
  if (!PyFunction_Check(out.holder) || size != 4) return false;
  out.expected[0] = item(1);
  out.expected[1] = null_for_none(item(2));
  out.expected[2] = null_for_none(item(3));
  return true;
}

int guards_traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  const auto* rows = reinterpret_cast<Guards*>(object)->rows;
  if (rows == nullptr) return 0;
  for (const auto* guards : {&rows->in_dicts, &rows->elsewhere}) {
    for (const Guard& guard : *guards) {
      Py_VISIT(guard.holder);
      Py_VISIT(guard.name);
      for (PyObject* expected : guard.expected) Py_VISIT(expected);
    }
  }
  return 0;
}

int guards_clear(PyObject* object) {
  auto* self = reinterpret_cast<Guards*>(object);
  // Without its rows it decides nothing, so a late question is answered with no.
  self->is_decided = false;
  Rows* rows = self->rows;
  self->rows = nullptr;
  if (rows == nullptr) return 0;
  rows->for_each([](const Guard& guard) {
    Py_DECREF(guard.holder);
    Py_XDECREF(guard.name);
    for (PyObject* expected : guard.expected) Py_XDECREF(expected);
  });
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
  auto* self = reinterpret_cast<Guards*>(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  self->is_decided = is_decided != 0;
  self->rows = new Rows;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(rows); ++i) {
    Guard guard;
    if (!read_guard(PyList_GET_ITEM(rows, i), guard)) {
      PyErr_SetString(PyExc_TypeError,
                      "a guard is (dict, name[, value]), (cell[, value]) or (function, code, "
                      "defaults, keyword defaults)");
      Py_DECREF(self);
      return nullptr;
    }
    Py_INCREF(guard.holder);
    Py_XINCREF(guard.name);
    for (PyObject* expected : guard.expected) Py_XINCREF(expected);
    self->rows->add(guard);
  }
  return reinterpret_cast<PyObject*>(self);
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

}  // namespace

bool is_guards(PyObject* object) { return Py_TYPE(object) == guards_type; }

bool guards_hold(PyObject* guards) {
  const auto* self = reinterpret_cast<Guards*>(guards);
  return self->is_decided && self->rows->hold();
}

void bind_guards(nanobind::module_& m) {
  PyObject* type = PyType_FromSpec(&guards_spec);
  if (type == nullptr) throw nanobind::python_error();
  guards_type = reinterpret_cast<PyTypeObject*>(type);
  m.attr("Guards") = nanobind::handle(type);
}

}  // namespace pyptx::python
