// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

#include <exception>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyptx/diag/exception.h"
#include "pyptx/diag/render.h"

namespace pyptx::python {
namespace {

/// "PTX0312" -> the class for group 03.
const char* class_name(std::string_view code) {
  constexpr const char* kClasses[] = {
      "PtxSyntaxError", "PtxSyntaxError", "VerifyError", "TargetError", "VerifyError",
      "VerifyError",    "AssembleError",  "LaunchError", "LaunchError", "EmulatorError",
  };
  constexpr std::pair<diag::Kind, const char*> kOfTheirOwn[] = {
      {diag::Kind::OutOfMemory, "OutOfMemoryError"},
      {diag::Kind::ArgumentType, "ArgumentTypeError"},
      {diag::Kind::ArgumentShape, "ArgumentValueError"},
      {diag::Kind::ArgumentValue, "ArgumentValueError"},
      {diag::Kind::ArgumentMemory, "ArgumentValueError"},
  };
  for (const auto& [kind, name] : kOfTheirOwn) {
    if (code == diag::info(kind).code) return name;
  }
  const int group = (code[3] - '0') * 10 + (code[4] - '0');
  return group < std::ssize(kClasses) ? kClasses[group] : "Error";
}

}  // namespace

diag::Diagnostic resolved(diag::Diagnostic diagnostic, const diag::LocationTable* table) {
  if (table != nullptr) diagnostic.resolve(*table);
  return diagnostic;
}

void raise(std::span<const diag::Diagnostic> diagnostics, const diag::LocationTable* table) {
  std::vector<diag::Diagnostic> placed;
  nb::list objects;
  for (const diag::Diagnostic& diagnostic : diagnostics) {
    placed.push_back(resolved(diagnostic, table));
    objects.append(nb::cast(placed.back()));
  }
  std::string message = diag::render(placed, nullptr);
  while (message.ends_with('\n')) message.pop_back();
  const nb::object type =
      nb::module_::import_("pyptx._errors").attr(class_name(placed.front().code()));
  const nb::object error = type(nb::str(message.c_str(), message.size()), objects);
  PyErr_SetObject(type.ptr(), error.ptr());
  throw nb::python_error();
}

void raise(const diag::Diagnostic& diagnostic, const diag::LocationTable* table) {
  raise(std::span(&diagnostic, 1), table);
}

void set_current_exception() noexcept {
  try {
    raise(diag::current_exception());
  } catch (nb::python_error& error) {
    error.restore();
  } catch (...) {  // not even the words of it can be had
    PyErr_NoMemory();
  }
}

void translate_out_of_memory() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      set_current_exception();
    } catch (const std::length_error&) {
      set_current_exception();
    }
  });
}

std::string warning_text(const diag::Diagnostic& warning) {
  return std::string(warning.code()) + ": " + warning.message();
}

void warn(std::span<const diag::Diagnostic> warnings) {
  if (warnings.empty()) return;
  const nb::object type = nb::module_::import_("pyptx._errors").attr("OutputWarning");
  for (const diag::Diagnostic& warning : warnings) {
    if (PyErr_WarnEx(type.ptr(), warning_text(warning).c_str(), 1) != 0) throw nb::python_error();
  }
}

}  // namespace pyptx::python
