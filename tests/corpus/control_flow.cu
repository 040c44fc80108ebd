// SPDX-License-Identifier: Apache-2.0
//
// Loops, switches, divergent branches, gotos, predication and early exits.
__global__ void loops(const int* in, int* out, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    if (in[i] < 0) continue;
    if (in[i] == 12345) break;
    int x = in[i];
    while (x != 1 && x < 1000000) {
      x = x % 2 == 0 ? x / 2 : 3 * x + 1;
      ++sum;
    }
    do {
      sum ^= x++;
    } while (x % 7 != 0);
  }
  out[threadIdx.x] = sum;
}

__global__ void machine(const unsigned char* code, int* out) {
  int accumulator = 0, at = 0;
again:
  switch (code[at++]) {
    case 0:
      accumulator += 1;
      goto again;
    case 1:
      accumulator *= 2;
      goto again;
    case 2:
      accumulator -= 3;
      goto again;
    case 3:
      accumulator ^= 0xFF;
      goto again;
    case 4:
      accumulator >>= 1;
      goto again;
    case 5:
      if (accumulator & 1) at = 0;
      goto again;
    case 6:
      accumulator = out[accumulator & 31];
      goto again;
    case 7:
      return;
    default:
      break;
  }
  out[threadIdx.x] = accumulator;
}

__global__ void divergent(float* p, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  float x = p[i];
  if (i % 2 == 0) {
    for (int k = 0; k < i; ++k) x += sqrtf(x);
  } else if (i % 3 == 0) {
    x = x > 0 ? x * 2 : -x;
    __syncwarp();
  } else {
    p[i + n] = x;
    if (x == 0) asm volatile("exit;");
  }
  p[i] = x;
}
