#include "cli/lookup.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/closest_word.h"
#include "base/status.h"
#include "cli/errors.h"
#include "cli/text.h"
#include "pod_runner/to_cri.h"

namespace plimsoll::cli {
namespace {

bool IsIdPrefix(absl::string_view id, absl::string_view text) {
  return text.size() >= 2 && absl::StartsWith(id, text);
}

bool IsNamed(const cri::PodSandbox& pod, absl::string_view text) {
  const std::string& name = pod.metadata().name();
  return text == name || text == absl::StrCat(pod.metadata().namespace_(), "/", name);
}

bool IsNamed(const cri::Container& container, const std::string& pod, absl::string_view text) {
  const std::string& name = container.metadata().name();
  return text == name || text == absl::StrCat(pod, "/", name);
}

template <typename Item>
absl::StatusOr<Item> TheOnly(const std::vector<const Item*>& found, absl::string_view kind,
                             absl::string_view text,
                             const std::function<std::string(const Item&)>& describe) {
  if (found.size() == 1) return *found.front();
  std::vector<std::string> names;
  for (const Item* item : found) names.push_back(describe(*item));
  return WithHint(
      absl::InvalidArgumentError(absl::StrCat("\"", text, "\" may be ", found.size(), " ", kind,
                                              ": ", absl::StrJoin(names, ", "))),
      "Give the id, or more of the name.");
}

absl::Status NotThere(absl::string_view kind, absl::string_view text,
                      const std::vector<std::string>& names, absl::string_view command) {
  std::string closest = ClosestWord(text, names);
  // Finds "ticker" for "tick".
  const auto longer = std::find_if(names.begin(), names.end(), [text](const std::string& name) {
    return text.size() >= 2 && absl::StartsWith(name, text);
  });
  if (closest.empty() && longer != names.end()) closest = *longer;
  return WithHint(absl::NotFoundError(absl::StrCat("there is no ", kind, " \"", text, "\"")),
                  closest.empty() ? absl::StrCat("`", command, "` lists them all.")
                                  : absl::StrCat("Did you mean \"", closest, "\"? `", command,
                                                 "` lists them all."));
}

}  // namespace

std::string PodNameOf(const cri::Container& container, const std::vector<cri::PodSandbox>& pods) {
  for (const cri::PodSandbox& pod : pods) {
    if (pod.id() == container.pod_sandbox_id()) return pod.metadata().name();
  }
  return ShortId(container.pod_sandbox_id());
}

absl::StatusOr<cri::PodSandbox> FindPod(const std::vector<cri::PodSandbox>& pods,
                                        absl::string_view text) {
  std::vector<const cri::PodSandbox*> by_name, by_id;
  std::vector<std::string> names;
  for (const cri::PodSandbox& pod : pods) {
    names.push_back(pod.metadata().name());
    if (IsNamed(pod, text)) {
      by_name.push_back(&pod);
    } else if (IsIdPrefix(pod.id(), text)) {
      by_id.push_back(&pod);
    }
  }
  const auto& found = by_name.empty() ? by_id : by_name;
  if (found.empty()) return NotThere("pod", text, names, "plimsoll pods");
  return TheOnly<cri::PodSandbox>(found, "pods", text, [](const cri::PodSandbox& pod) {
    return absl::StrCat(pod.metadata().namespace_(), "/", pod.metadata().name(), " (",
                        ShortId(pod.id()), ")");
  });
}

absl::StatusOr<cri::Container> FindContainer(const std::vector<cri::Container>& containers,
                                             const std::vector<cri::PodSandbox>& pods,
                                             absl::string_view text) {
  std::map<std::string, const cri::Container*> newest;  // by sandbox and name
  std::vector<const cri::Container*> by_id;
  std::vector<std::string> names;
  for (const cri::Container& container : containers) {
    const std::string& name = container.metadata().name();
    const std::string pod = PodNameOf(container, pods);
    names.push_back(name);
    names.push_back(absl::StrCat(pod, "/", name));
    if (IsNamed(container, pod, text)) {
      const cri::Container*& best = newest[absl::StrCat(container.pod_sandbox_id(), "/", name)];
      if (best == nullptr || best->metadata().attempt() < container.metadata().attempt()) {
        best = &container;
      }
    } else if (IsIdPrefix(container.id(), text)) {
      by_id.push_back(&container);
    }
  }
  std::vector<const cri::Container*> found = by_id;
  if (!newest.empty()) {
    found.clear();
    for (const auto& [key, container] : newest) found.push_back(container);
  }
  if (found.empty()) {
    std::vector<std::string> of_pod;
    std::map<std::string, const cri::Container*> ordinary;  // newest by name
    const auto pod = FindPod(pods, text);
    for (const cri::Container& container : containers) {
      if (!pod.ok() || container.pod_sandbox_id() != pod->id()) continue;
      of_pod.push_back(absl::StrCat(pod->metadata().name(), "/", container.metadata().name()));
      const auto role = container.labels().find(pod::kRoleLabel);
      if (role != container.labels().end() && role->second != "container") continue;
      const cri::Container*& best = ordinary[container.metadata().name()];
      if (best == nullptr || best->metadata().attempt() < container.metadata().attempt()) {
        best = &container;
      }
    }
    if (ordinary.size() == 1) return *ordinary.begin()->second;
    if (of_pod.empty()) return NotThere("container", text, names, "plimsoll ps --all");
    return WithHint(absl::NotFoundError(absl::StrCat("\"", text, "\" is a pod, not a container")),
                    absl::StrCat("Its containers: ", absl::StrJoin(of_pod, ", ")));
  }
  return TheOnly<cri::Container>(found, "containers", text, [&](const cri::Container& container) {
    return absl::StrCat(PodNameOf(container, pods), "/", container.metadata().name(), " (",
                        ShortId(container.id()), ")");
  });
}

namespace {

// For "POD/nothing": an error with the names of the pod's containers. OK: there is no such pod, or
// it has no containers.
absl::Status NoneOfItsContainers(const std::vector<cri::PodSandbox>& pods,
                                 const std::vector<cri::Container>& containers,
                                 absl::string_view text) {
  const size_t slash = text.rfind('/');
  if (slash == absl::string_view::npos) return absl::OkStatus();
  const auto pod = FindPod(pods, text.substr(0, slash));
  if (!pod.ok()) return absl::OkStatus();
  std::set<std::string> names;
  for (const cri::Container& container : containers) {
    if (container.pod_sandbox_id() == pod->id()) names.insert(container.metadata().name());
  }
  if (names.empty()) return absl::OkStatus();
  return WithHint(
      absl::NotFoundError(absl::StrCat("pod ", pod->metadata().name(), " has no container \"",
                                       text.substr(slash + 1), "\"")),
      absl::StrCat("It has: ", absl::StrJoin(names, ", ")));
}

}  // namespace

absl::StatusOr<PodOrContainer> FindPodOrContainer(const std::vector<cri::PodSandbox>& pods,
                                                  const std::vector<cri::Container>& containers,
                                                  absl::string_view text) {
  const auto pod = FindPod(pods, text);
  const bool pod_named = std::any_of(pods.begin(), pods.end(),
                                     [&](const cri::PodSandbox& p) { return IsNamed(p, text); });
  const bool container_named =
      std::any_of(containers.begin(), containers.end(), [&](const cri::Container& container) {
        return IsNamed(container, PodNameOf(container, pods), text);
      });
  if (pod_named || (!container_named && !absl::IsNotFound(pod.status()))) {
    PLIMSOLL_RETURN_IF_ERROR(pod.status());
    return *pod;
  }
  const auto container = FindContainer(containers, pods, text);
  if (container.ok()) return *container;
  if (!absl::IsNotFound(container.status())) return container.status();
  PLIMSOLL_RETURN_IF_ERROR(NoneOfItsContainers(pods, containers, text));
  std::vector<std::string> names;
  for (const cri::PodSandbox& item : pods) names.push_back(item.metadata().name());
  for (const cri::Container& item : containers) names.push_back(item.metadata().name());
  return NotThere("pod or container", text, names, "plimsoll ps --all");
}

}  // namespace plimsoll::cli
