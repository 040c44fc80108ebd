// SPDX-License-Identifier: Apache-2.0
//
// The declarations of cuda_abi.h against NVIDIA's own, where those are installed.
#include "cuda_abi.h"

#include <gtest/gtest.h>

#include <type_traits>

#if __has_include(<cuda.h>)
#include <cuda.h>
#define PYPTX_HAS_CUDA_H 1
#else
#define PYPTX_HAS_CUDA_H 0
#endif

namespace pyptx::driver::cuda {
namespace {

#if PYPTX_HAS_CUDA_H

template <typename T>
inline constexpr bool kIsWord = sizeof(T) == 4 && (std::is_enum_v<T> || std::is_integral_v<T>);

/// Whether two parameter types travel the same way in a call.
template <typename Ours, typename Theirs>
inline constexpr bool kSameParameter =
    sizeof(Ours) == sizeof(Theirs) &&
    ((std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) || (kIsWord<Ours> && kIsWord<Theirs>) ||
     std::is_same_v<Ours, Theirs> || (std::is_integral_v<Ours> && std::is_integral_v<Theirs>));

template <typename Ours, typename Theirs>
struct SameCall : std::false_type {};
template <typename... A, typename... B>
  requires(sizeof...(A) == sizeof...(B))
struct SameCall<Code (*)(A...), CUresult(B...)> {
  static constexpr bool value = (kSameParameter<A, B> && ...);
};

// The plain names are macros for the versioned symbols that cuda_abi.h asks for.
#define SAME(member, function) \
  static_assert(SameCall<decltype(Api::member), decltype(::function)>::value, #function)
SAME(init, cuInit);
SAME(driver_version, cuDriverGetVersion);
SAME(error_name, cuGetErrorName);
SAME(error_string, cuGetErrorString);
SAME(device_get, cuDeviceGet);
SAME(device_count, cuDeviceGetCount);
SAME(device_name, cuDeviceGetName);
SAME(device_attribute, cuDeviceGetAttribute);
SAME(primary_retain, cuDevicePrimaryCtxRetain);
SAME(primary_state, cuDevicePrimaryCtxGetState);
SAME(context_current, cuCtxGetCurrent);
SAME(context_device, cuCtxGetDevice);
SAME(context_push, cuCtxPushCurrent);
SAME(context_pop, cuCtxPopCurrent);
SAME(library_load, cuLibraryLoadData);
SAME(library_kernel, cuLibraryGetKernel);
SAME(kernel_function, cuKernelGetFunction);
SAME(kernel_get_attribute, cuKernelGetAttribute);
SAME(kernel_set_attribute, cuKernelSetAttribute);
SAME(kernel_parameter, cuKernelGetParamInfo);
SAME(launch, cuLaunchKernelEx);
SAME(encode_tiled, cuTensorMapEncodeTiled);
SAME(replace_address, cuTensorMapReplaceAddress);
SAME(memory_allocate, cuMemAlloc);
SAME(copy_to_device, cuMemcpyHtoDAsync);
SAME(memory_free, cuMemFree);
SAME(fill_8, cuMemsetD8Async);
SAME(fill_16, cuMemsetD16Async);
SAME(fill_32, cuMemsetD32Async);
SAME(fill_rows_32, cuMemsetD2D32Async);
SAME(copy_to_host, cuMemcpyDtoHAsync);
SAME(stream_create, cuStreamCreate);
SAME(stream_synchronize, cuStreamSynchronize);
SAME(stream_destroy, cuStreamDestroy);
SAME(stream_context, cuStreamGetCtx);
SAME(stream_wait_event, cuStreamWaitEvent);
SAME(event_create, cuEventCreate);
SAME(event_record, cuEventRecord);
SAME(event_synchronize, cuEventSynchronize);
SAME(event_elapsed, cuEventElapsedTime);
SAME(event_destroy, cuEventDestroy);
SAME(exchange_capture_mode, cuThreadExchangeStreamCaptureMode);
SAME(link_create, cuLinkCreate);
SAME(link_add, cuLinkAddData);
SAME(link_complete, cuLinkComplete);
SAME(link_destroy, cuLinkDestroy);

#define EQUAL(ours, theirs) static_assert(static_cast<long>(ours) == static_cast<long>(theirs))
EQUAL(kNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
EQUAL(kStubLibrary, CUDA_ERROR_STUB_LIBRARY);
EQUAL(kNoDevice, CUDA_ERROR_NO_DEVICE);
EQUAL(kInvalidImage, CUDA_ERROR_INVALID_IMAGE);
EQUAL(kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
EQUAL(kUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
EQUAL(kInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
EQUAL(kNotFound, CUDA_ERROR_NOT_FOUND);
EQUAL(kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
EQUAL(kOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
EQUAL(kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
EQUAL(kIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
EQUAL(kMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
EQUAL(kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
EQUAL(kSystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
EQUAL(kCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
EQUAL(kCaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
EQUAL(kCaptureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
EQUAL(kInvalidClusterSize, CUDA_ERROR_INVALID_CLUSTER_SIZE);
EQUAL(kMaxSharedPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
EQUAL(kL2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
EQUAL(kClusterLaunch, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
EQUAL(kCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
EQUAL(kMaxDynamicSharedSizeBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
EQUAL(kClusterSizeMustBeSet, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET);
EQUAL(kNonPortableClusterSizeAllowed, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
EQUAL(kBinaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
EQUAL(kJitErrorLogBufferSize, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
EQUAL(kJitOptimizationLevel, CU_JIT_OPTIMIZATION_LEVEL);
EQUAL(kJitTarget, CU_JIT_TARGET);
EQUAL(kJitInputPtx, CU_JIT_INPUT_PTX);
EQUAL(kJitAcceleratedBase + 90, CU_TARGET_COMPUTE_90A);
EQUAL(kJitFamilyBase + 100, CU_TARGET_COMPUTE_100F);
EQUAL(kCaptureModeRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
EQUAL(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
EQUAL(kAttributeClusterDimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);

static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(LaunchConfig, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));

TEST(CudaAbi, MarksOfTheParameterBlock) {
  EXPECT_EQ(kParamBufferPointer, CU_LAUNCH_PARAM_BUFFER_POINTER);
  EXPECT_EQ(kParamBufferSize, CU_LAUNCH_PARAM_BUFFER_SIZE);
  EXPECT_EQ(kParamEnd, CU_LAUNCH_PARAM_END);
  EXPECT_TRUE(is_named(CU_STREAM_LEGACY));
  EXPECT_TRUE(is_named(CU_STREAM_PER_THREAD));
}

#else

TEST(CudaAbi, MatchesTheHeaders) { GTEST_SKIP() << "cuda.h is not installed"; }

#endif

}  // namespace
}  // namespace pyptx::driver::cuda
