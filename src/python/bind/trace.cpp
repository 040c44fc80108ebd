// SPDX-License-Identifier: Apache-2.0
//
// `_core.Trace`: how the package's decorator drives a trace.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "errors.h"
#include "pyptx/syntax/printer.h"
#include "trace/operands.h"
#include "trace/raw_text.h"
#include "trace/trace.h"

namespace pyptx::python {
namespace {

using TracedVersion = std::tuple<std::uint8_t, std::uint8_t>;

std::unique_ptr<Trace> make_trace(std::string entry, const std::string& target,
                                  std::optional<TracedVersion> version, bool force_dynamic_shared,
                                  std::string dynamic_shared_name, bool maps_by_value,
                                  bool line_info, bool callers) {
  build::Options options;
  options.entry = std::move(entry);
  const auto found = isa::Target::parse(target);
  if (!found) {
    raise(
        diag::Diagnostic(diag::Kind::UnknownTarget, {target}).suggest(target, isa::target_names()));
  }
  options.target = *found;
  if (version) options.version = isa::Version{std::get<0>(*version), std::get<1>(*version)};
  options.force_dynamic_shared = force_dynamic_shared;
  options.dynamic_shared_name = std::move(dynamic_shared_name);
  options.line_info = line_info;
  auto trace = std::make_unique<Trace>(std::move(options), maps_by_value);
  if (callers) trace->locations->follow_callers();
  check(trace->tracer);
  return trace;
}

ModuleObject finish(Trace& trace) {
  const auto* locations = &trace.tracer.module().locations;
  std::shared_ptr<const ir::Module> module = unwrap(trace.tracer.finish(), locations);
  unwrap(check_raw_text(*module), &module->locations);
  return ModuleObject(std::move(module));
}

/// Runs `f` on the trace's tracer, whether or not it is entered, and raises what it recorded.
template <typename F>
auto on(Trace& trace, F&& f) {
  auto result = f(trace.tracer);
  check(trace.tracer);
  return result;
}

std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t>> shared_blocks(Trace& trace) {
  std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t>> rows;
  for (const build::Tracer::SharedBlock& block : trace.tracer.shared_blocks()) {
    rows.emplace_back(block.name, block.offset, block.bytes);
  }
  return rows;
}

void add_parameter(Trace& trace, const std::string& name, isa::Type type) {
  trace.tracer.add_parameter(name, type);
  check(trace.tracer);
}

}  // namespace

void bind_trace(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Trace>(m, "Trace", "One kernel being written.")
      .def(nb::new_(&make_trace), "entry"_a, "target"_a, "version"_a = nb::none(), nb::kw_only(),
           "force_dynamic_shared"_a = false, "dynamic_shared_name"_a = "dyn_smem",
           "maps_by_value"_a = false, "line_info"_a = false, "callers"_a = false)
      .def("enter", &enter_trace)
      .def("leave", &leave_trace)
      .def(
          "add_tensor",
          [](Trace& t, const std::string& name) { add_parameter(t, name, isa::Type::U64); },
          "name"_a, "Add the 64-bit parameter that holds a tensor's address.")
      .def(
          "add_param",
          [](Trace& t, nb::handle type, const std::string& name) {
            add_parameter(t, name, to_type(type));
          },
          "type"_a, "name"_a)
      .def(
          "add_directive",
          [](Trace& t, const std::string& name, const std::vector<std::int64_t>& values) {
            t.tracer.add_directive(name, values);
            check(t.tracer);
          },
          "name"_a, "values"_a)
      .def(
          "launch_value",
          [](Trace& t, nb::handle type, const std::string& parameter) {
            return on(t, [&](build::Tracer& tracer) {
              return tracer.launch_value(to_type(type), parameter);
            });
          },
          "type"_a, "parameter"_a, "The register with the value of a scalar parameter.")
      .def(
          "tensor_map",
          [](Trace& t, const std::string& name) {
            return on(
                t, [&](build::Tracer& tracer) { return tracer.tensor_map(name, t.maps_by_value); });
          },
          "name"_a, "The register with the address of a tensor's map.")
      .def(
          "describe_map",
          [](Trace& t, const std::string& name, const layout::TensorMap& map) {
            t.tracer.describe_map(name, map);
          },
          "name"_a, "map"_a, "Say what map a launch passes for a tensor.")
      .def(
          "describe_bytes",
          [](Trace& t, const std::string& name, std::uint64_t bytes) {
            t.tracer.describe_bytes(name, bytes);
          },
          "name"_a, "bytes"_a, "Say how large a tensor is, for what counts in 32 bits.")
      .def(
          "warn",
          [](Trace& t) { warn(t.tracer.lints(), &std::as_const(t.tracer).module().locations); },
          "Warn of what was found that is no error.")
      .def_prop_ro("map_tensors", [](Trace& t) { return t.tracer.map_tensors(); })
      .def_prop_ro("dynamic_shared_bytes", [](Trace& t) { return t.tracer.dynamic_shared_bytes(); })
      .def_prop_ro("shared_blocks", &shared_blocks,
                   "(name, place, bytes) of each allocation; the place is that in the dynamic "
                   "array, should everything move there.")
      .def_prop_ro("target", [](Trace& t) { return t.tracer.options().target.text(); })
      .def(
          "enter_intrinsic",
          [](Trace& t, std::string shown) { t.locations->enter_intrinsic(std::move(shown)); },
          "shown"_a, "What is traced from now on is said to be in expansion of `shown`.")
      .def("leave_intrinsic", [](Trace& t) { t.locations->leave_intrinsic(); })
      .def("finish", &finish, "Complete the module.");
  m.def(
      "active_trace", []() { return innermost_trace(); }, nb::rv_policy::reference,
      "The innermost trace entered on this thread, or None.");
}

}  // namespace pyptx::python
