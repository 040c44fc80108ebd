// SPDX-License-Identifier: Apache-2.0
#include "pyptx/diag/exception.h"

#include <exception>
#include <new>
#include <stdexcept>

#include "pyptx/diag/render.h"

namespace pyptx::diag {

Diagnostic current_exception() {
  try {
    throw;
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
