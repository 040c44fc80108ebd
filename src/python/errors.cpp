// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

#include <nanobind/stl/string.h>

#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
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
      {diag::Kind::RegisterValue, "OperandTypeError"},
      {diag::Kind::OutOfMemory, "OutOfMemoryError"},
      {diag::Kind::ArgumentType, "ArgumentTypeError"},
      {diag::Kind::ArgumentShape, "ArgumentValueError"},
      {diag::Kind::ArgumentValue, "ArgumentValueError"},
      {diag::Kind::ArgumentMemory, "ArgumentValueError"},
      {diag::Kind::TensorMapRule, "ArgumentValueError"},
      {diag::Kind::ScalarValue, "ArgumentValueError"},
      {diag::Kind::ArrayCount, "ArgumentTypeError"},
      {diag::Kind::ArrayElements, "ArgumentTypeError"},
      {diag::Kind::ArrayRank, "ArgumentValueError"},
      {diag::Kind::ArrayShape, "ArgumentValueError"},
      {diag::Kind::ArrayMultiple, "ArgumentValueError"},
      {diag::Kind::SizeExpression, "ArgumentValueError"},
      {diag::Kind::OpenSizes, "ArgumentValueError"},
      {diag::Kind::ArrayDimension, "ArgumentValueError"},
      {diag::Kind::DimensionTwice, "ArgumentValueError"},
      {diag::Kind::ArrayStrides, "ArgumentValueError"},
      {diag::Kind::ArrayDevice, "ArgumentValueError"},
      {diag::Kind::OutputOverlap, "ArgumentValueError"},
      {diag::Kind::ArrayAlignment, "ArgumentValueError"},
      {diag::Kind::UnknownSize, "ArgumentValueError"},
      {diag::Kind::ArrayMap, "ArgumentValueError"},
      {diag::Kind::EmptyGrid, "ArgumentValueError"},
      {diag::Kind::BoundShape, "ArgumentValueError"},
      {diag::Kind::DeclarationType, "ArgumentTypeError"},
      {diag::Kind::DeclarationValue, "ArgumentValueError"},
      {diag::Kind::BlockDirective, "ArgumentValueError"},
      {diag::Kind::KeywordName, "ArgumentTypeError"},
      {diag::Kind::KeywordValue, "ArgumentValueError"},
      {diag::Kind::ArgumentKind, "ArgumentTypeError"},
      {diag::Kind::ArrayMemory, "ArgumentValueError"},
      {diag::Kind::NoTensors, "ArgumentTypeError"},
      {diag::Kind::DimensionsType, "ArgumentTypeError"},
      {diag::Kind::DimensionsValue, "ArgumentValueError"},
      {diag::Kind::FrameworkElements, "ArgumentTypeError"},
      {diag::Kind::LaunchPlace, "ArgumentValueError"},
      {diag::Kind::OptionType, "ArgumentTypeError"},
      {diag::Kind::OptionValue, "ArgumentValueError"},
      {diag::Kind::HandleText, "ArgumentValueError"},
      {diag::Kind::CheckReference, "ArgumentValueError"},
      {diag::Kind::CheckCases, "ArgumentValueError"},
      {diag::Kind::LayoutUnknown, "ArgumentValueError"},
      {diag::Kind::LayoutArgument, "ArgumentValueError"},
  };
  for (const auto& [kind, name] : kOfTheirOwn) {
    if (code == diag::info(kind).code) return name;
  }
  const int group = (code[3] - '0') * 10 + (code[4] - '0');
  return group < std::ssize(kClasses) ? kClasses[group] : "Error";
}

/// The class that a built-in exception of the bindings stands for.
PyObject* type_of(nb::exception_type type) {
  switch (type) {
    case nb::exception_type::runtime_error:
      return PyExc_RuntimeError;
    case nb::exception_type::stop_iteration:
      return PyExc_StopIteration;
    case nb::exception_type::index_error:
      return PyExc_IndexError;
    case nb::exception_type::key_error:
      return PyExc_KeyError;
    case nb::exception_type::value_error:
      return PyExc_ValueError;
    case nb::exception_type::buffer_error:
      return PyExc_BufferError;
    case nb::exception_type::import_error:
      return PyExc_ImportError;
    case nb::exception_type::attribute_error:
      return PyExc_AttributeError;
    default:
      return PyExc_TypeError;
  }
}

/// PTX0820 or PTX0821 for the exception that is being handled.
void set_diagnosed_exception() noexcept {
  try {
    raise(diag::current_exception());
  } catch (nb::python_error& error) {
    error.restore();
  } catch (...) {  // not even the words of it can be had
    PyErr_NoMemory();
  }
}

/// With the place in the kernel where it has one; else in a line.
std::string warning_text(const diag::Diagnostic& warning) {
  if (!warning->place) return std::string(warning.code()) + ": " + warning.message();
  std::string text = diag::render(warning, nullptr);
  while (text.ends_with('\n')) text.pop_back();
  return text;
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
    throw;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const nb::builtin_exception& error) {
    PyErr_SetString(type_of(error.type()), error.what());
  } catch (const std::bad_cast&) {
    PyErr_SetString(PyExc_TypeError, "a value has another type than is needed here");
  } catch (...) {
    set_diagnosed_exception();
  }
}

void translate_exceptions() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (...) {
      set_current_exception();
    }
  });
}

void warn(std::span<const diag::Diagnostic> warnings, const diag::LocationTable* table) {
  if (warnings.empty()) return;
  const nb::object tell = nb::module_::import_("pyptx._call.findings").attr("warn");
  for (const diag::Diagnostic& warning : warnings) {
    const diag::Diagnostic placed = resolved(warning, table);
    tell(warning_text(placed), nb::cast(placed));
  }
}

}  // namespace pyptx::python
