// SPDX-License-Identifier: Apache-2.0
//
// wgmma.mma_async and its ordering instructions. PTX ISA, "wgmma.mma_async", "wgmma.fence",
// "wgmma.commit_group", "wgmma.wait_group". Shapes and types are the table's to judge; here the
// operands are put together.
#include "pyptx/build/wgmma.h"

#include <string>

#include "pyptx/support/concat.h"

namespace pyptx::build::wgmma {
namespace {

using diag::Kind;
using ir::Operand;
using support::concat;

constexpr std::size_t kFragmentA = 4;  // 64 x 256 bits over 128 threads

std::string type_words(const Reg& reg) {
  return concat("a register of type ", isa::info(reg.type).name);
}

bool check_choice(Tracer& tracer, std::string_view what, int value, int first, int second) {
  if (value == first || value == second) return true;
  tracer.report({Kind::BadArgument,
                 {std::string(what), concat(first, " or ", second), std::to_string(value)}});
  return false;
}

bool check_fragment(Tracer& tracer, std::string_view what, const std::vector<Reg>& fragment,
                    std::size_t count, std::string_view spelling) {
  if (fragment.size() == count) return true;
  tracer.report({Kind::FragmentSize,
                 {std::string(what), std::string(spelling), std::to_string(count), "32 bits",
                  std::to_string(fragment.size())}});
  return false;
}

ir::Operand vector_of(Tracer& tracer, const std::vector<Reg>& registers) {
  const std::vector<Operand> operands(registers.begin(), registers.end());
  return tracer.vector(operands);
}

/// Moves a descriptor the author made `k` columns on, inside its swizzle row.
std::optional<Operand> advanced_descriptor(Tracer& tracer, Reg descriptor, std::int64_t k,
                                           std::uint32_t element_bytes, bool transposed) {
  if (isa::info(descriptor.type).bits != 64) {
    tracer.report(
        {Kind::BadArgument, {"a matrix descriptor", "a 64-bit register", type_words(descriptor)}});
    return std::nullopt;
  }
  if (k == 0) return Operand(descriptor);
  if (transposed) {
    tracer.report({Kind::MatrixLayout,
                   {"wgmma.mma_async",
                    "a k offset into an MN-major operand needs the tile, a "
                    "descriptor does not say how long its rows are"}});
    return std::nullopt;
  }
  const std::int64_t bytes = k * element_bytes;
  if (bytes < 0 || bytes % 32 != 0 || bytes >= 128) {
    tracer.report(
        {Kind::BadArgument,
         {"the k offset into a descriptor", "a multiple of 32 bytes inside a swizzle row of 128",
          concat(bytes, " bytes")}});
    return std::nullopt;
  }
  const Reg moved = tracer.reg(isa::Type::B64);
  tracer.emit("add.s64", {moved, descriptor, Operand::integer(bytes >> 4)});
  return Operand(moved);
}

/// Whether a tile of `stored` may be multiplied as `type`: untyped bits of the width, f32 read as
/// tf32, bytes read as an 8-bit float. f16 read as bf16 or u8 read as s8 is a mistake.
bool holds(isa::Type stored, isa::Type type) {
  if (stored == type) return true;
  const isa::TypeInfo& from = isa::info(stored);
  const isa::TypeInfo& to = isa::info(type);
  if (from.bits != to.bits) return false;
  const bool is_byte_float = to.bits == 8 && to.kind == isa::TypeKind::Float;
  return from.kind == isa::TypeKind::Bits || type == isa::Type::Tf32 ||
         (is_byte_float && stored == isa::Type::U8);
}

/// The operand for a tile in shared memory; sets `trans` where the tile knows its major.
std::optional<Operand> tile_operand(Tracer& tracer, const SharedView& view, isa::Type type,
                                    std::int64_t k, int& trans) {
  if (!holds(view.type, type)) {
    tracer.report({Kind::MatrixLayout,
                   {"wgmma.mma_async", concat("'", view.name, "' holds ", isa::info(view.type).name,
                                              ", the operand is ", isa::info(type).name)}});
    return std::nullopt;
  }
  if (view.major == layout::Major::K && trans == 1) {
    tracer.report({Kind::MatrixLayout,
                   {"wgmma.mma_async",
                    concat("'", view.name, "' is a K-major tile, it cannot be transposed")}});
    return std::nullopt;
  }
  if (view.major == layout::Major::MN) trans = 1;
  if (k < 0) {
    tracer.report({Kind::BadArgument, {"the k offset", "0 or more", std::to_string(k)}});
    return std::nullopt;
  }
  const layout::Major major = trans == 1 ? layout::Major::MN : layout::Major::K;
  const Reg descriptor = auto_descriptor(tracer, view.place, type, view.shape, major, view.swizzle,
                                         static_cast<std::uint32_t>(k));
  if (tracer.has_error()) return std::nullopt;
  return Operand(descriptor);
}

std::optional<Operand> source_operand(Tracer& tracer, const Source& source, isa::Type type,
                                      std::int64_t k, int& trans, std::string_view what,
                                      std::string_view spelling) {
  if (const auto* view = std::get_if<SharedView>(&source)) {
    return tile_operand(tracer, *view, type, k, trans);
  }
  if (const auto* descriptor = std::get_if<Reg>(&source)) {
    return advanced_descriptor(tracer, *descriptor, k, isa::info(type).bits / 8U, trans == 1);
  }
  const auto& fragment = std::get<std::vector<Reg>>(source);
  if (what != "A") {
    tracer.report({Kind::BadArgument, {"B of wgmma.mma_async", "in shared memory", "registers"}});
    return std::nullopt;
  }
  if (!check_fragment(tracer, what, fragment, kFragmentA, spelling)) return std::nullopt;
  if (k != 0 || trans != 0) {
    tracer.report({Kind::MatrixLayout,
                   {"wgmma.mma_async",
                    "an operand in registers has no k offset and cannot be "
                    "transposed"}});
    return std::nullopt;
  }
  return vector_of(tracer, fragment);
}

/// The predicate that says whether D is added to.
Reg scale_predicate(Tracer& tracer, const std::variant<bool, Reg>& scale) {
  if (const auto* given = std::get_if<Reg>(&scale)) {
    if (given->type == isa::Type::Pred) return *given;
    const Reg is_set = tracer.reg(isa::Type::Pred);
    if (isa::info(given->type).bits != 32) {
      tracer.report({Kind::BadArgument,
                     {"scale_d", "a bool, a predicate or a 32-bit register", type_words(*given)}});
      return is_set;
    }
    tracer.emit("setp.ne.u32", {is_set, *given, Operand::integer(0)});
    return is_set;
  }
  const Reg is_set = tracer.reg(isa::Type::Pred);
  tracer.emit("setp.ne.u32",
              {is_set, Operand::integer(std::get<bool>(scale) ? 1 : 0), Operand::integer(0)});
  return is_set;
}

}  // namespace

std::size_t fragment_size(std::int64_t m, std::int64_t n, isa::Type type) {
  const std::int64_t elements = m * n / 128;
  return static_cast<std::size_t>(isa::info(type).bits == 16 ? elements / 2 : elements);
}

void mma_async(Tracer& tracer, const MmaArguments& in) {
  const auto& [m, n, k] = in.shape;
  const std::string spelling =
      concat("wgmma.mma_async.sync.aligned.m", m, "n", n, "k", k, ".", isa::info(in.type_d).name,
             ".", isa::info(in.type_a).name, ".", isa::info(in.type_b).name);
  if (!check_choice(tracer, "scale_a", in.scale_a, 1, -1) ||
      !check_choice(tracer, "scale_b", in.scale_b, 1, -1) ||
      !check_choice(tracer, "trans_a", in.trans_a, 0, 1) ||
      !check_choice(tracer, "trans_b", in.trans_b, 0, 1) ||
      !check_fragment(tracer, "D", in.d, fragment_size(m, n, in.type_d), spelling)) {
    return;
  }
  int trans_a = in.trans_a;
  int trans_b = in.trans_b;
  const auto a = source_operand(tracer, in.a, in.type_a, in.k_offset_a, trans_a, "A", spelling);
  if (!a) return;
  const auto b = source_operand(tracer, in.b, in.type_b, in.k_offset_b, trans_b, "B", spelling);
  if (!b) return;
  const bool is_integer = isa::info(in.type_d).kind == isa::TypeKind::Signed;
  const bool is_half = isa::info(in.type_a).bits == 16;
  if ((trans_a == 1 || trans_b == 1) && !is_half) {
    tracer.report({Kind::MatrixLayout,
                   {"wgmma.mma_async", concat("only f16 and bf16 operands can be MN-major, not ",
                                              isa::info(in.type_a).name)}});
    return;
  }
  if (is_integer && (in.scale_a != 1 || in.scale_b != 1)) {
    tracer.report({Kind::BadArgument, {"scale_a and scale_b of an integer product", "1", "-1"}});
    return;
  }
  const Reg scale_d = scale_predicate(tracer, in.scale_d);
  std::vector<Operand> operands{vector_of(tracer, in.d), *a, *b, scale_d};
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
    tracer.report({Kind::BadArgument,
                   {"the pending groups of wgmma.wait_group", "0 to 7", std::to_string(pending)}});
    return;
  }
  tracer.emit("wgmma.wait_group.sync.aligned", {Operand::integer(pending)});
}

}  // namespace pyptx::build::wgmma
