#include "runtime/requests/pod_picture.h"

#include <map>
#include <utility>

#include "resources/pod_total.h"
#include "runtime/requests/kubelet_picture.h"
#include "runtime/requests/picture_parts.h"

namespace plimsoll::runtime {
namespace {

using resources::Requirements;
using Role = resources::ContainerRequirements::Role;

AnnouncedWords WordsOf(const SandboxSpec& pod, const std::string& container) {
  const auto found = pod.announced.find(container);
  return found == pod.announced.end() ? AnnouncedWords() : found->second;
}

// With equal numbers, from builds that didn't count, the container's own resources hold.
bool SaidLater(const ContainerSpec& made, const AnnouncedWords& announced) {
  const bool says = !made.kubernetes_resources.empty() || made.said.resources > made.said.made;
  return says && made.said.resources >= announced.resources;
}

void TakeLater(const ContainerSpec& made, const AnnouncedWords& words, AnnouncedContainer* now) {
  if (SaidLater(made, words)) now->kubernetes_resources = made.kubernetes_resources;
  if (made.said.made >= words.mounts) now->mounts = made.mounts;
  if (made.said.made >= words.devices) now->devices = made.devices;
  if (made.said.made >= words.cdi_devices) now->cdi_devices = made.cdi_devices;
}

PodResources ResourcesNow(const SandboxSpec& pod, const std::vector<ContainerSpec>& containers) {
  PodResources now = pod.pod_resources;
  std::map<std::string, AnnouncedContainer*> announced;
  for (AnnouncedContainer& container : now.containers) announced[container.name] = &container;
  std::vector<AnnouncedContainer> others;
  for (const ContainerSpec& spec : containers) {
    const auto known = announced.find(spec.name);
    if (known == announced.end()) {
      others.push_back(AsAnnounced(spec));
    } else {
      TakeLater(spec, WordsOf(pod, spec.name), known->second);
    }
  }
  now.containers.insert(now.containers.end(), others.begin(), others.end());
  return now;
}

PictureIs HowMuch(const SandboxSpec& pod, const std::vector<ContainerSpec>& containers) {
  if (!pod.pod_resources.containers.empty() && !TypesAreUnknown(pod.pod_resources)) {
    return PictureIs::kComplete;
  }
  const bool knows = !pod.pod_resources.empty() || !containers.empty() ||
                     !InWriting(GuessFrom(pod.resources)).empty();
  return knows ? PictureIs::kPartial : PictureIs::kAbsent;
}

// The source of an announced field. `word`: the update that it came by; 0: the pod's creation.
SaidBy AnnouncedBy(const SandboxSpec& pod, uint64_t word) {
  return word == 0 ? pod.announced_by : SaidBy::kMessage;
}

ContainerSources SourcesOfAnnounced(const SandboxSpec& pod, const std::string& name,
                                    const ContainerSpec* made) {
  const AnnouncedWords words = WordsOf(pod, name);
  ContainerSources sources;
  if (!TypesAreUnknown(pod.pod_resources)) {
    // Updates of the pod repeat the type.
    sources.type = pod.announced.contains(name) ? SaidBy::kMessage : pod.announced_by;
  }
  const auto latest = [&](bool made_later, uint64_t word) {
    return made != nullptr && made_later ? SaidBy::kMessage : AnnouncedBy(pod, word);
  };
  const uint64_t made_at = made == nullptr ? 0 : made->said.made;
  sources.kubernetes_resources =
      latest(made != nullptr && SaidLater(*made, words), words.resources);
  sources.mounts = latest(made_at >= words.mounts, words.mounts);
  sources.devices = latest(made_at >= words.devices, words.devices);
  sources.cdi_devices = latest(made_at >= words.cdi_devices, words.cdi_devices);
  return sources;
}

// The type of a container that nobody announced is unknown.
ContainerSources SourcesOfMade(const ContainerSpec& made) {
  return {
      .type = std::nullopt,
      .kubernetes_resources = made.kubernetes_resources.empty() ? SaidBy::kLinux : SaidBy::kMessage,
      .by_linux = {},
      .mounts = SaidBy::kMessage,
      .devices = SaidBy::kMessage,
      .cdi_devices = SaidBy::kMessage};
}

PictureSources SourcesOf(const SandboxSpec& pod, const std::vector<ContainerSpec>& containers) {
  PictureSources sources;
  for (const ContainerSpec& made : containers) {
    sources.containers[made.name] = SourcesOfMade(made);
  }
  for (const AnnouncedContainer& each : pod.pod_resources.containers) {
    const ContainerSpec* made = nullptr;
    for (const ContainerSpec& spec : containers) {
      if (spec.name == each.name) made = &spec;
    }
    sources.containers[each.name] = SourcesOfAnnounced(pod, each.name, made);
  }
  if (!pod.pod_resources.empty()) {
    sources.total = pod.announced.empty() ? pod.announced_by : SaidBy::kMessage;
  } else if (!containers.empty() || !InWriting(GuessFrom(pod.resources)).empty()) {
    sources.total = SaidBy::kLinux;
  }
  return sources;
}

// The gaps in the picture of a pod without kubelet's word.
std::vector<std::string> MissingFrom(const SandboxSpec& pod, PictureIs is) {
  if (is == PictureIs::kComplete) return {};
  if (!pod.pod_resources.containers.empty()) return {"types of the containers"};
  return {"containers that are not made yet", "types of the containers", "requests and limits"};
}

}  // namespace

const char* PictureIsName(PictureIs is) {
  switch (is) {
    case PictureIs::kAbsent:
      return "absent";
    case PictureIs::kPartial:
      return "partial";
    case PictureIs::kComplete:
      return "complete";
  }
  return "absent";
}

const char* SaidByName(SaidBy by) {
  switch (by) {
    case SaidBy::kMessage:
      return "message";
    case SaidBy::kAnnotation:
      return "annotation";
    case SaidBy::kKubelet:
      return "kubelet";
    case SaidBy::kLinux:
      return "linux";
  }
  return "linux";
}

PodPicture MakePicture(const SandboxSpec& pod, const std::vector<ContainerSpec>& containers) {
  if (pod.pod_resources.empty() && pod.facts.has_value()) {
    return PictureByKubelet(pod, *pod.facts, containers);
  }
  PodPicture picture;
  picture.is = HowMuch(pod, containers);
  picture.now = ResourcesNow(pod, containers);
  picture.sources = SourcesOf(pod, containers);
  picture.missing = MissingFrom(pod, picture.is);
  const bool unknown_types = TypesAreUnknown(pod.pod_resources);
  std::vector<resources::ContainerRequirements> all;
  for (const AnnouncedContainer& container : picture.now.containers) {
    all.push_back({unknown_types ? Role::kContainer : RoleOf(container.type),
                   ReadWritten(container.kubernetes_resources)});
  }
  const Requirements whole = pod.pod_resources.empty()
                                 ? GuessFrom(pod.resources)
                                 : ReadWritten(picture.now.kubernetes_resources);
  picture.total = resources::PodTotal(all, whole, GuessFrom(pod.overhead).requests);
  return picture;
}

KubernetesResources WrittenNow(const SandboxSpec& pod, const ContainerSpec& container) {
  if (SaidLater(container, WordsOf(pod, container.name))) return container.kubernetes_resources;
  for (const AnnouncedContainer& each : pod.pod_resources.containers) {
    if (each.name == container.name) return each.kubernetes_resources;
  }
  return container.kubernetes_resources;
}

void AnnounceAnew(PodResources update, uint64_t word, SandboxSpec* pod) {
  std::map<std::string, AnnouncedContainer> before;
  for (AnnouncedContainer& each : pod->pod_resources.containers) {
    before[each.name] = std::move(each);
  }
  std::map<std::string, AnnouncedWords> words;
  for (AnnouncedContainer& each : update.containers) {
    AnnouncedWords& said = words[each.name] = WordsOf(*pod, each.name);
    const auto take = [word](auto& field, auto& had, uint64_t& when) {
      if (field.empty()) {
        field = std::move(had);
      } else {
        when = word;
      }
    };
    AnnouncedContainer& had = before[each.name];
    if (had.kubernetes_resources.empty() && each.kubernetes_resources.is_given_empty) {
      had.kubernetes_resources.is_given_empty = true;
    }
    take(each.kubernetes_resources, had.kubernetes_resources, said.resources);
    take(each.mounts, had.mounts, said.mounts);
    take(each.devices, had.devices, said.devices);
    take(each.cdi_devices, had.cdi_devices, said.cdi_devices);
  }
  pod->pod_resources = std::move(update);
  pod->announced = std::move(words);
}

}  // namespace plimsoll::runtime
