#include "agent/api/pod_api.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/api/log_stream.h"
#include "agent/api/parameters.h"
#include "agent/http/target.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "pod_runner/manifest/objects.h"

namespace plimsoll::agent {
namespace {

// The same bound as that of terminationGracePeriodSeconds.
constexpr int64_t kMaxGraceSeconds = 86400;

using Json = nlohmann::json;

constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kPodName[] = "metadata.name";
constexpr char kEventSubject[] = "involvedObject.name";

// A request whose route is known.
struct Call {
  PodService* pods;
  const Pages& pages;
  const HttpRequest& request;
  Parameters parameters;
  std::string pod_namespace;  // of the path, or empty
  std::string name;           // likewise
  Answer& answer;

  PodKey pod() const { return {pod_namespace, name}; }
};

Json ListOf(const char* kind, std::vector<Json> items) {
  return {{"kind", kind},
          {"apiVersion", "v1"},
          {"metadata", Json::object()},
          {"items", std::move(items)}};
}

std::string NameOf(const Json& object) {
  return object.value("metadata", Json::object()).value("name", "");
}

const char* WordFor(PodService::Change change) {
  switch (change) {
    case PodService::Change::kAdded:
      return "ADDED";
    case PodService::Change::kModified:
      return "MODIFIED";
    case PodService::Change::kDeleted:
      return "DELETED";
  }
  return "MODIFIED";
}

absl::Status Watch(const Call& call, const std::string& name) {
  if (!call.answer.Begin(kJsonType, /*lasting=*/true)) return absl::OkStatus();
  call.pods->Watch(call.pod_namespace, [&](PodService::Change change, const Json* pod) {
    if (pod == nullptr || (!name.empty() && NameOf(*pod) != name)) {
      return call.answer.Rest(absl::ZeroDuration());
    }
    const Json line = {{"type", WordFor(change)}, {"object", *pod}};
    return call.answer.Write(
        absl::StrCat(line.dump(-1, ' ', false, Json::error_handler_t::replace), "\n"));
  });
  call.answer.End();
  return absl::OkStatus();
}

absl::Status List(const Call& call) {
  PLIMSOLL_ASSIGN_OR_RETURN(const bool watch, call.parameters.Flag("watch"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string name, call.parameters.Selected(kPodName));
  if (watch) return Watch(call, name);
  std::vector<Json> pods = call.pods->List(call.pod_namespace);
  if (!name.empty()) std::erase_if(pods, [&](const Json& pod) { return NameOf(pod) != name; });
  call.answer.Send(ListOf("PodList", std::move(pods)));
  return absl::OkStatus();
}

absl::Status Apply(const Call& call) {
  if (call.request.body.empty()) {
    return absl::InvalidArgumentError("the request has no body: it must be a manifest");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string file, call.parameters.Text("file"));
  PLIMSOLL_ASSIGN_OR_RETURN(
      std::vector<Json> pods,
      call.pods->Apply(call.request.body, file.empty() ? "manifest" : Printable(file)));
  call.answer.Send(ListOf("PodList", std::move(pods)));
  return absl::OkStatus();
}

absl::Status Get(const Call& call) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Json pod, call.pods->Get(call.pod()));
  call.answer.Send(pod);
  return absl::OkStatus();
}

absl::Status Delete(const Call& call) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto grace_s, call.parameters.Number("gracePeriodSeconds"));
  if (grace_s.value_or(0) > kMaxGraceSeconds) {
    return absl::InvalidArgumentError(
        absl::StrCat("gracePeriodSeconds is ", *grace_s, "; at most ", kMaxGraceSeconds));
  }
  PLIMSOLL_RETURN_IF_ERROR(call.pods->Delete(call.pod(), grace_s));
  call.answer.Send({{"kind", "Status"},
                    {"apiVersion", "v1"},
                    {"metadata", Json::object()},
                    {"status", "Success"},
                    {"details", {{"kind", "pods"}, {"name", call.name}}}});
  return absl::OkStatus();
}

absl::Status Log(const Call& call) {
  const Parameters& given = call.parameters;
  LogRequest request;
  request.pod = call.pod();
  PLIMSOLL_ASSIGN_OR_RETURN(request.container, given.Text("container"));
  PLIMSOLL_ASSIGN_OR_RETURN(request.follow, given.Flag("follow"));
  PLIMSOLL_ASSIGN_OR_RETURN(request.previous, given.Flag("previous"));
  PLIMSOLL_ASSIGN_OR_RETURN(request.timestamps, given.Flag("timestamps"));
  PLIMSOLL_ASSIGN_OR_RETURN(request.tail_lines, given.Number("tailLines"));
  SendLog(*call.pods, request, call.answer);
  return absl::OkStatus();
}

