// SPDX-License-Identifier: Apache-2.0
#include "trace/rebinding.h"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>

#include "interrupts.h"

namespace pyptx::python {
namespace {

/// Calls f(name, value) for the local variables of `frame`, those of closures included.
template <typename F>
void each_local(PyFrameObject* frame, F&& f) {
  const nb::object locals = nb::steal(PyFrame_GetLocals(frame));
  if (!locals.is_valid()) return drop_error();
  if (PyDict_Check(locals.ptr())) {
    PyObject* name = nullptr;
    PyObject* value = nullptr;
    Py_ssize_t place = 0;
    while (PyDict_Next(locals.ptr(), &place, &name, &value) != 0) f(name, value);
    return;
  }
  const nb::object items = nb::steal(PyMapping_Items(locals.ptr()));
  if (!items.is_valid()) return drop_error();
  for (nb::handle item : items) {
    f(PyTuple_GET_ITEM(item.ptr(), 0), PyTuple_GET_ITEM(item.ptr(), 1));
  }
}

const build::Reg* register_of(nb::handle value) {
  static const PyObject* const type = nb::type<build::Reg>().ptr();
  const bool is_register = reinterpret_cast<PyObject*>(Py_TYPE(value.ptr())) == type;
  return is_register ? nb::inst_ptr<build::Reg>(value) : nullptr;
}

bool is_same(const build::Reg& a, const build::Reg& b) {
  return a.id == b.id && a.owner == b.owner;
}

}  // namespace

void Names::begin() {
  registers_.clear();
  frame_ = PyEval_GetFrame();
  if (frame_ == nullptr) return;
  position_ = PyFrame_GetLasti(frame_);
  each_local(frame_, [&](PyObject* name, PyObject* value) {
    if (const build::Reg* reg = register_of(value)) registers_.emplace_back(nb::borrow(name), *reg);
  });
}

void Names::end(build::Tracer& tracer, const Block& block) const {
  PyFrameObject* frame = PyEval_GetFrame();
  if (registers_.empty() || frame != frame_ || tracer.has_error()) return;
  nb::list changed;
  each_local(frame, [&](PyObject* name, PyObject* value) {
    const build::Reg* now = register_of(value);
    if (now == nullptr || now->owner != tracer.tag()) return;
    if (block.counter != nullptr && is_same(*now, *block.counter)) return;
    for (const auto& [known, before] : registers_) {
      if (known.ptr() != name) continue;  // names are interned
      if (before.owner == tracer.tag() && !is_same(*now, before)) changed.append(nb::handle(name));
    }
  });
  if (nb::len(changed) == 0) return;
  const nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  const nb::object lost = nb::module_::import_("pyptx._source.rebinding")
                              .attr("lost")(code, position_, PyFrame_GetLasti(frame), changed,
                                            block.repeats, block.is_certain);
  if (lost.is_none()) return;
  const auto name = nb::cast<std::string>(lost[0]);
  const auto place = nb::cast<std::uint32_t>(lost[1]);
  const auto fix = nb::cast<std::string>(lost[2]);
  tracer.report(
      diag::Diagnostic(diag::Kind::Rebinding, {std::string(tracer.block_name())})
          .at(tracer.module().locations.external(reinterpret_cast<std::uintptr_t>(code.ptr()),
                                                 place))
          .note("'" + name + "' is read again, and what the block made of it is not there")
          .fix(fix, "write the register"));
}

}  // namespace pyptx::python
