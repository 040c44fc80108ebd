// SPDX-License-Identifier: Apache-2.0
//
// Mistakes of declarations and calls, and what the author of each is shown: the golden
// tests/files/mistakes_in_cpp_calls.txt. PYPTX_UPDATE_GOLDENS=1 writes it anew.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "golden.h"
#include "kernels.h"

namespace pyptx {
namespace {

using namespace pyptx::types;
using interop::Tile;
using interop::TileLayout;

const auto kNothing = [](const Tensor&) { ptx::ret(); };
const auto kNothingOfTwo = [](const Tensor&, const Tensor&) { ptx::ret(); };

/// What is said of a kernel with one input.
diag::Status of(const Tile& tile, KernelSpec<> spec = {}) {
  return kernel("k", {Input("X", tile)}, std::move(spec), kNothing).check();
}
diag::Status of(KernelSpec<> spec) {
  return of(Tile{.dims = {"N"}, .dtype = "f32"}, std::move(spec));
}

struct Mistake {
  const char* name;
  std::function<diag::Status()> make;
};

/// What a call gives, whatever that is.
template <typename T>
diag::Status status(const diag::Result<T>& result) {
  return result ? diag::success() : diag::fail(result.error());
}

// clang-format off
const std::vector<Mistake>& declarations() {
  static const std::vector<Mistake> all = {
      {"type that is none", [] { return of(Tile{.dims = {"N"}, .dtype = "flaot32"}); }},
      {"type that looks like one", [] { return of(Tile{.dims = {"N"}, .dtype = "F32"}); }},
      {"negative size", [] { return of(Tile{.dims = {-32}, .dtype = "f32"}); }},
      {"name that is none", [] { return of(Tile{.dims = {"2N"}, .dtype = "f32"}); }},
      {"nine dimensions", [] { return of(Tile{.dims = {1, 2, 3, 4, 5, 6, 7, 8, 9}, .dtype = "f32"}); }},
      {"box of another rank", [] { return of(Tile{.dims = {"M", "K"}, .dtype = "bf16", .layout = TileLayout::Swizzle128, .box = {64}}); }},
      {"strides of a vector", [] { return of(Tile{.dims = {"N"}, .dtype = "f32", .strided = true}); }},
      {"output without a type", [] { return kernel("k", {Output("X", Tile{.dims = {"N"}})}, {}, kNothing).check(); }},
      {"input behind an output", [] { return kernel("k", {Output("Y", {"N"}, f32), Input("X", {"N"}, f32)}, {}, kNothingOfTwo).check(); }},
      {"tensor twice", [] { return kernel("k", {Input("X", {"N"}, f32), Input("X", {"N"}, f32)}, {}, kNothingOfTwo).check(); }},
      {"target that is none", [] { return of({.arch = "sm_12"}); }},
      {"target that is text", [] { return of({.arch = "hopper"}); }},
      {"block of no threads", [] { return of({.block = {0}}); }},
      {"block of too many", [] { return of({.block = {2048}}); }},
      {"cluster of too many", [] { return of({.cluster = {32}}); }},
      {"scalar of no parameter's type", [] { return of({.scalars = {{e4m3, "s"}}}); }},
      {"default that does not fit", [] { return of({.scalars = {{u8, "s", 300}}}); }},
      {"dynamic that is no dimension", [] { return of({.dynamic = {"M"}}); }},
      {"multiple of no dimension", [] { return of({.multiple_of = {{"M", 8}}}); }},
      {"multiple of nothing", [] { return of({.multiple_of = {{"N", 0}}}); }},
      {"programmatic without a wait", [] { std::vector<float> x(4); return kernel("k", {Input("X", {"N"}, f32)}, {.programmatic = true}, kNothing)(x); }},
      {"more shared memory than there is", [] { std::vector<float> x(4); return kernel("k", {Input("X", {"N"}, f32)}, {.shared = 1 << 20}, kNothing)(x); }},
      {"grid of an unknown name", [] { std::vector<float> x(4); return kernel("k", {Input("X", {"N"}, f32)}, {.grid = [](const Dims& d) { return d["M"]; }}, kNothing)(x); }},
      {"grid of an unknown size", [] { std::vector<float> x(4); return kernel("k", {Input("X", {"N"}, f32)}, {.grid = dim("M")}, kNothing)(x); }},
      {"grid below zero", [] { std::vector<float> x(4); return kernel("k", {Input("X", {"N"}, f32)}, {.grid = dim("N") - 5}, kNothing)(x); }},
      {"grid that divides by zero", [] { std::vector<float> x(4); return kernel("k", {Input("X", {"N"}, f32)}, {.grid = ceil_div(dim("N"), 0)}, kNothing)(x); }},
      {"grid of no CTAs", [] { std::vector<float> x(4); return kernel("k", {Output("X", {"N"}, f32)}, {.grid = dim("N") - 4}, kNothing)(out(x)); }},
      {"grid of numbers, carried", [] { return status(kernel("k", {Input("X", {"N"}, f32)}, {.grid = [](const Dims& d) { return d["N"]; }, .dynamic = {"N"}}, kNothing).open()); }},
      {"size of the trace, carried", [] { return status(kernels::scale().open()); }},
      {"size of nothing", [] { return status(kernels::scale().ptx({{"M", 4}})); }},
      {"size below zero", [] { return status(kernels::scale().ptx({{"N", -4}})); }},
      {"sizes that are missing", [] { return status(kernels::scale().saved()); }},
  };
  return all;
}

const std::vector<Mistake>& calls() {
  static std::vector<float> x(8), y(8), longer(9);
  static std::vector<std::int32_t> numbers(8);
  static const std::vector<float> fixed(8);
  static const auto axpy = kernels::axpy();
  static const auto split = kernels::split();
  const auto rows = [](const std::vector<std::uint32_t>& all, std::int64_t row) { return host(const_cast<std::uint32_t*>(all.data()), {2, row}); };
  static std::vector<std::uint32_t> words(16);
  static const std::vector<Mistake> all = {
      {"no tensors", [] { return axpy(); }},
      {"no output", [] { return axpy(x); }},
      {"output as an input", [] { return axpy(x, y); }},
      {"too many inputs", [] { return axpy(x, x, inout(y)); }},
      {"too many outputs", [] { return axpy(x, inout(y), inout(y)); }},
      {"out of what is read too", [] { return axpy(x, out(y)); }},
      {"output of another name", [] { return axpy(x, inout("Z", y)); }},
      {"output that may not be written", [] { return axpy(x, inout(TensorView(host(fixed)))); }},
      {"input that may not be written", [] { return kernel("clear", {Input("X", {"N"}, f32)}, {}, kNothing)(fixed); }},
      {"elements of another type", [] { return axpy(numbers, inout(y)); }},
      {"another length", [] { return axpy(x, inout(longer)); }},
      {"another rank", [] { return axpy(host(x, {2, 4}), inout(y)); }},
      {"another size", [rows] { return split(rows(words, 5), out(rows(words, 4)), out(rows(words, 4))); }},
      {"outputs that share memory", [rows] { return split(rows(words, 4), out(rows(words, 4)), out(rows(words, 4))); }},
      {"less memory than its shape", [] { return axpy(host(x, {16}), inout(host(y, {16}))); }},
      {"no memory", [] { return axpy(host(static_cast<float*>(nullptr), {8}), inout(y)); }},
      {"two devices", [] { return axpy(x, inout(device(0x1000, {8}, f32))); }},
      {"a stream of the host", [] { return axpy(x, inout(y), on(nullptr, 0)); }},
      {"scalar that does not fit", [] { return axpy(x, inout(y), 1e300); }},
      {"too many scalars", [] { return axpy(x, inout(y), 1, 2); }},
      {"scalar of another name", [] { return axpy(x, inout(y), arg("beta", 1)); }},
      {"scalar twice", [] { return axpy(x, inout(y), 1, arg("alpha", 1)); }},
      {"scalar without a value", [] { return kernel("k", {Input("X", {"N"}, f32)}, {.scalars = {{u32, "n"}}}, kNothing)(x); }},
      {"size that is no multiple", [] { return kernel("k", {Input("X", {"N"}, f32)}, {.multiple_of = {{"N", 3}}}, kNothing)(x); }},
      {"no place to run", [] { return kernel("k", {}, {}, [] { ptx::ret(); })(); }},
  };
  return all;
}
// clang-format on

TEST(CallMistakes, AreShownAsTheyAreKept) {
  std::string shown;
  for (const auto* mistakes : {&declarations(), &calls()}) {
    for (const Mistake& mistake : *mistakes) {
      const diag::Status made = mistake.make();
      EXPECT_FALSE(made) << mistake.name;
      if (made) continue;
      diag::Diagnostic found = made.error();
      for (std::string& note : found->notes) {  // wherever the tree lies
        if (note.starts_with("kernel 'k' is declared"))
          note = "kernel 'k' is declared at FILE:LINE";
      }
      shown += "== " + std::string(mistake.name) + "\n" + diag::describe(found) + "\n";
    }
  }
  golden::expect_text(golden::folder("../mistakes_in_cpp_calls.txt"), shown);
}

}  // namespace
}  // namespace pyptx
