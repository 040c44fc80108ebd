// SPDX-License-Identifier: Apache-2.0
#include "pyptx/author/kernel.h"

#include <utility>

#include "pyptx/author/trace.h"
#include "pyptx/build/memory.h"
#include "pyptx/syntax/printer.h"
#include "pyptx/verify/instruction.h"

namespace pyptx {

Reg Tensor::tma_desc(std::source_location where) const {
  return author::at(where).tensor_map(name_, map_by_value_);
}

diag::Result<Traced> Kernel::trace() const {
  verify::InstructionJudge judge(options_.version ? verify::VersionMode::Pinned
                                                  : verify::VersionMode::Lowest);
  build::Options options;
  options.entry = name_;
  options.target = options_.target;
  options.version = options_.version;
  options.force_dynamic_shared = options_.force_dynamic_shared;
  options.dynamic_shared_name = options_.dynamic_shared_name;
  build::Tracer tracer(std::move(options), &judge);
  std::vector<Tensor> tensors;
  for (const std::string& name : tensors_) {
    tracer.add_parameter(name, isa::Type::U64);
    tensors.emplace_back(name, options_.maps_by_value);
  }
  for (const auto& [type, name] : options_.raw_params) tracer.add_parameter(name, type);
  for (const auto& [name, values] : options_.directives) tracer.add_directive(name, values);
  {
    const author::Writing writing(tracer);
    body_(tensors);
  }
  const auto failed = [&](diag::Diagnostic error) {
    error.resolve(tracer.module().locations);
    return diag::fail(std::move(error));
  };
  if (auto error = tracer.take_error()) return failed(std::move(*error));
  auto finished = tracer.finish();
  if (!finished) return failed(std::move(finished.error()));
  return Traced{*finished, tracer.map_tensors(), tracer.dynamic_shared_bytes()};
}

diag::Result<std::string> Kernel::ptx() const {
  auto traced = trace();
  if (!traced) return diag::fail(std::move(traced.error()));
  return syntax::print(*traced->module);
}

namespace ptx {

Reg global_ptr(const Tensor& tensor, std::source_location where) {
  return build::global_pointer(author::at(where), tensor.name());
}

Reg param(isa::Type type, std::string_view name, std::optional<build::Reg> destination,
          std::source_location where) {
  return build::param(author::at(where), type, name, destination);
}

}  // namespace ptx
}  // namespace pyptx
