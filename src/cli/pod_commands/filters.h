// Filters of the lists of pods and containers.
#ifndef PLIMSOLL_CLI_POD_COMMANDS_FILTERS_H_
#define PLIMSOLL_CLI_POD_COMMANDS_FILTERS_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/terminal/api.h"

namespace plimsoll::cli {

// An object must match all filters; an empty filter matches everything.
struct ListFilters {
  std::string name;
  std::string pod_namespace;
  std::string state;                // "running"
  std::vector<std::string> labels;  // "app=web", or "app" for any value
};

// Adds the options --name, --namespace, --state and --label.
void AddFilterOptions(CLI::App& list, const std::vector<std::string>& states, ListFilters* filters);

// "Running" or "Exited" for containers, "Ready" or "Stopped" for pods, as in tables.
const char* StateText(cri::ContainerState state);
const char* StateText(cri::PodSandboxState state);

bool Matches(const ListFilters& filters, const cri::PodSandbox& pod);
// `pod` is the container's, null where it was removed. Labels of both count.
bool Matches(const ListFilters& filters, const cri::Container& container,
             const cri::PodSandbox* pod);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_POD_COMMANDS_FILTERS_H_
