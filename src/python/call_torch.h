// SPDX-License-Identifier: Apache-2.0
//
// torch as the call path sees it: which objects it may read directly, how to read them, where the
// work goes, how an output is made. Everything is found at run time in the imported torch, once;
// without torch there is no bridge and every call takes the slow path. No torch header is used.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pyptx/interop/dlpack.h"
#include "pyptx/interop/torch_shim.h"

namespace pyptx::python {

namespace dlpack = interop::dlpack;

class Torch {
 public:
  /// The bridge if load() has succeeded in this process, else null. Never fails.
  static const Torch* loaded() { return instance_; }
  /// Imports torch and finds what is needed. Null with a Python error set.
  static const Torch* load();

  /// Whether something would want to see this call that a direct launch would hide it from: a
  /// dispatch or function mode, forward-mode differentiation.
  bool is_watched() const;
  bool grad_enabled() const;

  /// Reads `object` if it is exactly a Tensor or Parameter with memory of its own, of which
  /// autograd wants to know nothing (`grad`: what grad_enabled() said). Never leaves an error set.
  bool read(PyObject* object, bool grad, dlpack::Tensor& out) const;

  /// Tells autograd that these tensors were written, so that a graph which saved one of them
  /// refuses to go backward. False with a Python error set.
  bool mark_written(PyObject* const* tensors, std::size_t count) const;

  /// torch's current stream on a device; null for the default stream. False with no error set.
  bool current_stream(const dlpack::Device& device, void** out) const;

  const dlpack::ExchangeApi& api() const { return *api_; }
  PyObject* module() const { return module_; }
  PyObject* empty_strided() const { return empty_strided_; }
  PyObject* empty_like() const { return empty_like_; }

 private:
  Torch() = default;
  bool find();
  bool find_types();
  bool find_getters();

  static const Torch* instance_;

  PyObject* module_ = nullptr;
  PyTypeObject* tensor_ = nullptr;
  PyTypeObject* parameter_ = nullptr;
  const dlpack::ExchangeApi* api_ = nullptr;
  interop::TorchShim shim_;
  PyGetSetDef* requires_grad_ = nullptr;
  PyCFunction is_neg_ = nullptr;
  PyObject* is_grad_enabled_ = nullptr;
  PyObject* increment_version_ = nullptr;
  PyObject* dispatch_depth_ = nullptr;
  PyObject* function_depth_ = nullptr;
  PyObject* forward_ad_globals_ = nullptr;
  PyObject* level_name_ = nullptr;
  PyObject* empty_strided_ = nullptr;
  PyObject* empty_like_ = nullptr;
};

/// Makes the tensors of one output: dense, uninitialised, owned by torch's allocator.
class OutputMaker {
 public:
  /// How torch is asked. Strided: torch.empty_strided, or torch.empty_like where an input has the
  /// same shape and type; the result is an ordinary tensor in every respect. Exchange: the C
  /// exchange API's allocator and importer.
  enum class Source : std::uint8_t { Strided, Exchange };

  OutputMaker(dlpack::DataType type, std::vector<std::int64_t> shape, int like_input);
  ~OutputMaker();
  OutputMaker(OutputMaker&& other) noexcept;
  OutputMaker& operator=(OutputMaker&&) = delete;

  /// A new reference, or null with a Python error set. `args` are the call's inputs.
  PyObject* make(const Torch& torch, Source source, const dlpack::Device& device,
                 PyObject* const* args);

 private:
  PyObject* make_strided(const Torch& torch, const dlpack::Device& device);
  PyObject* make_exchanged(const Torch& torch, const dlpack::Device& device);
  /// {"dtype": ..., "device": ...} for a device; borrowed, made once.
  PyObject* options(const Torch& torch, const dlpack::Device& device);

  dlpack::DataType type_;
  std::vector<std::int64_t> shape_;
  int like_input_;                  // -1: none
  PyObject* arguments_ = nullptr;   // (shape, strides)
  std::vector<PyObject*> options_;  // by device id
};

}  // namespace pyptx::python
