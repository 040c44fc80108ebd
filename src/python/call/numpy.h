// SPDX-License-Identifier: Apache-2.0
//
// NumPy as the call path sees it: the arrays of one call, read through the buffer protocol, and how
// an output is made. NumPy's headers are not used, and a process that has not imported NumPy does
// not import it for this. Types that the buffer protocol has no format of (bf16, fp8) are not read.
#pragma once

#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "call/table.h"

namespace pyptx::python {

/// Arrays that are held until the call is done: their memory stays where it is.
class NumpyArrays {
 public:
  NumpyArrays() = default;
  NumpyArrays(const NumpyArrays&) = delete;
  NumpyArrays& operator=(const NumpyArrays&) = delete;
  ~NumpyArrays();

  /// Whether it is exactly a numpy.ndarray. Never fails.
  static bool is_array(PyObject* object);

  /// Reads an array as a tensor on the CPU. False, with no error set, where it is none of a type
  /// and layout that a kernel could take.
  bool read(PyObject* object, ReadTensor& out);
  /// Whether so many of the arrays that were read, from number `first` on, may be written.
  bool are_writable(std::size_t first, std::size_t count) const;

 private:
  static constexpr int kMaxRank = 8;
  struct View {
    Py_buffer buffer;
    std::array<std::int64_t, kMaxRank> strides;  // in elements
  };
  std::vector<std::unique_ptr<View>> views_;
};

/// A new array: dense, uninitialised. Null with a Python error set.
PyObject* make_numpy_array(const TensorShape& shape);

}  // namespace pyptx::python
