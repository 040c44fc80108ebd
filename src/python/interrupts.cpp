// SPDX-License-Identifier: Apache-2.0
//
// Interrupts of emulations (see the header).
#include "interrupts.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <string>
#include <utility>

#include "pyptx/interop/run.h"

namespace pyptx::python {
namespace {

std::mutex mutex;
std::condition_variable one_ended;
int running = 0;  // emulations, of Python's threads and of XLA's
std::atomic<bool> is_leaving = false;
unsigned long main_thread = 0;  // Python's

bool is_main_thread() { return PyThread_get_thread_ident() == main_thread; }

void begin() {
  const std::lock_guard lock(mutex);
  ++running;
}

void end() {
  const std::lock_guard lock(mutex);
  --running;
  one_ended.notify_all();
}

/// What ended the emulation of this thread. Kept aside: what says where the warps stand may have to
/// ask Python for places, which it cannot while an error is set.
thread_local PyObject* raised = nullptr;

/// The error that is set, which is set no longer; with its traceback.
PyObject* take_error() {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (value != nullptr && trace != nullptr) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return value;
}

void set_error(PyObject* error) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
  Py_DECREF(error);
}

/// SIGINT on its way to the handler that Python has installed.
class Overheard {
 public:
  static void listen() {
    const std::lock_guard lock(mutex);
    if (users_++ != 0) return;
    sigaction(SIGINT, nullptr, &before_);
    const bool has_handler = (before_.sa_flags & SA_SIGINFO) != 0 ||
                             (before_.sa_handler != SIG_DFL && before_.sa_handler != SIG_IGN);
    if (!has_handler) return;
    struct sigaction ours = before_;
    ours.sa_flags |= SA_SIGINFO;
    ours.sa_sigaction = &hear;
    sigaction(SIGINT, &ours, nullptr);
  }

  static void stop_listening() {
    const std::lock_guard lock(mutex);
    if (--users_ != 0) return;
    struct sigaction now{};
    sigaction(SIGINT, nullptr, &now);
    const bool is_ours = (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &hear;
    if (is_ours) sigaction(SIGINT, &before_, nullptr);
  }

  static int count() { return heard_.load(std::memory_order_relaxed); }

 private:
  static void hear(int number, siginfo_t* info, void* context) {
    heard_.fetch_add(1, std::memory_order_relaxed);
    if ((before_.sa_flags & SA_SIGINFO) != 0) {
      before_.sa_sigaction(number, info, context);
    } else {
      before_.sa_handler(number);
    }
  }

  inline static int users_ = 0;
  inline static struct sigaction before_{};
  inline static std::atomic<int> heard_ = 0;
};

thread_local int heard_before = 0;

/// Whether Python raises KeyboardInterrupt on Ctrl-C. A handler of somebody's own is asked when the
/// main thread is back from XLA, and until then the kernel goes on.
bool raises_on_sigint() {
  const nanobind::gil_scoped_acquire acquire;
  try {
    const nanobind::module_ signal = nanobind::module_::import_("signal");
    return signal.attr("getsignal")(SIGINT).is(signal.attr("default_int_handler"));
  } catch (nanobind::python_error&) {
    return true;
  }
}

void begin_for_host() {
  begin();
  heard_before = Overheard::count();
  Overheard::listen();
}

int raise_again(void* error) {
  set_error(static_cast<PyObject*>(error));
  return -1;
}

/// XLA and torch make errors of their own of an emulation that ends, so what a signal handler
/// raised on this, the main thread, is raised again when it is back in Python.
void raise_later(PyObject* error) {
  if (Py_AddPendingCall(&raise_again, error) != 0) Py_DECREF(error);
}

void end_for_host() {
  Overheard::stop_listening();
  if (raised != nullptr) {
    const nanobind::gil_scoped_acquire acquire;
    raise_later(std::exchange(raised, nullptr));
  }
  end();
}

bool is_interrupted_in_host() {
  if (is_leaving) return true;
  if (is_main_thread()) return is_interrupted();
  const int heard = Overheard::count();
  if (heard == heard_before) return false;
  heard_before = heard;
  return raises_on_sigint();
}

/// Called when the interpreter is about to end: emulations of other threads end first, because a
/// thread that comes back into an interpreter that has gone cannot be unwound.
void leave() {
  is_leaving = true;
  const nanobind::gil_scoped_release release;
  std::unique_lock lock(mutex);
  one_ended.wait_for(lock, std::chrono::seconds(10), [] { return running == 0; });
}

}  // namespace

bool is_interrupted() {
  if (is_leaving && !is_main_thread()) return true;
  if (raised != nullptr) return true;
  const PyGILState_STATE state = PyGILState_Ensure();
  if (PyErr_Occurred() != nullptr || PyErr_CheckSignals() != 0) raised = take_error();
  PyGILState_Release(state);
  return raised != nullptr;
}

void drop_error() {
  if (PyErr_ExceptionMatches(PyExc_Exception) != 0) {
    PyErr_Clear();
  } else {
    raise_later(take_error());
  }
}

Emulation::Emulation() { begin(); }
Emulation::~Emulation() { end(); }

bool has_python_error(const diag::Diagnostic* why) {
  const bool was_ended = why != nullptr && why->kind == diag::Kind::EmuInterrupted;
  PyObject* error = std::exchange(raised, nullptr);
  if (error == nullptr) {
    if (PyErr_Occurred() != nullptr) return true;  // a callback's last word, when all was done
    if (!was_ended || !is_leaving) return false;
    PyErr_SetNone(PyExc_SystemExit);  // ends the thread without a word
    return true;
  }
  if (was_ended) {
    std::string text = "the emulation ended here:";
    for (const std::string& note : (*why)->notes) text += "\n  " + note;
    PyObject* noted = PyObject_CallMethod(error, "add_note", "s", text.c_str());
    if (noted == nullptr) PyErr_Clear();
    Py_XDECREF(noted);
  }
  set_error(error);
  return true;
}

void bind_interrupts(nanobind::module_& m) {
  const nanobind::module_ threading = nanobind::module_::import_("threading");
  main_thread = nanobind::cast<unsigned long>(threading.attr("main_thread")().attr("ident"));
  interop::set_host({&begin_for_host, &is_interrupted_in_host, &end_for_host});
  m.def("leave", &leave, "End the emulations of other threads and wait for them.");
  nanobind::module_::import_("atexit").attr("register")(m.attr("leave"));
}

}  // namespace pyptx::python
