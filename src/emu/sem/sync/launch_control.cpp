// SPDX-License-Identifier: Apache-2.0
//
// clusterlaunchcontrol (PTX ISA, "clusterlaunchcontrol.try_cancel", "query_cancel"): a cluster asks
// for the work of one that has not started. Which one it gets, if any, is launch_order.h's to say;
// the answer comes as any asynchronous write does, and what it says is the emulator's own, as the
// real one is opaque.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "decode/label.h"
#include "decode/select.h"
#include "machine/cluster.h"
#include "sem/lanes.h"
#include "sem/memory/bulk.h"

namespace pyptx::emu {
namespace {

/// Sixteen bytes of a response: the first CTA, and whether it is one.
struct Response {
  static constexpr u32 kRefused = 0x434C4300;
  static constexpr u32 kGranted = kRefused + 1;

  std::array<u32, 3> first{};
  u32 answer = kRefused;

  bool is_one() const { return answer == kRefused || answer == kGranted; }
  bool is_granted() const { return answer == kGranted; }
};
static_assert(sizeof(Response) == 16);

Response response_of(Warp& warp, const Inst& inst, u32 lane) {
  const u64* planes = warp.lanes64(inst.a);
  return std::bit_cast<Response>(std::array{planes[lane], planes[lane + kLanes]});
}

/// Whether the run goes on behind what is wrong.
bool may_go_on(Warp& warp, const Inst& inst, u32 lane, const std::string& why,
               const Inst* where = nullptr, const std::string& label = {}) {
  const Cluster& cluster = *warp.cta->cluster;
  if (cluster.launch->options.is_ignored(diag::Kind::EmuLaunchControl)) return true;
  diag::Diagnostic diagnostic(diag::Kind::EmuLaunchControl,
                              {warp.program->source(inst).spelling->text, why});
  if (where != nullptr) diagnostic->labels.push_back(label_at(*warp.program, *where, label));
  warp.active = 1U << lane;
  warp.fail(inst, std::move(diagnostic));
  return false;
}

std::string block_text(const Cluster& cluster, u64 index) {
  const std::array<u32, 3> at = block_of(*cluster.launch, index, 0);
  return "(" + std::to_string(at[0]) + "," + std::to_string(at[1]) + "," + std::to_string(at[2]) +
         ")";
}

/// What may be asked for, into the response at `address`.
bool may_ask(Warp& warp, const Inst& inst, u32 lane, u32 address) {
  const Cluster& cluster = *warp.cta->cluster;
  if (warp.cta->refused != nullptr &&
      !may_go_on(warp, inst, lane,
                 "the CTA has seen that a request was refused, and must not ask again",
                 warp.cta->refused, "seen here")) {
    return false;
  }
  const auto lost = std::ranges::find(cluster.unread, address, &Grant::response);
  return lost == cluster.unread.end() ||
         may_go_on(warp, inst, lane,
                   "its response overwrites one that nobody has looked at: the cluster of block " +
                       block_text(cluster, lost->cluster) + " was cancelled, its work is lost",
                   lost->inst, "cancelled here");
}

/// flag: the response goes to every CTA of the cluster.
Step try_cancel(Warp& warp, const Inst& inst, u32 mask) {
  Cluster& cluster = *warp.cta->cluster;
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    BulkOp op = issued_by(warp, inst, lane);
    op.bytes = sizeof(Response);
    const AccessRequest request{
        Space::Shared, bulk_address(warp, inst, kShared, lane), 16, 16, lane, true, "response"};
    if (!shared_place(warp, inst, request, op.shared)) return Step::Fault;
    if (!set_barrier(warp, inst, lane, Space::Shared, op)) return Step::Fault;
    if (inst.flag) op.cta_mask = (1U << cluster.ctas.size()) - 1;
    if (!may_ask(warp, inst, lane, op.shared)) return Step::Fault;
    Response response;
    if (const std::optional<u64> granted = cluster.line->cancel()) {
      response.first = block_of(*cluster.launch, *granted, 0);
      response.answer = Response::kGranted;
      ++cluster.grants;
      cluster.unread.push_back({*granted, op.shared, &inst, &warp, lane});
    }
    std::memcpy(op.data.data(), &response, sizeof(response));
    if (!cluster.bulk.issue(cluster, op)) return Step::Fault;
  }
  return Step::Next;
}

/// Somebody looks at a response: the grant is taken.
void take_grant(Cluster& cluster, const Response& response) {
  if (cluster.unread.empty()) return;
  std::erase_if(cluster.unread, [&](const Grant& grant) {
    return block_of(*cluster.launch, grant.cluster, 0) == response.first;
  });
}

/// The response in a register of `lane`; false with the fault recorded.
bool look(Warp& warp, const Inst& inst, u32 lane, Response& response) {
  response = response_of(warp, inst, lane);
  if (!response.is_one()) {
    response = {};
    return may_go_on(warp, inst, lane, "its operand is no response of try_cancel");
  }
  if (response.is_granted()) take_grant(*warp.cta->cluster, response);
  return true;
}

Step is_canceled(Warp& warp, const Inst& inst, u32 mask) {
  u32 answer = 0;
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    Response response;
    if (!look(warp, inst, lane, response)) return Step::Fault;
    answer |= (response.is_granted() ? 1U : 0U) << lane;
  }
  if (answer != mask) warp.cta->refused = &inst;
  u32& p = warp.predicate(inst.d);
  p = (p & ~mask) | answer;
  return Step::Next;
}

