// SPDX-License-Identifier: Apache-2.0
//
// Learning and using the layout of torch's tensors (see the header).
#include "torch/layout.h"

#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "pyptx/driver/device.h"
#include "pyptx/support/concat.h"

namespace pyptx::python {
namespace {

using support::concat;

/// A call of pyptx._torch.samples; a new reference, or null with the error cleared.
PyObject* make_samples(const char* function, const char* device) {
  PyObject* module = PyImport_ImportModule("pyptx._torch.samples");
  PyObject* made = nullptr;
  if (module != nullptr) {
    made = device == nullptr ? PyObject_CallMethod(module, function, nullptr)
                             : PyObject_CallMethod(module, function, "s", device);
  }
  Py_XDECREF(module);
  if (made == nullptr) PyErr_Clear();
  if (made != nullptr && PyList_CheckExact(made) != 0) return made;
  Py_XDECREF(made);
  return nullptr;
}

template <typename T = std::uint64_t>
T load(const void* base, std::size_t offset) {
  T value{};
  std::memcpy(&value, static_cast<const char*>(base) + offset, sizeof value);
  return value;
}

bool same_view(const dlpack::Tensor& a, const dlpack::Tensor& b) {
  if (a.ndim != b.ndim || !(a.dtype == b.dtype) || !(a.device == b.device)) return false;
  const auto* begin = static_cast<const char*>(b.data) + b.byte_offset;
  return static_cast<const char*>(a.data) + a.byte_offset == begin &&
         std::equal(a.shape, a.shape + a.ndim, b.shape) &&
         std::equal(a.strides, a.strides + a.ndim, b.strides);
}

/// Bytes that may be read at something that torch has allocated.
std::size_t room_at(std::uint64_t address) {
  return malloc_usable_size(reinterpret_cast<void*>(address));
}

/// Where a value may lie: the places that fit every sample so far.
class Places {
 public:
  /// Drops the places among `room` bytes, `step` apart, that do not fit.
  template <typename Fits>
  void narrow(std::size_t room, std::size_t step, Fits&& fits) {
    if (is_new_) {
      for (std::size_t at = step; at + step <= room; at += step) places_.push_back(at);
    }
    is_new_ = false;
    std::erase_if(places_, [&](std::size_t at) { return at + step > room || !fits(at); });
  }
  /// The one that is left, or 0.
  std::size_t only() const { return places_.size() == 1 ? places_.front() : 0; }

 private:
  bool is_new_ = true;
  std::vector<std::size_t> places_;
};

}  // namespace

/// One row of pyptx._torch.samples, as numbers.
struct TorchLayout::Sample {
  PyObject* object = nullptr;  // borrowed from the list
  std::uint64_t impl = 0;
  std::uint64_t keys = 0;
  std::uint64_t storage = 0;
  bool requires_grad = false;
  bool is_inference = false;
  bool is_view = false;

  static bool read(PyObject* row, Sample& out) {
    int requires_grad = 0;
    int is_inference = 0;
    int is_view = 0;
    unsigned long long impl = 0;
    unsigned long long keys = 0;
    unsigned long long storage = 0;
    if (PyTuple_CheckExact(row) == 0 ||
        PyArg_ParseTuple(row, "OKKppKp", &out.object, &impl, &keys, &requires_grad, &is_inference,
                         &storage, &is_view) == 0) {
      PyErr_Clear();
      return false;
    }
    out.impl = impl;
    out.keys = keys;
    out.storage = storage;
    out.requires_grad = requires_grad != 0;
    out.is_inference = is_inference != 0;
    out.is_view = is_view != 0;
    return impl != 0;
  }

  std::size_t object_size() const {
    return static_cast<std::size_t>(Py_TYPE(object)->tp_basicsize);
  }
  const char* implementation() const { return reinterpret_cast<const char*>(impl); }
  std::size_t room() const { return room_at(impl); }
};

bool TorchLayout::refuse(std::string why) {
  why_ = std::move(why);
  return false;
}

void TorchLayout::learn(const TorchShim& shim, const dlpack::ExchangeApi& api) {
  const auto abi = interop::torch::Abi::find();
  if (!abi || shim.requires_grad == nullptr) {
    refuse(abi ? "this torch does not tell of gradients" : abi.error().message());
    return;
  }
  abi_ = *abi;
  learn_dtypes();
  PyObject* plain = make_samples("plain", "cpu");
  PyObject* peculiar = make_samples("peculiar", nullptr);
  if (plain == nullptr || peculiar == nullptr) {
    refuse("sample tensors could not be made");
  } else if (learn_offsets(plain) && learn_offsets(peculiar) && learn_kinds(shim, api, plain)) {
    why_.clear();
    Sample sample;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(peculiar); ++i) {
      if (Sample::read(PyList_GET_ITEM(peculiar, i), sample) &&
          kind(sample.implementation()) != nullptr) {
        refuse("a peculiar tensor has the dispatch keys of a plain one");
      }
    }
    learn_fields(api, plain);
    learn_storage(plain);
    learn_autograd(plain);
    // Once more, now by what was learnt.
    if (known()) learn_kinds(shim, api, plain);
  }
  Py_XDECREF(plain);
  Py_XDECREF(peculiar);
}

