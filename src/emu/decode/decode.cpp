// SPDX-License-Identifier: Apache-2.0
//
// ir::Function -> Program. Everything that can be refused is refused here, with the name of the
// instruction and the reason, before anything runs.
#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>

#include "decode/lowering.h"
#include "decode/register_checks.h"
#include "decode/select.h"
#include "pyptx/diag/exception.h"
#include "pyptx/emu/emulator.h"
#include "sem/control/control.h"

namespace pyptx::emu {
namespace {

diag::Diagnostic placed(const ir::Module& module, diag::Diagnostic diagnostic, diag::Loc loc) {
  diagnostic.loc = loc;
  diagnostic->place = module.locations.resolve(loc);
  return diagnostic;
}

/// What a text from anywhere may have kept and nothing can run: names and words that nobody knows,
/// and what could not be read.
diag::Status check_readable(const ir::Module& module, const ir::Function& function) {
  if (!module.findings.empty()) {
    diag::Diagnostic finding = module.findings.front();
    finding.resolve(module.locations);
    return diag::fail(std::move(finding));
  }
  const auto refuse = [&](diag::Loc loc) {
    const std::string what(module.text(function.name));
    return diag::fail(placed(module,
                             diag::Diagnostic(diag::Kind::EmuUnsupported,
                                              {what, "its text has a part that cannot be read"}),
                             loc));
  };
  for (const ir::Item& item : module.items) {
    if (item.kind == ir::ItemKind::Error || item.kind == ir::ItemKind::Stray) {
      return refuse(function.loc);
    }
  }
  for (const ir::Statement& statement : function.body) {
    if (statement.kind == ir::StatementKind::Error ||
        statement.kind == ir::StatementKind::Unresolved) {
      return refuse(statement.loc);
    }
    if (statement.kind == ir::StatementKind::Stray) return refuse(function.loc);
  }
  return diag::success();
}

/// Program counter of every label; statements that are no instructions take no space.
diag::Result<std::vector<u32>> label_targets(const ir::Module& module,
                                             const ir::Function& function) {
  std::vector<u32> targets(function.labels.size(), ~0U);
  u32 pc = 0;
  for (const ir::Statement& statement : function.body) {
    if (statement.kind == ir::StatementKind::Instruction) ++pc;
    if (statement.kind == ir::StatementKind::Label) targets[statement.index] = pc;
    if (statement.kind == ir::StatementKind::Raw) {
      return diag::fail(placed(
          module,
          diag::Diagnostic(diag::Kind::EmuUnsupported,
                           {std::string(module.text(static_cast<ir::Symbol>(statement.index))),
                            "raw text is judged by nobody and runs on hardware only"}),
          statement.loc != diag::Loc::None ? statement.loc : function.loc));
    }
  }
  return targets;
}

class Decoder {
 public:
  Decoder(Program& program, std::span<const u32> targets)
      : program_(program),
        layout_(program, *program.module, *program.function),
        targets_(targets) {}

  diag::Status run() {
    if (auto problem = layout_.problem()) return diag::fail(at_function(std::move(*problem)));
    for (const ir::Statement& statement : program_.function->body) {
      if (statement.kind != ir::StatementKind::Instruction) continue;
      diag::Status status = instruction(statement.index);
      if (!status) return status;
    }
    Inst end;
    end.run = exit_handler();
    end.guard = layout_.literal(0, kAllLanes);
    end.index = program_.code.empty() ? 0 : program_.code.back().index;
    program_.code.push_back(end);
    program_.accesses.emplace_back();
    if (auto problem = layout_.problem()) return diag::fail(at_function(std::move(*problem)));
    program_.registers = layout_.register_places();
    program_.register_bytes = static_cast<u32>((layout_.register_file_bytes() + 63U) & ~u64{63});
    return diag::success();
  }

 private:
  diag::Diagnostic at_function(diag::Diagnostic problem) const {
    return placed(*program_.module, std::move(problem), program_.function->loc);
  }

