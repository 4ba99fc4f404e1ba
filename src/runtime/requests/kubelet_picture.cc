#include "runtime/requests/kubelet_picture.h"

#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "resources/pod_total.h"
#include "runtime/requests/linux_holds.h"
#include "runtime/requests/picture_parts.h"

namespace plimsoll::runtime {
namespace {

using resources::Requirements;
using Role = resources::ContainerRequirements::Role;

// "2" of each resource of which a device plugin gave two devices.
KubernetesResources CountedDevices(const ContainerGrants& grants) {
  KubernetesResources counted;
  for (const auto& [resource, ids] : grants.devices) {
    if (ids.empty()) continue;
    counted.requests[resource] = counted.limits[resource] = absl::StrCat(ids.size());
  }
  return counted;
}

// The containers by kubelet's word alone.
PodResources ContainersOf(const PodFacts& facts) {
  PodResources told;
  if (facts.has_spec) {
    told = facts.resources;
  } else {
    for (const auto& [name, grants] : facts.grants) {
      told.containers.push_back({.name = name, .type = AnnouncedContainer::Type::kContainer});
      told.containers.back().kubernetes_resources = CountedDevices(grants);
    }
  }
  for (AnnouncedContainer& each : told.containers) {
    const auto granted = facts.grants.find(each.name);
    if (granted != facts.grants.end()) each.cdi_devices = granted->second.cdi_devices;
  }
  return told;
}

// Whether kubelet didn't tell a field of some container; `field` as in PodFacts::missing.
bool IsMissing(const PodFacts& facts, absl::string_view field) {
  return absl::c_any_of(facts.missing, [field](absl::string_view missing) {
    return absl::StrContains(missing.substr(0, missing.find(':')), field);
  });
}

ContainerSources SourcesByKubelet(const PodFacts& facts, const AnnouncedContainer& told) {
  ContainerSources sources;
  if (facts.has_spec && !TypesAreUnknown(facts.resources)) sources.type = SaidBy::kKubelet;
  if (facts.has_spec || !told.kubernetes_resources.empty()) {
    sources.kubernetes_resources = SaidBy::kKubelet;
  }
  if (!facts.has_spec || !facts.has_grants) return sources;
  if (!IsMissing(facts, "devices")) sources.devices = SaidBy::kKubelet;
  // DRA's names are told, a device plugin's aren't.
  const auto granted = facts.grants.find(told.name);
  const bool has_names = granted != facts.grants.end() && granted->second.devices.empty();
  if (has_names || !IsMissing(facts, "CDI devices")) sources.cdi_devices = SaidBy::kKubelet;
  return sources;
}

// Adds amounts of resources that `to` lacks.
void AddLacking(const KubernetesResources& from, KubernetesResources* to) {
  to->requests.insert(from.requests.begin(), from.requests.end());
  to->limits.insert(from.limits.begin(), from.limits.end());
}

void TakeMade(const SandboxSpec& pod, const PodFacts& facts, const ContainerSpec& made,
              AnnouncedContainer* now, ContainerSources* sources) {
  now->mounts = made.mounts;
  now->devices = made.devices;
  now->cdi_devices = made.cdi_devices;
  sources->mounts = sources->devices = sources->cdi_devices = SaidBy::kMessage;
  if (!made.kubernetes_resources.empty()) {
    now->kubernetes_resources = made.kubernetes_resources;
    sources->kubernetes_resources = SaidBy::kMessage;
  } else if (ToldByKubelet(pod, made.name) != nullptr) {
    sources->by_linux =
        LetLinuxHold(made.resources, ReadWritten(facts.resources.kubernetes_resources),
                     &now->kubernetes_resources);
  } else {
    const KubernetesResources counted = std::move(now->kubernetes_resources);
    now->kubernetes_resources = InWriting(GuessFrom(made.resources));
    AddLacking(counted, &now->kubernetes_resources);
    sources->kubernetes_resources = SaidBy::kLinux;
  }
}

std::vector<resources::ContainerRequirements> RequirementsOf(const PodResources& pod) {
  const bool unknown_types = TypesAreUnknown(pod);
  std::vector<resources::ContainerRequirements> all;
  for (const AnnouncedContainer& each : pod.containers) {
    all.push_back({unknown_types ? Role::kContainer : RoleOf(each.type),
                   ReadWritten(each.kubernetes_resources)});
  }
  return all;
}

// Adds "<field> of a, b" for the containers whose source of the field isn't known.
void AddMissing(const char* field, std::optional<SaidBy> ContainerSources::*source,
                const PodPicture& picture, std::vector<std::string>* missing) {
  std::vector<std::string> names;
  for (const AnnouncedContainer& each : picture.now.containers) {
    const auto known = picture.sources.containers.find(each.name);
    if (known == picture.sources.containers.end() || !(known->second.*source).has_value()) {
      names.push_back(each.name);
    }
  }
  if (!names.empty()) missing->push_back(absl::StrCat(field, " of ", absl::StrJoin(names, ", ")));
}

std::vector<std::string> MissingFrom(const PodFacts& facts, const PodPicture& picture) {
  std::vector<std::string> missing;
  if (!facts.has_spec) {
    missing = {"containers that have no grants and are not made yet", "types of the containers",
               "requests and limits"};
  } else if (TypesAreUnknown(facts.resources)) {
    missing = {"types of the containers"};
  }
  AddMissing("mounts", &ContainerSources::mounts, picture, &missing);
  AddMissing("devices", &ContainerSources::devices, picture, &missing);
  AddMissing("CDI devices", &ContainerSources::cdi_devices, picture, &missing);
  return missing;
}

void SetTotal(const SandboxSpec& pod, const PodFacts& facts, PodPicture* picture) {
  const resources::ResourceList overhead = GuessFrom(pod.overhead).requests;
  const auto all = RequirementsOf(picture->now);
  if (!facts.has_spec) {
    picture->total = resources::PodTotal(all, GuessFrom(pod.resources), overhead);
    if (!all.empty() || !InWriting(GuessFrom(pod.resources)).empty()) {
      picture->sources.total = SaidBy::kLinux;
    }
    return;
  }
  Requirements whole =
      resources::PodTotal(all, ReadWritten(picture->now.kubernetes_resources), /*overhead=*/{});
  picture->sources.total = SaidBy::kKubelet;
  picture->sources.total_by_linux = LetLinuxHold(ComparableWithTotal(pod), {}, &whole);
  // The sum of a pod of one container, to which the overhead is added.
  picture->total = resources::PodTotal({{Role::kContainer, std::move(whole)}}, {}, overhead);
}

}  // namespace

linux::CgroupSettings ComparableWithTotal(const SandboxSpec& pod) {
  linux::CgroupSettings settings = pod.resources;
  if (settings.cpu_quota_us == -1) settings.cpu_quota_us.reset();
  return settings;
}

const KubernetesResources* ToldByKubelet(const SandboxSpec& pod, const std::string& container) {
  if (!pod.pod_resources.empty() || !pod.facts.has_value() || !pod.facts->has_spec) return nullptr;
  for (const AnnouncedContainer& each : pod.facts->resources.containers) {
    if (each.name == container) return &each.kubernetes_resources;
  }
  return nullptr;
}

Requirements TotalToldBy(const PodFacts& facts) {
  return resources::PodTotal(RequirementsOf(facts.resources),
                             ReadWritten(facts.resources.kubernetes_resources), /*overhead=*/{});
}

PodPicture PictureByKubelet(const SandboxSpec& pod, const PodFacts& facts,
                            const std::vector<ContainerSpec>& containers) {
  PodPicture picture;
  picture.now = ContainersOf(facts);
  picture.grants = facts.grants;
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < picture.now.containers.size(); ++i) {
    const AnnouncedContainer& told = picture.now.containers[i];
    places[told.name] = i;
    picture.sources.containers[told.name] = SourcesByKubelet(facts, told);
  }
  for (const ContainerSpec& made : containers) {
    const auto [place, is_new] = places.emplace(made.name, picture.now.containers.size());
    if (is_new) picture.now.containers.push_back(AsAnnounced(made));
    TakeMade(pod, facts, made, &picture.now.containers[place->second],
             &picture.sources.containers[made.name]);
  }
  SetTotal(pod, facts, &picture);
  picture.missing = MissingFrom(facts, picture);
  if (picture.missing.empty()) {
    picture.is = PictureIs::kComplete;
    return picture;
  }
  picture.why = facts.missing;
  const bool knows = !picture.now.empty() || picture.sources.total.has_value();
  picture.is = knows ? PictureIs::kPartial : PictureIs::kAbsent;
  return picture;
}

}  // namespace plimsoll::runtime
