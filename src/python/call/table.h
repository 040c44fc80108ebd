// SPDX-License-Identifier: Apache-2.0
//
// Prepared specialisations of one kernel: what the tensors of a call must be for an image to be
// launched as it is. Matching compares numbers; it asks Python nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "call/keywords.h"
#include "pyptx/interop/expected.h"
#include "pyptx/interop/image.h"
#include "torch/torch.h"

namespace pyptx::python {

/// Tensors of one call, inputs and outputs together; a kernel with more takes the slow path.
using driver::kMaxTensors;

using interop::ExpectedTensors;
using interop::kMaxSpecialisations;
using interop::TensorShape;

/// The tensors of a call.
struct GivenTensors {
  std::span<const ReadTensor> inputs;
  std::uint64_t absent = 0;                            // a bit for each argument that is None
  std::optional<std::span<const ReadTensor>> outputs;  // none where they are to be made
};

/// Counted by those who use it, under the interpreter's lock, since the table may drop it while a
/// call that runs it has let the interpreter go.
struct Specialisation {
  // What every call reads comes first, close together.
  ExpectedTensors expected;  // inputs, then outputs
  KeywordValues keywords;
  std::shared_ptr<interop::KernelImage> image;
  Reference guards;          // of the values in `keywords`; null: none can change
  Reference grid;            // grid(*scalars), where it depends on them; null: it is the plan's
  Reference recorded;        // recorded(*args) where autograd records the call; null: the slow path
  std::uint64_t absent = 0;  // a bit for each argument that is None
  std::size_t users = 1;     // the table is one
  dlpack::DeviceType device = dlpack::DeviceType::Cuda;
  std::int32_t device_index = -1;   // -1: any of that type
  bool makes_outputs = true;        // false: only for callers that bring such outputs
  bool makes_column_major = false;  // an output that torch makes as an object alone
  /// So many of the inputs, the last ones, are in-out: the kernel writes them, too.
  std::size_t inouts = 0;
  std::vector<TensorShape> outputs;
  std::vector<TensorShape> inputs;
  std::vector<OutputMaker> makers;

  /// How many of the inputs, from the last one back, the kernel writes: one without outputs and
  /// in-out tensors writes all.
  std::size_t written_inputs() const {
    return outputs.empty() && inouts == 0 ? inputs.size() : inouts;
  }
  /// Works out alignments and output makers from the image's plan. False when the plan does not
  /// count these tensors.
  bool complete();
  bool matches(const GivenTensors& tensors) const;
  /// Whether both are for the same tensors and keywords.
  bool is_for_the_same(const Specialisation& other) const;
};

struct StopUsing {
  void operator()(Specialisation* specialisation) const {
    if (--specialisation->users == 0) delete specialisation;
  }
};
/// One use of a specialisation. Not std::shared_ptr, whose count costs a call two locked
/// instructions.
using SpecialisationUse = std::unique_ptr<Specialisation, StopUsing>;

class CallTable {
 public:
  void add(SpecialisationUse specialisation);
  /// What is dropped is freed last: that may run Python code, which may call the entry.
  void clear() { const auto dropped = std::exchange(entries_, {}); }
  int traverse(visitproc visit, void* arg) const;
  std::size_t size() const { return entries_.size(); }
  /// The specialisation for these tensors and keywords, or null. The last one found is tried first.
  /// Whether its guards hold is for the caller to ask.
  SpecialisationUse find(const GivenTensors& tensors, const CallKeywords& keywords);

 private:
  std::vector<SpecialisationUse> entries_;
  std::size_t last_ = 0;
};

}  // namespace pyptx::python
