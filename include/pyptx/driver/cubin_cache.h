// SPDX-License-Identifier: Apache-2.0
//
// The cubin cache: a folder of files named by the hash of everything that went into them. Safe for
// many processes and for network disks: entries are written under another name and renamed, their
// checksum is verified when they are read, and a bad one is removed and built again. It never makes
// a compile fail: a folder that cannot be read or written is a cache that is always empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pyptx::driver {

class CubinCache {
 public:
  struct Entry {
    std::string cubin;
    std::string log;
    bool operator==(const Entry&) const = default;
  };

  /// `folder` empty: always a miss. It is made on the first put, readable by its owner alone.
  CubinCache(std::string folder, std::uint64_t size_limit);

  /// What the environment says: PYPTX_CACHE=0 turns it off; PYPTX_CACHE_DIR, else
  /// XDG_CACHE_HOME/pyptx, else HOME/.cache/pyptx; PYPTX_CACHE_SIZE in bytes, or with K, M or G.
  static CubinCache from_environment();

  /// `key` is a hexadecimal digest. Reading marks the entry as recently used.
  std::optional<Entry> get(std::string_view key) const;
  /// False when the entry could not be kept; then nothing of it is left behind.
  bool put(std::string_view key, const Entry& entry) const;

  const std::string& folder() const { return folder_; }
  std::uint64_t size_limit() const { return size_limit_; }

 private:
  std::string path(std::string_view key) const;
  void evict() const;

  std::string folder_;
  std::uint64_t size_limit_;
};

}  // namespace pyptx::driver
