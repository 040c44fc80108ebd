// SPDX-License-Identifier: Apache-2.0
//
// One call of an entry (see the header).
#include "call/run.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <thread>

#include "call/guards.h"
#include "call/tensors.h"
#include "errors.h"
#include "interrupts.h"
#include "pyptx/driver/launch.h"
#include "pyptx/interop/run.h"

namespace pyptx::python {
namespace {

/// Lets other threads of the interpreter run while it lives.
class WithoutInterpreter {
 public:
  WithoutInterpreter() : state_(PyEval_SaveThread()) {}
  ~WithoutInterpreter() { PyEval_RestoreThread(state_); }
  WithoutInterpreter(const WithoutInterpreter&) = delete;
  WithoutInterpreter& operator=(const WithoutInterpreter&) = delete;

  /// What stands for this thread.
  const void* thread() const { return state_; }

 private:
  PyThreadState* state_;
};

/// A thread's turn to launch, which it waits for awake, for about as long as a launch takes, and
/// then goes ahead. Threads that are in the driver together come out of it together, and would
/// sleep until they get the interpreter, which takes longer than the launches. Nothing depends on
/// it: a launch that waits for the device must keep nobody from launching elsewhere. A thread that
/// launches alone takes no turns.
class Turn {
 public:
  explicit Turn(const void* thread) {
    if (last_.load(std::memory_order_relaxed) == thread) return;
    last_.store(thread, std::memory_order_relaxed);
    for (int i = 0; i < kMostPauses; ++i) {
      if (!taken_.load(std::memory_order_relaxed) &&
          !taken_.exchange(true, std::memory_order_acquire)) {
        is_mine_ = true;
        return;
      }
      pause();
    }
  }
  ~Turn() {
    if (is_mine_) taken_.store(false, std::memory_order_release);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  static constexpr int kMostPauses = 200;  // of 20 to 70 ns each

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    std::this_thread::yield();
#endif
  }

