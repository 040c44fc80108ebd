// SPDX-License-Identifier: Apache-2.0
#include "text_bytes.h"

#include <string>
#include <string_view>

namespace pyptx::python {

namespace nb = nanobind;

std::string to_bytes(nb::handle text, const char* name) {
  if (PyBytes_Check(text.ptr())) {
    return {PyBytes_AS_STRING(text.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(text.ptr()))};
  }
  if (!PyUnicode_Check(text.ptr())) {
    PyErr_Format(PyExc_TypeError, "%s must be str or bytes, not %s", name,
                 Py_TYPE(text.ptr())->tp_name);
    nb::raise_python_error();
  }
  Py_ssize_t size = 0;
  if (const char* utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), &size)) {
    return {utf8, static_cast<std::size_t>(size)};
  }
  PyErr_Clear();
  const nb::object encoded =
      nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass"));
  if (!encoded.is_valid()) nb::raise_python_error();
  return to_bytes(encoded, name);
}

nb::str to_str(std::string_view bytes) {
  const char* const data = bytes.data();
  const auto size = static_cast<Py_ssize_t>(bytes.size());
  PyObject* text = PyUnicode_DecodeUTF8(data, size, "surrogatepass");
  if (text == nullptr && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError) != 0) {
    PyErr_Clear();
    text = PyUnicode_DecodeUTF8(data, size, "surrogateescape");
  }
  if (text == nullptr) nb::raise_python_error();
  return nb::steal<nb::str>(text);
}

}  // namespace pyptx::python
