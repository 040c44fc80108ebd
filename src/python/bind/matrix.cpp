// SPDX-License-Identifier: Apache-2.0
//
// pyptx._core.ptx.mma, ldmatrix and stmatrix. See pyptx/build/mma.h.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <string>

#include "bind/async.h"
#include "pyptx/build/mma.h"
#include "trace/operands.h"
#include "trace/trace.h"

namespace pyptx::python {

void bind_matrix(nb::module_& ptx);

namespace {

using namespace nb::literals;
using build::Tracer;
using Text = std::optional<std::string>;
namespace mma = build::mma;

std::array<build::Index, 2> to_pair(Tracer& t, nb::handle value, const char* what) {
  const auto list = to_indices(t, value, what);
  if (list.size() == 2) return {list[0], list[1]};
  t.report(diag::Diagnostic(diag::Kind::BadArgument,
                            {what, "a byte and a thread", std::to_string(list.size()) + " numbers"})
               .about(what));
  return {0, 0};
}

/// Both scales, or none: the table knows no product with one.
std::optional<mma::BlockScale> to_block_scale(Tracer& t, nb::handle scale_a, nb::handle scale_b,
                                              nb::handle type, const Text& vector_size,
                                              nb::handle select_a, nb::handle select_b) {
  if (scale_a.is_none() && scale_b.is_none()) return std::nullopt;
  const auto a = to_reg(t, scale_a, "scale_a");
  const auto b = to_reg(t, scale_b, "scale_b");
  if (!a || !b) return std::nullopt;
  return mma::BlockScale{to_type(type),
                         *a,
                         *b,
                         to_pair(t, select_a, "select_a"),
                         to_pair(t, select_b, "select_b"),
                         vector_size.value_or("")};
}

// One parameter for each keyword of the Python function.
// NOLINTNEXTLINE(readability-function-size)
void mma_sync(std::array<std::int64_t, 3> shape, nb::handle dtype_d, nb::handle dtype_a,
              nb::handle dtype_b, nb::handle dtype_c, nb::handle d, nb::handle a, nb::handle b,
              nb::handle c, const std::string& a_layout, const std::string& b_layout,
              const Text& kind, const Text& rounding, const Text& bit_op, bool satfinite,
              nb::handle sp_meta, std::int64_t sp_selector, bool sp_ordered, nb::handle scale_a,
              nb::handle scale_b, nb::handle scale_dtype, const Text& scale_vec,
              nb::handle select_a, nb::handle select_b, nb::handle pred) {
  mma::Arguments in;
  in.shape = shape;
  in.type_d = to_type(dtype_d);
  in.type_a = to_type(dtype_a);
  in.type_b = to_type(dtype_b);
  in.type_c = to_type(dtype_c);
  in.layout_a = a_layout;
  in.layout_b = b_layout;
  in.kind = kind.value_or("");
  in.rounding = rounding.value_or("");
  in.bit_op = bit_op.value_or("");
  in.saturate = satfinite;
  traced([&](Tracer& t) {
    in.d = to_fragment(t, d, "d");
    in.a = to_fragment(t, a, "a");
    in.b = to_fragment(t, b, "b");
    in.c = to_fragment(t, c, "c");
    if (const auto metadata = to_maybe_reg(t, sp_meta, "sp_meta")) {
      in.sparsity = mma::Sparsity{*metadata, sp_selector, sp_ordered};
    }
    in.scale = to_block_scale(t, scale_a, scale_b, scale_dtype, scale_vec, select_a, select_b);
    in.guard = to_guard(t, pred);
    mma::sync(t, in);
  });
}

void ldmatrix(nb::handle dst, nb::handle src, const std::string& layout, bool trans,
              const std::string& shape, const Text& src_format, nb::handle pred) {
  traced([&](Tracer& t) {
    mma::ldmatrix(t, to_regs(t, dst, "dst"), to_place(t, src, {"the source", "src"}),
                  {layout, shape, trans, src_format.value_or(""), to_guard(t, pred)});
  });
}

void stmatrix(nb::handle smem, nb::handle regs, const std::string& layout, bool trans,
              const std::string& shape, nb::handle pred) {
  traced([&](Tracer& t) {
    mma::stmatrix(t, to_place(t, smem, {"the destination", "smem"}), to_regs(t, regs, "regs"),
                  {layout, shape, trans, "", to_guard(t, pred)});
  });
}

void store_bf16(nb::handle frag, nb::handle smem_base, nb::handle lane, std::int64_t row_stride,
                nb::handle tmp_bf16, nb::handle tmp_pack) {
  traced([&](Tracer& t) {
    mma::Scratch scratch;
    if (!tmp_bf16.is_none()) scratch.halves = to_regs(t, tmp_bf16, "tmp_bf16");
    if (!tmp_pack.is_none()) scratch.pairs = to_regs(t, tmp_pack, "tmp_pack");
    const auto id = to_reg(t, lane, {"the lane", "lane"});
    if (!id) return;
    mma::stmatrix_x4_trans_f32_bf16(t, to_regs(t, frag, {"the fragment", "frag"}),
                                    to_place(t, smem_base, {"the base", "base|smem_base"}), *id,
                                    row_stride, scratch);
  });
}

}  // namespace

void bind_matrix(nb::module_& ptx) {
  nb::module_ m = ptx.def_submodule("mma", "Matrix multiplication of one warp.");
  m.def("sync", &mma_sync, nb::kw_only(), "shape"_a, "dtype_d"_a, "dtype_a"_a, "dtype_b"_a,
        "dtype_c"_a, "d"_a, "a"_a, "b"_a, "c"_a, "a_layout"_a = "row", "b_layout"_a = "col",
        "kind"_a = nb::none(), "rounding"_a = nb::none(), "bit_op"_a = nb::none(),
        "satfinite"_a = false, "sp_meta"_a = nb::none(), "sp_selector"_a = 0, "sp_ordered"_a = true,
        "scale_a"_a = nb::none(), "scale_b"_a = nb::none(), "scale_dtype"_a = "ue8m0",
        "scale_vec"_a = nb::none(), "select_a"_a = nb::make_tuple(0, 0),
        "select_b"_a = nb::make_tuple(0, 0), "pred"_a = nb::none(),
        "D = A*B + C by a warp. Fragments are registers (c also numbers); sp_meta makes A sparse, "
        "scale_a and scale_b are registers with block scales.");
  ptx.def("ldmatrix", &ldmatrix, nb::kw_only(), "dst"_a, "src"_a, "layout"_a = "x4",
          "trans"_a = false, "shape"_a = "m8n8", "src_format"_a = nb::none(), "pred"_a = nb::none(),
          "Loads matrices from shared memory, a row from each lane's src.");
  ptx.def("stmatrix", &stmatrix, nb::kw_only(), "smem"_a, "regs"_a, "layout"_a = "x4",
          "trans"_a = false, "shape"_a = "m8n8", "pred"_a = nb::none(),
          "Stores matrices to shared memory, a row to each lane's address.");
  ptx.def("stmatrix_x4_trans_f32_bf16", &store_bf16, nb::kw_only(), "frag"_a, "smem_base"_a,
          "lane"_a, "row_stride"_a, "tmp_bf16"_a = nb::none(), "tmp_pack"_a = nb::none(),
          "Stores a warp's f32 accumulator (8 registers for 16 columns) as bf16, transposed: "
          "column c goes to smem_base + c * row_stride bytes.");
}

}  // namespace pyptx::python
