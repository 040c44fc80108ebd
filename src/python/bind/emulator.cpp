// SPDX-License-Identifier: Apache-2.0
//
// The emulator for Python: options by their words, the report as a dictionary.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "bind/runtime.h"
#include "errors.h"
#include "interrupts.h"
#include "pyptx/emu/stream.h"
#include "pyptx/interop/run.h"

namespace pyptx::python {
namespace {

using interop::KernelImage;

/// In the order of the fields of pyptx._call.emulation.Cost.
nb::tuple cost_tuple(const emu::Cost& cost) {
  return nb::make_tuple(cost.executed, cost.skipped, cost.lanes, cost.partial, cost.loaded,
                        cost.stored, cost.wavefronts, cost.conflicts, cost.sectors);
}

/// In the order of the fields of pyptx._call.emulation.CostRow.
nb::tuple row_tuple(const emu::Counters::Row& row, const nb::str& file) {
  const emu::Cost& cost = row.cost;
  return nb::make_tuple(cost.executed, cost.skipped, cost.lanes, cost.partial, cost.loaded,
                        cost.stored, cost.wavefronts, cost.conflicts, cost.sectors, row.name, file,
                        row.line);
}

/// There is a row for each instruction, so neither the names of the fields nor that of the file are
/// made again for each.
nb::list row_list(const std::vector<emu::Counters::Row>& rows) {
  nb::list out;
  std::string last_file;
  nb::str file("");
  for (const auto& row : rows) {
    if (row.file != last_file) {
      last_file = row.file;
      file = nb::str(row.file.data(), row.file.size());
    }
    out.append(row_tuple(row, file));
  }
  return out;
}

/// (number of the instruction, words of each bank, addresses of the worst access, bytes of a lane)
nb::list bank_list(const emu::Counters& counters) {
  nb::list all;
  for (const auto& [number, use] : counters.banks) {
    nb::list words;
    nb::list worst;
    for (std::size_t i = 0; i < use.words.size(); ++i) {
      words.append(use.words[i]);
      const bool takes_part = ((use.worst_mask >> i) & 1U) != 0;
      worst.append(takes_part ? nb::object(nb::int_(use.worst[i])) : nb::object(nb::none()));
    }
    all.append(nb::make_tuple(number, nb::tuple(words), nb::tuple(worst), use.bytes));
  }
  return all;
}

/// (name, place, type, swizzle, shape, CTA, pass, address, elements)
nb::list shown_list(const std::vector<emu::ShownTile>& shown) {
  nb::list all;
  for (const emu::ShownTile& tile : shown) {
    all.append(nb::make_tuple(tile.name, tile.place, tile.type, tile.swizzle, tile.shape, tile.cta,
                              tile.pass, tile.address, tile.elements));
  }
  return all;
}

/// (kind, whether it writes, CTA, warp, lanes by 16, first column, columns, start, end, name,
/// place)
nb::list tensor_list(const std::vector<emu::TensorMemoryUse>& uses) {
  // one-place: kinds of uses, no instructions
  constexpr const char* kKinds[] = {"alloc", "ld", "st", "mma", "cp"};
  nb::list all;
  for (const emu::TensorMemoryUse& use : uses) {
    all.append(nb::make_tuple(kKinds[static_cast<std::size_t>(use.kind)], use.is_write, use.cta,
                              use.warp, use.halves, use.first, use.columns, use.start, use.end,
                              use.name, use.place));
  }
  return all;
}

nb::dict counters_dict(const emu::Counters& counters) {
  nb::list traffic;
  for (const auto& row : counters.traffic) {
    traffic.append(nb::make_tuple(row.space, row.requests, row.loaded, row.stored));
  }
  nb::dict out;
  out["total"] = cost_tuple(counters.total);
  out["branches"] = counters.branches;
  out["divergent_branches"] = counters.divergent_branches;
  out["traffic"] = traffic;
  out["opcodes"] = row_list(counters.opcodes);
  out["instructions"] = row_list(counters.instructions);
  out["lines"] = row_list(counters.lines);
  out["banks"] = bank_list(counters);
  out["text"] = emu::to_text(counters);
  out["profile"] = emu::profile_text(counters);
  return out;
}

nb::dict report_dict(const emu::Report& report) {
  nb::list rows;
  for (const auto& row : report.rows) {
    rows.append(nb::make_tuple(row.spelling, row.warp_instructions));
  }
  nb::dict out;
  out["warp_instructions"] = report.warp_instructions;
  out["rows"] = rows;
  if (report.counters) out["counters"] = counters_dict(*report.counters);
  out["shown"] = shown_list(report.shown);
  out["tensor_uses"] = tensor_list(report.tensor_uses);
  return out;
}

/// "schedule", "numerics", "tensor_core", "checks" and "ignore" by their words, and limits.
void set_words(emu::Options& options, const nb::kwargs& words,
               const std::vector<std::string>& limits) {
  const auto set = [&options](const std::string& name, const std::string& word) {
    if (const auto problem = emu::set_option(options, name, word)) {
      throw nb::value_error(problem->c_str());
    }
  };
  for (const auto& [name, word] : words) {
    set(nb::cast<std::string>(name), nb::cast<std::string>(word));
  }
  for (const std::string& limit : limits) set("limit", limit);
}

/// Calls Python from the emulator. An error there ends the run at its next question.
void tell(const nb::object& callback, const emu::Progress& progress) {
  nb::gil_scoped_acquire acquire;
  if (PyErr_Occurred() != nullptr) return;
  PyObject* result =
      PyObject_CallFunction(callback.ptr(), "KKd", static_cast<unsigned long long>(progress.done),
                            static_cast<unsigned long long>(progress.total), progress.seconds);
  Py_XDECREF(result);
}

[[noreturn]] void raise_os_error(const std::string& path) {
  PyErr_SetFromErrnoWithFilename(PyExc_OSError, path.c_str());
  nb::raise_python_error();
}

/// The first `read_only` of them cannot be written.
std::vector<interop::HostTensor> host_tensors(const std::vector<std::uint64_t>& pointers,
                                              const std::vector<std::uint64_t>& sizes,
                                              std::size_t read_only,
                                              const std::vector<std::uint32_t>& fresh) {
  if (pointers.size() != sizes.size()) throw nb::value_error("as many sizes as pointers");
  if (fresh.size() > sizes.size()) throw nb::value_error("more fresh tensors than tensors");
  const std::size_t given = sizes.size() - fresh.size();
  std::vector<interop::HostTensor> tensors;
  tensors.reserve(pointers.size());
  for (std::size_t i = 0; i < pointers.size(); ++i) {
    tensors.push_back(
        {pointers[i], sizes[i], i >= read_only, i < given, i < given ? 1 : fresh[i - given]});
  }
  return tensors;
}

// NOLINTNEXTLINE(readability-function-size): its parameters are Python's keywords
nb::dict emulate(KernelImage& image, const std::vector<std::uint64_t>& pointers,
                 const std::vector<std::uint64_t>& sizes, std::uint64_t seed, unsigned threads,
                 bool counters, const std::optional<std::string>& trace, const nb::object& progress,
                 const std::vector<std::uint64_t>& scalars, std::optional<Triple> grid,
                 const std::vector<std::string>& limits, std::size_t read_only,
                 const std::vector<std::uint32_t>& fresh, emu::Stream* stream, bool programmatic,
                 const nb::kwargs& words) {
  const auto given = grid ? std::optional(dim3(*grid)) : std::nullopt;
  const std::vector<interop::HostTensor> tensors = host_tensors(pointers, sizes, read_only, fresh);
  emu::Options options;
  options.seed = seed;
  options.threads = threads;
  options.counters = counters;
  options.interrupt = &is_interrupted;
  options.stream = stream;
  options.is_programmatic = programmatic;
  set_words(options, words, limits);
  std::ofstream file;
  if (trace) {
    file.open(*trace, std::ios::binary | std::ios::trunc);
    if (!file) raise_os_error(*trace);
    options.trace = &file;
  }
  emu::ProgressLine line(std::cerr);
  const bool is_shown = progress.is_none() ? isatty(STDERR_FILENO) != 0 : progress.ptr() == Py_True;
  if (is_shown) options.progress = std::ref(line);
  if (PyCallable_Check(progress.ptr()) != 0) {
    options.progress = [&](const emu::Progress& now) { tell(progress, now); };
  }
  const Emulation emulation;
  auto report = [&] {
    nb::gil_scoped_release release;
    return interop::emulate(image, tensors, options, scalars, given);
  }();
  if (has_python_error(report ? nullptr : &report.error())) nb::raise_python_error();
  if (trace && !file) raise_os_error(*trace);
  const auto table = image.locations();
  const emu::Report done = unwrap(std::move(report), table.get());
  warn(done.warnings, table.get());
  return report_dict(done);
}

}  // namespace

void bind_emulator(nb::module_& m) {
  nb::class_<emu::Stream>(m, "EmulatorStream",
                          "Launches on the emulator one after the other, as in a CUDA stream: hand "
                          "it to `Kernel.emulate`.")
      .def(nb::init<>());
  m.def("emulate", &emulate, nb::arg("image"), nb::arg("pointers"), nb::arg("sizes"),
        nb::arg("seed") = 0, nb::arg("threads") = 0, nb::arg("counters") = false,
        nb::arg("trace") = nb::none(), nb::arg("progress") = nb::none(),
        nb::arg("scalars") = std::vector<std::uint64_t>{}, nb::arg("grid") = nb::none(),
        nb::arg("limits") = std::vector<std::string>{}, nb::arg("read_only") = 0,
        nb::arg("fresh") = std::vector<std::uint32_t>{}, nb::arg("stream") = nb::none(),
        nb::arg("programmatic") = false, nb::arg("words"));
}

}  // namespace pyptx::python
