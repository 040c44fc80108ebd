// SPDX-License-Identifier: Apache-2.0
//
// Looking at the places of a trace (see the header). A dict that has not changed at all since it
// was last looked into is not looked into again.
#include "call/guard_rows.h"

#include <structmember.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

#include "dict_version.h"

namespace pyptx::python {
namespace {

PyObject* null_for_none(PyObject* object) { return object == Py_None ? nullptr : object; }

/// The dict of a class's own members; borrowed.
PyObject* members_of(PyObject* type) { return reinterpret_cast<PyTypeObject*>(type)->tp_dict; }

bool is_same_tuple(PyObject* tuple, PyObject* const* items, Py_ssize_t count) {
  return PyTuple_GET_SIZE(tuple) == count &&
         std::equal(items, items + count, reinterpret_cast<PyTupleObject*>(tuple)->ob_item);
}

bool holds_dict(PyObject* holder, PyObject* expected) {
  PyObject* found = PyObject_GenericGetDict(holder, nullptr);
  if (found == nullptr) {
    PyErr_Clear();
    return false;
  }
  Py_DECREF(found);
  return found == expected;
}

/// By the rules of `base`, whatever a class derived from it says.
bool iterates_over(PyObject* object, PyObject* base, PyObject* items) {
  PyObject* iterator = reinterpret_cast<PyTypeObject*>(base)->tp_iter(object);
  if (iterator == nullptr) {
    PyErr_Clear();
    return false;
  }
  const iternextfunc next = Py_TYPE(iterator)->tp_iternext;
  const Py_ssize_t count = PyTuple_GET_SIZE(items);
  bool same = true;
  for (Py_ssize_t i = 0; same && i <= count; ++i) {
    PyObject* item = next(iterator);
    same = item == (i < count ? PyTuple_GET_ITEM(items, i) : nullptr);
    Py_XDECREF(item);
  }
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    same = false;
  }
  Py_DECREF(iterator);
  return same;
}

bool is_same_shape(const Py_buffer& view, PyObject* format, PyObject* shape) {
  const char* elements = view.format == nullptr ? "B" : view.format;
  if (PyUnicode_CompareWithASCIIString(format, elements) != 0) return false;
  if (PyTuple_GET_SIZE(shape) != view.ndim) return false;
  for (int i = 0; i < view.ndim; ++i) {
    if (PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i)) != view.shape[i]) return false;
  }
  return true;
}

bool has_bytes(PyObject* holder, PyObject* content, PyObject* format, PyObject* shape) {
  Py_buffer view;
  if (PyObject_GetBuffer(holder, &view, PyBUF_FULL_RO) != 0) {
    PyErr_Clear();
    return false;
  }
  bool same = view.len == PyBytes_GET_SIZE(content) && is_same_shape(view, format, shape);
  if (same && PyBuffer_IsContiguous(&view, 'C') != 0) {
    same =
        std::memcmp(view.buf, PyBytes_AS_STRING(content), static_cast<std::size_t>(view.len)) == 0;
  } else if (same) {
    const auto packed = std::make_unique<char[]>(static_cast<std::size_t>(view.len));
    same = PyBuffer_ToContiguous(packed.get(), &view, view.len, 'C') == 0 &&
           std::memcmp(packed.get(), PyBytes_AS_STRING(content),
                       static_cast<std::size_t>(view.len)) == 0;
    PyErr_Clear();
  }
  PyBuffer_Release(&view);
  return same;
}

/// Where an object has a slot.
PyObject* const* slot_at(PyObject* holder, Py_ssize_t offset) {
  return reinterpret_cast<PyObject* const*>(reinterpret_cast<const char*>(holder) + offset);
}

/// The offset of an object's slot; -1 where the descriptor is none of it.
Py_ssize_t slot_offset(PyObject* holder, PyObject* descriptor) {
  if (Py_TYPE(descriptor) != &PyMemberDescr_Type) return -1;
  const auto* member = reinterpret_cast<PyMemberDescrObject*>(descriptor);
  if (PyObject_TypeCheck(holder, PyDescr_TYPE(descriptor)) == 0) return -1;
  const int type = member->d_member->type;
  return type == T_OBJECT || type == T_OBJECT_EX ? member->d_member->offset : -1;
}

}  // namespace