absl::Status Exec(const Call& call) {
  const Parameters& given = call.parameters;
  const std::vector<std::string> command = given.All("command");
  if (command.empty()) {
    return absl::InvalidArgumentError(
        "no command: parameter command gives one word of it, as ?command=ls&command=-l");
  }
  if (!std::all_of(command.begin(), command.end(), pod::IsText)) {
    return absl::InvalidArgumentError(
        "parameter command is no UTF-8 text without NUL, as the runtime's protocol needs it");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string container, given.Text("container"));
  PLIMSOLL_ASSIGN_OR_RETURN(const bool input, given.Flag("stdin"));
  PLIMSOLL_ASSIGN_OR_RETURN(const bool terminal, given.Flag("tty"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string url,
                            call.pods->ExecUrl(call.pod(), container, command, input, terminal));
  call.answer.Send({{"url", url}});
  return absl::OkStatus();
}

// No Pod is nested deeper, and JSON's own functions recurse.
constexpr int kMostDepth = 32;

absl::Status Resize(const Call& call) {
  bool is_deep = false;
  const Json patch = Json::parse(
      call.request.body,
      [&is_deep](int depth, Json::parse_event_t, Json&) {
        is_deep = is_deep || depth > kMostDepth;
        return !is_deep;
      },
      /*allow_exceptions=*/false);
  if (is_deep) {
    return absl::InvalidArgumentError(
        absl::StrCat("the body is nested deeper than ", kMostDepth, " levels; a Pod is not"));
  }
  if (!patch.is_object()) {
    return absl::InvalidArgumentError(
        "the body must be a JSON object: a Pod with the containers' names and new resources");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const Json pod, call.pods->Resize(call.pod(), patch));
  call.answer.Send(pod);
  return absl::OkStatus();
}

absl::Status Node(const Call& call) {
  call.answer.Send(call.pods->Node());
  return absl::OkStatus();
}

absl::Status Events(const Call& call) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string name, call.parameters.Selected(kEventSubject));
  std::optional<PodKey> pod;
  if (!name.empty()) {
    if (call.pod_namespace.empty()) {
      return absl::InvalidArgumentError(
          "a selector needs the pod's namespace, as in /api/v1/namespaces/default/events");
    }
    pod = {call.pod_namespace, name};
  }
  std::vector<Json> events = call.pods->Events(pod);
  if (!call.pod_namespace.empty()) {
    std::erase_if(events, [&](const Json& event) {
      return event.value("involvedObject", Json::object()).value("namespace", "") !=
             call.pod_namespace;
    });
  }
  call.answer.Send(ListOf("EventList", std::move(events)));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Json>> ReadQuotas(const Call& call) {
  if (!call.pages.quotas) return absl::NotFoundError("this agent has no quotas");
  return call.pages.quotas(call.pod_namespace);
}

absl::Status ListQuotas(const Call& call) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<Json> quotas, ReadQuotas(call));
  call.answer.Send(ListOf("ResourceQuotaList", std::move(quotas)));
  return absl::OkStatus();
}

absl::Status GetQuota(const Call& call) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<Json> quotas, ReadQuotas(call));
  for (const Json& each : quotas) {
    if (NameOf(each) != call.name) continue;
    call.answer.Send(each);
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat("no ResourceQuota ", call.pod_namespace, "/", call.name));
}

absl::Status Health(const Call& call) {
  if (!call.pages.health) return absl::NotFoundError("this agent has no /healthz");
  const absl::Status health = call.pages.health();
  call.answer.SendText(health.ok() ? 200 : 503, kTextType,
                       health.ok() ? "ok\n" : absl::StrCat(health.message(), "\n"));
  return absl::OkStatus();
}

absl::Status Metrics(const Call& call) {
  if (!call.pages.metrics) return absl::NotFoundError("this agent has no /metrics");
  call.answer.SendText(200, kMetricsType, call.pages.metrics());
  return absl::OkStatus();
}

absl::Status Configuration(const Call& call) {
  if (!call.pages.config) return absl::NotFoundError("this agent has no /configz");
  call.answer.Send(call.pages.config());
  return absl::OkStatus();
}

absl::Status Allocations(const Call& call) {
  if (!call.pages.allocations) return absl::NotFoundError("this agent has no /allocations");
  call.answer.Send(call.pages.allocations());
  return absl::OkStatus();
}

struct Route {
  std::string method;
  std::vector<std::string> path;  // "{namespace}" and "{name}" stand for any component
  std::vector<std::string> parameters;
  absl::Status (*serve)(const Call&);

  Route(std::string verb, absl::string_view pattern, std::vector<std::string> known,
        absl::Status (*function)(const Call&))
      : method(std::move(verb)),
        path(absl::StrSplit(pattern, '/', absl::SkipEmpty())),
        parameters(std::move(known)),
        serve(function) {}
};

