// SPDX-License-Identifier: Apache-2.0
//
// The same as stencil.py.
constexpr int kPoints = 128;

__global__ void stencil(const float* __restrict__ x, float* __restrict__ y,
                        unsigned* __restrict__ taken, unsigned steps, float still) {
  __shared__ float rod[kPoints];
  const int n = threadIdx.x;
  const size_t place = size_t(blockIdx.x) * kPoints + n;
  float here = x[place];
  rod[n] = here;
  unsigned done = 0;
  bool moves = true;
  while (moves && done < steps) {
    __syncthreads();
    float after = here;
    if (n > 0 && n < kPoints - 1) {
      after = 0.5f * (rod[n - 1] + rod[n + 1]);
    }
    moves = __syncthreads_or(fabsf(after - here) > still);
    here = after;
    rod[n] = here;
    ++done;
  }
  y[place] = here;
  if (n == 0) {
    taken[blockIdx.x] = done;
  }
}
