// SPDX-License-Identifier: Apache-2.0
//
// printf with every kind of argument, assert, trap and breakpoints.
#include <cassert>
#include <cstdio>

__global__ void report(const float* values, const char* name, long long big, unsigned char small) {
  const int i = threadIdx.x;
  assert(values[i] >= 0.0f && "values are not negative");
  printf("%s[%d] = %f\n", name, i, values[i]);
  printf("%lld %u %c %p %% \"quoted\"\t\\\n", big, small, 'x', static_cast<const void*>(values));
  const int written = printf("no arguments\n");
  if (written < 0) __trap();
  if (values[i] > 1e30f) __brkpt();
  assert(i < 1024);
}
