// SPDX-License-Identifier: Apache-2.0
//
// pyptx::launch and pyptx::launch_out (see the header). Every check is made before an output is
// allocated. torch takes an operator's failure as a C++ exception and nothing else, so these two
// functions, which nobody but torch calls, throw.
#include "pyptx/interop/torch_op.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pyptx/diag/render.h"
#include "pyptx/interop/graph_kernel.h"
#include "pyptx/interop/run.h"
#include "pyptx/interop/torch_abi.h"
#include "pyptx/support/concat.h"
#include "torch_values.h"

namespace pyptx::interop::torch {
namespace {

using support::concat;

/// Addresses of the tensors of one call, inputs then outputs, or bits of its scalars.
struct Words {
  std::array<std::uint64_t, kMaxTensors> values;
  std::size_t count = 0;
  void add(std::uint64_t value) { values[count++] = value; }
  std::span<const std::uint64_t> view() const { return {values.data(), count}; }
};

/// Where a call runs: the device of its first tensor.
struct TensorDevice {
  std::int32_t type = 0;
  std::int32_t index = 0;
  bool operator==(const TensorDevice&) const = default;
};

TensorDevice device_of(const Abi& abi, TensorHandle tensor) {
  TensorDevice device;
  check(abi.device_type(tensor, &device.type));
  check(abi.device_index(tensor, &device.index));
  return device;
}

/// One call of a kernel, from checks to launch.
class Call {
 public:
  Call(const Abi& abi, const GraphKernel& kernel)
      : abi_(abi), kernel_(kernel), inputs_(kernel.saved().inputs.size()) {
    const std::size_t count = kernel.saved().tensor_count() + kernel.saved().scalars.size();
    if (count > kMaxTensors) {
      refuse("the number of tensors", concat("be at most ", kMaxTensors), std::to_string(count));
    }
  }

  /// The kernel's inputs and, behind them, a tensor for each scalar that the call brings.
  void take_inputs(const Tensors& inputs) {
    const auto& scalars = kernel_.saved().scalars;
    check_count("the number of inputs", inputs_ + scalars.size(), inputs.size());
    take(inputs, 0, inputs_);
    for (std::size_t i = 0; i < scalars.size(); ++i) {
      const auto bits =
          argument_bits(scalars[i], number_of(scalars[i], inputs[inputs_ + i]), entry());
      if (!bits) raise(bits.error());
      scalars_.add(*bits);
    }
  }
  void take_outputs(const Tensors& outs) {
    const auto& outputs = kernel_.saved().outputs;
    check_count("the number of outputs", outputs.size(), outs.size());
    take(outs, inputs_, outputs.size());
    const std::uint64_t* addresses = memory_.values.data() + inputs_;
    for (std::size_t i = 1; i < outputs.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (dlpack::overlap(addresses[i], outputs[i].bytes, addresses[j], outputs[j].bytes)) {
          refuse(kernel_.label(inputs_ + i), "share no memory with another output",
                 "memory of " + kernel_.label(inputs_ + j));
        }
      }
    }
  }

  Tensor make_output(std::size_t index) {
    if (memory_.count == 0) refuse("the number of inputs", "be at least 1", "0");
    const auto& shape = kernel_.saved().outputs[index].shape;
    const std::size_t tensor = inputs_ + index;
    const std::int32_t dtype = abi_.dtype_of(kernel_.element(tensor));
    if (dtype == Abi::kNoDtype) {
      refuse(kernel_.label(tensor), "have a dtype of torch",
             std::string(kernel_.element(tensor).name));
    }
    TensorHandle made = nullptr;
    check(abi_.empty_strided(static_cast<std::int64_t>(shape.size()), shape.data(),
                             kernel_.strides(tensor).data(), dtype, device_.type, device_.index,
                             &made));
    Tensor owned(abi_, made);
    void* data = nullptr;
    check(abi_.data(made, &data));
    memory_.add(address_of(data));
    return owned;
  }

  void run() {
    if (kernel_.saved().is_empty) return;
    if (device_.type == abi_.cpu_device_type()) {
      emulate_on(memory_.view());
      return;
    }
    void* stream = nullptr;
    const auto current_stream = Abi::current_cuda_stream();
    if (current_stream == nullptr) {
      raise(diag::Diagnostic(diag::Kind::TorchAbi, {"it has no CUDA streams"}));
    }
    check(current_stream(device_.index, &stream));
    KernelImage& image = *kernel_.saved().image;
    const auto launched = launch(image, device_.index, stream,
                                 {.pointers = memory_.view(), .scalars = scalars_.view()});
    if (!launched) raise(launched.error(), &image);
  }

