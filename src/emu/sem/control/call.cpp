// SPDX-License-Identifier: Apache-2.0
//
// call of what the CUDA run time answers: vprintf and __assertfail. The arguments lie in local
// memory (.param variables of the body) or in registers. Functions of the module are refused by
// name, as are calls through a pointer.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "decode/select.h"
#include "machine/cluster.h"
#include "sem/control/format.h"
#include "sem/lane.h"

namespace pyptx::emu {
namespace {

constexpr u64 kLongestString = 1U << 16;

/// How an argument is passed: the list of the instruction has two words for each.
enum class Passed : u32 { InMemory, InRegister4, InRegister8 };

/// What the run time takes, whatever the module's own declaration says; bytes of each argument.
struct Callee {
  std::string_view name;
  Handler run;
  std::array<u8, 5> arguments;
};

u64 argument(Warp& warp, const Inst& inst, u32 number, u32 bytes, u32 lane) {
  const u32* list = warp.program->lists.data() + inst.list + 2 * std::size_t{number};
  if (static_cast<Passed>(list[0]) != Passed::InMemory) {
    return read_lane(warp, list[1], static_cast<Passed>(list[0]) == Passed::InRegister8 ? 8 : 4,
                     lane);
  }
  u64 value = 0;
  std::memcpy(&value, warp.cta->local_of(warp.id, lane) + list[1], bytes);
  return value;
}

/// Memory as a thread sees it through generic addresses.
class ThreadMemory final : public FormatMemory {
 public:
  ThreadMemory(Warp& warp, const Inst& inst, u32 lane) : warp_(warp), inst_(inst), lane_(lane) {}

  bool read(u64 address, u32 bytes, u64& value) override {
    AccessRequest request;
    request.address = address;
    request.bytes = request.align = bytes;
    request.lane = lane_;
    request.what = "load";
    const std::byte* from = resolve(warp_, inst_, request);
    if (from == nullptr) return false;
    value = 0;
    std::memcpy(&value, from, bytes);
    return true;
  }

  bool read_text(u64 address, std::string& text) override {
    for (u64 i = 0; i < kLongestString; ++i) {
      u64 letter = 0;
      if (!read(address + i, 1, letter)) return false;
      if (letter == 0) return true;
      text.push_back(static_cast<char>(letter));
    }
    return true;
  }

