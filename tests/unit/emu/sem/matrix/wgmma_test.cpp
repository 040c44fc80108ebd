// SPDX-License-Identifier: Apache-2.0
//
// wgmma in every element type, operand place and sign, against a product made on the host from the
// layouts of the PTX ISA ("Register Fragments and Shared Memory Matrix Layouts"). Values are chosen
// so that every sum is exact: the comparison is of bits.
#include <cmath>
#include <random>

#include "bench.h"

namespace pyptx::emu {
namespace {

constexpr std::uint32_t kColumns = 24;

struct WgmmaCase {
  std::string d;
  std::string a;
  std::string b;
  std::uint32_t element_bytes;
  bool a_in_registers = false;
  bool trans_a = false;
  bool trans_b = false;
  bool negate_a = false;
  bool negate_b = false;
  bool scale_d = true;
  bool saturate = false;

  std::uint32_t depth() const { return 32 / element_bytes; }
  bool is_integer() const { return element_bytes == 1 && a[1] == '8'; }
  bool is_half() const { return element_bytes == 2; }
  std::uint32_t d_registers() const { return kColumns / (d == "f16" ? 4 : 2); }
  std::string name() const {
    std::string text = d + "_" + a + "_" + b;
    if (a_in_registers) text += "_registers";
    if (trans_a) text += "_ta";
    if (trans_b) text += "_tb";
    if (negate_a) text += "_na";
    if (negate_b) text += "_nb";
    if (!scale_d) text += "_zero";
    if (saturate) text += "_sat";
    return text;
  }
};

void PrintTo(const WgmmaCase& c, std::ostream* out) { *out << c.name(); }

/// Bits of a value that the format holds as a normal number or zero.
std::uint32_t encode_float(double value, int exponent_bits, int fraction_bits) {
  const std::uint32_t sign = std::signbit(value) ? 1U << (exponent_bits + fraction_bits) : 0;
  if (value == 0) return sign;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1)
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto low = static_cast<std::uint32_t>((2 * fraction - 1) * (1 << fraction_bits));
  return sign | static_cast<std::uint32_t>(exponent - 1 + bias) << fraction_bits | low;
}

std::uint32_t encode_element(const std::string& type, double value) {
  if (type == "f16") return encode_float(value, 5, 10);
  if (type == "bf16") return encode_float(value, 8, 7);
  if (type == "e4m3") return encode_float(value, 4, 3);
  if (type == "e5m2") return encode_float(value, 5, 2);
  // The low 13 bits of a tf32 operand are not read.
  if (type == "tf32") return encode_float(value, 8, 23) | 0x1ABCU;
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(value)) & 0xFFU;
}

double random_element(const std::string& type, std::mt19937& random) {
  if (type == "s8") return static_cast<int>(random() % 256) - 128;
  if (type == "u8") return static_cast<int>(random() % 256);
  return static_cast<int>(random() % 9) / 2.0 - 2;
}

using Values = std::vector<double>;  // rows x depth

void put(std::vector<std::uint8_t>& image, std::size_t at, std::uint32_t bits,
         std::uint32_t bytes) {
  for (std::uint32_t i = 0; i < bytes; ++i) {
    image.at(at + i) = static_cast<std::uint8_t>(bits >> (8 * i));
  }
}

struct Tile {
  std::vector<std::uint8_t> image;
  std::uint64_t descriptor = 0;  // without the address
};

/// K-major without swizzle: core matrices of 8 rows of 16 bytes. Along K they are `lead` apart,
/// along the rows 128.
Tile k_major(const Values& matrix, std::uint32_t rows, const std::string& type,
             std::uint32_t bytes) {
  const std::uint32_t depth = 32 / bytes;
  const std::uint32_t lead = rows * 16;
  Tile tile;
  tile.image.resize(std::size_t{2} * lead);
  for (std::uint32_t r = 0; r < rows; ++r) {
    for (std::uint32_t k = 0; k < depth; ++k) {
      const std::uint32_t along = k * bytes;
      const std::size_t at = along / 16 * lead + r / 8 * 128 + r % 8 * 16 + along % 16;
      put(tile.image, at, encode_element(type, matrix[r * depth + k]), bytes);
    }
  }
  tile.descriptor = std::uint64_t{lead / 16} << 16 | std::uint64_t{128 / 16} << 32;
  return tile;
}

/// MN-major with the 128-byte swizzle, 16-bit elements: k is the row of 128 bytes, groups of 8 k
/// are 1024 bytes apart; chunk c of row r lies at c ^ (r % 8).
Tile mn_major(const Values& matrix, std::uint32_t rows, const std::string& type) {
  Tile tile;
  tile.image.resize(2048);
  for (std::uint32_t r = 0; r < rows; ++r) {
    for (std::uint32_t k = 0; k < 16; ++k) {
      const std::size_t at = k * 128 + ((r / 8) ^ (k % 8)) * 16 + r % 8 * 2;
      put(tile.image, at, encode_element(type, matrix[r * 16 + k]), 2);
    }
  }
  tile.descriptor = std::uint64_t{2048 / 16} << 16 | std::uint64_t{1024 / 16} << 32 | 1ULL << 62;
  return tile;
}

