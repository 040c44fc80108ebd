// SPDX-License-Identifier: Apache-2.0
//
// The emulator's 128 bytes of a tensor map. NVIDIA's are opaque and may change; these carry a
// magic word, so that a map made by a driver is refused by name instead of being misread.
#pragma once

#include <optional>

#include "pyptx/emu/emulator.h"

namespace pyptx::emu {

struct DecodedMap {
  layout::TensorMap map;
  std::uint64_t address = 0;
};

/// Nothing when the magic word is missing.
std::optional<DecodedMap> decode_map(const std::byte* bytes);

}  // namespace pyptx::emu
