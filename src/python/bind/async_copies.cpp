// SPDX-License-Identifier: Apache-2.0
//
// pyptx._core.ptx.cp: asynchronous copies of bytes. See pyptx/build/cp_async.h and tma.h; copies of
// boxes are in tensor_copies.cpp.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <string>

#include "bind/async.h"
#include "pyptx/build/cp_async.h"
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

void bind_bulk(nb::module_& m) {
  bind_tensor_copies(m);
  m.def(
      "load",
      [](nb::handle dst, nb::handle src, nb::handle bytes, nb::handle mbar, nb::handle mask,
         nb::handle pred) {
        traced([&](Tracer& t) {
          tma::load_bytes(t, to_place(t, dst, {"the destination", "dst"}), to_global(t, src, "src"),
                          to_index(t, bytes, {"the bytes", "bytes"}), to_place(t, mbar, "mbar"),
                          to_maybe_index(t, mask, {"the multicast mask", "multicast_mask|mask"}),
                          to_guard(t, pred));
        });
      },
      nb::kw_only(), "dst"_a, "src"_a, "bytes"_a, "mbar"_a, "multicast_mask"_a = nb::none(),
      "pred"_a = nb::none(), "Copies bytes from global to shared memory.");
  m.def(
      "store",
      [](nb::handle dst, nb::handle src, nb::handle bytes, nb::handle pred) {
        traced([&](Tracer& t) {
          tma::store_bytes(t, to_global(t, dst, "dst"), to_place(t, src, {"the source", "src"}),
                           to_index(t, bytes, {"the bytes", "bytes"}), to_guard(t, pred));
        });
      },
      nb::kw_only(), "dst"_a, "src"_a, "bytes"_a, "pred"_a = nb::none(),
      "Copies bytes from shared to global memory.");
  m.def(
      "reduce",
      [](nb::handle dst, nb::handle src, nb::handle bytes, nb::handle type, const std::string& op,
         nb::handle pred) {
        const isa::Type element = to_type(type);
        traced([&](Tracer& t) {
          tma::reduce_bytes(t, op, element, to_global(t, dst, "dst"),
                            to_place(t, src, {"the source", "src"}),
                            to_index(t, bytes, {"the bytes", "bytes"}), to_guard(t, pred));
        });
      },
      nb::kw_only(), "dst"_a, "src"_a, "bytes"_a, "dtype"_a, "op"_a = "add", "pred"_a = nb::none(),
      "Combines global memory with shared memory, element by element.");
  m.def(
      "prefetch",
      [](nb::handle src, nb::handle bytes, nb::handle pred) {
        traced([&](Tracer& t) {
          tma::prefetch_bytes(t, to_global(t, src, "src"),
                              to_index(t, bytes, {"the bytes", "bytes"}), to_guard(t, pred));
        });
      },
      nb::kw_only(), "src"_a, "bytes"_a, "pred"_a = nb::none(), "Brings bytes into the L2 cache.");
  m.def(
      "copy_to_cluster",
      [](nb::handle dst, nb::handle src, nb::handle bytes, nb::handle mbar, nb::handle pred) {
        traced([&](Tracer& t) {
          const auto to = to_reg(t, dst, {"the destination", "dst"});
          const auto barrier = to_reg(t, mbar, "mbar");
          if (!to || !barrier) return;
          tma::copy_to_cluster(t, *to, to_place(t, src, {"the source", "src"}),
                               to_index(t, bytes, {"the bytes", "bytes"}), *barrier,
                               to_guard(t, pred));
        });
      },
      nb::kw_only(), "dst"_a, "src"_a, "bytes"_a, "mbar"_a, "pred"_a = nb::none(),
      "Copies shared memory to another CTA; dst and mbar are addresses of map_shared_u32.");
  m.def(
      "commit_group",
      [](nb::handle pred) { traced([&](Tracer& t) { tma::commit_group(t, to_guard(t, pred)); }); },
      "pred"_a = nb::none(), "Closes the bulk group of the stores issued so far.");
  m.def(
      "wait_group",
      [](std::int64_t n, bool read) { traced([&](Tracer& t) { tma::wait_group(t, n, read); }); },
      "n"_a, "read"_a = false, "Waits until at most n bulk groups are unfinished (or unread).");
}

template <build::cp_async::Cache cache>
void copy(nb::handle dst, nb::handle src, std::int64_t bytes, nb::handle src_bytes,
          nb::handle pred) {
  traced([&](Tracer& t) {
    std::optional<Index> partial;
    if (!src_bytes.is_none()) partial = to_index(t, src_bytes, {"the source bytes", "src_bytes"});
    build::cp_async::copy(t, cache, to_place(t, dst, {"the destination", "dst"}),
                          to_global(t, src, "src"), bytes, partial, to_guard(t, pred));
  });
}

void bind_cp_async(nb::module_& m) {
  namespace cp = build::cp_async;
  m.def("ca", &copy<cp::Cache::All>, "dst"_a, "src"_a, "bytes"_a, "src_bytes"_a = nb::none(),
        "pred"_a = nb::none(), "cp.async.ca: 4, 8 or 16 bytes, global to shared, through L1.");
  m.def("cg", &copy<cp::Cache::Global>, "dst"_a, "src"_a, "bytes"_a = 16,
        "src_bytes"_a = nb::none(), "pred"_a = nb::none(),
        "cp.async.cg: 16 bytes, global to shared, past L1.");
  m.def(
      "commit_group", [] { traced(cp::commit_group); },
      "Closes the group of the copies issued so far.");
  m.def(
      "wait_group", [](std::int64_t n) { traced([&](Tracer& t) { cp::wait_group(t, n); }); }, "n"_a,
      "Waits until at most n groups are unfinished.");
  m.def("wait_all", [] { traced(cp::wait_all); }, "Waits for every copy of this thread.");
  nb::module_ bulk = m.def_submodule("bulk", "Bulk copies.");
  bind_bulk(bulk);
}

}  // namespace

void bind_async_copies(nb::module_& ptx) {
  nb::module_ cp = ptx.def_submodule("cp", "Asynchronous copies.");
  nb::module_ cp_async = cp.def_submodule("async_", "cp.async.");
  bind_cp_async(cp_async);
  bind_tma(ptx);
}

}  // namespace pyptx::python
