#include "cli/command/lookup.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/text/closest_word.h"
#include "cli/terminal/errors.h"
#include "cli/terminal/text.h"
#include "pod_runner/runtime_client/labels.h"

namespace plimsoll::cli {
namespace {

bool IsReady(const cri::PodSandbox& pod) {
  return pod.state() == cri::SANDBOX_READY;
}

// True if `one` is meant rather than `other`, another sandbox of the same pod: an earlier attempt,
// or one from before a reboot.
bool IsMeant(const cri::PodSandbox& one, const cri::PodSandbox& other) {
  return std::tuple(IsReady(one), one.created_at()) >
         std::tuple(IsReady(other), other.created_at());
}

const cri::PodSandbox* FindById(const std::vector<cri::PodSandbox>& pods, absl::string_view id) {
  const auto pod = absl::c_find_if(pods, [id](const auto& each) { return each.id() == id; });
  return pod == pods.end() ? nullptr : &*pod;
}

// True if `one` is meant rather than `other`, another container of the same pod and name: the
// newest attempt, in the sandbox that is meant.
bool IsMeant(const cri::Container& one, const cri::Container& other,
             const std::vector<cri::PodSandbox>& pods) {
  if (one.pod_sandbox_id() == other.pod_sandbox_id()) {
    return one.metadata().attempt() > other.metadata().attempt();
  }
  const cri::PodSandbox* const of_one = FindById(pods, one.pod_sandbox_id());
  const cri::PodSandbox* const of_other = FindById(pods, other.pod_sandbox_id());
  if (of_one == nullptr || of_other == nullptr) return of_one != nullptr;
  return IsMeant(*of_one, *of_other);
}

// The pod of a container as "namespace/name"; the sandbox's id where that was removed.
std::string PodKeyOf(const cri::Container& container, const std::vector<cri::PodSandbox>& pods) {
  const cri::PodSandbox* const pod = FindById(pods, container.pod_sandbox_id());
  if (pod == nullptr) return container.pod_sandbox_id();
  return absl::StrCat(pod->metadata().namespace_(), "/", pod->metadata().name());
}

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

// The container of a pod that has only one beside init containers and sidecars. `names` are those
// to choose the closest from where there is no such pod.
absl::StatusOr<cri::Container> TheOneOfAPod(const std::vector<cri::Container>& containers,
                                            const std::vector<cri::PodSandbox>& pods,
                                            absl::string_view text,
                                            const std::vector<std::string>& names) {
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

}  // namespace

std::string PodNameOf(const cri::Container& container, const std::vector<cri::PodSandbox>& pods) {
  for (const cri::PodSandbox& pod : pods) {
    if (pod.id() == container.pod_sandbox_id()) return pod.metadata().name();
  }
  return ShortId(container.pod_sandbox_id());
}

absl::StatusOr<cri::PodSandbox> FindPod(const std::vector<cri::PodSandbox>& pods,
                                        absl::string_view text) {
  std::map<std::string, const cri::PodSandbox*> meant;  // by namespace
  std::vector<const cri::PodSandbox*> by_id;
  std::vector<std::string> names;
  for (const cri::PodSandbox& pod : pods) {
    names.push_back(pod.metadata().name());
    if (IsNamed(pod, text)) {
      const cri::PodSandbox*& best = meant[pod.metadata().namespace_()];
      if (best == nullptr || IsMeant(pod, *best)) best = &pod;
    } else if (IsIdPrefix(pod.id(), text)) {
      by_id.push_back(&pod);
    }
  }
  std::vector<const cri::PodSandbox*> found;
  for (const auto& [pod_namespace, pod] : meant) found.push_back(pod);
  if (found.empty()) found = by_id;
  if (found.empty()) return NotThere("pod", text, names, "plimsoll pods");
  return TheOnly<cri::PodSandbox>(found, "pods", text, [](const cri::PodSandbox& pod) {
    return absl::StrCat(pod.metadata().namespace_(), "/", pod.metadata().name(), " (",
                        ShortId(pod.id()), ")");
  });
}

absl::StatusOr<cri::Container> FindContainer(const std::vector<cri::Container>& containers,
                                             const std::vector<cri::PodSandbox>& pods,
                                             absl::string_view text) {
  std::map<std::string, const cri::Container*> newest;  // by pod and name
  std::vector<const cri::Container*> by_id;
  std::vector<std::string> names;
  for (const cri::Container& container : containers) {
    const std::string& name = container.metadata().name();
    const std::string pod = PodNameOf(container, pods);
    names.push_back(name);
    names.push_back(absl::StrCat(pod, "/", name));
    if (IsNamed(container, pod, text)) {
      const cri::Container*& best = newest[absl::StrCat(PodKeyOf(container, pods), "/", name)];
      if (best == nullptr || IsMeant(container, *best, pods)) {
        best = &container;
      }
    } else if (IsIdPrefix(container.id(), text)) {
      by_id.push_back(&container);
    }
  }
  const bool is_pod =
      absl::c_any_of(pods, [&](const cri::PodSandbox& pod) { return IsNamed(pod, text); });
  if (is_pod && !absl::StrContains(text, '/')) {
    std::erase_if(newest, [&](const auto& each) { return PodNameOf(*each.second, pods) != text; });
  }
  std::vector<const cri::Container*> found;
  for (const auto& [key, container] : newest) found.push_back(container);
  if (found.empty() && !is_pod) found = by_id;
  if (found.empty()) return TheOneOfAPod(containers, pods, text, names);
  return TheOnly<cri::Container>(found, "containers", text, [&](const cri::Container& container) {
    return absl::StrCat(PodNameOf(container, pods), "/", container.metadata().name(), " (",
                        ShortId(container.id()), ")");
  });
}

namespace {

// An error with the names of the pod's containers, none of which is `missing`. OK: it has none.
absl::Status PodLacks(const cri::PodSandbox& pod, const std::vector<cri::Container>& containers,
                      absl::string_view missing) {
  std::set<std::string> names;
  for (const cri::Container& container : containers) {
    if (container.pod_sandbox_id() == pod.id()) names.insert(container.metadata().name());
  }
  if (names.empty()) return absl::OkStatus();
  return WithHint(absl::NotFoundError(absl::StrCat("pod ", pod.metadata().name(),
                                                   " has no container \"", missing, "\"")),
                  absl::StrCat("It has: ", absl::StrJoin(names, ", ")));
}

// The same for "POD/missing". OK: there is no such pod either.
absl::Status NoneOfItsContainers(const std::vector<cri::PodSandbox>& pods,
                                 const std::vector<cri::Container>& containers,
                                 absl::string_view text) {
  const size_t slash = text.rfind('/');
  if (slash == absl::string_view::npos) return absl::OkStatus();
  const auto pod = FindPod(pods, text.substr(0, slash));
  if (!pod.ok()) return absl::OkStatus();
  return PodLacks(*pod, containers, text.substr(slash + 1));
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

absl::StatusOr<PodOrContainer> FindPodOrContainer(const std::vector<cri::PodSandbox>& pods,
                                                  const std::vector<cri::Container>& containers,
                                                  absl::string_view text,
                                                  absl::string_view container) {
  PLIMSOLL_ASSIGN_OR_RETURN(PodOrContainer found, FindPodOrContainer(pods, containers, text));
  if (container.empty()) return found;
  const auto* const pod = std::get_if<cri::PodSandbox>(&found);
  if (pod == nullptr) {
    const std::string& named = std::get<cri::Container>(found).metadata().name();
    PLIMSOLL_RETURN_IF_ERROR(CheckOneContainer(text, named, container));
    return found;
  }
  const cri::Container* newest = nullptr;
  for (const cri::Container& each : containers) {
    if (each.pod_sandbox_id() != pod->id() || each.metadata().name() != container) continue;
    if (newest == nullptr || IsMeant(each, *newest, pods)) newest = &each;
  }
  if (newest != nullptr) return *newest;
  PLIMSOLL_RETURN_IF_ERROR(PodLacks(*pod, containers, container));
  return WithHint(
      absl::NotFoundError(absl::StrCat("pod ", pod->metadata().name(), " has no containers")),
      "`plimsoll ps --all` lists all containers.");
}

absl::Status CheckOneContainer(absl::string_view text, absl::string_view named,
                               absl::string_view container) {
  if (container.empty() || container == named) return absl::OkStatus();
  return UsageError(WithHint(
      absl::InvalidArgumentError(absl::StrCat("\"", text, "\" means the container ", named,
                                              ", and --container the container ", container)),
      "Name one of them, as POD/CONTAINER or as POD with --container."));
}

}  // namespace plimsoll::cli
