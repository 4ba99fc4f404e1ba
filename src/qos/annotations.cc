#include "qos/annotations.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace plimsoll::qos {
namespace {

constexpr absl::string_view kOurs = ".class.plimsoll.dev/";

// Takes the class that `key` names, unless an earlier key decided for the type.
void Take(const Annotations& annotations, const std::string& key, const std::string& type,
          ClassSource source, AnnotatedClasses* found) {
  const auto at = annotations.find(key);
  if (at == annotations.end()) return;
  const bool for_all = absl::EndsWith(key, "/pod") || absl::EndsWith(key, "/default");
  found->insert({type, {at->second, source, key, for_all}});
}

// "rdt" of "rdt.class.plimsoll.dev/default" when the part after the slash is `place`.
absl::string_view TypeOf(absl::string_view key, absl::string_view place) {
  return absl::ConsumeSuffix(&key, place) && absl::ConsumeSuffix(&key, kOurs) ? key
                                                                              : absl::string_view();
}

absl::Status TakeOurs(const Annotations& annotations, const std::string& place,
                      const std::string& permission, const AnnotationPolicy& policy,
                      AnnotatedClasses* found, std::string* refused) {
  for (const auto& [key, unused] : annotations) {
    const std::string type(TypeOf(key, place));
    if (type.empty()) continue;
    const auto permitted = policy.find(type);
    if (permitted == policy.end() || !permitted->second.contains(permission)) {
      if (refused != nullptr) *refused = type;
      return absl::FailedPreconditionError(absl::StrCat(
          "annotation ", key, ": the configuration of this node does not permit it (classes.", type,
          ".annotations would have to list \"", permission, "\")"));
    }
    Take(annotations, key, type, ClassSource::kPodAnnotation, found);
  }
  return absl::OkStatus();
}

void DropEmpty(AnnotatedClasses* found) {
  std::erase_if(*found, [](const auto& one) { return one.second.name.empty(); });
}

}  // namespace

absl::StatusOr<AnnotatedClasses> AnnotatedContainerClasses(const Annotations& container,
                                                           const Annotations& pod,
                                                           absl::string_view container_name,
                                                           const AnnotationPolicy& policy,
                                                           std::string* refused) {
  AnnotatedClasses found;
  for (const std::string type : {kRdt, kBlockio}) {
    Take(container, absl::StrCat("io.kubernetes.cri.", type, "-class"), type,
         ClassSource::kContainerAnnotation, &found);
    // Beta is what containerd and CRI-O read, alpha KEP-3008's spelling ("Pod annotations").
    const std::string beta = absl::StrCat(type, ".resources.beta.kubernetes.io/");
    const std::string alpha = absl::StrCat(type, ".resources.alpha.kubernetes.io/");
    for (const std::string& key : {absl::StrCat(beta, "container.", container_name),
                                   absl::StrCat(alpha, "container.", container_name),
                                   absl::StrCat(beta, "pod"), absl::StrCat(alpha, "default")}) {
      Take(pod, key, type, ClassSource::kPodAnnotation, &found);
    }
  }
  PLIMSOLL_RETURN_IF_ERROR(TakeOurs(pod, absl::StrCat("container.", container_name), "container",
                                    policy, &found, refused));
  PLIMSOLL_RETURN_IF_ERROR(TakeOurs(pod, "default", "default", policy, &found, refused));
  DropEmpty(&found);
  return found;
}

absl::StatusOr<AnnotatedClasses> AnnotatedPodClasses(const Annotations& pod,
                                                     const AnnotationPolicy& policy,
                                                     std::string* refused) {
  AnnotatedClasses found;
  PLIMSOLL_RETURN_IF_ERROR(TakeOurs(pod, "sandbox", "sandbox", policy, &found, refused));
  DropEmpty(&found);
  return found;
}

}  // namespace plimsoll::qos
