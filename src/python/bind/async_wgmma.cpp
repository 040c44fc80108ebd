// SPDX-License-Identifier: Apache-2.0
//
// pyptx._core.ptx.wgmma and pyptx._core.wgmma_layout. See pyptx/build/wgmma.h and
// pyptx/layout/canonical.h.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <string>
#include <tuple>

#include "bind/async.h"
#include "pyptx/build/wgmma.h"
#include "trace/operands.h"
#include "trace/trace.h"

namespace pyptx::python {
namespace {

using namespace nb::literals;
using build::Tracer;
namespace wgmma = build::wgmma;

/// A layout number (a pyptx.wgmma_layout.LayoutType is one), or a swizzle's name.
layout::LayoutType to_layout_type(Tracer& tracer, nb::handle value) {
  if (!PyLong_Check(value.ptr())) return layout::layout_type(to_swizzle(tracer, value));
  const auto number = nb::cast<std::int64_t>(value);
  if (number >= 0 && number <= 3) return static_cast<layout::LayoutType>(number);
  tracer.report(
      diag::Diagnostic(diag::Kind::BadArgument, {"swizzle", "0 to 3", std::to_string(number)})
          .about("swizzle"));
  return layout::LayoutType::Interleave;
}

// One parameter for each keyword of the Python function.
// NOLINTNEXTLINE(readability-function-size)
void mma_async(std::array<std::int64_t, 3> shape, nb::handle dtype_d, nb::handle dtype_a,
               nb::handle dtype_b, nb::handle d, nb::handle a, nb::handle b, nb::handle scale_d,
               int scale_a, int scale_b, int trans_a, int trans_b, std::int64_t a_k_offset,
               std::int64_t b_k_offset, bool satfinite, nb::handle sp_meta,
               std::int64_t sp_selector) {
  wgmma::MmaArguments in;
  in.shape = shape;
  in.type_d = to_type(dtype_d);
  in.type_a = to_type(dtype_a);
  in.type_b = to_type(dtype_b);
  in.scale_a = scale_a;
  in.scale_b = scale_b;
  in.trans_a = trans_a;
  in.trans_b = trans_b;
  in.k_offset_a = a_k_offset;
  in.k_offset_b = b_k_offset;
  in.saturate = satfinite;
  traced([&](Tracer& t) {
    in.d = to_regs(t, d, "d");
    in.a = to_source(t, a, "a");
    in.b = to_source(t, b, "b");
    in.scale_d = to_flag(t, scale_d, "scale_d");
    if (const auto metadata = to_maybe_reg(t, sp_meta, "sp_meta")) {
      in.sparsity = wgmma::Sparsity{*metadata, sp_selector};
    }
    wgmma::mma_async(t, in);
  });
}

build::Reg make_descriptor(nb::handle base, std::int64_t leading, std::int64_t stride,
                           nb::handle swizzle, std::int64_t base_offset, std::int64_t offset) {
  return traced([&](Tracer& t) {
    return wgmma::make_descriptor(t, to_place(t, base, {"the base", "base|smem_base"}).plus(offset),
                                  {leading, stride, to_layout_type(t, swizzle), base_offset});
  });
}

build::Reg auto_descriptor(nb::handle base, nb::handle dtype, nb::handle shape, nb::handle major) {
  const isa::Type type = to_type(dtype);
  return traced([&](Tracer& t) {
    std::optional<layout::Swizzle> swizzle;
    if (nb::isinstance<build::SharedView>(base)) {
      swizzle = nb::cast<build::SharedView&>(base).swizzle;
    }
    return wgmma::auto_descriptor(t, to_place(t, base, {"the base", "base|smem_base"}), type,
                                  to_shape(t, shape), to_major(t, major), swizzle);
  });
}

/// (layout type, leading bytes, stride bytes, swizzle name); ValueError where there is none.
std::tuple<int, std::uint32_t, std::uint32_t, std::string> pick(std::uint32_t element_bytes,
                                                                std::uint32_t m_or_n,
                                                                std::uint32_t k, int major) {
  const auto picked = layout::pick_layout(
      {element_bytes, m_or_n, k, major == 0 ? layout::Major::K : layout::Major::MN});
  if (!picked) throw nb::value_error(picked.error().c_str());
  return {static_cast<int>(picked->type()), picked->leading_bytes, picked->stride_bytes,
          std::string(build::swizzle_text(picked->swizzle))};
}

}  // namespace

void bind_async_wgmma(nb::module_& core, nb::module_& ptx) {
  nb::module_ m = ptx.def_submodule("wgmma", "Warpgroup matrix multiplication.");
  m.def("mma_async", &mma_async, nb::kw_only(), "shape"_a, "dtype_d"_a, "dtype_a"_a, "dtype_b"_a,
        "d"_a, "a"_a, "b"_a, "scale_d"_a = false, "scale_a"_a = 1, "scale_b"_a = 1, "trans_a"_a = 0,
        "trans_b"_a = 0, "a_k_offset"_a = 0, "b_k_offset"_a = 0, "satfinite"_a = false,
        "sp_meta"_a = nb::none(), "sp_selector"_a = 0,
        "D = A*B (+ D with scale_d). a and b are tiles in shared memory or descriptors, a may be a "
        "fragment; the k offsets are elements. sp_meta, a register with metadata, makes A sparse.");
  m.def(
      "fence", [] { traced(wgmma::fence); },
      "Before the first wgmma, and after registers of one were written.");
  m.def(
      "commit_group", [] { traced(wgmma::commit_group); },
      "Closes the group of the wgmmas issued so far.");
  m.def(
      "wait_group", [](std::int64_t n) { traced([&](Tracer& t) { wgmma::wait_group(t, n); }); },
      "n"_a, "Waits until at most n groups are unfinished.");
  m.def("make_descriptor", &make_descriptor, "base"_a, nb::kw_only(), "leading_byte_offset"_a,
        "stride_byte_offset"_a, "swizzle"_a = 0, "base_offset"_a = 0, "addr_byte_offset"_a = 0,
        "A 64-bit register with a matrix descriptor.");
  m.def("auto_descriptor", &auto_descriptor, "base"_a, nb::kw_only(), "dtype"_a, "shape"_a,
        "major"_a, "The descriptor of a tile; its shape is as stored.");
  m.def(
      "masked_descriptor",
      [](nb::handle addr, std::int64_t byte_offset, std::int64_t mask, std::uint64_t bits) {
        return traced([&](Tracer& t) {
          return wgmma::masked_descriptor(t, to_place(t, addr, {"the address", "addr|taddr"}),
                                          byte_offset, mask, bits);
        });
      },
      "addr"_a, nb::kw_only(), "byte_offset"_a = 0, "mask"_a = wgmma::kAddressMask,
      "const_bits"_a = wgmma::kDescriptor128B, "((addr & mask) + byte_offset) >> 4 | const_bits");
  nb::module_ shapes = core.def_submodule("wgmma_layout", "Canonical layouts.");
  shapes.def("pick", &pick, nb::kw_only(), "elem_bytes"_a, "m_or_n"_a, "k"_a, "major"_a);
}

}  // namespace pyptx::python