 private:
  [[noreturn]] void refuse(std::string what, std::string expected, std::string got) const {
    raise(kernel_.mismatch(std::move(what), std::move(expected), std::move(got)));
  }

  const std::string& entry() const { return kernel_.saved().image->plan().entry; }

  void check_count(const char* what, std::size_t expected, std::size_t got) const {
    if (got != expected) refuse(what, concat("be ", expected), std::to_string(got));
  }

  /// Programs pass numbers as CPU tensors without dimensions: torch recompiles for every value of
  /// an argument that is a float.
  Number number_of(const ScalarParameter& scalar, TensorHandle tensor) const {
    const TensorView view = view_of(tensor);
    const std::string_view name = view.element == nullptr ? "" : view.element->name;
    const bool is_real = name == "f64";
    if ((!is_real && name != "s64") || !view.shape.empty() || view.room < 8 ||
        device_of(abi_, tensor).type != abi_.cpu_device_type()) {
      refuse(concat("the scalar '", scalar.name, "'"),
             "be a CPU tensor of float64 or int64 without dimensions", "another tensor");
    }
    const void* data = reinterpret_cast<const void*>(view.address);
    if (is_real) {
      double real = 0;
      std::memcpy(&real, data, sizeof(real));
      return real;
    }
    std::int64_t integer = 0;
    std::memcpy(&integer, data, sizeof(integer));
    return integer;
  }

  void take(const Tensors& tensors, std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const TensorDevice device = device_of(abi_, tensors[i]);
      if (memory_.count == 0) set_device(device);
      const TensorView view = view_of(tensors[i]);
      if (const auto fits = kernel_.check(first + i, view); !fits) raise(fits.error());
      if (!(device == device_)) {
        refuse(kernel_.label(first + i), "be on the device of the first tensor",
               concat("device ", device.index, " of type ", device.type, " beside device ",
                      device_.index, " of type ", device_.type));
      }
      memory_.add(view.address);
    }
  }

  void set_device(const TensorDevice& device) {
    if (device.type != abi_.cpu_device_type() && device.type != abi_.cuda_device_type()) {
      refuse("the first tensor", "be on a CUDA device or the CPU",
             concat("one of device type ", device.type));
    }
    device_ = device;
  }

  TensorView view_of(TensorHandle tensor) const {
    std::int32_t dtype = 0;
    std::int64_t dim = 0;
    std::int64_t* sizes = nullptr;
    std::int64_t* strides = nullptr;
    void* data = nullptr;
    check(abi_.dtype(tensor, &dtype));
    check(abi_.dim(tensor, &dim));
    check(abi_.sizes(tensor, &sizes));
    check(abi_.strides(tensor, &strides));
    check(abi_.data(tensor, &data));
    const auto rank = static_cast<std::size_t>(dim);
    const dlpack::ElementType* element = abi_.element_of(dtype);
    std::int64_t room = 0;
    check(abi_.room(tensor, element == nullptr ? 1 : dlpack::element_bytes(element->type), &room));
    return {element, {sizes, rank}, {strides, rank}, address_of(data), room};
  }

  static std::uint64_t address_of(const void* data) {
    return reinterpret_cast<std::uintptr_t>(data);
  }

  void emulate_on(std::span<const std::uint64_t> addresses) const {
    std::array<HostTensor, kMaxTensors> tensors;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      tensors[i] = {addresses[i], kernel_.saved().tensor(i).bytes, kernel_.saved().is_written(i)};
    }
    KernelImage& image = *kernel_.saved().image;
    const auto report = emulate(image, {tensors.data(), addresses.size()}, {}, scalars_.view());
    if (!report) raise(report.error(), &image);
  }

  const Abi& abi_;
  const GraphKernel& kernel_;
  std::size_t inputs_;
  TensorDevice device_;
  Words memory_;
  Words scalars_;
};

/// The loaded torch's functions; set before the kernels below are registered.
const Abi* registered_abi = nullptr;

Shape shape_of(const Abi& abi, TensorHandle tensor) {
  std::int64_t dim = 0;
  std::int64_t* sizes = nullptr;
  check(abi.dim(tensor, &dim));
  check(abi.sizes(tensor, &sizes));
  return {sizes, sizes + dim};
}

/// The first `count` of these, or all where there are fewer.
std::vector<Shape> shapes_of(const Abi& abi, const Tensors& tensors, std::size_t count) {
  std::vector<Shape> out;
  for (std::size_t i = 0; i < std::min(count, tensors.size()); ++i) {
    out.push_back(shape_of(abi, tensors[i]));
  }
  return out;
}

