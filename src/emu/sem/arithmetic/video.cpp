// SPDX-License-Identifier: Apache-2.0
//
// Scalar video instructions (PTX ISA, "Scalar Video Instructions"): bytes, halves and words as
// sources, a result that is clamped to the part it goes to, a secondary operation or a merge. No
// target that runs here has a unit for them: they do what ptxas expands them into, which is not
// always what the manual says. The places are marked "Expanded".
#include "sem/arithmetic/video.h"

#include <algorithm>

#include "decode/select.h"
#include "sem/arithmetic/compare.h"
#include "sem/lane.h"

namespace pyptx::emu {
namespace {

enum class Second : u8 { None, Add, Min, Max, Merge };

/// Between the sources and the result nothing is cut off.
using i128 = __int128;

/// What the words of an instruction's list say; kind is the VideoOp, kind2 the Second.
struct VideoSpec {
  Part a;
  Part b;
  Part d;
  bool wraps = false;            // shifts: .wrap
  bool negates_product = false;  // vmad
  bool negates_c = false;
  bool adds_one = false;  // vmad.po
  u8 scale = 0;           // vmad: 7 or 15
  u8 compare = 0;

  /// The sign of c and of the result; of vmad its operands decide.
  bool is_final_signed(VideoOp op) const {
    if (op != VideoOp::Mad) return d.is_signed;
    return a.is_signed || b.is_signed || negates_product || negates_c;
  }
};

u64 pack(const Part& part) {
  return part.first | static_cast<u64>(part.bits) << 8 | (part.is_signed ? 1ULL << 16 : 0);
}
Part unpack(u64 bits) {
  return {static_cast<u8>(bits & 0xFFU), static_cast<u8>((bits >> 8) & 0xFFU),
          ((bits >> 16) & 1U) != 0};
}

VideoSpec spec_of(Warp& warp, const Inst& inst) {
  const u32* list = warp.program->lists.data() + inst.list;
  VideoSpec spec;
  spec.a = unpack(list[0]);
  spec.b = unpack(list[1]);
  spec.d = unpack(list[2]);
  spec.wraps = (list[3] & 1U) != 0;
  spec.negates_product = (list[3] & 2U) != 0;
  spec.negates_c = (list[3] & 4U) != 0;
  spec.adds_one = (list[3] & 8U) != 0;
  spec.scale = static_cast<u8>((list[3] >> 8) & 0xFFU);
  spec.compare = static_cast<u8>((list[3] >> 16) & 0xFFU);
  return spec;
}

bool is_shift(VideoOp op) { return op == VideoOp::Shl || op == VideoOp::Shr; }

i128 shifted(VideoOp op, i64 a, u32 amount, bool wraps) {
  const u32 n = wraps ? amount & 31U : std::min(amount, 32U);
  return op == VideoOp::Shl ? static_cast<i128>(a) * (i128{1} << n) : static_cast<i128>(a) >> n;
}

/// Expanded: words are signed factors whatever their types say, and so is c; the sum of a vmad
/// without a sign is shifted as a number of 64 bits.
i128 multiplied(const VideoSpec& spec, i64 a, i64 b, u32 c) {
  const i64 x = spec.a.bits == 32 ? static_cast<i32>(a) : a;
  const i64 y = spec.b.bits == 32 ? static_cast<i32>(b) : b;
  const i64 z = static_cast<i32>(c);
  const i128 product = static_cast<i128>(x) * y * (spec.negates_product ? -1 : 1);
  const i128 sum = product + (spec.negates_c ? -z : z) + (spec.adds_one ? 1 : 0);
  if (spec.scale == 0 || spec.is_final_signed(VideoOp::Mad)) return sum >> spec.scale;
  return static_cast<u64>(sum) >> spec.scale;
}

i128 primary(VideoOp op, const VideoSpec& spec, i64 a, i64 b, u32 c) {
  switch (op) {
    case VideoOp::Set:
      return holds(static_cast<Cmp>(spec.compare), a, b) ? 1 : 0;
    case VideoOp::Mad:
      return multiplied(spec, a, b, c);
    case VideoOp::Shl:
    case VideoOp::Shr:
      return shifted(op, a, static_cast<u32>(b), spec.wraps);
    default:
      return combined(op, a, b);
  }
}

/// Expanded: a byte or half has an upper bound only, beyond which every negative number lies; an
/// unsigned word has a lower bound only. Shifts and vmad keep within both bounds of a word.
i128 saturated(VideoOp op, const Part& to, i128 value, bool is_signed) {
  constexpr i128 kWord = i128{1} << 32;
  // The manual's intermediate result has 34 bits.
  if (op == VideoOp::Shl) value = sign_extended(static_cast<u64>(value), 34);
  const bool is_bounded = is_shift(op) || op == VideoOp::Mad;
  if (to.bits < 32 && !is_bounded) {
    const i128 magnitude = value < 0 || value >= kWord ? kWord - 1 : value;
    return std::min(magnitude, (i128{1} << (is_signed ? to.bits - 1 : to.bits)) - 1);
  }
  if (is_signed) return std::clamp(value, -kWord / 2, kWord / 2 - 1);
  return std::clamp(value, i128{0}, is_bounded ? kWord - 1 : std::max(value, i128{0}));
}

/// A negative intermediate result of an unsigned destination is larger than every c.
u32 extreme(bool is_min, bool is_signed, i128 value, i128 c) {
  const bool is_less = value < c && (is_signed || value >= 0);
  return static_cast<u32>(is_less == is_min ? value : c);
}

/// Expanded: vadd, vsub and saturated shifts compare the low word of their result, as a signed one.
i128 compared(VideoOp op, i128 value, bool is_saturated) {
  const bool is_cut = op == VideoOp::Add || op == VideoOp::Sub || (is_shift(op) && is_saturated);
  return is_cut ? static_cast<i32>(static_cast<u32>(value)) : value;
}

u32 finish(const Inst& inst, const VideoSpec& spec, i128 value, u32 c) {
  const VideoOp op = static_cast<VideoOp>(inst.kind);
  // Expanded: c has the sign of vset's first source.
  const bool is_signed = op == VideoOp::Set ? spec.a.is_signed : spec.d.is_signed;
  const i64 other = is_signed ? static_cast<i64>(static_cast<i32>(c)) : i64{c};
  switch (static_cast<Second>(inst.kind2)) {
    case Second::Add:
      return static_cast<u32>(value + other);
    case Second::Min:
      return extreme(true, is_signed, compared(op, value, inst.sat), other);
    case Second::Max:
      return extreme(false, is_signed, compared(op, value, inst.sat), other);
    case Second::Merge: {
      const u32 field = static_cast<u32>(low_bits(~0ULL, spec.d.bits)) << spec.d.first;
      return (c & ~field) | ((static_cast<u32>(value) << spec.d.first) & field);
    }
    default:
      return static_cast<u32>(value);
  }
}

Step video(Warp& warp, const Inst& inst, u32 mask) {
  const VideoSpec spec = spec_of(warp, inst);
  const VideoOp op = static_cast<VideoOp>(inst.kind);
  const bool is_final_signed = spec.is_final_signed(op);
  each_active(mask, [&](u32 i) {
    const i64 a = spec.a.of(warp.lanes32(inst.a)[i]);
    const i64 b = spec.b.of(warp.lanes32(inst.b)[i]);
    const u32 c = warp.lanes32(inst.c)[i];
    const i128 exact = primary(op, spec, a, b, c);
    const i128 value = inst.sat ? saturated(op, spec.d, exact, is_final_signed) : exact;
    warp.lanes32(inst.d)[i] = finish(inst, spec, value, c);
  });
  return Step::Next;
}

/// Expanded: a pair of bytes, which the manual does not have here, is the whole word.
bool is_pair(const ir::Operand& operand) {
  return (operand.value & 0xFF) == 'b' && ((operand.value >> 16) & 0xFF) != 0;
}

/// "b0", "h1" as a part; the whole word where there is no selector.
Part part_of(const ir::Operand& operand, bool is_signed) {
  Part part{0, 32, is_signed};
  if (operand.component != ir::kVideoSelector || is_pair(operand)) return part;
  const char kind = static_cast<char>(operand.value & 0xFF);
  const u8 first = static_cast<u8>(((operand.value >> 8) & 0xFF) - '0');
  part.bits = kind == 'h' ? 16 : 8;
  part.first = static_cast<u8>(kind == 'h' ? 16 * first : 8 * first);
  return part;
}

ir::Operand without_selector(ir::Operand operand) {
  const bool is_register =
      operand.kind == ir::OperandKind::Register || operand.kind == ir::OperandKind::NegatedRegister;
  if (is_register) operand.kind = ir::OperandKind::Register;
  if (is_register && operand.component == ir::kVideoSelector) operand.component = 0;
  return operand;
}

bool is_negated(const ir::Operand& operand) {
  return operand.kind == ir::OperandKind::NegatedRegister;
}

Second take_second(Lowering& low, bool has_merge) {
  const std::string_view word = low.take_any({"add", "min", "max"});
  if (word == "add") return Second::Add;
  if (word == "min") return Second::Min;
  if (word == "max") return Second::Max;
  return has_merge ? Second::Merge : Second::None;
}

Handler choose(Lowering& low, VideoOp op) {
  Inst& out = low.out;
  const bool has_type = op != VideoOp::Set;
  const Ty d = has_type ? low.take_type() : Ty::U32;
  const Ty a = low.take_type();
  const Ty b = low.take_type();
  const ir::Operand& to = low.operand(0);
  const bool merges = to.component == ir::kVideoSelector && !is_pair(to);
  out.kind = static_cast<u8>(op);
  out.sat = low.take("sat");
  const bool wraps = low.take_any({"wrap", "clamp"}) == "wrap";
  const bool adds_one = low.take("po");
  const std::string_view scale = low.take_any({"shr7", "shr15"});
  const std::optional<Cmp> cmp =
      op == VideoOp::Set ? take_compare(low, false) : std::optional(Cmp::Eq);
  if (!cmp) return nullptr;
  out.kind2 = static_cast<u8>(take_second(low, merges));
  const bool negates_product = is_negated(low.operand(1)) != is_negated(low.operand(2));
  const bool negates_c = low.count() > 3 && is_negated(low.operand(3));
  const u32 flags = (wraps ? 1U : 0) | (negates_product ? 2U : 0) | (negates_c ? 4U : 0) |
                    (adds_one ? 8U : 0) |
                    (scale == "shr7"    ? 7U
                     : scale == "shr15" ? 15U
                                        : 0U)
                        << 8 |
                    static_cast<u32>(*cmp) << 16;
  const u32 list[] = {static_cast<u32>(pack(part_of(low.operand(1), is_signed(a)))),
                      static_cast<u32>(pack(part_of(low.operand(2), is_signed(b)))),
                      static_cast<u32>(pack(part_of(to, is_signed(d)))), flags};
  low.set_list(list);
  out.d = low.dest(without_selector(to), d);
  out.a = low.source(without_selector(low.operand(1)), a);
  out.b = low.source(without_selector(low.operand(2)), b);
  out.c = low.count() > 3 ? low.source(without_selector(low.operand(3)), d) : out.a;
  return &video;
}

}  // namespace

Handler select_vadd(Lowering& low) { return choose(low, VideoOp::Add); }
Handler select_vsub(Lowering& low) { return choose(low, VideoOp::Sub); }
Handler select_vabsdiff(Lowering& low) { return choose(low, VideoOp::AbsDiff); }
Handler select_vmin(Lowering& low) { return choose(low, VideoOp::Min); }
Handler select_vmax(Lowering& low) { return choose(low, VideoOp::Max); }
Handler select_vshl(Lowering& low) { return choose(low, VideoOp::Shl); }
Handler select_vshr(Lowering& low) { return choose(low, VideoOp::Shr); }
Handler select_vmad(Lowering& low) { return choose(low, VideoOp::Mad); }
Handler select_vset(Lowering& low) { return choose(low, VideoOp::Set); }

}  // namespace pyptx::emu
