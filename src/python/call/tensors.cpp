// SPDX-License-Identifier: Apache-2.0
//
// Tensors of a call (see the header).
#include "call/tensors.h"

namespace pyptx::python {

CallTensors::~CallTensors() {
  // A call that failed after making its outputs: only an object lets a tensor go.
  if (made_count_ != 0) {
    PyObject* type = nullptr;
    PyObject* value = nullptr;
    PyObject* traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    if (!wrap_made()) PyErr_Clear();
    PyErr_Restore(type, value, traceback);
  }
  for (std::size_t i = 0; i < output_count_; ++i) Py_XDECREF(outputs_[i]);
}

bool CallTensors::read_inputs(PyObject* const* args, std::size_t count) {
  if (count > kMaxTensors) return false;
  torch_ = Torch::loaded();
  if (torch_ == nullptr || torch_->is_watched()) return false;
  grad_ = torch_->grad_enabled();
  // All at once: a launch has pushed them out of the nearest cache.
  for (std::size_t i = 0; i < count; ++i) torch_->fetch(args[i]);
  return read_each(args, count);
}

bool CallTensors::read_recorded(PyObject* const* args, std::size_t count) {
  if (!grad_) return false;  // there was another reason
  grad_ = false;
  return read_each(args, count);
}

bool CallTensors::read_arrays(PyObject* const* args, std::size_t count) {
  if (count == 0 || count > kMaxTensors || !NumpyArrays::is_array(args[0])) return false;
  numpy_ = std::make_unique<NumpyArrays>();
  return read_each(args, count);
}

bool CallTensors::read_each(PyObject* const* args, std::size_t count) {
  std::size_t read = 0;
  absent_ = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (args[i] == Py_None) {
      absent_ |= std::uint64_t{1} << i;
    } else if (!read_one(args[i], views_[read++])) {
      return false;
    }
  }
  input_count_ = read;
  return true;
}

bool CallTensors::read_outputs(PyObject* out) {
  PyObject* single[] = {out};
  PyObject* const* items = single;
  Py_ssize_t count = 1;
  if (PyTuple_CheckExact(out) || PyList_CheckExact(out)) {
    items = PySequence_Fast_ITEMS(out);
    count = PySequence_Fast_GET_SIZE(out);
  }
  if (static_cast<std::size_t>(count) > kMaxTensors - input_count_) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!read_one(items[i], views_[input_count_ + output_count_])) return false;
    outputs_[output_count_++] = Py_NewRef(items[i]);
  }
  return true;
}

bool CallTensors::outputs_overlap(const Specialisation& specialisation) const {
  const auto rows = [&](std::size_t tensor) -> const interop::ByteRows& {
    return tensor < input_count_ ? specialisation.inputs[tensor].rows
                                 : specialisation.outputs[tensor - input_count_].rows;
  };
  const std::size_t first = input_count_ - specialisation.inouts;
  for (std::size_t i = first + 1; i < count(); ++i) {
    for (std::size_t j = first; j < i; ++j) {
      if (interop::share_memory(address(i), rows(i), address(j), rows(j))) return true;
    }
  }
  return false;
}

bool CallTensors::make_tensors(const Specialisation& specialisation) {
  for (const TensorShape& output : specialisation.outputs) {
    dlpack::Tensor& view = views_[input_count_ + output_count_];
    view.byte_offset = 0;
    if (!torch_->make(device(), output.type, output.shape, made_[output_count_], &view.data)) {
      return false;
    }
    outputs_[output_count_++] = nullptr;
    ++made_count_;
  }
  return true;
}

bool CallTensors::make_objects(Specialisation& specialisation) {
  // Those that could be made without the interpreter are kept.
  for (std::size_t i = output_count_; i < specialisation.makers.size(); ++i) {
    PyObject* made = make_object(specialisation, i);
    if (made == nullptr) return false;
    outputs_[output_count_++] = made;
    grad_ = false;
    if (!read_one(made, views_[input_count_ + i])) return false;
  }
  return true;
}

PyObject* CallTensors::make_object(Specialisation& specialisation, std::size_t index) {
  return numpy_ != nullptr ? make_numpy_array(specialisation.outputs[index])
                           : specialisation.makers[index].make(*torch_, device());
}

/// Turns the tensors that are no objects yet into objects. False with a Python error set.
bool CallTensors::wrap_made() {
  bool done = true;
  for (std::size_t i = 0; i < output_count_ && made_count_ != 0; ++i) {
    if (outputs_[i] != nullptr) continue;
    outputs_[i] = torch_->wrap(made_[i]);
    done = done && outputs_[i] != nullptr;
    --made_count_;
  }
  return done;
}

PyObject* CallTensors::result() {
  if (!wrap_made()) return nullptr;
  if (output_count_ == 0) Py_RETURN_NONE;
  if (output_count_ == 1) return Py_NewRef(outputs_[0]);
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(output_count_));
  for (std::size_t i = 0; tuple != nullptr && i < output_count_; ++i) {
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), Py_NewRef(outputs_[i]));
  }
  return tuple;
}

}  // namespace pyptx::python
