// SPDX-License-Identifier: Apache-2.0
//
// Matrix multiplication of one warp: mma.sync of every shape and type, sparse and block-scaled, and
// ldmatrix and stmatrix, which move its fragments (PTX ISA, "Warp Level Matrix Instructions"). The
// table judges shapes, types and register counts; pyptx::layout says which element a register
// holds.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyptx/build/shared.h"
#include "pyptx/build/tracer.h"

namespace pyptx::build::mma {

/// A is stored 2:4 sparse; `selector` picks the threads whose metadata counts.
struct Sparsity {
  Reg metadata;
  std::int64_t selector = 0;
  bool ordered = true;  // .sp::ordered_metadata, else .sp
};

/// Scale factors of A and B, and which byte of which thread's register holds them.
struct BlockScale {
  isa::Type type = isa::Type::Ue8m0;
  Reg a;
  Reg b;
  std::array<Index, 2> select_a{0, 0};  // byte, thread
  std::array<Index, 2> select_b{0, 0};
  std::string vector_size;  // "1X", "2X", "4X"; empty: the kind's own
};

/// Registers of a fragment; where the manual allows it, literals.
class Fragment : public std::vector<ir::Operand> {
 public:
  using std::vector<ir::Operand>::vector;
  Fragment(std::vector<ir::Operand> operands)  // NOLINT(*-explicit-*)
      : std::vector<ir::Operand>(std::move(operands)) {}
  template <typename T>
    requires std::convertible_to<const T&, const std::vector<Reg>&>
  Fragment(const T& registers) {  // NOLINT(*-explicit-*)
    const std::vector<Reg>& all = registers;
    assign(all.begin(), all.end());
  }
};

/// What a product takes.
struct Arguments {
  std::array<std::int64_t, 3> shape{};  // m, n, k
  isa::Type type_d{};
  isa::Type type_a{};
  isa::Type type_b{};
  isa::Type type_c{};
  Fragment d{};
  Fragment a{};
  Fragment b{};
  Fragment c{};
  std::string layout_a = "row";
  std::string layout_b = "col";
  std::string kind{};      // "f8f6f4", "mxf4", ...; empty: none, or what 4- and 6-bit floats need
  std::string rounding{};  // of .f64
  std::string bit_op{};    // of .b1; empty: xor
  bool saturate = false;
  std::optional<Sparsity> sparsity{};
  std::optional<BlockScale> scale{};
  Guard guard{};
};
/// D = A * B + C
void sync(Tracer& tracer, const Arguments& arguments);

/// How matrices are moved.
struct MoveOptions {
  std::string count = "x4";    // "x1", "x2", "x4"
  std::string shape = "m8n8";  // ldmatrix: also "m16n16", "m8n16"; stmatrix: also "m16n8"
  bool trans = false;
  std::string source_format{};  // ldmatrix of narrow formats: "b6x16_p32", "b4x16_p64", "s4"
  Guard guard{};
};
/// Each lane gives the address of a row in `source`.
void ldmatrix(Tracer& tracer, std::span<const Reg> destination, const SharedPlace& source,
              const MoveOptions& options = {});
/// Each lane gives the address of a row in `destination`.
void stmatrix(Tracer& tracer, const SharedPlace& destination, std::span<const Reg> source,
              const MoveOptions& options = {});

/// Registers to work in; empty: fresh ones.
struct Scratch {
  std::vector<Reg> halves{};  // 8 of 16 bits
  std::vector<Reg> pairs{};   // 4 of 32 bits
};
/// Stores an accumulator of one warp (16 rows, a multiple of 16 columns, f32, as mma.m16n8 pairs
/// and wgmma hold it) as bf16, transposed: column c of it becomes 16 elements at `base` plus c
/// times `row_stride` bytes. Eight registers are 16 columns and one stmatrix.x4.trans.
void stmatrix_x4_trans_f32_bf16(Tracer& tracer, std::span<const Reg> fragment,
                                const SharedPlace& base, Reg lane, std::int64_t row_stride,
                                const Scratch& scratch = {});

}  // namespace pyptx::build::mma
