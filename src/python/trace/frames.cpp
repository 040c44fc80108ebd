// SPDX-License-Identifier: Apache-2.0
#include "trace/frames.h"
#include "interrupts.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace pyptx::python {
namespace nb = nanobind;
namespace {

/// References that were let go where the interpreter may not be entered: the last owner of a module
/// can be a thread of XLA, and one that asks for the GIL while the interpreter shuts down is ended
/// in the middle of a destructor. The next trace drops them. Never destroyed: such a thread may
/// outlive the library's static objects.
struct LeftReferences {
  std::mutex mutex;
  std::vector<PyCodeObject*> codes;

  static LeftReferences& instance() {
    static auto* const references = new LeftReferences;
    return *references;
  }
};

/// Set in a position whose call's arguments are the instruction's operands.
constexpr std::uint32_t kArgumentsMap = 1U << 31;

/// The package's folder with a separator at its end.
const std::string& package_folder() {
  static const std::string folder = [] {
    const nb::object path = nb::module_::import_("pyptx").attr("__path__");
    return nb::cast<std::string>(nb::str(path[0])) + "/";
  }();
  return folder;
}

const char* part_name(diag::Focus::Part part) {
  switch (part) {
    case diag::Focus::Part::Whole:
      return "whole";
    case diag::Focus::Part::Spelling:
      return "spelling";
    case diag::Focus::Part::Argument:
      return "argument";
    case diag::Focus::Part::Opcode:
      return "opcode";
    case diag::Focus::Part::Modifier:
      return "modifier";
    case diag::Focus::Part::Operand:
      return "operand";
    case diag::Focus::Part::Guard:
      return "guard";
  }
  return "whole";
}

}  // namespace

PythonLocations::PythonLocations() {
  std::vector<PyCodeObject*> codes;
  {
    LeftReferences& left = LeftReferences::instance();
    const std::scoped_lock lock(left.mutex);
    codes.swap(left.codes);
  }
  for (PyCodeObject* code : codes) Py_DECREF(code);
}

PythonLocations::~PythonLocations() {
  spans_.clear();  // before their code objects, whose addresses others may get
  if (PyGILState_Check() != 0) {
    for (const auto& [code, owner] : codes_) Py_DECREF(code);
    return;
  }
  LeftReferences& left = LeftReferences::instance();
  const std::scoped_lock lock(left.mutex);
  for (const auto& [code, owner] : codes_) left.codes.push_back(code);
}

const PythonLocations::Owner& PythonLocations::owner_of(PyCodeObject* code) {
  const auto known = codes_.find(code);
  if (known != codes_.end()) return known->second;
  const nb::handle object(reinterpret_cast<PyObject*>(code));
  const auto file = nb::cast<std::string>(object.attr("co_filename"));
  Owner owner;
  // The package's own kernels are code of an author too.
  static const std::string kernels = package_folder() + "kernels/";
  owner.is_authors = !file.starts_with(package_folder()) || file.starts_with(kernels);
  // What @intrinsic wraps is the author's; it gives its name itself.
  if (!owner.is_authors && !file.ends_with("/_intrinsic.py")) {
    owner.shown = nb::cast<std::string>(object.attr("co_qualname")) + "(...)";
  }
  Py_INCREF(code);
  return codes_.emplace(code, std::move(owner)).first->second;
}

void PythonLocations::enter_intrinsic(std::string shown) {
  entered_.push_back(intrinsics_.insert(std::move(shown)).first->c_str());
}

void PythonLocations::leave_intrinsic() { entered_.pop_back(); }

diag::Loc PythonLocations::capture(diag::LocationTable& table, bool arguments_map) {
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  std::vector<const char*> inside;  // functions of the package, the innermost first
  while (frame != nullptr) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    Py_DECREF(code);  // the frame keeps it
    const Owner* owner = code == last_code_ ? nullptr : &owner_of(code);
    if (owner == nullptr || owner->is_authors) {
      std::uint32_t position = static_cast<std::uint32_t>(PyFrame_GetLasti(frame));
      if (arguments_map) position |= kArgumentsMap;
      if (code != last_code_ || position != last_position_) {
        last_code_ = code;
        last_position_ = position;
        last_loc_ = table.external(reinterpret_cast<std::uintptr_t>(code), position);
      }
      diag::Loc loc = last_loc_;
      if (follows_callers_) loc = called(table, loc, frame);
      Py_DECREF(frame);
      for (const char* name : entered_) loc = table.expansion(loc, name);
      for (auto name = inside.rbegin(); name != inside.rend(); ++name) {
        loc = table.expansion(loc, *name);
      }
      return loc;
    }
    if (!owner->shown.empty()) inside.push_back(owner->shown.c_str());
    PyFrameObject* caller = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = caller;
  }
  return diag::Loc::None;
}

