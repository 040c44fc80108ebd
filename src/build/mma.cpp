// SPDX-License-Identifier: Apache-2.0
//
// mma.sync, ldmatrix and stmatrix put together from their parts. See mma.h.
#include "pyptx/build/mma.h"

#include "arguments.h"
#include "pyptx/support/concat.h"

namespace pyptx::build::mma {
namespace {

using ir::Operand;
using support::concat;

std::string_view name(isa::Type type) { return isa::info(type).name; }

std::string with_kind(const Arguments& in, std::string_view kind) {
  std::string text = "mma";
  if (in.sparsity) text += in.sparsity->ordered ? ".sp::ordered_metadata" : ".sp";
  text += concat(".sync.aligned.m", in.shape[0], "n", in.shape[1], "k", in.shape[2], ".",
                 in.layout_a, ".", in.layout_b);
  if (!kind.empty()) text += concat(".kind::", kind);
  if (in.scale) {
    text += ".block_scale";
    if (!in.scale->vector_size.empty()) text += concat(".scale_vec::", in.scale->vector_size);
  }
  if (in.saturate) text += ".satfinite";
  text += concat(".", name(in.type_d), ".", name(in.type_a), ".", name(in.type_b), ".",
                 name(in.type_c));
  if (in.scale) text += concat(".", name(in.scale->type));
  if (in.type_a == isa::Type::B1) {
    text += concat(".", in.bit_op.empty() ? std::string("xor") : in.bit_op, ".popc");
  }
  if (!in.rounding.empty()) text += concat(".", in.rounding);
  return text;
}

/// 4- and 6-bit floats are multiplied only by a kind that says so; the table knows which they are.
std::string spelling_of(const Arguments& in) {
  std::string text = with_kind(in, in.kind);
  if (!in.kind.empty() || is_spelling(text)) return text;
  std::string narrow = with_kind(in, "f8f6f4");
  return is_spelling(narrow) ? narrow : text;
}

bool check_select(Tracer& tracer, const std::array<Index, 2>& select, const char* what) {
  for (const Index& part : select) {
    if (part.is_constant() ? part.value >= 0 && part.value <= 3
                           : isa::info(part.reg->type).bits == 16) {
      continue;
    }
    return refuse(tracer, what, "two numbers from 0 to 3 or 16-bit registers", words(part));
  }
  return true;
}

}  // namespace

void sync(Tracer& tracer, const Arguments& in) {
  if (!in.bit_op.empty() && in.type_a != isa::Type::B1) {
    refuse(tracer, "bit_op", "left out where A is not b1", concat("'", in.bit_op, "'"));
    return;
  }
  std::vector<Operand> operands{tracer.vector(in.d), tracer.vector(in.a), tracer.vector(in.b),
                                tracer.vector(in.c)};
  if (in.sparsity) {
    operands.push_back(in.sparsity->metadata);
    operands.push_back(Operand::integer(in.sparsity->selector));
  }
  if (in.scale) {
    if (!check_select(tracer, in.scale->select_a, "select_a") ||
        !check_select(tracer, in.scale->select_b, "select_b")) {
      return;
    }
    operands.push_back(in.scale->a);
    operands.push_back(vector_of(tracer, std::span<const Index>(in.scale->select_a)));
    operands.push_back(in.scale->b);
    operands.push_back(vector_of(tracer, std::span<const Index>(in.scale->select_b)));
  }
  tracer.emit(spelling_of(in), operands, in.guard);
}

void ldmatrix(Tracer& tracer, std::span<const Reg> destination, const SharedPlace& source,
              const MoveOptions& options) {
  if (options.source_format.empty() &&
      !check_place(tracer, source, 16, {"a row of ldmatrix", "src"}))
    return;
  const std::string stem = concat("ldmatrix.sync.aligned.", options.shape, ".", options.count,
                                  options.trans ? ".trans" : "", ".shared.");
  constexpr std::string_view kWhole[] = {"b16", "b8"};
  constexpr std::string_view kWidened[] = {"b8x16.", "s8."};
  std::string text = spelled(stem, kWhole);
  if (!options.source_format.empty()) {
    const std::string widened[] = {concat(kWidened[0], options.source_format),
                                   concat(kWidened[1], options.source_format)};
    const std::string_view endings[] = {widened[0], widened[1]};
    text = spelled(stem, endings);
  }
  const Operand memory = memory_at(tracer, source);
  tracer.emit(text, {vector_of(tracer, destination), memory}, options.guard);
}

void stmatrix(Tracer& tracer, const SharedPlace& destination, std::span<const Reg> source,
              const MoveOptions& options) {
  if (!options.source_format.empty()) {
    refuse(tracer, "the source format of stmatrix", "left out",
           concat("'", options.source_format, "'"));
    return;
  }
  if (!check_place(tracer, destination, 16, {"a row of stmatrix", "smem"})) return;
  const std::string stem = concat("stmatrix.sync.aligned.", options.shape, ".", options.count,
                                  options.trans ? ".trans" : "", ".shared.");
  constexpr std::string_view kTypes[] = {"b16", "b8"};
  const Operand memory = memory_at(tracer, destination);
  tracer.emit(spelled(stem, kTypes), {memory, vector_of(tracer, source)}, options.guard);
}

}  // namespace pyptx::build::mma
