// SPDX-License-Identifier: Apache-2.0
//
// Finding and reading torch (see the header). The getters behind Tensor.requires_grad and
// Tensor.is_neg are called through their descriptors, because looking an attribute up by name
// costs more than the question.
#include "torch/torch.h"

#include <cstdlib>
#include <exception>
#include <string_view>
#include <utility>

#include "dict_version.h"
#include "errors.h"
#include "pyptx/support/concat.h"

namespace pyptx::python {
namespace {

constexpr const char* kInternals = "PYPTX_TORCH_INTERNALS";

PyObject* attribute(PyObject* object, const char* name) {
  return object == nullptr ? nullptr : PyObject_GetAttrString(object, name);
}

/// The same where its absence is no error.
PyObject* optional_attribute(PyObject* object, const char* name) {
  PyObject* found = attribute(object, name);
  if (found == nullptr) PyErr_Clear();
  return found;
}

/// The answer of a Python function without arguments that returns a number; 0 where torch has no
/// such function, -1 where it fails.
long ask(PyObject* function) {
  if (function == nullptr) return 0;
  PyObject* answer = PyObject_CallNoArgs(function);
  const long value = answer == nullptr ? -1 : PyLong_AsLong(answer);
  Py_XDECREF(answer);
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
  return value;
}

/// Takes over what a call returned; false with a Python error set.
bool take_number(PyObject* result, std::int64_t& out) {
  if (result == nullptr) return false;
  out = PyLong_AsLongLong(result);
  Py_DECREF(result);
  return PyErr_Occurred() == nullptr;
}

}  // namespace

Torch* Torch::instance_ = nullptr;
bool Torch::direct_allowed_ = true;

const Torch* Torch::load() {
  if (instance_ != nullptr) return instance_;
  // Kept for the life of the process, as the imported module is.
  auto* bridge = new Torch;
  if (!bridge->find()) {
    delete bridge;
    return nullptr;
  }
  instance_ = bridge;
  return instance_;
}

const Torch* Torch::load_imported() {
  static bool has_failed = false;
  if (instance_ != nullptr || has_failed || !is_imported()) return instance_;
  has_failed = load() == nullptr;
  if (has_failed) PyErr_Clear();
  return instance_;
}

const Torch* Torch::load_cuda() {
  if (load() == nullptr) return nullptr;
  if (instance_->knows_internals_) {
    instance_->shim_.find_cuda();
    instance_->layout_.learn_cuda(instance_->shim_, *instance_->api_);
  }
  return instance_;
}

bool Torch::find() {
  module_ = PyImport_ImportModule("torch");
  if (module_ == nullptr || !find_types() || !find_getters()) return false;
  empty_strided_ = attribute(module_, "empty_strided");
  if (empty_strided_ == nullptr) return false;

  const char* wanted = std::getenv(kInternals);
  knows_internals_ = wanted == nullptr || std::string_view(wanted) != "0";
  if (knows_internals_) {
    shim_ = TorchShim::find();
    layout_.learn(shim_, *api_);
  } else {
    layout_.forgo(support::concat(kInternals, "=0"));
  }
  PyObject* core = attribute(module_, "_C");
  if (core == nullptr) return false;
  if (shim_.dispatch_modes == nullptr) {
    dispatch_depth_ = optional_attribute(core, "_len_torch_dispatch_stack");
  }
  if (shim_.function_modes == nullptr) {
    function_depth_ = optional_attribute(core, "_len_torch_function_stack");
  }
  function_mode_at_ = optional_attribute(core, "_get_function_stack_at");
  if (shim_.tracing_state == nullptr) {
    PyObject* jit = attribute(module_, "jit");
    is_tracing_ = attribute(jit, "is_tracing");
    Py_XDECREF(jit);
    if (is_tracing_ == nullptr) return false;
  }
  PyObject* device_module = PyImport_ImportModule("torch.utils._device");
  if (device_module == nullptr) PyErr_Clear();
  device_context_ = optional_attribute(device_module, "DeviceContext");
  Py_XDECREF(device_module);
  increment_version_ = attribute(core, "_increment_version");
  if (shim_.is_autocast_enabled == nullptr) {
    is_autocast_enabled_ = optional_attribute(core, "is_autocast_enabled");
    is_autocast_cpu_enabled_ = optional_attribute(core, "is_autocast_cpu_enabled");
  }
  PyObject* profiler = optional_attribute(core, "_profiler");
  range_ = optional_attribute(profiler, "_RecordFunctionFast");
  Py_XDECREF(profiler);
  if (shim_.has_callbacks == nullptr) {
    PyObject* autograd = optional_attribute(module_, "autograd");
    is_profiler_enabled_ = optional_attribute(autograd, "_profiler_enabled");
    Py_XDECREF(autograd);
  }
  Py_DECREF(core);
  if (increment_version_ == nullptr) return false;
  is_grad_enabled_ = attribute(module_, "is_grad_enabled");
  if (is_grad_enabled_ == nullptr) return false;

  PyObject* forward_ad = PyImport_ImportModule("torch.autograd.forward_ad");
  forward_ad_globals_ = forward_ad == nullptr ? nullptr : PyModule_GetDict(forward_ad);
  level_name_ = PyUnicode_InternFromString("_current_level");
  storage_name_ = PyUnicode_InternFromString("untyped_storage");
  storage_bytes_name_ = PyUnicode_InternFromString("nbytes");
  storage_offset_name_ = PyUnicode_InternFromString("storage_offset");
  return forward_ad_globals_ != nullptr && level_name_ != nullptr && storage_name_ != nullptr &&
         storage_bytes_name_ != nullptr && storage_offset_name_ != nullptr;
}

bool Torch::find_types() {
  tensor_ = reinterpret_cast<PyTypeObject*>(attribute(module_, "Tensor"));
  PyObject* nn = PyImport_ImportModule("torch.nn");
  parameter_ = reinterpret_cast<PyTypeObject*>(attribute(nn, "Parameter"));
  Py_XDECREF(nn);
  if (tensor_ == nullptr || parameter_ == nullptr) return false;

  PyObject* capsule = attribute(reinterpret_cast<PyObject*>(tensor_), dlpack::kExchangeAttribute);
  if (capsule == nullptr) {
    PyErr_SetString(PyExc_ImportError,
                    "this torch has no DLPack C exchange API; torch 2.10 or newer is needed");
    return false;
  }
  const void* table = PyCapsule_GetPointer(capsule, dlpack::kExchangeCapsule);
  Py_DECREF(capsule);
  if (table == nullptr) return false;
  api_ = dlpack::compatible_api(static_cast<const dlpack::ExchangeHeader*>(table));
  if (api_ != nullptr && api_->view != nullptr) return true;
  PyErr_SetString(PyExc_ImportError, "torch's DLPack C exchange API is not of version 1");
  return false;
}

bool Torch::find_getters() {
  PyObject* type = reinterpret_cast<PyObject*>(tensor_);
  PyObject* getter = attribute(type, "requires_grad");
  if (getter == nullptr) return false;
  if (Py_TYPE(getter) == &PyGetSetDescr_Type) {
    requires_grad_ = reinterpret_cast<PyGetSetDescrObject*>(getter)->d_getset;
  }
  PyObject* method = attribute(type, "is_neg");
  if (method == nullptr) return false;
  if (Py_TYPE(method) == &PyMethodDescr_Type) {
    const PyMethodDef* definition = reinterpret_cast<PyMethodDescrObject*>(method)->d_method;
    if (definition->ml_flags == METH_NOARGS) is_neg_ = definition->ml_meth;
  }
  // The descriptors own what the pointers above point to; all are kept.
  if (requires_grad_ != nullptr && is_neg_ != nullptr) return true;
  PyErr_SetString(PyExc_ImportError, "torch.Tensor is not built as expected");
  return false;
}

bool Torch::is_watched() const {
  const std::int64_t dispatch =
      shim_.dispatch_modes != nullptr ? shim_.dispatch_modes() : ask(dispatch_depth_);
  const std::int64_t function =
      shim_.function_modes != nullptr ? shim_.function_modes() : ask(function_depth_);
  if (function != 0 && !are_device_contexts(function)) return true;
  const bool traced =
      shim_.tracing_state != nullptr ? shim_.tracing_state() != nullptr : ask(is_tracing_) != 0;
  return dispatch != 0 || traced || is_forward_mode();
}

/// Whether the function modes only say where new tensors go (torch.set_default_device), which a
/// kernel, whose outputs go where its inputs are, need not know.
bool Torch::are_device_contexts(std::int64_t count) const {
  if (function_mode_at_ == nullptr || device_context_ == nullptr) return false;
  for (std::int64_t i = 0; i < count; ++i) {
    PyObject* index = PyLong_FromLongLong(i);
    PyObject* mode = index == nullptr ? nullptr : PyObject_CallOneArg(function_mode_at_, index);
    Py_XDECREF(index);
    if (mode == nullptr) PyErr_Clear();
    const bool is_context =
        mode != nullptr && reinterpret_cast<PyObject*>(Py_TYPE(mode)) == device_context_;
    Py_XDECREF(mode);
    if (!is_context) return false;
  }
  return true;
}

bool Torch::is_forward_mode() const {
  const std::uint64_t version = dict_version(forward_ad_globals_);
  if (version != 0 && version == reverse_mode_version_) return false;
  PyObject* level = PyDict_GetItemWithError(forward_ad_globals_, level_name_);
  if (level != nullptr && PyLong_Check(level) != 0 && PyLong_AsLong(level) >= 0) return true;
  reverse_mode_version_ = version;
  return false;
}

bool Torch::grad_enabled() const {
  return shim_.grad_mode_enabled != nullptr ? shim_.grad_mode_enabled()
                                            : ask(is_grad_enabled_) != 0;
}

bool Torch::is_profiled() const {
  return shim_.has_callbacks != nullptr ? shim_.has_callbacks() : ask(is_profiler_enabled_) != 0;
}

bool Torch::is_autocast() const {
  if (shim_.is_autocast_enabled != nullptr) {
    return shim_.is_autocast_enabled(kTorchCpu) || shim_.is_autocast_enabled(kTorchCuda);
  }
  return ask(is_autocast_enabled_) != 0 || ask(is_autocast_cpu_enabled_) != 0;
}

std::string_view Torch::indirect_reason() const {
  if (!direct_allowed_) return "it is turned off";
  return layout_.why();
}

bool Torch::read(PyObject* object, bool grad, ReadTensor& out) const {
  if (Py_TYPE(object) != tensor_ && Py_TYPE(object) != parameter_) return false;
  if (!(is_direct() && layout_.read(shim_, object, grad, out)) &&
      !read_exchanged(object, grad, out)) {
    return false;
  }
  // Freed storage; and the wrapper that functionalisation uses has no memory, but does not say so.
  const std::span<const std::int64_t> shape(out.shape, static_cast<std::size_t>(out.ndim));
  return out.data != nullptr || dlpack::byte_count(out.dtype, shape) == 0;
}

bool Torch::read_exchanged(PyObject* object, bool grad, ReadTensor& out) const {
  if (grad) {
    PyObject* answer = requires_grad_->get(object, requires_grad_->closure);
    if (answer == nullptr) PyErr_Clear();
    const bool recorded = answer != Py_False;
    Py_XDECREF(answer);
    if (recorded) return false;
  }
  if (api_->view(object, &out) != 0) {
    // No memory of its own: sparse, or wrapped by a function transform.
    PyErr_Clear();
    return false;
  }
  // A negated view of the imaginary part of a complex tensor has memory that says the opposite.
  PyObject* answer = is_neg_(object, nullptr);
  if (answer == nullptr) PyErr_Clear();
  const bool plain = answer == Py_False;
  Py_XDECREF(answer);
  return plain && ask_room(object, out);
}

/// DLPack does not tell of the storage; methods of the tensor do.
bool Torch::ask_room(PyObject* object, ReadTensor& out) const {
  PyObject* storage = PyObject_CallMethodNoArgs(object, storage_name_);
  std::int64_t bytes = 0;
  std::int64_t start = 0;
  const bool is_told =
      storage != nullptr &&
      take_number(PyObject_CallMethodNoArgs(storage, storage_bytes_name_), bytes) &&
      take_number(PyObject_CallMethodNoArgs(object, storage_offset_name_), start);
  Py_XDECREF(storage);
  if (!is_told) PyErr_Clear();
  out.room = bytes - start * dlpack::element_bytes(out.dtype);
  return is_told;
}

bool Torch::mark_written(PyObject* const* tensors, std::size_t count) const {
  if (is_direct() && layout_.abi()->bump_version != nullptr) {
    std::size_t done = 0;
    while (done < count && layout_.is_versioned(tensors[done])) {
      layout_.abi()->bump_version(*layout_.tensor(tensors[done++]));
    }
    tensors += done;
    count -= done;
    if (count == 0) return true;
  }
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(count));
  if (tuple == nullptr) return false;
  for (std::size_t i = 0; i < count; ++i) {
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), Py_NewRef(tensors[i]));
  }
  PyObject* done = PyObject_CallOneArg(increment_version_, tuple);
  Py_DECREF(tuple);
  Py_XDECREF(done);
  return done != nullptr;
}

