#include "pod_runner/manifest/manifest_annotations.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/text/closest_word.h"
#include "cdi/names.h"
#include "pod_runner/manifest/manifest_fields.h"
#include "resources/cpu_set.h"

namespace plimsoll::pod {
namespace {

constexpr absl::string_view kDomain = "plimsoll.dev";
constexpr absl::string_view kClassDomain = "class.plimsoll.dev";  // after a type and "."

absl::Status CheckCpus(const std::string& list) {
  const auto cpus = resources::CpuSet::Parse(list);
  PLIMSOLL_RETURN_IF_ERROR(cpus.status());
  return cpus->Empty() ? absl::InvalidArgumentError("names no CPU") : absl::OkStatus();
}

absl::Status CheckDevices(const std::string& list) {
  for (const absl::string_view name : absl::StrSplit(list, ',')) {
    PLIMSOLL_RETURN_IF_ERROR(cdi::ParseDeviceName(absl::StripAsciiWhitespace(name)).status());
  }
  return absl::OkStatus();
}

absl::Status CheckShrink(const std::string& value) {
  if (value == "best-effort") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", value, "\" must be best-effort, or the annotation left out"));
}

// One annotation of plimsoll.dev.
struct OwnAnnotation {
  absl::string_view name;      // after "plimsoll.dev/"
  bool of_containers = false;  // also as "NAME.CONTAINER", for one container
  absl::Status (*check)(const std::string& value) = nullptr;
  absl::string_view ignored;  // the reason, if it has no effect
};

constexpr OwnAnnotation kOwnAnnotations[] = {
    {.name = "cpuset", .of_containers = true, .check = CheckCpus},
    {.name = "cdi", .of_containers = true, .check = CheckDevices},
    {.name = "memory-shrink", .check = CheckShrink},
    {.name = "pod-resources",
     .ignored = "the containers' resources in the manifest are used instead"},
    {.name = "grace-period-seconds", .ignored = "spec.terminationGracePeriodSeconds says it"},
    {.name = "qos-class", .ignored = "it follows from the containers' requests and limits"},
};

// Kubernetes' own, from before there were fields. Its API server makes AppArmor's a field to this
// day, and drops the others with a warning at best. A profile that is dropped is less protection
// than was asked for.
constexpr absl::string_view kAppArmorDomain = "container.apparmor.security.beta.kubernetes.io";
constexpr absl::string_view kSeccompDomain = "container.seccomp.security.alpha.kubernetes.io";
constexpr absl::string_view kPodSeccompDomain = "seccomp.security.alpha.kubernetes.io";  // "/pod"

struct RemovedAnnotation {
  absl::string_view key;
  absl::string_view instead;
};
constexpr RemovedAnnotation kRemovedAnnotations[] = {
    {"security.alpha.kubernetes.io/sysctls", "spec.securityContext.sysctls"},
    {"security.alpha.kubernetes.io/unsafe-sysctls", "spec.securityContext.sysctls"},
    {"pod.alpha.kubernetes.io/init-containers", "spec.initContainers"},
    {"pod.beta.kubernetes.io/init-containers", "spec.initContainers"},
};

class Checker {
 public:
  Checker(YamlReader& reader, Manifest& pod) : reader_(reader), pod_(pod) {
    for (const ContainerManifest& container : pod.containers) containers_.push_back(container.name);
  }

  void Check(const YAML::Node& node, const std::string& key, const std::string& value) {
    node_.reset(node);
    path_ = absl::StrCat("metadata.annotations[", key, "]");
    const std::pair<std::string, std::string> parts = absl::StrSplit(key, absl::MaxSplits('/', 1));
    const auto& [domain, name] = parts;
    const std::pair<std::string, std::string> typed =
        absl::StrSplit(domain, absl::MaxSplits('.', 1));
    if (ReadProfileOf(domain, name, value)) return;
    for (const RemovedAnnotation& removed : kRemovedAnnotations) {
      if (key != removed.key) continue;
      return FailNew(absl::StrCat("Kubernetes reads it no more; use ", removed.instead));
    }
    if (domain == kDomain) {
      CheckOwn(name, value);
    } else if (typed.second == kClassDomain) {
      CheckClass(absl::StrCat(domain, "/"), name);
    } else if (!ClosestWord(domain, {std::string(kDomain)}).empty() && Find(name) != nullptr) {
      NoteNear(absl::StrCat(kDomain, "/", name));
    } else if (!ClosestWord(typed.second, {std::string(kClassDomain)}).empty()) {
      NoteNear(absl::StrCat(typed.first, ".", kClassDomain, "/", name));
    } else if (domain.size() <= 2 * kAppArmorDomain.size()) {
      const std::string closest =
          ClosestWord(domain, {std::string(kAppArmorDomain), std::string(kSeccompDomain)});
      if (!closest.empty()) NoteNear(absl::StrCat(closest, "/", name));
    }
  }

 private:
  static const OwnAnnotation* Find(absl::string_view name) {
    for (const OwnAnnotation& own : kOwnAnnotations) {
      absl::string_view rest = name;
      if (!absl::ConsumePrefix(&rest, own.name)) continue;
      if (rest.empty() || (own.of_containers && rest[0] == '.')) return &own;
    }
    return nullptr;
  }

