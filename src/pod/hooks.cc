#include "pod/hooks.h"

#include <algorithm>
#include <variant>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/printable.h"
#include "base/status.h"

namespace plimsoll::pod {
namespace {

constexpr absl::Duration kLookWhileAsleep = absl::Milliseconds(50);
// Of a failed command's words.
constexpr size_t kMostWords = 200;

absl::Status RunCommand(Client& client, const std::string& container_id, const ExecAction& hook,
                        int64_t timeout_s) {
  PLIMSOLL_ASSIGN_OR_RETURN(const cri::ExecSyncResponse response,
                            client.ExecSync(container_id, hook.command, timeout_s));
  if (response.exit_code() == 0) return absl::OkStatus();
  const std::string words(absl::StripAsciiWhitespace(response.stderr().substr(0, kMostWords)));
  return absl::FailedPreconditionError(
      absl::StrCat(Printable(hook.command.front()), " ended with exit code ", response.exit_code(),
                   words.empty() ? "" : absl::StrCat(": ", Printable(words))));
}

}  // namespace

bool CanRun(const Action& hook) {
  return std::holds_alternative<ExecAction>(hook) || std::holds_alternative<SleepAction>(hook);
}

absl::Status RunHook(Client& client, const std::string& container_id, const Action& hook,
                     int64_t timeout_s, const std::function<bool()>& enough) {
  if (const auto* command = std::get_if<ExecAction>(&hook)) {
    return RunCommand(client, container_id, *command, timeout_s);
  }
  const auto* sleep = std::get_if<SleepAction>(&hook);
  if (sleep == nullptr) return absl::UnimplementedError("only commands and sleep run here");
  const int64_t seconds = timeout_s == 0 ? sleep->seconds : std::min(sleep->seconds, timeout_s);
  const absl::Time end = absl::Now() + absl::Seconds(seconds);
  while (absl::Now() < end && !enough()) absl::SleepFor(kLookWhileAsleep);
  return absl::OkStatus();
}

}  // namespace plimsoll::pod
