// SPDX-License-Identifier: Apache-2.0
//
// The tensors of one call of an entry: inputs read, outputs taken or made, and what the caller
// gets. It knows addresses and objects; the entry launches.
#pragma once

#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "call/numpy.h"
#include "call/table.h"
#include "torch/torch.h"

namespace pyptx::python {

class CallTensors {
 public:
  CallTensors() = default;
  CallTensors(const CallTensors&) = delete;
  CallTensors& operator=(const CallTensors&) = delete;
  ~CallTensors();

  /// False, with no error set, when an argument is not a tensor that can be read directly; None
  /// stands for one that is left out.
  bool read_inputs(PyObject* const* args, std::size_t count);
  /// The same of tensors that autograd wants to know of, after read_inputs() has refused them.
  bool read_recorded(PyObject* const* args, std::size_t count);
  /// The same where the arguments are NumPy's arrays.
  bool read_arrays(PyObject* const* args, std::size_t count);
  /// What was read, as a table looks for it.
  GivenTensors given(bool with_outputs) const {
    GivenTensors found{{views_.data(), input_count_}, absent_, std::nullopt};
    if (with_outputs) found.outputs = {views_.data() + input_count_, output_count_};
    return found;
  }

  /// Reads the caller's output tensors: one, or a tuple or list of them. False as above.
  bool read_outputs(PyObject* out);
  /// Whether two of the outputs and in-out tensors share memory.
  bool outputs_overlap(const Specialisation& specialisation) const;
  /// Whether what the kernel writes may be written: the outputs that were given, and inputs that it
  /// writes.
  bool may_write(const Specialisation& specialisation) const {
    const std::size_t written = specialisation.written_inputs();
    return numpy_ == nullptr ||
           numpy_->are_writable(input_count_ - written, written + output_count_);
  }

  /// Makes the outputs without the interpreter where torch can, so that one release of it spans
  /// allocation and launch. False when it cannot; then make_objects() does, or says why not.
  bool make_tensors(const Specialisation& specialisation);
  bool can_make_tensors() const { return numpy_ == nullptr && torch_->can_make(device()); }
  /// Makes the outputs as objects. False with a Python error set, or with none where torch, under a
  /// transform, makes tensors that have no memory of their own.
  bool make_objects(Specialisation& specialisation);

  /// Tells autograd that the taken outputs were written. False with a Python error set.
  bool mark_written() const {
    return numpy_ != nullptr || torch_->mark_written(outputs_.data(), output_count_);
  }
  /// The same for the inputs that the kernel writes: the last `written` of `count` arguments.
  bool mark_inputs_written(PyObject* const* args, std::size_t count, std::size_t written) const {
    return written == 0 || numpy_ != nullptr ||
           torch_->mark_written(args + (count - written), written);
  }

  /// The outputs as the caller gets them: None, one, or a tuple. Null with a Python error set.
  PyObject* result();

  const Torch& torch() const { return *torch_; }
  const dlpack::Device& device() const { return views_[0].device; }
  std::size_t input_count() const { return input_count_; }
  std::size_t count() const { return input_count_ + output_count_; }
  /// The address of a tensor, inputs first.
  std::uint64_t address(std::size_t index) const { return views_[index].address(); }

 private:
  bool read_each(PyObject* const* args, std::size_t count);
  bool read_one(PyObject* object, ReadTensor& out) {
    return numpy_ != nullptr ? numpy_->read(object, out) : torch_->read(object, grad_, out);
  }
  PyObject* make_object(Specialisation& specialisation, std::size_t index);
  bool wrap_made();

  const Torch* torch_ = nullptr;        // null: without torch, or not asked
  std::unique_ptr<NumpyArrays> numpy_;  // null: the tensors are torch's
  bool grad_ = false;
  std::uint64_t absent_ = 0;
  std::size_t input_count_ = 0;
  std::size_t output_count_ = 0;
  std::size_t made_count_ = 0;  // of the outputs, those that are no objects yet
  // Elements beyond the counts hold nothing.
  std::array<ReadTensor, kMaxTensors> views_;
  std::array<PyObject*, kMaxTensors> outputs_;  // owned references
  std::array<MadeTensor, kMaxTensors> made_;
};

}  // namespace pyptx::python
