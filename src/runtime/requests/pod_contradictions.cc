#include "runtime/requests/pod_contradictions.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "resources/contradictions.h"
#include "runtime/requests/kubelet_picture.h"
#include "runtime/requests/picture_parts.h"
#include "runtime/requests/pod_picture.h"

namespace plimsoll::runtime {
namespace {

constexpr char kWritten[] = "the written resources contradict linux";
constexpr char kTold[] = "the resources that kubelet reports contradict linux";

std::string Sentence(const std::string& whose, const char* what,
                     const std::vector<std::string>& contradictions) {
  if (contradictions.empty()) return "";
  return absl::StrCat(whose, ": ", what,
                      ", and linux holds: ", absl::StrJoin(contradictions, "; "));
}

}  // namespace

bool IsComparedWithKubelet(const SandboxSpec& pod, const ContainerSpec& container) {
  return container.kubernetes_resources.empty() && ToldByKubelet(pod, container.name) != nullptr;
}

bool IsComparedWithKubelet(const SandboxSpec& pod) {
  return pod.pod_resources.empty() && pod.facts.has_value() && pod.facts->has_spec;
}

std::string ContradictionOf(const SandboxSpec& pod, const ContainerSpec& container) {
  const bool by_kubelet = IsComparedWithKubelet(pod, container);
  if (container.kubernetes_resources.empty() && !by_kubelet) return "";
  const auto written = ParseResources(by_kubelet ? *ToldByKubelet(pod, container.name)
                                                 : container.kubernetes_resources);
  if (!written.ok()) return "";
  const auto whole = ParseResources(by_kubelet ? pod.facts->resources.kubernetes_resources
                                               : pod.pod_resources.kubernetes_resources);
  return Sentence(absl::StrCat("container ", container.name), by_kubelet ? kTold : kWritten,
                  resources::ContradictionsOf(*written, whole.value_or(resources::Requirements()),
                                              container.resources));
}

std::string ContradictionOf(const SandboxSpec& pod) {
  const std::string whose = absl::StrCat("pod ", pod.pod_namespace, "/", pod.name);
  if (IsComparedWithKubelet(pod)) {
    return Sentence(
        whose, kTold,
        resources::ContradictionsOf(TotalToldBy(*pod.facts), {}, ComparableWithTotal(pod)));
  }
  SandboxSpec without_overhead = pod;
  without_overhead.overhead = linux::CgroupSettings();
  const PodPicture picture = MakePicture(without_overhead, {});
  if (picture.is != PictureIs::kComplete) return "";
  return Sentence(whose, kWritten,
                  resources::ContradictionsOf(picture.total, {}, ComparableWithTotal(pod)));
}

}  // namespace plimsoll::runtime
