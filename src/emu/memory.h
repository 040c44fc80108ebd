// SPDX-License-Identifier: Apache-2.0
//
// From an address to host memory, with every check: state space, bounds, alignment, writability.
// Global addresses are host addresses inside the launch's buffers.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "aligned_bytes.h"
#include "warp.h"

namespace pyptx::emu {

class Variables {
 public:
  explicit Variables(const Program& program);

  /// Whether they are those of `program`.
  bool fit(const Program& program) const;
  std::span<const std::byte> constants() const { return {const_.data(), const_.size()}; }
  std::span<std::byte> globals() { return {global_.data(), global_.size()}; }
  u64 const_base() const { return reinterpret_cast<u64>(const_.data()); }
  u64 global_base() const { return reinterpret_cast<u64>(global_.data()); }

 private:
  u64 initial_value(const std::unordered_map<u32, const Place*>& places,
                    const ir::InitialValue& given) const;
  void initialise(AlignedBytes& storage, const Program& program, Space space) const;

  std::shared_ptr<const ir::Module> module_;
  AlignedBytes const_;
  AlignedBytes global_;
};

class GlobalMemory {
 public:
  GlobalMemory(const Program& program, const Launch& launch);

  /// The index of the buffer that holds [address, address + bytes), trying `hint` first; -1: none.
  std::ptrdiff_t find(u64 address, u64 bytes, std::size_t hint) const;
  /// Whether a buffer that may be written holds them; one that may not can lie there too (an output
  /// that is an input as well).
  bool is_writable(u64 address, u64 bytes) const;
  const Buffer& buffer(std::size_t index) const { return buffers_[index]; }
  /// "3 bytes past the end of X (0x..., 64 bytes)"
  std::string nearest(u64 address) const;
  /// "0x... (X+16)"
  std::string describe(u64 address) const;
  std::span<const std::byte> params() const { return params_; }
  u64 const_base() const { return variables_->const_base(); }
  u64 global_base() const { return variables_->global_base(); }

 private:
  std::vector<Buffer> buffers_;  // by address
  std::shared_ptr<Variables> variables_;
  std::vector<std::byte> params_;
};

/// How an access is judged against others to the same address: as a thread's own, as an atomic or
/// another strong one, as one that all lanes of a warp make together, or elsewhere.
enum class AccessOrder : u8 { Weak, Strong, Collective, Elsewhere };

struct AccessRequest {
  Space space = Space::Generic;
  u64 address = 0;
  u64 bytes = 0;
  u32 align = 1;
  u32 lane = 0;
  bool is_write = false;
  std::string_view what;  // "load", "store", "bulk copy"
  AccessOrder order = AccessOrder::Weak;
};

/// Host memory of an access, or null with the fault recorded.
std::byte* resolve(Warp& warp, const Inst& inst, const AccessRequest& request);
/// The CTA and offset of a shared::cluster address; null with the fault recorded.
Cta* resolve_shared(Warp& warp, const Inst& inst, const AccessRequest& request, u32& offset);
/// Records that `what` read a word of shared memory that nobody wrote.
void fail_uninitialised(Warp& warp, const Inst& inst, u32 lane, std::string_view what, u32 address);
/// The state space of a generic address.
Space classify(u64 address);
/// Base register plus offset of one lane.
inline u64 lane_address(Warp& warp, const Inst& inst, u32 lane) {
  const u64 base = inst.kind2 == 4 ? warp.lanes32(inst.a)[lane] : warp.lanes64(inst.a)[lane];
  const u64 sum = base + static_cast<u64>(inst.imm);
  return inst.kind2 == 4 ? sum & 0xFFFFFFFFU : sum;
}
/// "0x7f00..." ; global and shared addresses get the name of their buffer or variable.
std::string describe_address(const Warp& warp, Space space, u64 address);
std::string hex(u64 value);

}  // namespace pyptx::emu
