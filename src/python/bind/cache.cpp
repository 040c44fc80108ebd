// SPDX-License-Identifier: Apache-2.0
//
// The disk cache of cubins, for pyptx.cache. Bindings only: the cache is driver/cubin_cache.h's.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/runtime.h"
#include "errors.h"
#include "pyptx/driver/assemble.h"
#include "pyptx/driver/cubin_cache.h"

namespace pyptx::python {
namespace {

using driver::CubinCache;

/// (cubin, log, compiler)
using CacheRow = std::tuple<nb::bytes, std::string, std::string>;

std::optional<CacheRow> get(const CubinCache& cache, const std::string& digest) {
  const auto entry = [&] {
    const nb::gil_scoped_release release;
    return cache.get(digest);
  }();
  if (!entry) return std::nullopt;
  return CacheRow{nb::bytes(entry->cubin.data(), entry->cubin.size()), entry->log, entry->compiler};
}

bool put(const CubinCache& cache, const std::string& digest, const nb::bytes& cubin,
         std::string log, std::string compiler) {
  const CubinCache::Entry entry{std::string(cubin.c_str(), cubin.size()), std::move(log),
                                std::move(compiler)};
  const nb::gil_scoped_release release;
  return cache.put(digest, entry);
}

/// (entries, bytes, temporaries)
std::tuple<std::uint64_t, std::uint64_t, std::uint64_t> usage(const CubinCache& cache) {
  const nb::gil_scoped_release release;
  const CubinCache::Usage found = cache.usage();
  return {found.entries, found.bytes, found.temporaries};
}

std::string digest(std::string ptx, std::string target, std::vector<std::string> options,
                   std::string compiler) {
  return driver::CacheKey{std::move(ptx), std::move(target), std::move(options),
                          std::move(compiler)}
      .digest();
}

}  // namespace

void bind_cache(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<CubinCache>(m, "CubinCache", "A folder of cubins; see pyptx.cache.")
      .def(nb::init<std::string, std::uint64_t>(), "folder"_a, "size_limit"_a)
      .def_static("from_environment", &CubinCache::from_environment)
      .def_static("default_folder", &CubinCache::default_folder)
      .def_static("current", &CubinCache::global)
      .def_prop_ro("folder", &CubinCache::folder)
      .def_prop_ro("size_limit", &CubinCache::size_limit)
      .def("get", &get, "digest"_a)
      .def("put", &put, "digest"_a, "cubin"_a, "log"_a, "compiler"_a)
      .def("usage", &usage)
      .def("clear", &CubinCache::clear, nb::call_guard<nb::gil_scoped_release>())
      .def("problem", &CubinCache::problem, nb::call_guard<nb::gil_scoped_release>());
  m.def("set_global_cache", &CubinCache::set_global, "cache"_a.none());
  m.def("cache_digest", &digest, "ptx"_a, "target"_a, "options"_a, "compiler"_a);
  m.def("current_compiler", [] { return unwrap(driver::current_compiler()); });
}

}  // namespace pyptx::python
