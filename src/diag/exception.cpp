// SPDX-License-Identifier: Apache-2.0
#include "pyptx/diag/exception.h"

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "pyptx/diag/render.h"

namespace pyptx::diag {

Exception::Exception(Diagnostic diagnostic)
    : std::runtime_error(describe(diagnostic)), diagnostic_(std::move(diagnostic)) {}

void throw_error(Diagnostic diagnostic) { throw Exception(std::move(diagnostic)); }

std::string describe(const Diagnostic& diagnostic) { return render(diagnostic, nullptr); }

Diagnostic current_exception() {
  try {
    throw;
  } catch (const Exception& error) {
    return error.diagnostic();
  } catch (const std::bad_alloc&) {
    return {Kind::OutOfMemory, {}};
  } catch (const std::length_error&) {  // a size that no memory holds
    return {Kind::OutOfMemory, {}};
  } catch (const std::exception& error) {
    return {Kind::UnexpectedException, {error.what()}};
  } catch (...) {
    return {Kind::UnexpectedException, {"it is no std::exception"}};
  }
}

ExceptionWords words_of_current_exception() noexcept {
  try {
    const Diagnostic diagnostic = current_exception();
    return {diagnostic.kind, render(diagnostic, nullptr)};
  } catch (...) {
    return {Kind::OutOfMemory, "out of memory"};  // so short that a string needs no memory for it
  }
}

}  // namespace pyptx::diag
