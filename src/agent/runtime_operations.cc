#include "agent/runtime_operations.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

namespace plimsoll::agent {
namespace {

constexpr CounterKind kOperations = {"kubelet_runtime_operations_total", "Calls of the runtime.",
                                     "operation_type"};
constexpr CounterKind kOperationErrors = {"kubelet_runtime_operations_errors_total",
                                          "Calls of the runtime that failed.", "operation_type"};
// kubelet's: fourteen, each 2.5 times the one before.
constexpr double kOperationBounds[] = {0.005,
                                       0.0125,
                                       0.03125,
                                       0.078125,
                                       0.1953125,
                                       0.48828125,
                                       1.220703125,
                                       3.0517578125,
                                       7.62939453125,
                                       19.073486328125,
                                       47.6837158203125,
                                       119.20928955078125,
                                       298.023223876953125,
                                       745.0580596923828125};
constexpr TimerKind kOperationTimes = {{"kubelet_runtime_operations_duration_seconds",
                                        "Time of a call of the runtime.", "operation_type"},
                                       kOperationBounds};

// Where kubelet's word isn't the method's in small letters.
constexpr std::pair<absl::string_view, absl::string_view> kWords[] = {
    {"RunPodSandbox", "run_podsandbox"},
    {"StopPodSandbox", "stop_podsandbox"},
    {"RemovePodSandbox", "remove_podsandbox"},
    {"PodSandboxStatus", "podsandbox_status"},
    {"ListPodSandbox", "list_podsandbox"},
    {"UpdateContainerResources", "update_container"},
    {"UpdatePodSandboxResources", "update_podsandbox"},
    {"PodSandboxStats", "podsandbox_stats"},
    {"ListPodSandboxStats", "list_podsandbox_stats"}};

}  // namespace

std::string OperationType(absl::string_view request) {
  absl::ConsumeSuffix(&request, "Request");
  for (const auto& [method, word] : kWords) {
    if (method == request) return std::string(word);
  }
  std::string word;
  for (const char letter : request) {
    if (absl::ascii_isupper(letter) && !word.empty()) word += '_';
    word += absl::ascii_tolower(letter);
  }
  return word;
}

void CountOperation(Counters& counters, absl::string_view request, const absl::Status& status,
                    absl::Duration time) {
  const std::string type = OperationType(request);
  counters.Add(kOperations, {type});
  counters.AddTime(kOperationTimes, {type}, time);
  if (!status.ok()) counters.Add(kOperationErrors, {type});
}

pod::ClientOptions CountedCalls(const std::string& address, Counters& counters) {
  pod::ClientOptions options;
  options.address = address;
  options.on_call = [&counters](absl::string_view request, const absl::Status& status,
                                absl::Duration time) {
    CountOperation(counters, request, status, time);
  };
  return options;
}

}  // namespace plimsoll::agent
