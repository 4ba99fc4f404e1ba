#include "runtime/updates/handler_updates.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/programs/subprocess.h"
#include "base/status.h"
#include "runtime/handlers/handler.h"
#include "runtime/handlers/pod_size.h"
#include "runtime/objects/sandbox_place.h"
#include "runtime/requests/pod_picture.h"

namespace plimsoll::runtime {
namespace {

using Json = nlohmann::ordered_json;

Json Parsed(const std::string& json) {
  return Json::parse(json, nullptr, /*allow_exceptions=*/false);
}

// The command's input.
std::string WantedText(const SandboxRecord& sandbox, const PodSize& size,
                       const PodPicture& picture) {
  Json told = {{"id", sandbox.id},
               {"name", sandbox.spec.name},
               {"namespace", sandbox.spec.pod_namespace},
               {"uid", sandbox.spec.uid},
               {"runtime_handler", sandbox.spec.runtime_handler}};
  if (!sandbox.spec.update_annotations.empty()) {
    told["annotations"] = sandbox.spec.update_annotations;
  }
  told["size"] = Parsed(ToJson(size));
  told.update(Parsed(ToJson(picture)));
  return told.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

absl::StatusOr<std::shared_ptr<Sandbox>> HandlerUpdates::SandboxThatTakesTurns(
    absl::string_view id) const {
  const absl::StatusOr<std::shared_ptr<Sandbox>> sandbox = objects_->FindSandbox(id);
  if (!sandbox.ok()) return nullptr;
  PLIMSOLL_ASSIGN_OR_RETURN(const bool takes_turns, handlers_->TakesTurns((*sandbox)->Snapshot()));
  return takes_turns ? *sandbox : nullptr;
}

absl::Status HandlerUpdates::Mark(const Wanted& wanted, const PodSize& size) const {
  return options_.run.ReplaceFile(
      WantedFileOf(wanted.sandbox.id),
      WantedText(wanted.sandbox, size, pictures_->Of(wanted.sandbox, wanted.also)), 0600);
}

void HandlerUpdates::Unmark(const std::string& sandbox_id) const {
  options_.run.RemoveFile(WantedFileOf(sandbox_id)).IgnoreError();  // usually there is none
}

absl::Status HandlerUpdates::Run(const Handler& handler, const Wanted& wanted, const PodSize& size,
                                 HandlerTurn& turn, bool* ran) const {
  *ran = false;
  PLIMSOLL_RETURN_IF_ERROR(Mark(wanted, size));
  Command command;
  command.argv = handler.update_command;
  command.argv.push_back(options_.run.PathOf(WantedFileOf(wanted.sandbox.id)));
  RunLimits limits = {.timeout = absl::Seconds(handler.update_timeout_seconds)};
  limits.cancellation = turn.cancellation();
  const absl::Status done = RunChecked(std::move(command), limits).status();
  // A command that failed may have acted before; the error of a failed start has an errno.
  *ran = ErrnoOf(done) == 0;
  if (done.ok()) return absl::OkStatus();
  if (absl::IsCancelled(done)) return turn.status();
  const std::string why = absl::StrCat("the update command of runtime handler ",
                                       wanted.sandbox.spec.runtime_handler, ": ", done.message());
  return absl::IsDeadlineExceeded(done) ? absl::DeadlineExceededError(why)
                                        : absl::FailedPreconditionError(why);
}

absl::Status HandlerUpdates::ReportBefore(const SandboxRecord& now, const Wanted& wanted,
                                          HandlerTurn& turn, SizeReport* report) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Handler* handler, handlers_->Find(wanted.sandbox));
  if (handler == nullptr || handler->update_command.empty()) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const PodSize after,
                            handlers_->SizeOf(*handler, wanted.sandbox, wanted.also));
  PLIMSOLL_ASSIGN_OR_RETURN(const PodSize before, handlers_->SizeOf(*handler, now, nullptr));
  const PodSize meanwhile = LargerOf(before, after);
  // With an older mark, the size reported last is unknown.
  report->is_marked = !options_.run.Exists(WantedFileOf(now.id));
  report->is_less = !(meanwhile == after);
  if (report->is_less && meanwhile == before && report->is_marked) return Mark(wanted, before);
  return Run(*handler, wanted, meanwhile, turn, &report->ran);
}

void HandlerUpdates::Close(const std::string& sandbox_id, bool is_made, SizeReport* report) const {
  report->is_due = is_made ? report->is_less : report->ran;
  if (report->is_due) return;
  if (is_made ? report->ran : report->is_marked) Unmark(sandbox_id);
}

void HandlerUpdates::ReportCurrent(const std::string& sandbox_id,
                                   const std::string& container_id) const {
  const absl::StatusOr<std::shared_ptr<Sandbox>> sandbox = objects_->FindSandbox(sandbox_id);
  if (!sandbox.ok()) return;
  HandlerTurn turn((*sandbox)->turns, (*sandbox)->id);
  const SandboxRecord record = (*sandbox)->Snapshot();
  // A pod that is being stopped has no size to go back to. Another update may have told the handler
  // by now.
  if (!turn.status().ok() || record.state != SandboxState::kReady) return;
  if (!options_.run.Exists(WantedFileOf(record.id))) return;
  const absl::Status told = ReportSize(record, turn);
  if (told.ok()) return Unmark(record.id);
  if (turn.status().ok()) {
    options_.events->Warn(
        record.id, container_id,
        Annotate(told,
                 "tell the runtime handler the pod's present resources (the next update or "
                 "start of the daemon tries again)"));
  }
}

absl::Status HandlerUpdates::ReportSize(const SandboxRecord& record, HandlerTurn& turn) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Handler* handler, handlers_->Find(record));
  if (handler == nullptr || handler->update_command.empty()) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const PodSize size, handlers_->SizeOf(*handler, record, nullptr));
  bool ran = false;
  return Run(*handler, {record}, size, turn, &ran);
}

void HandlerUpdates::ReportCurrentLater(const std::string& sandbox_id) {
  if (!options_.run.Exists(WantedFileOf(sandbox_id))) return;
  const auto tell = [this, sandbox_id] { ReportCurrent(sandbox_id, ""); };
  if (!tellers_.TrySchedule(tell)) tell();
}

std::shared_ptr<HandlerTurns> HandlerUpdates::TurnsOf(const Container& container) const {
  const absl::StatusOr<std::shared_ptr<Sandbox>> sandbox =
      objects_->FindSandbox(container.sandbox_id);
  return sandbox.ok() ? (*sandbox)->turns : nullptr;
}

void HandlerUpdates::CallOffAll() {
  absl::MutexLock lock(&mutex_);
  for (const auto& sandbox : objects_->Sandboxes()) {
    called_off_.emplace_back(sandbox->turns, sandbox->id);
  }
}

}  // namespace plimsoll::runtime
