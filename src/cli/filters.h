// Which pods and containers a list shows.
#ifndef PLIMSOLL_CLI_FILTERS_H_
#define PLIMSOLL_CLI_FILTERS_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/api.h"

namespace plimsoll::cli {

// All that are given must match; empty ones match everything.
struct ListFilters {
  std::string name;
  std::string pod_namespace;
  std::string state;                // "running"
  std::vector<std::string> labels;  // "app=web", or "app": has it, whatever its value
};

// The options --name, --namespace, --state and --label.
void AddFilterOptions(CLI::App& list, const std::vector<std::string>& states, ListFilters* filters);

// "Running", "Exited": as tables show it. Of pods "Ready", "Stopped".
const char* StateText(cri::ContainerState state);
const char* StateText(cri::PodSandboxState state);

bool Matches(const ListFilters& filters, const cri::PodSandbox& pod);
// `pod`: of the container, null where it has gone. A label is the container's or its pod's.
bool Matches(const ListFilters& filters, const cri::Container& container,
             const cri::PodSandbox* pod);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_FILTERS_H_
