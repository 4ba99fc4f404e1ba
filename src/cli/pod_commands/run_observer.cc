#include "cli/pod_commands/run_observer.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text/printable.h"
#include "cli/terminal/text.h"

namespace plimsoll::cli {

std::string LoopbackAlone(absl::string_view fault) {
  return absl::StrCat("note: has loopback alone (", Printable(fault), ")");
}

void RunObserver::Say(absl::string_view text) {
  logs_.Say(absl::StrCat("pod ", options_.pod, ": ", text));
}

void RunObserver::OnPlan(const std::vector<std::string>& containers) {
  for (const std::string& name : containers) {
    logs_.ReserveWidth(options_.prefix.size() + name.size());
  }
}

void RunObserver::OnLogOpen(const std::string& container, const std::string& path) {
  if (!options_.show_logs) return;
  handles_[container] = logs_.Add(absl::StrCat(options_.prefix, container), path);
}

void RunObserver::OnLogEnd(const std::string& container) {
  const auto handle = handles_.find(container);
  if (handle == handles_.end()) return;
  logs_.Finish(handle->second);
  handles_.erase(handle);
}

void RunObserver::OnStartRefused(const std::string& /*container*/, absl::string_view message) {
  Say(Printable(message));  // it names the container
}

void RunObserver::OnRestart(const std::string& container, int exit_code, absl::Duration delay) {
  Say(absl::StrCat("container ", container, " ended with exit code ", exit_code,
                   "; restarting it in ", absl::FormatDuration(delay)));
}

void RunObserver::OnRestartLost(const std::string& container, absl::Duration delay) {
  Say(absl::StrCat("container ", container, " got no answer as it was restarted; again in ",
                   absl::FormatDuration(delay)));
}

void RunObserver::OnLoopbackAlone(absl::string_view fault) {
  Say(LoopbackAlone(fault));
}

void RunObserver::OnWarning(absl::string_view message) {
  Say(absl::StrCat("warning: ", Printable(message)));
}

void RunObserver::OnDeadline(int64_t seconds) {
  Say(absl::StrCat("has run for its activeDeadlineSeconds (", seconds, "), and so it ends"));
}

void RunObserver::OnStop(int64_t grace_s) {
  Say(absl::StrCat("stopping, at most ", grace_s, "s; Ctrl-C again kills"));
}

void RunObserver::OnSlowStop(const std::vector<std::string>& containers, int64_t grace_s) {
  Say(absl::StrCat("waiting up to ", grace_s, "s for container",
                   containers.size() == 1 ? " " : "s ", absl::StrJoin(containers, ", "),
                   " to end after the stop signal; Ctrl-C kills at once"));
}

void RunObserver::OnKill() {
  Say("killing");
}

void RunObserver::OnMayBeLeft() {
  const std::string pod = ShellQuote(options_.pod);
  Say(absl::StrCat("may be left as it is. `plimsoll logs -f ", pod,
                   "` follows it, `plimsoll rm --force ", pod, "` removes it."));
}

}  // namespace plimsoll::cli
