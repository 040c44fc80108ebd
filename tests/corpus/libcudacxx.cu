// SPDX-License-Identifier: Apache-2.0
//
// libcu++ on the device: complex, optional, variant-free algorithms, spans, bit tricks, chrono.
#include <cuda/std/bit>
#include <cuda/std/chrono>
#include <cuda/std/complex>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/utility>

namespace cs = cuda::std;

__device__ cs::optional<int> find(cs::span<const int> values, int wanted) {
  for (int i = 0; i < static_cast<int>(values.size()); ++i)
    if (values[i] == wanted) return i;
  return cs::nullopt;
}

__global__ void mixture(const int* in, int count, float* out, cs::complex<float>* z) {
  const cs::span<const int> all(in, count);
  out[0] = static_cast<float>(find(all, 7).value_or(-1));
  out[1] = static_cast<float>(cs::popcount(static_cast<unsigned>(in[0])) +
                              cs::countl_zero(static_cast<unsigned>(in[1])));
  out[2] = cs::numeric_limits<float>::max();
  out[3] = cs::bit_cast<float>(in[2]);
  z[0] = cs::exp(z[1]) * cs::sqrt(z[2]) / (z[3] + cs::complex<float>(1, 2));
  z[4] = cs::polar(cs::abs(z[5]), cs::arg(z[6]));
  const auto now = cs::chrono::system_clock::now().time_since_epoch();
  out[4] = static_cast<float>(now.count() % 1000);
}