 private:
  Warp& warp_;
  const Inst& inst_;
  u32 lane_;
};

/// d: where the result goes, register_bytes: 0 in local memory, else the lanes of a register; flag:
/// there is one.
Step print(Warp& warp, const Inst& inst, u32 mask) {
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    ThreadMemory memory(warp, inst, lane);
    std::string format;
    if (!memory.read_text(argument(warp, inst, 0, 8, lane), format)) return Step::Fault;
    Formatted made;
    if (!format_values(format, argument(warp, inst, 1, 8, lane), memory, made)) {
      if (made.problem.empty()) return Step::Fault;
      warp.active = 1U << lane;
      return warp.fail(inst, diag::Diagnostic(diag::Kind::EmuOperandValue,
                                              {warp.program->source(inst).spelling->text,
                                               "vprintf: " + made.problem}));
    }
    warp.cta->cluster->print(made.text);
    if (!inst.flag) continue;
    if (inst.register_bytes == 0) {
      std::byte* to = warp.cta->local_of(warp.id, lane) + inst.d;
      std::memcpy(to, &made.count, 4);
      std::memset(warp.cta->local_flags(to), 1, 4);
    } else {
      write_lane(warp, inst.d, inst.register_bytes, lane, made.count);
    }
  }
  return Step::Next;
}

std::string triple(u32 x, u32 y, u32 z) {
  return "[" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + "]";
}

Step fail_assertion(Warp& warp, const Inst& inst, u32 mask) {
  const u32 lane = Warp::first_lane(mask);
  ThreadMemory memory(warp, inst, lane);
  std::string message;
  std::string file;
  std::string function;
  if (!memory.read_text(argument(warp, inst, 0, 8, lane), message) ||
      !memory.read_text(argument(warp, inst, 1, 8, lane), file) ||
      !memory.read_text(argument(warp, inst, 3, 8, lane), function)) {
    return Step::Fault;
  }
  const Dim3& block = warp.cta->cluster->launch->block;
  const u32 thread = warp.id * kLanes + lane;
  const auto& at = warp.cta->position;
  warp.active = 1U << lane;
  diag::Diagnostic diagnostic(diag::Kind::EmuAssertion, {message});
  diagnostic->notes.push_back(
      file + ":" + std::to_string(static_cast<u32>(argument(warp, inst, 2, 4, lane))) + ": " +
      function + ": block: " + triple(at[0], at[1], at[2]) + ", thread: " +
      triple(thread % block.x, thread / block.x % block.y, thread / block.x / block.y) +
      " Assertion `" + message + "` failed.");
  return warp.fail(inst, std::move(diagnostic));
}

void set_arguments(Lowering& low, std::span<const ir::Operand> arguments, const Callee& callee) {
  std::vector<u32> list;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ir::Operand& one = arguments[i];
    if (const PlacedVariable* place = low.call_parameter(one)) {
      if (place->bytes < callee.arguments[i]) {
        low.refuse("argument " + std::to_string(i) + " of '" + std::string(callee.name) + "' has " +
                   std::to_string(callee.arguments[i]) + " bytes, '" + place->name + "' has " +
                   std::to_string(place->bytes));
      }
      const auto offset = static_cast<u32>(place->offset);
      list.insert(list.end(), {static_cast<u32>(Passed::InMemory), offset});
      continue;
    }
    u8 bytes = 0;
    const u32 offset = low.source_any(one, Ty::B64, bytes);
    const Passed passed = bytes == 8 ? Passed::InRegister8 : Passed::InRegister4;
    list.insert(list.end(), {static_cast<u32>(passed), offset});
  }
  low.set_list(list);
}

void set_result(Lowering& low, const ir::Operand& results) {
  const auto children = low.children(results);
  if (children.empty()) return;
  low.out.flag = true;
  if (const PlacedVariable* place = low.call_parameter(children[0])) {
    if (place->bytes < 4) low.refuse("its result has 4 bytes, '" + place->name + "' has fewer");
    low.out.d = static_cast<u32>(place->offset);
    return;
  }
  low.out.d = low.dest(children[0], Ty::B32);
  low.out.register_bytes = 4;
}

}  // namespace

Handler select_call(Lowering& low) {
  low.take("uni");
  std::size_t at = 0;
  while (at < low.count() && low.operand(at).kind == ir::OperandKind::Parenthesized) ++at;
  if (at == low.count() || low.operand(at).kind != ir::OperandKind::Symbol) {
    return low.refuse("calls through a pointer are not emulated");
  }
  const auto symbol = static_cast<ir::Symbol>(low.operand(at).index);
  const std::string name(low.program().module->text(symbol));
  constexpr Callee kCallees[] = {{"vprintf", &print, {8, 8}},
                                 {"__assertfail", &fail_assertion, {8, 8, 4, 8, 8}}};
  const Callee* callee = std::ranges::find(kCallees, name, &Callee::name);
  if (callee == std::end(kCallees)) {
    return low.refuse(name == "malloc" || name == "free"
                          ? "the emulator has no heap for '" + name + "'"
                          : "it calls '" + name + "', and functions are not emulated");
  }
  if (at > 0) set_result(low, low.operand(0));
  const auto wanted = static_cast<std::size_t>(
      std::ranges::count_if(callee->arguments, [](u8 bytes) { return bytes != 0; }));
  if (at + 1 >= low.count() || low.children(low.operand(at + 1)).size() != wanted) {
    return low.refuse("'" + name + "' takes " + std::to_string(wanted) + " arguments");
  }
  set_arguments(low, low.children(low.operand(at + 1)), *callee);
  return callee->run;
}

}  // namespace pyptx::emu