  // False: the annotation is none of a profile.
  bool ReadProfileOf(absl::string_view domain, const std::string& name, const std::string& value) {
    if (domain == kPodSeccompDomain && name == "pod") {
      PutProfile(value, /*is_path=*/true, "spec.securityContext.seccompProfile",
                 pod_.security.seccomp);
      return true;
    }
    if (domain != kAppArmorDomain && domain != kSeccompDomain) return false;
    if (!reader_.on_record()) CheckContainer(name);
    for (ContainerManifest& each : pod_.containers) {
      if (each.name != name) continue;
      if (domain == kAppArmorDomain) {
        PutProfile(value, /*is_path=*/false, "its securityContext.appArmorProfile",
                   each.security.apparmor);
      } else {
        PutProfile(value, /*is_path=*/true, "its securityContext.seccompProfile",
                   each.security.seccomp);
      }
    }
    return true;
  }

  // `field` is that of the annotation's pod or container; `what` names it.
  void PutProfile(absl::string_view value, bool is_path, absl::string_view what,
                  std::optional<SecurityProfile>& field) {
    SecurityProfile profile;
    if (value == "runtime/default" || (is_path && value == "docker/default")) {
      profile.type = "RuntimeDefault";
    } else if (value == "unconfined") {
      profile.type = "Unconfined";
    } else if (absl::ConsumePrefix(&value, "localhost/") && !value.empty() &&
               (!is_path || IsBelow(value))) {
      profile = {.type = "Localhost", .localhost_profile = std::string(value)};
    } else {
      return FailNew(absl::StrCat("must be runtime/default, unconfined or localhost/",
                                  is_path ? "PATH, without \"..\"" : "NAME"));
    }
    if (field && *field != profile) {
      return FailNew(absl::StrCat("contradicts ", what));
    }
    field = std::move(profile);
  }

  void CheckOwn(const std::string& name, const std::string& value) {
    const OwnAnnotation* own = Find(name);
    if (own == nullptr) {
      std::vector<std::string> read;
      for (const OwnAnnotation& each : kOwnAnnotations) {
        if (each.ignored.empty()) read.emplace_back(each.name);
      }
      const std::pair<std::string, std::string> parts =
          absl::StrSplit(name, absl::MaxSplits('.', 1));
      const std::string closest = ClosestWord(parts.first, read);
      const std::string behind = parts.second.empty() ? "" : absl::StrCat(".", parts.second);
      if (!closest.empty()) return NoteNear(absl::StrCat(kDomain, "/", closest, behind));
      return reader_.Note(node_, path_,
                          absl::StrCat("Plimsoll reads none of this name; it reads ",
                                       absl::StrJoin(read, ", "), " of ", kDomain));
    }
    if (!own->ignored.empty()) {
      return reader_.Note(node_, path_, absl::StrCat("ignored: ", own->ignored));
    }
    absl::string_view container = name;
    absl::ConsumePrefix(&container, own->name);
    if (absl::ConsumePrefix(&container, ".")) CheckContainer(container);
    const absl::Status status = own->check(value);
    if (!status.ok()) reader_.Fail(node_, path_, status.message());
  }

  // Takes "rdt.class.plimsoll.dev/" and "default", "sandbox" or "container.NAME".
  void CheckClass(const std::string& prefix, absl::string_view place) {
    if (place == "default" || place == "sandbox") return;
    if (absl::ConsumePrefix(&place, "container.")) return CheckContainer(place);
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(place, absl::MaxSplits('.', 1));
    const std::string closest = ClosestWord(parts.first, {"default", "sandbox", "container"});
    const std::string behind = parts.second.empty() ? "" : absl::StrCat(".", parts.second);
    if (!closest.empty()) return NoteNear(absl::StrCat(prefix, closest, behind));
    reader_.Note(node_, path_,
                 absl::StrCat("Plimsoll reads none of this name; it reads ", prefix, "default, ",
                              prefix, "sandbox and ", prefix, "container.NAME"));
  }

  void CheckContainer(absl::string_view name) {
    if (std::find(containers_.begin(), containers_.end(), name) != containers_.end()) return;
    const std::string closest = ClosestWord(name, containers_);
    reader_.Fail(node_, path_,
                 absl::StrCat("there is no container \"", name, "\"; ",
                              closest.empty() ? absl::StrCat(containers_.size() == 1 ? "there is "
                                                                                     : "there are ",
                                                             absl::StrJoin(containers_, ", "))
                                              : absl::StrCat("did you mean \"", closest, "\"?")));
  }

  // Older versions passed over Kubernetes' own annotations: so they are on record.
  void FailNew(absl::string_view message) {
    if (!reader_.on_record()) reader_.Fail(node_, path_, message);
  }

  void NoteNear(const std::string& meant) {
    reader_.Note(node_, path_,
                 absl::StrCat("Plimsoll reads none of this name; did you mean ", meant, "?"));
  }

  YamlReader& reader_;
  Manifest& pod_;
  std::vector<std::string> containers_;
  YAML::Node node_;
  std::string path_;
};

}  // namespace

void ReadAnnotations(YamlReader& reader, const YAML::Node& metadata, Manifest& pod) {
  const YAML::Node annotations =
      metadata.IsDefined() && metadata.IsMap() ? metadata["annotations"] : YAML::Node();
  if (!annotations.IsDefined() || !annotations.IsMap()) return;
  Checker checker(reader, pod);
  for (const auto& entry : annotations) {
    // A value of another type has been reported already.
    const auto read = pod.annotations.find(entry.first.IsScalar() ? entry.first.Scalar() : "");
    if (read != pod.annotations.end()) checker.Check(entry.second, read->first, read->second);
  }
}

}  // namespace plimsoll::pod
