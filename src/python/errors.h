// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics as Python exceptions. The class is chosen by the group of the code (see
// python/pyptx/_errors.py); the message is the rendered text, `.diagnostics` the objects. This is
// the only place that turns a core failure into an exception.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <string>
#include <typeinfo>
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

/// "PTX0940: 3 of 4 elements ..."
std::string warning_text(const diag::Diagnostic& warning);
/// Warns of each of `warnings`, as a pyptx.OutputWarning at the line that runs now. Throws where a
/// filter makes it an error.
void warn(std::span<const diag::Diagnostic> warnings);

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

/// Sets the Python error of the exception of C++ that is being handled: PTX0820, PTX0821.
void set_current_exception() noexcept;
/// Lets the bindings do that where there is no memory.
void translate_out_of_memory();

/// Turns a C++ exception into a Python one, for functions that CPython calls.
template <typename F>
PyObject* with_python_errors(F&& body) {
  try {
    return body();
  } catch (nanobind::python_error& error) {
    error.restore();
  } catch (const nanobind::builtin_exception& error) {
    const bool value = error.type() == nanobind::exception_type::value_error;
    PyErr_SetString(value ? PyExc_ValueError : PyExc_TypeError, error.what());
  } catch (const std::bad_cast& error) {
    PyErr_SetString(PyExc_TypeError, error.what());
  } catch (...) {
    set_current_exception();
  }
  return nullptr;
}

}  // namespace pyptx::python
