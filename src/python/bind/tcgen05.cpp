// SPDX-License-Identifier: Apache-2.0
//
// pyptx._core.ptx.tcgen05: tensor memory and tcgen05.mma. See pyptx/build/tcgen05.h; descriptors
// are in tcgen05_descriptor.cpp.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "bind/async.h"
#include "pyptx/build/tcgen05.h"
#include "trace/operands.h"
#include "trace/trace.h"

namespace pyptx::python {

void bind_tcgen05(nb::module_& ptx);
void bind_tcgen05_descriptors(nb::module_& tcgen05);

namespace {

using namespace nb::literals;
using build::Tracer;
using Text = std::optional<std::string>;
namespace tc = build::tcgen05;

constexpr build::Argument kAddress{"the tensor memory address", "taddr"};

void bind_allocation(nb::module_& m) {
  m.def(
      "alloc",
      [](nb::handle addr, nb::handle ncols, int cta_group, bool exclusive) {
        traced([&](Tracer& t) {
          tc::alloc(t, to_place(t, addr, {"the address", "addr|taddr"}),
                    to_index(t, ncols, {"the columns", "ncols"}), cta_group, exclusive);
        });
      },
      "addr"_a, "ncols"_a, nb::kw_only(), "cta_group"_a = 1, "exclusive"_a = false,
      "Allocates columns of tensor memory; their address is written to shared memory.");
  m.def(
      "dealloc",
      [](nb::handle taddr, nb::handle ncols, int cta_group, bool exclusive) {
        traced([&](Tracer& t) {
          const auto address = to_reg(t, taddr, kAddress);
          if (address) {
            tc::dealloc(t, *address, to_index(t, ncols, {"the columns", "ncols"}), cta_group,
                        exclusive);
          }
        });
      },
      "taddr"_a, "ncols"_a, nb::kw_only(), "cta_group"_a = 1, "exclusive"_a = false,
      "Frees columns of tensor memory.");
  m.def(
      "relinquish_alloc_permit",
      [](int cta_group) { traced([&](Tracer& t) { tc::relinquish_alloc_permit(t, cta_group); }); },
      nb::kw_only(), "cta_group"_a = 1, "This CTA will allocate no more.");
}

tc::MoveOptions move_options(Tracer& t, std::string shape, std::int64_t count, bool pack,
                             std::optional<std::int64_t> split, nb::handle pred) {
  return {std::move(shape), count, pack, split, to_guard(t, pred)};
}

void bind_movement(nb::module_& m) {
  m.def(
      "ld",
      [](nb::handle dst, nb::handle taddr, const std::string& shape, std::int64_t count, bool pack,
         std::optional<std::int64_t> split, nb::handle pred) {
        traced([&](Tracer& t) {
          tc::ld(t, to_regs(t, dst, "dst"), to_tmem(t, taddr, kAddress),
                 move_options(t, shape, count, pack, split, pred));
        });
      },
      "dst"_a, "taddr"_a, nb::kw_only(), "shape"_a = "16x128b", "count"_a = 1, "pack"_a = false,
      "split"_a = nb::none(), "pred"_a = nb::none(),
      "Tensor memory to registers; wait_ld() before they are read.");
  m.def(
      "ld_red",
      [](nb::handle dst, nb::handle result, nb::handle taddr, const std::string& op,
         nb::handle type, const std::string& shape, std::int64_t count, bool abs, bool nan,
         std::optional<std::int64_t> split, nb::handle pred) {
        const isa::Type element = to_type(type);
        traced([&](Tracer& t) {
          const auto reg = to_reg(t, result, "result");
          if (!reg) return;
          tc::ld_red(t, to_regs(t, dst, "dst"), to_tmem(t, taddr, kAddress),
                     {op, element, abs, nan, *reg},
                     move_options(t, shape, count, false, split, pred));
        });
      },
      "dst"_a, "result"_a, "taddr"_a, nb::kw_only(), "op"_a, "dtype"_a, "shape"_a = "32x32b",
      "count"_a = 2, "abs"_a = false, "nan"_a = false, "split"_a = nb::none(),
      "pred"_a = nb::none(), "ld, and the least or greatest of what the thread got in result.");
  m.def(
      "st",
      [](nb::handle taddr, nb::handle src, const std::string& shape, std::int64_t count,
         bool unpack, std::optional<std::int64_t> split, nb::handle pred) {
        traced([&](Tracer& t) {
          tc::st(t, to_tmem(t, taddr, kAddress), to_regs(t, src, "src"),
                 move_options(t, shape, count, unpack, split, pred));
        });
      },
      "taddr"_a, "src"_a, nb::kw_only(), "shape"_a = "16x128b", "count"_a = 1, "unpack"_a = false,
      "split"_a = nb::none(), "pred"_a = nb::none(), "Registers to tensor memory.");
  m.def(
      "cp",
      [](nb::handle taddr, nb::handle desc, const std::string& size, int cta_group,
         const Text& multicast, const Text& src_format, nb::handle pred) {
        traced([&](Tracer& t) {
          tc::cp(t, to_tmem(t, taddr, kAddress), to_index(t, desc, {"the descriptor", "desc"}),
                 size,
                 {cta_group, multicast.value_or(""), src_format.value_or(""), to_guard(t, pred)});
        });
      },
      "taddr"_a, "desc"_a, nb::kw_only(), "size"_a, "cta_group"_a = 1, "multicast"_a = nb::none(),
      "src_format"_a = nb::none(), "pred"_a = nb::none(),
      "Shared memory, by a descriptor, to tensor memory.");
  m.def(
      "shift",
      [](nb::handle taddr, int cta_group, nb::handle pred) {
        traced([&](Tracer& t) {
          tc::shift(t, to_tmem(t, taddr, kAddress), cta_group, to_guard(t, pred));
        });
      },
      "taddr"_a, nb::kw_only(), "cta_group"_a = 1, "pred"_a = nb::none(), "Rows move down by one.");
}

/// `multicast` and a mask go together.
void commit(nb::handle mbar, int cta_group, bool multicast, nb::handle multicast_mask,
            const Text& space, nb::handle pred) {
  traced([&](Tracer& t) {
    tc::CommitOptions options;
    options.cta_group = cta_group;
    options.multicast_mask =
        to_maybe_index(t, multicast_mask, {"the multicast mask", "multicast_mask|mask"});
    options.space = space.value_or("");
    options.guard = to_guard(t, pred);
    if (multicast && !options.multicast_mask) {
      t.report(diag::Diagnostic(diag::Kind::BadArgument,
                                {"multicast_mask", "given with multicast", "None"})
                   .about("multicast"));
    }
    if (!t.has_error()) tc::commit(t, to_place(t, mbar, {"an mbarrier", "b|bar|mbar"}), options);
  });
}

void bind_order(nb::module_& m) {
  m.def("commit", &commit, "mbar"_a, nb::kw_only(), "cta_group"_a = 1, "multicast"_a = false,
        "multicast_mask"_a = nb::none(), "space"_a = "cluster", "pred"_a = nb::none(),
        "The mbarrier is arrived on when all that this thread has started is complete.");
  m.def("wait_ld", [] { traced(tc::wait_ld); }, "Waits for the loads of this thread.");
  m.def("wait_st", [] { traced(tc::wait_st); }, "Waits for the stores of this thread.");
  m.def(
      "fence_before_thread_sync", [] { traced(tc::fence_before_thread_sync); },
      "Orders tcgen05 work before a barrier that follows.");
  m.def(
      "fence_after_thread_sync", [] { traced(tc::fence_after_thread_sync); },
      "Orders tcgen05 work after a barrier that came before.");
}

tc::Source to_mma_source(Tracer& t, nb::handle value, bool is_tmem, const char* what) {
  if (is_tmem) return to_tmem(t, value, what);
  if (nb::isinstance<build::SharedView>(value)) return nb::cast<build::SharedView&>(value);
  return to_reg(t, value, what).value_or(build::Reg{});
}

// One parameter for each keyword of the Python function.
// NOLINTNEXTLINE(readability-function-size)
void multiply(nb::handle d, nb::handle a, nb::handle b, nb::handle idesc, int cta_group,
              const std::string& kind, nb::handle enable_input_d,
              std::optional<std::int64_t> scale_d, bool sparse, bool ashift,
              const Text& collector_a, bool a_is_tmem, const Text& collector_b,
              std::optional<std::int64_t> collector_buffer, bool ws, nb::handle sp_meta,
              nb::handle disable_output_lane, nb::handle scale_a, nb::handle scale_b,
              const Text& scale_vec, nb::handle zero_column_mask, nb::handle lut,
              std::int64_t a_k_offset, std::int64_t b_k_offset, nb::handle pred) {
  tc::MmaArguments in;
  in.kind = kind;
  in.cta_group = cta_group;
  in.scale_d = scale_d;
  in.ashift = ashift;
  in.collector_a = collector_a.value_or("");
  in.collector_b = collector_b.value_or("");
  in.collector_buffer = collector_buffer;
  in.ws = ws;
  in.scale_vec = scale_vec.value_or("");
  in.k_offset_a = a_k_offset;
  in.k_offset_b = b_k_offset;
  traced([&](Tracer& t) {
    in.d = to_tmem(t, d, "d");
    in.a = to_mma_source(t, a, a_is_tmem, "a");
    in.b = to_mma_source(t, b, false, "b");
    in.instruction = to_index(t, idesc, {"the instruction descriptor", "idesc"});
    in.enable_input_d = to_flag(t, enable_input_d, "enable_input_d");
    in.metadata = to_maybe_tmem(t, sp_meta, "sp_meta");
    if (sparse != in.metadata.has_value()) {
      t.report(
          diag::Diagnostic(diag::Kind::BadArgument,
                           {"sp_meta", sparse ? "given with sparse" : "left out without sparse",
                            sparse ? "None" : "an address"})
              .about(sparse ? "sparse" : "sp_meta"));
    }
    if (!disable_output_lane.is_none()) {
      in.disable_output_lane = to_regs(t, disable_output_lane, "disable_output_lane");
    }
    in.scale_a = to_maybe_tmem(t, scale_a, "scale_a");
    in.scale_b = to_maybe_tmem(t, scale_b, "scale_b");
    in.zero_column_mask = to_maybe_index(t, zero_column_mask, "zero_column_mask");
    in.lut = to_maybe_tmem(t, lut, "lut");
    in.guard = to_guard(t, pred);
    if (!t.has_error()) tc::mma(t, in);
  });
}

void bind_mma(nb::module_& m) {
  m.def("mma", &multiply, "d"_a, "a"_a, "b"_a, "idesc"_a, nb::kw_only(), "cta_group"_a = 1,
        "kind"_a = "f16", "enable_input_d"_a = true, "scale_d"_a = nb::none(), "sparse"_a = false,
        "ashift"_a = false, "collector_a"_a = nb::none(), "a_is_tmem"_a = false,
        "collector_b"_a = nb::none(), "collector_buffer"_a = nb::none(), "ws"_a = false,
        "sp_meta"_a = nb::none(), "disable_output_lane"_a = nb::none(), "scale_a"_a = nb::none(),
        "scale_b"_a = nb::none(), "scale_vec"_a = nb::none(), "zero_column_mask"_a = nb::none(),
        "lut"_a = nb::none(), "a_k_offset"_a = 0, "b_k_offset"_a = 0, "pred"_a = nb::none(),
        "D = A*B (+ D with enable_input_d) in tensor memory, started by one thread. a and b are "
        "descriptors or tiles in shared memory; a is in tensor memory with a_is_tmem.");
}

}  // namespace

void bind_tcgen05(nb::module_& ptx) {
  nb::module_ m = ptx.def_submodule("tcgen05", "The fifth-generation TensorCore.");
  bind_allocation(m);
  bind_movement(m);
  bind_order(m);
  bind_mma(m);
  bind_tcgen05_descriptors(m);
}

}  // namespace pyptx::python