/// The four registers of A of each of the 128 threads.
std::vector<std::uint32_t> a_registers(const Values& matrix, const WgmmaCase& c) {
  std::vector<std::uint32_t> words(128 * 4);
  const std::uint32_t per_word = 4 / c.element_bytes;
  for (std::uint32_t thread = 0; thread < 128; ++thread) {
    const std::uint32_t group = thread % 32 / 4;
    const std::uint32_t in_group = thread % 4;
    for (std::uint32_t word = 0; word < 4; ++word) {
      for (std::uint32_t e = 0; e < per_word; ++e) {
        const std::uint32_t row = thread / 32 * 16 + group + (word % 2) * 8;
        const std::uint32_t k = in_group * per_word + e + (word / 2) * 4 * per_word;
        words[thread * 4 + word] |= encode_element(c.a, matrix[row * c.depth() + k])
                                    << (8 * c.element_bytes * e);
      }
    }
  }
  return words;
}

std::string list(char prefix, std::uint32_t first, std::uint32_t count) {
  std::string text = "{";
  for (std::uint32_t i = 0; i < count; ++i) {
    text += (i == 0 ? "%" : ", %") + std::string(1, prefix) + std::to_string(first + i);
  }
  return text + "}";
}

/// p0: images of A then B, p1: the registers of A, p2: D, in and out. 128 threads.
std::string kernel(const WgmmaCase& c, const Tile& a, const Tile& b) {
  const char prefix = c.d == "f32" ? 'f' : 'r';
  const std::uint32_t count = c.d_registers();
  const std::string type = c.d == "f32" ? "f32" : "b32";
  std::string text = R"(
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, tiles;
    ld.param.u64 %rd0, [p0];
    ld.param.u64 %rd1, [p1];
    ld.param.u64 %rd2, [p2];
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd3, %rd0, %rd3;
    shl.b32 %r3, %r1, 2;
    add.u32 %r3, %r2, %r3;
)";
  for (std::uint32_t at = 0; at < 8192; at += 512) {
    text += "ld.global.u32 %r4, [%rd3+" + std::to_string(at) + "];\nst.shared.u32 [%r3+" +
            std::to_string(at) + "], %r4;\n";
  }
  text += "bar.sync 0;\nmul.wide.u32 %rd4, %r1, 16;\nadd.u64 %rd4, %rd1, %rd4;\n";
  text += "ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%rd4];\n";
  text += "mul.wide.u32 %rd5, %r1, " + std::to_string(4 * count) + ";\nadd.u64 %rd5, %rd2, %rd5;\n";
  const auto each = [&](const std::string& before, const std::string& after, bool is_load) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::string value = "%" + std::string(1, prefix) + std::to_string(20 + i);
      const std::string address = "[%rd5+" + std::to_string(4 * i) + "]";
      text += before + (is_load ? value + ", " + address : address + ", " + value) + after;
    }
  };
  each("ld.global." + type + " ", ";\n", true);
  text += "shr.u32 %r9, %r2, 4;\ncvt.u64.u32 %rd6, %r9;\nor.b64 %rd7, %rd6, " +
          std::to_string(a.descriptor) + ";\nadd.u64 %rd6, %rd6, 256;\nor.b64 %rd8, %rd6, " +
          std::to_string(b.descriptor) + ";\n";
  text += "setp.eq.u32 %p1, 1, " + std::string(c.scale_d ? "1" : "0") + ";\n";
  text += "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n24k" +
          std::to_string(c.depth()) + "." + c.d + "." + c.a + "." + c.b +
          (c.saturate ? ".satfinite " : " ") + list(prefix, 20, count) + ", " +
          (c.a_in_registers ? "{%r5, %r6, %r7, %r8}" : "%rd7") + ", %rd8, %p1";
  if (!c.is_integer()) {
    text += std::string(c.negate_a ? ", -1" : ", 1") + (c.negate_b ? ", -1" : ", 1");
  }
  if (c.is_half() && !c.a_in_registers) text += c.trans_a ? ", 1" : ", 0";
  if (c.is_half()) text += c.trans_b ? ", 1" : ", 0";
  text += ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
  each("st.global." + type + " ", ";\n", false);
  return entry(text + "ret;", ".shared .align 1024 .b8 tiles[8192];\n");
}

/// Where element (row, column) of D lies: thread, element number.
std::pair<std::uint32_t, std::uint32_t> d_place(std::uint32_t row, std::uint32_t column) {
  const std::uint32_t thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2;
  return {thread, column / 8 * 4 + (row % 16 / 8) * 2 + column % 2};
}

