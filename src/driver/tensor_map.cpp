// SPDX-License-Identifier: Apache-2.0
#include "pyptx/driver/tensor_map.h"

#include <map>
#include <mutex>

#include "context.h"
#include "cuda_api.h"
#include "pyptx/support/concat.h"

namespace pyptx::driver {
namespace {

using diag::Kind;

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kMapBytes = sizeof(EncodedMap);
static_assert(kMapBytes == 128);

/// The descriptors in one device's memory, which is its primary context's: memory of another
/// context is gone with that. Pages are filled and never reused.
class MapPool {
 public:
  diag::Result<std::uint64_t> find_or_add(const Driver& loaded, int device, const EncodedMap& map);

 private:
  diag::Status reserve(const Driver& loaded);

  std::mutex mutex_;
  std::map<std::array<unsigned char, kMapBytes>, std::uint64_t> known_;
  cuda::Stream stream_ = nullptr;
  cuda::Address page_ = 0;
  std::size_t used_ = kPageBytes;
};

/// A page with room, and the private stream that fills it. That stream does not synchronise with
/// the default stream, so a capture anywhere in the process is not disturbed.
diag::Status MapPool::reserve(const Driver& loaded) {
  if (stream_ == nullptr) {
    const auto code = loaded.api.stream_create(&stream_, cuda::kStreamNonBlocking);
    if (code != cuda::kSuccess) {
      stream_ = nullptr;
      return diag::fail(cuda_error(loaded.api, "cuStreamCreate", code));
    }
  }
  if (used_ + kMapBytes <= kPageBytes) return diag::success();
  cuda::Address page = 0;
  const auto code = loaded.api.memory_allocate(&page, kPageBytes);
  if (code != cuda::kSuccess) return diag::fail(cuda_error(loaded.api, "cuMemAlloc", code));
  page_ = page;
  used_ = 0;
  return diag::success();
}

diag::Result<std::uint64_t> MapPool::find_or_add(const Driver& loaded, int device,
                                                 const EncodedMap& map) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = known_.find(map.bytes); found != known_.end()) return found->second;
  const RelaxedCapture relaxed(loaded.api);
  const ContextScope context(loaded, device, ContextScope::Need::Primary);
  if (!context.ok()) return diag::fail(context.error());
  if (auto status = reserve(loaded); !status) return status.failure();
  const cuda::Address address = page_ + used_;
  auto code = loaded.api.copy_to_device(address, map.bytes.data(), kMapBytes, stream_);
  if (code != cuda::kSuccess) return diag::fail(cuda_error(loaded.api, "cuMemcpyHtoDAsync", code));
  // The bytes are there before anyone learns the address, whatever stream reads them.
  code = loaded.api.stream_synchronize(stream_);
  if (code != cuda::kSuccess) {
    return diag::fail(cuda_error(loaded.api, "cuStreamSynchronize", code));
  }
  used_ += kMapBytes;
  known_.emplace(map.bytes, address);
  return address;
}

MapPool& pool(int device) {
  static auto* pools = new std::array<MapPool, kMaxDevices>;  // never destroyed, as the memory
  return (*pools)[static_cast<std::size_t>(device)];
}

diag::Result<EncodedMap> encode_im2col(const cuda::Api& api, const layout::TensorMap& map,
                                       std::uint64_t address) {
  if (api.encode_im2col == nullptr) {
    return diag::fail(Kind::TensorMapRule, {"the driver is too old to make im2col maps"});
  }
  EncodedMap out;
  const auto code = api.encode_im2col(
      out.bytes.data(), static_cast<int>(map.type), map.rank, cuda::as_pointer(address),
      map.dims.data(), map.strides.data(), map.im2col.lower.data(), map.im2col.upper.data(),
      map.im2col.channels, map.im2col.pixels, map.element_strides.data(),
      /*interleave=*/0, static_cast<int>(map.swizzle), map.l2_promotion, map.oob_nan ? 1 : 0);
  if (code != cuda::kSuccess) return diag::fail(cuda_error(api, "cuTensorMapEncodeIm2col", code));
  return out;
}

}  // namespace

diag::Result<EncodedMap> encode_map(const layout::TensorMap& map, std::uint64_t address) {
  if (const auto why = map.problem(address)) return diag::fail(Kind::TensorMapRule, {*why});
  if (address == 0) return diag::fail(Kind::TensorMapRule, {"its address is null"});
  auto found = driver();
  if (!found) return found.failure();
  const cuda::Api& api = (*found)->api;
  if (api.encode_tiled == nullptr) {
    return diag::fail(Kind::TensorMapRule, {"the driver is too old to make tensor maps"});
  }
  if (map.is_im2col()) return encode_im2col(api, map, address);
  EncodedMap out;
  const auto code =
      api.encode_tiled(out.bytes.data(), static_cast<int>(map.type), map.rank,
                       cuda::as_pointer(address), map.dims.data(), map.strides.data(),
                       map.box.data(), map.element_strides.data(), static_cast<int>(map.interleave),
                       static_cast<int>(map.swizzle), map.l2_promotion, map.oob_nan ? 1 : 0);
  if (code != cuda::kSuccess) return diag::fail(cuda_error(api, "cuTensorMapEncodeTiled", code));
  return out;
}

diag::Result<std::uint64_t> resident_map(int device, const EncodedMap& map) {
  auto found = driver_with(device);
  if (!found) return found.failure();
  return pool(device).find_or_add(**found, device, map);
}

diag::Status check_resident_maps(int device, void* stream) {
  auto found = driver_with(device);
  if (!found) return found.failure();
  const ContextScope current(**found, device);
  if (!current.ok()) return diag::fail(current.error());
  auto context = context_of(**found, stream);
  if (!context) return context.failure();
  if (*context == find_primary(**found, device)) return diag::success();
  return diag::fail(
      diag::Diagnostic(
          Kind::LaunchShape,
          {"the context",
           support::concat("device ", device, "'s primary one, which has the tensor maps"),
           "another one"})
          .note("it takes tensor maps by pointer: make the primary context current (the runtime "
                "API's and the frameworks'), with a stream of it, or pass maps by value, "
                "kernel(tma=\"value\")"));
}

}  // namespace pyptx::driver
