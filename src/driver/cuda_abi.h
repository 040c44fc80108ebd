// SPDX-License-Identifier: Apache-2.0
//
// The part of the CUDA driver's binary interface that this layer calls, declared anew: handles,
// constants, two structures, and one table of entry points. The names with a suffix are the
// versions that the driver promises to keep (CUDA driver API, "Versioned symbols"). Nothing of
// NVIDIA's headers is needed to build; a test compares the two where those headers are found.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pyptx::driver::cuda {

using Code = int;  // CUresult
using Device = int;
using Address = unsigned long long;  // CUdeviceptr
using Context = struct ContextTag*;
using Library = struct LibraryTag*;
using KernelHandle = struct KernelTag*;
using Function = struct FunctionTag*;
using Stream = struct StreamTag*;
using Event = struct EventTag*;
using LinkState = struct LinkStateTag*;

// Codes that are treated by name; the rest keep the driver's own words.
inline constexpr Code kSuccess = 0;
inline constexpr Code kInvalidValue = 1;
inline constexpr Code kOutOfMemory = 2;
inline constexpr Code kNotInitialized = 3;
inline constexpr Code kStubLibrary = 34;
inline constexpr Code kNoDevice = 100;
inline constexpr Code kInvalidDevice = 101;
inline constexpr Code kInvalidImage = 200;
inline constexpr Code kInvalidContext = 201;
inline constexpr Code kNoBinaryForGpu = 209;
inline constexpr Code kInvalidPtx = 218;
inline constexpr Code kUnsupportedPtxVersion = 222;
inline constexpr Code kInvalidHandle = 400;
inline constexpr Code kNotFound = 500;
inline constexpr Code kIllegalAddress = 700;
inline constexpr Code kOutOfResources = 701;
inline constexpr Code kLaunchTimeout = 702;
inline constexpr Code kIllegalInstruction = 715;
inline constexpr Code kMisalignedAddress = 716;
inline constexpr Code kLaunchFailed = 719;
inline constexpr Code kSystemDriverMismatch = 803;
inline constexpr Code kCaptureUnsupported = 900;
inline constexpr Code kCaptureInvalidated = 901;
inline constexpr Code kCaptureImplicit = 906;
inline constexpr Code kInvalidClusterSize = 912;

enum DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxSharedPerBlock = 8,
  kMultiprocessorCount = 16,
  kL2CacheSize = 38,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
  kMaxSharedPerBlockOptin = 97,
  kClusterLaunch = 120,
};

enum FunctionAttribute : int {
  kFunctionMaxThreads = 0,
  kSharedSizeBytes = 1,
  kConstSizeBytes = 2,
  kLocalSizeBytes = 3,
  kNumRegs = 4,
  kBinaryVersion = 6,
  kMaxDynamicSharedSizeBytes = 8,
  kClusterSizeMustBeSet = 10,
  kNonPortableClusterSizeAllowed = 14,
};

enum JitOption : int {
  kJitMaxRegisters = 0,
  kJitInfoLogBuffer = 3,
  kJitInfoLogBufferSize = 4,
  kJitErrorLogBuffer = 5,
  kJitErrorLogBufferSize = 6,
  kJitOptimizationLevel = 7,
  kJitTarget = 9,
  kJitGenerateLineInfo = 13,
};
inline constexpr int kJitInputPtx = 1;
inline constexpr unsigned kJitAcceleratedBase = 0x10000;  // targets with suffix a
inline constexpr unsigned kJitFamilyBase = 0x20000;       // targets with suffix f

inline constexpr int kCaptureModeRelaxed = 2;
inline constexpr unsigned kStreamNonBlocking = 1;

// Streams 0, 1 and 2 are names (default, legacy default, per-thread default), not objects: they
// mean a stream of the current context.
inline bool is_named(const void* stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 2; }

/// A number that the driver takes as a pointer: an address of the device, or a mark.
inline void* as_pointer(std::uint64_t value) noexcept { return reinterpret_cast<void*>(value); }

// Words of the `extra` list of a launch: a packed parameter block and its size.
inline void* const kParamEnd = nullptr;
inline void* const kParamBufferPointer = as_pointer(1);
inline void* const kParamBufferSize = as_pointer(2);

inline constexpr int kAttributeClusterDimension = 4;
inline constexpr int kAttributeProgrammaticStreamSerialization = 6;

struct LaunchAttribute {  // CUlaunchAttribute: an id and a 64-byte union
  int id = 0;
  int padding = 0;
  union Value {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } cluster;
    int programmatic;
  } value = {};
};

