// SPDX-License-Identifier: Apache-2.0
//
// tcgen05.mma in all its forms. PTX ISA, "tcgen05.mma", "tcgen05.mma.sp", "tcgen05.mma.ws",
// "tcgen05.mma.ws.sp". What the arguments cannot mean together is refused here, what the form does
// not have by the table.
#include <algorithm>
#include <array>

#include "arguments.h"
#include "matrix_descriptor.h"
#include "pyptx/build/tcgen05.h"
#include "pyptx/support/concat.h"
#include "tcgen05_parts.h"

namespace pyptx::build::tcgen05 {
namespace {

using diag::Kind;
using ir::Operand;
using support::concat;

/// The kinds whose instruction descriptor has bits that can be looked at.
constexpr std::array<std::pair<std::string_view, layout::MmaKind>, 7> kKinds{{
    {"f16", layout::MmaKind::F16},
    {"tf32", layout::MmaKind::Tf32},
    {"f8f6f4", layout::MmaKind::F8f6f4},
    {"i8", layout::MmaKind::I8},
    {"mxf8f6f4", layout::MmaKind::Mxf8f6f4},
    {"mxf4", layout::MmaKind::Mxf4},
    {"mxf4nvf4", layout::MmaKind::Mxf4nvf4},
}};

bool check_together(Tracer& tracer, const MmaArguments& in) {
  const auto needs = [&](bool is_wrong, const Argument& what, std::string_view wanted,
                         std::string_view got) {
    return !is_wrong || refuse(tracer, what, wanted, std::string(got));
  };
  const bool is_scaled = in.scale_a.has_value() || in.scale_b.has_value();
  const bool a_in_tmem = std::holds_alternative<TmemPlace>(in.a);
  return check_group(tracer, in.cta_group) &&
         needs(in.scale_a.has_value() != in.scale_b.has_value(),
               {"the block scales", "scale_a|scale_b"}, "given for A and B", "one of them") &&
         needs(!is_scaled && !in.scale_vec.empty(), "scale_vec", "left out without block scales",
               in.scale_vec) &&
         needs(in.ashift && !a_in_tmem, {"A of a product with ashift", "a"}, "in tensor memory",
               "shared memory") &&
         needs(std::holds_alternative<TmemPlace>(in.b), {"B of tcgen05.mma", "b"},
               "in shared memory", "tensor memory") &&
         needs(in.zero_column_mask.has_value() && !in.ws,
               {"the zero-column mask", "zero_column_mask"}, "of a .ws product", "a plain one") &&
         needs(in.collector_buffer.has_value() && !in.ws,
               {"the collector buffer", "collector_buffer"}, "of a .ws product", "a plain one") &&
         needs(in.ws && (in.ashift || is_scaled || !in.disable_output_lane.empty() || in.scale_d ||
                         in.lut || !in.collector_a.empty()),
               {"a .ws product", "ws"},
               "without ashift, block scales, disabled lanes, scale_d and "
               "collector_a",
               "one of them") &&
         (!in.collector_buffer || check_range(tracer, {"the collector buffer", "collector_buffer"},
                                              *in.collector_buffer, 0, 3));
}

/// The shape and types of a product whose instruction descriptor is a number.
std::optional<layout::InstructionDescriptor> described_by(const MmaArguments& in) {
  const auto known = std::ranges::find(kKinds, in.kind, [](const auto& k) { return k.first; });
  if (in.instruction.reg || known == kKinds.end()) return std::nullopt;
  return layout::InstructionDescriptor::decode(known->second,
                                               static_cast<std::uint32_t>(in.instruction.value));
}

/// Whether a tile of `stored` may be multiplied as `format`: that type, untyped bits of the size,
/// f32 as tf32, bytes as a narrow float.
bool holds(isa::Type stored, layout::ElementFormat format) {
  using F = layout::ElementFormat;
  const isa::TypeInfo& from = isa::info(stored);
  const bool is_half = format == F::F16 || format == F::Bf16;
  const std::uint32_t size = is_half ? 16 : format == F::Tf32 ? 32 : 8;
  if (from.bits != size) return false;
  const bool is_float = !is_half && format != F::Tf32 && format != F::U8 && format != F::S8;
  return element_format(stored) == format || from.kind == isa::TypeKind::Bits ||
         (format == F::Tf32 && stored == isa::Type::F32) || (is_float && stored == isa::Type::U8);
}

/// Whether a tile is what the descriptor says A or B is.
bool check_view(Tracer& tracer, const MmaArguments& in, const SharedView& view, bool is_a) {
  const auto described = described_by(in);
  if (!described) return true;
  const std::string_view what = is_a ? "A" : "B";
  const layout::Major major = view.major.value_or(layout::Major::K);
  const bool is_mn = is_a ? described->transpose_a : described->transpose_b;
  if (is_mn != (major == layout::Major::MN)) {
    tracer.report(
        diag::Diagnostic(Kind::MatrixLayout,
                         {"tcgen05.mma", concat("'", view.name, "' is ", is_mn ? "K" : "MN",
                                                "-major, the instruction descriptor says that ",
                                                what, " is ", is_mn ? "MN" : "K", "-major")})
            .about(is_a ? "a" : "b"));
    return false;
  }
  if (!holds(view.type, is_a ? described->a : described->b)) {
    tracer.report(
        diag::Diagnostic(
            Kind::MatrixLayout,
            {"tcgen05.mma", concat("'", view.name, "' holds ", isa::info(view.type).name,
                                   ", the instruction descriptor says otherwise of ", what)})
            .about(is_a ? "a" : "b"));
    return false;
  }
  // Every kind takes 32 bytes of K of a dense operand, and twice that of B beside a sparse A.
  const std::int64_t bytes = (described->k96 ? 48 : 32) * (described->sparse && !is_a ? 2 : 1);
  const std::int64_t rows = (is_a ? described->m : described->n) / in.cta_group;
  return check_tile(tracer, view,
                    {"tcgen05.mma", what, rows, bytes / view.element_bytes(),
                     is_a ? in.k_offset_a : in.k_offset_b, major});
}

/// A descriptor that is a number says which product it is for.
bool check_instruction(Tracer& tracer, const MmaArguments& in) {
  if (in.instruction.reg)
    return check_word(tracer, in.instruction, {"the instruction descriptor", "idesc"});
  const auto found = described_by(in);
  if (!found) return true;  // the table's to refuse
  const layout::InstructionDescriptor& described = *found;
  const auto bits = static_cast<std::uint32_t>(in.instruction.value);
  std::optional<std::string> problem = described.problem(in.cta_group, in.ws);
  if (!problem && (in.instruction.value < 0 || in.instruction.value > 0xFFFFFFFF)) {
    problem = "it has 32 bits";
  }
  if (!problem && described.sparse != in.metadata.has_value()) {
    problem = described.sparse ? "it is for a sparse A, and there is no metadata"
                               : "it is for a dense A, and there is metadata";
  }
  const std::string lost = layout::InstructionDescriptor::meaningless_field(described.kind, bits);
  if (!problem && !lost.empty()) {
    problem = concat(lost, ", which means nothing to .kind::", in.kind);
  }
  if (!problem) return true;
  tracer.report(diag::Diagnostic(Kind::InstructionDescriptor,
                                 {concat("tcgen05.mma with .kind::", in.kind), *problem})
                    .about("idesc"));
  return false;
}

std::string spelling_of(const MmaArguments& in) {
  const bool is_scaled = in.scale_a.has_value();
  std::string text = concat("tcgen05.mma", in.ws ? ".ws" : "", in.metadata ? ".sp" : "",
                            ".cta_group::", in.cta_group, ".kind::", in.kind);
  if (is_scaled) {
    text += ".block_scale";
    // block16 and block32 are words of their own, 1X and its like are scale_vec's.
    if (!in.scale_vec.empty()) {
      text += concat(in.scale_vec.ends_with('X') ? ".scale_vec::" : ".", in.scale_vec);
    }
  }
  if (in.lut) text += ".decompress::lut::b";
  if (in.ashift) text += ".ashift";
  if (!in.collector_a.empty()) text += concat(".collector::a::", in.collector_a);
  if (!in.collector_b.empty()) {
    const std::string buffer = in.ws ? std::to_string(in.collector_buffer.value_or(0)) : "";
    text += concat(".collector::b", buffer, "::", in.collector_b);
  }
  return text;
}

std::optional<Operand> source_operand(Tracer& tracer, const MmaArguments& in, bool is_a) {
  const Source& source = is_a ? in.a : in.b;
  const std::int64_t k = is_a ? in.k_offset_a : in.k_offset_b;
  const std::string_view what = is_a ? "A" : "B";
  const TileParameters parameters = TileParameters::of(is_a);
  if (const auto* place = std::get_if<TmemPlace>(&source)) {
    return memory_of(tracer, *place, {concat(what, " in tensor memory"), parameters.tile});
  }
  if (const auto* view = std::get_if<SharedView>(&source)) {
    if (!check_view(tracer, in, *view, is_a)) return std::nullopt;
    const Reg made = auto_descriptor(tracer, view->place, view->type, view->shape,
                                     view->major.value_or(layout::Major::K), view->swizzle,
                                     static_cast<std::uint32_t>(k), parameters);
    if (tracer.has_error()) return std::nullopt;
    return Operand(made);
  }
  if (k != 0) {
    refuse(tracer, {"the k offset", parameters.k_offset}, "0 where the operand is not a tile",
           std::to_string(k));
    return std::nullopt;
  }
  const Reg given = std::get<Reg>(source);
  if (!check_wide(tracer, {concat("the descriptor of ", what), parameters.tile}, given))
    return std::nullopt;
  return Operand(given);
}

bool add_memory(Tracer& tracer, const std::optional<TmemPlace>& place, const Argument& what,
                std::vector<Operand>& operands) {
  if (!place) return true;
  const auto memory = memory_of(tracer, *place, what);
  if (memory) operands.push_back(*memory);
  return memory.has_value();
}

}  // namespace

void mma(Tracer& tracer, const MmaArguments& in) {
  const Expansion here(tracer, "ptx.tcgen05.mma(...)");
  if (!check_together(tracer, in) || !check_instruction(tracer, in)) return;
  // The scales' default is .block32, and ptxas before 13.4 asks for the version that brought it.
  if (in.scale_a && in.scale_vec.empty()) tracer.require_version({8, 8});
  std::vector<Operand> operands;
  if (!add_memory(tracer, in.d, {"D of tcgen05.mma", "d"}, operands)) return;
  const auto a = source_operand(tracer, in, true);
  if (!a) return;
  const auto b = source_operand(tracer, in, false);
  if (!b) return;
  operands.push_back(*a);
  operands.push_back(*b);
  if (!add_memory(tracer, in.lut, {"the lookup table", "lut"}, operands) ||
      !add_memory(tracer, in.metadata, {"the sparsity metadata", "sp_meta"}, operands)) {
    return;
  }
  operands.push_back(in.instruction.operand());
  if (!in.disable_output_lane.empty()) {
    operands.push_back(vector_of(tracer, std::span<const Reg>(in.disable_output_lane)));
  }
  if (!add_memory(tracer, in.scale_a, {"the scales of A", "scale_a"}, operands) ||
      !add_memory(tracer, in.scale_b, {"the scales of B", "scale_b"}, operands)) {
    return;
  }
  operands.push_back(as_predicate(tracer, in.enable_input_d, "enable_input_d"));
  if (in.scale_d) operands.push_back(Operand::integer(*in.scale_d));
  if (in.zero_column_mask) operands.push_back(in.zero_column_mask->operand());
  tracer.emit(spelling_of(in), operands, in.guard);
}

}  // namespace pyptx::build::tcgen05
