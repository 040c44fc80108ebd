// SPDX-License-Identifier: Apache-2.0
//
// wgmma in every swizzle and direction, with a sparse A, and of single bits. Images in shared
// memory are made by the descriptor's own layout, which tests/unit/layout holds to the manual.
#include "mma_bench.h"
#include "pyptx/layout/matrix_descriptor.h"

namespace pyptx::emu {
namespace {

constexpr Word kBytes = 0x10000;
constexpr Word kStartOfB = 0x8000;

/// One product of a warpgroup. `registers` hold A (four) and the metadata.
struct Product {
  std::string spelling;
  std::string operands;  // behind D
  Word columns = 64;
  layout::MatrixDescriptor a;
  layout::MatrixDescriptor b;
  std::vector<std::uint8_t> image = std::vector<std::uint8_t>(kBytes);
  std::vector<Word> registers = std::vector<Word>(128 * 5);

  std::string text() const {
    const Word count = columns / 2;
    std::string body =
        "mov.u32 %r1, %tid.x;\nmov.u32 %r2, tiles;\nld.param.u64 %rd0, [p0];\n"
        "ld.param.u64 %rd1, [p1];\nld.param.u64 %rd2, [p2];\nmul.wide.u32 %rd3, %r1, 16;\n"
        "add.u64 %rd3, %rd0, %rd3;\nmad.lo.u32 %r3, %r1, 16, %r2;\nmov.u32 %r4, 0;\nfill:\n"
        "ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd3];\n"
        "st.shared.v4.b32 [%r3], {%r10, %r11, %r12, %r13};\nadd.u64 %rd3, %rd3, 2048;\n"
        "add.u32 %r3, %r3, 2048;\nadd.u32 %r4, %r4, 2048;\nsetp.lt.u32 %p2, %r4, " +
        std::to_string(kBytes) +
        ";\n@%p2 bra fill;\nbar.sync 0;\nmul.wide.u32 %rd4, %r1, 20;\nadd.u64 %rd4, %rd1, %rd4;\n";
    for (Word i = 0; i < 5; ++i) {
      body +=
          "ld.global.b32 %r" + std::to_string(20 + i) + ", [%rd4+" + std::to_string(4 * i) + "];\n";
    }
    for (Word i = 0; i < count; ++i) body += "mov.b32 %d" + std::to_string(i) + ", 0;\n";
    body += "shr.u32 %r5, %r2, 4;\ncvt.u64.u32 %rd6, %r5;\nadd.u64 %rd7, %rd6, " +
            std::to_string(a.encode()) + ";\nadd.u64 %rd8, %rd6, " + std::to_string(b.encode()) +
            ";\nsetp.eq.u32 %p1, 1, 1;\nwgmma.fence.sync.aligned;\n" + spelling + " " +
            MmaBench::vector("d", 0, count) + ", " + operands +
            ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
            "mul.wide.u32 %rd5, %r1, " +
            std::to_string(4 * count) + ";\nadd.u64 %rd5, %rd2, %rd5;\n";
    for (Word i = 0; i < count; ++i) {
      body += "st.global.b32 [%rd5+" + std::to_string(4 * i) + "], %d" + std::to_string(i) + ";\n";
    }
    return entry(body + "ret;", ".shared .align 1024 .b8 tiles[" + std::to_string(kBytes) +
                                    "];\n.reg .b32 %d<128>;\n");
  }

  /// D, row by row.
  std::vector<Word> run(Numerics numerics = Numerics::Fast) {
    const Word count = columns / 2;
    std::vector<Word> words(128 * count);
    Bench bench(text());
    bench.buffer(0, image, false);
    bench.buffer(1, registers, false);
    bench.buffer(2, words);
    bench.launch.block = {128, 1, 1};
    bench.launch.options.numerics = numerics;
    bench.run();
    const layout::Fragment fragment = layout::wgmma_accumulator(columns, 32);
    std::vector<Word> d(64 * columns);
    for (Word thread = 0; thread < 128; ++thread) {
      for (Word reg = 0; reg < count; ++reg) {
        const layout::FragmentPlace at = fragment.at(thread, reg);
        d[at.row * columns + at.column] = words[thread * count + reg];
      }
    }
    return d;
  }

