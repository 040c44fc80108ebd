// SPDX-License-Identifier: Apache-2.0
//
// A CUDA driver without a GPU: the entry points of cuda_abi.h over host memory. It keeps the rules
// that callers must not break (a context where one is needed, no forbidden call in a capture) and
// records what it is asked. It runs no kernel.
#include "fake_cuda.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>

#include "cuda_abi.h"

namespace pyptx::driver::cuda {
struct ContextTag {
  int device;
};
struct LibraryTag {
  std::string image;
};
struct KernelTag {
  std::string name;
};
struct FunctionTag {
  Context context;
};
struct StreamTag {
  int device;
  unsigned flags;
};
struct EventTag {
  int device;
  float time;
};
struct LinkStateTag {
  std::string ptx;
  std::string cubin;
  char* error_log = nullptr;
  std::size_t error_size = 0;
};
}  // namespace pyptx::driver::cuda

namespace {

using namespace pyptx::driver::cuda;
using pyptx::fake::Cuda;

Cuda& state() {
  static auto* made = new Cuda;
  return *made;
}

thread_local std::vector<Context> context_stack;
thread_local int capture_mode = 0;

Context primary(int device) {
  static ContextTag contexts[pyptx::fake::kDevices] = {{0}, {1}, {2}};
  return &contexts[device];
}

/// A context that an application made by itself.
Context own(int device) {
  static ContextTag contexts[pyptx::fake::kDevices] = {{0}, {1}, {2}};
  return &contexts[device];
}

/// Every function given out.
std::vector<std::unique_ptr<FunctionTag>>& functions() {
  static auto* made = new std::vector<std::unique_ptr<FunctionTag>>;
  return *made;
}

/// Whether a function is launched on a stream of a context that it is not of. A kernel is of every
/// context, and so is what tests make up.
bool is_of_another_context(Function function, Stream stream) {
  const Context current = context_stack.back();
  const Context meant = stream == state().own_stream ? own(current->device) : current;
  const std::scoped_lock lock(state().mutex);
  for (const auto& known : functions()) {
    if (known.get() == function) return known->context != meant;
  }
  return false;
}

/// Records a call; the code it must fail with, or success.
Code enter(const char* name) {
  Cuda& fake = state();
  if (!fake.recording) return kSuccess;
  const std::scoped_lock lock(fake.mutex);
  fake.calls.emplace_back(name);
  const auto found = fake.failures.find(name);
  return found == fake.failures.end() ? kSuccess : found->second;
}

/// The same for calls that a capture in this thread's mode forbids.
Code enter_unsafe(const char* name) {
  const Code code = enter(name);
  if (code != kSuccess) return code;
  if (state().capturing && capture_mode != kCaptureModeRelaxed) return kCaptureUnsupported;
  return kSuccess;
}

Code need_context() { return context_stack.empty() ? kInvalidContext : kSuccess; }

#define ENTER(name) \
  if (const Code entered = enter(name); entered != kSuccess) return entered
#define ENTER_UNSAFE(name) \
  if (const Code entered = enter_unsafe(name); entered != kSuccess) return entered
#define NEED_CONTEXT() \
  if (const Code missing = need_context(); missing != kSuccess) return missing

}  // namespace

