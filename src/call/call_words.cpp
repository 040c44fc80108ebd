// SPDX-License-Identifier: Apache-2.0
#include "call_words.h"

#include <algorithm>

#include "order.h"
#include "pyptx/interop/strides.h"
#include "pyptx/support/concat.h"

namespace pyptx::call {
namespace {

using diag::Kind;
using interop::ReadTensor;
using support::concat;

std::string subject(const Core& core, std::size_t tensor) {
  const bool is_input = tensor < core.input_count();
  return concat(core.signature().title(), is_input ? ": argument '" : ": output '",
                core.signature().tensor(tensor).name, "'");
}

/// Bytes from the first element of an array to the end of its last.
std::uint64_t spanned_bytes(const interop::Array& array) {
  const interop::Shape strides(array.strides->begin(), array.strides->end());
  const bool has_gaps = strides != interop::dense_strides(array.shape);
  const std::uint64_t bits = interop::element_bits(array.dtype);
  if (!has_gaps || bits % 8 != 0 || array.bytes == 0) return array.bytes;
  return interop::ByteRows::of(array.shape, strides, bits / 8).bytes;
}

}  // namespace

interop::Array array_of(const ReadTensor& view, std::string_view device) {
  const auto rank = static_cast<std::size_t>(view.ndim);
  const std::size_t kept = std::min(rank, kMostDimensions);
  interop::Array out;
  out.shape.assign(view.shape, view.shape + kept);
  out.shape.resize(rank);
  out.dtype = type_name(view.dtype);
  out.device = device;
  out.strides.emplace(view.strides, view.strides + kept);
  out.pointer = view.address();
  out.bytes = interop::tensor_bytes(out.dtype, out.shape);
  return out;
}

std::string device_text(const dlpack::Device& device) {
  if (device.type == dlpack::DeviceType::Cpu) return "cpu";
  if (device.type == dlpack::DeviceType::Cuda) return concat("cuda:", device.id);
  return concat("DLPack's device ", static_cast<int>(device.type), ":", device.id);
}

diag::Result<dlpack::Device> device_of(const Core& core, const Arguments& call,
                                       std::span<const ReadTensor> views) {
  const std::string title = core.signature().title();
  if (views.empty()) {
    if (call.on_emulator) return kHost;
    if (call.place.device < 0) {
      return diag::fail(Kind::NoTensors,
                        {title, "was called without tensors, so there is no device to run on",
                         "say which with on(stream, device), or call emulate()"});
    }
    return dlpack::Device{dlpack::DeviceType::Cuda, call.place.device};
  }
  const dlpack::Device device = views.front().device;
  if (device.type == dlpack::DeviceType::Cpu) {
    if (call.place.stream == nullptr && call.place.device < 0) return device;
    return diag::fail(Kind::LaunchPlace,
                      {concat(title, ":"), "the emulator has no streams; drop on(...)"});
  }
  if (call.on_emulator) {
    return diag::fail(Kind::ArrayDevice, {subject(core, 0), device_text(device),
                                          "and the emulator reads the host's memory",
                                          "copy it, or call the kernel itself"});
  }
  if (device.type != dlpack::DeviceType::Cuda) {
    return diag::fail(Kind::ArrayDevice,
                      {subject(core, 0), device_text(device), "where no kernel runs", "move it"});
  }
  if (call.place.device >= 0 && call.place.device != device.id) {
    return diag::fail(Kind::LaunchPlace,
                      {concat(title, ": on(...)"),
                       concat("must be of ", device_text(device), ", where the tensors are, got ",
                              "one of cuda:", call.place.device)});
  }
  return device;
}

diag::Status check_memory(const Core& core, const Arguments& call,
                          std::span<const ReadTensor> views,
                          std::span<const interop::Array> arrays) {
  for (std::size_t i = 0; i < views.size(); ++i) {
    const std::uint64_t needed = spanned_bytes(arrays[i]);
    const std::string& name = core.signature().tensor(i).name;
    if (needed != 0 && views[i].address() == 0) {
      return diag::fail(diag::Diagnostic(Kind::NullTensor, {concat(i), core.signature().kernel})
                            .note(concat("it is '", name, "' and has ", needed, " bytes")));
    }
    if (needed > static_cast<std::uint64_t>(views[i].room)) {
      return diag::fail(Kind::ArrayMemory,
                        {subject(core, i),
                         concat("has ", views[i].room, " bytes of memory, its shape ",
                                interop::plain_sizes().text(arrays[i].shape), " needs ", needed)});
    }
  }
  if (core.writes_inputs() && call.has_const_input) {
    return diag::fail(Kind::ArrayMemory,
                      {concat(core.signature().title(), ": an input"),
                       "is read-only, and a kernel without outputs writes its inputs"});
  }
  return diag::success();
}

diag::Status refused(const Bound& bound, const Arguments& call) {
  const Core& core = *bound.core;
  TensorMemory memory;
  auto order = ordered(core, call, memory);
  if (!order) return order.failure();
  const auto device = device_of(core, call, *order);
  if (!device) return diag::fail(device.error());
  const std::size_t inputs = core.input_count();
  std::vector<interop::Array> arrays;
  std::vector<interop::SavedTensor> tensors;
  for (std::size_t i = 0; i < order->size(); ++i) {
    const interop::TensorShape& expected = bound.entry->tensors[i];
    arrays.push_back(array_of((*order)[i], device_text((*order)[i].device)));
    tensors.push_back({core.signature().tensor(i).name, type_name(expected.type), expected.shape,
                       expected.bytes, expected.column_major});
  }
  interop::BoundTo to{core.signature().kernel, std::span(tensors).first(inputs),
                      std::span(tensors).subspan(inputs)};
  std::vector<std::uint32_t> mapped;
  if (bound.entry->image != nullptr) mapped = bound.entry->image->plan().map_tensors();
  to.mapped = mapped;
  to.device = device_text(bound.device);
  const std::span<const interop::Array> all(arrays);
  if (auto status = interop::check_bound(to, all.first(inputs), all.subspan(inputs)); !status) {
    return status;
  }
  if (auto status = check_memory(core, call, *order, all); !status) return status;
  return diag::fail(Kind::ArrayMemory, {concat("bound kernel '", core.signature().kernel, "'"),
                                        "was bound to tensors with other strides or of another "
                                        "kind of device; bind it to tensors like these"});
}

diag::Status scalar_bits(const Core& core, std::span<const interop::ScalarParameter> scalars,
                         const Arguments& call, std::span<std::uint64_t> bits) {
  const std::string& kernel = core.signature().kernel;
  const auto names = [&] {
    std::string out;
    for (const auto& scalar : scalars) out += concat(out.empty() ? "" : ", ", scalar.name);
    return out.empty() ? "none" : out;
  };
  if (call.numbers.size() > scalars.size()) {
    return diag::fail(diag::Diagnostic(Kind::ScalarCount, {kernel, concat(scalars.size()),
                                                           concat(call.numbers.size())})
                          .note(concat("its scalars: ", names())));
  }
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    const auto named = std::ranges::find(call.named, scalars[i].name, &NamedNumber::name);
    const bool is_named = named != call.named.end();
    if (i < call.numbers.size() || is_named) {
      if (is_named && i < call.numbers.size()) {
        return diag::fail(Kind::KeywordName, {core.signature().title(),
                                              concat("was given '", scalars[i].name, "' twice")});
      }
      auto given =
          interop::argument_bits(scalars[i], is_named ? named->value : call.numbers[i], kernel);
      if (!given) return given.failure();
      bits[i] = *given;
    } else if (scalars[i].value) {
      bits[i] = *scalars[i].value;
    } else {
      return diag::fail(Kind::KeywordName,
                        {core.signature().title(),
                         concat("needs a value for the raw parameter '", scalars[i].name, "' (.",
                                scalars[i].type->name,
                                "), which has no default; pass it behind the tensors, or "
                                "as arg(\"",
                                scalars[i].name, "\", ...)")});
    }
  }
  for (const NamedNumber& given : call.named) {
    if (std::ranges::count(scalars, given.name, &interop::ScalarParameter::name) != 0) continue;
    return diag::fail(Kind::KeywordName, {core.signature().title(),
                                          concat("has no scalar '", given.name,
                                                 "' that a call brings (it has ", names(), ")")});
  }
  return diag::success();
}

}  // namespace pyptx::call
