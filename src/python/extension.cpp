// SPDX-License-Identifier: Apache-2.0
//
// The extension module pyptx._core: a list of the bind_ functions, in the order their classes
// depend on each other. No logic.
#include <nanobind/nanobind.h>

namespace pyptx::python {

void bind_diag(nanobind::module_& m);
void bind_parts(nanobind::module_& m);
void bind_module(nanobind::module_& m);
void bind_text(nanobind::module_& m);
void bind_trace(nanobind::module_& m);
void bind_reg(nanobind::module_& m);
void bind_ptx(nanobind::module_& m);
void bind_ptx_control(nanobind::module_& m);
void bind_ptx_print(nanobind::module_& m);
void bind_smem(nanobind::module_& m);
void bind_async(nanobind::module_& m);
void bind_runtime(nanobind::module_& m);
void bind_tables(nanobind::module_& m);
void bind_layout(nanobind::module_& m);

}  // namespace pyptx::python

NB_MODULE(_core, m) {
  namespace py = pyptx::python;
#ifdef NDEBUG
  // What a framework still holds when the interpreter ends is not the user's to hear about.
  nanobind::set_leak_warnings(false);
#endif
  py::bind_diag(m);
  py::bind_reg(m);
  py::bind_parts(m);
  py::bind_module(m);
  py::bind_text(m);
  py::bind_trace(m);
  py::bind_ptx(m);
  py::bind_ptx_control(m);
  py::bind_ptx_print(m);
  py::bind_smem(m);
  py::bind_async(m);
  py::bind_runtime(m);
  py::bind_tables(m);
  py::bind_layout(m);
}
