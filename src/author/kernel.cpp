// SPDX-License-Identifier: Apache-2.0
#include "pyptx/author/kernel.h"

#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "pyptx/author/trace.h"
#include "pyptx/support/concat.h"
#include "pyptx/syntax/printer.h"
#include "pyptx/verify/instruction.h"

namespace pyptx {

using support::concat;

namespace {

/// As Python's kernels are asked.
bool wants_line_info() {
  const char* wanted = std::getenv("PYPTX_LINEINFO");
  return wanted == nullptr || std::string_view(wanted) != "0";
}

}  // namespace

Reg Tensor::tma_desc(std::source_location where) const {
  return author::at(where).tensor_map(name(), map_by_value_);
}

const author::TracedSize* Tensor::find(std::size_t dimension, const Where& where) const {
  build::Tracer& tracer = author::at(where);
  if (!known_.shape) {
    tracer.report({diag::Kind::TensorFact, {name(), "shape", known_.missing}});
    return nullptr;
  }
  if (dimension < known_.shape->size()) return &(*known_.shape)[dimension];
  tracer.report({diag::Kind::BadArgument,
                 {concat("a dimension of '", name(), "'"), concat("below ", known_.shape->size()),
                  concat(static_cast<std::int64_t>(dimension))}});
  return nullptr;
}

std::size_t Tensor::rank(Where where) const {
  if (!known_.shape) find(0, where);
  return known_.shape ? known_.shape->size() : 0;
}

namespace {

Size value_of(const author::TracedSize& size, const std::source_location& where) {
  if (size.parameter.empty()) return {size.number, where};
  return {author::at(where).launch_value(size.type, size.parameter), where};
}

}  // namespace

Size Tensor::shape(std::size_t dimension, Where where) const {
  const author::TracedSize* size = find(dimension, where);
  return size == nullptr ? Size(0, where) : value_of(*size, where);
}

Size Tensor::stride(std::size_t dimension, Where where) const {
  if (find(dimension, where) == nullptr) return {0, where};
  if (dimension < known_.strides.size()) return value_of(known_.strides[dimension], where);
  Size stride(1, where);
  const std::size_t rank = known_.shape->size();
  const std::size_t inner = known_.is_column ? dimension : rank - 1 - dimension;
  for (std::size_t i = 0; i < inner; ++i) {
    const Size size = shape(known_.is_column ? i : rank - 1 - i, where);
    stride = i == 0 ? size : size * stride;
  }
  return stride;
}

std::int64_t Tensor::divisor(std::size_t dimension, Where where) const {
  const author::TracedSize* size = find(dimension, where);
  if (size == nullptr) return 1;
  return size->parameter.empty() ? size->number : size->divisor;
}

isa::Type Tensor::dtype(Where where) const {
  if (known_.dtype == isa::Type::None) {
    author::at(where).report({diag::Kind::TensorFact, {name(), "element type", known_.missing}});
  }
  return known_.dtype;
}

namespace author {
namespace {

/// The size of a tensor; nothing where a launch brings it.
std::optional<std::uint64_t> known_bytes(const TracedTensor& tensor) {
  if (!tensor.shape || tensor.dtype == isa::Type::None) return std::nullopt;
  std::uint64_t elements = 1;
  for (const TracedSize& size : *tensor.shape) {
    if (!size.parameter.empty()) return std::nullopt;
    elements *= static_cast<std::uint64_t>(size.number);
  }
  return elements * isa::info(tensor.dtype).bits / 8;
}

}  // namespace

diag::Result<Traced> trace(const std::string& name, std::span<const TracedTensor> tensors,
                           const KernelOptions& given, const TensorsBody& body) {
  verify::InstructionJudge judge(given.version ? verify::VersionMode::Pinned
                                               : verify::VersionMode::Lowest);
  build::Options options;
  options.entry = name;
  options.target = given.target;
  options.version = given.version;
  options.force_dynamic_shared = given.force_dynamic_shared;
  options.dynamic_shared_name = given.dynamic_shared_name;
  options.line_info = given.line_info.value_or(wants_line_info());
  if (body == nullptr) {
    return diag::fail(diag::Kind::BadArgument,
                      {concat("the body of kernel '", name, "'"), "a function", "none"});
  }
  build::Tracer tracer(std::move(options), &judge);
  std::vector<Tensor> seen;
  for (const TracedTensor& tensor : tensors) {
    tracer.add_parameter(tensor.name, isa::Type::U64);
    if (tensor.map) tracer.describe_map(tensor.name, *tensor.map);
    if (const auto bytes = known_bytes(tensor)) tracer.describe_bytes(tensor.name, *bytes);
    seen.emplace_back(tensor, given.maps_by_value);
  }
  for (const auto& [type, parameter] : given.raw_params) tracer.add_parameter(parameter, type);
  for (const auto& [directive, values] : given.directives) tracer.add_directive(directive, values);
  {
    const Writing writing(tracer);
    body(seen);
  }
  // Somebody wrote a part of a kernel where none was open, perhaps of this one on another thread.
  if (auto lost = take_stray()) return diag::fail(std::move(*lost));
  const auto failed = [&](diag::Diagnostic error) {
    error.resolve(tracer.module().locations);
    return diag::fail(std::move(error));
  };
  if (auto error = tracer.take_error()) return failed(std::move(*error));
  auto finished = tracer.finish();
  if (!finished) return failed(std::move(finished.error()));
  diag::Diagnostics lints = tracer.lints();
  for (diag::Diagnostic& lint : lints) lint.resolve((*finished)->locations);
  return Traced{*finished, tracer.map_tensors(), tracer.dynamic_shared_bytes(), std::move(lints)};
}

}  // namespace author

diag::Result<Traced> Kernel::trace() const {
  std::vector<author::TracedTensor> tensors;
  tensors.reserve(tensors_.size());
  for (const std::string& tensor : tensors_) tensors.push_back({.name = tensor});
  return author::trace(name_, tensors, options_, body_);
}

diag::Result<std::string> Kernel::ptx() const {
  auto traced = trace();
  if (!traced) return diag::fail(std::move(traced.error()));
  return syntax::print(*traced->module);
}

}  // namespace pyptx