  diag::Status instruction(u32 index) {
    const ir::Instruction& source = program_.function->instructions[index];
    Lowering low(program_, layout_, source, targets_);
    low.out.index = index;
    low.out.guard =
        source.guard ? layout_.register_offset(*source.guard) : layout_.literal(0, kAllLanes);
    low.out.guard_flip = source.guard_negated ? kAllLanes : 0;
    const Selector select = selector(source.form().form->sem);
    Handler handler = nullptr;
    if (select == nullptr) {
      low.refuse(std::string(source.form().form->reason));
    } else {
      handler = select(low);
      if (handler == nullptr) low.refuse("this combination of types and modifiers cannot run");
      if (!low.leftover().empty()) {
        low.refuse("the emulator does not know its modifier '." + std::string(low.leftover()) +
                   "'");
      }
    }
    if (!low.reason().empty()) {
      return diag::fail(placed(
          *program_.module,
          diag::Diagnostic(diag::Kind::EmuUnsupported, {source.spelling->text, low.reason()}),
          source.loc));
    }
    const std::string_view text = source.spelling->text;
    const auto has = [&](std::string_view part) {
      return text.find(part) != std::string_view::npos;
    };
    program_.has_async_writes = program_.has_async_writes || has("async.bulk") || has("st.async") ||
                                has("red.async") || has("clusterlaunchcontrol");
    low.out.run = handler;
    program_.code.push_back(low.out);
    program_.accesses.push_back(low.access);
    return diag::success();
  }

  Program& program_;
  Layout layout_;
  std::span<const u32> targets_;
};

/// Initialisers may hold addresses of variables in the module's memory, and of nothing else.
diag::Status check_initializers(const Program& program) {
  const auto known = program.addressable();
  for (const PlacedVariable& place : program.variables) {
    for (const ir::InitialValue& value : place.variable->initializer) {
      if (!value.is_address()) continue;
      if (known.contains(static_cast<u32>(value.symbol))) continue;
      return diag::fail(placed(
          *program.module,
          diag::Diagnostic(diag::Kind::EmuUnsupported,
                           {place.name, "its initialiser holds the address of '" +
                                            std::string(program.module->text(value.symbol)) + "'"}),
          place.variable->loc));
    }
  }
  return diag::success();
}

void read_directives(Program& program) {
  const auto fill = [](u32(&to)[3], const std::vector<std::int64_t>& values) {
    for (std::size_t i = 0; i < 3; ++i) {
      to[i] = i < values.size() ? static_cast<u32>(values[i]) : 1U;
    }
  };
  for (const ir::Directive& directive : program.function->directives) {
    const std::string_view name = program.module->text(directive.name);
    if (name == "reqntid") fill(program.required_threads, directive.values);
    if (name == "reqnctapercluster") fill(program.required_cluster, directive.values);
    if (name == "maxntid") {
      u32 threads[3];
      fill(threads, directive.values);
      const u64 most = u64{threads[0]} * threads[1];
      program.maximum_threads =
          static_cast<u32>(std::min<u64>(most, ~0U) * threads[2] > ~0U ? ~0U : most * threads[2]);
    }
  }
}

}  // namespace

diag::Result<std::shared_ptr<const Program>> decode(std::shared_ptr<const ir::Module> module,
                                                    std::string_view entry) try {
  auto program = std::make_shared<Program>();
  program->function = module->entry(entry);
  program->module = std::move(module);
  if (program->function == nullptr) {
    return diag::fail(diag::Kind::EmuNoEntry, {std::string(entry)});
  }
  if (diag::Status readable = check_readable(*program->module, *program->function); !readable) {
    return readable.failure();
  }
  auto targets = label_targets(*program->module, *program->function);
  if (!targets) return targets.failure();
  read_directives(*program);
  Decoder decoder(*program, *targets);
  diag::Status status = decoder.run();
  if (status) status = check_initializers(*program);
  if (!status) return status.failure();
  add_guards(*program);
  return std::shared_ptr<const Program>(std::move(program));
} catch (const std::bad_alloc&) {
  return diag::fail(diag::current_exception());
} catch (const std::length_error&) {
  return diag::fail(diag::current_exception());
}

std::unordered_map<u32, const PlacedVariable*> Program::addressable() const {
  std::unordered_map<u32, const PlacedVariable*> places;
  for (const PlacedVariable& place : variables) {
    if (place.space != Space::Global && place.space != Space::Const) continue;
    places.emplace(static_cast<u32>(place.variable->name), &place);
  }
  return places;
}

std::span<const ParamPlace> params(const Program& program) { return program.parameters; }

}  // namespace pyptx::emu
