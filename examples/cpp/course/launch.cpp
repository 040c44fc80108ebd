// SPDX-License-Identifier: Apache-2.0
//
// The program of docs/guide/cpp_launch.md, which shows what it prints. Where there is a GPU, it
// launches there too.
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "../softmax.h"
#include "../vector_add.h"
#include "pyptx/diag/render.h"
#include "pyptx/kernel.h"

namespace {

using namespace pyptx;
using namespace pyptx::types;

constexpr std::int64_t kRows = 2;
constexpr std::int64_t kColumns = 4;
using Values = std::vector<float>;

void show(const diag::Status& done, const Values& values) {
  if (!done) {
    std::cout << diag::render(done.error(), nullptr);
    return;
  }
  std::cout << "Y is";
  for (const float value : values) std::cout << ' ' << value;
  std::cout << '\n';
}

diag::Status on_device(const Values& x, Values& y) {
  const Stream stream = Stream::create(0).or_throw();
  const DeviceMemory in = DeviceMemory::allocate(0, x.size() * sizeof(float)).or_throw();
  const DeviceMemory result = DeviceMemory::allocate(0, y.size() * sizeof(float)).or_throw();
  in.copy_from(x.data(), stream).or_throw();
  auto done = examples::softmax(device(in, {kRows, kColumns}, f32),
                                out(device(result, {kRows, kColumns}, f32)), on(stream));
  if (!done) return done;
  result.copy_to(y.data(), stream).or_throw();
  return stream.synchronize();
}

void count(const Values& x, Values& y) {
  emu::Options options;
  options.seed = 7;
  options.completion = emu::Completion::Random;
  options.counters = true;
  const auto report =
      examples::softmax
          .emulate(options, host(x, {kRows, kColumns}), out(host(y, {kRows, kColumns})))
          .or_throw();
  std::cout << report.warp_instructions
            << " instructions of warps, the most often: " << report.rows.front().spelling << '\n';
}

void save_and_load(const std::string& path) {
  examples::vector_add.save(path, {{"N", 1000}}).or_throw();
  const SavedKernel loaded = SavedKernel::load(path).or_throw();
  std::cout << loaded.inputs.size() << " inputs, " << loaded.outputs.size() << " output, "
            << loaded.scalars.size() << " scalar\n";
}

void mistakes(const Values& x, Values& y) {
  const std::vector<double> wide(8);
  show(examples::softmax(host(wide, {kRows, kColumns}), out(host(y, {kRows, kColumns}))), y);
  show(examples::softmax(host(x, {kRows, 40}), out(host(y, {kRows, 40}))), y);
  show(examples::softmax(host(x, {4, 2}), out(host(y, {4, 2}))), y);
  show(examples::vector_add(x, x, out(y)), y);
}

}  // namespace

int main(int argc, char** argv) {
  const Values x{0, 0, 0, 0, 0, 0, 0, 100};
  Values y(8);
  const auto done = examples::softmax(host(x, {kRows, kColumns}), out(host(y, {kRows, kColumns})));
  show(done, y);
  Values there(8);
  const bool has_device = driver::available().ok();
  if (has_device && (!on_device(x, there) || there != y)) std::cout << "the device differs\n";
  count(x, y);
  save_and_load(argc > 1 ? argv[1] : "vector_add.pyptx");
  mistakes(x, y);
  return 0;
}
