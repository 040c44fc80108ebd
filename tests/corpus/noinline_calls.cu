// SPDX-License-Identifier: Apache-2.0
//
// Device functions across separate compilation: extern, aligned structures, many arguments.
struct alignas(16) Vector {
  float x, y, z, w;
};
struct Small {
  char tag;
  short value;
};

__device__ __noinline__ Vector add(Vector a, Vector b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}
__device__ __noinline__ Small twist(Small s, bool flip) {
  if (flip) s.value = static_cast<short>(-s.value);
  ++s.tag;
  return s;
}
__device__ __noinline__ double many(int a, float b, double c, long long d, char e, short f,
                                    unsigned char g, const void* h, Vector v, Small s) {
  return a + b + c + d + e + f + g + (h != nullptr) + v.x + s.value;
}
__device__ __noinline__ void nothing() { __threadfence(); }
__device__ __forceinline__ int inlined(int x) { return x * 3; }
__device__ __noinline__ [[noreturn]] void stop() {
  __trap();
  while (true) {
  }
}

__global__ void calls(Vector* v, Small* s, double* out, int n) {
  const int i = threadIdx.x;
  v[i] = add(v[i], add(v[i + 1], v[i + 2]));
  s[i] = twist(s[i], i & 1);
  out[i] = many(i, 1.5f, 2.5, 3, 'a', 4, 5, out, v[i], s[i]) + inlined(i);
  nothing();
  if (n < 0) stop();
}
