// SPDX-License-Identifier: Apache-2.0
//
// Branches, statements, warp reductions and CTA barriers of pyptx.ptx; blocks are in
// ptx_blocks.cpp.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "pyptx/build/control.h"
#include "pyptx/build/warp.h"
#include "trace/operands.h"
#include "trace/trace.h"
#include "trace/values.h"

namespace pyptx::python {

void bind_blocks(nb::module_& ptx);
void bind_ptx_control(nb::module_& m);

namespace {

using namespace nb::literals;
using build::BinaryOp;
using build::Reg;
using build::Tracer;
using build::Value;

void run_kloop(nb::handle total, std::int64_t unroll, const nb::callable& body,
               const std::string& label) {
  traced([&](Tracer& t) {
    build::kloop(
        t, need_value(t, total), unroll,
        [&](Value index) {
          check(t);
          if (index.reg() != nullptr) {
            body(*index.reg());
          } else {
            body(*index.integer());
          }
        },
        label);
  });
}

void bind_kloop(nb::module_& ptx) {
  ptx.def("kloop", &run_kloop, "total"_a, nb::kw_only(), "unroll"_a, "body"_a,
          "loop_label"_a = "kloop",
          "Runs body for 0 to total - 1, `unroll` times per trip of a loop.");
}

void bind_control_statements(nb::module_& ptx) {
  ptx.def(
      "label",
      [](const std::string& name) { traced([&](Tracer& t) { build::place_label(t, name); }); },
      "name"_a, "Puts a label here.");
  ptx.def(
      "bra",
      [](const std::string& label, nb::handle p) {
        traced([&](Tracer& t) { build::branch(t, label, to_guard(t, p)); });
      },
      "label"_a, "pred"_a = nb::none(), "Branches to a label.");
  ptx.def(
      "break_",
      [](nb::handle p) { traced([&](Tracer& t) { build::break_loop(t, to_guard(t, p)); }); },
      "pred"_a = nb::none(), "Leaves the innermost while_, range_ or loop.");
  ptx.def(
      "continue_",
      [](nb::handle p) { traced([&](Tracer& t) { build::continue_loop(t, to_guard(t, p)); }); },
      "pred"_a = nb::none(), "Goes on with the next trip of the innermost while_, range_ or loop.");
  ptx.def(
      "ret", [](nb::handle p) { traced([&](Tracer& t) { build::ret(t, to_guard(t, p)); }); },
      "pred"_a = nb::none(), "Ends the thread.");
  ptx.def(
      "trap", [](nb::handle p) { traced([&](Tracer& t) { build::trap(t, to_guard(t, p)); }); },
      "pred"_a = nb::none(), "Stops the kernel with an error.");
}

void reduction(nb::module_& warp, const char* name, BinaryOp op) {
  warp.def(
      name,
      [op](nb::object reg, std::int64_t width) {
        traced([&](Tracer& t) { build::warp_reduce(t, op, nb::cast<Reg>(reg), width); });
        return reg;
      },
      "reg"_a, nb::kw_only(), "width"_a = 32,
      "Combine a register over groups of `width` lanes, in place; gives the register.");
}

void barrier_sync(nb::handle id, nb::handle count) {
  traced([&](Tracer& t) {
    const Value barrier = need_value(t, id);
    build::bar_sync(t, barrier,
                    count.is_none() ? std::nullopt : std::optional(need_value(t, count)));
  });
}

/// A hardware barrier by number, for part of the CTA where a count is given.
struct NamedBarrier {
  nb::object id;
  nb::object count;
};

/// What may be written: a register, a vector of them, or nothing.
bool is_destination(nb::handle value) {
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value) == "_";
  return nb::isinstance<Reg>(value) || nb::isinstance<nb::list>(value) ||
         nb::isinstance<RegArray>(value);
}

PipeRef make_pipe(nb::handle src, nb::handle second) {
  if (nb::isinstance<PipeRef>(src) && second.is_none()) return nb::cast<PipeRef>(src);
  const nb::object pair = second.is_none() ? nb::borrow(src) : nb::make_tuple(src, second);
  const bool is_pair = nb::isinstance<nb::tuple>(pair) || nb::isinstance<nb::list>(pair);
  if (is_pair && nb::len(pair) == 2) {
    const PipeRef made{nb::object(pair[0]), nb::object(pair[1])};
    if (is_destination(made.first) && is_destination(made.second)) return made;
  }
  raise_here(
      {diag::Kind::BadArgument,
       {"a pair p|q", "two registers, vectors or '_'", nb::cast<std::string>(nb::repr(pair))}});
}

void bind_barriers(nb::module_& ptx) {
  nb::module_ warp = ptx.def_submodule("warp", "Operations of a whole warp.");
  reduction(warp, "reduce_sum", BinaryOp::Add);
  reduction(warp, "reduce_max", BinaryOp::Max);
  reduction(warp, "reduce_min", BinaryOp::Min);
  nb::module_ bar = ptx.def_submodule("bar", "CTA barriers.");
  bar.def("sync", &barrier_sync, "n"_a = 0, "count"_a = nb::none(),
          "Waits for the threads of the CTA, or `count` of them.");
  bar.def(
      "arrive",
      [](nb::handle id, nb::handle count) {
        traced([&](Tracer& t) { build::bar_arrive(t, need_value(t, id), need_value(t, count)); });
      },
      "n"_a, "count"_a, "Arrives and goes on; `count` threads take part.");
  nb::class_<NamedBarrier>(ptx, "NamedBarrier")
      .def("sync", [](const NamedBarrier& b) { barrier_sync(b.id, b.count); })
      .def("arrive", [](const NamedBarrier& b) {
        traced(
            [&](Tracer& t) { build::bar_arrive(t, need_value(t, b.id), need_value(t, b.count)); });
      });
  ptx.def(
      "named_barrier",
      [](nb::object id, nb::object count) { return NamedBarrier{std::move(id), std::move(count)}; },
      "id"_a, nb::kw_only(), "count"_a = nb::none(),
      "The barrier `id` of the CTA, for `count` threads or all.");
  ptx.def(
      "elect_sync",
      [](std::optional<Reg> dst, Reg pred, nb::handle mask) {
        traced([&](Tracer& t) { build::elect_sync(t, dst, pred, need_value(t, mask)); });
        return pred;
      },
      nb::arg("dst").none(), "pred"_a, "mask"_a = 0xffffffffLL,
      "elect.sync dst|pred, mask; dst may be None.");
  ptx.def("pipe", &make_pipe, "src"_a, "second"_a = nb::none(),
          "p|q: of two registers, of a pair of them, or of what is one already.");
}

}  // namespace

void bind_ptx_control(nb::module_& m) {
  auto ptx = nb::borrow<nb::module_>(m.attr("ptx"));
  bind_blocks(ptx);
  bind_kloop(ptx);
  bind_control_statements(ptx);
  bind_barriers(ptx);
}

}  // namespace pyptx::python
