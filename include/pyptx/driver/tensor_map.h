// SPDX-License-Identifier: Apache-2.0
//
// Tensor maps on the device's side: NVIDIA's 128 opaque bytes, made by the driver from a
// layout::TensorMap, and their immutable copies in device memory. A descriptor in device memory is
// written before its address is handed out, never changed and never freed, so neither a launch in
// flight nor a captured graph can see another one at that address.
#pragma once

#include <array>
#include <cstdint>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/layout/tensor_map.h"

namespace pyptx::driver {

/// The 128 bytes that a kernel is passed.
struct alignas(64) EncodedMap {
  std::array<unsigned char, 128> bytes{};
  bool operator==(const EncodedMap&) const = default;
};

/// The map over the tensor at `address`. Refuses with the rule that is broken.
diag::Result<EncodedMap> encode_map(const layout::TensorMap& map, std::uint64_t address);

/// Address of the copy of `map` in the memory of `device`, in its primary context whatever context
/// is current; the same bytes give the same address. Legal while a stream of this thread is being
/// captured.
diag::Result<std::uint64_t> resident_map(int device, const EncodedMap& map);

/// Refuses a launch of `device` on `stream` that cannot read those copies: it would run in another
/// context.
diag::Status check_resident_maps(int device, void* stream);

}  // namespace pyptx::driver
