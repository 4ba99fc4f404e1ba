#include "runtime/pod_contradictions.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "resources/contradictions.h"
#include "runtime/pod_picture.h"

namespace plimsoll::runtime {
namespace {

std::string Sentence(const std::string& whose, const std::vector<std::string>& contradictions) {
  if (contradictions.empty()) return "";
  return absl::StrCat(whose, ": the written resources contradict linux, and linux holds: ",
                      absl::StrJoin(contradictions, "; "));
}

}  // namespace

std::string ContradictionOf(const SandboxSpec& pod, const ContainerSpec& container) {
  if (container.kubernetes_resources.empty()) return "";
  const auto written = ParseResources(container.kubernetes_resources);
  if (!written.ok()) return "";
  const auto whole = ParseResources(pod.pod_resources.kubernetes_resources);
  return Sentence(absl::StrCat("container ", container.name),
                  resources::ContradictionsOf(*written, whole.value_or(resources::Requirements()),
                                              container.resources));
}

std::string ContradictionOf(const SandboxSpec& pod) {
  SandboxSpec without_overhead = pod;
  without_overhead.overhead = linux::CgroupSettings();
  const PodPicture picture = MakePicture(without_overhead, {});
  if (picture.is != PictureIs::kComplete) return "";
  linux::CgroupSettings settings = pod.resources;
  if (settings.cpu_quota_us == -1) settings.cpu_quota_us.reset();
  return Sentence(absl::StrCat("pod ", pod.pod_namespace, "/", pod.name),
                  resources::ContradictionsOf(picture.total, {}, settings));
}

}  // namespace plimsoll::runtime
