// SPDX-License-Identifier: Apache-2.0
//
// An f32 accumulator stored as transposed bf16. PTX ISA, "stmatrix"; the places of the elements are
// layout::mma_accumulator's and layout::ldmatrix_m8n8's.
#include "arguments.h"
#include "pyptx/build/mma.h"
#include "pyptx/support/concat.h"

namespace pyptx::build::mma {
namespace {

using diag::Kind;
using ir::Operand;

constexpr std::size_t kValues = 8;  // f32 registers of 16 columns
constexpr std::size_t kPairs = 4;   // what stmatrix.x4 takes

bool check_registers(Tracer& tracer, const Argument& what, std::span<const Reg> registers,
                     std::uint32_t bits) {
  for (const Reg& reg : registers) {
    if (isa::info(reg.type).bits == bits) continue;
    return refuse(tracer, what, support::concat("registers of ", bits, " bits"), words(reg));
  }
  return true;
}

bool check_count(Tracer& tracer, const Argument& what, std::size_t given, std::size_t wanted,
                 std::string_view type) {
  if (given == wanted) return true;
  tracer.report(diag::Diagnostic(Kind::FragmentSize,
                                 {std::string(what.words), "stmatrix_x4_trans_f32_bf16",
                                  std::to_string(wanted), std::string(type), std::to_string(given)})
                    .about(what.parameter, what.element));
  return false;
}

bool check(Tracer& tracer, std::span<const Reg> fragment, Reg lane, std::int64_t row_stride,
           const Scratch& scratch) {
  if (fragment.empty() || fragment.size() % kValues != 0) {
    return check_count(tracer, {"the fragment", "frag"}, fragment.size(),
                       (fragment.size() / kValues + 1) * kValues, "f32");
  }
  if (row_stride <= 0 || row_stride % 16 != 0) {
    return refuse(tracer, "row_stride", "a multiple of 16 bytes", std::to_string(row_stride));
  }
  if (!scratch.halves.empty() &&
      !check_count(tracer, "tmp_bf16", scratch.halves.size(), kValues, "16 bits")) {
    return false;
  }
  if (!scratch.pairs.empty() &&
      !check_count(tracer, "tmp_pack", scratch.pairs.size(), kPairs, "32 bits")) {
    return false;
  }
  return check_word(tracer, lane, {"the lane", "lane"}) &&
         check_registers(tracer, {"the fragment", "frag"}, fragment, 32) &&
         check_registers(tracer, "tmp_bf16", scratch.halves, 16) &&
         check_registers(tracer, "tmp_pack", scratch.pairs, 32);
}

/// Lane 8p + r gives the row r of matrix p: column 8 * (p / 2) + r of the accumulator, from row
/// 8 * (p % 2) on, since pair p holds rows + 8 * (p % 2) and columns + 8 * (p / 2).
Reg row_address(Tracer& tracer, const SharedPlace& base, Reg lane, std::int64_t row_stride) {
  const Reg high = tracer.reg(isa::Type::U32);
  const Reg column = tracer.reg(isa::Type::U32);
  const Reg rows = tracer.reg(isa::Type::U32);
  const Reg address = tracer.reg(isa::Type::U32);
  tracer.emit("shr.u32", {high, lane, Operand::integer(1)});
  tracer.emit("and.b32", {high, high, Operand::integer(8)});
  tracer.emit("and.b32", {column, lane, Operand::integer(7)});
  tracer.emit("add.u32", {column, column, high});
  tracer.emit("and.b32", {rows, lane, Operand::integer(8)});
  tracer.emit("shl.b32", {rows, rows, Operand::integer(1)});
  tracer.emit("mad.lo.u32", {address, column, Operand::integer(row_stride), rows});
  tracer.emit("add.u32", {address, address, address_of(tracer, base)});
  return address;
}

void convert(Tracer& tracer, std::span<const Reg> values, const Scratch& scratch) {
  for (std::size_t p = 0; p < kPairs; ++p) {
    const Reg low = values[2 * p];
    const Reg high = values[2 * p + 1];
    if (scratch.halves.empty()) {
      tracer.emit("cvt.rn.bf16x2.f32", {scratch.pairs[p], high, low});
      continue;
    }
    const Reg pair[] = {scratch.halves[2 * p], scratch.halves[2 * p + 1]};
    tracer.emit("cvt.rn.bf16.f32", {pair[0], low});
    tracer.emit("cvt.rn.bf16.f32", {pair[1], high});
    tracer.emit("mov.b32", {scratch.pairs[p], vector_of(tracer, std::span<const Reg>(pair))});
  }
}

}  // namespace

void stmatrix_x4_trans_f32_bf16(Tracer& tracer, std::span<const Reg> fragment,
                                const SharedPlace& base, Reg lane, std::int64_t row_stride,
                                const Scratch& scratch) {
  const Expansion here(tracer, "ptx.stmatrix_x4_trans_f32_bf16(...)");
  if (!check(tracer, fragment, lane, row_stride, scratch)) return;
  Scratch used = scratch;
  if (used.pairs.empty()) used.pairs = tracer.reg_array(isa::Type::B32, kPairs);
  const Reg address = row_address(tracer, base, lane, row_stride);
  MoveOptions options;
  options.trans = true;
  for (std::size_t first = 0; first < fragment.size(); first += kValues) {
    convert(tracer, fragment.subspan(first, kValues), used);
    const auto columns = static_cast<std::int64_t>(first / kValues) * 16;
    stmatrix(tracer, SharedPlace::of_register(address, columns * row_stride), used.pairs, options);
  }
}

}  // namespace pyptx::build::mma
