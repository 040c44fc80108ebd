// SPDX-License-Identifier: Apache-2.0
//
// Descriptors field by field, for people: where each field stands and what it says. What a field
// means is matrix_descriptor.h's and tcgen05_descriptor.h's to know; here are its place and its
// name in the manual.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/layout/tcgen05_descriptor.h"

namespace pyptx::layout {

/// A field of a descriptor, in words.
struct DescriptorField {
  unsigned at = 0;    // the lowest bit
  unsigned size = 0;  // bits
  std::string_view name;
  std::uint64_t bits = 0;  // as they stand in the number
  std::string meaning;     // "1024 bytes", "K-major"
};

/// What a number says as a descriptor.
struct DescriptorText {
  std::vector<DescriptorField> fields;  // from bit 0 up
  unsigned size = 64;                   // of the number
  std::uint64_t encoded = 0;            // of what was understood: differs where a bit means nothing
  std::string problem;                  // why the manual forbids it, or empty
};

/// What the bits of a descriptor say.
DescriptorText describe_wgmma(std::uint64_t bits);
DescriptorText describe_tcgen05(std::uint64_t bits);
DescriptorText describe_instruction(MmaKind kind, std::uint32_t bits, int cta_group, bool is_ws);
DescriptorText describe_zero_columns(std::uint64_t bits);

}  // namespace pyptx::layout
