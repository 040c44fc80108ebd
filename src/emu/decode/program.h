// SPDX-License-Identifier: Apache-2.0
//
// The decoded form of one entry: a flat array of instructions, each with the address of the
// function that runs it on 32 lanes, and operands as byte offsets into a warp's register file.
// Literals and the special registers that never change are registers too (filled when a warp
// starts), so a handler never asks what kind of operand it has. Nothing here changes after decode.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pyptx/emu/emulator.h"
#include "pyptx/ir/module.h"

namespace pyptx::emu {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

inline constexpr u32 kLanes = 32;
inline constexpr u32 kAllLanes = 0xFFFFFFFFU;

struct Warp;
struct Inst;
struct MmaForm;
class Flows;

/// What the warp does after a handler.
enum class Step : u8 {
  Next,   // go on behind this instruction
  Jump,   // the handler set the warp's program counter or its splits
  Wait,   // stay here: the handler set what the split waits for
  Yield,  // go on behind it, but let others run first
  Gone,   // the running split has no lanes left
  Fault,  // the handler recorded a diagnostic; without one, it wants to start again
};

using Handler = Step (*)(Warp&, const Inst&, u32 mask);

/// State spaces as an access names them.
enum class Space : u8 { Generic, Global, Shared, SharedCluster, Local, Param, Const, Tensor };

/// Whom a synchronising access reaches; .sys is .gpu here, where there is one device.
enum class Scope : u8 { Cta, Cluster, Gpu };

/// What a strong access orders besides its own address, as bits.
enum class Semantics : u8 { Relaxed = 0, Acquire = 1, Release = 2, AcquireRelease = 3 };
inline bool acquires(Semantics semantics) { return (static_cast<u8>(semantics) & 1U) != 0; }
inline bool releases(Semantics semantics) { return (static_cast<u8>(semantics) & 2U) != 0; }

enum class Round : u8 { Nearest, Zero, Down, Up, NearestAway };

/// One instruction. The meaning of the small fields is private to the selector and the handler of
/// one family.
struct Inst {
  Handler run = nullptr;
  u32 guard = 0;       // offset of the predicate word
  u32 guard_flip = 0;  // all ones: @!p
  u32 d = 0;
  u32 a = 0;
  u32 b = 0;
  u32 c = 0;
  u32 e = 0;
  u32 flip = 0;  // XOR of predicate sources
  i64 imm = 0;
  u32 target = 0;
  u32 list = 0;  // first of `list_count` offsets in Program::lists
  u16 list_count = 0;
  u8 element_bytes = 0;
  u8 register_bytes = 0;  // 4, 8 or 16: lanes of the value registers
  Space space = Space::Generic;
  Space space2 = Space::Generic;
  Round round = Round::Nearest;
  u8 kind = 0;
  u8 kind2 = 0;
  bool ftz = false;
  bool sat = false;
  bool flag = false;
  bool flag2 = false;
  u32 index = 0;  // of the ir::Instruction
};

/// A register that holds the same bits in every warp, or one that depends on the thread only.
struct Fixed {
  /// The bases are where variables begin, which a launch decides.
  enum class What : u8 { Literal, Special, SharedBase, GlobalBase, ConstBase };
  What what = What::Literal;
  u8 bytes = 4;  // per lane: 4, 8, or 0 for a predicate word
  bool differs_by_lane = false;
  isa::SpecialRegister special{};
  u64 component = 0;  // of a special register; the byte offset for a base
  u32 offset = 0;
  u64 bits = 0;
};

/// Where a declared register lies in a warp's register file.
struct RegisterPlace {
  u32 offset = 0;
  u16 bits = 0;  // 1: a predicate word
  u8 bytes = 0;  // of a lane: 4, 8 or 16; 0 for a predicate
};

/// A variable with storage: where it lies in its space.
struct PlacedVariable {
  Space space = Space::Global;
  u64 offset = 0;
  u64 bytes = 0;
  u32 align = 1;
  const ir::Variable* variable = nullptr;
  std::string name;
};

/// What an instruction does to memory, for whoever counts: the bytes of each lane, at the address
/// that `a`, `imm`, `kind2` and `space` of its Inst give.
struct MemoryAccess {
  enum class Kind : u8 { None, Load, Store, Atomic };
  Kind kind = Kind::None;
  u16 bytes = 0;
  u8 rows = 0;  // the lowest lanes give the addresses, whatever the mask; 0: each its own
  bool is_opaque = false;  // the manual does not say which lane touches what
};

/// What is checked before an instruction runs; see register_checks.h.
struct Guard {
  Handler run = nullptr;  // what is guarded
  /// Numbers of registers that some wgmma of the program uses as accumulator or as A.
  std::vector<u32> reads;
  std::vector<u32> writes;
  bool is_matrix = false;  // a wgmma: it looks after those registers itself
  // Numbers of registers that may be without a value somewhere; see Program::unwritten.
  std::vector<u32> checked;       // read here, where they may be
  std::vector<u32> accumulators;  // the same, where the wgmma adds to them
  std::vector<u32> defined;       // written
  /// A predicate that may be without a value guards the instruction, whose own guard is true then.
  bool has_predicate = false;
  u32 predicate = 0;  // offset
  u32 predicate_flip = 0;
};

class Program {
 public:
  std::shared_ptr<const ir::Module> module;
  const ir::Function* function = nullptr;
  std::vector<Inst> code;              // ends with an exit
  std::vector<MemoryAccess> accesses;  // of each instruction
  std::vector<u32> lists;
  std::vector<Guard> guards;
  std::vector<u32> guard_of;             // index into guards, of guarded instructions and wgmma
  std::vector<RegisterPlace> registers;  // by id
  /// Ids of the registers that some instruction may read before anything has written them.
  std::vector<u32> unwritten;
  std::vector<Handler> handlers;  // of each instruction, without guards
  std::shared_ptr<Flows> flows;
  std::vector<Fixed> fixed;
  u32 register_bytes = 0;
  u64 static_shared = 0;    // bytes after the reserved part, with the gaps
  u64 declared_shared = 0;  // without them: what a target has to have
  /// Between variables of shared memory, from and to: nothing of the kernel's lies there.
  std::vector<std::pair<u32, u32>> shared_gaps;
  u64 dynamic_align = 16;
  u64 local_bytes = 0;  // a multiple of 16: every lane's starts aligned
  u32 stack_base = 0;   // in local memory; 0: the stack pointer is never moved
  u32 param_bytes = 0;
  u64 const_bytes = 0;
  u64 global_bytes = 0;
  /// CTAs talk through global memory (atomics, strong accesses): they run in order, interleaved.
  bool is_ordered = false;
  /// Something writes shared memory behind the threads' backs: bulk copies, st.async.
  bool has_async_writes = false;
  bool cancels = false;  // it asks for clusters that have not started
  u32 cta_group = 0;     // of the tcgen05 instructions; 0: there are none
  std::vector<std::shared_ptr<const MmaForm>> mma_forms;
  std::vector<PlacedVariable> variables;  // shared, local, const and global variables
  std::vector<ParamPlace> parameters;
  u32 required_threads[3] = {0, 0, 0};  // .reqntid
  u32 maximum_threads = 0;              // .maxntid, 0: none
  u32 required_cluster[3] = {0, 0, 0};  // .reqnctapercluster

  /// Variables whose addresses initial values may hold, by symbol.
  std::unordered_map<u32, const PlacedVariable*> addressable() const;

  const ir::Instruction& source(const Inst& inst) const {
    return function->instructions[inst.index];
  }
};

constexpr u64 align_up(u64 value, u64 alignment) {
  return alignment <= 1 ? value : (value + alignment - 1) / alignment * alignment;
}

/// Shared memory starts with a reserved part, as on sm_90: a null address is never valid, and the
/// first variable has the alignment that a swizzled tile wants.
inline constexpr u32 kSharedReserved = 1024;
/// A shared address is (rank of the CTA in its cluster) << 24 | offset.
inline constexpr u32 kRankShift = 24;
inline constexpr u32 kOffsetMask = (1U << kRankShift) - 1;
/// Generic addresses that are not host memory; above any user-space address.
inline constexpr u64 kSharedWindow = 0x7E00000000000000ULL;
inline constexpr u64 kLocalWindow = 0x7C00000000000000ULL;
inline constexpr u64 kParamWindow = 0x7A00000000000000ULL;
inline constexpr u64 kWindowMask = 0xFFFFFFFF00000000ULL;

}  // namespace pyptx::emu
