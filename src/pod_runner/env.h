// A container's environment and the $(NAME) references to it, as kubelet resolves them.
#ifndef PLIMSOLL_POD_RUNNER_ENV_H_
#define PLIMSOLL_POD_RUNNER_ENV_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pod_runner/context.h"
#include "pod_runner/manifest.h"

namespace plimsoll::pod {

// "$(NAME)" becomes the variable's value, "$$" becomes "$"; a reference to an unknown variable and
// every other "$" stay as they are (k8s.io/kubernetes/third_party/forked/golang/expansion).
std::string ExpandReferences(absl::string_view text,
                             const std::map<std::string, std::string>& variables);

// The variables of envFrom by name, then those of env in the manifest's order; a value sees the
// variables before it. NOT_FOUND: an object or key is missing. INVALID_ARGUMENT: a value is no
// text. Errors name the variable and never hold a value.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ResolveEnvironment(
    const Manifest& pod, const ContainerManifest& container, const PodContext& context);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_ENV_H_
