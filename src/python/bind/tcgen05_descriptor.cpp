// SPDX-License-Identifier: Apache-2.0
//
// Descriptors of pyptx._core.ptx.tcgen05. Those of matrices are computed by the kernel; instruction
// descriptors and zero-column masks are numbers, made while tracing. The bits and the legal
// combinations are pyptx/layout/tcgen05_descriptor.h's.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <array>
#include <optional>
#include <string>

#include "bind/async.h"
#include "pyptx/build/tcgen05.h"
#include "trace/operands.h"
#include "trace/trace.h"

namespace pyptx::python {

void bind_tcgen05_descriptors(nb::module_& tcgen05);

namespace {

using namespace nb::literals;
using build::Tracer;
using layout::ElementFormat;
using layout::InstructionDescriptor;
using layout::MmaKind;
namespace tc = build::tcgen05;

layout::Tcgen05Swizzle to_mode(Tracer& t, nb::handle value) {
  constexpr std::string_view kWideAtom = "128B_32B";  // 128 bytes in units of 32
  if (nb::isinstance<nb::str>(value) && nb::cast<std::string>(value) == kWideAtom) {
    return layout::Tcgen05Swizzle::B128Atom32;
  }
  return layout::tcgen05_swizzle(to_swizzle(t, value));
}

std::uint32_t to_field(Tracer& t, std::int64_t bytes, const char* what) {
  if (bytes >= 0 && bytes <= 0x3FFF0) return static_cast<std::uint32_t>(bytes);
  t.report(
      diag::Diagnostic(diag::Kind::BadArgument, {what, "within 0 to 262128", std::to_string(bytes)})
          .about(what));
  return 0;
}

build::Reg descriptor(nb::handle addr, std::int64_t stride_bytes, std::int64_t leading_bytes,
                      nb::handle swizzle, std::int64_t base_offset, std::int64_t byte_offset,
                      bool leading_is_address) {
  return traced([&](Tracer& t) {
    const auto place = to_place(t, addr, {"the address", "addr|taddr"}).plus(byte_offset);
    if (base_offset < 0 || base_offset > 7) {
      t.report(diag::Diagnostic(diag::Kind::BadArgument,
                                {"base_offset", "within 0 to 7", std::to_string(base_offset)})
                   .about("base_offset"));
    }
    return tc::descriptor(
        t, place,
        {0, to_field(t, leading_bytes, "leading_bytes"), to_field(t, stride_bytes, "stride_bytes"),
         static_cast<std::uint8_t>(base_offset & 7), leading_is_address, to_mode(t, swizzle)});
  });
}

build::Reg matrix_descriptor(nb::handle base, nb::handle dtype, nb::handle shape, nb::handle major,
                             std::uint32_t k_offset) {
  const isa::Type type = to_type(dtype);
  return traced([&](Tracer& t) {
    std::optional<layout::Swizzle> swizzle;
    if (nb::isinstance<build::SharedView>(base)) {
      swizzle = nb::cast<build::SharedView&>(base).swizzle;
    }
    return tc::auto_descriptor(t, to_place(t, base, {"the base", "base|smem_base"}), type,
                               to_shape(t, shape), to_major(t, major), swizzle, k_offset);
  });
}

void bind_matrix_descriptors(nb::module_& m) {
  m.def("descriptor", &descriptor, "addr"_a, nb::kw_only(), "stride_bytes"_a,
        "leading_bytes"_a = 16, "swizzle"_a.none() = "128B", "base_offset"_a = 0,
        "byte_offset"_a = 0, "leading_is_address"_a = false,
        "A 64-bit register with a shared memory descriptor.");
  m.def("auto_descriptor", &matrix_descriptor, "base"_a, nb::kw_only(), "dtype"_a, "shape"_a,
        "major"_a, "k_offset"_a = 0, "The descriptor of a tile; its shape is as stored.");
  m.def(
      "masked_descriptor",
      [](nb::handle addr, std::int64_t byte_offset, std::int64_t mask, std::uint64_t bits) {
        return traced([&](Tracer& t) {
          return tc::masked_descriptor(t, to_place(t, addr, {"the address", "addr|taddr"}),
                                       byte_offset, mask, bits);
        });
      },
      "addr"_a, nb::kw_only(), "byte_offset"_a = 0, "mask"_a = tc::kAddressMask,
      "const_bits"_a = tc::kDescriptor128B, "((addr & mask) + byte_offset) >> 4 | const_bits");
}

ElementFormat to_format(nb::handle value, const char* what) {
  const isa::Type type = to_type(value);
  if (const auto format = tc::element_format(type)) return *format;
  raise_here(diag::Diagnostic(diag::Kind::BadArgument,
                              {what, "a type of tcgen05.mma", std::string(isa::info(type).name)})
                 .about(what));
}

/// What every kind has.
struct Common {
  std::uint32_t m = 0;
  std::uint32_t n = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  bool negate_a = false;
  bool negate_b = false;
  bool sparse = false;
  std::optional<int> cta_group;
  bool ws = false;

