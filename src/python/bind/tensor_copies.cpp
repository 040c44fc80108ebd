// SPDX-License-Identifier: Apache-2.0
//
// pyptx._core.ptx.cp.async_.bulk.tensor and pyptx._core.ptx.tma: copies of boxes of a tensor map.
// See pyptx/build/tma.h.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "bind/async.h"
#include "pyptx/build/tma.h"
#include "trace/operands.h"
#include "trace/trace.h"

namespace pyptx::python {

void bind_tensor_copies(nb::module_& bulk);
void bind_tma(nb::module_& ptx);

namespace {

using namespace nb::literals;
using build::Index;
using build::Tracer;
namespace tma = build::tma;

constexpr build::Argument kPolicy{"the cache policy", "cache_policy"};

tma::LoadOptions load_options(Tracer& t, int cta_group, nb::handle mask, nb::handle policy,
                              nb::handle pred) {
  tma::LoadOptions options;
  options.cta_group = cta_group;
  options.guard = to_guard(t, pred);
  options.multicast_mask = to_maybe_index(t, mask, {"the multicast mask", "multicast_mask|mask"});
  options.cache_policy = to_maybe_reg(t, policy, kPolicy);
  return options;
}

tma::StoreOptions store_options(Tracer& t, std::string mode, nb::handle policy, nb::handle pred) {
  return {to_guard(t, pred), std::move(mode), to_maybe_reg(t, policy, kPolicy)};
}

/// Calls f(map, coordinates) where the map, given for `parameter`, is a register.
template <typename F>
void on_box(Tracer& t, nb::handle map, const char* parameter, nb::handle coord, F&& f) {
  const auto reg = to_reg(t, map, {"the tensor map", parameter});
  if (reg) f(*reg, to_indices(t, coord, {"a coordinate", "coord|coords"}));
}

void load(std::size_t rank, nb::handle dst, nb::handle src, nb::handle coord, nb::handle mbar,
          int cta_group, nb::handle mask, nb::handle policy, nb::handle pred) {
  traced([&](Tracer& t) {
    on_box(t, src, "src", coord, [&](build::Reg map, const std::vector<Index>& at) {
      tma::load(t, rank, to_place(t, dst, {"the destination", "dst"}), map, at,
                to_place(t, mbar, "mbar"), load_options(t, cta_group, mask, policy, pred));
    });
  });
}

void store(std::size_t rank, nb::handle dst, nb::handle src, nb::handle coord,
           const std::string& mode, nb::handle policy, nb::handle pred) {
  traced([&](Tracer& t) {
    on_box(t, dst, "dst", coord, [&](build::Reg map, const std::vector<Index>& at) {
      tma::store(t, rank, map, at, to_place(t, src, {"the source", "src"}),
                 store_options(t, mode, policy, pred));
    });
  });
}

/// Which side is shared memory says what was meant, where mbar says otherwise.
void check_direction(nb::handle dst, nb::handle src, nb::handle mbar) {
  const bool is_load = !mbar.is_none();
  if (!nb::isinstance<build::SharedView>(is_load ? src : dst)) return;
  if (nb::isinstance<build::SharedView>(is_load ? dst : src)) return;
  raise_here(diag::Diagnostic(diag::Kind::BadArgument,
                              {"mbar", is_load ? "left out of a store" : "given for a load",
                               is_load ? "an mbarrier" : "None"})
                 .about(is_load ? "mbar" : "mbar|dst")
                 .note("a load has dst in shared memory, the tensor map in src, and mbar; a store "
                       "has the map in dst, src in shared memory, and no mbar"));
}

void bind_loads(nb::module_& bulk, nb::module_& tensor, std::size_t rank) {
  const std::string suffix = "_" + std::to_string(rank) + "d";
  bulk.def(("tensor" + suffix).c_str(),
           [rank](nb::handle dst, nb::handle src, nb::handle coord, nb::handle mbar, int cta_group,
                  nb::handle mask, nb::handle policy, nb::handle pred) {
             check_direction(dst, src, mbar);
             if (mbar.is_none()) {
               store(rank, dst, src, coord, "tile", policy, pred);
             } else {
               load(rank, dst, src, coord, mbar, cta_group, mask, policy, pred);
             }
           },
           nb::kw_only(), "dst"_a, "src"_a, "coord"_a, "mbar"_a = nb::none(), "cta_group"_a = 1,
           "multicast_mask"_a = nb::none(), "cache_policy"_a = nb::none(), "pred"_a = nb::none(),
           "Copies a box: loads it where mbar is given, else stores it.");
  tensor.def(("tile" + suffix).c_str(),
             [rank](nb::handle dst, nb::handle src, nb::handle coord, nb::handle mbar,
                    int cta_group, nb::handle mask, nb::handle policy, nb::handle pred) {
               load(rank, dst, src, coord, mbar, cta_group, mask, policy, pred);
             },
             nb::kw_only(), "dst"_a, "src"_a, "coord"_a, "mbar"_a.none(), "cta_group"_a = 1,
             "multicast_mask"_a = nb::none(), "cache_policy"_a = nb::none(), "pred"_a = nb::none(),
             "Loads a box.");
  if (rank < 3) return;
  tensor.def(
      ("im2col" + suffix).c_str(),
      [rank](nb::handle dst, nb::handle src, nb::handle coord, nb::handle offsets, nb::handle mbar,
             const std::string& mode, int cta_group, nb::handle mask, nb::handle policy,
             nb::handle pred) {
        traced([&](Tracer& t) {
          on_box(t, src, "src", coord, [&](build::Reg map, const std::vector<Index>& at) {
            auto options = load_options(t, cta_group, mask, policy, pred);
            options.mode = mode;
            options.offsets = to_indices(t, offsets, {"an im2col offset", "offsets"});
            tma::load(t, rank, to_place(t, dst, {"the destination", "dst"}), map, at,
                      to_place(t, mbar, "mbar"), options);
          });
        });
      },
      nb::kw_only(), "dst"_a, "src"_a, "coord"_a, "offsets"_a, "mbar"_a.none(), "mode"_a = "im2col",
      "cta_group"_a = 1, "multicast_mask"_a = nb::none(), "cache_policy"_a = nb::none(),
      "pred"_a = nb::none(),
      "Loads a box by im2col: an offset for each dimension but two, or two for mode im2col::w.");
}

void bind_stores(nb::module_& tensor, std::size_t rank) {
  const std::string suffix = "_" + std::to_string(rank) + "d";
  tensor.def(("store" + suffix).c_str(),
             [rank](nb::handle dst, nb::handle src, nb::handle coord, const std::string& mode,
                    nb::handle policy,
                    nb::handle pred) { store(rank, dst, src, coord, mode, policy, pred); },
             nb::kw_only(), "dst"_a, "src"_a, "coord"_a, "mode"_a = "tile",
             "cache_policy"_a = nb::none(), "pred"_a = nb::none(), "Stores a box.");
  tensor.def(("reduce" + suffix).c_str(),
             [rank](nb::handle dst, nb::handle src, nb::handle coord, const std::string& op,
                    const std::string& mode, nb::handle policy, nb::handle pred) {
               traced([&](Tracer& t) {
                 on_box(t, dst, "dst", coord, [&](build::Reg map, const std::vector<Index>& at) {
                   tma::reduce(t, op, rank, map, at, to_place(t, src, {"the source", "src"}),
                               store_options(t, mode, policy, pred));
                 });
               });
             },
             nb::kw_only(), "dst"_a, "src"_a, "coord"_a, "op"_a = "add", "mode"_a = "tile",
             "cache_policy"_a = nb::none(), "pred"_a = nb::none(),
             "Combines a box with shared memory.");
  tensor.def(("prefetch" + suffix).c_str(),
             [rank](nb::handle src, nb::handle coord, nb::handle policy, nb::handle pred) {
               traced([&](Tracer& t) {
                 on_box(t, src, "src", coord, [&](build::Reg map, const std::vector<Index>& at) {
                   tma::prefetch(t, rank, map, at, load_options(t, 1, nb::none(), policy, pred));
                 });
               });
             },
             nb::kw_only(), "src"_a, "coord"_a, "cache_policy"_a = nb::none(),
             "pred"_a = nb::none(), "Brings a box into the L2 cache.");
}

void bind_rows(nb::module_& tensor) {
  tensor.def(
      "gather4_2d",
      [](nb::handle dst, nb::handle src, nb::handle coord, nb::handle mbar, int cta_group,
         nb::handle mask, nb::handle policy, nb::handle pred) {
        traced([&](Tracer& t) {
          on_box(t, src, "src", coord, [&](build::Reg map, const std::vector<Index>& at) {
            tma::gather4(t, to_place(t, dst, {"the destination", "dst"}), map, at,
                         to_place(t, mbar, "mbar"), load_options(t, cta_group, mask, policy, pred));
          });
        });
      },
      nb::kw_only(), "dst"_a, "src"_a, "coord"_a, "mbar"_a.none(), "cta_group"_a = 1,
      "multicast_mask"_a = nb::none(), "cache_policy"_a = nb::none(), "pred"_a = nb::none(),
      "Loads four rows; coord is the column and the rows.");
  tensor.def(
      "scatter4_2d",
      [](nb::handle dst, nb::handle src, nb::handle coord, nb::handle policy, nb::handle pred) {
        traced([&](Tracer& t) {
          on_box(t, dst, "dst", coord, [&](build::Reg map, const std::vector<Index>& at) {
            tma::scatter4(t, map, at, to_place(t, src, {"the source", "src"}),
                          store_options(t, "tile", policy, pred));
          });
        });
      },
      nb::kw_only(), "dst"_a, "src"_a, "coord"_a, "cache_policy"_a = nb::none(),
      "pred"_a = nb::none(), "Stores four rows; coord is the column and the rows.");
  tensor.def(
      "prefetch_gather4_2d",
      [](nb::handle src, nb::handle coord, nb::handle policy, nb::handle pred) {
        traced([&](Tracer& t) {
          on_box(t, src, "src", coord, [&](build::Reg map, const std::vector<Index>& at) {
            tma::prefetch_gather4(t, map, at, load_options(t, 1, nb::none(), policy, pred));
          });
        });
      },
      nb::kw_only(), "src"_a, "coord"_a, "cache_policy"_a = nb::none(), "pred"_a = nb::none(),
      "Brings four rows into the L2 cache.");
}

/// coords, or the ones of (row, col) in a matrix of 64-element blocks.
std::vector<Index> coordinates_3d(Tracer& t, nb::handle row, nb::handle col, nb::handle coords) {
  if (!coords.is_none()) return to_indices(t, coords, {"a coordinate", "coord|coords"});
  return tma::blocked_coordinates(t, to_index(t, row, {"the row", "row"}),
                                  to_index(t, col, {"the column", "col"}));
}

void load_3d(nb::handle dst, nb::handle src, nb::handle row, nb::handle col, nb::handle mbar,
             nb::handle mask, nb::handle coords, nb::handle pred) {
  traced([&](Tracer& t) {
    const build::Expansion here(
        t, mask.is_none() ? "ptx.tma.load_3d(...)" : "ptx.tma.load_3d_multicast(...)");
    const auto map = to_reg(t, src, {"the tensor map", "src"});
    if (!map) return;
    tma::load(t, 3, to_place(t, dst, {"the destination", "dst"}), *map,
              coordinates_3d(t, row, col, coords), to_place(t, mbar, "mbar"),
              load_options(t, 1, mask, nb::none(), pred));
  });
}

}  // namespace

void bind_tensor_copies(nb::module_& bulk) {
  nb::module_ tensor = bulk.def_submodule("tensor", "Boxes of a tensor map.");
  for (std::size_t rank = 1; rank <= 5; ++rank) {
    bind_loads(bulk, tensor, rank);
    bind_stores(tensor, rank);
  }
  bind_rows(tensor);
  bulk.attr("gather4_2d") = tensor.attr("gather4_2d");
  bulk.attr("scatter4_2d") = tensor.attr("scatter4_2d");
}

void bind_tma(nb::module_& ptx) {
  nb::module_ m = ptx.def_submodule("tma", "Copies of matrix boxes.");
  m.def(
      "load_3d",
      [](nb::handle dst, nb::handle src, nb::handle row, nb::handle col, nb::handle mbar,
         nb::handle coords,
         nb::handle pred) { load_3d(dst, src, row, col, mbar, nb::none(), coords, pred); },
      "dst"_a, "src"_a, "row"_a = 0, "col"_a = 0, "mbar"_a = nb::none(), "coords"_a = nb::none(),
      "pred"_a = nb::none(), "Loads a box of a matrix seen as (64 elements, rows, cols / 64).");
  m.def("load_3d_multicast", &load_3d, "dst"_a, "src"_a, "row"_a, "col"_a, "mbar"_a.none(),
        "mask"_a, "coords"_a = nb::none(), "pred"_a = nb::none(),
        "load_3d into every CTA of the mask.");
  m.def(
      "store_3d",
      [](nb::handle dst, nb::handle src, nb::handle row, nb::handle col, nb::handle coords,
         nb::handle pred) {
        traced([&](Tracer& t) {
          const build::Expansion here(t, "ptx.tma.store_3d(...)");
          const auto map = to_reg(t, dst, {"the tensor map", "dst"});
          if (!map) return;
          tma::store(t, 3, *map, coordinates_3d(t, row, col, coords),
                     to_place(t, src, {"the source", "src"}),
                     store_options(t, "tile", nb::none(), pred));
        });
      },
      "dst"_a, "src"_a, "row"_a = 0, "col"_a = 0, "coords"_a = nb::none(), "pred"_a = nb::none(),
      "Stores a box of a matrix seen as (64 elements, rows, cols / 64).");
}

}  // namespace pyptx::python
