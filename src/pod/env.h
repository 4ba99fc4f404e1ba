// A container's environment and the $(NAME) references to it, as kubelet resolves them.
#ifndef PLIMSOLL_POD_ENV_H_
#define PLIMSOLL_POD_ENV_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "pod/manifest.h"

namespace plimsoll::pod {

// "$(NAME)" becomes the variable's value, "$$" becomes "$"; a reference to an unknown variable and
// every other "$" stay as they are (k8s.io/kubernetes/third_party/forked/golang/expansion).
std::string ExpandReferences(absl::string_view text,
                             const std::map<std::string, std::string>& variables);

// In the manifest's order; a value sees the variables before it. `uid` is the pod's.
std::vector<std::pair<std::string, std::string>> ResolveEnvironment(
    const Manifest& pod, const ContainerManifest& container, absl::string_view uid);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_ENV_H_
