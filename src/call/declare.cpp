// SPDX-License-Identifier: Apache-2.0
//
// Declarations, judged before there is a call, in the words of Python's `kernel(...)`.
#include <algorithm>
#include <atomic>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core.h"
#include "pyptx/interop/launch_limits.h"
#include "pyptx/support/concat.h"

namespace pyptx::call {
namespace {

using diag::Kind;
using support::concat;

/// Of the parameter of a size or stride that the launch brings.
constexpr isa::Type kSizeType = isa::Type::U32;

std::atomic<std::uint64_t> last_id = 0;

std::string type_text(isa::Type type) { return std::string(isa::info(type).name); }

interop::Extents extents_of(const driver::Dim3& dim) { return {dim.x, dim.y, dim.z}; }

bool has_dimension(const interop::Signature& signature, std::string_view name) {
  for (std::size_t i = 0; i < signature.tensor_count(); ++i) {
    const auto& dims = signature.tensor(i).tile.dims;
    if (std::ranges::count(dims, name, &interop::Dimension::name) != 0) return true;
  }
  return false;
}

}  // namespace

std::int64_t Dims::operator[](std::string_view name) const {
  const auto size = bound_.sizes.find(name);
  if (!size && missing_.empty()) missing_ = name;
  return size.value_or(0);
}

isa::Type Dims::type(std::string_view name) const {
  const auto type = bound_.types.find(name);
  if (!type && missing_.empty()) missing_ = name;
  return isa::find_type(type.value_or("")).value_or(isa::Type::None);
}

Core::Core(Declaration declaration) : declared_(std::move(declaration)), id_(++last_id) {
  if (auto status = declare(); !status) {
    refused_ = std::move(status.error());
    (*refused_)->notes.push_back(concat("kernel '", declared_.name, "' is declared at ",
                                        declared_.where.file_name(), ":", declared_.where.line()));
  }
}

diag::Status Core::check() const { return refused_ ? diag::fail(*refused_) : diag::success(); }

diag::Status Core::declare_tensors() {
  for (const TensorSpec& spec : declared_.tensors) {
    const auto& [name, tile] = spec.argument;
    const std::string what = concat(signature_.title(), ": tensor '", name, "'");
    if (signature_.index_of(name)) {
      return diag::fail(Kind::DeclarationType, {what, "is declared twice; rename one of them"});
    }
    if (tile.dims.size() > kMostDimensions) {
      return diag::fail(Kind::DeclarationType,
                        {what, concat("has ", tile.dims.size(), " dimensions; calls from C++ take ",
                                      "tensors of at most ", kMostDimensions)});
    }
    if (spec.role != Role::Input) {
      signature_.outputs.push_back(spec.argument);
      roles_.push_back(spec.role);
    } else if (!signature_.outputs.empty()) {
      return diag::fail(Kind::DeclarationType,
                        {what, "is an input behind an output; inputs come first"});
    } else {
      signature_.inputs.push_back(spec.argument);
    }
  }
  if (signature_.tensor_count() <= driver::kMaxTensors) return diag::success();
  return diag::fail(
      Kind::DeclarationType,
      {signature_.title(), concat("has ", signature_.tensor_count(),
                                  " tensors; a call takes at most ", driver::kMaxTensors)});
}

diag::Status Core::check_dynamic() const {
  for (const std::string& name : declared_.spec.dynamic) {
    const std::string what = concat(signature_.title(), ": dynamic '", name, "'");
    if (!has_dimension(signature_, name)) {
      return diag::fail(Kind::DeclarationValue, {what, "is no named dimension"});
    }
    if (signature_.index_of(name)) {
      return diag::fail(Kind::DeclarationValue,
                        {what, "is a tensor's name too; rename one of them"});
    }
  }
  return diag::success();
}

std::optional<std::string> Core::stride_name(std::size_t tensor, std::size_t dimension) const {
  const auto& [name, tile] = signature_.tensor(tensor);
  if (!tile.strided || dimension + 1 >= tile.dims.size()) return std::nullopt;
  return concat(name, "_stride", dimension);
}

/// The raw parameters: those declared, then the sizes and strides that a launch brings.
diag::Status Core::declare_scalars() {
  std::vector<std::string> brought = declared_.spec.dynamic;
  for (std::size_t i = 0; i < signature_.tensor_count(); ++i) {
    const std::size_t rank = signature_.tensor(i).tile.dims.size();
    for (std::size_t axis = 0; axis < rank; ++axis) {
      if (auto stride = stride_name(i, axis)) brought.push_back(std::move(*stride));
    }
  }
  for (const ScalarSpec& scalar : declared_.spec.scalars) {
    signature_.scalars.push_back({type_text(scalar.type), scalar.name});
    if (has_dimension(signature_, scalar.name) || std::ranges::count(brought, scalar.name) != 0) {
      continue;
    }
    interop::ScalarParameter free{scalar.name, interop::find_scalar_type(type_text(scalar.type))};
    if (free.type != nullptr && scalar.value) {
      auto bits = interop::argument_bits(free, *scalar.value, signature_.kernel);
      if (!bits) return bits.failure();
      free.value = *bits;
    }
    scalars_.push_back(std::move(free));
  }
  for (const std::string& name : brought) {
    const auto is_known = [&](const interop::RawParameter& raw) { return raw.name == name; };
    if (std::ranges::any_of(signature_.scalars, is_known)) continue;
    signature_.scalars.push_back({type_text(kSizeType), name});
  }
  return diag::success();
}

diag::Status Core::declare() {
  const KernelSpec<>& spec = declared_.spec;
  signature_.kernel = declared_.name;
  signature_.multiples = spec.multiple_of;
  const std::string what = concat(signature_.title(), ":");
  if (auto status = declare_tensors(); !status) return status;
  if (auto status = check_dynamic(); !status) return status;
  if (auto status = declare_scalars(); !status) return status;
  if (auto status = signature_.check(); !status) return status;
  if (spec.arch != "auto" && !isa::Target::parse(spec.arch)) {
    return diag::fail(
        diag::Diagnostic(Kind::UnknownTarget, {spec.arch}).suggest(spec.arch, isa::target_names()));
  }
  if (auto status = interop::check_block(what, extents_of(spec.block)); !status) return status;
  return interop::check_cluster(what, extents_of(spec.cluster));
}

std::shared_ptr<Core> declare(Declaration declaration) {
  return std::make_shared<Core>(std::move(declaration));
}

diag::Status check(const Core& core) { return core.check(); }

}  // namespace pyptx::call
