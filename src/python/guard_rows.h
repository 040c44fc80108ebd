// SPDX-License-Identifier: Apache-2.0
//
// The rows of _core.Guards: places in the interpreter and what was found there, compared by
// identity (and bytes by content) without running any Python code of the author's. A row is read
// from a tuple whose first item says what kind of place it is:
//
//   ("item", dict, name[, value])             one name of a dict
//   ("items", dict, (key, value, ...))        all of a dict, in order
//   ("members", class, (key, value, ...))     all of a class's own dict
//   ("mro", class, bases)                     where a class looks for its members
//   ("cell", cell[, value])                   a captured variable
//   ("function", f, code, defaults, named, d) a function; the dict of its attributes is d
//   ("type", object, class)                   the class of an object
//   ("dict", object, dict)                    the dict of an object's attributes
//   ("member", object, descriptor[, value])   a slot of an object
//   ("list", list, items)                     the items of a list
//   ("iterated", object, base, items)         what iterating gives, by the base's own rules
//   ("bytes", object, bytes, format, shape)   the elements of a buffer
//
// A place that was empty has no value, and is watched for being filled.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

namespace pyptx::python {

/// A place that is in no dict. All references are owned by the rows.
struct Place {
  enum class Kind : std::uint8_t {
    Mro,
    Cell,
    Function,
    Type,
    Dict,
    Member,
    List,
    Iterated,
    Bytes,
  };
  Kind kind = Kind::Cell;
  Py_ssize_t offset = 0;  // of a slot in its object
  PyObject* holder = nullptr;
  PyObject* expected[4] = {};  // null: nothing was there

  bool holds() const;
};

/// A dict, the names that are watched in it, and its version when they last held.
struct DictPlace {
  struct Item {
    PyObject* name;
    PyObject* expected;  // null: nothing was there
  };
  PyObject* dict = nullptr;
  PyObject* whole = nullptr;  // keys and values in turn; null where only some names matter
  std::uint64_t version = 0;
  std::vector<Item> items;

  bool holds();
};

class GuardRows {
 public:
  GuardRows() = default;
  GuardRows(const GuardRows&) = delete;
  GuardRows& operator=(const GuardRows&) = delete;
  ~GuardRows();

  /// Adds a row; false, with no error set, when the tuple is none.
  bool add(PyObject* row);
  std::size_t size() const { return count_; }
  /// Whether every place still holds what it held.
  bool hold();
  int traverse(visitproc visit, void* arg) const;

 private:
  DictPlace& place_of(PyObject* dict);
  bool add_to_dict(PyObject* dict, PyObject* row);
  bool add_place(Place place);

  std::vector<Place> places_;
  std::vector<DictPlace> dicts_;
  std::size_t count_ = 0;
};

}  // namespace pyptx::python
