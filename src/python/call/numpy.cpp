// SPDX-License-Identifier: Apache-2.0
//
// Reading and making NumPy arrays (see the header).
#include "call/numpy.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pyptx/interop/dlpack.h"
#include "pyptx/interop/strides.h"

namespace pyptx::python {
namespace {

/// numpy.ndarray and numpy.empty once NumPy has been imported, kept for the life of the process, as
/// the module is.
struct Numpy {
  PyTypeObject* array = nullptr;
  PyObject* empty = nullptr;
};

const Numpy& numpy() {
  static Numpy found;
  if (found.array != nullptr) return found;
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");
  if (module == nullptr) return found;
  PyObject* array = PyObject_GetAttrString(module, "ndarray");  // absent while it is imported
  found.empty = array == nullptr ? nullptr : PyObject_GetAttrString(module, "empty");
  if (found.empty == nullptr) {
    PyErr_Clear();
    Py_XDECREF(array);
    return found;
  }
  found.array = reinterpret_cast<PyTypeObject*>(array);
  return found;
}

/// The element type that a format of the struct module stands for, in this machine's byte order.
std::optional<dlpack::DataType> type_of(std::string_view format, Py_ssize_t bytes) {
  using Code = dlpack::TypeCode;
  const auto is_one_of = [&format](std::string_view letters) {
    return format.size() == 1 && letters.find(format[0]) != std::string_view::npos;
  };
  if (format.starts_with('@') || format.starts_with('=') || format.starts_with('<')) {
    format.remove_prefix(1);
  }
  Code code{};
  if (format == "?") {
    code = Code::Bool;
  } else if (is_one_of("efd")) {
    code = Code::Float;
  } else if (is_one_of("bhilq")) {
    code = Code::Int;
  } else if (is_one_of("BHILQ")) {
    code = Code::UInt;
  } else {
    return std::nullopt;
  }
  return dlpack::DataType{code, static_cast<std::uint8_t>(bytes * 8), 1};
}

}  // namespace

NumpyArrays::~NumpyArrays() {
  for (const auto& view : views_) PyBuffer_Release(&view->buffer);
}

bool NumpyArrays::is_array(PyObject* object) { return Py_TYPE(object) == numpy().array; }

bool NumpyArrays::read(PyObject* object, ReadTensor& out) {
  if (!is_array(object)) return false;
  auto view = std::make_unique<View>();
  Py_buffer& buffer = view->buffer;
  if (PyObject_GetBuffer(object, &buffer, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    PyErr_Clear();  // a type without a format
    return false;
  }
  views_.push_back(std::move(view));
  const auto type = type_of(buffer.format == nullptr ? "B" : buffer.format, buffer.itemsize);
  if (!type || buffer.ndim > kMaxRank) return false;
  auto& strides = views_.back()->strides;
  for (int i = 0; i < buffer.ndim; ++i) {
    // A field of a structured array need not step by whole elements.
    if (buffer.strides[i] % buffer.itemsize != 0) return false;
    strides[static_cast<std::size_t>(i)] = buffer.strides[i] / buffer.itemsize;
  }
  const std::span<const std::int64_t> view_strides(strides.data(),
                                                   static_cast<std::size_t>(buffer.ndim));
  out.data = buffer.buf;
  out.device = {dlpack::DeviceType::Cpu, 0};
  out.ndim = buffer.ndim;
  out.dtype = *type;
  out.shape = buffer.shape;
  out.strides = strides.data();
  out.byte_offset = 0;
  // A view reaches no further than what it is of; the length counts its elements alone.
  out.room = buffer.len;
  if (buffer.len != 0 && std::ranges::none_of(view_strides, [](auto step) { return step < 0; })) {
    const std::span<const std::int64_t> shape(out.shape, static_cast<std::size_t>(out.ndim));
    out.room =
        static_cast<std::int64_t>(interop::spanned_elements(shape, view_strides)) * buffer.itemsize;
  }
  return true;
}

bool NumpyArrays::are_writable(std::size_t first, std::size_t count) const {
  const auto begin = views_.begin() + static_cast<std::ptrdiff_t>(first);
  return std::all_of(begin, begin + static_cast<std::ptrdiff_t>(count),
                     [](const auto& view) { return view->buffer.readonly == 0; });
}

PyObject* make_numpy_array(const TensorShape& shape) {
  const dlpack::ElementType* element = dlpack::find_element_type(shape.type);
  if (element == nullptr || numpy().empty == nullptr) {
    PyErr_SetString(PyExc_TypeError, "NumPy has no such element type");
    return nullptr;
  }
  PyObject* sizes = PyTuple_New(static_cast<Py_ssize_t>(shape.shape.size()));
  for (std::size_t i = 0; sizes != nullptr && i < shape.shape.size(); ++i) {
    PyTuple_SET_ITEM(sizes, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(shape.shape[i]));
  }
  if (sizes == nullptr) return nullptr;
  return PyObject_CallFunction(numpy().empty, "Nss", sizes, std::string(element->torch).c_str(),
                               shape.column_major ? "F" : "C");
}

}  // namespace pyptx::python
