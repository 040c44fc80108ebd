// SPDX-License-Identifier: Apache-2.0
//
// Launches that no target, or not this one, can run are refused before there is a device. The
// numbers are isa/limits.h's; here are the words.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/ir/module.h"

namespace pyptx::interop {

/// Sizes as they are asked for, before anybody knows that they are in range.
using Extents = std::array<std::int64_t, 3>;

/// Refuses a block, or a cluster, that no target can run: DeclarationValue, which says so of `what`
/// ("kernel 'scale':").
diag::Status check_block(std::string_view what, const Extents& block);
diag::Status check_cluster(std::string_view what, const Extents& cluster);

/// Refuses a block that the kernel's own .reqntid or .maxntid rules out: BlockDirective.
diag::Status check_directives(std::string_view what, const Extents& block, const ir::Module& module,
                              const ir::Function& entry);

/// Refuses more shared memory than a CTA of the target can have: SharedTarget.
diag::Status check_shared(std::string_view what, std::string_view target, std::uint64_t bytes);

/// Refuses a programmatic launch of what never waits for the launch before it: DeclarationValue.
diag::Status check_programmatic(std::string_view what, const ir::Module& module);

}  // namespace pyptx::interop
