// SPDX-License-Identifier: Apache-2.0
//
// tcgen05.mma, cp and commit as one thread issues them: operands, descriptors, and the places in
// tensor memory that they name. What they do is async/tcgen05_*.cpp.
#include <algorithm>

#include "async/tcgen05_queue.h"
#include "async/tcgen05_tile.h"
#include "decode/select.h"
#include "machine/cluster.h"
#include "race/detector.h"
#include "sem/lanes.h"
#include "sem/memory/bulk.h"

namespace pyptx::emu {
namespace {

using layout::MmaKind;
using layout::Tcgen05MatrixDescriptor;
using layout::Tcgen05Swizzle;

constexpr diag::Kind kAccess = diag::Kind::EmuTensorAccess;

TensorOp issued_op(Warp& warp, const Inst& inst, u32 lane, TensorOp::Kind kind, u32 cta_group) {
  TensorOp op;
  op.kind = kind;
  op.inst = &inst;
  op.warp = &warp;
  op.lane = lane;
  op.cta_group = cta_group;
  return op;
}

Step refuse_descriptor(Warp& warp, const Inst& inst, u64 bits, const std::string& why) {
  return warp.fail(
      inst,
      diag::Diagnostic(diag::Kind::EmuDescriptor, {why}).note("the descriptor is " + hex(bits)));
}

Step check_descriptor(Warp& warp, const Inst& inst, u64 bits, std::string_view name) {
  const auto descriptor = Tcgen05MatrixDescriptor::decode(bits);
  const std::string of = "descriptor of " + std::string(name) + ": ";
  if (const auto problem = descriptor.problem()) {
    return refuse_descriptor(warp, inst, bits, of + *problem);
  }
  if (descriptor.leading_is_address) {
    return refuse_descriptor(warp, inst, bits,
                             of + "an absolute leading address goes with K = 96, which the "
                                  "emulator does not run");
  }
  if (descriptor.encode() != bits) {
    return refuse_descriptor(warp, inst, bits,
                             of + "bits 46 to 48 are 0b001, and the reserved bits are 0");
  }
  return Step::Next;
}

/// What the manual's table of types, major-ness and swizzles excludes.
Step check_transposed(Warp& warp, const Inst& inst, u64 bits, Element element) {
  const bool is_atom32 =
      Tcgen05MatrixDescriptor::decode(bits).swizzle == Tcgen05Swizzle::B128Atom32;
  if (packed_bits(element) != 0) {
    return refuse_descriptor(warp, inst, bits, "elements of 4 and 6 bits cannot be transposed");
  }
  if (is_atom32 == (element == Element::TF32)) return Step::Next;
  return refuse_descriptor(warp, inst, bits,
                           is_atom32 ? "only tf32 is transposed with 32-byte units of swizzle"
                                     : "tf32 is transposed with the 128-byte swizzle of 32-byte "
                                       "units only");
}

Step check_shared(Warp& warp, const Inst& inst, const TensorOp& op) {
  const layout::InstructionDescriptor& i = op.instruction;
  if (!op.form.a_in_tensor_memory) {
    if (check_descriptor(warp, inst, op.a, "A") == Step::Fault) return Step::Fault;
    if (i.transpose_a &&
        check_transposed(warp, inst, op.a, element_of(i.a, i.kind)) == Step::Fault) {
      return Step::Fault;
    }
  }
  if (check_descriptor(warp, inst, op.b, "B") == Step::Fault) return Step::Fault;
  if (!i.transpose_b) return Step::Next;
  return check_transposed(warp, inst, op.b, element_of(i.b, i.kind));
}

Step check_instruction(Warp& warp, const Inst& inst, u32 bits, const TensorOp& op) {
  const auto refuse = [&](const std::string& why) {
    return warp.fail(inst, diag::Diagnostic(diag::Kind::EmuInstructionDescriptor,
                                            {warp.program->source(inst).spelling->text, why})
                               .note("the descriptor is " + hex(bits)));
  };
  const std::string lost =
      layout::InstructionDescriptor::meaningless_field(op.instruction.kind, bits);
  if (!lost.empty()) return refuse(lost);
  const auto problem = op.instruction.problem(static_cast<int>(op.cta_group), op.form.is_ws);
  if (problem) return refuse(*problem);
  if (op.instruction.sparse) return refuse("it is of a sparse product, the instruction is not");
  if (op.instruction.k96) return refuse("the emulator does not run K = 96");
  if (op.form.scales == 4 && (op.instruction.scale_a_id != 0 || op.instruction.scale_b_id != 0)) {
    return refuse("four scale factors fill a word: their ids are 0");
  }
  if (op.form.scales == 2 && op.instruction.scale == layout::ElementFormat::Ue4m3) {
    return refuse("scales of type ue4m3 go with blocks of 16 elements");
  }
  if (op.form.a_in_tensor_memory && op.instruction.transpose_a) {
    return refuse("A in tensor memory cannot be transposed");
  }
  return Step::Next;
}

/// The lanes and columns of every operand in tensor memory.
Step check_places(Warp& warp, const Inst& inst, const TensorOp& op) {
  const layout::AccumulatorLayout layout = op.layout();
  const bool is_half = layout.cta_group == 1 && layout.m == 64 && !layout.is_ws;
  const u32 lane = TensorAddress::of(op.d).lane;
  if (op.kind == TensorOp::Kind::Multiply && lane != 0 && !(is_half && lane == 16)) {
    return refuse_place(warp, inst, kAccess, TensorAddress::of(op.d),
                        is_half ? "D begins at lane 0 or 16" : "D begins at lane 0");
  }
  if (op.form.a_in_tensor_memory && TensorAddress::of(static_cast<u32>(op.a)).lane != lane) {
    return refuse_place(warp, inst, kAccess, TensorAddress::of(static_cast<u32>(op.a)),
                        "A begins at the same lane as D");
  }
  for (const TensorUse& use : tensor_uses(op)) {
    if (use.region.cta->tensor.is_allocated(use.region.first, use.region.columns)) continue;
    return refuse_place(warp, inst, kAccess, {lane, use.region.first},
                        "not all of its " + std::to_string(use.region.columns) +
                            " columns are allocated in CTA " +
                            std::to_string(use.region.cta->rank));
  }
  return Step::Next;
}

/// The other CTA of a pair must be there, and must not have exited.
Step check_peer(Warp& warp, const Inst& inst, u32 cta_group) {
  if (cta_group == 1) return Step::Next;
  const Cta* peer = peer_of(warp, inst);
  if (peer == nullptr) return Step::Fault;
  if (!peer->done()) return Step::Next;
  return refuse_tensor(warp, inst, diag::Kind::EmuAsync, "the peer CTA has exited");
}

Step issue_product(Warp& warp, const Inst& inst, u32 lane) {
  const u32* list = warp.program->lists.data() + inst.list;
  const Tcgen05Form form = Tcgen05Form::unpack(inst.imm);
  TensorOp op = issued_op(warp, inst, lane, TensorOp::Kind::Multiply, form.cta_group);
  op.form = form;
  const u32 bits = warp.lanes32(list[kInstruction])[lane];
  op.instruction = layout::InstructionDescriptor::decode(form.kind, bits);
  op.d = warp.lanes32(list[kTensorD])[lane] + list[kOffsetD];
  op.a = form.a_in_tensor_memory ? warp.lanes32(list[kTensorA])[lane] + list[kOffsetA]
                                 : warp.lanes64(list[kTensorA])[lane];
  op.b = warp.lanes64(list[kTensorB])[lane];
  op.reads_d = (((warp.predicate(list[kEnableD]) ^ inst.flip) >> lane) & 1U) != 0;
  if (form.scales != 0) {
    op.scale_a = warp.lanes32(list[kScaleA])[lane] + list[kOffsetScaleA];
    op.scale_b = warp.lanes32(list[kScaleB])[lane] + list[kOffsetScaleB];
  }
  for (u32 i = 0; i < form.disabled_words; ++i) {
    op.disabled[i] = warp.lanes32(list[kDisabledLanes + i])[lane];
  }
  warp.active = 1U << lane;
  if (check_peer(warp, inst, form.cta_group) == Step::Fault ||
      check_instruction(warp, inst, bits, op) == Step::Fault ||
      check_shared(warp, inst, op) == Step::Fault || check_places(warp, inst, op) == Step::Fault) {
    return Step::Fault;
  }
  Cluster& cluster = *warp.cta->cluster;
  return cluster.tensor.issue(cluster, op) ? Step::Next : Step::Fault;
}

template <typename F>
Step for_lanes(Warp& warp, u32 mask, F&& body) {
  const u32 active = warp.active;
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    if (body(Warp::first_lane(rest)) == Step::Fault || warp.fault) return Step::Fault;
  }
  warp.active = active;
  return Step::Next;
}

Step multiply_lanes(Warp& warp, const Inst& inst, u32 mask) {
  return for_lanes(warp, mask, [&](u32 lane) { return issue_product(warp, inst, lane); });
}

/// a: address, imm: its offset; b: descriptor; kind: shape; kind2: packed bits; space2: CTAs.
Step copy_lanes(Warp& warp, const Inst& inst, u32 mask) {
  return for_lanes(warp, mask, [&](u32 lane) {
    TensorOp op = issued_op(warp, inst, lane, TensorOp::Kind::Copy, inst.element_bytes);
    op.copy = static_cast<layout::TmemCopy>(inst.kind);
    op.packed_bits = inst.kind2;
    op.d = warp.lanes32(inst.a)[lane] + static_cast<u32>(inst.imm);
    op.a = warp.lanes64(inst.b)[lane];
    warp.active = 1U << lane;
    const u32 first = TensorAddress::of(op.d).lane;
    const bool is_line = op.copy == layout::TmemCopy::S4x256b;
    if (is_line ? first >= 32 : first != 0) {
      return refuse_place(warp, inst, kAccess, TensorAddress::of(op.d),
                          is_line ? "the copy begins at lane 0 to 31, once for each 32 lanes"
                                  : "the copy begins at lane 0");
    }
    if (check_peer(warp, inst, op.cta_group) == Step::Fault ||
        check_descriptor(warp, inst, op.a, "the source") == Step::Fault ||
        check_places(warp, inst, op) == Step::Fault) {
      return Step::Fault;
    }
    Cluster& cluster = *warp.cta->cluster;
    return cluster.tensor.issue(cluster, op) ? Step::Next : Step::Fault;
  });
}

/// a: mbarrier; b: CTA mask where flag is set; kind: CTAs.
Step commit_lanes(Warp& warp, const Inst& inst, u32 mask) {
  return for_lanes(warp, mask, [&](u32 lane) {
    TensorOp op = issued_op(warp, inst, lane, TensorOp::Kind::Commit, inst.kind);
    Cluster& cluster = *warp.cta->cluster;
    warp.active = 1U << lane;
    if (check_peer(warp, inst, inst.kind) == Step::Fault) return Step::Fault;
    const AccessRequest request{
        Space::SharedCluster, lane_address(warp, inst, lane), 8, 8, lane, false, "mbarrier access"};
    if (!shared_place(warp, inst, request, op.barrier)) return Step::Fault;
    if (inst.flag) {
      op.cta_mask = warp.lanes32(inst.b)[lane] & 0xFFFFU;
      const u32 ranks = static_cast<u32>(cluster.ctas.size());
      if (op.cta_mask == 0 || (op.cta_mask >> ranks) != 0) {
        return refuse_tensor(warp, inst, diag::Kind::EmuAsync,
                             "the CTA mask " + hex(op.cta_mask) + " does not fit a cluster of " +
                                 std::to_string(ranks));
      }
    }
    RaceDetector* races = cluster.races.get();
    const Cta& cta = *cluster.ctas[op.barrier >> kRankShift];
    const u32 offset = op.barrier & kOffsetMask;
    if (races != nullptr) {
      if (!races->use_barrier(warp, inst, lane, cta, offset)) return Step::Fault;
      op.known = races->committed(op);
    }
    return cluster.tensor.issue(cluster, op) ? Step::Next : Step::Fault;
  });
}

std::optional<MmaKind> take_kind(Lowering& low) {
  constexpr std::string_view kKinds[] = {"kind::f16",     "kind::tf32",     "kind::f8f6f4",
                                         "kind::i8",      "kind::mxf8f6f4", "kind::mxf4",
                                         "kind::mxf4nvf4"};
  for (u32 i = 0; i < std::size(kKinds); ++i) {
    if (low.take(kKinds[i])) return static_cast<MmaKind>(i);
  }
  return std::nullopt;
}

/// Scale factors along K.
u8 take_scales(Lowering& low, MmaKind kind) {
  if (!low.take("block_scale")) return 0;
  const std::string_view word =
      low.take_any({"scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block16", "block32"});
  if (word == "scale_vec::4X" || word == "block16") return 4;
  return kind == MmaKind::Mxf8f6f4 ? 1 : 2;
}

/// An address in tensor memory: a register, and an offset in the list of offsets.
u32 tensor_operand(Lowering& low, std::size_t i, u32& offset) {
  const AddressOperand at = low.address(low.operand(i));
  if (at.base_bytes != 4) low.refuse("an address of tensor memory has 32 bits");
  offset = static_cast<u32>(at.offset);
  return at.base;
}

bool is_address(Lowering& low, std::size_t i) {
  return i < low.count() && low.operand(i).kind == ir::OperandKind::Address;
}

}  // namespace

