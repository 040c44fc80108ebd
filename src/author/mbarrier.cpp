// SPDX-License-Identifier: Apache-2.0
#include "pyptx/author/mbarrier.h"

namespace pyptx::ptx {

using author::at;

namespace mbarrier {
namespace core = build::mbarrier;

Mbarriers array(const Reg& base, std::int64_t byte_offset, std::uint64_t count, Where where) {
  return core::array(at(where), base, byte_offset, count);
}
void init(const Place& bar, const Index& count, const Guard& guard, Where where) {
  core::init(at(where), bar, count, guard);
}
void init_all(const Mbarriers& bars, const Index& count, const Guard& guard, Where where) {
  core::init_all(at(where), bars, count, guard);
}
void inval(const Place& bar, const Guard& guard, Where where) {
  core::inval(at(where), bar, guard);
}
void arrive(const Place& bar, const Index& count, const Guard& guard, Where where) {
  core::arrive(at(where), bar, count, guard);
}
Reg arrive_state(const Place& bar, const Index& count, const Guard& guard, Where where) {
  return core::arrive_state(at(where), bar, count, guard);
}
void arrive_drop(const Place& bar, const Index& count, const Guard& guard, Where where) {
  core::arrive_drop(at(where), bar, count, guard);
}
void arrive_expect_tx(const Place& bar, const Index& bytes, const Guard& guard, Where where) {
  core::arrive_expect_tx(at(where), bar, bytes, guard);
}
void arrive_remote(const Place& bar, const Index& cta, const Index& count, const Guard& guard,
                   Where where) {
  core::arrive_remote(at(where), bar, cta, count, guard);
}
void arrive_remote_all(const Mbarriers& bars, const Index& cta, const Index& count,
                       const Guard& guard, Where where) {
  core::arrive_remote_all(at(where), bars, cta, count, guard);
}
void expect_tx(const Place& bar, const Index& bytes, const Guard& guard, Where where) {
  core::expect_tx(at(where), bar, bytes, guard);
}
void complete_tx(const Place& bar, const Index& bytes, const Guard& guard, Where where) {
  core::complete_tx(at(where), bar, bytes, guard);
}
Reg pending_count(const Reg& state, const Guard& guard, Where where) {
  return core::pending_count(at(where), state, guard);
}
Reg try_wait(const Place& bar, const Index& phase, bool parity, const Guard& guard, Where where) {
  return core::try_wait(at(where), bar, phase, parity, guard);
}
Reg test_wait(const Place& bar, const Index& phase, bool parity, const Guard& guard, Where where) {
  return core::test_wait(at(where), bar, phase, parity, guard);
}
void wait(const Place& bar, const Index& phase, Where where) { core::wait(at(where), bar, phase); }
}  // namespace mbarrier

void Pipeline::advance(Where where) const { build::mbarrier::advance(at(where), ring_); }

Pipeline pipeline(std::uint64_t stages, const Index& cursor, const Index& phase, Where where) {
  return Pipeline(build::mbarrier::pipeline(at(where), stages, cursor, phase));
}

}  // namespace pyptx::ptx
