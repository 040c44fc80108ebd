// SPDX-License-Identifier: Apache-2.0
//
// A cheap answer to "has this dict changed?", where the interpreter has one.
#pragma once

#include <Python.h>

#include <cstdint>

namespace pyptx::python {

/// A number that no dict had before its latest change; 0 where this Python does not count.
inline std::uint64_t dict_version(PyObject* dict) {
#if PY_VERSION_HEX < 0x030E0000
#if PY_VERSION_HEX >= 0x030D0000
  // Attributes that lie in their object are stored there past the dict that shows them.
  if (reinterpret_cast<PyDictObject*>(dict)->ma_values != nullptr) return 0;
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#pragma GCC diagnostic pop
#else
  (void)dict;
  return 0;
#endif
}

/// Where that number is. A dict that has one keeps it: attributes do not move into their object.
inline const void* version_word(PyObject* dict) {
#if PY_VERSION_HEX < 0x030E0000
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return &reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#pragma GCC diagnostic pop
#else
  return dict;
#endif
}

}  // namespace pyptx::python
