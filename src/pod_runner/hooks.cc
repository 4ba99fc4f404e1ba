#include "pod_runner/hooks.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "base/steady_time.h"
#include "base/text/printable.h"
#include "dial/http_get.h"
#include "pod_runner/cri_requests/host.h"

namespace plimsoll::pod {
namespace {

constexpr absl::Duration kLookWhileAsleep = absl::Milliseconds(50);
// kubelet's client gives up a GET then.
constexpr int64_t kMostGetSeconds = 60;
// The part of a failed command's output that is shown.
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

absl::StatusOr<std::string> AddressOf(Client& client, const std::string& sandbox_id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto status, client.PodSandboxStatus(sandbox_id));
  const std::string& ip = status.status().network().ip();
  if (!ip.empty()) return ip;
  if (status.status().linux().namespaces().options().network() == cri::NODE) {
    return HostIps().front();
  }
  return absl::FailedPreconditionError("the pod has no address");
}

absl::Status RunGet(Client& client, const std::string& sandbox_id, const HttpGetAction& hook,
                    int64_t timeout_s, const std::function<bool()>& enough) {
  dial::HttpGetRequest request;
  request.host = hook.host;
  if (request.host.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(request.host, AddressOf(client, sandbox_id));
  }
  request.tls = hook.scheme == "HTTPS";
  request.port = static_cast<uint16_t>(hook.port);
  request.path = hook.path;
  request.headers = hook.headers;
  request.user_agent = "kube-lifecycle/plimsoll";
  const int64_t seconds = timeout_s == 0 ? kMostGetSeconds : std::min(timeout_s, kMostGetSeconds);
  const absl::Status status =
      dial::HttpGet(std::move(request),
                    {.deadline = SteadyAfter(absl::Seconds(seconds)), .given_up = enough})
          .status();
  // The GET was given up by `enough`, like a sleep.
  if (absl::IsCancelled(status)) return absl::OkStatus();
  // UNAVAILABLE is the runtime's.
  if (absl::IsUnavailable(status)) return absl::FailedPreconditionError(status.message());
  return status;
}

}  // namespace

absl::Status RunHook(Client& client, const HookTarget& target, const Action& hook,
                     int64_t timeout_s, const std::function<bool()>& enough) {
  if (const auto* command = std::get_if<ExecAction>(&hook)) {
    return RunCommand(client, target.container_id, *command, timeout_s);
  }
  if (const auto* get = std::get_if<HttpGetAction>(&hook)) {
    return RunGet(client, target.sandbox_id, *get, timeout_s, enough);
  }
  const auto* sleep = std::get_if<SleepAction>(&hook);
  if (sleep == nullptr) return absl::InvalidArgumentError("a hook runs exec, httpGet or sleep");
  const int64_t seconds = timeout_s == 0 ? sleep->seconds : std::min(sleep->seconds, timeout_s);
  const absl::Time end = absl::Now() + absl::Seconds(seconds);
  while (absl::Now() < end && !enough()) absl::SleepFor(kLookWhileAsleep);
  return absl::OkStatus();
}

}  // namespace plimsoll::pod
