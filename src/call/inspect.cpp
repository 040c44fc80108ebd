// SPDX-License-Identifier: Apache-2.0
//
// What can be asked of a kernel without a call: its text, for sizes and types that are named.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core.h"
#include "pyptx/driver/disassemble.h"
#include "pyptx/support/concat.h"
#include "pyptx/support/nearest.h"

namespace pyptx::call {
namespace {

using diag::Kind;
using support::concat;

struct Names {
  std::vector<std::string> sizes;
  std::vector<std::string> types;
};

void add(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::count(names, name) == 0) names.push_back(name);
}

Names names_of(const interop::Signature& signature) {
  Names out;
  for (std::size_t i = 0; i < signature.tensor_count(); ++i) {
    const interop::Tile& tile = signature.tensor(i).tile;
    for (const interop::Dimension& dim : tile.dims) {
      if (dim.is_named()) add(out.sizes, dim.name);
    }
    if (interop::is_type_name(tile.dtype)) add(out.types, tile.dtype);
  }
  return out;
}

support::Failure<diag::Diagnostic> unknown_name(const interop::Signature& signature,
                                                const Names& names, const std::string& name) {
  std::vector<std::string> all = names.sizes;
  all.insert(all.end(), names.types.begin(), names.types.end());
  std::string listed;
  for (const std::string& one : all) listed += concat(listed.empty() ? "" : ", ", one);
  return diag::fail(diag::Diagnostic(Kind::KeywordName,
                                     {signature.title(),
                                      concat("got an unknown name '", name,
                                             "' (known: ", listed.empty() ? "none" : listed, ")")})
                        .suggest(name, all));
}

}  // namespace

diag::Result<interop::Bound> Core::bind(const AllKnown& known) const {
  if (refused_) return diag::fail(*refused_);
  const Names names = names_of(signature_);
  interop::Bound out;
  for (const Known& given : known) {
    const bool is_size = given.type == isa::Type::None;
    if (std::ranges::count(is_size ? names.sizes : names.types, given.name) == 0) {
      return unknown_name(signature_, names, given.name);
    }
    if (!is_size) {
      out.types.add(given.name, isa::info(given.type).name);
      continue;
    }
    const std::string value = concat(given.name, "=", given.number);
    if (given.number < 0) {
      return diag::fail(Kind::KeywordValue,
                        {signature_.title(), value,
                         concat(given.name, " is a dimension: expected a number of elements")});
    }
    for (const auto& [dimension, of] : signature_.multiples) {
      if (dimension != given.name || given.number % of == 0) continue;
      return diag::fail(Kind::KeywordValue,
                        {signature_.title(), value,
                         concat("multiple_of says that ", dimension, " is a multiple of ", of)});
    }
    out.sizes.add(given.name, given.number);
  }
  return out;
}

diag::Result<driver::Dim3> Core::launch_grid(const AllKnown& known, const void* values) const {
  auto bound = bind(known);
  if (!bound) return bound.failure();
  const auto grid = grid_for(*bound, values_or_default(values));
  if (!grid) return diag::fail(grid.error());
  const auto extent = [&](std::size_t i) { return static_cast<std::uint32_t>((*grid)[i]); };
  return driver::Dim3{extent(0), extent(1), extent(2)};
}

diag::Result<TraceKey> Core::key_of(const AllKnown& known, const void* values) const {
  auto bound = bind(known);
  if (!bound) return bound.failure();
  for (const std::string& name : declared_.spec.dynamic) {  // in no trace: any will do
    if (!bound->sizes.find(name)) bound->sizes.add(name, 0);
  }
  TraceKey key;
  for (std::size_t i = 0; i < signature_.tensor_count(); ++i) {
    const auto& [name, tile] = signature_.tensor(i);
    const auto type = bound->types.resolve(tile.dtype);
    const std::string dtype(type.value_or(""));
    const auto shape = tile.shape(bound->sizes);
    if (shape) {
      key.tensors.push_back(traced_tensor(i, *shape, dtype));
      continue;
    }
    std::string missing;  // the first name without a size
    for (const interop::Dimension& dim : tile.dims) {
      if (missing.empty() && dim.is_named() && !bound->sizes.find(dim.name)) missing = dim.name;
    }
    key.tensors.push_back(
        {.name = name,
         .dtype = isa::find_type(dtype).value_or(isa::Type::None),
         .missing = concat("say its sizes, as in ptx({{\"", missing, "\", 1024}})")});
  }
  auto target = target_for(kHost);
  if (!target) return target.failure();
  key.target = std::move(*target);
  key.values =
      values == nullptr || declared_.copy == nullptr ? declared_.values : declared_.copy(values);
  return key;
}

namespace {

diag::Result<std::shared_ptr<TraceSlot>> traced(Core& core, const AllKnown& known,
                                                const void* values) {
  auto key = core.key_of(known, values);
  if (!key) return key.failure();
  return core.trace(std::move(*key));
}

}  // namespace

diag::Result<std::shared_ptr<const ir::Module>> module(Core& core, const AllKnown& known,
                                                       const void* values) {
  auto slot = traced(core, known, values);
  if (!slot) return slot.failure();
  return (*slot)->traced->module;
}

diag::Result<driver::Dim3> launch_grid(Core& core, const AllKnown& known, const void* values) {
  return core.launch_grid(known, values);
}

const interop::Signature& signature(const Core& core) { return core.signature(); }

diag::Result<std::shared_ptr<interop::KernelImage>> image(Core& core, const AllKnown& known,
                                                          const void* values) {
  auto slot = traced(core, known, values);
  if (!slot) return slot.failure();
  const interop::TracedText& text = (*slot)->text;
  const KernelSpec<>& spec = core.declared().spec;
  driver::LaunchPlan plan;
  plan.entry = core.signature().kernel;
  plan.block = spec.block;
  plan.dynamic_shared =
      std::max(spec.shared, static_cast<std::uint32_t>((*slot)->traced->dynamic_shared_bytes));
  return std::make_shared<interop::KernelImage>(text.ptx, text.target, std::move(plan),
                                                text.module);
}

diag::Result<std::string> cubin(Core& core, const AllKnown& known, const void* values) {
  auto made = image(core, known, values);
  if (!made) return made.failure();
  auto code = (*made)->cubin();
  if (!code) return code.failure();
  return std::string(*code);
}

diag::Result<std::string> sass(Core& core, const AllKnown& known, const void* values) {
  auto code = cubin(core, known, values);
  if (!code) return code.failure();
  return driver::disassemble(*code);
}

diag::Result<interop::Report> report(Core& core, const AllKnown& known, const void* values) {
  auto made = image(core, known, values);
  if (!made) return made.failure();
  return interop::make_report(**made);
}

diag::Result<std::vector<interop::SourceLine>> source_map(Core& core, const AllKnown& known,
                                                          const void* values) {
  auto slot = traced(core, known, values);
  if (!slot) return slot.failure();
  return interop::source_lines(*(*slot)->traced->module);
}

diag::Result<std::string> ptx(Core& core, const AllKnown& known, const void* values) {
  auto slot = traced(core, known, values);
  if (!slot) return slot.failure();
  return (*slot)->text.ptx;
}

}  // namespace pyptx::call