bool GuardedPlace::holds() const {
  switch (kind) {
    case Kind::Dict:
      return holds_dict(holder, expected[0]);
    case Kind::NoneOrEmpty:
      return *slot_at(holder, offset) == nullptr || *slot_at(holder, offset) == Py_None;
    case Kind::List:
      return is_same_tuple(expected[0], reinterpret_cast<PyListObject*>(holder)->ob_item,
                           PyList_GET_SIZE(holder));
    case Kind::Iterated:
      return iterates_over(holder, expected[0], expected[1]);
    case Kind::Bytes:
      return has_bytes(holder, expected[0], expected[1], expected[2]);
  }
  return false;
}

bool DictPlace::holds() {
  const std::uint64_t now = dict_version(dict);
  if (version != 0 && version == now) return true;
  if (whole != nullptr) {
    if (PyDict_GET_SIZE(dict) * 2 != PyTuple_GET_SIZE(whole)) return false;
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    for (Py_ssize_t i = 0; PyDict_Next(dict, &position, &key, &value) != 0; i += 2) {
      if (key != PyTuple_GET_ITEM(whole, i) || value != PyTuple_GET_ITEM(whole, i + 1)) {
        return false;
      }
    }
  }
  for (const Item& item : items) {
    PyObject* found = PyDict_GetItemWithError(dict, item.name);
    if (found == nullptr) PyErr_Clear();
    if (found != item.expected) return false;
  }
  version = now;
  return true;
}

/// Looks at everything, and at what the next calls need not look at again. The words of places
/// decide; the version of a dict only says that it must be looked into.
bool GuardRows::look() {
  is_words_ = false;
  for (std::size_t i = 0; i < fixed_words_; ++i) {
    if (!words_[i].holds()) return false;
  }
  for (const GuardedPlace& place : places_) {
    if (!place.holds()) return false;
  }
  words_.resize(fixed_words_);
  bool is_words = places_.empty();
  for (DictPlace& place : dicts_) {
    // A key that compares itself in Python may ask these guards meanwhile. What it leaves in
    // words_ are versions too, and those of this round come behind them.
    if (!place.holds()) return false;
    if (place.version != 0) {
      words_.push_back({version_word(place.dict), place.version});
    } else {
      is_words = false;
    }
  }
  is_words_ = is_words;
  return true;
}

DictPlace& GuardRows::place_of(PyObject* dict) {
  for (DictPlace& place : dicts_) {
    if (place.dict == dict) return place;
  }
  DictPlace& made = dicts_.emplace_back();
  made.dict = Py_NewRef(dict);
  return made;
}

/// Reads what follows the kind and the holder of a row about a dict.
bool GuardRows::add_to_dict(PyObject* dict, PyObject* row) {
  const Py_ssize_t size = PyTuple_GET_SIZE(row);
  PyObject* const part = PyTuple_GET_ITEM(row, 2);
  if (PyTuple_Check(part) != 0) {
    if (size != 3 || PyTuple_GET_SIZE(part) % 2 != 0) return false;
    DictPlace& place = place_of(dict);
    Py_XSETREF(place.whole, Py_NewRef(part));
  } else {
    if (PyUnicode_CheckExact(part) == 0 || size > 4) return false;
    PyObject* value = size == 4 ? PyTuple_GET_ITEM(row, 3) : nullptr;
    place_of(dict).items.push_back({Py_NewRef(part), Py_XNewRef(value)});
  }
  ++count_;
  return true;
}

bool GuardRows::add_words(PyObject* holder, std::initializer_list<Field> fields) {
  kept_.push_back(Py_NewRef(holder));
  for (const Field& field : fields) {
    // Kept: an object at the same address might be another one.
    if (field.expected != nullptr) kept_.push_back(Py_NewRef(field.expected));
    words_.push_back(
        {static_cast<const void*>(field.at), reinterpret_cast<std::uintptr_t>(field.expected)});
  }
  fixed_words_ = words_.size();
  ++count_;
  return true;
}

bool GuardRows::add_member(PyObject* holder, PyObject* descriptor, PyObject* value) {
  const Py_ssize_t offset = slot_offset(holder, descriptor);
  if (offset < 0) return false;
  const int type = reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member->type;
  if (type == T_OBJECT && value == Py_None) {  // an empty one reads as None
    return add_place({GuardedPlace::Kind::NoneOrEmpty, offset, holder, {}});
  }
  return add_words(holder, {{slot_at(holder, offset), value}});
}

bool GuardRows::add_place(GuardedPlace place) {
  Py_INCREF(place.holder);
  for (PyObject* expected : place.expected) Py_XINCREF(expected);
  places_.push_back(place);
  ++count_;
  return true;
}

