// SPDX-License-Identifier: Apache-2.0
//
// mma with a sparse A and with block scales, against products made on the host. The places of the
// metadata are those of the manual's figures: 16 bits of a row to four chunks, in the order in
// which the threads of a quad hold them.
#include <bit>

#include "mma_bench.h"

namespace pyptx::emu {
namespace {

struct MmaSparseCase {
  Word k;
  std::string d;
  std::string a;
  Word selectors;
  std::string variant = "sp::ordered_metadata";
  std::string kind{};
};

void PrintTo(const MmaSparseCase& c, std::ostream* out) { *out << c.variant << c.k << c.d << c.a; }

struct Sparse {
  Matrix stored{16, 1};
  Matrix dense{16, 1};
  Registers metadata;
};

/// Which thread of a quad holds the four bits of a chunk, and from which bit on.
void place_of(const ElementType& type, Word row, Word chunk, Word& thread, Word& shift) {
  if (type.bits >= 16) {  // two rows in a thread, four chunks each
    thread = chunk / 4;
    shift = row / 8 * 16 + chunk % 4 * 4;
  } else {  // one row in a thread, eight chunks
    thread = chunk / 8 * 2 + row / 8;
    shift = chunk % 8 * 4;
  }
}

Sparse random_sparse(Word k, const ElementType& type, Word selector, bool is_ordered,
                     std::mt19937& random) {
  Sparse sparse{Matrix(16, k / 2), Matrix(16, k), Registers(1)};
  sparse.metadata[0].fill(0x44444444U);  // of the threads that are not asked
  const Word kept = type.bits == 32 ? 1 : type.bits == 4 ? 4 : 2;
  const Word threads = type.bits >= 16 ? k / 2 * type.bits / 128 : k / 2 * type.bits / 64;
  for (Word row = 0; row < 16; ++row) {
    for (Word chunk = 0; chunk < k / 2 / kept; ++chunk) {
      Word first = static_cast<Word>(random() % 4);
      Word second = static_cast<Word>(random() % 4);
      while (first == second) second = static_cast<Word>(random() % 4);
      if (is_ordered && first > second) std::swap(first, second);
      Word bits = first | second << 2;
      if (kept == 1) bits = first < 2 ? 0x4 : 0xE;
      for (Word i = 0; i < kept; ++i) {
        const double value = type.pick(random);
        Word place = kept == 1 ? (first < 2 ? 0U : 1U) : (i < kept / 2 ? first : second);
        if (kept == 4) place = 2 * place + i % 2;
        sparse.stored.at(row, chunk * kept + i) = value;
        sparse.dense.at(row, chunk * 2 * kept + place) = value;
      }
      Word thread = 0;
      Word shift = 0;
      place_of(type, row, chunk, thread, shift);
      Word& word = sparse.metadata[0][row % 8 * 4 + selector * threads + thread];
      word = (word & ~(0xFU << shift)) | bits << shift;
    }
  }
  return sparse;
}

class MmaSparse : public ::testing::TestWithParam<MmaSparseCase> {};

void check(const MmaSparseCase& c, Word selector, Numerics numerics) {
  std::mt19937 random(c.k + selector);
  const ElementType& type = element_type(c.a);
  Sparse a = random_sparse(c.k, type, selector, c.variant != "sp", random);
  Matrix b = random_matrix(c.k, 8, type, random);
  Matrix d(16, 8);
  for (double& value : d.values) value = static_cast<int>(random() % 16) - 8;
  const Word d_bits = c.d == "f16" ? 16 : 32;
  const layout::Fragment accumulator = layout::mma_accumulator(16, d_bits);
  const auto encode = [&](double value) { return encode_accumulator(c.d, value); };
  Registers in = packed(layout::mma_a(16, c.k / 2, type.bits), a.stored, type);
  const auto na = static_cast<Word>(in.size());
  append(in, packed(layout::mma_b(c.k, type.bits), b, type));
  const auto nb = static_cast<Word>(in.size()) - na;
  append(in, packed(accumulator, d, d_bits, encode));
  const auto nc = static_cast<Word>(in.size()) - na - nb;
  append(in, a.metadata);
  const std::string spelling = "mma." + c.variant + ".sync.aligned.m16n8k" + std::to_string(c.k) +
                               ".row.col" + c.kind + "." + c.d + "." + c.a + "." + c.a + "." + c.d;
  const Registers out =
      MmaBench(spelling + " " + MmaBench::vector("d", 0, nc) + ", " + MmaBench::vector("r", 0, na) +
                   ", " + MmaBench::vector("r", na, nb) + ", " +
                   MmaBench::vector("r", na + nb, nc) + ", %r" + std::to_string(na + nb + nc) +
                   ", " + std::to_string(selector),
               in, nc)
          .run(numerics);
  for (Word m = 0; m < 16; ++m) {
    for (Word n = 0; n < 8; ++n) {
      for (Word k = 0; k < c.k; ++k) d.at(m, n) += a.dense.at(m, k) * b.at(k, n);
    }
  }
  EXPECT_EQ(out, packed(accumulator, d, d_bits, encode)) << "selector " << selector;
}

TEST_P(MmaSparse, EverySelector) {
  for (Word selector = 0; selector < GetParam().selectors; ++selector) {
    check(GetParam(), selector, Numerics::Fast);
    check(GetParam(), selector, Numerics::Exact);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, MmaSparse,
    ::testing::Values(MmaSparseCase{16, "f32", "f16", 4}, MmaSparseCase{16, "f16", "f16", 4, "sp"},
                      MmaSparseCase{32, "f32", "f16", 2}, MmaSparseCase{32, "f16", "f16", 2},
                      MmaSparseCase{16, "f32", "bf16", 4},
                      MmaSparseCase{32, "f32", "bf16", 2, "sp"}, MmaSparseCase{8, "f32", "tf32", 4},
                      MmaSparseCase{16, "f32", "tf32", 2, "sp"}, MmaSparseCase{32, "s32", "s8", 2},
                      MmaSparseCase{64, "s32", "u8", 1, "sp"}, MmaSparseCase{64, "s32", "s8", 1},
                      MmaSparseCase{64, "s32", "s4", 2}, MmaSparseCase{128, "s32", "u4", 1},
                      MmaSparseCase{64, "f32", "e4m3", 1},
                      MmaSparseCase{64, "f32", "e2m1", 1, "sp::ordered_metadata", ".kind::f8f6f4"},
                      MmaSparseCase{64, "f16", "e3m2", 1, "sp::ordered_metadata",
                                    ".kind::f8f6f4"}));

const std::string kSparse =
    "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, "
    "{%r0, %r1}, {%r2, %r3}, {%r4, %r5, %r6, %r7}, %r8, 0";

TEST(MmaMetadata, TwoTimesTheSamePlaceIsRefused) {
  Registers in(9);
  for (auto& lanes : in) lanes.fill(0);
  in[8].fill(0x44444444U);
  EXPECT_EQ(MmaBench(kSparse, in, 4).failure(), "");
  in[8][12] = 0x44444454U;
  EXPECT_THAT(MmaBench(kSparse, in, 4).failure(), ::testing::HasSubstr("sparsity metadata"));
  in[8][12] = 0x44444414U;  // out of order
  EXPECT_THAT(MmaBench(kSparse, in, 4).failure(), ::testing::HasSubstr("sparsity metadata"));
}

TEST(MmaMetadata, WhatIsNotSelectedDoesNotCount) {
  Registers in(9);
  for (auto& lanes : in) lanes.fill(0);
  for (Word r : {0U, 1U}) in[r].fill(0x3C003C00U);
  in[8].fill(0x44444444U);  // places 0 and 1 of every four
  for (Word r : {2U, 3U}) {
    for (Word lane = 0; lane < 32; ++lane) {  // B has infinities at places 2 and 3
      in[r][lane] = lane % 2 == 0 ? 0x40004000U : 0x7C007C00U;
    }
  }
  for (const Numerics numerics : {Numerics::Fast, Numerics::Exact}) {
    const Registers out = MmaBench(kSparse, in, 4).run(numerics);
    EXPECT_EQ(std::bit_cast<float>(out[0][0]), 16.0F);
    EXPECT_EQ(std::bit_cast<float>(out[3][31]), 16.0F);
  }
}

struct Scaled {
  std::string kind;
  std::string types;  // of A, B and the scales
  Word k;
  Word scales;
  Word byte_a;
  Word thread_a;
  Word byte_b;
  Word thread_b;
};

class MmaScaled : public ::testing::TestWithParam<Scaled> {};

double scale_value(bool is_ue4m3, Word bits) {
  if (!is_ue4m3) return std::ldexp(1.0, static_cast<int>(bits) - 127);
  return std::ldexp(1 + (bits & 7U) / 8.0, static_cast<int>(bits >> 3) - 7);
}

TEST_P(MmaScaled, EveryBlockHasItsScale) {
  const Scaled& c = GetParam();
  std::mt19937 random(c.k + c.scales);
  const bool is_packed = c.k == 64;
  const bool is_ue4m3 = c.types.find("ue4m3") != std::string::npos;
  const ElementType& type = element_type(is_packed ? "packed" : "e4m3");
  Matrix a = random_matrix(16, c.k, type, random);
  Matrix b = random_matrix(c.k, 8, type, random);
  Registers in = packed(layout::mma_a(16, c.k, type.bits), a, type);
  append(in, packed(layout::mma_b(c.k, type.bits), b, type));
  append(in, Registers(6));
  for (Word r = 6; r < 10; ++r) in[r].fill(std::bit_cast<Word>(2.0F));
  std::vector<std::array<Word, 4>> sa(16);
  std::vector<std::array<Word, 4>> sb(8);
  for (Word lane = 0; lane < 32; ++lane) in[10][lane] = in[11][lane] = 0xFFFFFFFFU;  // NaN
  const auto pick = [&] {
    return is_ue4m3 ? 0x30 + static_cast<Word>(random() % 24)
                    : 125 + static_cast<Word>(random() % 5);
  };
  const auto put = [](Word& word, Word byte, Word value) {
    word = (word & ~(0xFFU << (8 * byte))) | value << (8 * byte);
  };
  for (Word i = 0; i < c.scales; ++i) {
    for (Word row = 0; row < 16; ++row) {
      sa[row][i] = pick();
      put(in[10][row % 8 * 4 + 2 * c.thread_a + row / 8], c.byte_a + i, sa[row][i]);
    }
    for (Word column = 0; column < 8; ++column) {
      sb[column][i] = pick();
      put(in[11][column * 4 + c.thread_b], c.byte_b + i, sb[column][i]);
    }
  }
  const auto pair = [](Word byte, Word thread) {
    return "{" + std::to_string(byte) + ", " + std::to_string(thread) + "}";
  };
  const std::string instruction =
      "mma.sync.aligned.m16n8k" + std::to_string(c.k) + ".row.col.kind::" + c.kind +
      ".block_scale.scale_vec::" + std::to_string(c.scales) + "X.f32." + c.types +
      " {%d0, %d1, %d2, %d3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r6, %r7, %r8, %r9}, %r10, " +
      pair(c.byte_a, c.thread_a) + ", %r11, " + pair(c.byte_b, c.thread_b);
  for (const Numerics numerics : {Numerics::Fast, Numerics::Exact}) {
    const Registers out = MmaBench(instruction, in, 4).run(numerics);
    const layout::Fragment accumulator = layout::mma_accumulator(16, 32);
    for (Word lane = 0; lane < 32; ++lane) {
      for (Word reg = 0; reg < 4; ++reg) {
        const layout::FragmentPlace at = accumulator.at(lane, reg);
        double sum = 2;
        for (Word k = 0; k < c.k; ++k) {
          const Word block = k / (c.k / c.scales);
          sum += a.at(at.row, k) * scale_value(is_ue4m3, sa[at.row][block]) * b.at(k, at.column) *
                 scale_value(is_ue4m3, sb[at.column][block]);
        }
        // Few bits in every factor: the sum is exact.
        ASSERT_EQ(std::bit_cast<float>(out[reg][lane]), static_cast<float>(sum));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, MmaScaled,
    ::testing::Values(Scaled{"mxf8f6f4", "e4m3.e4m3.f32.ue8m0", 32, 1, 0, 0, 0, 0},
                      Scaled{"mxf8f6f4", "e4m3.e4m3.f32.ue8m0", 32, 1, 3, 1, 2, 3},
                      Scaled{"mxf4", "e2m1.e2m1.f32.ue8m0", 64, 2, 2, 0, 0, 2},
                      Scaled{"mxf4nvf4", "e2m1.e2m1.f32.ue8m0", 64, 2, 0, 1, 2, 1},
                      Scaled{"mxf4nvf4", "e2m1.e2m1.f32.ue4m3", 64, 4, 0, 1, 0, 3},
                      Scaled{"mxf4nvf4", "e2m1.e2m1.f32.ue8m0", 64, 4, 0, 0, 0, 1}));

TEST(MmaScales, ANanScaleGivesNans) {
  Registers in(12);
  for (auto& lanes : in) lanes.fill(0);
  for (Word r : {10U, 11U}) in[r].fill(0x7F7F7F7FU);  // one
  const std::string instruction =
      "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0 "
      "{%d0, %d1, %d2, %d3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r6, %r7, %r8, %r9}, %r10, "
      "{0, 0}, %r11, {0, 0}";
  EXPECT_EQ(MmaBench(instruction, in, 4).run()[0][0], 0U);
  in[11].fill(0xFFFFFFFFU);
  EXPECT_EQ(MmaBench(instruction, in, 4).run()[0][0], 0x7FFFFFFFU);
}

}  // namespace
}  // namespace pyptx::emu