Handler select_tcgen05_mma(Lowering& low) {
  Inst& out = low.out;
  low.ignore({"mma"});
  Tcgen05Form form;
  const auto group = take_cta_group(low);
  const auto kind = take_kind(low);
  if (!group) return nullptr;
  if (!kind) return low.refuse("its kind cannot run");
  form.cta_group = static_cast<u8>(*group);
  form.kind = *kind;
  form.is_ws = low.is_word("ws");
  form.scales = take_scales(low, *kind);
  low.ignore_prefix("collector::");  // permission to read an operand once for several products
  form.a_in_tensor_memory = is_address(low, 1);
  std::vector<u32> list(kDisabledLanes);
  list[kTensorD] = tensor_operand(low, 0, list[kOffsetD]);
  list[kTensorA] =
      form.a_in_tensor_memory ? tensor_operand(low, 1, list[kOffsetA]) : low.source(1, Ty::B64);
  list[kTensorB] = low.source(2, Ty::B64);
  if (is_address(low, 3)) return low.refuse("a product with a table or metadata cannot run");
  list[kInstruction] = low.source(3, Ty::B32);
  std::size_t at = 4;
  if (form.scales != 0) {
    list[kScaleA] = tensor_operand(low, at++, list[kOffsetScaleA]);
    list[kScaleB] = tensor_operand(low, at++, list[kOffsetScaleB]);
  } else if (low.operand(at).kind == ir::OperandKind::Vector) {
    for (const ir::Operand& one : low.children(low.operand(at++))) {
      list.push_back(low.source(one, Ty::B32));
    }
    const std::size_t words = list.size() - kDisabledLanes;
    if (words != 4 * std::size_t{form.cta_group}) {
      return low.refuse("its vector of disabled lanes has another number of registers");
    }
    form.disabled_words = static_cast<u8>(words);
  }
  bool negated = false;
  list[kEnableD] = low.predicate(low.operand(at++), negated);
  out.flip = negated ? kAllLanes : 0;
  if (at < low.count()) {
    const auto scale = low.literal(low.operand(at));
    if (form.is_ws || !scale) {
      return low.refuse("the manual's text and its examples disagree about zero-column masks");
    }
    form.scale_d = static_cast<u8>(*scale & 15);
  }
  low.set_list(list);
  out.imm = form.pack();
  return &multiply_lanes;
}

