// SPDX-License-Identifier: Apache-2.0
//
// Memory, streams and events of a device as Python sees them, for code that has no framework: the
// process that tries configurations for pyptx.tune. Bindings only.
#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "bind/runtime.h"
#include "errors.h"
#include "pyptx/driver/memory.h"
#include "pyptx/driver/stream.h"

namespace pyptx::python {
namespace {

using driver::DeviceMemory;
using driver::Event;
using driver::Stream;

std::uintptr_t number(const void* handle) { return reinterpret_cast<std::uintptr_t>(handle); }

/// Waits for the copy: the bytes are Python's.
void write(const DeviceMemory& memory, const nb::bytes& bytes, const Stream& stream) {
  if (bytes.size() != memory.bytes()) throw nb::value_error("the memory has another size");
  const char* from = bytes.c_str();
  const auto written = [&] {
    const nb::gil_scoped_release release;
    const auto queued = memory.copy_from(from, stream);
    return queued ? stream.synchronize() : queued;
  }();
  unwrap(written);
}

nb::bytes read_memory(const DeviceMemory& memory, const Stream& stream) {
  // Copied to where Python keeps them: results are large.
  PyObject* bytes = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(memory.bytes()));
  if (bytes == nullptr) throw nb::python_error();
  auto owned = nb::steal<nb::bytes>(bytes);
  char* to = PyBytes_AS_STRING(bytes);
  const auto got = [&] {
    const nb::gil_scoped_release release;
    const auto queued = memory.copy_to(to, stream);
    return queued ? stream.synchronize() : queued;
  }();
  unwrap(got);
  return owned;
}

void synchronize(const Stream& stream) {
  const auto done = [&] {
    const nb::gil_scoped_release release;
    return stream.synchronize();
  }();
  unwrap(done);
}

}  // namespace

void bind_stream(nb::module_& m) {
  nb::class_<Event>(m, "Event", "A mark in a stream.")
      .def_static(
          "create", [](int device) { return unwrap(Event::create(device)); }, nb::arg("device"))
      .def(
          "milliseconds_since",
          [](const Event& event, const Event& earlier) {
            return unwrap(event.milliseconds_since(earlier));
          },
          nb::arg("earlier"));
  nb::class_<Stream>(m, "Stream", "A queue of work of a device.")
      .def_static(
          "create", [](int device) { return unwrap(Stream::create(device)); }, nb::arg("device"))
      .def_prop_ro("handle", [](const Stream& stream) { return number(stream.handle()); })
      .def(
          "record", [](const Stream& stream, const Event& event) { unwrap(stream.record(event)); },
          nb::arg("event"))
      .def("synchronize", &synchronize);
  nb::class_<DeviceMemory>(m, "DeviceMemory", "Bytes in the memory of a device.")
      .def_static(
          "allocate",
          [](int device, std::size_t bytes) {
            return unwrap(DeviceMemory::allocate(device, bytes));
          },
          nb::arg("device"), nb::arg("bytes"))
      .def_prop_ro("address", &DeviceMemory::address)
      .def("write", &write, nb::arg("data"), nb::arg("stream"))
      .def("read", &read_memory, nb::arg("stream"));
}

}  // namespace pyptx::python
