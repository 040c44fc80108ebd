// SPDX-License-Identifier: Apache-2.0
//
// The fake driver's compiler and its tensor maps: what is made from a description.
#include <cstring>
#include <string>

#include "fake_entry.h"

namespace pyptx::driver::cuda {
struct LinkStateTag {
  std::string ptx;
  std::string cubin;
  char* error_log = nullptr;
  std::size_t error_size = 0;
};
}  // namespace pyptx::driver::cuda

using namespace pyptx::driver::cuda;
using pyptx::fake::state;

extern "C" {

Code cuLinkCreate_v2(unsigned count, int* names, void** values, LinkState* link) {
  ENTER_UNSAFE("cuLinkCreate");
  NEED_CONTEXT();
  *link = new LinkStateTag;
  state().link_device = pyptx::fake::context_stack.back()->device;
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
Code cuTensorMapEncodeTiled(void* out, int type, std::uint32_t rank, void* address,
                            const std::uint64_t* dims, const std::uint64_t* strides,
                            const std::uint32_t* box, const std::uint32_t* steps, int interleave,
                            int swizzle, int promotion, int fill) {
  ENTER("cuTensorMapEncodeTiled");
  if (reinterpret_cast<std::uintptr_t>(out) % 64 != 0) ++state().violations;
  std::uint64_t words[16] = {};
  words[0] = reinterpret_cast<std::uintptr_t>(address) * state().address_factor;
  words[1] = static_cast<std::uint64_t>(type) | std::uint64_t{rank} << 8 |
             static_cast<std::uint64_t>(interleave) << 16 |
             static_cast<std::uint64_t>(swizzle) << 24 |
             static_cast<std::uint64_t>(promotion) << 32 | static_cast<std::uint64_t>(fill) << 40;
  for (std::uint32_t i = 0; i < rank; ++i) {
    words[2 + i] = dims[i];
    words[11 + i] = std::uint64_t{box[i]} | std::uint64_t{steps[i]} << 32;
    if (i + 1 < rank) words[7 + i] = strides[i];
  }
  if ((reinterpret_cast<std::uintptr_t>(address) & state().odd_bits) != 0) words[15] = 1;
  std::memcpy(out, words, sizeof words);
  return kSuccess;
}
Code cuTensorMapReplaceAddress(void* map, void* address) {
  ENTER("cuTensorMapReplaceAddress");
  if (reinterpret_cast<std::uintptr_t>(map) % 64 != 0) ++state().violations;
  const std::uint64_t bits = reinterpret_cast<std::uintptr_t>(address);
  std::memcpy(map, &bits, sizeof bits);
  return kSuccess;
}

}  // extern "C"
