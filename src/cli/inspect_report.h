// What `plimsoll inspect` tells.
#ifndef PLIMSOLL_CLI_INSPECT_REPORT_H_
#define PLIMSOLL_CLI_INSPECT_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "cli/api.h"

namespace plimsoll::cli {

// A line each, "name:   value". The responses are verbose ones. Values of environment variables,
// which may be secrets, are left out unless `show_values`: the names stand alone.
//
// `pod` null: nothing of its pod is told. `image`: empty where it has gone; what the container left
// to it (command, variables) is then left out.
std::string DescribeContainer(const cri::ContainerStatusResponse& response,
                              const cri::PodSandboxStatusResponse* pod,
                              const cri::ImageStatusResponse& image, bool show_values);
std::string DescribePod(const cri::PodSandboxStatusResponse& response);

// Makes the values of environment variables null, in a ContainerStatusResponse of MessageJson.
void HideValues(nlohmann::ordered_json& status);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_INSPECT_REPORT_H_
