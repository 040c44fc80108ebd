// SPDX-License-Identifier: Apache-2.0
//
// How the loaded torch lays out a tensor object, learnt from sample tensors whose properties are
// known, so that a call reads a tensor with a few loads and C calls. Nothing is assumed: where a
// place cannot be found, or a sample read this way differs from what torch says of it, there is no
// layout and tensors are read through the DLPack C exchange API.
//
// What makes reading safe is the set of dispatch keys. It differs for everything whose memory is
// not simply the tensor's elements: negated or conjugated views, sparse, quantised, meta and
// functional tensors, what torch.func wraps. Only sets seen on plain samples are taken.
#pragma once

#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "pyptx/interop/dlpack.h"
#include "pyptx/interop/expected.h"
#include "pyptx/interop/torch_abi.h"
#include "torch/shim.h"

namespace pyptx::python {

namespace dlpack = interop::dlpack;

using interop::ReadTensor;

class TorchLayout {
 public:
  /// Learns from pyptx._torch.samples. Never leaves an error set; known() tells the outcome.
  void learn(const TorchShim& shim, const dlpack::ExchangeApi& api);
  /// The same for tensors on CUDA devices; torch must have initialised CUDA.
  void learn_cuda(const TorchShim& shim, const dlpack::ExchangeApi& api);

  /// Nothing is to be learnt, for this reason.
  void forgo(std::string why) { why_ = std::move(why); }

  bool known() const { return why_.empty(); }
  bool knows_cuda() const { return knows_cuda_; }
  /// What was not as expected; "" when known.
  const std::string& why() const { return why_; }

  /// torch's C functions; not null when known.
  const interop::torch::Abi* abi() const { return abi_; }
  /// The at::Tensor in a tensor object.
  interop::torch::TensorHandle tensor(PyObject* object) const {
    return reinterpret_cast<interop::torch::TensorHandle>(reinterpret_cast<char*>(object) +
                                                          tensor_offset_);
  }
  /// Begins to bring what read() reads of a tensor object's implementation into the nearest cache.
  void fetch(PyObject* object) const {
    const char* impl = implementation(object);
    for (const std::size_t line : {0, 64, 128}) __builtin_prefetch(impl + line);
  }
  /// Reads a tensor object that is plain. False for every other, and, with `grad`, for one that
  /// requires gradients.
  bool read(const TorchShim& shim, PyObject* object, bool grad, ReadTensor& out) const;
  /// Whether a tensor was made outside of inference mode, so that it counts its versions.
  bool is_versioned(PyObject* object) const;

  /// torch's number of an element type; -1: not known.
  int dtype_number(dlpack::DataType type) const;

 private:
  struct Sample;
  /// What tensors with one set of dispatch keys are.
  struct Kind {
    std::uint64_t keys = 0;
    dlpack::DeviceType device = dlpack::DeviceType::Cpu;
    bool versioned = false;
  };

  void learn_dtypes();
  bool learn_offsets(PyObject* samples);
  bool learn_kinds(const TorchShim& shim, const dlpack::ExchangeApi& api, PyObject* samples);
  void learn_fields(const dlpack::ExchangeApi& api, PyObject* samples);
  void learn_storage(PyObject* samples);
  void learn_autograd(PyObject* samples);
  bool refuse(std::string why);

  const char* implementation(PyObject* object) const {
    return *reinterpret_cast<const char* const*>(tensor(object));
  }
  /// The kind of a plain tensor, or null.
  const Kind* kind(const char* impl) const {
    const auto keys = *reinterpret_cast<const std::uint64_t*>(impl + keys_offset_);
    for (std::size_t i = 0; i < kind_count_; ++i) {
      if (kinds_[i].keys == keys) return &kinds_[i];
    }
    return nullptr;
  }
  bool requires_grad(const TorchShim& shim, const char* impl) const;
  bool read_shape(const char* impl, interop::torch::TensorHandle self, dlpack::Tensor& out) const;
  bool read_room(const char* impl, interop::torch::TensorHandle self, ReadTensor& out) const;

  static constexpr std::size_t kMaxKinds = 4;  // with and without autograd, CPU and CUDA
  static constexpr std::size_t kMaxDtypes = 64;
  static constexpr std::int64_t kInlineRank = 5;  // of tensors that hold their own shape
  std::string why_ = "nothing was learnt yet";
  const interop::torch::Abi* abi_ = nullptr;
  std::size_t tensor_offset_ = 0;  // in the object
  std::size_t keys_offset_ = 0;    // in the implementation, as those below
  std::size_t sizes_offset_ = 0;   // 0: shape and type are asked for
  std::size_t strides_offset_ = 0;
  std::size_t dtype_offset_ = 0;
  std::size_t storage_offset_ = 0;       // of the pointer to the storage; 0: its size is asked for
  std::size_t storage_size_offset_ = 0;  // in the storage
  std::size_t start_offset_ = 0;         // of the number of elements before the first
  std::size_t autograd_offset_ = 0;      // 0: every tensor is asked
  std::array<Kind, kMaxKinds> kinds_;
  std::size_t kind_count_ = 0;
  bool knows_cuda_ = false;
  bool one_cuda_device_ = false;                       // whose index need not be asked for
  std::array<dlpack::DataType, kMaxDtypes> dtypes_{};  // by torch's number; bits 0: not known
};

}  // namespace pyptx::python
