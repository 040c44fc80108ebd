// SPDX-License-Identifier: Apache-2.0
//
// Two things that whoever writes a file beside its name and then renames it needs.
#pragma once

#include <cstdint>
#include <string_view>

namespace pyptx::support {

/// A number that no other process or thread is likely to get, for the name of a temporary.
std::uint64_t unlikely_number();

/// Writes all of it, however often it takes. False with errno set.
bool write_all(int file, std::string_view bytes);

}  // namespace pyptx::support
