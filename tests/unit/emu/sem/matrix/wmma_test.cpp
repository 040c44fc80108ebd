// SPDX-License-Identifier: Apache-2.0
//
// wmma from memory to memory, and the matrix moves: whatever the fragments are, D in memory must be
// A * B + C. movmatrix and the byte forms of ldmatrix and stmatrix against the manual's tables.
#include <bit>
#include <functional>

#include "mma_bench.h"

namespace pyptx::emu {
namespace {

struct WmmaCase {
  std::string shape;
  Word m;
  Word n;
  Word k;
  std::string d;
  std::string a;  // empty types: .f16
  bool a_by_columns = false;
  bool b_by_rows = false;
  bool d_by_columns = false;
  Word a_registers;
  Word b_registers;
  Word d_registers;
};

void PrintTo(const WmmaCase& c, std::ostream* out) { *out << c.shape << "." << c.d << "." << c.a; }

class Wmma : public ::testing::TestWithParam<WmmaCase> {};

std::vector<std::uint8_t> image(Matrix& matrix, bool by_columns, Word stride, Word bits,
                                const std::function<Word(double)>& encode) {
  const Word lines = by_columns ? matrix.columns : matrix.rows;
  std::vector<std::uint8_t> bytes(std::size_t{lines} * stride * bits / 8 + 16);
  for (Word row = 0; row < matrix.rows; ++row) {
    for (Word column = 0; column < matrix.columns; ++column) {
      const Word index = by_columns ? column * stride + row : row * stride + column;
      const Word value = encode(matrix.at(row, column));
      if (bits < 8) {
        bytes[index * bits / 8] |= static_cast<std::uint8_t>(value << (index * bits % 8));
      } else {
        std::memcpy(bytes.data() + index * bits / 8, &value, bits / 8);
      }
    }
  }
  return bytes;
}

TEST_P(Wmma, FromMemoryToMemory) {
  const WmmaCase& c = GetParam();
  std::mt19937 random(c.m + c.k);
  const ElementType bit{"b1", 1, 0, 0, false};
  const ElementType& type = c.a == "b1" ? bit : element_type(c.a);
  Matrix a = random_matrix(c.m, c.k, type, random);
  Matrix b = random_matrix(c.k, c.n, type, random);
  Matrix d(c.m, c.n);
  for (double& value : d.values) value = static_cast<int>(random() % 16) - 8;
  const Word d_bits = c.d == "f16" ? 16 : 32;
  const std::function<Word(double)> encode = [&](double value) {
    if (c.d == "f32") return std::bit_cast<Word>(static_cast<float>(value));
    if (c.d == "f16") return element_type("f16").encode(value);
    return static_cast<Word>(static_cast<int>(value));
  };
  const std::function<Word(double)> element = [&](double value) { return type.encode(value); };
  const Word line_a = c.a_by_columns ? c.m : c.k;
  const Word line_b = c.b_by_rows ? c.n : c.k;
  const Word line_d = c.d_by_columns ? c.m : c.n;
  const Word more = type.bits < 8 ? 0 : 16;  // A's lines are further apart than they are long
  auto bytes_a = image(a, c.a_by_columns, line_a + more, type.bits, element);
  auto bytes_b = image(b, !c.b_by_rows, line_b, type.bits, element);
  auto bytes_c = image(d, c.d_by_columns, line_d, d_bits, encode);
  std::vector<std::uint8_t> bytes_d(bytes_c.size());
  const std::string la = c.a_by_columns ? "col" : "row";
  const std::string lb = c.b_by_rows ? "row" : "col";
  const std::string ld = c.d_by_columns ? "col" : "row";
  const bool is_plain = c.a == "f16";
  const std::string head = c.a == "b1" ? "wmma.mma.xor.popc" : "wmma.mma";
  const std::string types = is_plain ? c.d + "." + c.d : c.d + "." + c.a + "." + c.a + "." + c.d;
  const std::string va = MmaBench::vector("r", 0, c.a_registers);
  const std::string vb = MmaBench::vector("r", 8, c.b_registers);
  const std::string vc = MmaBench::vector("r", 16, c.d_registers);
  Bench bench(
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p0, .param "
      ".u64 "
      "p1, .param .u64 p2, .param .u64 p3)\n{\n.reg .b64 %rd<8>;\n.reg .b32 %r<32>;\n"
      "ld.param.u64 %rd0, [p0];\nld.param.u64 %rd1, [p1];\nld.param.u64 %rd2, [p2];\n"
      "ld.param.u64 %rd3, [p3];\n"
      "wmma.load.a.sync.aligned." +
      la + "." + c.shape + ".global." + c.a + " " + va + ", [%rd0], " +
      std::to_string(line_a + more) + ";\nwmma.load.b.sync.aligned." + lb + "." + c.shape + "." +
      c.a + " " + vb + ", [%rd1];\nwmma.load.c.sync.aligned." + ld + "." + c.shape + ".global." +
      c.d + " " + vc + ", [%rd2];\n" + head + ".sync.aligned." + la + "." + lb + "." + c.shape +
      "." + types + " " + vc + ", " + va + ", " + vb + ", " + vc + ";\nwmma.store.d.sync.aligned." +
      ld + "." + c.shape + ".global." + c.d + " [%rd3], " + vc + ";\nret;\n}\n");
  bench.buffer(0, bytes_a, false);
  bench.buffer(1, bytes_b, false);
  bench.buffer(2, bytes_c, false);
  bench.buffer(3, bytes_d);
  bench.launch.block = {32, 1, 1};
  for (Word m = 0; m < c.m; ++m) {
    for (Word n = 0; n < c.n; ++n) {
      for (Word k = 0; k < c.k; ++k) {
        const double x = a.at(m, k);
        const double y = b.at(k, n);
        d.at(m, n) += c.a == "b1" ? static_cast<double>(x != y) : x * y;
      }
    }
  }
  for (const Numerics numerics : {Numerics::Fast, Numerics::Exact}) {
    bench.launch.options.numerics = numerics;
    bench.run();
    EXPECT_EQ(bytes_d, image(d, c.d_by_columns, line_d, d_bits, encode));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, Wmma,
    ::testing::Values(WmmaCase{"m16n16k16", 16, 16, 16, "f32", "f16", false, false, false, 8, 8, 8},
                      WmmaCase{"m16n16k16", 16, 16, 16, "f16", "f16", true, true, true, 8, 8, 4},
                      WmmaCase{"m8n32k16", 8, 32, 16, "f32", "f16", true, false, false, 8, 8, 8},
                      WmmaCase{"m32n8k16", 32, 8, 16, "f16", "f16", false, true, false, 8, 8, 4},
                      WmmaCase{"m16n16k16", 16, 16, 16, "f32", "bf16", false, false, true, 4, 4, 8},
                      WmmaCase{"m8n32k16", 8, 32, 16, "f32", "bf16", false, true, false, 2, 8, 8},
                      WmmaCase{"m32n8k16", 32, 8, 16, "f32", "bf16", true, false, false, 8, 2, 8},
                      WmmaCase{"m16n16k8", 16, 16, 8, "f32", "tf32", false, false, false, 4, 4, 8},
                      WmmaCase{"m16n16k16", 16, 16, 16, "s32", "s8", false, false, false, 2, 2, 8},
                      WmmaCase{"m32n8k16", 32, 8, 16, "s32", "u8", true, true, false, 4, 1, 8},
                      WmmaCase{"m8n32k16", 8, 32, 16, "s32", "s8", false, true, true, 1, 4, 8},
                      WmmaCase{"m8n8k32", 8, 8, 32, "s32", "s4", false, false, false, 1, 1, 2},
                      WmmaCase{"m8n8k32", 8, 8, 32, "s32", "u4", false, false, true, 1, 1, 2},
                      WmmaCase{"m8n8k128", 8, 8, 128, "s32", "b1", false, false, false, 1, 1, 2}));

TEST(WmmaMemory, OutOfBoundsIsReported) {
  std::vector<float> c(16 * 16 - 1);
  Bench bench(
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p0)\n{\n"
      ".reg .b64 %rd<8>;\n.reg .f32 %f<32>;\nld.param.u64 %rd0, [p0];\n"
      "wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, "
      "[%rd0];\nret;\n}\n");
  bench.buffer(0, c);
  bench.launch.block = {32, 1, 1};
  EXPECT_THAT(bench.failure(), ::testing::HasSubstr("PTX0904"));
}

TEST(MatrixMoves, MovmatrixTransposes) {
  Registers in(1);
  for (Word lane = 0; lane < 32; ++lane) {  // element (r, c) is 100 r + c
    const Word first = lane / 4 * 100 + lane % 4 * 2;
    in[0][lane] = first | (first + 1) << 16;
  }
  const Registers out = MmaBench("movmatrix.sync.aligned.m8n8.trans.b16 %d0, %r0", in, 1).run();
  for (Word lane = 0; lane < 32; ++lane) {
    const Word row = lane / 4;
    const Word column = lane % 4 * 2;
    EXPECT_EQ(out[0][lane], (column * 100 + row) | ((column + 1) * 100 + row) << 16);
  }
}

/// Shared memory from %r registers: 32 rows of 16 bytes, one of each lane.
std::string filled(const std::string& body) {
  return ".shared .align 16 .b8 tile[512];\n.reg .u32 %a;\nmov.u32 %a, tile;\n"
         "mad.lo.u32 %a, %t, 16, %a;\nst.shared.v4.b32 [%a], {%r0, %r1, %r2, %r3};\n"
         "bar.sync 0;\n" +
         body;
}

Registers numbered_rows() {
  Registers in(4);
  for (Word word = 0; word < 4; ++word) {
    for (Word lane = 0; lane < 32; ++lane) {
      Word value = 0;
      for (Word i = 0; i < 4; ++i) value |= ((lane * 7 + (word * 4 + i) * 3) & 0xFFU) << (8 * i);
      in[word][lane] = value;
    }
  }
  return in;
}

Word byte_of(const Registers& rows, Word row, Word i) {
  return rows[i / 4][row] >> (i % 4 * 8) & 0xFFU;
}

/// Bits [i * width, (i + 1) * width) of a row.
Word field_of(const Registers& rows, Word row, Word i, Word width) {
  Word value = 0;
  for (Word bit = 0; bit < width; ++bit) {
    const Word at = i * width + bit;
    value |= (byte_of(rows, row, at / 8) >> (at % 8) & 1U) << bit;
  }
  return value;
}

TEST(MatrixMoves, LdmatrixOfBytes) {
  const Registers in = numbered_rows();
  const Registers out =
      MmaBench(filled("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8 {%d0, %d1, %d2, %d3}, [%a]"),
               in, 4)
          .run();
  const layout::Fragment fragment = layout::ldmatrix_m16n16(2);
  for (Word lane = 0; lane < 32; ++lane) {
    for (Word reg = 0; reg < 4; ++reg) {
      for (Word e = 0; e < 4; ++e) {
        const layout::FragmentPlace at = fragment.at(lane, reg, e);
        ASSERT_EQ(out[reg][lane] >> (8 * e) & 0xFFU,
                  byte_of(in, at.matrix * 16 + at.row, at.column));
      }
    }
  }
}

TEST(MatrixMoves, LdmatrixWidensNarrowElements) {
  const Registers in = numbered_rows();
  const Registers six = MmaBench(filled("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b6x16_p32 "
                                        "{%d0, %d1, %d2, %d3}, [%a]"),
                                 in, 4)
                            .run();
  const Registers four = MmaBench(filled("ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b4x16_p64 "
                                         "{%d0, %d1}, [%a]"),
                                  in, 2)
                             .run();
  const layout::Fragment fragment = layout::ldmatrix_m8n16(4);
  for (Word lane = 0; lane < 32; ++lane) {
    for (Word reg = 0; reg < 4; ++reg) {
      for (Word e = 0; e < 4; ++e) {
        const layout::FragmentPlace at = fragment.at(lane, reg, e);
        const Word row = at.matrix * 8 + at.row;
        ASSERT_EQ(six[reg][lane] >> (8 * e) & 0xFFU, field_of(in, row, at.column, 6));
        if (reg < 2) {
          ASSERT_EQ(four[reg][lane] >> (8 * e) & 0xFFU, field_of(in, row, at.column, 4) << 2);
        }
      }
    }
  }
}

TEST(MatrixMoves, StmatrixOfBytes) {
  Registers in(5);
  for (Word reg = 0; reg < 4; ++reg) in[reg].fill(0);
  for (Word lane = 0; lane < 32; ++lane) in[4][lane] = lane * 0x01010101U + 0x60402000U;
  const Registers out =
      MmaBench(filled("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%a], {%r4};\n"
                      "bar.sync 0;\nld.shared.v4.b32 {%d0, %d1, %d2, %d3}, [%a]"),
               in, 4)
          .run();
  // Lane 4 g + t: rows g and g + 8, columns 2 t and 2 t + 1; a row of memory for each column.
  for (Word lane = 0; lane < 32; ++lane) {
    for (Word e = 0; e < 4; ++e) {
      const Word row = lane / 4 + e / 2 * 8;
      const Word column = lane % 4 * 2 + e % 2;
      EXPECT_EQ(byte_of(out, column, row), in[4][lane] >> (8 * e) & 0xFFU);
    }
  }
}

}  // namespace
}  // namespace pyptx::emu
