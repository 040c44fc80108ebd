// SPDX-License-Identifier: Apache-2.0
//
// What the programs of this folder share: arrays of random values, a place to run, and a comparison
// with float64. None of it is needed to use a kernel.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyptx/diag/render.h"
#include "pyptx/kernel.h"

namespace examples {

using namespace pyptx;
using namespace pyptx::types;

/// A dense array of f32 or bf16 in host memory.
struct Array {
  std::vector<std::int64_t> shape;
  isa::Type type;
  std::vector<std::byte> bytes{};

  std::size_t size() const {
    std::size_t count = 1;
    for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
    return count;
  }
  std::size_t element_bytes() const { return type == f32 ? 4 : 2; }

  double operator[](std::size_t i) const {
    std::uint32_t bits = 0;  // bf16 is the upper half of an f32
    const std::size_t width = element_bytes();
    std::memcpy(reinterpret_cast<std::byte*>(&bits) + 4 - width, bytes.data() + i * width, width);
    return std::bit_cast<float>(bits);
  }
};

inline Array empty(std::vector<std::int64_t> shape, isa::Type type) {
  Array made{std::move(shape), type};
  made.bytes.resize(made.size() * made.element_bytes());
  return made;
}

/// Values between -1 and 1, others in each process. Those of bf16 are cut, not rounded.
inline Array random(std::vector<std::int64_t> shape, isa::Type type) {
  static std::mt19937 generator{std::random_device{}()};
  std::uniform_real_distribution<float> values(-1.0F, 1.0F);
  Array made = empty(std::move(shape), type);
  const std::size_t width = made.element_bytes();
  for (std::size_t i = 0; i < made.size(); ++i) {
    const float value = values(generator);
    const auto* const raw = reinterpret_cast<const std::byte*>(&value);
    std::memcpy(made.bytes.data() + i * width, raw + 4 - width, width);
  }
  return made;
}

/// Arrays where they are, for the emulator.
struct OnHost {
  TensorView operator()(const Array& array) const {
    return host(array.bytes, array.shape, array.type);
  }
  TensorView operator()(Array& array) const { return host(array.bytes, array.shape, array.type); }
  static call::Place stream() { return {}; }
};

/// Arrays in the memory of the first GPU; what is not const comes back.
class OnDevice {
 public:
  explicit OnDevice() : stream_(Stream::create(kDevice).or_throw()) {}

  TensorView operator()(const Array& array) {
    memory_.push_back(DeviceMemory::allocate(kDevice, array.bytes.size()).or_throw());
    memory_.back().copy_from(array.bytes.data(), stream_).or_throw();
    return device(memory_.back(), array.shape, array.type);
  }
  TensorView operator()(Array& array) {
    const TensorView view = (*this)(std::as_const(array));
    written_.emplace_back(memory_.size() - 1, &array);
    return view;
  }
  call::Place stream() const { return on(stream_); }
  diag::Status finish() {
    for (const auto& [index, array] : written_) {
      const auto copied = memory_[index].copy_to(array->bytes.data(), stream_);
      if (!copied) return copied;
    }
    return stream_.synchronize();
  }

 private:
  static constexpr int kDevice = 0;
  Stream stream_;
  std::vector<DeviceMemory> memory_;
  std::vector<std::pair<std::size_t, Array*>> written_;
};

/// Runs `call` on the first GPU where there is one that can, else on the emulator, which looks for
/// races: call(at) calls a kernel, with at(x) for each array x and at.stream(). Where it ran.
template <typename Call>
std::string run(const Call& call) {
  if (driver::available().ok()) {
    OnDevice at;
    auto done = call(at);
    if (done) done = at.finish();
    if (done) return driver::device(0).or_throw()->name;
    std::cout << done.error().message() << "\n";
  }
  const OnHost at;
  call(at).or_throw();
  return "emulator";
}

/// Runs `call` and compares what it wrote into `result` with values that were computed in float64:
/// the largest difference over the largest value.
template <typename Call>
bool check(std::string_view name, const Call& call, const Array& result,
           std::span<const double> expected, double tolerance) {
  const std::string where = run(call);
  double error = 0;
  double largest = 1e-30;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::abs(result[i] - expected[i]);
    error = std::isfinite(difference) ? std::max(error, difference) : INFINITY;
    largest = std::max(largest, std::abs(expected[i]));
  }
  const bool is_right = error / largest < tolerance;
  std::cout << name << " (" << where << "): largest error against float64 " << error / largest
            << (is_right ? "" : ", WRONG") << "\n";
  return is_right;
}

/// The numbers among a program's words, or `usual` where there are none.
inline std::vector<std::int64_t> numbers(int count, char** words,
                                         const std::vector<std::int64_t>& usual) {
  std::vector<std::int64_t> found;
  for (int i = 1; i < count; ++i) {
    if (words[i][0] != '-') found.push_back(std::strtoll(words[i], nullptr, 10));
  }
  return found.size() == usual.size() ? found : usual;
}
inline bool has(int count, char** words, std::string_view word) {
  return std::find(words + 1, words + count, word) != words + count;
}

/// Prints a kernel's text, or why there is none.
inline int show(const diag::Result<std::string>& text) {
  (text ? std::cout : std::cerr) << (text ? *text : diag::render(text.error(), nullptr));
  return text ? 0 : 1;
}

/// What main() is, with errors shown.
template <typename Main>
int program(const Main& run_it) {
  try {
    return run_it();
  } catch (const diag::Exception& error) {
    std::cerr << error.what();
    return 1;
  }
}

}  // namespace examples