void TorchLayout::learn_cuda(const TorchShim& shim, const dlpack::ExchangeApi& api) {
  if (!known() || knows_cuda_) return;
  PyObject* plain = make_samples("plain", "cuda");
  if (plain == nullptr) return;
  const TorchLayout before = *this;
  if (learn_offsets(plain) && learn_kinds(shim, api, plain)) {
    knows_cuda_ = true;
    const auto devices = driver::device_count();
    one_cuda_device_ = devices && *devices == 1;
  } else {
    *this = before;  // CPU tensors are read as before
  }
  Py_DECREF(plain);
}

void TorchLayout::learn_dtypes() {
  for (const dlpack::ElementType& element : dlpack::element_types()) {
    const std::int32_t number = abi_->dtype_of(element);
    if (number < 0 || static_cast<std::size_t>(number) >= kMaxDtypes) continue;
    dtypes_[static_cast<std::size_t>(number)] = element.type;
  }
}

/// Finds the two offsets that fit every sample, or confirms those that are known.
bool TorchLayout::learn_offsets(PyObject* samples) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(samples); ++i) {
    Sample sample;
    if (!Sample::read(PyList_GET_ITEM(samples, i), sample)) return refuse("a sample is malformed");
    const std::size_t size = sample.object_size();
    std::size_t at = tensor_offset_ != 0 ? tensor_offset_ : sizeof(PyObject);
    while (at + 8 <= size && load(sample.object, at) != sample.impl) at += 8;
    if (at + 8 > size || (tensor_offset_ != 0 && at != tensor_offset_)) {
      return refuse("the place of a tensor in its object was not found");
    }
    tensor_offset_ = at;

    const char* impl = sample.implementation();
    const std::size_t room = sample.room();
    at = keys_offset_ != 0 ? keys_offset_ : 8;
    while (at + 8 <= room && load(impl, at) != sample.keys) at += 8;
    if (at + 8 > room || (keys_offset_ != 0 && at != keys_offset_)) {
      return refuse("the place of a tensor's dispatch keys was not found");
    }
    keys_offset_ = at;
  }
  return true;
}

/// Admits the keys of the samples, and reads each in both ways.
bool TorchLayout::learn_kinds(const TorchShim& shim, const dlpack::ExchangeApi& api,
                              PyObject* samples) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(samples); ++i) {
    Sample sample;
    dlpack::Tensor expected;
    ReadTensor direct;
    if (!Sample::read(PyList_GET_ITEM(samples, i), sample) ||
        api.view(sample.object, &expected) != 0) {
      PyErr_Clear();
      return refuse("the exchange API refuses a plain tensor");
    }
    if (kind(sample.implementation()) == nullptr) {
      if (kind_count_ == kMaxKinds) return refuse("plain tensors have too many sets of keys");
      kinds_[kind_count_++] = {sample.keys, expected.device.type, !sample.is_inference};
    }
    std::int64_t room = 0;
    if (abi_->room(tensor(sample.object), dlpack::element_bytes(expected.dtype), &room) != 0 ||
        !read(shim, sample.object, /*grad=*/false, direct) || !same_view(direct, expected) ||
        direct.room != room ||
        requires_grad(shim, sample.implementation()) != sample.requires_grad ||
        is_versioned(sample.object) == sample.is_inference) {
      return refuse(concat("sample ", i, " is read differently by the exchange API"));
    }
  }
  return true;
}

/// Finds shape, strides and element type inside the implementation, where they lie there: the
/// rank, room for kInlineRank sizes and as many strides, in this order; the type, a 16-bit number.
void TorchLayout::learn_fields(const dlpack::ExchangeApi& api, PyObject* samples) {
  Places dtypes;
  std::size_t sizes = 0;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(samples); ++i) {
    Sample sample;
    dlpack::Tensor view;
    if (!Sample::read(PyList_GET_ITEM(samples, i), sample) || api.view(sample.object, &view) != 0) {
      PyErr_Clear();
      return;
    }
    const char* impl = sample.implementation();
    const auto at = static_cast<std::size_t>(reinterpret_cast<const char*>(view.shape) - impl);
    const auto number = static_cast<std::uint16_t>(dtype_number(view.dtype));
    if (i == 0) sizes = at;
    if (at != sizes || at < 16 || at + 16 * kInlineRank > sample.room() ||
        view.strides != view.shape + kInlineRank || load<std::int64_t>(impl, at - 8) != view.ndim) {
      return;
    }
    dtypes.narrow(sample.room(), sizeof number,
                  [&](std::size_t o) { return load<std::uint16_t>(impl, o) == number; });
  }
  if (dtypes.only() == 0) return;
  sizes_offset_ = sizes;
  strides_offset_ = sizes + 8 * kInlineRank;
  dtype_offset_ = dtypes.only();
}

