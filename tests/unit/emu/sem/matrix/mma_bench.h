// SPDX-License-Identifier: Apache-2.0
//
// What the tests of mma and wmma share: one warp that loads registers, runs an instruction and
// stores its results, and elements whose sums are exact.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "bench.h"
#include "pyptx/layout/fragment.h"

namespace pyptx::emu {

using Word = std::uint32_t;
/// [register][lane]
using Registers = std::vector<std::array<Word, 32>>;

/// Registers, all of 32 bits, in and out of one instruction. 64-bit ones count as two.
class MmaBench {
 public:
  MmaBench(std::string instruction, Registers in, std::uint32_t out_count)
      : instruction_(std::move(instruction)), in_(std::move(in)), out_count_(out_count) {}

  /// `$d`, `$0`, `$1`, ... stand for the vectors of D and of the operands, sizes in registers.
  static std::string vector(const std::string& name, std::uint32_t first, std::uint32_t count) {
    std::string text = "{";
    for (std::uint32_t i = 0; i < count; ++i) {
      text += (i == 0 ? "%" : ", %") + name + std::to_string(first + i);
    }
    return text + "}";
  }

  Registers run(Numerics numerics = Numerics::Fast, TensorCore core = TensorCore::Target) {
    Bench bench(text());
    Registers out(out_count_);
    bench.buffer(0, in_, false);
    bench.buffer(1, out);
    bench.launch.block = {32, 1, 1};
    bench.launch.options.numerics = numerics;
    bench.launch.options.tensor_core = core;
    bench.run();
    return out;
  }
  std::string failure() {
    Bench bench(text());
    if (!bench.problem().empty()) return bench.problem();
    Registers out(out_count_);
    bench.buffer(0, in_, false);
    bench.buffer(1, out);
    bench.launch.block = {32, 1, 1};
    return bench.failure();
  }

 private:
  std::string text() const {
    std::string text =
        ".version 9.1\n.target sm_120a\n.address_size 64\n.visible .entry k(.param .u64 p0, "
        ".param .u64 p1)\n{\n.reg .b64 %rd<8>;\n.reg .b32 %r<64>;\n.reg .b32 %d<16>;\n"
        ".reg .f64 %x<16>;\n.reg .f64 %y<16>;\n.reg .u32 %t;\n"
        "ld.param.u64 %rd1, [p0];\nld.param.u64 %rd2, [p1];\nmov.u32 %t, %laneid;\n"
        "mad.wide.u32 %rd3, %t, 4, %rd1;\nmad.wide.u32 %rd4, %t, 4, %rd2;\n";
    for (std::size_t i = 0; i < in_.size(); ++i) {
      text +=
          "ld.global.b32 %r" + std::to_string(i) + ", [%rd3+" + std::to_string(128 * i) + "];\n";
    }
    text += instruction_ + ";\n";
    for (std::uint32_t i = 0; i < out_count_; ++i) {
      text +=
          "st.global.b32 [%rd4+" + std::to_string(128 * i) + "], %d" + std::to_string(i) + ";\n";
    }
    return text + "ret;\n}\n";
  }

  std::string instruction_;
  Registers in_;
  std::uint32_t out_count_;
};

/// Types of elements as tests know them: how to encode a number that the type has.
struct ElementType {
  std::string name;
  std::uint32_t bits;
  int exponent_bits = 0;  // 0: an integer
  int fraction_bits = 0;
  bool is_signed = true;
  int shift = 0;  // of the bits in their container

  std::uint32_t encode(double value) const {
    if (exponent_bits == 0) {
      return static_cast<Word>(static_cast<int>(value)) & ((1U << bits) - 1);
    }
    const std::uint32_t sign = std::signbit(value) ? 1U << (exponent_bits + fraction_bits) : 0;
    if (value == 0) return sign << shift;
    int exponent = 0;
    const double fraction = std::frexp(std::fabs(value), &exponent);
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const auto low = static_cast<std::uint32_t>((2 * fraction - 1) * (1 << fraction_bits));
    return (sign | static_cast<std::uint32_t>(exponent - 1 + bias) << fraction_bits | low) << shift;
  }
  /// Exact in the type, and so small that sums are exact in f16.
  double pick(std::mt19937& random) const {
    if (exponent_bits == 0) {
      const int span = 1 << bits;
      return static_cast<int>(random() % static_cast<unsigned>(span)) - (is_signed ? span / 2 : 0);
    }
    constexpr double kValues[] = {0, 1, -1, 2, -2, 3, -3};
    return kValues[random() % std::size(kValues)];
  }
};

inline const ElementType& element_type(const std::string& name) {
  static const ElementType kTypes[] = {
      {"f16", 16, 5, 10},     {"bf16", 16, 8, 7},
      {"tf32", 32, 8, 23},    {"e4m3", 8, 4, 3},
      {"e5m2", 8, 5, 2},      {"e2m3", 8, 2, 3},
      {"e3m2", 8, 3, 2},      {"e2m1", 8, 2, 1, true, 2},
      {"packed", 4, 2, 1},    {"s8", 8},
      {"u8", 8, 0, 0, false}, {"s4", 4},
      {"u4", 4, 0, 0, false},
  };
  for (const ElementType& type : kTypes) {
    if (type.name == name) return type;
  }
  return kTypes[0];
}

inline Word encode_accumulator(const std::string& type, double value) {
  if (type == "f32") return std::bit_cast<Word>(static_cast<float>(value));
  if (type == "f16") return element_type("f16").encode(value);
  return static_cast<Word>(static_cast<std::int64_t>(value));
}

struct Matrix {
  Matrix(std::uint32_t r, std::uint32_t c) : rows(r), columns(c), values(std::size_t{r} * c) {}
  double& at(std::uint32_t row, std::uint32_t column) { return values[row * columns + column]; }
  std::uint32_t rows;
  std::uint32_t columns;
  std::vector<double> values;
};

inline Matrix random_matrix(std::uint32_t rows, std::uint32_t columns, const ElementType& type,
                            std::mt19937& random) {
  Matrix matrix(rows, columns);
  for (double& value : matrix.values) value = type.pick(random);
  return matrix;
}

/// The registers that hold a matrix.
template <typename Encode>
Registers packed(const layout::Fragment& fragment, Matrix& matrix, std::uint32_t bits,
                 Encode&& encode) {
  Registers registers(fragment.registers);
  for (Word lane = 0; lane < 32; ++lane) {
    for (Word reg = 0; reg < fragment.registers; ++reg) {
      registers[reg][lane] = 0;
      for (Word e = 0; e < fragment.elements; ++e) {
        const layout::FragmentPlace at = fragment.at(lane, reg, e);
        registers[reg][lane] |= encode(matrix.at(at.row, at.column)) << (e * bits % 32);
      }
    }
  }
  return registers;
}

inline Registers packed(const layout::Fragment& fragment, Matrix& matrix, const ElementType& type) {
  return packed(fragment, matrix, type.bits, [&](double value) { return type.encode(value); });
}

inline void append(Registers& to, const Registers& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace pyptx::emu
