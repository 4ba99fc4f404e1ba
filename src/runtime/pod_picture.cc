#include "runtime/pod_picture.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "resources/pod_total.h"

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

const char* RoleName(Role role) {
  switch (role) {
    case Role::kInit:
      return "init_container";
    case Role::kSidecar:
      return "sidecar_container";
    case Role::kContainer:
      return "container";
  }
  return "container";
}

// What is on record has been parsed before; of what can't be read, nothing is known.
Requirements Read(const KubernetesResources& written) {
  absl::StatusOr<Requirements> parsed = ParseResources(written);
  return parsed.ok() ? resources::WithDefaults(*std::move(parsed)) : Requirements();
}

// "2MB" -> "hugepages-2Mi".
std::string HugepageResource(const std::string& size) {
  return absl::StrCat("hugepages-", size.substr(0, size.size() - 1), "i");
}

// What the settings of a group tell of wishes: shares of a request, the rest of limits.
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

Requirements NeedsOf(const ContainerSpec& spec) {
  if (!spec.kubernetes_resources.empty()) return Read(spec.kubernetes_resources);
  return Guess(spec.resources);
}

void AddAnnounced(const SandboxSpec& pod, const std::map<std::string, const ContainerSpec*>& there,
                  PodPicture* picture) {
  const bool unknown_types = TypesAreUnknown(pod.pod_resources);
  for (const AnnouncedContainer& announced : pod.pod_resources.containers) {
    PodPicture::Container container = {.name = announced.name, .announced = true};
    container.role = unknown_types ? Role::kContainer : RoleOf(announced.type);
    const auto now = there.find(announced.name);
    const bool is_newer = now != there.end() && !now->second->kubernetes_resources.empty();
    container.requirements =
        Read(is_newer ? now->second->kubernetes_resources : announced.kubernetes_resources);
    picture->containers.push_back(std::move(container));
  }
  if (!pod.pod_resources.empty()) {
    const bool is_whole = !pod.pod_resources.containers.empty() && !unknown_types;
    picture->is = is_whole ? PictureIs::kComplete : PictureIs::kPartial;
  }
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
  PodPicture picture;
  std::map<std::string, const ContainerSpec*> there;
  for (const ContainerSpec& container : containers) there[container.name] = &container;
  AddAnnounced(pod, there, &picture);
  for (const PodPicture::Container& container : picture.containers) there.erase(container.name);
  for (const ContainerSpec& container : containers) {
    if (!there.contains(container.name)) continue;
    picture.containers.push_back({.name = container.name, .requirements = NeedsOf(container)});
  }
  std::vector<resources::ContainerRequirements> all;
  for (const PodPicture::Container& container : picture.containers) {
    all.push_back({container.role, container.requirements});
  }
  Requirements whole = Read(pod.pod_resources.kubernetes_resources);
  if (pod.pod_resources.empty()) {
    whole = Guess(pod.resources);
    const bool knows = !whole.requests.empty() || !whole.limits.empty();
    if (knows || !containers.empty()) picture.is = PictureIs::kPartial;
  }
  picture.total = resources::PodTotal(all, whole, Guess(pod.overhead).requests);
  return picture;
}

std::string ToJson(const PodPicture& picture) {
  nlohmann::ordered_json json;
  json["picture"] = PictureIsName(picture.is);
  json["requests"] = ListJson(picture.total.requests);
  json["limits"] = ListJson(picture.total.limits);
  json["containers"] = nlohmann::ordered_json::array();
  for (const PodPicture::Container& container : picture.containers) {
    json["containers"].push_back({{"name", container.name},
                                  {"type", RoleName(container.role)},
                                  {"announced", container.announced},
                                  {"requests", ListJson(container.requirements.requests)},
                                  {"limits", ListJson(container.requirements.limits)}});
  }
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace plimsoll::runtime
