// SPDX-License-Identifier: Apache-2.0
#include "pyptx/author/kernel.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "pyptx/author/trace.h"
#include "pyptx/support/concat.h"
#include "pyptx/syntax/printer.h"
#include "pyptx/verify/instruction.h"

namespace pyptx {
namespace {

/// As Python's kernels are asked.
bool wants_line_info() {
  const char* wanted = std::getenv("PYPTX_LINEINFO");
  return wanted == nullptr || std::string_view(wanted) != "0";
}

}  // namespace

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
  options.line_info = options_.line_info.value_or(wants_line_info());
  if (body_ == nullptr) {
    return diag::fail(diag::Kind::BadArgument,
                      {support::concat("the body of kernel '", name_, "'"), "a function", "none"});
  }
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
  // Somebody wrote a part of a kernel where none was open, perhaps of this one on another thread.
  if (auto lost = author::take_stray()) return diag::fail(std::move(*lost));
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

}  // namespace pyptx
