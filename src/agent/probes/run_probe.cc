#include "agent/probes/run_probe.h"

#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "agent/probes/grpc_health.h"
#include "base/steady_time.h"
#include "base/text/printable.h"
#include "dial/connect.h"
#include "dial/http_get.h"

namespace plimsoll::agent {
namespace {

using Result = ProbeOutcome::Result;

// The bound of a program's or server's words: enough for an event that names the fault.
constexpr size_t kMostProbeWords = 1024;
// kubelet's maxProbeRetries.
constexpr int kTries = 3;
constexpr int kFirstBadCode = 400;
constexpr int kFirstRedirect = 300;

std::string Words(absl::string_view text) {
  return Printable(text.substr(0, kMostProbeWords));
}

// An error of a network: the container doesn't answer as it should.
ProbeOutcome OfNetwork(const absl::Status& status) {
  if (absl::IsCancelled(status)) return {Result::kUnknown, "given up"};
  return {Result::kFailure, Words(status.message())};
}

ProbeOutcome RunCommandProbe(const pod::ExecAction& action, int64_t timeout_s,
                             const ProbeTarget& target, const RunProbeCommand& command) {
  absl::Status failed;
  for (int i = 0; i < kTries; ++i) {
    const absl::StatusOr<ProbeCommandEnd> end =
        command(target.container_id, action.command, timeout_s);
    if (end.ok()) {
      return {end->exit_code == 0 ? Result::kSuccess : Result::kFailure, Words(end->output)};
    }
    if (absl::IsDeadlineExceeded(end.status())) {
      return {Result::kFailure, absl::StrCat("command ", Words(absl::StrJoin(action.command, " ")),
                                             " timed out after ", timeout_s, "s")};
    }
    failed = end.status();
    if (absl::IsCancelled(failed)) break;
  }
  return {Result::kUnknown, Words(failed.message())};
}

ProbeOutcome RunHttpProbe(const pod::HttpGetAction& action, const std::string& address,
                          const dial::Until& until) {
  dial::HttpGetRequest request;
  request.tls = action.scheme == "HTTPS";
  request.host = action.host.empty() ? address : action.host;
  request.port = static_cast<uint16_t>(action.port);
  request.path = action.path;
  request.headers = action.headers;
  request.user_agent = "kube-probe/plimsoll";
  const absl::StatusOr<dial::HttpAnswer> answer = dial::HttpGet(std::move(request), until);
  if (!answer.ok()) return OfNetwork(answer.status());
  if (answer->code >= kFirstBadCode) {
    return {Result::kFailure, absl::StrCat("HTTP probe failed with statuscode: ", answer->code)};
  }
  if (answer->code >= kFirstRedirect) {
    return {Result::kWarning,
            absl::StrCat("Probe terminated redirects, Response body: ", Words(answer->body))};
  }
  return {Result::kSuccess, Words(answer->body)};
}

ProbeOutcome RunTcpProbe(const pod::TcpSocketAction& action, const std::string& address,
                         const dial::Until& until) {
  const absl::Status status = dial::Connect(action.host.empty() ? address : action.host,
                                            static_cast<uint16_t>(action.port), until)
                                  .status();
  if (!status.ok()) return OfNetwork(status);
  return {Result::kSuccess, ""};
}

// The action names no host of its own.
bool NeedsAddress(const pod::Action& action) {
  if (const auto* get = std::get_if<pod::HttpGetAction>(&action)) return get->host.empty();
  if (const auto* tcp = std::get_if<pod::TcpSocketAction>(&action)) return tcp->host.empty();
  return std::holds_alternative<pod::GrpcAction>(action);
}

}  // namespace

ProbeOutcome RunProbe(const pod::Probe& probe, const ProbeTarget& target,
                      const RunProbeCommand& command, const std::function<bool()>& given_up) {
  if (const auto* exec = std::get_if<pod::ExecAction>(&probe.action)) {
    return RunCommandProbe(*exec, probe.timeout_s, target, command);
  }
  if (NeedsAddress(probe.action) && target.address.empty()) {
    return {Result::kFailure, "the pod has no address"};
  }
  const absl::Duration timeout = absl::Seconds(probe.timeout_s);
  const dial::Until until = {.deadline = SteadyAfter(timeout), .given_up = given_up};
  if (const auto* get = std::get_if<pod::HttpGetAction>(&probe.action)) {
    return RunHttpProbe(*get, target.address, until);
  }
  if (const auto* tcp = std::get_if<pod::TcpSocketAction>(&probe.action)) {
    return RunTcpProbe(*tcp, target.address, until);
  }
  if (const auto* grpc = std::get_if<pod::GrpcAction>(&probe.action)) {
    return CheckGrpcHealth(dial::HostAndPort(target.address, static_cast<uint16_t>(grpc->port)),
                           grpc->service, timeout, given_up);
  }
  return {Result::kUnknown, "a probe runs exec, httpGet, tcpSocket or grpc"};
}

}  // namespace plimsoll::agent
