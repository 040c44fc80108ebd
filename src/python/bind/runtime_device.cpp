// SPDX-License-Identifier: Apache-2.0
//
// What the machine offers, as Python sees it: the driver and its devices, the compilers, tensor
// maps as the driver encodes them. Bindings only.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/runtime.h"
#include "errors.h"
#include "pyptx/diag/render.h"
#include "pyptx/driver/assemble.h"
#include "pyptx/driver/device.h"
#include "pyptx/driver/occupancy.h"
#include "pyptx/driver/tensor_map.h"
#include "pyptx/interop/tile.h"

namespace pyptx::python {

layout::MapType map_type(const std::string& dtype) {
  const auto type = interop::map_type(dtype);
  if (!type) throw nb::value_error(("a tensor map has no elements of type " + dtype).c_str());
  return *type;
}

layout::Swizzle map_swizzle(const std::string& name) {
  using layout::Swizzle;
  if (name == "none") return Swizzle::None;
  if (name == "32B") return Swizzle::B32;
  if (name == "64B") return Swizzle::B64;
  if (name == "128B") return Swizzle::B128;
  throw nb::value_error("swizzle is 'none', '32B', '64B' or '128B'");
}

layout::Interleave map_interleave(const std::string& name) {
  using layout::Interleave;
  if (name == "none") return Interleave::None;
  if (name == "16B") return Interleave::B16;
  if (name == "32B") return Interleave::B32;
  throw nb::value_error("interleave is 'none', '16B' or '32B'");
}

namespace {

std::pair<bool, std::string> driver_status() {
  const auto available = driver::available();
  if (!available) return {false, diag::render(available.error(), nullptr)};
  std::string text = "CUDA";
  if (const auto version = driver::driver_version()) {
    text += " " + std::to_string(*version / 1000) + "." + std::to_string(*version % 1000 / 10);
  }
  const auto count = driver::device_count();
  for (int i = 0; count && i < *count; ++i) {
    if (const auto info = driver::device(i)) {
      text += (i == 0 ? ": " : ", ") + (*info)->name + " (" + (*info)->target + ")";
    }
  }
  return {true, text};
}

int device_count() {
  const auto count = driver::device_count();
  return count ? *count : 0;
}

nb::dict device_info(int ordinal) {
  const driver::DeviceInfo& info = *unwrap(driver::device(ordinal));
  nb::dict out;
  out["name"] = info.name;
  out["target"] = info.target;
  out["capability"] = nb::make_tuple(info.major, info.minor);
  out["multiprocessors"] = info.multiprocessors;
  out["max_threads_per_block"] = info.max_threads_per_block;
  out["shared_default"] = info.shared_default;
  out["shared_optin"] = info.shared_optin;
  out["l2_bytes"] = info.l2_bytes;
  out["clusters"] = info.clusters;
  return out;
}

driver::Compiler compiler_kind(const std::string& name) {
  using driver::Compiler;
  if (name == "best") return Compiler::Any;
  if (name == "nvjitlink") return Compiler::NvJitLink;
  if (name == "ptxas") return Compiler::Ptxas;
  if (name == "driver") return Compiler::DriverJit;
  throw nb::value_error("a compiler is 'best', 'nvjitlink', 'ptxas' or 'driver'");
}

/// (cubin, log, compiler)
std::tuple<nb::bytes, std::string, std::string> assemble_text(const std::string& ptx,
                                                              const std::string& target,
                                                              std::vector<std::string> flags,
                                                              bool use_cache,
                                                              const std::string& compiler) {
  driver::AssembleOptions options;
  options.target = target;
  options.flags = std::move(flags);
  options.use_cache = use_cache;
  options.compiler = compiler_kind(compiler);
  auto assembled = [&] {
    nb::gil_scoped_release release;
    return driver::assemble(ptx, options);
  }();
  if (!assembled) raise(assembled.error().diagnostic);
  return {nb::bytes(assembled->cubin.data(), assembled->cubin.size()), assembled->log,
          assembled->compiler};
}

nb::bytes encode_map(const layout::TensorMap& map, std::uint64_t address) {
  const driver::EncodedMap encoded = unwrap(driver::encode_map(map, address));
  return nb::bytes(reinterpret_cast<const char*>(encoded.bytes.data()), encoded.bytes.size());
}

std::uint64_t resident_map(int device, const nb::bytes& bytes) {
  driver::EncodedMap encoded;
  if (bytes.size() != encoded.bytes.size()) throw nb::value_error("a tensor map has 128 bytes");
  std::memcpy(encoded.bytes.data(), bytes.c_str(), encoded.bytes.size());
  return unwrap(driver::resident_map(device, encoded));
}

using OccupancyRow = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::string>;

/// (CTAs, warps, most warps, what limits them)
std::optional<OccupancyRow> occupancy(const std::string& target, std::uint32_t registers,
                                      std::uint64_t shared, std::uint32_t threads,
                                      std::uint32_t barriers) {
  const auto found = driver::occupancy(target, registers, shared, threads, barriers);
  if (!found) return std::nullopt;
  return OccupancyRow{found->ctas, found->warps, found->max_warps,
                      std::string(driver::text(found->limited_by))};
}

std::pair<std::string, std::string> find_compiler() {
  const driver::CompilerInfo info = unwrap(driver::find_compiler());
  return {info.name, info.path};
}

}  // namespace

void bind_runtime_device(nb::module_& m) {
  m.def("driver_status", &driver_status);
  m.def("driver_version", [] { return unwrap(driver::driver_version()); });
  m.def("device_count", &device_count);
  m.def("current_device", [] { return unwrap(driver::current_device()); });
  m.def("device_info", &device_info, nb::arg("ordinal") = 0);
  m.def(
      "device_target", [](int ordinal) { return unwrap(driver::device(ordinal))->target; },
      nb::arg("ordinal") = 0);
  m.def(
      "code_target",
      [](const std::string& target, int ordinal) {
        return unwrap(driver::code_target(target, *unwrap(driver::device(ordinal))));
      },
      nb::arg("target"), nb::arg("ordinal") = 0,
      "Return the target to assemble a text's target for, so that it runs on the device.");
  m.def("add_compiler_folder", &driver::add_compiler_folder, nb::arg("folder"));
  m.def("find_compiler", &find_compiler);
  m.def("assemble", &assemble_text, nb::arg("ptx"), nb::arg("target"),
        nb::arg("flags") = std::vector<std::string>{}, nb::kw_only(), nb::arg("use_cache") = true,
        nb::arg("compiler") = "best");
  m.def("occupancy", &occupancy, nb::arg("target"), nb::arg("registers"), nb::arg("shared"),
        nb::arg("threads"), nb::arg("barriers") = 0);
  m.def("encode_map", &encode_map, nb::arg("map"), nb::arg("address"));
  m.def("resident_map", &resident_map, nb::arg("device"), nb::arg("encoded"));
}

}  // namespace pyptx::python
