// SPDX-License-Identifier: Apache-2.0
//
// Launches from raw parts (see the header).
#include "pyptx/interop/raw_launch.h"

#include <array>
#include <cstring>
#include <string>

#include "pyptx/driver/function.h"
#include "pyptx/driver/tensor_map.h"

namespace pyptx::interop {
namespace {

constexpr std::size_t kMaxParameterBytes = 4096;  // of every target (PTX ISA, "Kernel Parameters")

/// Puts parameters one after another, each at its natural alignment.
class Packer {
 public:
  explicit Packer(std::span<unsigned char> block) : block_(block) {}
  void put(const void* bytes, std::size_t size) {
    used_ = (used_ + size - 1) / size * size;
    if (used_ + size <= block_.size()) std::memcpy(block_.data() + used_, bytes, size);
    used_ += size;
  }
  std::size_t used() const { return used_; }

 private:
  std::span<unsigned char> block_;
  std::size_t used_ = 0;
};

diag::Result<std::uint64_t> map_address(const RawLaunch::Map& map, int device,
                                        std::span<const std::uint64_t> pointers) {
  if (map.tensor >= pointers.size()) {
    return diag::fail(diag::Kind::LaunchShape,
                      {"the tensor of a tensor map", "below " + std::to_string(pointers.size()),
                       std::to_string(map.tensor)});
  }
  driver::EncodedMap encoded;
  std::memcpy(encoded.bytes.data(), reinterpret_cast<const void*>(map.host_blob),
              encoded.bytes.size());
  auto placed = driver::with_address(encoded, pointers[map.tensor]);
  if (!placed) return placed.failure();
  return driver::resident_map(device, *placed);
}

}  // namespace

std::size_t pack_parameters(const RawLaunch& launch, std::span<const std::uint64_t> pointers,
                            std::span<const std::uint64_t> map_addresses,
                            std::span<unsigned char> block) {
  Packer packer(block);
  for (const std::uint64_t& pointer : pointers) packer.put(&pointer, sizeof(pointer));
  // The low bytes come first on every host that CUDA runs on.
  for (const RawLaunch::Scalar& scalar : launch.scalars) packer.put(&scalar.bits, scalar.size);
  for (const std::uint64_t& address : map_addresses) packer.put(&address, sizeof(address));
  return packer.used();
}

diag::Status launch_raw(const RawLaunch& launch, int device, void* stream,
                        std::span<const std::uint64_t> pointers) {
  if (!launch.maps.empty()) {
    if (auto status = driver::check_resident_maps(device, stream); !status) return status;
  }
  std::vector<std::uint64_t> maps;
  maps.reserve(launch.maps.size());
  for (const RawLaunch::Map& map : launch.maps) {
    auto address = map_address(map, device, pointers);
    if (!address) return address.failure();
    maps.push_back(*address);
  }
  alignas(64) std::array<unsigned char, kMaxParameterBytes> block{};
  const std::size_t used = pack_parameters(launch, pointers, maps, block);
  if (used > block.size()) {
    return diag::fail(diag::Kind::LaunchShape,
                      {"the parameter block", "at most " + std::to_string(block.size()) + " bytes",
                       std::to_string(used)});
  }
  return driver::launch_function({reinterpret_cast<void*>(launch.function), launch.grid,
                                  launch.block, launch.cluster, launch.dynamic_shared},
                                 stream, device, std::span(block).first(used));
}

}  // namespace pyptx::interop
