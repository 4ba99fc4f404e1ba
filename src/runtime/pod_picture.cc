#include "runtime/pod_picture.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "resources/pod_total.h"
#include "runtime/spec/json.h"

namespace plimsoll::runtime {
namespace {

using resources::Quantity;
using resources::Requirements;
using Role = resources::ContainerRequirements::Role;

Role RoleOf(AnnouncedContainer::Type type) {
  switch (type) {
    case AnnouncedContainer::Type::kInit:
      return Role::kInit;
    case AnnouncedContainer::Type::kSidecar:
      return Role::kSidecar;
    case AnnouncedContainer::Type::kContainer:
      return Role::kContainer;
  }
  return Role::kContainer;
}

// Recorded resources have been parsed before; unreadable ones count as unknown.
Requirements Read(const KubernetesResources& written) {
  absl::StatusOr<Requirements> parsed = ParseResources(written);
  return parsed.ok() ? resources::WithDefaults(*std::move(parsed)) : Requirements();
}

// "2MB" -> "hugepages-2Mi".
std::string HugepageResource(const std::string& size) {
  return absl::StrCat("hugepages-", size.substr(0, size.size() - 1), "i");
}

// The requirements that a group's settings suggest: shares a request, the rest limits.
Requirements Guess(const linux::CgroupSettings& settings) {
  Requirements guess;
  if (settings.cpu_shares.has_value()) {
    const int64_t milli = resources::SharesToMilliCpu(*settings.cpu_shares);
    if (milli > 0) guess.requests["cpu"] = Quantity::FromMilli(milli);
  }
  if (settings.cpu_quota_us.value_or(-1) > 0) {
    guess.limits["cpu"] = Quantity::FromMilli(resources::QuotaToMilliCpu(
        *settings.cpu_quota_us, settings.cpu_period_us.value_or(resources::kDefaultPeriodUs)));
  }
  if (settings.memory_limit_bytes.value_or(-1) > 0) {
    guess.limits["memory"] =
        Quantity::FromInt(*settings.memory_limit_bytes, Quantity::Format::kBinarySi);
  }
  for (const auto& [size, bytes] : settings.hugetlb_limits) {
    if (bytes == 0 || size.size() < 3) continue;
    guess.limits[HugepageResource(size)] =
        Quantity::FromInt(static_cast<int64_t>(bytes), Quantity::Format::kBinarySi);
  }
  return resources::WithDefaults(std::move(guess));
}

KubernetesResources WrittenResources(const Requirements& requirements) {
  KubernetesResources written;
  for (const auto& [name, amount] : requirements.requests) {
    written.requests[name] = amount.Canonical();
  }
  for (const auto& [name, amount] : requirements.limits) written.limits[name] = amount.Canonical();
  return written;
}

// A container as it would have been announced.
AnnouncedContainer Announce(const ContainerSpec& spec) {
  AnnouncedContainer container = {.name = spec.name, .type = AnnouncedContainer::Type::kContainer};
  container.kubernetes_resources = spec.kubernetes_resources.empty()
                                       ? WrittenResources(Guess(spec.resources))
                                       : spec.kubernetes_resources;
  for (const Mount& mount : spec.mounts) container.mounts.push_back(mount);
  container.devices = spec.devices;
  container.cdi_devices = spec.cdi_devices;
  return container;
}

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
      others.push_back(Announce(spec));
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
                     !WrittenResources(Guess(pod.resources)).empty();
  return knows ? PictureIs::kPartial : PictureIs::kAbsent;
}

nlohmann::ordered_json ListJson(const resources::ResourceList& list) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, amount] : list) json[name] = amount.Canonical();
  return json;
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

PodPicture MakePicture(const SandboxSpec& pod, const std::vector<ContainerSpec>& containers) {
  PodPicture picture = {.is = HowMuch(pod, containers), .now = ResourcesNow(pod, containers)};
  const bool unknown_types = TypesAreUnknown(pod.pod_resources);
  std::vector<resources::ContainerRequirements> all;
  for (const AnnouncedContainer& container : picture.now.containers) {
    all.push_back({unknown_types ? Role::kContainer : RoleOf(container.type),
                   Read(container.kubernetes_resources)});
  }
  const Requirements whole =
      pod.pod_resources.empty() ? Guess(pod.resources) : Read(picture.now.kubernetes_resources);
  picture.total = resources::PodTotal(all, whole, Guess(pod.overhead).requests);
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

std::string ToJson(const PodPicture& picture) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["picture"] = PictureIsName(picture.is);
  json["total"]["requests"] = ListJson(picture.total.requests);
  json["total"]["limits"] = ListJson(picture.total.limits);
  json.update(Json::parse(ToJson(picture.now), nullptr, /*allow_exceptions=*/false));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace plimsoll::runtime