struct LaunchConfig {  // CUlaunchConfig
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

static_assert(sizeof(LaunchAttribute) == 72 && offsetof(LaunchAttribute, value) == 8);
static_assert(sizeof(LaunchConfig) == 56 && offsetof(LaunchConfig, stream) == 32);

// X(member, symbol, required, parameter types): every entry point returns a Code.
// clang-format off
#define PYPTX_CUDA_ENTRY_POINTS(X)                                                                 \
  X(init, "cuInit", true, (unsigned))                                                              \
  X(driver_version, "cuDriverGetVersion", true, (int*))                                            \
  X(error_name, "cuGetErrorName", true, (Code, const char**))                                      \
  X(error_string, "cuGetErrorString", true, (Code, const char**))                                  \
  X(device_get, "cuDeviceGet", true, (Device*, int))                                               \
  X(device_count, "cuDeviceGetCount", true, (int*))                                                \
  X(device_name, "cuDeviceGetName", true, (char*, int, Device))                                    \
  X(device_attribute, "cuDeviceGetAttribute", true, (int*, int, Device))                           \
  X(primary_retain, "cuDevicePrimaryCtxRetain", true, (Context*, Device))                          \
  X(primary_state, "cuDevicePrimaryCtxGetState", true, (Device, unsigned*, int*))                  \
  X(context_device, "cuCtxGetDevice", true, (Device*))                                             \
  X(context_push, "cuCtxPushCurrent_v2", true, (Context))                                          \
  X(context_pop, "cuCtxPopCurrent_v2", true, (Context*))                                           \
  X(library_load, "cuLibraryLoadData", true,                                                       \
    (Library*, const void*, int*, void**, unsigned, int*, void**, unsigned))                       \
  X(library_kernel, "cuLibraryGetKernel", true, (KernelHandle*, Library, const char*))             \
  X(kernel_function, "cuKernelGetFunction", true, (Function*, KernelHandle))                       \
  X(kernel_get_attribute, "cuKernelGetAttribute", true, (int*, int, KernelHandle, Device))         \
  X(kernel_set_attribute, "cuKernelSetAttribute", true, (int, int, KernelHandle, Device))          \
  X(kernel_parameter, "cuKernelGetParamInfo", false,                                               \
    (KernelHandle, std::size_t, std::size_t*, std::size_t*))                                       \
  X(encode_tiled, "cuTensorMapEncodeTiled", false,                                                 \
    (void*, int, std::uint32_t, void*, const std::uint64_t*, const std::uint64_t*,                 \
     const std::uint32_t*, const std::uint32_t*, int, int, int, int))                              \
  X(encode_im2col, "cuTensorMapEncodeIm2col", false,                                               \
    (void*, int, std::uint32_t, void*, const std::uint64_t*, const std::uint64_t*, const int*,     \
     const int*, std::uint32_t, std::uint32_t, const std::uint32_t*, int, int, int, int))          \
  X(replace_address, "cuTensorMapReplaceAddress", false, (void*, void*))                           \
  X(memory_allocate, "cuMemAlloc_v2", true, (Address*, std::size_t))                               \
  X(copy_to_device, "cuMemcpyHtoDAsync_v2", true, (Address, const void*, std::size_t, Stream))     \
  X(memory_free, "cuMemFree_v2", true, (Address))                                                  \
  X(fill_8, "cuMemsetD8Async", true, (Address, unsigned char, std::size_t, Stream))                \
  X(fill_16, "cuMemsetD16Async", true, (Address, unsigned short, std::size_t, Stream))             \
  X(fill_32, "cuMemsetD32Async", true, (Address, unsigned, std::size_t, Stream))                   \
  X(fill_rows_32, "cuMemsetD2D32Async", true,                                                      \
    (Address, std::size_t, unsigned, std::size_t, std::size_t, Stream))                            \
  X(copy_to_host, "cuMemcpyDtoHAsync_v2", true, (void*, Address, std::size_t, Stream))             \
  X(stream_create, "cuStreamCreate", true, (Stream*, unsigned))                                    \
  X(stream_synchronize, "cuStreamSynchronize", true, (Stream))                                     \
  X(stream_destroy, "cuStreamDestroy_v2", true, (Stream))                                          \
  X(stream_context, "cuStreamGetCtx", true, (Stream, Context*))                                    \
  X(stream_wait_event, "cuStreamWaitEvent", true, (Stream, Event, unsigned))                       \
  X(event_create, "cuEventCreate", true, (Event*, unsigned))                                       \
  X(event_record, "cuEventRecord", true, (Event, Stream))                                          \
  X(event_synchronize, "cuEventSynchronize", true, (Event))                                        \
  X(event_elapsed, "cuEventElapsedTime", true, (float*, Event, Event))                             \
  X(event_destroy, "cuEventDestroy_v2", true, (Event))                                             \
  X(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", true, (int*))                      \
  X(link_create, "cuLinkCreate_v2", true, (unsigned, int*, void**, LinkState*))                    \
  X(link_add, "cuLinkAddData_v2", true,                                                            \
    (LinkState, int, void*, std::size_t, const char*, unsigned, int*, void**))                     \
  X(link_complete, "cuLinkComplete", true, (LinkState, void**, std::size_t*))                      \
  X(link_destroy, "cuLinkDestroy", true, (LinkState))                                              \
  X(context_current, "cuCtxGetCurrent", true, (Context*))                                          \
  X(launch, "cuLaunchKernelEx", true, (const LaunchConfig*, Function, void**, void**))
// clang-format on

/// The entry points. A member that is not required may be null (an older driver).
struct Api {
#define PYPTX_CUDA_MEMBER(member, symbol, required, parameters) Code(*member) parameters = nullptr;
  PYPTX_CUDA_ENTRY_POINTS(PYPTX_CUDA_MEMBER)
#undef PYPTX_CUDA_MEMBER
};

}  // namespace pyptx::driver::cuda
