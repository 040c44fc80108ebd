// SPDX-License-Identifier: Apache-2.0
//
// From an address to host memory, with every check: state space, bounds, alignment, writability.
// Global addresses are host addresses inside the launch's buffers.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "machine/warp.h"
#include "memory/aligned_bytes.h"

namespace pyptx::emu {

/// Elements of a buffer that nobody gave a value.
struct Gap {
  std::string buffer;
  u32 element_bytes = 1;
  u64 elements = 0;  // of the buffer
  u64 count = 0;
  u64 first = 0;
};

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
  u64 initial_value(const std::unordered_map<u32, const PlacedVariable*>& places,
                    const ir::InitialValue& given) const;
  void initialise(AlignedBytes& storage, const Program& program, Space space) const;

  std::shared_ptr<const ir::Module> module_;
  AlignedBytes const_;
  AlignedBytes global_;
};

class GlobalMemory {
 public:
  static constexpr u64 kCell = 64;  // bytes that one word of a map of defined bytes stands for

  GlobalMemory(const Program& program, const Launch& launch);

  /// The index of the buffer that holds [address, address + bytes), trying `hint` first; -1: none.
  std::ptrdiff_t find(u64 address, u64 bytes, std::size_t hint) const;
  /// Whether a buffer that may be written holds them; one that may not can lie there too (an output
  /// that is an input as well).
  bool is_writable(u64 address, u64 bytes) const;
  /// Whether a launch may change what is in a buffer: it may be written, or lies over one that may.
  bool may_change(std::size_t index) const { return may_change_[index]; }
  const Buffer& buffer(std::size_t index) const { return buffers_[index]; }
  /// "3 bytes past the end of X (0x..., 64 bytes)"
  std::string nearest(u64 address) const;
  /// "0x... (X+16)"
  std::string describe(u64 address) const;
  /// "byte 16 of X"
  std::string name(u64 address) const;
  std::span<const std::byte> params() const { return params_; }
  u64 const_base() const { return variables_->const_base(); }
  u64 global_base() const { return variables_->global_base(); }

  // --- buffers that start without a value ------------------------------------------------------
  bool is_tracked(std::size_t index) const { return defined_[index] != nullptr; }
  /// Bytes of a tracked buffer, by address, get values.
  void define(std::size_t index, u64 address, u64 bytes) const;
  /// The same wherever they lie.
  void define(u64 address, u64 bytes) const;
  /// Bytes without a value, a bit each, of at most 32.
  u32 undefined(u64 address, u32 bytes) const;
  /// What the launch has left without a value.
  std::vector<Gap> gaps() const;
  /// "element 7 of X"
  std::string place(u64 address) const;

 private:
  std::vector<Buffer> buffers_;                               // by address
  std::vector<bool> may_change_;                              // of each
  std::vector<std::unique_ptr<std::atomic<u64>[]>> defined_;  // a bit per byte; null: all are
  std::shared_ptr<Variables> variables_;
  std::vector<std::byte> params_;
};

/// How an access is judged against others to the same address: as a thread's own, as an atomic or
/// another strong one, as one that all lanes of a warp make together, with the asynchronous
/// operation that makes it, or elsewhere, where its value is judged too.
enum class AccessOrder : u8 { Weak, Strong, Collective, Asynchronous, Elsewhere };

struct AccessRequest {
  Space space = Space::Generic;
  u64 address = 0;
  u64 bytes = 0;
  u32 align = 1;
  u32 lane = 0;
  bool is_write = false;
  std::string_view what;  // "load", "store", "bulk copy"
  AccessOrder order = AccessOrder::Weak;
  bool reads_too = false;  // a write that needs what is there: an atomic
  bool may_carry = false;  // a read of what has no value gives a register that has none
  // Of a strong access.
  Semantics semantics = Semantics::Relaxed;
  Scope scope = Scope::Gpu;
  bool is_atomic = false;            // reads and writes in one
  bool is_blind = false;             // red: nobody sees what it read
  const std::byte* value = nullptr;  // of a store
};

/// What `order_of` has packed.
inline void set_order(u32 packed, AccessRequest& request) {
  request.order = AccessOrder::Strong;
  request.semantics = static_cast<Semantics>(packed & 3U);
  request.scope = static_cast<Scope>(packed >> 4);
}

/// Host memory of an access, or null with the fault recorded.
std::byte* resolve(Warp& warp, const Inst& inst, const AccessRequest& request);
/// The CTA and offset of a shared::cluster address; null with the fault recorded.
Cta* resolve_shared(Warp& warp, const Inst& inst, const AccessRequest& request, u32& offset);
/// Records that `what` reads memory that nobody wrote.
void fail_uninitialised(Warp& warp, const Inst& inst, u32 lane, std::string_view what, Space space,
                        u64 address);
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
