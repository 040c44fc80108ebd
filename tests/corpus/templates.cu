// SPDX-License-Identifier: Apache-2.0
//
// Templates, lambdas, variadic packs and constexpr tables.
#include <cuda/std/array>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>

template <typename Function, typename... Arguments>
__global__ void apply(Function function, Arguments... arguments) {
  function(threadIdx.x, arguments...);
}

template <int N>
struct Polynomial {
  cuda::std::array<float, N> coefficients;
  __device__ float operator()(float x) const {
    float sum = 0.0f;
#pragma unroll
    for (int i = N - 1; i >= 0; --i) sum = fmaf(sum, x, coefficients[i]);
    return sum;
  }
};

template <typename T>
__device__ T accumulate(T value) {
  return value;
}
template <typename T, typename... Rest>
__device__ auto accumulate(T value, Rest... rest) {
  if constexpr (cuda::std::is_integral_v<T>)
    return value * 2 + accumulate(rest...);
  else
    return value + accumulate(rest...);
}

__host__ __device__ constexpr int squares(int n) { return n <= 0 ? 0 : n * n + squares(n - 1); }

template <typename T, int Rows, int Columns>
__global__ void transpose(const T* in, T* out) {
  __shared__ T tile[Rows][Columns + 1];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * Columns + threadIdx.x];
  __syncthreads();
  out[threadIdx.x * Rows + threadIdx.y] = tile[threadIdx.y][threadIdx.x] + T(squares(Rows));
}

template __global__ void transpose<float, 16, 16>(const float*, float*);
template __global__ void transpose<double, 8, 32>(const double*, double*);
template __global__ void transpose<unsigned short, 32, 8>(const unsigned short*, unsigned short*);

__global__ void mixed(float* out, Polynomial<6> polynomial) {
  auto pair = cuda::std::make_tuple(threadIdx.x, 2.5f, 1ll);
  const auto [i, f, n] = pair;
  out[i] = polynomial(f) + accumulate(1, 2.5f, 3u, static_cast<float>(n));
}

void launch(float* data) {
  const auto add = [data] __device__(unsigned i, float a, int b) { data[i] += a * b; };
  apply<<<1, 32>>>(add, 2.0f, 3);
}