extern "C" {

Cuda* fake_cuda() { return &state(); }

Code cuInit(unsigned) {
  ENTER("cuInit");
  return kSuccess;
}
Code cuDriverGetVersion(int* version) {
  ENTER("cuDriverGetVersion");
  *version = state().version;
  return kSuccess;
}
Code cuGetErrorName(Code code, const char** text) {
  *text = code == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE";
  return code == 999 ? kInvalidValue : kSuccess;
}
Code cuGetErrorString(Code code, const char** text) {
  *text = code == kOutOfMemory ? "out of memory" : "a fake error";
  return code == 999 ? kInvalidValue : kSuccess;
}
Code cuDeviceGet(Device* device, int ordinal) {
  ENTER("cuDeviceGet");
  *device = ordinal;
  return kSuccess;
}
Code cuDeviceGetCount(int* count) {
  ENTER("cuDeviceGetCount");
  *count = state().device_count;
  return kSuccess;
}
Code cuDeviceGetName(char* name, int size, Device) {
  ENTER("cuDeviceGetName");
  std::strncpy(name, "Fake H200", static_cast<std::size_t>(size));
  return kSuccess;
}
Code cuDeviceGetAttribute(int* value, int attribute, Device device) {
  ENTER("cuDeviceGetAttribute");
  switch (attribute) {
    case kCapabilityMajor:
      *value = device == 2 ? 8 : state().major;  // device 2 is an older one, without clusters
      return kSuccess;
    case kCapabilityMinor:
      *value = state().minor;
      return kSuccess;
    case kClusterLaunch:
      *value = device == 2 ? 0 : 1;
      return kSuccess;
    case kMaxSharedPerBlock:
      *value = 49152;
      return kSuccess;
    case kMaxSharedPerBlockOptin:
      *value = 232448;
      return kSuccess;
    case kMultiprocessorCount:
      *value = 132;
      return kSuccess;
    case kMaxGridDimX:
      *value = 0x7fffffff;
      return kSuccess;
    case kMaxGridDimY:
    case kMaxGridDimZ:
      *value = 65535;
      return kSuccess;
    case kMaxBlockDimZ:
      *value = 64;
      return kSuccess;
    default:
      *value = 1024;
      return kSuccess;
  }
}
Code cuDevicePrimaryCtxRetain(Context* context, Device device) {
  ENTER("cuDevicePrimaryCtxRetain");
  *context = primary(device);
  return kSuccess;
}
Code cuDevicePrimaryCtxGetState(Device, unsigned* flags, int* active) {
  ENTER("cuDevicePrimaryCtxGetState");
  *flags = 0;
  *active = state().primary_active ? 1 : 0;
  return kSuccess;
}
Code cuCtxGetCurrent(Context* context) {
  ENTER("cuCtxGetCurrent");
  *context = context_stack.empty() ? nullptr : context_stack.back();
  return kSuccess;
}
Code cuCtxGetDevice(Device* device) {
  ENTER("cuCtxGetDevice");
  NEED_CONTEXT();
  *device = context_stack.back()->device;
  return kSuccess;
}
Code cuCtxPushCurrent_v2(Context context) {
  ENTER("cuCtxPushCurrent");
  context_stack.push_back(context);
  return kSuccess;
}
Code cuCtxPopCurrent_v2(Context* context) {
  ENTER("cuCtxPopCurrent");
  NEED_CONTEXT();
  *context = context_stack.back();
  context_stack.pop_back();
  return kSuccess;
}
Code cuLibraryLoadData(Library* library, const void* image, int*, void**, unsigned, int*, void**,
                       unsigned) {
  ENTER_UNSAFE("cuLibraryLoadData");
  *library = new LibraryTag{static_cast<const char*>(image)};
  return kSuccess;
}
Code cuLibraryUnload(Library library) {
  ENTER("cuLibraryUnload");
  delete library;
  return kSuccess;
}
Code cuLibraryGetKernel(KernelHandle* kernel, Library, const char* name) {
  ENTER("cuLibraryGetKernel");
  const std::scoped_lock lock(state().mutex);
  for (const std::string& entry : state().entries) {
    if (entry != name) continue;
    *kernel = new KernelTag{entry};
    return kSuccess;
  }
  return kNotFound;
}
Code cuKernelGetFunction(Function* function, KernelHandle) {
  ENTER_UNSAFE("cuKernelGetFunction");
  NEED_CONTEXT();
  const std::scoped_lock lock(state().mutex);
  *function = functions().emplace_back(new FunctionTag{context_stack.back()}).get();
  return kSuccess;
}
Code cuKernelGetAttribute(int* value, int attribute, KernelHandle, Device) {
  ENTER("cuKernelGetAttribute");
  Cuda& fake = state();
  *value = 0;
  if (attribute == kSharedSizeBytes) *value = fake.static_shared;
  if (attribute == kFunctionMaxThreads) *value = fake.max_threads;
  if (attribute == kNumRegs) *value = 64;
  if (attribute == kClusterSizeMustBeSet) *value = fake.cluster_must_be_set;
  return kSuccess;
}
Code cuKernelSetAttribute(int attribute, int value, KernelHandle, Device device) {
  const std::string name = "cuKernelSetAttribute " + std::to_string(attribute) + "=" +
                           std::to_string(value) + " on " + std::to_string(device);
  ENTER_UNSAFE(name.c_str());
  if (attribute == kMaxDynamicSharedSizeBytes && value + state().static_shared > 232448) {
    return kInvalidValue;
  }
  return kSuccess;
}
Code cuKernelGetParamInfo(KernelHandle, std::size_t index, std::size_t* offset, std::size_t* size) {
  ENTER("cuKernelGetParamInfo");
  Cuda& fake = state();
  if (!fake.knows_parameters) return 801;  // not supported
  if (index >= fake.parameters.size()) return kInvalidValue;
  *offset = fake.parameters[index].first;
  *size = fake.parameters[index].second;
  return kSuccess;
}
Code cuLaunchKernelEx(const LaunchConfig* config, Function function, void** parameters,
                      void** extra) {
  ENTER("cuLaunchKernelEx");
  Cuda& fake = state();
  if (context_stack.empty()) return kInvalidContext;
  if (is_of_another_context(function, config->stream)) return kInvalidHandle;
  ++fake.launch_count;
  if (!fake.recording) return kSuccess;
  pyptx::fake::Launch launch;
  launch.grid[0] = config->grid_x;
  launch.grid[1] = config->grid_y;
  launch.grid[2] = config->grid_z;
  launch.block[0] = config->block_x;
  launch.block[1] = config->block_y;
  launch.block[2] = config->block_z;
  launch.shared = config->shared_bytes;
  launch.stream = config->stream;
  launch.function = function;
  launch.context_device = context_stack.back()->device;
  for (unsigned i = 0; i < config->attribute_count; ++i) {
    const auto& value = config->attributes[i].value.cluster;
    launch.attributes.push_back({config->attributes[i].id, {value.x, value.y, value.z}});
  }
  // As the real driver: each parameter is copied to its place in the kernel's own layout.
  for (std::size_t i = 0; parameters != nullptr && i < fake.parameters.size(); ++i) {
    const auto [offset, size] = fake.parameters[i];
    launch.parameters.resize(std::max(launch.parameters.size(), offset + size));
    std::memcpy(launch.parameters.data() + offset, parameters[i], size);
  }
  if (extra != nullptr) {
    if (extra[0] != kParamBufferPointer || extra[2] != kParamBufferSize || extra[4] != kParamEnd) {
      ++fake.violations;
      return kInvalidValue;
    }
    if (reinterpret_cast<std::uintptr_t>(extra[1]) % 64 != 0) ++fake.violations;
    const auto* bytes = static_cast<const unsigned char*>(extra[1]);
    launch.parameters.assign(bytes, bytes + *static_cast<std::size_t*>(extra[3]));
  }
  const std::scoped_lock lock(fake.mutex);
  fake.launches.push_back(std::move(launch));
  return kSuccess;
}
Code cuTensorMapEncodeTiled(void* out, int type, std::uint32_t rank, void* address,
                            const std::uint64_t* dims, const std::uint64_t* strides,
                            const std::uint32_t* box, const std::uint32_t* steps, int interleave,
                            int swizzle, int promotion, int fill) {
  ENTER("cuTensorMapEncodeTiled");
  if (reinterpret_cast<std::uintptr_t>(out) % 64 != 0) ++state().violations;
  std::uint64_t words[16] = {};
  words[0] = reinterpret_cast<std::uintptr_t>(address);
  words[1] = static_cast<std::uint64_t>(type) | std::uint64_t{rank} << 8 |
             static_cast<std::uint64_t>(interleave) << 16 |
             static_cast<std::uint64_t>(swizzle) << 24 |
             static_cast<std::uint64_t>(promotion) << 32 | static_cast<std::uint64_t>(fill) << 40;
  for (std::uint32_t i = 0; i < rank; ++i) {
    words[2 + i] = dims[i];
    words[11 + i] = std::uint64_t{box[i]} | std::uint64_t{steps[i]} << 32;
    if (i + 1 < rank) words[7 + i] = strides[i];
  }
  std::memcpy(out, words, sizeof words);
  return kSuccess;
}
Code cuTensorMapReplaceAddress(void* map, void* address) {
  ENTER("cuTensorMapReplaceAddress");
  if (reinterpret_cast<std::uintptr_t>(map) % 64 != 0) ++state().violations;
  std::memcpy(map, &address, sizeof address);
  return kSuccess;
}
Code cuMemAlloc_v2(Address* address, std::size_t size) {
  ENTER_UNSAFE("cuMemAlloc");
  NEED_CONTEXT();
  const std::size_t pages = (size + 4095) / 4096 * 4096;  // aligned_alloc takes no other sizes
  *address = reinterpret_cast<Address>(std::aligned_alloc(4096, pages));
  return kSuccess;
}
Code cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t size, Stream stream) {
  ENTER("cuMemcpyHtoDAsync");
  NEED_CONTEXT();
  if (is_named(stream) || stream->flags != kStreamNonBlocking) {
    // The default stream would make a capturing stream wait.
    return state().capturing ? kCaptureImplicit : kSuccess;
  }
  if (stream->device != context_stack.back()->device) return kInvalidHandle;
  std::memcpy(reinterpret_cast<void*>(to), from, size);
  return kSuccess;
}
Code cuMemFree_v2(Address address) {
  ENTER_UNSAFE("cuMemFree");
  NEED_CONTEXT();
  std::free(reinterpret_cast<void*>(address));
  return kSuccess;
}
Code cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t size, Stream stream) {
  ENTER("cuMemcpyDtoHAsync");
  NEED_CONTEXT();
  if (is_named(stream) || stream->device != context_stack.back()->device) return kInvalidHandle;
  std::memcpy(to, reinterpret_cast<void*>(from), size);
  return kSuccess;
}
Code cuStreamCreate(Stream* stream, unsigned flags) {
  ENTER_UNSAFE("cuStreamCreate");
  NEED_CONTEXT();
  *stream = new StreamTag{context_stack.back()->device, flags};
  return kSuccess;
}
Code cuStreamSynchronize(Stream) {
  ENTER_UNSAFE("cuStreamSynchronize");
  return kSuccess;
}
Code cuStreamDestroy_v2(Stream stream) {
  ENTER("cuStreamDestroy");
  delete stream;
  return kSuccess;
}
Code cuStreamWaitEvent(Stream, Event, unsigned) {
  ENTER("cuStreamWaitEvent");
  return kSuccess;
}
Code cuEventCreate(Event* event, unsigned) {
  ENTER("cuEventCreate");
  NEED_CONTEXT();
  *event = new EventTag{context_stack.back()->device, 0};
  return kSuccess;
}
Code cuEventRecord(Event event, Stream) {
  ENTER("cuEventRecord");
  // Time passes by one from mark to mark.
  static std::atomic<int> clock = 0;
  event->time = static_cast<float>(++clock);
  return kSuccess;
}
Code cuEventSynchronize(Event) {
  ENTER("cuEventSynchronize");
  return kSuccess;
}
Code cuEventElapsedTime(float* milliseconds, Event start, Event end) {
  ENTER("cuEventElapsedTime");
  if (start->time == 0 || end->time == 0) return kInvalidHandle;
  *milliseconds = end->time - start->time;
  return kSuccess;
}
Code cuEventDestroy_v2(Event event) {
  ENTER("cuEventDestroy");
  delete event;
  return kSuccess;
}
Code cuThreadExchangeStreamCaptureMode(int* mode) {
  ENTER("cuThreadExchangeStreamCaptureMode");
  std::swap(*mode, capture_mode);
  return kSuccess;
}
Code cuLinkCreate_v2(unsigned count, int* names, void** values, LinkState* link) {
  ENTER_UNSAFE("cuLinkCreate");
  NEED_CONTEXT();
  *link = new LinkStateTag;
  for (unsigned i = 0; i < count; ++i) {
    if (names[i] == kJitErrorLogBuffer) (*link)->error_log = static_cast<char*>(values[i]);
    if (names[i] == kJitErrorLogBufferSize) {
      (*link)->error_size = reinterpret_cast<std::size_t>(values[i]);
    }
    if (names[i] == kJitTarget) {
      (*link)->cubin = "cubin for " + std::to_string(reinterpret_cast<std::uintptr_t>(values[i]));
    }
  }
  return kSuccess;
}
Code cuLinkAddData_v2(LinkState link, int type, void* data, std::size_t size, const char*, unsigned,
                      int*, void**) {
  ENTER("cuLinkAddData");
  if (type != kJitInputPtx || static_cast<const char*>(data)[size - 1] != '\0') {
    ++state().violations;
  }
  link->ptx = static_cast<const char*>(data);
  if (link->ptx.find("bad") == std::string::npos) return kSuccess;
  static constexpr char kLog[] = "ptxas application ptx input, line 3; error   : it is bad\n";
  std::strncpy(link->error_log, kLog, link->error_size);
  return kInvalidPtx;
}
Code cuLinkComplete(LinkState link, void** cubin, std::size_t* size) {
  ENTER("cuLinkComplete");
  *cubin = link->cubin.data();
  *size = link->cubin.size();
  return kSuccess;
}
Code cuLinkDestroy(LinkState link) {
  ENTER("cuLinkDestroy");
  delete link;
  return kSuccess;
}
/// For tests: makes a context of `device` current on this thread, or none.
void fake_cuda_set_context(int device) {
  context_stack.clear();
  if (device >= 0) context_stack.push_back(primary(device));
}
/// The same with a context that is not the device's primary one.
void fake_cuda_set_own_context(int device) { context_stack.assign(1, own(device)); }
int fake_cuda_context_depth() { return static_cast<int>(context_stack.size()); }
int fake_cuda_capture_mode() { return capture_mode; }

}  // extern "C"
