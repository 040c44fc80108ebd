// SPDX-License-Identifier: Apache-2.0
#include "pyptx/support/file.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>

namespace pyptx::support {

std::uint64_t unlikely_number() {
  static std::atomic<std::uint64_t> counter = 0;
  // SplitMix64 over the time, the process and a count.
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  std::uint64_t z = static_cast<std::uint64_t>(now) ^ static_cast<std::uint64_t>(getpid()) << 40 ^
                    counter.fetch_add(1) * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

}  // namespace pyptx::support