double expected_sum(const WgmmaCase& c, const Values& a, const Values& b, std::uint32_t row,
                    std::uint32_t column, double d) {
  double sum = 0;
  for (std::uint32_t k = 0; k < c.depth(); ++k) {
    sum += a[row * c.depth() + k] * b[column * c.depth() + k];
  }
  if (c.negate_a != c.negate_b) sum = 0 - sum;  // a sum of nothing but zeros is +0
  return c.scale_d ? sum + d : sum;
}

std::uint32_t d_bits(const WgmmaCase& c, double value) {
  if (c.d == "f32") return encode_float(value, 8, 23);
  if (c.d == "f16") return encode_float(value, 5, 10);
  if (c.saturate) value = std::clamp(value, -2147483648.0, 2147483647.0);
  return static_cast<std::uint32_t>(static_cast<std::int64_t>(value));  // else it wraps
}

class Wgmma : public testing::TestWithParam<WgmmaCase> {};

TEST_P(Wgmma, IsTheProductOfTheManual) {
  const WgmmaCase& c = GetParam();
  std::mt19937 random(11);
  Values a(64 * c.depth());
  Values b(std::size_t{kColumns} * c.depth());
  for (double& v : a) v = random_element(c.a, random);
  for (double& v : b) v = random_element(c.b, random);
  const Tile tile_a = c.trans_a ? mn_major(a, 64, c.a) : k_major(a, 64, c.a, c.element_bytes);
  const Tile tile_b =
      c.trans_b ? mn_major(b, kColumns, c.b) : k_major(b, kColumns, c.b, c.element_bytes);
  std::vector<std::uint8_t> images(8192);
  std::ranges::copy(tile_a.image, images.begin());
  std::ranges::copy(tile_b.image, images.begin() + 4096);
  std::vector<std::uint32_t> fragments = a_registers(a, c);
  std::vector<double> before(64 * kColumns);
  std::vector<std::uint32_t> d(128 * c.d_registers());
  std::vector<std::uint32_t> expected(d.size());
  const bool is_packed = c.d == "f16";
  for (std::uint32_t row = 0; row < 64; ++row) {
    for (std::uint32_t column = 0; column < kColumns; ++column) {
      double start = static_cast<int>(random() % 64) - 32;
      if (c.is_integer() && row % 2 == 0) start = row % 4 == 0 ? 2147483647.0 : -2147483648.0;
      const auto [thread, element] = d_place(row, column);
      const std::size_t word = thread * c.d_registers() + (is_packed ? element / 2 : element);
      const std::uint32_t shift = is_packed ? 16 * (element % 2) : 0;
      d[word] |= d_bits(c, start) << shift;
      expected[word] |= d_bits(c, expected_sum(c, a, b, row, column, start)) << shift;
    }
  }
  const std::vector<std::uint32_t> input = d;
  for (const bool is_late : {false, true}) {
    d = input;
    Bench bench(kernel(c, tile_a, tile_b));
    bench.buffer(0, images, false);
    bench.buffer(1, fragments, false);
    bench.buffer(2, d);
    bench.launch.block = {128, 1, 1};
    bench.launch.options.completion = is_late ? Completion::Latest : Completion::Earliest;
    bench.launch.options.numerics = is_late ? Numerics::Exact : Numerics::Fast;
    bench.run();
    EXPECT_EQ(d, expected);
  }
}

std::vector<WgmmaCase> wgmma_cases() {
  std::vector<WgmmaCase> all;
  for (const char* d : {"f16", "f32"}) all.push_back({d, "f16", "f16", 2});
  all.push_back({"f32", "bf16", "bf16", 2});
  all.push_back({"f32", "tf32", "tf32", 4});
  for (const char* a : {"e4m3", "e5m2"}) {
    for (const char* b : {"e4m3", "e5m2"}) {
      all.push_back({"f32", a, b, 1});
      all.push_back({"f16", a, b, 1});
    }
  }
  for (const char* a : {"s8", "u8"}) {
    for (const char* b : {"s8", "u8"}) all.push_back({"s32", a, b, 1});
  }
  const std::size_t plain = all.size();
  for (std::size_t i = 0; i < plain; ++i) {
    WgmmaCase c = all[i];
    c.a_in_registers = true;
    all.push_back(c);
    c.scale_d = false;
    c.saturate = c.is_integer();
    c.negate_a = !c.is_integer();
    all.push_back(c);
    c.scale_d = true;
    c.negate_b = c.negate_a;
    c.negate_a = false;
    c.a_in_registers = false;
    all.push_back(c);
  }
  for (const char* type : {"f16", "bf16"}) {
    all.push_back({"f32", type, type, 2, false, true, false});
    all.push_back({"f32", type, type, 2, false, false, true});
    all.push_back({"f32", type, type, 2, false, true, true});
    all.push_back({"f32", type, type, 2, true, false, true});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Forms, Wgmma, testing::ValuesIn(wgmma_cases()),
                         [](const auto& one) { return one.param.name(); });

}  // namespace
}  // namespace pyptx::emu