bool Torch::current_stream(const dlpack::Device& device, void** out) const {
  if (const auto current = interop::torch::Abi::current_cuda_stream()) {
    return current(device.id, out) == 0;
  }
  if (api_->current_stream(device.type, device.id, out) == 0) return true;
  PyErr_Clear();
  return false;
}

bool Torch::can_make(const dlpack::Device& device) const {
  if (!is_direct() || shim_.wrap == nullptr) return false;
  return device.type == dlpack::DeviceType::Cuda
             ? shim_.empty_cuda != nullptr && layout_.knows_cuda()
             : shim_.empty_cpu != nullptr;
}

bool Torch::make(const dlpack::Device& device, dlpack::DataType type,
                 std::span<const std::int64_t> shape, MadeTensor& out, void** data) const {
  const int number = layout_.dtype_number(type);
  if (number < 0) return false;
  const auto dtype = static_cast<std::int8_t>(number);
  const IntArray sizes{shape.data(), shape.size()};
  try {
    if (device.type == dlpack::DeviceType::Cuda) {
      const TorchDevice place{kTorchCuda, static_cast<std::int8_t>(device.id)};
      out.take(shim_.empty_cuda(sizes, dtype, place, std::nullopt));
    } else {
      out.take(shim_.empty_cpu(sizes, dtype, /*pinned=*/false, std::nullopt));
    }
  } catch (const std::exception&) {
    return false;
  }
  return layout_.abi()->data(reinterpret_cast<interop::torch::TensorHandle>(&out), data) == 0;
}

