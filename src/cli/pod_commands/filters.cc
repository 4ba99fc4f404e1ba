#include "cli/pod_commands/filters.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace plimsoll::cli {
namespace {

template <typename Labels>
bool HasLabel(const Labels& labels, const std::string& wanted) {
  const size_t equals = wanted.find('=');
  const auto found = labels.find(wanted.substr(0, equals));
  return found != labels.end() &&
         (equals == std::string::npos || found->second == wanted.substr(equals + 1));
}

bool IsOrUnset(const std::string& wanted, const std::string& has) {
  return wanted.empty() || wanted == has;
}

}  // namespace

void AddFilterOptions(CLI::App& list, const std::vector<std::string>& states,
                      ListFilters* filters) {
  list.add_option("--name", filters->name, "Only those with this name")->type_name("NAME");
  list.add_option("--namespace", filters->pod_namespace, "Only those of pods in this namespace")
      ->type_name("NAMESPACE");
  list.add_option("--state", filters->state, "Only those in this state")
      ->check(CLI::IsMember(states, CLI::ignore_case));
  list.add_option("-l,--label", filters->labels,
                  "Only those with this label, or with any value of it; may be given several times")
      ->type_name("KEY[=VALUE]")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false);
}

const char* StateText(cri::ContainerState state) {
  switch (state) {
    case cri::CONTAINER_CREATED:
      return "Created";
    case cri::CONTAINER_RUNNING:
      return "Running";
    case cri::CONTAINER_EXITED:
      return "Exited";
    default:
      return "Unknown";
  }
}

const char* StateText(cri::PodSandboxState state) {
  return state == cri::SANDBOX_READY ? "Ready" : "Stopped";
}

bool Matches(const ListFilters& filters, const cri::PodSandbox& pod) {
  return IsOrUnset(filters.name, pod.metadata().name()) &&
         IsOrUnset(filters.pod_namespace, pod.metadata().namespace_()) &&
         (filters.state.empty() || absl::EqualsIgnoreCase(filters.state, StateText(pod.state()))) &&
         absl::c_all_of(filters.labels,
                        [&pod](const std::string& label) { return HasLabel(pod.labels(), label); });
}

bool Matches(const ListFilters& filters, const cri::Container& container,
             const cri::PodSandbox* pod) {
  const std::string pod_namespace = pod == nullptr ? "" : pod->metadata().namespace_();
  return IsOrUnset(filters.name, container.metadata().name()) &&
         IsOrUnset(filters.pod_namespace, pod_namespace) &&
         (filters.state.empty() ||
          absl::EqualsIgnoreCase(filters.state, StateText(container.state()))) &&
         absl::c_all_of(filters.labels, [&container, pod](const std::string& label) {
           return HasLabel(container.labels(), label) ||
                  (pod != nullptr && HasLabel(pod->labels(), label));
         });
}

}  // namespace plimsoll::cli
