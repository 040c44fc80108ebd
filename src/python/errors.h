// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics as Python exceptions. The class is chosen by the group of the code (see
// python/pyptx/_errors.py); the message is the rendered text, `.diagnostics` the objects. This is
// the only place that turns a core failure or an exception of C++ into an exception of Python.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <string>
#include <utility>

#include "pyptx/diag/diagnostic.h"

namespace pyptx::python {

namespace nb = nanobind;

/// Raises the exception for `diagnostic`. `table` resolves its location; null when it has none.
[[noreturn]] void raise(const diag::Diagnostic& diagnostic,
                        const diag::LocationTable* table = nullptr);
/// The same for several; the first one chooses the class. `diagnostics` must not be empty.
[[noreturn]] void raise(std::span<const diag::Diagnostic> diagnostics,
                        const diag::LocationTable* table = nullptr);

/// Warns of each of `warnings` at its line of the kernel, or at the caller's. Throws where a filter
/// makes it an error.
void warn(std::span<const diag::Diagnostic> warnings, const diag::LocationTable* table);

/// The value, or the exception.
template <typename T>
T unwrap(diag::Result<T> result, const diag::LocationTable* table = nullptr) {
  if (!result) raise(result.error(), table);
  return std::move(*result);
}
inline void unwrap(const diag::Status& status, const diag::LocationTable* table = nullptr) {
  if (!status) raise(status.error(), table);
}

/// A `_core.Diagnostic` whose place is resolved, so that it outlives the module it came from.
diag::Diagnostic resolved(diag::Diagnostic diagnostic, const diag::LocationTable* table);

/// Sets the Python error of the exception of C++ that is being handled. This is the only bridge:
/// what came from Python is raised again, a built-in exception is that exception, a value that is
/// not of the type asked for is a TypeError, and what nobody expected is PTX0820 or PTX0821. To be
/// called inside a catch block.
void set_current_exception() noexcept;
/// Lets the functions that nanobind calls cross by it too.
void translate_exceptions();

/// The value of `body`, or null with the Python error set, for functions that CPython calls.
template <typename F>
PyObject* with_python_errors(F&& body) noexcept {
  try {
    return body();
  } catch (...) {
    set_current_exception();
    return nullptr;
  }
}

}  // namespace pyptx::python
