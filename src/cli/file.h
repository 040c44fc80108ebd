// SPDX-License-Identifier: Apache-2.0
//
// Files as the command sees them: "-" is standard input, and a file is replaced as a whole or not
// at all.
#pragma once

#include <optional>
#include <string>

#include "pyptx/cli/command.h"

namespace pyptx::cli {

/// The bytes of `path`; nothing, with words on streams.err, when it cannot be read.
std::optional<std::string> read_file(const std::string& path, Streams& streams);

/// Puts `bytes` in the place of `path` by way of a new file beside it, which keeps the old one's
/// permissions. False, with words on streams.err and the old file untouched, when that fails.
bool replace_file(const std::string& path, const std::string& bytes, Streams& streams);

}  // namespace pyptx::cli
