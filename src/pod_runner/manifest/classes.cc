#include "pod_runner/manifest/classes.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "qos/annotations.h"
#include "qos/class_type.h"
#include "qos/pod_qos.h"

namespace plimsoll::pod {
namespace {

constexpr char kOwnAnnotation[] = ".class.plimsoll.dev/";

// The policy permits every key, so that reading by it fails for none.
qos::AnnotationPolicy EveryKeyOf(const Manifest& pod) {
  qos::AnnotationPolicy policy;
  for (const auto& [key, unused] : pod.annotations) {
    const size_t at = key.find(kOwnAnnotation);
    if (at != std::string::npos) policy[key.substr(0, at)] = {"container", "default", "sandbox"};
  }
  return policy;
}

// The field's classes, and those of annotations for types that it doesn't name.
qos::ClassNames Together(qos::ClassNames field,
                         const absl::StatusOr<qos::AnnotatedClasses>& annotated) {
  if (!annotated.ok()) return field;
  for (const auto& [type, one] : *annotated) field.emplace(type, one.name);
  return field;
}

bool IsAlphanumeric(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c));
}

}  // namespace

bool AsksForDefault(absl::string_view class_name) {
  return class_name.empty() || class_name == kDefaultClass;
}

bool IsClassName(absl::string_view name) {
  constexpr size_t kMost = 63;
  if (name.empty() || name.size() > kMost) return false;
  if (!IsAlphanumeric(name.front()) || !IsAlphanumeric(name.back())) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool IsClassTypeName(absl::string_view name) {
  const size_t slash = name.find('/');
  if (slash == absl::string_view::npos) return IsClassName(name);
  return IsDnsName(name.substr(0, slash), /*dots=*/true) && IsClassName(name.substr(slash + 1));
}

qos::ClassNames ContainerClasses(const Manifest& pod, const ContainerManifest& container) {
  return Together(container.classes, qos::AnnotatedContainerClasses(
                                         {}, pod.annotations, container.name, EveryKeyOf(pod)));
}

qos::ClassNames PodClasses(const Manifest& pod) {
  qos::ClassNames classes =
      Together(pod.classes, qos::AnnotatedPodClasses(pod.annotations, EveryKeyOf(pod)));
  classes.erase(qos::kPodQos);
  return classes;
}

bool HasClassFields(const Manifest& pod) {
  return !pod.classes.empty() ||
         std::any_of(pod.containers.begin(), pod.containers.end(),
                     [](const ContainerManifest& each) { return !each.classes.empty(); });
}

}  // namespace plimsoll::pod
