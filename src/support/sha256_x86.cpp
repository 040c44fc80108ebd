// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 by the SHA extensions (Intel SDM, volume 2: SHA256RNDS2, SHA256MSG1, SHA256MSG2). The
// state lives in two registers, named after the words that each holds from the top down.
#include "sha256_blocks.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define PYPTX_HAS_X86_SHA 1
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace pyptx::support {

#if defined(PYPTX_HAS_X86_SHA)
namespace {

#define PYPTX_SHA_FUNCTION __attribute__((target("sha,sse4.1")))

PYPTX_SHA_FUNCTION __m128i load_words(const std::uint8_t* bytes) {
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  return _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)), big_endian);
}

PYPTX_SHA_FUNCTION void add_block(__m128i& abef, __m128i& cdgh, const std::uint8_t* bytes) {
  __m128i words[4];  // the last sixteen of the message schedule, the oldest first
  for (int i = 0; i < 4; ++i) words[i] = load_words(bytes + 16 * i);
  const __m128i old_abef = abef;
  const __m128i old_cdgh = cdgh;
  for (int group = 0; group < 16; ++group) {
    const auto* constants = reinterpret_cast<const __m128i*>(kSha256Rounds.data() + 4 * group);
    __m128i sum = _mm_add_epi32(words[0], _mm_loadu_si128(constants));
    for (int half = 0; half < 2; ++half) {  // two rounds each
      const __m128i next = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      cdgh = abef;
      abef = next;
      sum = _mm_shuffle_epi32(sum, 0x0e);
    }
    const __m128i seventh = _mm_alignr_epi8(words[3], words[2], 4);  // those seven words back
    const __m128i begun = _mm_add_epi32(_mm_sha256msg1_epu32(words[0], words[1]), seventh);
    const __m128i made = _mm_sha256msg2_epu32(begun, words[3]);
    words[0] = words[1];
    words[1] = words[2];
    words[2] = words[3];
    words[3] = made;
  }
  abef = _mm_add_epi32(abef, old_abef);
  cdgh = _mm_add_epi32(cdgh, old_cdgh);
}

PYPTX_SHA_FUNCTION void blocks(Sha256State& state, const std::uint8_t* bytes, std::size_t count) {
  const auto pack = [&state](int top, int second, int third, int last) {
    const auto word = [&state](int i) {
      return static_cast<int>(state[static_cast<std::size_t>(i)]);
    };
    return _mm_set_epi32(word(top), word(second), word(third), word(last));
  };
  __m128i abef = pack(0, 1, 4, 5);
  __m128i cdgh = pack(2, 3, 6, 7);
  for (; count > 0; --count, bytes += 64) add_block(abef, cdgh, bytes);
  std::array<std::uint32_t, 4> out{};
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out.data()), abef);
  state[0] = out[3];
  state[1] = out[2];
  state[4] = out[1];
  state[5] = out[0];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out.data()), cdgh);
  state[2] = out[3];
  state[3] = out[2];
  state[6] = out[1];
  state[7] = out[0];
}

/// CPUID leaf 7, EBX bit 29; GCC's own test does not know the extension in all versions.
bool has_sha() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __builtin_cpu_supports("sse4.1") && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
         (b >> 29 & 1U) != 0;
}

#undef PYPTX_SHA_FUNCTION

}  // namespace
#endif

Sha256Blocks sha256_blocks_for_host() {
#if defined(PYPTX_HAS_X86_SHA)
  if (has_sha()) return blocks;
#endif
  return sha256_blocks_portable;
}

}  // namespace pyptx::support
