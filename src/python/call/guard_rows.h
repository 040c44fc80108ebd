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
#include <cstring>
#include <initializer_list>
#include <vector>

namespace pyptx::python {

/// A word of memory and what it must be. What most places come down to, and all that a call looks
/// at where nothing has changed: four words share a line of the cache, which a launch has emptied,
/// and none decides what is looked at next.
struct GuardWord {
  const void* at;
  std::uint64_t expected;

  bool holds() const {
    std::uint64_t found = 0;
    std::memcpy(&found, at, sizeof found);
    return found == expected;
  }
};

/// A place that is no word. All references are owned by the rows.
struct GuardedPlace {
  enum class Kind : std::uint8_t {
    Dict,
    NoneOrEmpty,
    List,
    Iterated,
    Bytes,
  };
  Kind kind = Kind::List;
  Py_ssize_t offset = 0;  // of a slot in its object
  PyObject* holder = nullptr;
  PyObject* expected[3] = {};

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
  bool hold() {
    for (const GuardWord& word : words_) {
      if (!word.holds()) return look();
    }
    return is_words_ || look();
  }
  int traverse(visitproc visit, void* arg) const;

 private:
  /// A pointer in an object.
  struct Field {
    PyObject* const* at;
    PyObject* expected;  // null: nothing was there
  };

  DictPlace& place_of(PyObject* dict);
  bool add_to_dict(PyObject* dict, PyObject* row);
  bool add_words(PyObject* holder, std::initializer_list<Field> fields);
  bool add_member(PyObject* holder, PyObject* descriptor, PyObject* value);
  bool add_place(GuardedPlace place);
  bool look();

  std::vector<GuardWord> words_;  // of places, and behind them the versions of dicts
  bool is_words_ = false;         // that there is nothing else to look at
  std::size_t fixed_words_ = 0;   // of places
  std::size_t count_ = 0;
  std::vector<PyObject*> kept_;  // by the words of places: owned references
  std::vector<GuardedPlace> places_;
  std::vector<DictPlace> dicts_;
};

}  // namespace pyptx::python
