// SPDX-License-Identifier: Apache-2.0
//
// The bytes of one cache entry: a line with the format, the digest of all else and the lengths of
// the parts, then the parts. The digest covers the key, so that a file under another entry's name
// is as bad as one with a flipped bit.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pyptx/driver/cubin_cache.h"

namespace pyptx::driver {

std::string pack_entry(std::string_view key, const CubinCache::Entry& entry);

/// The entry, if these are exactly the bytes that pack_entry() makes of it for this key.
std::optional<CubinCache::Entry> unpack_entry(std::string_view key, std::string_view bytes);

}  // namespace pyptx::driver