/// The kernel of a text, for these tensors where it is one for any size.
std::shared_ptr<const GraphKernel> find_kernel(const Abi& abi, const String& text,
                                               const Tensors& inputs,
                                               const Tensors* outs = nullptr) {
  auto found = GraphKernels::instance().find(text.view());
  if (!found) raise(found.error());
  if (found->open == nullptr) return std::move(found->kernel);
  const Signature& signature = found->open->open().signature;
  std::optional<std::vector<Shape>> written;
  if (outs != nullptr) written = shapes_of(abi, *outs, outs->size());
  auto kernel = found->open->at(shapes_of(abi, inputs, signature.inputs.size()), written);
  if (!kernel) raise(kernel.error());
  return std::move(*kernel);
}

/// launch(Tensor[] inputs, str kernel) -> Tensor[]
void launch_kernel(StackValue* stack, std::uint64_t, std::uint64_t) {
  const Abi& abi = *registered_abi;
  const String text(abi, stack[1]);
  const Tensors inputs(abi, stack[0]);
  const auto kernel = find_kernel(abi, text, inputs);
  Call call(abi, *kernel);
  call.take_inputs(inputs);
  const std::size_t count = kernel->saved().outputs.size();
  List outputs = List::with_capacity(abi, count);
  for (std::size_t i = 0; i < count; ++i) outputs.push(call.make_output(i));
  call.run();
  stack[0] = outputs.release();
}

/// launch_one(Tensor[] inputs, str kernel) -> Tensor
void launch_one_kernel(StackValue* stack, std::uint64_t, std::uint64_t) {
  const Abi& abi = *registered_abi;
  const String text(abi, stack[1]);
  const Tensors inputs(abi, stack[0]);
  const auto kernel = find_kernel(abi, text, inputs);
  if (const std::size_t count = kernel->saved().outputs.size(); count != 1) {
    raise(kernel->mismatch("the number of outputs", "be 1", std::to_string(count)));
  }
  Call call(abi, *kernel);
  call.take_inputs(inputs);
  Tensor output = call.make_output(0);
  call.run();
  stack[0] = reinterpret_cast<StackValue>(output.release());
}

/// launch_out(Tensor[] inputs, Tensor(a!)[] outs, str kernel) -> ()
void launch_out_kernel(StackValue* stack, std::uint64_t, std::uint64_t) {
  const Abi& abi = *registered_abi;
  const String text(abi, stack[2]);
  const Tensors inputs(abi, stack[0]);
  const Tensors outs(abi, stack[1]);
  const auto kernel = find_kernel(abi, text, inputs, &outs);
  Call call(abi, *kernel);
  call.take_inputs(inputs);
  call.take_outputs(outs);
  call.run();
  for (std::size_t i = 0; i < outs.size() && abi.bump_version != nullptr; ++i) {
    abi.bump_version(*outs[i]);
  }
}

diag::Status refused(const char* what) {
  return diag::fail(diag::Kind::TorchAbi, {concat("it refused ", what)});
}

diag::Status define_operators(const Abi& abi) {
  LibraryHandle library = nullptr;  // kept: deleting it would take the operators away
  if (abi.library_init_fragment("pyptx", __FILE__, __LINE__, &library) != 0) {
    return refused("the library pyptx");
  }
  for (const char* schema : {kTorchLaunchSchema, kTorchLaunchOneSchema, kTorchLaunchOutSchema}) {
    if (abi.library_def(library, schema) != 0) return refused(schema);
  }
  return diag::success();
}

diag::Status implement_operators(const Abi& abi, const char* backend) {
  LibraryHandle library = nullptr;
  if (abi.library_init_impl("pyptx", backend, __FILE__, __LINE__, &library) != 0 ||
      abi.library_impl(library, "launch", launch_kernel, kAbiVersion) != 0 ||
      abi.library_impl(library, "launch_one", launch_one_kernel, kAbiVersion) != 0 ||
      abi.library_impl(library, "launch_out", launch_out_kernel, kAbiVersion) != 0) {
    return refused(backend);
  }
  return diag::success();
}

}  // namespace
}  // namespace pyptx::interop::torch

namespace pyptx::interop {

diag::Status register_torch_operators(bool define) {
  static std::mutex mutex;
  static bool is_done = false;
  const std::lock_guard lock(mutex);
  if (is_done) return diag::success();
  auto abi = torch::Abi::find();
  if (!abi) return abi.failure();
  if (define) {
    if (auto defined = torch::define_operators(**abi); !defined) return defined;
  }
  torch::registered_abi = *abi;
  for (const char* backend : {"CPU", "CUDA"}) {
    if (auto done = torch::implement_operators(**abi, backend); !done) return done;
  }
  is_done = true;
  return diag::success();
}

}  // namespace pyptx::interop
