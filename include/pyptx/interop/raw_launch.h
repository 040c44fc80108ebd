// SPDX-License-Identifier: Apache-2.0
//
// A launch put together from raw parts: a CUfunction that somebody loaded, its dimensions, scalars
// and tensor maps. What the process-wide handles name beside kernel images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/driver/plan.h"

namespace pyptx::interop {

/// Its parameters are the tensors' addresses, then the scalars, then the addresses of the tensor
/// maps, each in the order it was added.
struct RawLaunch {
  struct Scalar {
    std::uint64_t bits = 0;
    std::uint32_t size = 4;  // bytes: 1, 2, 4 or 8
  };
  /// A tensor map encoded by the driver (host_blob, 128 bytes) over tensor `tensor`. A launch
  /// makes a copy with that tensor's address in it. device_blob is the caller's buffer for the
  /// uploaded map; it is kept for the caller and not written: maps in device memory are immutable.
  struct Map {
    std::uint32_t tensor = 0;
    std::uint64_t host_blob = 0;
    std::uint64_t device_blob = 0;
  };
  std::uint64_t function = 0;  // CUfunction or CUkernel
  driver::Dim3 grid;
  driver::Dim3 block;
  driver::Dim3 cluster;
  std::uint32_t dynamic_shared = 0;
  std::vector<Scalar> scalars;
  std::vector<Map> maps;
};

/// Packs the parameters into `block`, each at its natural alignment; `map_addresses` are those of
/// launch.maps. Returns the bytes they take, which may be more than the block has room for.
std::size_t pack_parameters(const RawLaunch& launch, std::span<const std::uint64_t> pointers,
                            std::span<const std::uint64_t> map_addresses,
                            std::span<unsigned char> block);

/// Launches with these addresses.
diag::Status launch_raw(const RawLaunch& launch, int device, void* stream,
                        std::span<const std::uint64_t> pointers);

}  // namespace pyptx::interop