PyObject* Torch::wrap(MadeTensor& tensor) const {
  try {
    return static_cast<PyObject*>(shim_.wrap(std::move(tensor)));
  } catch (...) {
    if (PyErr_Occurred() == nullptr) set_current_exception();
    return nullptr;
  }
}

OutputMaker::OutputMaker(dlpack::DataType type, std::vector<std::int64_t> shape, bool column_major)
    : type_(type), shape_(std::move(shape)), column_major_(column_major) {}

OutputMaker::OutputMaker(OutputMaker&& other) noexcept
    : type_(other.type_),
      shape_(std::move(other.shape_)),
      column_major_(other.column_major_),
      arguments_(std::exchange(other.arguments_, nullptr)),
      options_(std::move(other.options_)) {}

OutputMaker::~OutputMaker() {
  Py_XDECREF(arguments_);
  for (PyObject* options : options_) Py_XDECREF(options);
}

PyObject* OutputMaker::options(const Torch& torch, const dlpack::Device& device) {
  const auto id = static_cast<std::size_t>(device.id);
  if (id < options_.size() && options_[id] != nullptr) return options_[id];
  const dlpack::ElementType* element = dlpack::find_element_type(type_);
  if (element == nullptr) {
    PyErr_SetString(PyExc_TypeError, "torch has no such element type");
    return nullptr;
  }
  PyObject* dtype = PyObject_GetAttrString(torch.module(), std::string(element->torch).c_str());
  PyObject* place = device.type == dlpack::DeviceType::Cuda
                        ? PyObject_CallMethod(torch.module(), "device", "si", "cuda", device.id)
                        : PyObject_CallMethod(torch.module(), "device", "s", "cpu");
  PyObject* options = nullptr;
  if (dtype != nullptr && place != nullptr) {
    options = Py_BuildValue("{s:O,s:O}", "dtype", dtype, "device", place);
  }
  Py_XDECREF(dtype);
  Py_XDECREF(place);
  if (options == nullptr) return nullptr;
  if (id >= options_.size()) options_.resize(id + 1, nullptr);
  options_[id] = options;
  return options;
}

PyObject* OutputMaker::make(const Torch& torch, const dlpack::Device& device) {
  PyObject* keywords = options(torch, device);
  if (keywords == nullptr) return nullptr;
  if (arguments_ == nullptr) {
    const auto rank = static_cast<Py_ssize_t>(shape_.size());
    PyObject* shape = PyTuple_New(rank);
    PyObject* strides = PyTuple_New(rank);
    std::int64_t stride = 1;
    for (Py_ssize_t i = 0; i < rank && shape != nullptr && strides != nullptr; ++i) {
      const Py_ssize_t axis = column_major_ ? i : rank - 1 - i;
      const std::int64_t extent = shape_[static_cast<std::size_t>(axis)];
      PyTuple_SET_ITEM(shape, axis, PyLong_FromLongLong(extent));
      PyTuple_SET_ITEM(strides, axis, PyLong_FromLongLong(stride));
      stride *= extent > 0 ? extent : 1;
    }
    arguments_ = PyTuple_Pack(2, shape, strides);
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    if (arguments_ == nullptr) return nullptr;
  }
  return PyObject_Call(torch.empty_strided(), arguments_, keywords);
}

}  // namespace pyptx::python
