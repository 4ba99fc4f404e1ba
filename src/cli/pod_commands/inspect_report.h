// The text of `plimsoll inspect`.
#ifndef PLIMSOLL_CLI_POD_COMMANDS_INSPECT_REPORT_H_
#define PLIMSOLL_CLI_POD_COMMANDS_INSPECT_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "cli/terminal/api.h"

namespace plimsoll::cli {

// Lines of the form "name:   value", from verbose responses. Environment variables stand without
// their values, which may be secrets, unless `show_values`.
//
// `pod` null: nothing about the pod is said. `image` empty: the image was removed; what the
// container takes from it (command, variables) is left out.
std::string DescribeContainer(const cri::ContainerStatusResponse& response,
                              const cri::PodSandboxStatusResponse* pod,
                              const cri::ImageStatusResponse& image, bool show_values);
std::string DescribePod(const cri::PodSandboxStatusResponse& response);

// Sets the values of environment variables to null, in a ContainerStatusResponse of MessageJson.
void HideValues(nlohmann::ordered_json& status);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_POD_COMMANDS_INSPECT_REPORT_H_
