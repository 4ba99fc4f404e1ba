#include "agent/client/client.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "agent/http/request.h"
#include "agent/http/response.h"
#include "agent/http/status_object.h"
#include "agent/http/target.h"
#include "base/connection.h"
#include "base/status.h"
#include "base/steady_time.h"

namespace plimsoll::agent {
namespace {

using Json = nlohmann::json;

constexpr char kNoAgentPayload[] = "plimsoll.dev/no-agent";
constexpr char kMayNotConnectPayload[] = "plimsoll.dev/may-not-connect";
// Most of an answer that is kept whole, and of one line of a watch.
constexpr size_t kMaxAnswerBytes = 256 * 1024 * 1024;

std::vector<std::string> PodsPath(const std::string& pod_namespace) {
  if (pod_namespace.empty()) return {"api", "v1", "pods"};
  return {"api", "v1", "namespaces", pod_namespace, "pods"};
}

std::vector<std::string> PodPath(const std::string& pod_namespace, const std::string& name) {
  return {"api", "v1", "namespaces", pod_namespace, "pods", name};
}

absl::Status WhyNoAgent(const absl::Status& status, const std::string& socket) {
  absl::Status told = Annotate(status, absl::StrCat("no agent at ", socket));
  if (absl::IsPermissionDenied(status)) told.SetPayload(kMayNotConnectPayload, absl::Cord());
  if (!absl::IsNotFound(status)) return told;
  told = absl::UnavailableError(told.message());
  told.SetPayload(kNoAgentPayload, absl::Cord());
  return told;
}

absl::Status Unreadable(absl::string_view text) {
  constexpr size_t kShown = 100;
  return absl::UnavailableError(absl::StrCat(
      "the agent's answer is not the JSON that was expected: ", text.substr(0, kShown)));
}

Json ParseJson(absl::string_view text) {
  return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

// The lines of a watch. False: `change` wants no more.
bool TakeLines(std::string* text, const AgentClient::OnChange& change, absl::Status* fault) {
  size_t begin = 0;
  for (size_t end = 0; (end = text->find('\n', begin)) != std::string::npos; begin = end + 1) {
    const absl::string_view line = absl::string_view(*text).substr(begin, end - begin);
    const Json event = ParseJson(line);
    const bool known = event.is_object() && event.contains("object") && event.contains("type") &&
                       event["type"].is_string();
    if (!known) *fault = Unreadable(line);
    if (!known || !change(event["type"].get<std::string>(), event["object"])) return false;
  }
  text->erase(0, begin);
  return true;
}

}  // namespace

AgentClient::AgentClient(AgentClientOptions options)
    : options_(std::move(options)), stop_(eventfd(0, EFD_CLOEXEC)) {}

void AgentClient::Abandon() const {
  const uint64_t one = 1;
  while (write(stop_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
}

absl::Status AgentClient::Rest(absl::Duration time) const {
  pollfd stop = {stop_.get(), POLLIN, 0};
  if (poll(&stop, 1, static_cast<int>(absl::ToInt64Milliseconds(time))) <= 0) {
    return absl::OkStatus();
  }
  return absl::CancelledError("the agent's client was abandoned");
}

absl::Status AgentClient::Run(const Call& call, absl::Duration patience, const Take& take) const {
  absl::StatusOr<UniqueFd> socket = ConnectToSocket(options_.socket);
  if (!socket.ok()) return WhyNoAgent(socket.status(), options_.socket);
  Connection connection(*std::move(socket), stop_.get());
  const std::string request =
      FormatRequest(call.method, FormatTarget({call.path, call.query}), call.body_type, call.body);
  // A server that refuses the request may answer before it has read all of it.
  const absl::Status sent = connection.Send(request, options_.patience);
  if (absl::IsCancelled(sent)) return sent;
  ResponseReader reader;
  std::string input;
  std::string error_body;
  for (bool whole = false; !whole;) {
    const absl::Status received = connection.Receive(SteadyAfter(patience), &input);
    if (absl::IsOutOfRange(received)) {
      PLIMSOLL_RETURN_IF_ERROR(reader.End());
      whole = true;
    } else {
      PLIMSOLL_RETURN_IF_ERROR(received);
      PLIMSOLL_ASSIGN_OR_RETURN(whole, reader.Take(&input));
    }
    if (!reader.header_done()) continue;
    std::string piece = reader.TakeBody();
    if (reader.code() >= 300) {
      error_body += piece;
    } else if (!piece.empty() && !take(std::move(piece))) {
      return absl::OkStatus();
    }
  }
  if (reader.code() >= 300) return StatusOfResponse(reader.code(), error_body);
  return absl::OkStatus();
}

absl::StatusOr<Json> AgentClient::Ask(const Call& call) const {
  std::string text;
  const auto take = [&text](const std::string& piece) {
    text += piece;
    return text.size() <= kMaxAnswerBytes;
  };
  PLIMSOLL_RETURN_IF_ERROR(Run(call, options_.patience, take));
  Json object = ParseJson(text);
  if (!object.is_object()) return Unreadable(text);
  return object;
}

absl::StatusOr<std::vector<Json>> AgentClient::AskForList(const Call& call) const {
  PLIMSOLL_ASSIGN_OR_RETURN(Json list, Ask(call));
  const auto items = list.find("items");
  if (items == list.end() || !items->is_array()) return Unreadable(list.dump());
  return std::vector<Json>(std::make_move_iterator(items->begin()),
                           std::make_move_iterator(items->end()));
}

absl::StatusOr<std::vector<Json>> AgentClient::Apply(absl::string_view manifest,
                                                     const std::string& file) const {
  return AskForList({.method = "POST",
                     .path = PodsPath(""),
                     .query = {{"file", file}},
                     .body_type = "application/yaml",
                     .body = manifest});
}

absl::StatusOr<std::vector<Json>> AgentClient::List(const std::string& pod_namespace) const {
  return AskForList({.method = "GET", .path = PodsPath(pod_namespace)});
}

absl::StatusOr<Json> AgentClient::Get(const std::string& pod_namespace,
                                      const std::string& name) const {
  return Ask({.method = "GET", .path = PodPath(pod_namespace, name)});
}

absl::Status AgentClient::Delete(const std::string& pod_namespace, const std::string& name,
                                 std::optional<int64_t> grace_s) const {
  Call call = {.method = "DELETE", .path = PodPath(pod_namespace, name)};
  if (grace_s.has_value()) call.query = {{"gracePeriodSeconds", absl::StrCat(*grace_s)}};
  return Ask(call).status();
}

absl::StatusOr<Json> AgentClient::Resize(const std::string& pod_namespace, const std::string& name,
                                         const Json& patch) const {
  std::vector<std::string> path = PodPath(pod_namespace, name);
  path.push_back("resize");
  const std::string body = patch.dump();
  return Ask({.method = "PATCH",
              .path = std::move(path),
              .body_type = "application/strategic-merge-patch+json",
              .body = body});
}

absl::Status AgentClient::Watch(const std::string& pod_namespace, const std::string& name,
                                const OnChange& change) const {
  Call call = {.method = "GET", .path = PodsPath(pod_namespace), .query = {{"watch", "true"}}};
  if (!name.empty()) call.query.emplace_back("fieldSelector", absl::StrCat("metadata.name=", name));
  std::string text;
  absl::Status fault;
  bool wanted = true;
  const auto take = [&](const std::string& piece) {
    text += piece;
    wanted = TakeLines(&text, change, &fault);
    return wanted && text.size() <= kMaxAnswerBytes;
  };
  PLIMSOLL_RETURN_IF_ERROR(Run(call, absl::InfiniteDuration(), take));
  PLIMSOLL_RETURN_IF_ERROR(fault);
  return wanted ? absl::UnavailableError("the agent has ended the watch") : absl::OkStatus();
}

absl::StatusOr<Json> AgentClient::Node() const {
  return Ask({.method = "GET", .path = {"api", "v1", "node"}});
}

absl::StatusOr<Json> AgentClient::Config() const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Json object, Ask({.method = "GET", .path = {"configz"}}));
  const auto config = object.find("kubeletconfig");
  if (config == object.end() || !config->is_object()) return Unreadable(object.dump());
  return *config;
}

absl::StatusOr<Json> AgentClient::Allocations() const {
  return Ask({.method = "GET", .path = {"allocations"}});
}

absl::StatusOr<std::vector<Json>> AgentClient::Events(const std::string& pod_namespace,
                                                      const std::string& name) const {
  Call call = {.method = "GET", .path = {"api", "v1", "events"}};
  if (!pod_namespace.empty()) {
    call.path = {"api", "v1", "namespaces", pod_namespace, "events"};
  }
  if (!name.empty()) call.query = {{"fieldSelector", absl::StrCat("involvedObject.name=", name)}};
  return AskForList(call);
}

absl::StatusOr<std::vector<Json>> AgentClient::Quotas(const std::string& pod_namespace) const {
  Call call = {.method = "GET", .path = {"api", "v1", "resourcequotas"}};
  if (!pod_namespace.empty()) {
    call.path = {"api", "v1", "namespaces", pod_namespace, "resourcequotas"};
  }
  return AskForList(call);
}

bool IsNoAgent(const absl::Status& status) {
  return status.GetPayload(kNoAgentPayload).has_value();
}

bool MayNotConnect(const absl::Status& status) {
  return status.GetPayload(kMayNotConnectPayload).has_value();
}

}  // namespace plimsoll::agent