/// The list: where x, y, z go; kNowhere: nowhere. The fourth of a vector is nobody's.
constexpr u32 kNowhere = ~0U;

Step first_cta(Warp& warp, const Inst& inst, u32 mask) {
  const u32* list = warp.program->lists.data() + inst.list;
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = Warp::first_lane(rest);
    Response response;
    if (!look(warp, inst, lane, response)) return Step::Fault;
    if (!response.is_granted() &&
        !may_go_on(warp, inst, lane, "the response says that no cluster was cancelled")) {
      return Step::Fault;
    }
    for (u32 i = 0; i < inst.list_count; ++i) {
      if (list[i] != kNowhere) warp.lanes32(list[i])[lane] = i < 3 ? response.first[i] : 0;
    }
  }
  return Step::Next;
}

}  // namespace

std::unique_ptr<diag::Diagnostic> Cluster::lost() {
  if (unread.empty()) return nullptr;
  const Grant& first = unread.front();
  may_go_on(*first.warp, *first.inst, first.lane,
            "the cluster of block " + block_text(*this, first.cluster) +
                " was cancelled and nobody has looked at the response: its work is lost");
  return std::move(first.warp->fault);
}

Handler select_try_cancel(Lowering& low) {
  low.ignore({"try_cancel", "async", "shared::cta", "mbarrier::complete_tx::bytes", "b128"});
  low.out.flag = low.take("multicast::cluster::all");
  low.out.kind = static_cast<u8>(BulkOp::Kind::Response);
  low.program().cancels = true;
  std::vector<u32> list;
  add_bulk_address(list, low, low.operand(0));
  list.insert(list.end(), {0, 4, 0});
  add_bulk_address(list, low, low.operand(1));
  list.insert(list.end(), {0, 0});
  low.set_list(list);
  return &try_cancel;
}

Handler select_query_cancel(Lowering& low) {
  const bool is_question = low.is_word("is_canceled");
  low.ignore({"query_cancel", "pred", "b128", "b32", "v4", "get_first_ctaid"});
  const std::string_view axis =
      low.take_any({"get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z"});
  low.out.a = low.source(1, Ty::B128);
  if (is_question) {
    low.out.d = low.predicate_dest(low.operand(0));
    return &is_canceled;
  }
  std::vector<u32> list;
  const ir::Operand& to = low.operand(0);
  if (to.kind == ir::OperandKind::Vector) {
    for (const ir::Operand& one : low.children(to)) {
      list.push_back(one.kind == ir::OperandKind::Sink ? kNowhere : low.dest(one, Ty::B32));
    }
  } else {
    // Without an axis it is the first.
    list.assign(axis.ends_with('z') ? 2 : axis.ends_with('y') ? 1 : 0, kNowhere);
    list.push_back(low.dest(0, Ty::B32));
  }
  low.set_list(list);
  return &first_cta;
}

}  // namespace pyptx::emu