const std::vector<Route>& Routes() {
  static const auto* const routes = new std::vector<Route>{
      {"GET", "api/v1/pods", {"watch", "fieldSelector"}, List},
      {"POST", "api/v1/pods", {"file"}, Apply},
      {"GET", "api/v1/namespaces/{namespace}/pods", {"watch", "fieldSelector"}, List},
      {"GET", "api/v1/namespaces/{namespace}/pods/{name}", {}, Get},
      {"DELETE", "api/v1/namespaces/{namespace}/pods/{name}", {"gracePeriodSeconds"}, Delete},
      {"GET",
       "api/v1/namespaces/{namespace}/pods/{name}/log",
       {"container", "follow", "previous", "tailLines", "timestamps"},
       Log},
      {"POST",
       "api/v1/namespaces/{namespace}/pods/{name}/exec",
       {"command", "container", "stdin", "tty"},
       Exec},
      {"PATCH", "api/v1/namespaces/{namespace}/pods/{name}/resize", {}, Resize},
      {"GET", "api/v1/node", {}, Node},
      {"GET", "api/v1/events", {"fieldSelector"}, Events},
      {"GET", "api/v1/namespaces/{namespace}/events", {"fieldSelector"}, Events},
      {"GET", "api/v1/resourcequotas", {}, ListQuotas},
      {"GET", "api/v1/namespaces/{namespace}/resourcequotas", {}, ListQuotas},
      {"GET", "api/v1/namespaces/{namespace}/resourcequotas/{name}", {}, GetQuota},
      {"GET", "healthz", {}, Health},
      {"GET", "metrics", {}, Metrics},
      {"GET", "configz", {}, Configuration},
      {"GET", "allocations", {}, Allocations}};
  return *routes;
}

bool IsPlaceholder(const std::string& component) {
  return component == "{namespace}" || component == "{name}";
}

bool Fits(const Route& route, const std::vector<std::string>& path) {
  if (route.path.size() != path.size()) return false;
  for (size_t i = 0; i < path.size(); ++i) {
    if (!IsPlaceholder(route.path[i]) && route.path[i] != path[i]) return false;
  }
  return true;
}

std::string ValueOf(const char* placeholder, const Route& route,
                    const std::vector<std::string>& path) {
  for (size_t i = 0; i < path.size(); ++i) {
    if (route.path[i] == placeholder) return path[i];
  }
  return "";
}

// The route of the request; nullptr: there is none, and the answer says so.
const Route* FindRoute(const std::string& method, const std::vector<std::string>& path,
                       Answer& answer) {
  std::vector<std::string> methods;
  for (const Route& route : Routes()) {
    if (!Fits(route, path)) continue;
    if (route.method == method) return &route;
    methods.push_back(route.method);
  }
  if (methods.empty()) {
    answer.Fail(absl::NotFoundError(
        absl::StrCat("no such path: /", absl::CHexEscape(absl::StrJoin(path, "/")))));
    return nullptr;
  }
  const std::string allowed = absl::StrJoin(methods, ", ");
  answer.Fail({405, "MethodNotAllowed",
               absl::StrCat("/", absl::StrJoin(path, "/"), " takes ", allowed, " and not ",
                            absl::CHexEscape(method))},
              {absl::StrCat("Allow: ", allowed)});
  return nullptr;
}

// An object of another shape than v1's, or one without room in memory, must not end the agent.
absl::Status ServeRoute(const Route& route, const Call& call) {
  try {
    return route.serve(call);
  } catch (const Json::exception& error) {
    return absl::InternalError(absl::StrCat("an object of the agent's: ", error.what()));
  } catch (const std::exception& error) {
    return absl::ResourceExhaustedError(absl::StrCat("the request failed: ", error.what()));
  }
}

}  // namespace

void PodApi::Serve(const HttpRequest& request, Answer& answer) const {
  absl::StatusOr<Target> target = ParseTarget(request.target);
  if (!target.ok()) return answer.Fail(target.status());
  const Route* const route = FindRoute(request.method, target->path, answer);
  if (route == nullptr) return;
  const Call call = {.pods = pods_,
                     .pages = pages_,
                     .request = request,
                     .parameters = Parameters(std::move(target->query)),
                     .pod_namespace = ValueOf("{namespace}", *route, target->path),
                     .name = ValueOf("{name}", *route, target->path),
                     .answer = answer};
  absl::Status served = call.parameters.CheckNames(route->parameters);
  if (served.ok()) served = ServeRoute(*route, call);
  if (!served.ok()) answer.Fail(served);
}

}  // namespace plimsoll::agent