  InstructionDescriptor of(MmaKind kind) const {
    InstructionDescriptor i;
    i.kind = kind;
    i.m = m;
    i.n = n;
    i.transpose_a = transpose_a;
    i.transpose_b = transpose_b;
    i.negate_a = negate_a;
    i.negate_b = negate_b;
    i.sparse = sparse;
    return i;
  }
  /// The bits; without a cta_group the shape must be one of either.
  std::uint32_t encode(const InstructionDescriptor& i) const {
    const char* field = "";
    auto problem = i.problem(cta_group.value_or(1), ws, &field);
    if (problem && !cta_group && !ws && !i.problem(2, false)) problem.reset();
    if (problem) {
      raise_here(
          diag::Diagnostic(diag::Kind::InstructionDescriptor, {"tcgen05.mma", std::move(*problem)})
              .about(field));
    }
    return i.encode();
  }
};

/// Defines make_instr_desc_<name>(common keywords, `extra` keywords); `f` completes the descriptor.
template <typename... Values, typename F, typename... Extra>
void define(nb::module_& m, const char* name, const char* doc, F f, const Extra&... extra) {
  m.def(
      name,
      [f](std::uint32_t rows, std::uint32_t columns, bool transpose_a, bool transpose_b,
          bool negate_a, bool negate_b, bool sparse, std::optional<int> cta_group, bool ws,
          Values... values) {
        const Common common{rows,     columns, transpose_a, transpose_b, negate_a,
                            negate_b, sparse,  cta_group,   ws};
        return common.encode(f(common, values...));
      },
      nb::kw_only(), "m"_a = 128, "n"_a = 256, "transpose_a"_a = false, "transpose_b"_a = false,
      "negate_a"_a = false, "negate_b"_a = false, "sparse"_a = false, "cta_group"_a = nb::none(),
      "ws"_a = false, extra..., doc);
}

InstructionDescriptor with_types(InstructionDescriptor i, nb::handle d, nb::handle a,
                                 nb::handle b) {
  i.d = to_format(d, "d_dtype");
  i.a = to_format(a, "a_dtype");
  i.b = to_format(b, "b_dtype");
  return i;
}

void bind_plain_kinds(nb::module_& m) {
  const auto half = [](const Common& c, nb::handle ab, ElementFormat d, std::uint8_t selector,
                       std::uint8_t shift) {
    InstructionDescriptor i = c.of(MmaKind::F16);
    i.a = i.b = to_format(ab, "ab_dtype");
    i.d = d;
    i.sparsity_selector = selector;
    i.max_shift = shift;
    return i;
  };
  define<nb::handle, std::uint8_t, std::uint8_t>(
      m, "make_instr_desc_f16bf16_f32", "f16 or bf16 A and B, f32 D (kind f16).",
      [half](const Common& c, nb::handle ab, std::uint8_t selector, std::uint8_t shift) {
        return half(c, ab, ElementFormat::F32, selector, shift);
      },
      "ab_dtype"_a = "bf16", "sparsity_selector"_a = 0, "max_shift"_a = 0);
  define<std::uint8_t, std::uint8_t>(
      m, "make_instr_desc_f16_f16", "f16 A, B and D (kind f16).",
      [half](const Common& c, std::uint8_t selector, std::uint8_t shift) {
        return half(c, nb::str("f16"), ElementFormat::F16, selector, shift);
      },
      "sparsity_selector"_a = 0, "max_shift"_a = 0);
  define<std::uint8_t, std::uint8_t>(
      m, "make_instr_desc_tf32_f32", "tf32 A and B, f32 D (kind tf32).",
      [](const Common& c, std::uint8_t selector, std::uint8_t shift) {
        InstructionDescriptor i = c.of(MmaKind::Tf32);
        i.a = i.b = ElementFormat::Tf32;
        i.sparsity_selector = selector;
        i.max_shift = shift;
        return i;
      },
      "sparsity_selector"_a = 0, "max_shift"_a = 0);
  define<nb::handle, nb::handle, nb::handle, std::uint8_t>(
      m, "make_instr_desc_f8f6f4", "8-, 6- and 4-bit floats, f32 or f16 D (kind f8f6f4).",
      [](const Common& c, nb::handle a, nb::handle b, nb::handle d, std::uint8_t shift) {
        InstructionDescriptor i = with_types(c.of(MmaKind::F8f6f4), d, a, b);
        i.max_shift = shift;
        return i;
      },
      "a_dtype"_a = "e4m3", "b_dtype"_a = "e4m3", "d_dtype"_a = "f32", "max_shift"_a = 0);
  define<nb::handle, nb::handle, bool, std::uint8_t>(
      m, "make_instr_desc_i8_s32", "8-bit integers, s32 D (kind i8).",
      [](const Common& c, nb::handle a, nb::handle b, bool saturate, std::uint8_t shift) {
        InstructionDescriptor i = with_types(c.of(MmaKind::I8), nb::str("s32"), a, b);
        i.saturate = saturate;
        i.max_shift = shift;
        return i;
      },
      "a_dtype"_a = "s8", "b_dtype"_a = "s8", "saturate"_a = false, "max_shift"_a = 0);
}

InstructionDescriptor with_scales(InstructionDescriptor i, nb::handle scale, std::uint8_t a,
                                  std::uint8_t b) {
  i.scale = to_format(scale, "scale_dtype");
  i.scale_a_id = a;
  i.scale_b_id = b;
  return i;
}

void bind_scaled_kinds(nb::module_& m) {
  define<nb::handle, nb::handle, std::uint8_t, std::uint8_t>(
      m, "make_instr_desc_mxf8f6f4",
      "8-, 6- and 4-bit floats with block scales, f32 D (kind mxf8f6f4).",
      [](const Common& c, nb::handle a, nb::handle b, std::uint8_t a_id, std::uint8_t b_id) {
        const auto typed = with_types(c.of(MmaKind::Mxf8f6f4), nb::str("f32"), a, b);
        return with_scales(typed, nb::str("ue8m0"), a_id, b_id);
      },
      "a_dtype"_a = "e4m3", "b_dtype"_a = "e4m3", "scale_a_id"_a = 0, "scale_b_id"_a = 0);
  const auto narrow = [&m](const char* name, const char* doc, MmaKind kind, const char* scale) {
    define<nb::handle, std::uint8_t, std::uint8_t, bool>(
        m, name, doc,
        [kind](const Common& c, nb::handle type, std::uint8_t a_id, std::uint8_t b_id, bool k96) {
          const nb::str element("e2m1");
          auto i = with_types(c.of(kind), nb::str("f32"), element, element);
          i.k96 = k96;
          return with_scales(i, type, a_id, b_id);
        },
        "scale_dtype"_a = scale, "scale_a_id"_a = 0, "scale_b_id"_a = 0, "k96"_a = false);
  };
  narrow("make_instr_desc_mxf4", "e2m1 with ue8m0 block scales, f32 D (kind mxf4).", MmaKind::Mxf4,
         "ue8m0");
  narrow("make_instr_desc_mxf4nvf4",
         "e2m1 with ue4m3 or ue8m0 block scales, f32 D (kind mxf4nvf4).", MmaKind::Mxf4nvf4,
         "ue4m3");
}

std::uint64_t zero_column_mask(std::array<std::uint8_t, 4> start_count,
                               std::array<bool, 4> first_span, std::uint32_t skip_columns,
                               std::uint32_t zero_columns, std::uint8_t column_shift) {
  const layout::ZeroColumnMask mask{start_count,  first_span,   true,
                                    skip_columns, zero_columns, column_shift};
  if (const auto problem = mask.problem()) {
    raise_here({diag::Kind::BadArgument,
                {"a zero-column mask", "within the descriptor's limits", *problem}});
  }
  return mask.encode();
}

}  // namespace

void bind_tcgen05_descriptors(nb::module_& m) {
  bind_matrix_descriptors(m);
  bind_plain_kinds(m);
  bind_scaled_kinds(m);
  m.def("make_zero_column_mask", &zero_column_mask, nb::kw_only(),
        "start_count"_a = std::array<std::uint8_t, 4>{}, "first_span"_a = std::array<bool, 4>{},
        "skip_columns"_a, "zero_columns"_a, "column_shift"_a = 0,
        "Which columns of B count as zero in a .ws product.");
}

}  // namespace pyptx::python
