// SPDX-License-Identifier: Apache-2.0
//
// wgmma.mma_async and its ordering instructions. PTX ISA, "wgmma.mma_async", "wgmma.fence",
// "wgmma.commit_group", "wgmma.wait_group". Shapes and types are the table's to judge; here the
// operands are put together.
#include "pyptx/build/wgmma.h"

#include <string>

#include "arguments.h"
#include "matrix_descriptor.h"
#include "pyptx/support/concat.h"

namespace pyptx::build::wgmma {
namespace {

using diag::Kind;
using ir::Operand;
using support::concat;

constexpr std::size_t kFragmentA = 4;  // 64 x 256 bits over 128 threads

bool check_fragment(Tracer& tracer, const Argument& what, const std::vector<Reg>& fragment,
                    std::size_t count, std::string_view spelling) {
  if (fragment.size() == count) return true;
  tracer.report(diag::Diagnostic(Kind::FragmentSize, {std::string(what.words),
                                                      std::string(spelling), std::to_string(count),
                                                      "32 bits", std::to_string(fragment.size())})
                    .about(what.parameter, what.element));
  return false;
}

/// Moves a descriptor the author made `k` columns on, inside its swizzle row.
std::optional<Operand> advanced_descriptor(Tracer& tracer, Reg descriptor, const TileUse& use,
                                           std::uint32_t element_bits, bool transposed) {
  const auto [tile, offset] = use.parameters();
  if (!check_wide(tracer, {"a matrix descriptor", tile}, descriptor)) return std::nullopt;
  if (use.k == 0) return Operand(descriptor);
  if (transposed) {
    tracer.report(diag::Diagnostic(Kind::MatrixLayout,
                                   {"wgmma.mma_async",
                                    "a k offset into an MN-major operand needs the tile, a "
                                    "descriptor does not say how long its rows are"})
                      .about(offset));
    return std::nullopt;
  }
  const std::int64_t bytes = use.k * element_bits / 8;
  if (bytes < 0 || bytes % 32 != 0 || bytes >= 128) {
    refuse(tracer, {"the k offset into a descriptor", offset},
           "a multiple of 32 bytes inside a swizzle row of 128", concat(bytes, " bytes"));
    return std::nullopt;
  }
  const Reg moved = tracer.reg(isa::Type::B64);
  tracer.emit("add.s64", {moved, descriptor, Operand::integer(bytes >> 4)});
  return Operand(moved);
}

/// Whether a tile of `stored` may be multiplied as `type`: untyped bits of the width, f32 read as
/// tf32, bytes read as an 8-bit float or as eight single bits. f16 read as bf16 or u8 read as s8 is
/// a mistake.
bool holds(isa::Type stored, isa::Type type) {
  if (stored == type) return true;
  const isa::TypeInfo& from = isa::info(stored);
  const isa::TypeInfo& to = isa::info(type);
  if (to.bits == 1) return stored == isa::Type::B8 || stored == isa::Type::U8;
  if (from.bits != to.bits) return false;
  const bool is_byte_float = to.bits == 8 && to.kind == isa::TypeKind::Float;
  return from.kind == isa::TypeKind::Bits || type == isa::Type::Tf32 ||
         (is_byte_float && stored == isa::Type::U8);
}

/// The operand for a tile in shared memory; sets `trans` where the tile knows its major.
std::optional<Operand> tile_operand(Tracer& tracer, const SharedView& view, isa::Type type,
                                    TileUse use, int& trans) {
  if (!holds(view.type, type)) {
    tracer.report(diag::Diagnostic(Kind::MatrixLayout,
                                   {"wgmma.mma_async",
                                    concat("'", view.name, "' holds ", isa::info(view.type).name,
                                           ", the operand is ", isa::info(type).name)})
                      .about(use.parameters().tile));
    return std::nullopt;
  }
  if (view.major == layout::Major::K && trans == 1) {
    tracer.report(
        diag::Diagnostic(Kind::MatrixLayout,
                         {"wgmma.mma_async",
                          concat("'", view.name, "' is a K-major tile, it cannot be transposed")})
            .about(use.what == "A" ? "trans_a" : "trans_b"));
    return std::nullopt;
  }
  if (view.major == layout::Major::MN) trans = 1;
  use.major = trans == 1 ? layout::Major::MN : layout::Major::K;
  // Single bits are stored, and counted in the tile's shape, as bytes.
  const bool is_bit = isa::info(type).bits == 1;
  if (is_bit) {
    use.k /= 8;
    use.columns /= 8;
  }
  if (!check_tile(tracer, view, use)) return std::nullopt;
  const Reg descriptor =
      auto_descriptor(tracer, view.place, is_bit ? isa::Type::B8 : type, view.shape, use.major,
                      view.swizzle, static_cast<std::uint32_t>(use.k), use.parameters());
  if (tracer.has_error()) return std::nullopt;
  return Operand(descriptor);
}

std::optional<Operand> source_operand(Tracer& tracer, const Source& source, isa::Type type,
                                      const TileUse& use, int& trans, std::string_view spelling) {
  if (const auto* view = std::get_if<SharedView>(&source)) {
    return tile_operand(tracer, *view, type, use, trans);
  }
  if (const auto* descriptor = std::get_if<Reg>(&source)) {
    return advanced_descriptor(tracer, *descriptor, use, isa::info(type).bits, trans == 1);
  }
  const auto& fragment = std::get<std::vector<Reg>>(source);
  if (use.what != "A") {
    refuse(tracer, {"B of wgmma.mma_async", "b"}, "in shared memory", "registers");
    return std::nullopt;
  }
  if (!check_fragment(tracer, {"A", "a"}, fragment, kFragmentA, spelling)) return std::nullopt;
  if (use.k != 0 || trans != 0) {
    tracer.report(
        diag::Diagnostic(
            Kind::MatrixLayout,
            {"wgmma.mma_async", "an operand in registers has no k offset and cannot be transposed"})
            .about(use.k != 0 ? "a_k_offset" : "trans_a"));
    return std::nullopt;
  }
  return vector_of(tracer, fragment);
}

}  // namespace

std::size_t fragment_size(std::int64_t m, std::int64_t n, isa::Type type) {
  const std::int64_t elements = m * n / 128;
  return static_cast<std::size_t>(isa::info(type).bits == 16 ? elements / 2 : elements);
}

void mma_async(Tracer& tracer, const MmaArguments& in) {
  const Expansion here(tracer, "ptx.wgmma.mma_async(...)");
  const auto& [m, n, k] = in.shape;
  const bool is_bit = in.type_a == isa::Type::B1;
  const std::string spelling =
      concat("wgmma.mma_async", in.sparsity ? ".sp" : "", ".sync.aligned.m", m, "n", n, "k", k,
             in.saturate ? ".satfinite." : ".", isa::info(in.type_d).name, ".",
             isa::info(in.type_a).name, ".", isa::info(in.type_b).name, is_bit ? ".and.popc" : "");
  if (!check_choice(tracer, "scale_a", in.scale_a, 1, -1) ||
      !check_choice(tracer, "scale_b", in.scale_b, 1, -1) ||
      !check_choice(tracer, "trans_a", in.trans_a, 0, 1) ||
      !check_choice(tracer, "trans_b", in.trans_b, 0, 1) ||
      !check_fragment(tracer, {"D", "d"}, in.d, fragment_size(m, n, in.type_d), spelling)) {
    return;
  }
  int trans_a = in.trans_a;
  int trans_b = in.trans_b;
  const std::int64_t stored = in.sparsity ? k / 2 : k;  // columns of A
  const TileUse use_a{"wgmma.mma_async", "A", m, stored, in.k_offset_a};
  const TileUse use_b{"wgmma.mma_async", "B", n, k, in.k_offset_b};
  const auto a = source_operand(tracer, in.a, in.type_a, use_a, trans_a, spelling);
  if (!a) return;
  const auto b = source_operand(tracer, in.b, in.type_b, use_b, trans_b, spelling);
  if (!b) return;
  const bool is_integer = isa::info(in.type_d).kind == isa::TypeKind::Signed;
  const bool is_half = isa::info(in.type_a).bits == 16;
  if ((trans_a == 1 || trans_b == 1) && !is_half) {
    tracer.report(
        diag::Diagnostic(Kind::MatrixLayout,
                         {"wgmma.mma_async", concat("only f16 and bf16 operands can be MN-major, "
                                                    "not ",
                                                    isa::info(in.type_a).name)})
            .about(in.trans_a == 1   ? "trans_a"
                   : in.trans_b == 1 ? "trans_b"
                   : trans_a == 1    ? "a"
                                     : "b"));
    return;
  }
  if (is_integer && (in.scale_a != 1 || in.scale_b != 1)) {
    const char* guilty = in.scale_a != 1 ? "scale_a" : "scale_b";
    refuse(tracer, {"scale_a and scale_b of an integer product", guilty}, "1", "-1");
    return;
  }
  const Reg scale_d = as_predicate(tracer, in.scale_d, "scale_d");
  std::vector<Operand> operands{vector_of(tracer, in.d), *a, *b};
  if (in.sparsity) {
    operands.push_back(in.sparsity->metadata);
    operands.push_back(Operand::integer(in.sparsity->selector));
  }
  operands.push_back(scale_d);
  if (!is_integer) {
    operands.push_back(Operand::integer(in.scale_a));
    operands.push_back(Operand::integer(in.scale_b));
  }
  if (is_half) {
    const bool a_is_fragment = std::holds_alternative<std::vector<Reg>>(in.a);
    if (!a_is_fragment) operands.push_back(Operand::integer(trans_a));
    operands.push_back(Operand::integer(trans_b));
  }
  tracer.emit(spelling, operands);
}

void fence(Tracer& tracer) { tracer.emit("wgmma.fence.sync.aligned", {}); }

void commit_group(Tracer& tracer) { tracer.emit("wgmma.commit_group.sync.aligned", {}); }

void wait_group(Tracer& tracer, std::int64_t pending) {
  if (pending < 0 || pending > 7) {
    refuse(tracer, {"the pending groups of wgmma.wait_group", "n"}, "0 to 7",
           std::to_string(pending));
    return;
  }
  tracer.emit("wgmma.wait_group.sync.aligned", {Operand::integer(pending)});
}

}  // namespace pyptx::build::wgmma
