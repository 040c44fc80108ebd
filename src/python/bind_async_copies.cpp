// SPDX-License-Identifier: Apache-2.0
//
// pyptx._core.ptx.cp and pyptx._core.ptx.tma: asynchronous copies. See pyptx/build/cp_async.h and
// tma.h.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <string>

#include "bind_async.h"
#include "operands.h"
#include "pyptx/build/cp_async.h"
#include "pyptx/build/tma.h"
#include "trace.h"

namespace pyptx::python {
namespace {

using namespace nb::literals;
using build::Index;
using build::Tracer;
namespace tma = build::tma;

constexpr std::string_view kMap = "the tensor map";

tma::LoadOptions load_options(Tracer& t, int cta_group, nb::handle mask, nb::handle pred) {
  tma::LoadOptions options;
  options.cta_group = cta_group;
  options.guard = to_guard(t, pred);
  if (!mask.is_none()) options.multicast_mask = to_index(t, mask, "the multicast mask");
  return options;
}

void load(Tracer& t, std::size_t rank, nb::handle dst, nb::handle src,
          const std::vector<Index>& coordinates, nb::handle mbar, tma::LoadOptions options) {
  const auto map = to_reg(t, src, kMap);
  if (!map) return;
  tma::load(t, rank, to_place(t, dst, "the destination"), *map, coordinates,
            to_place(t, mbar, "mbar"), options);
}

void store(Tracer& t, std::size_t rank, nb::handle dst, nb::handle src,
           const std::vector<Index>& coordinates, nb::handle pred) {
  const auto map = to_reg(t, dst, kMap);
  if (!map) return;
  tma::store(t, rank, *map, coordinates, to_place(t, src, "the source"), to_guard(t, pred));
}

void bind_tensor_copies(nb::module_& bulk, nb::module_& tensor) {
  for (std::size_t rank = 1; rank <= 5; ++rank) {
    const std::string suffix = "_" + std::to_string(rank) + "d";
    const auto load_or_store = [rank](nb::handle dst, nb::handle src, nb::handle coord,
                                      nb::handle mbar, int cta_group, nb::handle mask,
                                      nb::handle pred) {
      traced([&](Tracer& t) {
        const auto at = to_indices(t, coord, "a coordinate");
        if (mbar.is_none()) {
          store(t, rank, dst, src, at, pred);
        } else {
          load(t, rank, dst, src, at, mbar, load_options(t, cta_group, mask, pred));
        }
      });
    };
    bulk.def(("tensor" + suffix).c_str(), load_or_store, nb::kw_only(), "dst"_a, "src"_a, "coord"_a,
             "mbar"_a = nb::none(), "cta_group"_a = 1, "multicast_mask"_a = nb::none(),
             "pred"_a = nb::none(), "Copies a box: loads it where mbar is given, else stores it.");
    const auto tile = [load_or_store](nb::handle dst, nb::handle src, nb::handle coord,
                                      nb::handle mbar, int cta_group, nb::handle mask,
                                      nb::handle pred) {
      load_or_store(dst, src, coord, mbar, cta_group, mask, pred);
    };
    tensor.def(("tile" + suffix).c_str(), tile, nb::kw_only(), "dst"_a, "src"_a, "coord"_a,
               "mbar"_a, "cta_group"_a = 1, "multicast_mask"_a = nb::none(), "pred"_a = nb::none(),
               "Loads a box.");
    const auto store_box = [rank](nb::handle dst, nb::handle src, nb::handle coord,
                                  nb::handle pred) {
      traced(
          [&](Tracer& t) { store(t, rank, dst, src, to_indices(t, coord, "a coordinate"), pred); });
    };
    tensor.def(("store" + suffix).c_str(), store_box, nb::kw_only(), "dst"_a, "src"_a, "coord"_a,
               "pred"_a = nb::none(), "Stores a box.");
  }
}

void bind_bulk(nb::module_& m) {
  nb::module_ tensor = m.def_submodule("tensor", "Boxes of a tensor map.");
  bind_tensor_copies(m, tensor);
  m.def(
      "load",
      [](nb::handle dst, nb::handle src, nb::handle bytes, nb::handle mbar, nb::handle pred) {
        traced([&](Tracer& t) {
          tma::load_bytes(t, to_place(t, dst, "the destination"), to_global(t, src),
                          to_index(t, bytes, "the bytes"), to_place(t, mbar, "mbar"),
                          to_guard(t, pred));
        });
      },
      nb::kw_only(), "dst"_a, "src"_a, "bytes"_a, "mbar"_a, "pred"_a = nb::none(),
      "Copies bytes from global to shared memory.");
  m.def(
      "store",
      [](nb::handle dst, nb::handle src, nb::handle bytes, nb::handle pred) {
        traced([&](Tracer& t) {
          tma::store_bytes(t, to_global(t, dst), to_place(t, src, "the source"),
                           to_index(t, bytes, "the bytes"), to_guard(t, pred));
        });
      },
      nb::kw_only(), "dst"_a, "src"_a, "bytes"_a, "pred"_a = nb::none(),
      "Copies bytes from shared to global memory.");
  m.def(
      "commit_group",
      [](nb::handle pred) { traced([&](Tracer& t) { tma::commit_group(t, to_guard(t, pred)); }); },
      "pred"_a = nb::none());
  m.def(
      "wait_group",
      [](std::int64_t n, bool read) { traced([&](Tracer& t) { tma::wait_group(t, n, read); }); },
      "n"_a, "read"_a = false);
}

template <build::cp_async::Cache cache>
void copy(nb::handle dst, nb::handle src, std::int64_t bytes, nb::handle src_bytes,
          nb::handle pred) {
  traced([&](Tracer& t) {
    std::optional<Index> partial;
    if (!src_bytes.is_none()) partial = to_index(t, src_bytes, "the source bytes");
    build::cp_async::copy(t, cache, to_place(t, dst, "the destination"), to_global(t, src), bytes,
                          partial, to_guard(t, pred));
  });
}

void bind_cp_async(nb::module_& m) {
  namespace cp = build::cp_async;
  m.def("ca", &copy<cp::Cache::All>, "dst"_a, "src"_a, "bytes"_a, "src_bytes"_a = nb::none(),
        "pred"_a = nb::none());
  m.def("cg", &copy<cp::Cache::Global>, "dst"_a, "src"_a, "bytes"_a = 16,
        "src_bytes"_a = nb::none(), "pred"_a = nb::none());
  m.def("commit_group", [] { traced(cp::commit_group); });
  m.def(
      "wait_group", [](std::int64_t n) { traced([&](Tracer& t) { cp::wait_group(t, n); }); },
      "n"_a);
  m.def("wait_all", [] { traced(cp::wait_all); });
  nb::module_ bulk = m.def_submodule("bulk", "Bulk copies.");
  bind_bulk(bulk);
}

/// coords, or the ones of (row, col) in a matrix of 64-element blocks.
std::vector<Index> coordinates_3d(Tracer& t, nb::handle row, nb::handle col, nb::handle coords) {
  if (!coords.is_none()) return to_indices(t, coords, "a coordinate");
  return tma::blocked_coordinates(t, to_index(t, row, "the row"), to_index(t, col, "the column"));
}

void bind_tma(nb::module_& m) {
  m.def(
      "load_3d",
      [](nb::handle dst, nb::handle src, nb::handle row, nb::handle col, nb::handle mbar,
         nb::handle coords, nb::handle pred) {
        traced([&](Tracer& t) {
          load(t, 3, dst, src, coordinates_3d(t, row, col, coords), mbar,
               load_options(t, 1, nb::none(), pred));
        });
      },
      "dst"_a, "src"_a, "row"_a = 0, "col"_a = 0, "mbar"_a = nb::none(), "coords"_a = nb::none(),
      "pred"_a = nb::none(), "Loads a box of a matrix seen as (64 elements, rows, cols / 64).");
  m.def(
      "load_3d_multicast",
      [](nb::handle dst, nb::handle src, nb::handle row, nb::handle col, nb::handle mbar,
         nb::handle mask, nb::handle coords, nb::handle pred) {
        traced([&](Tracer& t) {
          load(t, 3, dst, src, coordinates_3d(t, row, col, coords), mbar,
               load_options(t, 1, mask, pred));
        });
      },
      "dst"_a, "src"_a, "row"_a, "col"_a, "mbar"_a, "mask"_a, "coords"_a = nb::none(),
      "pred"_a = nb::none(), "load_3d into every CTA of the mask.");
  m.def(
      "store_3d",
      [](nb::handle dst, nb::handle src, nb::handle row, nb::handle col, nb::handle coords,
         nb::handle pred) {
        traced(
            [&](Tracer& t) { store(t, 3, dst, src, coordinates_3d(t, row, col, coords), pred); });
      },
      "dst"_a, "src"_a, "row"_a = 0, "col"_a = 0, "coords"_a = nb::none(), "pred"_a = nb::none(),
      "Stores a box of a matrix seen as (64 elements, rows, cols / 64).");
}

}  // namespace

void bind_async_copies(nb::module_& ptx) {
  nb::module_ cp = ptx.def_submodule("cp", "Asynchronous copies.");
  nb::module_ cp_async = cp.def_submodule("async_", "cp.async.");
  bind_cp_async(cp_async);
  nb::module_ tma_module = ptx.def_submodule("tma", "Copies of matrix boxes.");
  bind_tma(tma_module);
}

}  // namespace pyptx::python