diag::Loc PythonLocations::called(diag::LocationTable& table, diag::Loc loc, PyFrameObject* frame) {
  std::vector<const char*> calls;  // the innermost first
  PyFrameObject* caller = PyFrame_GetBack(frame);
  while (caller != nullptr) {
    PyCodeObject* code = PyFrame_GetCode(caller);
    Py_DECREF(code);  // the frame keeps it
    const auto file =
        nb::cast<std::string>(nb::handle(reinterpret_cast<PyObject*>(code)).attr("co_filename"));
    const bool is_start = file == package_folder() + "_call/specialize.py";
    if (!is_start && owner_of(code).is_authors) {
      const int line = PyFrame_GetLineNumber(caller);
      calls.push_back(
          calls_.insert("called from " + file + ":" + std::to_string(line)).first->c_str());
    }
    PyFrameObject* next = is_start ? nullptr : PyFrame_GetBack(caller);
    Py_DECREF(caller);
    caller = next;
  }
  // The innermost becomes the innermost expansion of the author's own.
  for (auto call = calls.rbegin(); call != calls.rend(); ++call) loc = table.expansion(loc, *call);
  return loc;
}

const CodeSpans& PythonLocations::spans_of(std::uint64_t handle) const {
  {
    const std::scoped_lock lock(spans_mutex_);
    const auto known = spans_.find(handle);
    if (known != spans_.end()) return *known->second;
  }
  const nb::gil_scoped_acquire gil;
  std::shared_ptr<const CodeSpans> read;
  try {
    read = python::spans_of(reinterpret_cast<PyCodeObject*>(static_cast<std::uintptr_t>(handle)));
  } catch (const std::exception&) {
    // As below: without memory for a table there are no places, which nobody may fail for.
    read = std::make_shared<const CodeSpans>();
  }
  const std::scoped_lock lock(spans_mutex_);
  return *spans_.try_emplace(handle, std::move(read)).first->second;
}

std::optional<diag::SourcePoint> PythonLocations::point(std::uint64_t handle,
                                                        std::uint32_t position) const {
  const CodeSpans& spans = spans_of(handle);
  const CodeSpans::Span span = spans.at(position & ~kArgumentsMap);
  return diag::SourcePoint{spans.file, static_cast<std::uint32_t>(std::max(span.line, 0)),
                           static_cast<std::uint32_t>(span.column + 1)};
}

std::optional<diag::Place> PythonLocations::resolve(std::uint64_t handle, std::uint32_t position,
                                                    diag::Focus focus) const {
  const nb::gil_scoped_acquire gil;
  try {
    const CodeSpans& spans = spans_of(handle);
    CodeSpans::Span span = spans.at(position & ~kArgumentsMap);
    // What the compiler made for no line in particular.
    if (span.line == 0) span.line = spans.first_line;
    auto* code = reinterpret_cast<PyCodeObject*>(static_cast<std::uintptr_t>(handle));
    const nb::object found =
        nb::module_::import_("pyptx._source.places")
            .attr("place")(nb::borrow(reinterpret_cast<PyObject*>(code)),
                           nb::make_tuple(span.line, span.column, span.end_line, span.end_column),
                           (position & kArgumentsMap) != 0, part_name(focus.part), focus.index,
                           nb::str(focus.parameter.data(), focus.parameter.size()));
    diag::Place place;
    std::tie(place.file, place.line, place.column, place.end_line, place.end_column,
             place.source_line) =
        nb::cast<std::tuple<std::string, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,
                            std::string>>(found);
    return place;
  } catch (nb::python_error& error) {
    error.restore();
    drop_error();
    return std::nullopt;
  } catch (const std::exception&) {
    // An error is shown without its place rather than not at all.
    return std::nullopt;
  }
}

}  // namespace pyptx::python