/// Finds the pointer to the storage, the storage's size in it, and where in it the tensor starts.
void TorchLayout::learn_storage(PyObject* samples) {
  Places storages;
  Places sizes;
  Places starts;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(samples); ++i) {
    Sample sample;
    std::int64_t size = 0;
    std::int64_t start = 0;
    if (!Sample::read(PyList_GET_ITEM(samples, i), sample) || sample.storage == 0 ||
        abi_->storage_size(tensor(sample.object), &size) != 0 ||
        abi_->storage_offset(tensor(sample.object), &start) != 0) {
      return;
    }
    const char* impl = sample.implementation();
    const auto* storage = reinterpret_cast<const char*>(sample.storage);
    storages.narrow(sample.room(), 8,
                    [&](std::size_t o) { return load(impl, o) == sample.storage; });
    starts.narrow(sample.room(), 8,
                  [&](std::size_t o) { return load<std::int64_t>(impl, o) == start; });
    sizes.narrow(room_at(sample.storage), 8,
                 [&](std::size_t o) { return load<std::int64_t>(storage, o) == size; });
  }
  if (storages.only() == 0 || sizes.only() == 0 || starts.only() == 0) return;
  storage_offset_ = storages.only();
  storage_size_offset_ = sizes.only();
  start_offset_ = starts.only();
}

/// Finds what autograd knows of a tensor: null only where it requires no gradient. The reverse does
/// not hold, since autograd knows a view's base.
void TorchLayout::learn_autograd(PyObject* samples) {
  Places places;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(samples); ++i) {
    Sample sample;
    if (!Sample::read(PyList_GET_ITEM(samples, i), sample)) return;
    places.narrow(sample.room(), 8, [&](std::size_t o) {
      const bool is_known = load(sample.implementation(), o) != 0;
      return is_known == sample.requires_grad || (is_known && sample.is_view);
    });
  }
  autograd_offset_ = places.only();
}

bool TorchLayout::is_versioned(PyObject* object) const {
  const Kind* found = kind(implementation(object));
  return found != nullptr && found->versioned;
}

bool TorchLayout::read_shape(const char* impl, interop::torch::TensorHandle self,
                             dlpack::Tensor& out) const {
  std::int64_t rank = 0;
  std::int32_t dtype = 0;
  if (sizes_offset_ != 0 && load<std::int64_t>(impl, sizes_offset_ - 8) <= kInlineRank) {
    rank = load<std::int64_t>(impl, sizes_offset_ - 8);
    dtype = load<std::uint16_t>(impl, dtype_offset_);
    // A view's arrays are not written through.
    char* writable = const_cast<char*>(impl);
    out.shape = reinterpret_cast<std::int64_t*>(writable + sizes_offset_);
    out.strides = reinterpret_cast<std::int64_t*>(writable + strides_offset_);
  } else if ((abi_->dim(self, &rank) | abi_->sizes(self, &out.shape) |
              abi_->strides(self, &out.strides) | abi_->dtype(self, &dtype)) != 0) {
    return false;
  }
  if (dtype < 0 || static_cast<std::size_t>(dtype) >= kMaxDtypes) return false;
  out.ndim = static_cast<std::int32_t>(rank);
  out.dtype = dtypes_[static_cast<std::size_t>(dtype)];
  return out.dtype.bits != 0;
}

bool TorchLayout::read_room(const char* impl, interop::torch::TensorHandle self,
                            ReadTensor& out) const {
  const std::int64_t element = dlpack::element_bytes(out.dtype);
  if (storage_offset_ == 0) return abi_->room(self, element, &out.room) == 0;
  const auto* storage = reinterpret_cast<const char*>(load(impl, storage_offset_));
  if (storage == nullptr) return false;
  out.room = load<std::int64_t>(storage, storage_size_offset_) -
             load<std::int64_t>(impl, start_offset_) * element;
  return true;
}

bool TorchLayout::read(const TorchShim& shim, PyObject* object, bool grad, ReadTensor& out) const {
  const char* impl = implementation(object);
  const Kind* found = kind(impl);
  if (found == nullptr || (grad && requires_grad(shim, impl))) return false;
  const interop::torch::TensorHandle self = tensor(object);
  out.device = {found->device, 0};
  out.byte_offset = 0;
  return abi_->data(self, &out.data) == 0 &&
         (found->device == dlpack::DeviceType::Cpu || one_cuda_device_ ||
          abi_->device_index(self, &out.device.id) == 0) &&
         read_shape(impl, self, out) && read_room(impl, self, out);
}

bool TorchLayout::requires_grad(const TorchShim& shim, const char* impl) const {
  if (autograd_offset_ != 0 && load(impl, autograd_offset_) == 0) return false;
  return shim.requires_grad(impl);
}

int TorchLayout::dtype_number(dlpack::DataType type) const {
  const auto* found = std::find(dtypes_.begin(), dtypes_.end(), type);
  return found == dtypes_.end() ? -1 : static_cast<int>(found - dtypes_.begin());
}

}  // namespace pyptx::python
