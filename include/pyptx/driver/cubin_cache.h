// SPDX-License-Identifier: Apache-2.0
//
// The cubin cache: a folder of files named by the digest of everything that went into them. Safe
// for many processes, for processes that are killed, and for network disks: entries are written
// under another name and renamed, their checksum (which covers their key) is verified when they are
// read, and a bad one is removed and built again. It takes no locks and never makes a compile fail:
// a folder that cannot be read or written is a cache that is always empty. docs/design/0013 says
// why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pyptx::driver {

/// Everything that a cubin depends on.
struct CacheKey {
  std::string ptx;
  std::string target;                // "sm_90a"
  std::vector<std::string> options;  // ptxas's spelling, in the order given
  std::string compiler;              // which build of which compiler: CompilerInfo::identity

  /// 64 hexadecimal digits.
  std::string digest() const;
  bool operator==(const CacheKey&) const = default;
};

/// Machine code on disk, by what it was made of.
class CubinCache {
 public:
  struct Entry {
    std::string cubin;
    std::string log;       // what the compiler said beside the cubin
    std::string compiler;  // its name and version: "nvJitLink 13.5"
    bool operator==(const Entry&) const = default;
  };

  /// What is in the folder.
  struct Usage {
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;  // of the entries
    std::uint64_t temporaries = 0;
  };

  /// `folder` empty: always a miss. It is made on the first put, readable by its owner alone.
  CubinCache(std::string folder, std::uint64_t size_limit);

  /// What the environment says: PYPTX_CACHE=0 turns it off; PYPTX_CACHE_DIR, else
  /// default_folder(); PYPTX_CACHE_SIZE in bytes, or with K, M or G.
  static CubinCache from_environment();
  /// XDG_CACHE_HOME/pyptx, else HOME/.cache/pyptx; empty when neither is set.
  static std::string default_folder();

  /// The cache of assemble(): the one that was set, else what the environment says now.
  static CubinCache global();
  /// Nothing: the environment's again.
  static void set_global(std::optional<CubinCache> cache);

  /// `digest` is a CacheKey's. Reading marks the entry as recently used.
  std::optional<Entry> get(std::string_view digest) const;
  /// False when the entry could not be kept; then nothing of it is left behind.
  bool put(std::string_view digest, const Entry& entry) const;

  Usage usage() const;
  /// Removes every entry and the temporaries of processes that are gone; the number of entries.
  std::uint64_t clear() const;
  /// Whether entries that are there are used; they may be where no new ones can be kept.
  bool is_readable() const;
  /// Why entries cannot be kept, with the remedy; empty when they can. Makes the folder.
  std::string problem() const;

  const std::string& folder() const { return folder_; }
  std::uint64_t size_limit() const { return size_limit_; }

 private:
  std::string path(std::string_view digest) const;

  std::string folder_;
  std::uint64_t size_limit_;
};

}  // namespace pyptx::driver
