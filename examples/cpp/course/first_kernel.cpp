// SPDX-License-Identifier: Apache-2.0
//
// The program of docs/guide/cpp_first_kernel.md, which shows what it prints.
#include <iostream>
#include <vector>

#include "../vector_add.h"
#include "pyptx/diag/render.h"

namespace {

using namespace pyptx;
using namespace pyptx::types;

void say(const diag::Diagnostic& error) { std::cout << diag::render(error, nullptr); }

void run() {
  const std::vector<float> x{1, 2, 3}, y{10, 20, 30};
  std::vector<float> z(3);
  const diag::Status done = examples::vector_add(x, y, out(z), 0.5);
  if (!done) say(done.error());
  std::cout << "Z is " << z[0] << ", " << z[1] << ", " << z[2] << '\n';
}

void mixed(const Tensor&) {
  const Reg x = reg::scalar(f32), n = reg::scalar(u32);
  ptx::inst::add.f32(x, x, n);
}

void summed(const Tensor& X) {
  const auto [px] = ptx::global_ptrs(X);
  Reg sum = reg::scalar(f32, 0.0);
  ptx::range(0, 8, [&](const Reg& i) {
    const Reg x = reg::scalar(f32);
    ptx::inst::ld.global.f32(x, ptx::addr(px + i * 4));
    sum = sum + x;
  });
}

void unguarded(const Tensor& X, const Tensor& Y) {
  const auto [px, py] = ptx::global_ptrs(X, Y);
  const Reg first = reg::from(ptx::special::ctaid.x(), u32) * 128;
  const Reg i = first + ptx::special::tid.x();
  const Reg value = reg::scalar(f32);
  ptx::inst::ld.global.f32(value, ptx::addr(px + i * 4));
  ptx::inst::st.global.f32(ptx::addr(py + i * 4), value);
}

void mistakes() {
  const Input vector("X", {"N"}, f32);
  const std::vector<float> x(1000, 1.0F), few(10);
  std::vector<float> y(1000);
  say(kernel("mixed", {vector}, {}, mixed).ptx({{"N", 8}}).error());
  say(kernel("summed", {vector}, {}, summed).ptx({{"N", 8}}).error());
  say(examples::vector_add(x, few, out(y), 0.5).error());

  const auto copy = kernel("copy", {vector, Output("Y", {"N"}, f32)},
                           {.grid = ceil_div(dim("N"), 128), .block = {128}}, unguarded);
  say(copy(x, out(y)).error());
}

}  // namespace

int main() {
  std::cout << *examples::vector_add.ptx({{"N", 1000}});
  run();
  mistakes();
  return 0;
}
