// SPDX-License-Identifier: Apache-2.0
//
// The keywords of one call of an entry: out=, scalars that become arguments of the launch, and
// values that a specialisation was made for. Template values are compared with those; nothing here
// knows what they mean.
#pragma once

#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "pyptx/interop/scalar.h"

namespace pyptx::python {

/// A reference that is given up with the interpreter's lock held.
class Reference {
 public:
  Reference() = default;
  explicit Reference(PyObject* object) : object_(Py_XNewRef(object)) {}
  Reference(Reference&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Reference& operator=(Reference&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  ~Reference() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }

 private:
  PyObject* object_ = nullptr;
};

inline constexpr std::size_t kMaxKeywords = 32;

/// Scalar parameters of a kernel that calls give by keyword, in the order of the parameters.
class CallScalars {
 public:
  struct Scalar {
    Reference name;
    const interop::ScalarType* type = nullptr;
    std::optional<std::uint64_t> bits;  // where a call gives none; nothing: it must
  };

  /// Reads ((name, type[, bits]), ...). Throws what nanobind turns into a Python error.
  void read(PyObject* sequence);
  std::span<const Scalar> all() const { return scalars_; }

 private:
  std::vector<Scalar> scalars_;
};

/// A Python or NumPy number as the bits of a parameter; nothing where the parameter cannot hold it,
/// or the value is another thing. Never leaves an error set.
std::optional<std::uint64_t> bits_of(PyObject* value, const interop::ScalarType& type);

/// Whether two values are the same object, equal numbers or strings of one type, or tuples of such.
bool is_same_value(PyObject* given, PyObject* expected);

/// Keywords and values that a specialisation was made for.
using KeywordValues = std::vector<std::pair<Reference, Reference>>;

class CallKeywords {
 public:
  /// False, with no error set, when these are not for the entry to judge.
  bool read(const CallScalars& scalars, PyObject* names, PyObject* const* values);

  /// The caller's outputs; null where it gave none.
  PyObject* out() const { return out_; }
  /// Whether the values that are no scalars are these, by is_same_value().
  bool match(const KeywordValues& expected) const;
  /// The bits of the scalars, and the objects they were given as; null where none was given.
  std::span<const std::uint64_t> bits() const { return {bits_.data(), scalar_count_}; }
  std::span<PyObject* const> scalars() const { return {scalars_.data(), scalar_count_}; }

 private:
  bool read_scalars(const CallScalars& scalars);

  PyObject* out_ = nullptr;
  std::size_t scalar_count_ = 0;
  std::size_t other_count_ = 0;
  // Borrowed from the caller. Elements beyond the counts hold nothing.
  std::array<PyObject*, kMaxKeywords> scalars_;
  std::array<std::uint64_t, kMaxKeywords> bits_;
  std::array<PyObject*, kMaxKeywords> names_;  // of the others
  std::array<PyObject*, kMaxKeywords> values_;
};

/// Makes the names that are looked for.
void bind_keywords();

}  // namespace pyptx::python