  void put(const layout::MatrixDescriptor& tile, layout::Major major, Word mn, Word k, Word bits,
           Word bytes) {
    std::memcpy(image.data() + tile.address(major, bytes, mn, k), &bits, bytes);
  }
};

/// Strides that leave no two elements at one place.
layout::MatrixDescriptor tile_of(layout::Swizzle swizzle, layout::Major major, Word start) {
  layout::MatrixDescriptor tile;
  tile.start = start;
  tile.type = layout::layout_type(swizzle);
  const Word group = 8 * layout::swizzle_span(swizzle);
  if (swizzle == layout::Swizzle::None) {
    tile.leading_bytes = major == layout::Major::K ? 0x1000 : 0x80;
    tile.stride_bytes = major == layout::Major::K ? 0x90 : 0x200;
  } else {
    tile.stride_bytes = group;
    tile.leading_bytes = 2 * group;
  }
  return tile;
}

void expect_product(const std::vector<Word>& d, Matrix& a, Matrix& b, Word columns,
                    bool is_integer) {
  for (Word m = 0; m < 64; ++m) {
    for (Word n = 0; n < columns; ++n) {
      double sum = 0;
      for (Word k = 0; k < a.columns; ++k) sum += a.at(m, k) * b.at(k, n);
      const Word bits = d[m * columns + n];
      ASSERT_EQ(is_integer ? static_cast<double>(static_cast<std::int32_t>(bits))
                           : static_cast<double>(std::bit_cast<float>(bits)),
                sum)
          << m << ", " << n;
    }
  }
}

TEST(WgmmaLayouts, EverySwizzleAndDirection) {
  using layout::Major;
  const ElementType& type = element_type("bf16");
  std::mt19937 random(2);
  for (const auto swizzle :
       {layout::Swizzle::None, layout::Swizzle::B32, layout::Swizzle::B64, layout::Swizzle::B128}) {
    for (const Major major_a : {Major::K, Major::MN}) {
      for (const Major major_b : {Major::K, Major::MN}) {
        Matrix a = random_matrix(64, 16, type, random);
        Matrix b = random_matrix(16, 64, type, random);
        Product product;
        product.a = tile_of(swizzle, major_a, 0);
        product.b = tile_of(swizzle, major_b, kStartOfB);
        for (Word k = 0; k < 16; ++k) {
          for (Word i = 0; i < 64; ++i) {
            product.put(product.a, major_a, i, k, type.encode(a.at(i, k)), 2);
            product.put(product.b, major_b, i, k, type.encode(b.at(k, i)), 2);
          }
        }
        product.spelling = "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16";
        product.operands = std::string("%rd7, %rd8, %p1, 1, 1, ") +
                           (major_a == Major::MN ? "1, " : "0, ") +
                           (major_b == Major::MN ? "1" : "0");
        expect_product(product.run(), a, b, 64, false);
        expect_product(product.run(Numerics::Exact), a, b, 64, false);
      }
    }
  }
}

struct SparseCase {
  std::string type;
  std::string d;
  Word selectors;
};

/// The metadata of 64 rows: each warp has 16, laid out as for mma.
std::vector<Word> random_metadata(const ElementType& type, Word selector, Matrix& stored,
                                  Matrix& dense, std::mt19937& random) {
  std::vector<Word> words(128, 0x44444444U);
  const Word kept = type.bits == 32 ? 1 : 2;
  const bool is_wide = type.bits >= 16;
  for (Word row = 0; row < 64; ++row) {
    for (Word chunk = 0; chunk < stored.columns / kept; ++chunk) {
      const Word first = static_cast<Word>(random() % 3);
      const Word second = first + 1 + static_cast<Word>(random() % (3 - first));
      Word bits = first | second << 2;
      if (kept == 1) bits = first == 0 ? 0x4 : 0xE;
      for (Word i = 0; i < kept; ++i) {
        const Word place = kept == 1 ? (first == 0 ? 0U : 1U) : (i == 0 ? first : second);
        const double value = type.pick(random);
        stored.at(row, chunk * kept + i) = value;
        dense.at(row, chunk * 2 * kept + place) = value;
      }
      const Word half = row % 16 / 8;
      const Word thread = is_wide ? 2 * selector + chunk / 4 : chunk / 8 * 2 + half;
      const Word shift = is_wide ? 16 * half + chunk % 4 * 4 : chunk % 8 * 4;
      Word& word = words[row / 16 * 32 + row % 8 * 4 + thread];
      word = (word & ~(0xFU << shift)) | bits << shift;
    }
  }
  return words;
}

TEST(WgmmaSparse, PicksTheElementsOfB) {
  std::mt19937 random(4);
  for (const SparseCase& c :
       {SparseCase{"f16", "f32", 2}, SparseCase{"bf16", "f32", 2}, SparseCase{"tf32", "f32", 2},
        SparseCase{"e4m3", "f32", 1}, SparseCase{"s8", "s32", 1}}) {
    const ElementType& type = element_type(c.type);
    const Word bytes = type.bits / 8;
    const Word kept = 32 / bytes;
    for (Word selector = 0; selector < c.selectors; ++selector) {
      for (const bool in_registers : {false, true}) {
        Matrix stored(64, kept);
        Matrix dense(64, 2 * kept);
        Product product;
        const std::vector<Word> metadata = random_metadata(type, selector, stored, dense, random);
        Matrix b = random_matrix(2 * kept, 64, type, random);
        product.a = tile_of(layout::Swizzle::B32, layout::Major::K, 0);
        product.b = tile_of(layout::Swizzle::B128, layout::Major::K, kStartOfB);
        for (Word row = 0; row < 64; ++row) {
          for (Word k = 0; k < kept; ++k) {
            product.put(product.a, layout::Major::K, row, k, type.encode(stored.at(row, k)), bytes);
          }
          for (Word k = 0; k < 2 * kept; ++k) {
            product.put(product.b, layout::Major::K, row, k, type.encode(b.at(k, row)), bytes);
          }
        }
        const layout::Fragment fragment = layout::wgmma_a(type.bits);
        for (Word thread = 0; thread < 128; ++thread) {
          product.registers[thread * 5 + 4] = metadata[thread];
          for (Word reg = 0; reg < 4; ++reg) {
            for (Word e = 0; e < fragment.elements; ++e) {
              const layout::FragmentPlace at = fragment.at(thread, reg, e);
              product.registers[thread * 5 + reg] |= type.encode(stored.at(at.row, at.column))
                                                     << (e * type.bits % 32);
            }
          }
        }
        product.spelling = "wgmma.mma_async.sp.sync.aligned.m64n64k" + std::to_string(2 * kept) +
                           "." + c.d + "." + c.type + "." + c.type;
        product.operands = std::string(in_registers ? "{%r20, %r21, %r22, %r23}" : "%rd7") +
                           ", %rd8, %r24, " + std::to_string(selector) + ", %p1";
        if (c.d != "s32") product.operands += ", 1, 1";
        if (type.bits == 16) product.operands += in_registers ? ", 0" : ", 0, 0";
        expect_product(product.run(), dense, b, 64, c.d == "s32");
        expect_product(product.run(Numerics::Exact), dense, b, 64, c.d == "s32");
      }
    }
  }
}

TEST(WgmmaSparse, ARowLongerThanItsSwizzleIsRefused) {
  Product product;
  product.a = tile_of(layout::Swizzle::B32, layout::Major::K, 0);
  product.b = tile_of(layout::Swizzle::B32, layout::Major::K, kStartOfB);
  std::ranges::fill(product.registers, 0x44444444U);
  product.spelling = "wgmma.mma_async.sp.sync.aligned.m64n64k32.f32.f16.f16";
  product.operands = "%rd7, %rd8, %r24, 0, %p1, 1, 1, 0, 0";
  Bench bench(product.text());
  std::vector<Word> words(128 * 32);
  bench.buffer(0, product.image, false);
  bench.buffer(1, product.registers, false);
  bench.buffer(2, words);
  bench.launch.block = {128, 1, 1};
  EXPECT_THAT(bench.failure(), ::testing::HasSubstr("longer than its swizzle"));
}

TEST(WgmmaBits, CountsThePlacesThatBothHave) {
  std::mt19937 random(8);
  const ElementType bit{"b1", 1, 0, 0, false};
  for (const bool in_registers : {false, true}) {
    Matrix a = random_matrix(64, 256, bit, random);
    Matrix b = random_matrix(256, 32, bit, random);
    Product product;
    product.columns = 32;
    product.a = tile_of(layout::Swizzle::B64, layout::Major::K, 0);
    product.b = tile_of(layout::Swizzle::None, layout::Major::K, kStartOfB);
    const auto byte = [](Matrix& matrix, bool by_columns, Word line, Word at) {
      Word bits = 0;
      for (Word i = 0; i < 8; ++i) {
        const double value = by_columns ? matrix.at(8 * at + i, line) : matrix.at(line, 8 * at + i);
        bits |= value != 0 ? 1U << i : 0U;
      }
      return bits;
    };
    for (Word at = 0; at < 32; ++at) {
      for (Word row = 0; row < 64; ++row) {
        product.put(product.a, layout::Major::K, row, at, byte(a, false, row, at), 1);
        if (row < 32) product.put(product.b, layout::Major::K, row, at, byte(b, true, row, at), 1);
      }
    }
    const layout::Fragment fragment = layout::wgmma_a(1);
    for (Word thread = 0; thread < 128; ++thread) {
      for (Word reg = 0; reg < 4; ++reg) {
        for (Word e = 0; e < 32; ++e) {
          const layout::FragmentPlace at = fragment.at(thread, reg, e);
          if (a.at(at.row, at.column) != 0) product.registers[thread * 5 + reg] |= 1U << e;
        }
      }
    }
    product.spelling = "wgmma.mma_async.sync.aligned.m64n32k256.s32.b1.b1.and.popc";
    product.operands =
        std::string(in_registers ? "{%r20, %r21, %r22, %r23}" : "%rd7") + ", %rd8, %p1";
    expect_product(product.run(), a, b, 32, true);
  }
}

}  // namespace
}  // namespace pyptx::emu
