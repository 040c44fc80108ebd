// SPDX-License-Identifier: Apache-2.0
//
// O = softmax(Q @ K^T / sqrt(D)) @ V, causal unless --full is given.
//
//     attention [--full] [H S D]        attends, on the first GPU or on the emulator
//     attention [--full] --ptx H S D    prints the PTX
#include "attention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "check.h"

namespace {

using namespace examples;

/// One row of O; `q`, `k` and `v` begin at `query`, `keys` and `keys` of their arrays.
void attend(const Array& q, const Array& k, const Array& v, std::size_t query, std::size_t keys,
            std::size_t count, std::vector<double>& o) {
  const auto depth = static_cast<std::size_t>(q.shape[2]);
  std::vector<double> powers(count);
  double largest = -INFINITY;
  for (std::size_t j = 0; j < count; ++j) {
    double score = 0;
    for (std::size_t i = 0; i < depth; ++i) score += q[query + i] * k[keys + j * depth + i];
    powers[j] = score / std::sqrt(static_cast<double>(depth));
    largest = std::max(largest, powers[j]);
  }
  double total = 0;
  for (double& power : powers) total += power = std::exp(power - largest);
  for (std::size_t i = 0; i < depth; ++i) {
    for (std::size_t j = 0; j < count; ++j) o[query + i] += powers[j] * v[keys + j * depth + i];
    o[query + i] /= total;
  }
}

std::vector<double> reference(const Array& q, const Array& k, const Array& v, bool is_causal) {
  const auto length = static_cast<std::size_t>(q.shape[1]);
  const auto depth = static_cast<std::size_t>(q.shape[2]);
  std::vector<double> o(q.size());
  for (std::size_t head = 0; head < q.size(); head += length * depth) {
    for (std::size_t row = 0; row < length; ++row) {
      attend(q, k, v, head + row * depth, head, is_causal ? row + 1 : length, o);
    }
  }
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  const auto sizes = numbers(argc, argv, {2, 200, 64});
  const auto h = sizes[0], s = sizes[1], d = sizes[2];
  const bool is_causal = !has(argc, argv, "--full");
  const auto kernel = attention::build(d, is_causal);
  if (has(argc, argv, "--ptx")) return show(kernel.ptx({{"H", h}, {"S", s}}));
  return program([&] {
    const Array q = random({h, s, d}, bf16), k = random({h, s, d}, bf16);
    const Array v = random({h, s, d}, bf16);
    Array o = empty({h, s, d}, bf16);
    const auto call = [&](auto& at) {
      return kernel(at(q), at(k), at(v), out(at(o)), at.stream());
    };
    // The powers and the result are rounded to bf16, which has eight bits.
    return check("attention", call, o, reference(q, k, v, is_causal), 8e-3) ? 0 : 1;
  });
}
