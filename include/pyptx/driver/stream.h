// SPDX-License-Identifier: Apache-2.0
//
// Streams and events of a device, owned: gone with the object. For programs that have no framework
// to make theirs; a launch takes any CUstream.
#pragma once

#include <memory>
#include <utility>

#include "pyptx/diag/diagnostic.h"

namespace pyptx::driver {

/// A mark in a stream.
class Event {
 public:
  static diag::Result<Event> create(int device);

  /// Returns when the work before the mark is done. An event that was never recorded is.
  diag::Status synchronize() const;
  /// Milliseconds of device time between two marks that have been reached.
  diag::Result<float> milliseconds_since(const Event& earlier) const;

  void* handle() const { return handle_.get(); }
  int device() const { return handle_.get_deleter().device; }

 private:
  struct Destroy {
    int device = 0;
    void operator()(void* event) const;
  };
  explicit Event(std::unique_ptr<void, Destroy> handle) : handle_(std::move(handle)) {}
  std::unique_ptr<void, Destroy> handle_;
};

/// A queue of work. It does not wait for the device's default stream.
class Stream {
 public:
  static diag::Result<Stream> create(int device);

  /// Returns when everything queued so far is done; what failed in it is reported here.
  diag::Status synchronize() const;
  diag::Status record(const Event& event) const;
  /// What is queued from now on waits for the event's mark.
  diag::Status wait(const Event& event) const;

  void* handle() const { return handle_.get(); }
  int device() const { return handle_.get_deleter().device; }

 private:
  struct Destroy {
    int device = 0;
    void operator()(void* stream) const;
  };
  explicit Stream(std::unique_ptr<void, Destroy> handle) : handle_(std::move(handle)) {}
  std::unique_ptr<void, Destroy> handle_;
};

}  // namespace pyptx::driver
