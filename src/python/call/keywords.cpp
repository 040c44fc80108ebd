// SPDX-License-Identifier: Apache-2.0
//
// Keywords of a call (see the header).
#include "call/keywords.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <bit>
#include <optional>
#include <string>
#include <string_view>

namespace pyptx::python {
namespace {

PyObject* out_name = nullptr;  // "out", interned

/// Names of keywords are interned but for those that somebody makes up at run time.
bool is_name(PyObject* name, PyObject* other) {
  if (name == other) return true;
  if (PyUnicode_CHECK_INTERNED(name) && PyUnicode_CHECK_INTERNED(other)) return false;
  return PyUnicode_Compare(name, other) == 0;
}

std::optional<std::uint64_t> whole_bits(PyObject* number, const interop::ScalarType& type) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow == 0) return interop::Number(value).bits(type);
  if (overflow < 0) return std::nullopt;
  const unsigned long long large = PyLong_AsUnsignedLongLong(number);
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  return interop::Number(large).bits(type);
}

/// Whether asking a value for its number changes nothing: torch's symbolic ones would be fixed.
bool is_settled(PyObject* value) {
  return PyFloat_Check(value) || PyLong_Check(value) ||
         std::string_view(Py_TYPE(value)->tp_name).starts_with("numpy.");
}

/// Of a number that is not exactly one of Python's.
std::optional<std::uint64_t> converted_bits(PyObject* value, const interop::ScalarType& type) {
  const bool is_float = type.kind == interop::ScalarType::Kind::Float;
  if (!is_settled(value)) return std::nullopt;
  if (is_float ? PyNumber_Check(value) == 0 : PyIndex_Check(value) == 0) return std::nullopt;
  PyObject* number = is_float ? PyNumber_Float(value) : PyNumber_Index(value);
  if (number == nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  const auto bits =
      is_float ? interop::Number(PyFloat_AS_DOUBLE(number)).bits(type) : whole_bits(number, type);
  Py_DECREF(number);
  return bits;
}

}  // namespace

std::optional<std::uint64_t> bits_of(PyObject* value, const interop::ScalarType& type) {
  if (PyLong_CheckExact(value)) return whole_bits(value, type);
  if (type.kind == interop::ScalarType::Kind::Float && PyFloat_CheckExact(value)) {
    return interop::Number(PyFloat_AS_DOUBLE(value)).bits(type);
  }
  return converted_bits(value, type);
}

bool is_same_value(PyObject* given, PyObject* expected) {
  if (given == expected) return true;
  if (Py_TYPE(given) != Py_TYPE(expected)) return false;
  if (PyFloat_CheckExact(given)) {  // by bits: 0.0 is not -0.0, and a NaN is itself
    return std::bit_cast<std::uint64_t>(PyFloat_AS_DOUBLE(given)) ==
           std::bit_cast<std::uint64_t>(PyFloat_AS_DOUBLE(expected));
  }
  if (PyLong_CheckExact(given) || PyUnicode_CheckExact(given) || PyBytes_CheckExact(given)) {
    return PyObject_RichCompareBool(given, expected, Py_EQ) == 1;
  }
  // A tuple is written out in the call, and made anew by each.
  if (!PyTuple_CheckExact(given) || PyTuple_GET_SIZE(given) != PyTuple_GET_SIZE(expected)) {
    return false;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given); ++i) {
    PyObject* const item = PyTuple_GET_ITEM(given, i);
    // A tuple in a tuple is left to the slow path: nobody knows how deep it goes.
    if (PyTuple_CheckExact(item) && item != PyTuple_GET_ITEM(expected, i)) return false;
    if (!is_same_value(item, PyTuple_GET_ITEM(expected, i))) return false;
  }
  return true;
}

void CallScalars::read(PyObject* sequence) {
  namespace nb = nanobind;
  for (nb::handle row : nb::handle(sequence)) {
    const nb::tuple parts = nb::cast<nb::tuple>(row);
    if (parts.size() < 2 || parts.size() > 3) {
      throw nb::type_error("a scalar is described by (name, type[, bits])");
    }
    const std::string type = nb::cast<std::string>(parts[1]);
    Scalar scalar;
    scalar.name = Reference(nb::str(nb::handle(parts[0])).ptr());
    scalar.type = interop::find_scalar_type(type);
    if (scalar.type == nullptr) throw nb::type_error(("no parameter has type " + type).c_str());
    if (parts.size() == 3) scalar.bits = nb::cast<std::optional<std::uint64_t>>(parts[2]);
    scalars_.push_back(std::move(scalar));
  }
  if (scalars_.size() > kMaxKeywords) throw nb::value_error("too many scalars");
}

bool CallKeywords::read(const CallScalars& scalars, PyObject* names, PyObject* const* values) {
  const auto wanted = scalars.all();
  scalar_count_ = wanted.size();
  for (std::size_t i = 0; i < scalar_count_; ++i) scalars_[i] = nullptr;
  const Py_ssize_t count = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const name = PyTuple_GET_ITEM(names, i);
    PyObject* const value = values[i];
    if (is_name(name, out_name)) {
      out_ = value == Py_None ? nullptr : value;
      continue;
    }
    std::size_t at = 0;
    while (at < scalar_count_ && !is_name(name, wanted[at].name.get())) ++at;
    if (at < scalar_count_) {
      scalars_[at] = value;
    } else if (other_count_ < kMaxKeywords) {
      names_[other_count_] = name;
      values_[other_count_++] = value;
    } else {
      return false;
    }
  }
  return scalar_count_ == 0 || read_scalars(scalars);
}

bool CallKeywords::read_scalars(const CallScalars& scalars) {
  for (std::size_t i = 0; i < scalar_count_; ++i) {
    const CallScalars::Scalar& wanted = scalars.all()[i];
    const auto bits = scalars_[i] == nullptr ? wanted.bits : bits_of(scalars_[i], *wanted.type);
    if (!bits) return false;
    bits_[i] = *bits;
  }
  return true;
}

bool CallKeywords::match(const KeywordValues& expected) const {
  if (expected.size() != other_count_) return false;
  for (std::size_t i = 0; i < other_count_; ++i) {
    PyObject* const name = names_[i];
    // Callers write keywords in the same order time and again.
    std::size_t at = i;
    if (!is_name(name, expected[at].first.get())) {
      at = 0;
      while (at < expected.size() && !is_name(name, expected[at].first.get())) ++at;
      if (at == expected.size()) return false;
    }
    if (!is_same_value(values_[i], expected[at].second.get())) return false;
  }
  return true;
}

void bind_keywords() { out_name = PyUnicode_InternFromString("out"); }

}  // namespace pyptx::python