bool GuardRows::add(PyObject* row) {
  if (PyTuple_Check(row) == 0 || PyTuple_GET_SIZE(row) < 2) return false;
  const Py_ssize_t size = PyTuple_GET_SIZE(row);
  const auto item = [&](Py_ssize_t i) { return i < size ? PyTuple_GET_ITEM(row, i) : nullptr; };
  const char* word = PyUnicode_Check(item(0)) != 0 ? PyUnicode_AsUTF8(item(0)) : nullptr;
  if (word == nullptr) {
    PyErr_Clear();
    return false;
  }
  const std::string_view kind = word;
  PyObject* const holder = item(1);
  PyObject* const first = item(2);
  const bool is_tuple = first != nullptr && PyTuple_Check(first) != 0;
  const auto place = [&](GuardedPlace::Kind which, PyObject* one, PyObject* two = nullptr,
                         PyObject* three = nullptr) {
    return add_place({which, 0, holder, {one, two, three}});
  };
  if (kind == "item" && PyDict_Check(holder) && first != nullptr && !is_tuple) {
    return add_to_dict(holder, row);
  }
  if (kind == "items" && PyDict_Check(holder) && is_tuple) return add_to_dict(holder, row);
  if (kind == "members" && PyType_Check(holder) && is_tuple && members_of(holder) != nullptr) {
    return add_to_dict(members_of(holder), row);
  }
  if (kind == "mro" && PyType_Check(holder) && is_tuple && size == 3) {
    return add_words(holder, {{&reinterpret_cast<PyTypeObject*>(holder)->tp_mro, first}});
  }
  if (kind == "cell" && PyCell_Check(holder) && size <= 3) {
    return add_words(holder, {{&reinterpret_cast<PyCellObject*>(holder)->ob_ref, first}});
  }
  if (kind == "function" && PyFunction_Check(holder) && size == 6) {
    const auto* function = reinterpret_cast<PyFunctionObject*>(holder);
    return add_words(holder, {{&function->func_code, first},
                              {&function->func_defaults, null_for_none(item(3))},
                              {&function->func_kwdefaults, null_for_none(item(4))},
                              {&function->func_dict, null_for_none(item(5))}});
  }
  if (kind == "type" && size == 3) {
    return add_words(holder, {{reinterpret_cast<PyObject* const*>(&holder->ob_type), first}});
  }
  if (kind == "dict" && size == 3) return place(GuardedPlace::Kind::Dict, first);
  if (kind == "member" && first != nullptr && size <= 4) return add_member(holder, first, item(3));
  if (kind == "list" && PyList_Check(holder) && is_tuple && size == 3) {
    return place(GuardedPlace::Kind::List, first);
  }
  if (kind == "iterated" && size == 4 && PyType_Check(first) && PyTuple_Check(item(3)) != 0) {
    auto* base = reinterpret_cast<PyTypeObject*>(first);
    return PyObject_TypeCheck(holder, base) != 0 && base->tp_iter != nullptr &&
           place(GuardedPlace::Kind::Iterated, first, item(3));
  }
  if (kind == "bytes" && size == 5 && PyBytes_CheckExact(first) && PyUnicode_Check(item(3)) &&
      PyTuple_Check(item(4)) && PyObject_CheckBuffer(holder) != 0) {
    return place(GuardedPlace::Kind::Bytes, first, item(3), item(4));
  }
  return false;
}

int GuardRows::traverse(visitproc visit, void* arg) const {
  for (PyObject* kept : kept_) Py_VISIT(kept);
  for (const GuardedPlace& place : places_) {
    Py_VISIT(place.holder);
    for (PyObject* expected : place.expected) Py_VISIT(expected);
  }
  for (const DictPlace& place : dicts_) {
    Py_VISIT(place.dict);
    Py_VISIT(place.whole);
    for (const DictPlace::Item& item : place.items) {
      Py_VISIT(item.name);
      Py_VISIT(item.expected);
    }
  }
  return 0;
}

GuardRows::~GuardRows() {
  for (PyObject* kept : kept_) Py_DECREF(kept);
  for (const GuardedPlace& place : places_) {
    Py_DECREF(place.holder);
    for (PyObject* expected : place.expected) Py_XDECREF(expected);
  }
  for (const DictPlace& place : dicts_) {
    Py_DECREF(place.dict);
    Py_XDECREF(place.whole);
    for (const DictPlace::Item& item : place.items) {
      Py_DECREF(item.name);
      Py_XDECREF(item.expected);
    }
  }
}

}  // namespace pyptx::python
