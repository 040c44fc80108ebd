// SPDX-License-Identifier: Apache-2.0
//
// Where in the author's Python an instruction was written. Capturing stores a code object and an
// instruction index, two words and no strings; file, line and columns are worked out when a
// diagnostic is rendered, through co_positions() (see python/pyptx/_source/places.py).
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "pyptx/diag/loc.h"
#include "trace/code_spans.h"

namespace pyptx::python {

/// Keeps the code objects that a module's locations name, and resolves them.
class PythonLocations final : public diag::LocationResolver {
 public:
  /// Needs the GIL; the destructor does not.
  PythonLocations();
  PythonLocations(const PythonLocations&) = delete;
  PythonLocations& operator=(const PythonLocations&) = delete;
  ~PythonLocations() override;

  /// The innermost frame outside the package folder, as an entry of `table`, and what it expands:
  /// the intrinsics under way and the package's functions inside it. With `arguments_map`
  /// the call's positional arguments are the instruction's operands (ptx.inst), so a diagnostic
  /// about one of them can point at it. Needs the GIL; never fails: Loc::None without a frame.
  diag::Loc capture(diag::LocationTable& table, bool arguments_map);

  /// What is captured from now on is the work of an @intrinsic shown so, until it is left.
  void enter_intrinsic(std::string shown);
  void leave_intrinsic();

  /// From now on what is captured also expands the author's calls that led there, each as
  /// "called from FILE:LINE": several times the work, for who shows a kernel.
  void follow_callers() { follows_callers_ = true; }

  std::optional<diag::SourcePoint> point(std::uint64_t handle,
                                         std::uint32_t position) const override;
  std::optional<diag::Place> resolve(std::uint64_t handle, std::uint32_t position,
                                     diag::Focus focus) const override;

 private:
  /// A code object: how its function is shown as an expansion, empty for one of the author's.
  struct Owner {
    std::string shown;
    bool is_authors = true;
  };
  /// Whose `code` is; keeps the code object.
  const Owner& owner_of(PyCodeObject* code);
  /// `loc` as what the author's frames behind `frame`, up to the kernel's own, called.
  diag::Loc called(diag::LocationTable& table, diag::Loc loc, PyFrameObject* frame);

  std::unordered_map<PyCodeObject*, Owner> codes_;  // owned references
  std::set<std::string> intrinsics_;                // every name there was
  std::set<std::string> calls_;                     // every "called from ..." there was
  std::vector<const char*> entered_;                // those under way, the outermost first
  const CodeSpans& spans_of(std::uint64_t handle) const;

  /// Threads of the emulator ask, too: they take the GIL only where a table is still to be read,
  /// after they have let the lock go, because one who has the GIL may wait for the lock.
  mutable std::mutex spans_mutex_;
  mutable std::unordered_map<std::uint64_t, std::shared_ptr<const CodeSpans>> spans_;
  PyCodeObject* last_code_ = nullptr;
  std::uint32_t last_position_ = 0;
  diag::Loc last_loc_ = diag::Loc::None;
  bool follows_callers_ = false;
};

}  // namespace pyptx::python
