// SPDX-License-Identifier: Apache-2.0
//
// torch as the call path sees it: which objects it may read directly, how to read them, where the
// work goes, how an output is made. Everything is found at run time in the imported torch, once;
// without torch there is no bridge and every call takes the slow path. No torch header is used.
//
// Two ways lead to a tensor. The direct one knows torch's internals, where tensors keep what
// (layout.h) and functions by their mangled names (shim.h), as far as its self-test confirms them.
// The other is public: the DLPack exchange API and methods of Tensor. PYPTX_TORCH_INTERNALS=0
// leaves the public way alone.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "pyptx/interop/dlpack.h"
#include "torch/layout.h"
#include "torch/shim.h"

namespace pyptx::python {

class Torch {
 public:
  /// The bridge if load() has succeeded in this process, else null. Never fails.
  static const Torch* loaded() { return instance_; }
  /// Whether this process has imported torch.
  static bool is_imported() {
    return PyDict_GetItemString(PyImport_GetModuleDict(), "torch") != nullptr;
  }
  /// Imports torch and finds what is needed. Null with a Python error set.
  static const Torch* load();
  /// The bridge, loaded once this process has imported torch; null before, and where it cannot be.
  static const Torch* load_imported();
  /// The same, once there are CUDA tensors.
  static const Torch* load_cuda();

  /// Whether tensors may be read and made directly (see torch/layout.h), which is the default;
  /// without it the exchange API and torch's Python functions serve.
  static void allow_direct(bool allowed) { direct_allowed_ = allowed; }
  /// Why tensors are not read directly; "" when they are.
  std::string_view indirect_reason() const;

  /// Whether something would want to see this call that a direct launch would hide it from: a
  /// dispatch or function mode, torch.jit.trace, forward-mode differentiation.
  bool is_watched() const;
  bool grad_enabled() const;
  /// Whether torch's profiler, or torch.autograd.profiler.emit_nvtx, records what runs.
  bool is_profiled() const;
  /// Whether torch.autocast is on, for whatever device.
  bool is_autocast() const;
  /// What records a range: _RecordFunctionFast(name, inputs), a context manager; may be null.
  PyObject* range() const { return range_; }

  /// Reads `object` if it is exactly a Tensor or Parameter with memory of its own, of which
  /// autograd wants to know nothing (`grad`: what grad_enabled() said). Never leaves an error set.
  bool read(PyObject* object, bool grad, ReadTensor& out) const;

  /// Begins to bring a tensor that will be read into the nearest cache.
  void fetch(PyObject* object) const {
    if (Py_TYPE(object) == tensor_ && is_direct()) layout_.fetch(object);
  }

  /// Tells autograd that these tensors were written, so that a graph which saved one of them
  /// refuses to go backward. False with a Python error set.
  bool mark_written(PyObject* const* tensors, std::size_t count) const;

  /// torch's current stream on a device; null for the default stream. False with no error set.
  bool current_stream(const dlpack::Device& device, void** out) const;

  /// Whether make() serves for a device.
  bool can_make(const dlpack::Device& device) const;
  /// A dense tensor that is no Python object yet; needs no interpreter. False when torch could not
  /// make it: whoever asks its Python function is told why.
  bool make(const dlpack::Device& device, dlpack::DataType type,
            std::span<const std::int64_t> shape, MadeTensor& out, void** data) const;
  /// The same tensor as an object: a new reference, or null with a Python error set.
  PyObject* wrap(MadeTensor& tensor) const;

  PyObject* module() const { return module_; }
  PyObject* empty_strided() const { return empty_strided_; }

 private:
  Torch() = default;
  bool find();
  bool find_types();
  bool find_getters();
  bool is_forward_mode() const;
  bool are_device_contexts(std::int64_t count) const;
  bool is_direct() const { return direct_allowed_ && layout_.known(); }
  bool read_exchanged(PyObject* object, bool grad, ReadTensor& out) const;
  bool ask_room(PyObject* object, ReadTensor& out) const;

  static Torch* instance_;
  static bool direct_allowed_;

  PyObject* module_ = nullptr;
  PyTypeObject* tensor_ = nullptr;
  PyTypeObject* parameter_ = nullptr;
  const dlpack::ExchangeApi* api_ = nullptr;
  TorchShim shim_;
  TorchLayout layout_;
  bool knows_internals_ = false;  // shim_ and layout_ were looked for
  PyGetSetDef* requires_grad_ = nullptr;
  PyCFunction is_neg_ = nullptr;
  PyObject* is_tracing_ = nullptr;
  PyObject* storage_name_ = nullptr;
  PyObject* storage_bytes_name_ = nullptr;
  PyObject* storage_offset_name_ = nullptr;
  PyObject* is_grad_enabled_ = nullptr;
  PyObject* is_profiler_enabled_ = nullptr;
  PyObject* is_autocast_enabled_ = nullptr;  // of CUDA; these two where the shim has no function
  PyObject* is_autocast_cpu_enabled_ = nullptr;
  PyObject* range_ = nullptr;
  PyObject* increment_version_ = nullptr;
  PyObject* dispatch_depth_ = nullptr;
  PyObject* function_depth_ = nullptr;
  PyObject* function_mode_at_ = nullptr;  // null where this torch does not tell
  PyObject* device_context_ = nullptr;
  PyObject* forward_ad_globals_ = nullptr;
  PyObject* level_name_ = nullptr;
  mutable std::uint64_t reverse_mode_version_ = 0;  // of the globals when no level was entered
  PyObject* empty_strided_ = nullptr;
};

/// Makes the tensors of one output through torch.empty_strided: dense, uninitialised.
class OutputMaker {
 public:
  OutputMaker(dlpack::DataType type, std::vector<std::int64_t> shape, bool column_major);
  ~OutputMaker();
  OutputMaker(OutputMaker&& other) noexcept;
  OutputMaker& operator=(OutputMaker&&) = delete;

  /// A new reference, or null with a Python error set.
  PyObject* make(const Torch& torch, const dlpack::Device& device);

 private:
  /// {"dtype": ..., "device": ...} for a device; borrowed, made once.
  PyObject* options(const Torch& torch, const dlpack::Device& device);

  dlpack::DataType type_;
  std::vector<std::int64_t> shape_;
  bool column_major_;
  PyObject* arguments_ = nullptr;   // (shape, strides)
  std::vector<PyObject*> options_;  // by device id
};

}  // namespace pyptx::python
