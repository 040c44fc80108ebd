// SPDX-License-Identifier: Apache-2.0
//
// Wide integers: 64- and 128-bit arithmetic, division, carries, narrow types.
__global__ void wide(const long long* a, const long long* b, long long* c, unsigned long long* u) {
  const int i = threadIdx.x;
  c[i] = a[i] * b[i] + a[i] / (b[i] | 1) - a[i] % (b[i] | 1);
  c[i + 1] = __mul64hi(a[i], b[i]);
  u[i] = __umul64hi(u[i], u[i + 1]) + u[i] / 1000000007ull + u[i + 1] % 10ull;
  c[i + 2] = (a[i] << (b[i] & 63)) ^ (a[i] >> 3) ^ static_cast<long long>(u[i] >> 7);
  c[i + 3] = a[i] < b[i] ? ~a[i] : -b[i];
}

__global__ void huge(const unsigned __int128* a, unsigned __int128* b, __int128* c) {
  const int i = threadIdx.x;
  b[i] = a[i] * b[i] + a[i];
  b[i + 1] = a[i] / (b[i] | 1);
  c[i] = -c[i] - static_cast<__int128>(a[i] >> 17);
}

// tests/emu/test_wide_integers.py runs this one. Results: quotients, remainders, signed, then unsigned.
extern "C" __global__ void divisions(const __int128* a, const __int128* b, __int128* results) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned count = gridDim.x * blockDim.x;
  using Unsigned = unsigned __int128;
  results[i] = a[i] / b[i];
  results[count + i] = a[i] % b[i];
  results[2 * count + i] = static_cast<__int128>(Unsigned(a[i]) / Unsigned(b[i]));
  results[3 * count + i] = static_cast<__int128>(Unsigned(a[i]) % Unsigned(b[i]));
}

__global__ void narrow(const signed char* a, const unsigned short* b, short* c, unsigned char* d) {
  const int i = threadIdx.x;
  c[i] = static_cast<short>(a[i] * b[i]);
  d[i] = static_cast<unsigned char>(a[i] / 3 + b[i] % 7);
  c[i + 1] = static_cast<short>(b[i] >> 3 | a[i] << 2);
  d[i + 1] = a[i] > b[i] ? 200 : static_cast<unsigned char>(-a[i]);
}

__global__ void carries(const unsigned* a, unsigned* c) {
  unsigned x, y, z;
  asm("{\nadd.cc.u32 %0, %3, %4;\naddc.cc.u32 %1, %3, %5;\naddc.u32 %2, %4, 0;\n}"
      : "=r"(x), "=r"(y), "=r"(z)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]));
  asm("{\nmad.lo.cc.u32 %0, %1, %2, %0;\nmadc.hi.u32 %1, %1, %2, 0;\n}"
      : "+r"(x), "+r"(y)
      : "r"(z));
  asm("{\nsub.cc.u32 %0, %0, %2;\nsubc.u32 %1, %1, 0;\n}" : "+r"(x), "+r"(y) : "r"(z));
  c[threadIdx.x] = x ^ y ^ z;
  int quotient = static_cast<int>(x) / 7 + static_cast<int>(y) % 5;
  switch (quotient & 15) {
    case 0:
      quotient += 3;
      break;
    case 1:
      quotient *= 5;
      break;
    case 2:
      quotient -= z;
      break;
    case 3:
      quotient ^= 0x55;
      break;
    case 4:
      quotient <<= 2;
      break;
    case 5:
      quotient >>= 1;
      break;
    case 6:
      quotient = -quotient;
      break;
    case 7:
      quotient = ~quotient;
      break;
    case 9:
      quotient |= 12;
      break;
    default:
      break;
  }
  c[threadIdx.x + 1] = quotient;
}
