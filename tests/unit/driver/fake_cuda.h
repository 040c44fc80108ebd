// SPDX-License-Identifier: Apache-2.0
//
// What tests see of the fake driver (fake_cuda.cpp): the calls it got, the launches, and switches
// for what goes wrong. Both sides compile this header; the fake is opened by dlopen like the real
// driver, through PYPTX_LIBCUDA.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace pyptx::fake {

inline constexpr int kDevices = 3;
/// In Cuda::failures: the entry point throws std::bad_alloc.
inline constexpr int kThrows = -1;

struct Launch {
  unsigned grid[3] = {};
  unsigned block[3] = {};
  unsigned shared = 0;
  void* stream = nullptr;
  void* function = nullptr;
  int context_device = -1;  // of the current context; -1 when there is none
  std::vector<unsigned char> parameters;
  std::vector<std::pair<int, std::vector<unsigned>>> attributes;  // id and three words
};

/// Elements of `size` bytes, each `pitch` bytes behind the last.
struct Fill {
  std::uint64_t address = 0;
  std::size_t size = 0;
  std::size_t pitch = 0;
  std::uint32_t value = 0;
  std::size_t count = 0;
  bool operator==(const Fill&) const = default;
};

struct Cuda {
  std::mutex mutex;
  std::vector<std::string> calls;
  std::vector<Launch> launches;
  std::vector<Fill> fills;
  /// Entry point -> code that its next calls return.
  std::map<std::string, int> failures;
  std::vector<std::string> entries{"kernel"};
  /// Offset and size of each parameter of every kernel: where a launch copies them. Told to
  /// cuKernelGetParamInfo only when knows_parameters.
  std::vector<std::pair<std::size_t, std::size_t>> parameters;
  bool knows_parameters = false;
  int static_shared = 0;
  int max_threads = 1024;
  int cluster_must_be_set = 0;
  int major = 9;
  int minor = 0;
  int device_count = kDevices;
  int version = 13000;
  std::uint64_t address_factor = 1;  // by which an encoded map holds its address
  std::uint64_t odd_bits = 0;        // of an address that change another part of the map
  bool primary_active = true;
  /// A capture in global mode is under way: calls that it forbids fail unless relaxed.
  std::atomic<bool> capturing = false;
  /// Off: launches are counted and nothing else, so that no memory is allocated.
  std::atomic<bool> recording = true;
  std::atomic<int> launch_count = 0;
  std::atomic<int> link_device = -1;  // of the context of the last cuLinkCreate
  std::atomic<int> own_objects = 0;   // memory and streams made in applications' own contexts
  std::atomic<int> violations = 0;    // uses that the real driver would crash on or forbid

  int count(const std::string& call) {
    const std::scoped_lock lock(mutex);
    int found = 0;
    for (const std::string& name : calls) found += name == call ? 1 : 0;
    return found;
  }
  void reset() {
    const std::scoped_lock lock(mutex);
    calls.clear();
    launches.clear();
    fills.clear();
    failures.clear();
    entries = {"kernel"};
    parameters.clear();
    knows_parameters = false;
    static_shared = 0;
    max_threads = 1024;
    cluster_must_be_set = 0;
    major = 9;
    minor = 0;
    device_count = kDevices;
    version = 13000;
    address_factor = 1;
    odd_bits = 0;
    primary_active = true;
    capturing = false;
    recording = true;
    launch_count = 0;
    link_device = -1;
    own_objects = 0;
    violations = 0;
  }
};

}  // namespace pyptx::fake
