// SPDX-License-Identifier: Apache-2.0
//
// PTX with a launch on the emulator (see run_text.h): whatever it says, there is an answer, in
// time, and nothing outside its buffers is touched. Half of the changes are those of mutate.h.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "mutate.h"
#include "run_text.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t limit);

namespace {

std::size_t give(const std::string& text, std::uint8_t* to, std::size_t limit) {
  const std::size_t size = std::min(text.size(), limit);
  std::memcpy(to, text.data(), size);
  return size;
}

std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t limit, unsigned seed) {
  pyptx::fuzz::Random random(seed);
  if (random.below(4) == 0) return LLVMFuzzerMutate(data, size, limit);
  return give(pyptx::fuzz::mutate(as_text(data, size), random), data, limit);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* one, std::size_t one_size,
                                                 const std::uint8_t* other, std::size_t other_size,
                                                 std::uint8_t* out, std::size_t limit,
                                                 unsigned seed) {
  pyptx::fuzz::Random random(seed);
  return give(pyptx::fuzz::cross(as_text(one, one_size), as_text(other, other_size), random), out,
              limit);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pyptx::fuzz::run_text(as_text(data, size));
  return 0;
}