  inline static std::atomic<bool> taken_ = false;
  inline static std::atomic<const void*> last_ = nullptr;  // the thread that launched last
  bool is_mine_ = false;
};

/// Sets the Python error of a refused launch; false.
bool refuse(const diag::Diagnostic& why, const interop::KernelImage& image) {
  const auto table = image.locations();
  return with_python_errors([&]() -> PyObject* { raise(why, table.get()); }) != nullptr;
}

/// What a launch gets besides tensors.
struct Extras {
  std::span<const std::uint64_t> scalars;
  std::optional<driver::Dim3> grid;
};

diag::Status launch_cuda(const CallTensors& tensors, const Extras& extras,
                         interop::KernelImage& image, void* stream, const void* thread) {
  std::array<std::uint64_t, kMaxTensors> pointers;
  const std::size_t count = tensors.count();
  for (std::size_t i = 0; i < count; ++i) pointers[i] = tensors.address(i);
  const Turn turn(thread);
  return interop::launch(
      image, tensors.device().id, stream,
      driver::LaunchArguments{{pointers.data(), count}, extras.scalars, extras.grid});
}

/// `are_fresh`: the outputs were made for this launch, and hold nothing yet.
diag::Status run_emulator(const CallTensors& tensors, const Extras& extras,
                          const Specialisation& specialisation, bool are_fresh,
                          diag::Diagnostics& warnings) {
  std::array<interop::HostTensor, kMaxTensors> memory;
  const std::size_t inputs = tensors.input_count();
  const std::size_t count = tensors.count();
  for (std::size_t i = 0; i < count; ++i) {
    const TensorShape& shape =
        i < inputs ? specialisation.inputs[i] : specialisation.outputs[i - inputs];
    memory[i] = {tensors.address(i), shape.bytes, i >= inputs - specialisation.written_inputs(),
                 i < inputs || !are_fresh, (shape.type.bits + 7U) / 8U};
  }
  emu::Options options;
  options.interrupt = &is_interrupted;
  auto report = interop::emulate(*specialisation.image, {memory.data(), count}, options,
                                 extras.scalars, extras.grid);
  if (!report) return report.failure();
  warnings = std::move(report->warnings);
  return diag::success();
}

/// Makes the outputs where `make` says so, and launches. False with a Python error set, or with
/// none where it was not launched and the slow path knows what to do. The interpreter is let go
/// meanwhile: a launch waits when the queue is full, and a host callback may need the interpreter.
bool run(CallTensors& tensors, const Extras& extras, Specialisation& specialisation, bool make) {
  std::optional<Emulation> emulation;
  if (specialisation.device != dlpack::DeviceType::Cuda) emulation.emplace();
  void* stream = nullptr;
  if (specialisation.device == dlpack::DeviceType::Cuda &&
      !tensors.torch().current_stream(tensors.device(), &stream)) {
    PyErr_SetString(PyExc_RuntimeError, "torch did not say which CUDA stream is current");
    return false;
  }
  std::optional<diag::Status> status;
  diag::Diagnostics warnings;
  const auto launch = [&](const void* thread) {
    return specialisation.device == dlpack::DeviceType::Cuda
               ? launch_cuda(tensors, extras, *specialisation.image, stream, thread)
               : run_emulator(tensors, extras, specialisation, make, warnings);
  };
  if (!make || (!specialisation.makes_column_major && tensors.can_make_tensors())) {
    const WithoutInterpreter released;
    if (!make || tensors.make_tensors(specialisation)) {
      status.emplace(launch(released.thread()));
    }
  }
  if (!status) {
    if (!tensors.make_objects(specialisation)) return false;
    const WithoutInterpreter released;
    status.emplace(launch(released.thread()));
  }
  if (emulation && has_python_error(status->ok() ? nullptr : &status->error())) return false;
  if (!status->ok()) return refuse(status->error(), *specialisation.image);
  return warnings.empty() || with_python_errors([&] {
                               const auto table = specialisation.image->locations();
                               warn(warnings, table.get());
                               return Py_None;
                             }) != nullptr;
}

/// The grid that a callable gives for the scalars; nothing, with no error set, where the slow path
/// has something to say about it.
std::optional<driver::Dim3> grid_for(PyObject* resolve, std::span<PyObject* const> scalars) {
  if (std::ranges::find(scalars, nullptr) != scalars.end()) return std::nullopt;
  PyObject* found = PyObject_Vectorcall(resolve, scalars.data(), scalars.size(), nullptr);
  if (found == nullptr) {
    // Raised again there, with what the grid was asked; but an interrupt comes once.
    if (PyErr_ExceptionMatches(PyExc_Exception) != 0) PyErr_Clear();
    return std::nullopt;
  }
  std::array<std::uint32_t, 3> sizes = {1, 1, 1};
  bool is_grid =
      PyTuple_CheckExact(found) && PyTuple_GET_SIZE(found) >= 1 && PyTuple_GET_SIZE(found) <= 3;
  for (Py_ssize_t i = 0; is_grid && i < PyTuple_GET_SIZE(found); ++i) {
    const Py_ssize_t value = PyNumber_AsSsize_t(PyTuple_GET_ITEM(found, i), nullptr);
    is_grid = value > 0 && value <= INT32_MAX;
    sizes[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(value);
  }
  PyErr_Clear();
  Py_DECREF(found);
  if (!is_grid) return std::nullopt;
  return driver::Dim3{sizes[0], sizes[1], sizes[2]};
}

/// A call whose tensors autograd wants to know of goes to what its specialisation has for that,
/// which records it and calls again.
CallOutcome run_recorded(CallTable& table, CallTensors& tensors, const CallKeywords& given,
                         PyObject* const* args, std::size_t count, PyObject** result) {
  if (given.out() != nullptr || !tensors.read_recorded(args, count)) return CallOutcome::NotMine;
  const SpecialisationUse found = table.find(tensors.given(/*with_outputs=*/false), given);
  if (found == nullptr || found->recorded.get() == nullptr) return CallOutcome::NotMine;
  *result = PyObject_Vectorcall(found->recorded.get(), args, count, nullptr);
  return *result == nullptr ? CallOutcome::Failed : CallOutcome::Done;
}

}  // namespace

CallOutcome run_call(const CallScalars& scalars, CallTable& table, unsigned long long& hits,
                     PyObject* const* args, std::size_t count, PyObject* keywords,
                     PyObject** result) {
  CallKeywords given;
  CallTensors tensors;
  if (!given.read(scalars, keywords, args + count)) return CallOutcome::NotMine;
  if (!tensors.read_inputs(args, count) && !tensors.read_arrays(args, count)) {
    return run_recorded(table, tensors, given, args, count, result);
  }
  const bool make = given.out() == nullptr;
  if (!make && !tensors.read_outputs(given.out())) return CallOutcome::NotMine;
  const SpecialisationUse found = table.find(tensors.given(!make), given);
  if (found == nullptr || tensors.outputs_overlap(*found) || !tensors.may_write(*found) ||
      (found->guards.get() != nullptr && !guards_hold(found->guards.get()))) {
    return CallOutcome::NotMine;
  }
  Extras extras{given.bits(), std::nullopt};
  if (found->grid.get() != nullptr) {
    extras.grid = grid_for(found->grid.get(), given.scalars());
    if (!extras.grid) {
      return PyErr_Occurred() != nullptr ? CallOutcome::Failed : CallOutcome::NotMine;
    }
  }
  const bool is_launched = run(tensors, extras, *found, make);
  if (!is_launched && PyErr_Occurred() == nullptr) return CallOutcome::NotMine;
  ++hits;
  const bool done = is_launched && (make || tensors.mark_written()) &&
                    tensors.mark_inputs_written(args, count, found->written_inputs());
  *result = done ? tensors.result() : nullptr;
  return *result == nullptr ? CallOutcome::Failed : CallOutcome::Done;
}

}  // namespace pyptx::python
