// SPDX-License-Identifier: Apache-2.0
//
// mma of every type and shape against a product made on the host, with the fragments of the PTX
// ISA. Values are chosen so that every sum is exact: the comparison is of bits.
#include <bit>

#include "mma_bench.h"

namespace pyptx::emu {
namespace {

struct MmaCase {
  std::uint32_t m;
  std::uint32_t k;
  std::string d;
  std::string a;
  std::string b;
  bool saturate = false;
  std::string kind{};

  std::string spelling() const {
    return "mma.sync.aligned.m" + std::to_string(m) + "n8k" + std::to_string(k) + ".row.col" +
           kind + (saturate ? ".satfinite" : "") + "." + d + "." + a + "." + b + "." + d;
  }
};

void PrintTo(const MmaCase& c, std::ostream* out) { *out << c.spelling(); }

class Mma : public ::testing::TestWithParam<MmaCase> {};

void check(const MmaCase& c, Numerics numerics) {
  std::mt19937 random(static_cast<unsigned>(c.m * 1000 + c.k));
  Matrix a = random_matrix(c.m, c.k, element_type(c.a), random);
  Matrix b = random_matrix(c.k, 8, element_type(c.b), random);
  Matrix d(c.m, 8);
  const bool is_integer = c.d == "s32";
  for (double& value : d.values) {
    value = is_integer
                ? static_cast<double>(c.saturate ? 0x7FFFFF00 - static_cast<int>(random() % 2)
                                                 : static_cast<int>(random() % 100))
                : static_cast<int>(random() % 16) - 8;
  }
  const Word d_bits = c.d == "f16" ? 16 : 32;
  const layout::Fragment accumulator = layout::mma_accumulator(c.m, d_bits);
  const auto encode = [&](double value) { return encode_accumulator(c.d, value); };
  const Registers ra =
      packed(layout::mma_a(c.m, c.k, element_type(c.a).bits), a, element_type(c.a));
  const Registers rb = packed(layout::mma_b(c.k, element_type(c.b).bits), b, element_type(c.b));
  const Registers rc = packed(accumulator, d, d_bits, encode);
  Registers in = ra;
  append(in, rb);
  append(in, rc);
  const auto na = static_cast<Word>(ra.size());
  const auto nb = static_cast<Word>(rb.size());
  const auto nc = static_cast<Word>(rc.size());
  MmaBench bench(c.spelling() + " " + MmaBench::vector("d", 0, nc) + ", " +
                     MmaBench::vector("r", 0, na) + ", " + MmaBench::vector("r", na, nb) + ", " +
                     MmaBench::vector("r", na + nb, nc),
                 in, nc);
  const Registers out = bench.run(numerics);
  for (Word m = 0; m < c.m; ++m) {
    for (Word n = 0; n < 8; ++n) {
      double sum = d.at(m, n);
      for (Word k = 0; k < c.k; ++k) sum += a.at(m, k) * b.at(k, n);
      if (c.saturate) sum = std::min(sum, 2147483647.0);
      d.at(m, n) = sum;
    }
  }
  EXPECT_EQ(out, packed(accumulator, d, d_bits, encode));
}

TEST_P(Mma, Fast) { check(GetParam(), Numerics::Fast); }
TEST_P(Mma, Exact) { check(GetParam(), Numerics::Exact); }

std::vector<MmaCase> mma_cases() {
  std::vector<MmaCase> all;
  for (const Word k : {8U, 16U}) {
    all.push_back({16, k, "f16", "f16", "f16"});
    all.push_back({16, k, "f32", "f16", "f16"});
    all.push_back({16, k, "f32", "bf16", "bf16"});
    all.push_back({16, k / 2, "f32", "tf32", "tf32"});
  }
  for (const std::string a : {"e4m3", "e5m2"}) {
    for (const std::string b : {"e4m3", "e5m2"}) {
      for (const std::string d : {"f16", "f32"}) {
        all.push_back({16, 32, d, a, b});
        all.push_back({16, 16, d, a, b});
      }
    }
  }
  for (const std::string a : {"e3m2", "e2m3", "e2m1"}) {
    for (const std::string d : {"f16", "f32"}) {
      all.push_back({16, 32, d, a, a, false, ".kind::f8f6f4"});
      all.push_back({16, 32, d, a, "e5m2", false, ".kind::f8f6f4"});
    }
  }
  for (const std::string a : {"s8", "u8"}) {
    for (const std::string b : {"s8", "u8"}) {
      for (const bool saturate : {false, true}) {
        all.push_back({8, 16, "s32", a, b, saturate});
        all.push_back({16, 16, "s32", a, b, saturate});
        all.push_back({16, 32, "s32", a, b, saturate});
      }
    }
  }
  for (const std::string a : {"s4", "u4"}) {
    for (const std::string b : {"s4", "u4"}) {
      all.push_back({8, 32, "s32", a, b});
      all.push_back({16, 32, "s32", a, b});
      all.push_back({16, 64, "s32", a, b, true});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Forms, Mma, ::testing::ValuesIn(mma_cases()));

TEST(MmaKinds, IntegersWrapUnlessTheySaturate) {
  Registers in(7);
  for (auto& lanes : in) lanes.fill(0x7F7F7F7FU);  // A, B: 127; C follows
  for (Word r = 3; r < 7; ++r) in[r].fill(0x7FFFFFFFU);
  const std::string operands = " {%d0, %d1, %d2, %d3}, {%r0, %r1}, {%r2}, {%r3, %r4, %r5, %r6}";
  const std::string shape = "mma.sync.aligned.m16n8k16.row.col";
  const Word product = 16 * 127 * 127;
  EXPECT_EQ(MmaBench(shape + ".s32.s8.s8.s32" + operands, in, 4).run()[0][5],
            0x7FFFFFFFU + product);
  EXPECT_EQ(MmaBench(shape + ".satfinite.s32.s8.s8.s32" + operands, in, 4).run()[0][5],
            0x7FFFFFFFU);
}

TEST(MmaKinds, SingleBits) {
  std::mt19937 random(5);
  for (const Word m : {8U, 16U}) {
    for (const Word k : {128U, 256U}) {
      if (m == 8 && k == 256) continue;
      for (const bool is_xor : {false, true}) {
        const ElementType bit{"b1", 1, 0, 0, false};
        Matrix a = random_matrix(m, k, bit, random);
        Matrix b = random_matrix(k, 8, bit, random);
        Registers in = packed(layout::mma_a(m, k, 1), a, bit);
        const auto na = static_cast<Word>(in.size());
        append(in, packed(layout::mma_b(k, 1), b, bit));
        const auto nb = static_cast<Word>(in.size()) - na;
        const Word nc = m / 4;
        append(in, Registers(nc, std::array<Word, 32>{}));
        for (Word r = 0; r < nc; ++r) in[na + nb + r].fill(1000);
        const Registers out =
            MmaBench("mma.sync.aligned.m" + std::to_string(m) + "n8k" + std::to_string(k) +
                         ".row.col.s32.b1.b1.s32." + (is_xor ? "xor" : "and") + ".popc " +
                         MmaBench::vector("d", 0, nc) + ", " + MmaBench::vector("r", 0, na) + ", " +
                         MmaBench::vector("r", na, nb) + ", " + MmaBench::vector("r", na + nb, nc),
                     in, nc)
                .run();
        const layout::Fragment accumulator = layout::mma_accumulator(m, 32);
        for (Word lane = 0; lane < 32; ++lane) {
          for (Word r = 0; r < nc; ++r) {
            const layout::FragmentPlace at = accumulator.at(lane, r);
            Word count = 1000;
            for (Word i = 0; i < k; ++i) {
              const bool x = a.at(at.row, i) != 0;
              const bool y = b.at(i, at.column) != 0;
              count += (is_xor ? x != y : x && y) ? 1 : 0;
            }
            ASSERT_EQ(out[r][lane], count) << m << " " << k << " " << is_xor;
          }
        }
      }
    }
  }
}

/// f64 registers are pairs of words: {%x...} are made from %r..., and {%y...} taken apart.
std::string doubles(const std::string& spelling, Word na, Word nb, Word nd) {
  std::string text;
  for (Word i = 0; i < na + nb + nd; ++i) {
    text += "mov.b64 %x" + std::to_string(i) + ", {%r" + std::to_string(2 * i) + ", %r" +
            std::to_string(2 * i + 1) + "};\n";
  }
  text += spelling + " " + MmaBench::vector("y", 0, nd) + ", " + MmaBench::vector("x", 0, na) +
          ", " + MmaBench::vector("x", na, nb) + ", " + MmaBench::vector("x", na + nb, nd) + ";\n";
  for (Word i = 0; i < nd; ++i) {
    text += "mov.b64 {%d" + std::to_string(2 * i) + ", %d" + std::to_string(2 * i + 1) + "}, %y" +
            std::to_string(i) + (i + 1 < nd ? ";\n" : "");
  }
  return text;
}

TEST(MmaKinds, Doubles) {
  std::mt19937 random(9);
  std::uniform_real_distribution<double> value(-1, 1);
  struct Shape {
    Word m;
    Word k;
  };
  for (const Shape shape : {Shape{8, 4}, Shape{16, 4}, Shape{16, 8}}) {
    const layout::Fragment fragments[] = {layout::mma_a(shape.m, shape.k, 64),
                                          layout::mma_b(shape.k, 64),
                                          layout::mma_accumulator(shape.m, 64)};
    Matrix matrices[] = {Matrix(shape.m, shape.k), Matrix(shape.k, 8), Matrix(shape.m, 8)};
    Registers in;
    for (int i = 0; i < 3; ++i) {
      for (double& x : matrices[i].values) x = value(random);
      for (Word reg = 0; reg < fragments[i].registers; ++reg) {
        Registers pair(2);
        for (Word lane = 0; lane < 32; ++lane) {
          const layout::FragmentPlace at = fragments[i].at(lane, reg);
          const auto bits = std::bit_cast<std::uint64_t>(matrices[i].at(at.row, at.column));
          pair[0][lane] = static_cast<Word>(bits);
          pair[1][lane] = static_cast<Word>(bits >> 32);
        }
        append(in, pair);
      }
    }
    const Word nd = fragments[2].registers;
    const std::string spelling = "mma.sync.aligned.m" + std::to_string(shape.m) + "n8k" +
                                 std::to_string(shape.k) + ".row.col.f64.f64.f64.f64";
    const Registers out =
        MmaBench(doubles(spelling, fragments[0].registers, fragments[1].registers, nd), in, 2 * nd)
            .run();
    for (Word lane = 0; lane < 32; ++lane) {
      for (Word reg = 0; reg < nd; ++reg) {
        const layout::FragmentPlace at = fragments[2].at(lane, reg);
        double sum = matrices[2].at(at.row, at.column);
        for (Word k = 0; k < shape.k; ++k) {
          sum = std::fma(matrices[0].at(at.row, k), matrices[1].at(k, at.column), sum);
        }
        const std::uint64_t bits =
            out[2 * reg][lane] | static_cast<std::uint64_t>(out[2 * reg + 1][lane]) << 32;
        ASSERT_EQ(bits, std::bit_cast<std::uint64_t>(sum));
      }
    }
  }
}

TEST(MmaKinds, FourProductsOfM8n8k4) {
  std::mt19937 random(11);
  for (const bool a_rows : {true, false}) {
    for (const bool b_rows : {true, false}) {
      const layout::Fragment fragments[] = {layout::mma_m8n8k4_a(a_rows),
                                            layout::mma_m8n8k4_b(b_rows),
                                            layout::mma_m8n8k4_accumulator(32)};
      std::vector<Matrix> a(4, Matrix(8, 4));
      std::vector<Matrix> b(4, Matrix(4, 8));
      Registers in(4);
      for (int i = 0; i < 2; ++i) {
        for (Word lane = 0; lane < 32; ++lane) {
          for (Word reg = 0; reg < 2; ++reg) {
            Word& word = in[static_cast<Word>(2 * i) + reg][lane] = 0;
            for (Word e = 0; e < 2; ++e) {
              const layout::FragmentPlace at = fragments[i].at(lane, reg, e);
              double& x = (i == 0 ? a : b)[at.matrix].at(at.row, at.column);
              x = element_type("f16").pick(random);
              word |= element_type("f16").encode(x) << (16 * e);
            }
          }
        }
      }
      append(in, Registers(8));
      for (Word r = 4; r < 12; ++r) in[r].fill(std::bit_cast<Word>(0.5F));
      const Registers out = MmaBench(std::string("mma.sync.aligned.m8n8k4.") +
                                         (a_rows ? "row" : "col") + "." + (b_rows ? "row" : "col") +
                                         ".f32.f16.f16.f32 " + MmaBench::vector("d", 0, 8) +
                                         ", {%r0, %r1}, {%r2, %r3}, " + MmaBench::vector("r", 4, 8),
                                     in, 8)
                                .run();
      for (Word lane = 0; lane < 32; ++lane) {
        for (Word reg = 0; reg < 8; ++reg) {
          const layout::FragmentPlace at = fragments[2].at(lane, reg);
          double sum = 0.5;
          for (Word k = 0; k < 4; ++k) {
            sum += a[at.matrix].at(at.row, k) * b[at.matrix].at(k, at.column);
          }
          ASSERT_EQ(std::bit_cast<float>(out[reg][lane]), static_cast<float>(sum));
        }
      }
    }
  }
}

TEST(MmaKinds, DestinationsMayBeSources) {
  Registers in(10);
  for (Word r = 0; r < 10; ++r)
    in[r].fill(r < 6 ? 0x3C003C00U : std::bit_cast<Word>(1.0F + static_cast<float>(r)));
  const std::string head = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 ";
  const std::string sources = ", {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r6, %r7, %r8, %r9}";
  const auto moved = [](const std::string& names) {
    std::string text;
    for (int i = 0; i < 4; ++i) {
      text += ";\nmov.b32 %d" + std::to_string(i) + ", %r" + names[static_cast<std::size_t>(i)];
    }
    return text;
  };
  const Registers apart = MmaBench(head + "{%d0, %d1, %d2, %d3}" + sources, in, 4).run();
  // D over C in another order, and over A and B.
  EXPECT_EQ(MmaBench(head + "{%r9, %r8, %r7, %r6}" + sources + moved("9876"), in, 4).run(), apart);
  EXPECT_EQ(MmaBench(head + "{%r0, %r4, %r1, %r5}" + sources + moved("0415"), in, 4).run(), apart);
}

TEST(MmaKinds, APartOfAWarpIsRefused) {
  Bench bench(
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<8>;\n"
      ".reg .f32 %f<8>;\nmov.u32 %r0, 0;\nmov.f32 %f0, 0f00000000;\n"
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, "
      "{%r0, %r0, %r0, %r0}, {%r0, %r0}, {%f0, %f0, %f0, %f0};\nret;\n}\n");
  bench.launch.block = {16, 1, 1};
  EXPECT_THAT(bench.failure(), ::testing::HasSubstr("not all 32 lanes"));
  bench.launch.block = {32, 1, 1};
  EXPECT_EQ(bench.failure(), "");
}

TEST(MmaKinds, WhatTheManualDoesNotSayIsRefused) {
  Bench bench(
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<8>;\n"
      ".reg .f32 %f<8>;\nmma.sync.aligned.m8n8k4.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3, "
      "%f4, %f5, %f6, %f7}, {%r0, %r1}, {%r4, %r5}, {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7};\n"
      "ret;\n}\n");
  EXPECT_THAT(bench.problem(), ::testing::HasSubstr("PTX0902"));
}

}  // namespace
}  // namespace pyptx::emu
