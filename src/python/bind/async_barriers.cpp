// SPDX-License-Identifier: Apache-2.0
//
// pyptx._core.ptx: mbarrier, cluster, fence and setmaxnreg. See pyptx/build/mbarrier.h, cluster.h
// and fence.h.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <string>
#include <utility>

#include "bind/async.h"
#include "pyptx/build/cluster.h"
#include "pyptx/build/fence.h"
#include "pyptx/build/mbarrier.h"
#include "trace/operands.h"
#include "trace/trace.h"

namespace pyptx::python {
namespace {

using namespace nb::literals;
using build::MbarrierArray;
using build::MbarrierRef;
using build::SharedPlace;
using build::Tracer;
namespace mbar = build::mbarrier;

constexpr build::Argument kBarrier{"an mbarrier", "b|bar"};

MbarrierRef barrier_at(const MbarrierArray& barriers, nb::handle index) {
  return traced([&](Tracer& t) {
    return mbar::at(t, barriers, to_index(t, index, {"the index of an mbarrier", "i"}));
  });
}

nb::object barrier_offset(const SharedPlace& place) {
  const Trace* trace = innermost_trace();
  if (trace == nullptr || !place.block || trace->tracer.tag() != place.owner) {
    return nb::int_(place.offset);
  }
  const auto block = static_cast<std::int64_t>(trace->tracer.shared_block(*place.block).offset);
  return nb::int_(block + place.offset);
}

/// Emits f(tracer, the barrier's place, n as an index, guard).
template <typename F>
void on_barrier(nb::handle barrier, nb::handle n, nb::handle pred, const build::Argument& what,
                F&& f) {
  traced([&](Tracer& t) {
    f(t, to_place(t, barrier, kBarrier), to_index(t, n, what), to_guard(t, pred));
  });
}

void arrive(nb::handle barrier, nb::handle n, nb::handle pred) {
  on_barrier(barrier, n, pred, {"the count", "n"}, [](auto&&... a) { mbar::arrive(a...); });
}
void arrive_expect_tx(nb::handle barrier, nb::handle bytes, nb::handle pred) {
  on_barrier(barrier, bytes, pred, {"the bytes", "bytes"},
             [](auto&&... a) { mbar::arrive_expect_tx(a...); });
}
void expect_tx(nb::handle barrier, nb::handle bytes, nb::handle pred) {
  on_barrier(barrier, bytes, pred, {"the bytes", "bytes"},
             [](auto&&... a) { mbar::expect_tx(a...); });
}
void init(nb::handle barrier, nb::handle n, nb::handle pred) {
  on_barrier(barrier, n, pred, {"the count", "n"}, [](auto&&... a) { mbar::init(a...); });
}
void inval(nb::handle barrier, nb::handle pred) {
  traced([&](Tracer& t) { mbar::inval(t, to_place(t, barrier, kBarrier), to_guard(t, pred)); });
}
void arrive_remote(nb::handle barrier, nb::handle cta, nb::handle n, nb::handle pred) {
  on_barrier(
      barrier, n, pred, {"the count", "n"},
      [&](Tracer& t, const SharedPlace& place, const build::Index& count, build::Guard guard) {
        mbar::arrive_remote(t, place, to_index(t, cta, {"the CTA", "cta"}), count, guard);
      });
}
void arrive_drop(nb::handle barrier, nb::handle n, nb::handle pred) {
  on_barrier(barrier, n, pred, {"the count", "n"}, [](auto&&... a) { mbar::arrive_drop(a...); });
}
void complete_tx(nb::handle barrier, nb::handle bytes, nb::handle pred) {
  on_barrier(barrier, bytes, pred, {"the bytes", "bytes"},
             [](auto&&... a) { mbar::complete_tx(a...); });
}
build::Reg arrive_state(nb::handle barrier, nb::handle n, nb::handle pred) {
  return traced([&](Tracer& t) {
    return mbar::arrive_state(t, to_place(t, barrier, kBarrier), to_index(t, n, {"the count", "n"}),
                              to_guard(t, pred));
  });
}
build::Reg pending_count(nb::handle state, nb::handle pred) {
  return traced([&](Tracer& t) {
    const auto reg = to_reg(t, state, {"the state", "state"});
    return mbar::pending_count(t, reg.value_or(build::Reg{}), to_guard(t, pred));
  });
}

using Ask = build::Reg (*)(Tracer&, const SharedPlace&, const build::Index&, bool, build::Guard);
template <Ask ask>
build::Reg asked(nb::handle barrier, nb::handle phase, bool parity, nb::handle pred) {
  return traced([&](Tracer& t) {
    return ask(t, to_place(t, barrier, kBarrier), to_index(t, phase, {"the phase", "phase"}),
               parity, to_guard(t, pred));
  });
}
void wait(nb::handle barrier, nb::handle phase) {
  traced([&](Tracer& t) {
    mbar::wait(t, to_place(t, barrier, kBarrier), to_index(t, phase, {"the phase", "phase"}));
  });
}

mbar::Pipeline pipeline(std::uint64_t stages, nb::handle cursor, nb::handle phase) {
  return traced([&](Tracer& t) {
    const auto start = [&](nb::handle value, const build::Argument& what) {
      return value.is_none() ? build::Index(0) : to_index(t, value, what);
    };
    return mbar::pipeline(t, stages, start(cursor, {"the cursor", "cursor"}),
                          start(phase, {"the phase", "phase"}));
  });
}
std::pair<build::Reg, build::Reg> advance(const mbar::Pipeline& ring) {
  traced([&](Tracer& t) { mbar::advance(t, ring); });
  return {ring.stage, ring.phase};
}

/// The methods of one mbarrier are the functions of the module on it.
template <typename Class>
void bind_barrier_methods(Class& c) {
  c.def(
       "init", [](nb::handle self, nb::handle n, nb::handle pred) { init(self, n, pred); }, "n"_a,
       "pred"_a = nb::none())
      .def(
          "inval", [](nb::handle self, nb::handle pred) { inval(self, pred); },
          "pred"_a = nb::none())
      .def(
          "arrive", [](nb::handle self, nb::handle n, nb::handle pred) { arrive(self, n, pred); },
          "n"_a = 1, "pred"_a = nb::none())
      .def(
          "arrive_expect_tx",
          [](nb::handle self, nb::handle b, nb::handle pred) { arrive_expect_tx(self, b, pred); },
          "bytes"_a, "pred"_a = nb::none())
      .def(
          "expect_tx",
          [](nb::handle self, nb::handle b, nb::handle pred) { expect_tx(self, b, pred); },
          "bytes"_a, "pred"_a = nb::none())
      .def(
          "arrive_remote",
          [](nb::handle self, nb::handle cta, nb::handle n, nb::handle pred) {
            arrive_remote(self, cta, n, pred);
          },
          "cta"_a, "n"_a = 1, "pred"_a = nb::none())
      .def(
          "try_wait",
          [](nb::handle self, nb::handle phase, bool parity) {
            return asked<mbar::try_wait>(self, phase, parity, nb::none());
          },
          "phase"_a, "parity"_a = true)
      .def("wait", [](nb::handle self, nb::handle phase) { wait(self, phase); }, "phase"_a);
}

void bind_classes(nb::module_& m) {
  auto ref =
      nb::class_<MbarrierRef>(m, "MbarrierRef", "One mbarrier in shared memory.")
          .def_prop_ro("name", [](const MbarrierRef& b) { return b.name; })
          .def_prop_ro("byte_offset", [](const MbarrierRef& b) { return barrier_offset(b.place); });
  bind_barrier_methods(ref);
  nb::class_<MbarrierArray>(m, "MbarrierArray", "mbarriers in shared memory, 8 bytes each.")
      .def_prop_ro("name", [](const MbarrierArray& b) { return b.name; })
      .def_prop_ro("count", [](const MbarrierArray& b) { return b.count; })
      .def_prop_ro("byte_offset", [](const MbarrierArray& b) { return barrier_offset(b.place); })
      .def("__len__", [](const MbarrierArray& b) { return b.count; })
      .def("__getitem__", &barrier_at, "i"_a)
      .def("at", &barrier_at, "i"_a, "The mbarrier with this index, a number or a register.")
      .def(
          "init_all",
          [](const MbarrierArray& b, nb::handle n, nb::handle pred) {
            traced([&](Tracer& t) {
              mbar::init_all(t, b, to_index(t, n, {"the count", "n"}), to_guard(t, pred));
            });
          },
          "n"_a, "pred"_a = nb::none(), "Initialises every mbarrier for n arrivals.")
      .def(
          "arrive_remote_all",
          [](const MbarrierArray& b, nb::handle cta, nb::handle n, nb::handle pred) {
            traced([&](Tracer& t) {
              mbar::arrive_remote_all(t, b, to_index(t, cta, {"the CTA", "cta"}),
                                      to_index(t, n, {"the count", "n"}), to_guard(t, pred));
            });
          },
          "cta"_a, "n"_a = 1, "pred"_a = nb::none(), "arrive_remote on every mbarrier.");
  nb::class_<mbar::Pipeline>(m, "Pipeline", "A place in a ring of stages.")
      .def_ro("stage", &mbar::Pipeline::stage)
      .def_ro("phase", &mbar::Pipeline::phase)
      .def_ro("stages", &mbar::Pipeline::stages)
      .def("advance", &advance, "Moves to the next stage; gives (stage, phase), the registers.");
  register_operand(nb::type<MbarrierRef>(), [](Tracer& t, nb::handle value) {
    return build::memory_at(t, nb::cast<MbarrierRef&>(value).place);
  });
  register_operand(nb::type<MbarrierArray>(), [](Tracer& t, nb::handle value) {
    return build::memory_at(t, nb::cast<MbarrierArray&>(value).place);
  });
}

void bind_mbarrier(nb::module_& m) {
  bind_classes(m);
  m.def("init", &init, "b"_a, "n"_a, "pred"_a = nb::none(),
        "Initialises the mbarrier for n arrivals a phase.");
  m.def("inval", &inval, "b"_a, "pred"_a = nb::none(),
        "Ends the mbarrier; its memory may be used again.");
  m.def("arrive", &arrive, "b"_a, "n"_a = 1, "pred"_a = nb::none(), "Arrives n times.");
  m.def("arrive_expect_tx", &arrive_expect_tx, "b"_a, "bytes"_a, "pred"_a = nb::none(),
        "Arrives and expects that many bytes more.");
  m.def("expect_tx", &expect_tx, "b"_a, "bytes"_a, "pred"_a = nb::none(),
        "Expects that many bytes more in this phase.");
  m.def("arrive_remote", &arrive_remote, "b"_a, "cta"_a, "n"_a = 1, "pred"_a = nb::none(),
        "Arrives n times at the same mbarrier of another CTA.");
  m.def("arrive_state", &arrive_state, "b"_a, "n"_a = 1, "pred"_a = nb::none(),
        "Arrives; gives the 64-bit state for try_wait(..., parity=False).");
  m.def("arrive_drop", &arrive_drop, "b"_a, "n"_a = 1, "pred"_a = nb::none(),
        "Arrives and leaves: later phases wait for n arrivals fewer.");
  m.def("complete_tx", &complete_tx, "b"_a, "bytes"_a, "pred"_a = nb::none(),
        "Counts bytes as arrived, without a copy.");
  m.def("pending_count", &pending_count, "state"_a, "pred"_a = nb::none(),
        "The arrivals that were missing when the state was taken.");
  m.def("try_wait", &asked<mbar::try_wait>, "b"_a, "phase"_a, "parity"_a = true,
        "pred"_a = nb::none(), "A predicate: whether the phase is complete.");
  m.def("test_wait", &asked<mbar::test_wait>, "b"_a, "phase"_a, "parity"_a = true,
        "pred"_a = nb::none(), "try_wait that never suspends the thread.");
  m.def("wait", &wait, "b"_a, "phase"_a, "Tries until the phase with this parity is complete.");
  m.def(
      "array",
      [](nb::handle base, std::int64_t byte_offset, std::uint64_t count) {
        return traced([&](Tracer& t) {
          const auto reg = to_reg(t, base, {"the base of an mbarrier array", "base"});
          return mbar::array(t, reg.value_or(build::Reg{}), byte_offset, count);
        });
      },
      "base"_a, "byte_offset"_a, "count"_a, "The mbarriers at an offset from a register.");
  m.def("pipeline", &pipeline, "n"_a, nb::kw_only(), "cursor"_a = nb::none(),
        "phase"_a = nb::none(), "A ring of n stages.");
}

void bind_cluster(nb::module_& m) {
  namespace cluster = build::cluster;
  m.def(
      "arrive", [](bool a) { traced([&](Tracer& t) { cluster::arrive(t, a); }); },
      "aligned"_a = false, "Arrives at the barrier of the cluster.");
  m.def(
      "wait", [](bool a) { traced([&](Tracer& t) { cluster::wait(t, a); }); }, "aligned"_a = false,
      "Waits for every thread of the cluster to arrive.");
  m.def(
      "sync", [](bool a) { traced([&](Tracer& t) { cluster::sync(t, a); }); }, "aligned"_a = false,
      "arrive, then wait.");
  m.def(
      "rank",
      [](nb::handle r) {
        return traced([&](Tracer& t) {
          return cluster::rank(t,
                               r.is_none() ? std::nullopt : to_reg(t, r, {"the destination", "r"}));
        });
      },
      "r"_a = nb::none(), "The rank of this CTA, in r or a fresh register.");
  m.def(
      "map_shared_u32",
      [](nb::handle addr, nb::handle cta) {
        return traced([&](Tracer& t) {
          return cluster::map_shared(t, to_place(t, addr, {"the address", "addr|taddr"}),
                                     to_index(t, cta, {"the CTA", "cta"}));
        });
      },
      "addr"_a, "cta"_a, "The address that shared memory has in another CTA.");
  m.def("arrive_remote", &arrive_remote, "bar"_a, "cta"_a, "n"_a = 1, "pred"_a = nb::none(),
        "Arrives n times at the mbarrier of another CTA.");
  m.def(
      "arrive_multicast",
      [](nb::handle bar, nb::handle mask, nb::handle n) {
        traced([&](Tracer& t) {
          cluster::arrive_multicast(t, to_place(t, bar, kBarrier),
                                    to_index(t, mask, {"the mask", "mask"}),
                                    to_index(t, n, {"the count", "n"}));
        });
      },
      "bar"_a, "mask"_a, "n"_a = 1, "arrive_remote on every CTA of the mask.");
}

void bind_fence(nb::module_& m) {
  namespace fence = build::fence;
  m.def("proxy_async", [] { traced(fence::proxy_async); }, "Orders generic and async accesses.");
  m.def(
      "proxy_async_shared_cta", [] { traced(fence::proxy_async_shared_cta); },
      "Orders generic and async accesses to shared memory of this CTA.");
  m.def(
      "proxy_async_generic_acquire_shared_cluster",
      [] { traced(fence::proxy_async_generic_acquire_shared_cluster); },
      "Acquires what the async proxy wrote, for the cluster.");
  m.def(
      "mbarrier_init", [] { traced(fence::mbarrier_init); },
      "Makes initialised mbarriers visible to the cluster.");
  m.def(
      "proxy_async_generic_release_shared_cta",
      [] { traced(fence::proxy_async_generic_release_shared_cta); },
      "Releases generic writes to the async proxy.");
  m.def(
      "proxy_async_global", [] { traced(fence::proxy_async_global); },
      "Orders generic and async accesses to global memory.");
  using Scoped = void (*)(Tracer&, std::string_view);
  const auto scoped = [&m](const char* name, Scoped f, const char* doc) {
    m.def(
        name, [f](const std::string& scope) { traced([&](Tracer& t) { f(t, scope); }); },
        "scope"_a = "gpu", doc);
  };
  scoped("acq_rel", fence::acq_rel, "Acquires and releases at this scope.");
  scoped("sc", fence::sc, "Orders everything at this scope, sequentially consistent.");
  scoped("proxy_tensormap_release", fence::proxy_tensormap_release,
         "After a tensor map was written, before others acquire it.");
  m.def(
      "proxy_tensormap_acquire",
      [](nb::handle map, const std::string& scope) {
        traced([&](Tracer& t) {
          const auto reg = to_reg(t, map, {"the tensor map", "map"});
          if (reg) fence::proxy_tensormap_acquire(t, *reg, scope);
        });
      },
      "map"_a, "scope"_a = "gpu", "Before a copy uses the map at this generic address.");
}

void setmaxnreg(std::int64_t count, bool increase) {
  traced([&](Tracer& t) { build::fence::setmaxnreg(t, count, increase); });
}

}  // namespace

void bind_async_barriers(nb::module_& core, nb::module_& ptx) {
  nb::module_ mbarrier = ptx.def_submodule("mbarrier", "mbarrier objects.");
  bind_mbarrier(mbarrier);
  auto smem = nb::cast<nb::module_>(core.attr("smem"));
  smem.def(
      "mbarrier",
      [](std::uint64_t count, std::optional<std::string> name) {
        return traced([&](Tracer& t) { return mbar::allocate(t, count, name.value_or("")); });
      },
      "count"_a, "name"_a = nb::none(), "Allocates mbarriers.");
  smem.attr("MbarrierArray") = mbarrier.attr("MbarrierArray");
  smem.attr("MbarrierRef") = mbarrier.attr("MbarrierRef");
  ptx.attr("pipeline") = mbarrier.attr("pipeline");
  nb::module_ cluster = ptx.def_submodule("cluster", "Thread block clusters.");
  bind_cluster(cluster);
  nb::module_ fence = ptx.def_submodule("fence", "Fences of the async protocol.");
  bind_fence(fence);
  ptx.def("setmaxnreg", &setmaxnreg, "count"_a, nb::kw_only(), "inc"_a = true,
          "Takes or gives registers of the warpgroup: setmaxnreg.inc, .dec.");
  ptx.def(
      "setmaxnreg_inc", [](std::int64_t n) { setmaxnreg(n, true); }, "n"_a,
      "setmaxnreg.inc: asks for n registers a thread.");
  ptx.def(
      "setmaxnreg_dec", [](std::int64_t n) { setmaxnreg(n, false); }, "n"_a,
      "setmaxnreg.dec: gives back all but n registers a thread.");
}

}  // namespace pyptx::python