Handler select_tcgen05_cp(Lowering& low) {
  Inst& out = low.out;
  low.ignore({"cp"});
  const auto group = take_cta_group(low);
  if (!group) return nullptr;
  out.element_bytes = static_cast<u8>(*group);
  constexpr std::string_view kShapes[] = {"128x256b", "4x256b",  "128x128b",
                                          "64x128b",  "64x128b", "32x128b"};
  for (u32 i = 0; i < std::size(kShapes); ++i) {
    if (low.take(kShapes[i])) out.kind = static_cast<u8>(i);
  }
  if (low.take("warpx2::01_23")) ++out.kind;  // the shape behind 64x128b.warpx2::02_13
  low.ignore({"warpx2::02_13", "warpx4", "b8x16"});
  const std::string_view source = low.take_any({"b6x16_p32", "b4x16_p64"});
  out.kind2 = source.empty() ? 0 : source[1] == '6' ? 6 : 4;
  const AddressOperand at = low.address(low.operand(0));
  if (at.base_bytes != 4) return low.refuse("its address has 32 bits");
  out.a = at.base;
  out.imm = at.offset;
  out.b = low.source(1, Ty::B64);
  return &copy_lanes;
}

Handler select_tcgen05_commit(Lowering& low) {
  Inst& out = low.out;
  const auto group = take_cta_group(low);
  if (!group) return nullptr;
  out.kind = static_cast<u8>(*group);
  const Space space = take_space(low);
  low.ignore({"commit", "mbarrier::arrive::one", "b64"});
  out.flag = !low.take_any({"multicast::cluster", "multicast::cluster::16b"}).empty();
  set_address(low, low.address(low.operand(0)), space);
  if (out.flag) out.b = low.source(1, Ty::B16);
  return &commit_lanes;
}

}  // namespace pyptx::emu
