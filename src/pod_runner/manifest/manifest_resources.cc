#include "pod_runner/manifest/manifest_resources.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/text/closest_word.h"
#include "pod_runner/manifest/amount.h"
#include "pod_runner/manifest/manifest_classes.h"
#include "qos/pod_qos.h"
#include "resources/pod_total.h"

namespace plimsoll::pod {
namespace {

constexpr char kStorage[] = "ephemeral-storage";

bool IsOfLinux(const std::string& name) {
  return name == "cpu" || name == "memory" || absl::StartsWith(name, "hugepages-");
}

// Something that a device plugin or the runtime knows, counted in whole numbers.
bool IsExtended(const std::string& name) {
  return absl::StrContains(name, '/') && !absl::StartsWith(name, "kubernetes.io/");
}

std::string NearResource(const std::string& name) {
  const std::string closest =
      ClosestWord(name, {"cpu", "memory", kStorage, "hugepages-2Mi", "hugepages-1Gi"});
  return closest.empty() ? "known are cpu, memory, hugepages-<size>, ephemeral-storage and "
                           "extended resources (example.com/name)"
                         : absl::StrCat("did you mean \"", closest, "\"?");
}

bool IsQuantity(const YAML::Node& node) {
  return node.IsScalar() && resources::Quantity::Parse(node.Scalar()).ok();
}

resources::ResourceList ReadResourceList(YamlReader& reader, const YAML::Node& node,
                                         const std::string& path, bool is_limit) {
  resources::ResourceList list;
  YamlMapping mapping(reader, node, path);
  for (const auto& item : mapping.node()) {
    const std::string& name = item.first.Scalar();
    const std::string item_path = mapping.PathOf(name);
    const auto value = mapping.Get(name);
    if (!value) continue;
    if (name == kStorage && reader.on_record() && !IsQuantity(*value)) continue;
    if (!IsOfLinux(name) && !IsExtended(name) && name != kStorage) {
      reader.Fail(item.first, path,
                  absl::StrCat("unknown resource \"", name, "\"; ", NearResource(name)));
      continue;
    }
    const auto text = reader.AsText(*value, item_path);
    if (!text) continue;
    absl::StatusOr<resources::Quantity> quantity = resources::Quantity::Parse(*text);
    if (!quantity.ok()) {
      reader.Fail(*value, item_path, quantity.status().message());
      continue;
    }
    if (IsExtended(name) && quantity->MilliValue() % 1000 != 0) {
      reader.Fail(*value, item_path, "must be a whole number: nobody shares a piece of it");
    }
    // Kubernetes takes any number as a request, and warns of thousandths of a byte.
    const bool check = name == "memory" && (is_limit || absl::EndsWith(*text, "m"));
    const absl::Status size = check ? CheckMemoryLimit(*quantity) : absl::OkStatus();
    if (!size.ok() && is_limit) reader.Fail(*value, item_path, size.message());
    if (!size.ok() && !is_limit) reader.Note(*value, item_path, size.message());
    if (name == kStorage && is_limit && !quantity->IsZero()) {
      reader.Note(*value, item_path, "not enforced: Plimsoll does not limit local storage");
    }
    list.emplace(name, *std::move(quantity));
  }
  mapping.Finish();
  return list;
}

// Kubernetes takes a larger request, and gives it the largest number of shares.
void NoteHugeRequest(YamlReader& reader, const YAML::Node& node, const std::string& path,
                     const resources::Requirements& requirements) {
  constexpr int64_t kMost = static_cast<int64_t>(resources::kMaxShares / 1024);
  const auto asked = resources::WithDefaults(requirements).requests;
  const auto cpu = asked.find("cpu");
  if (cpu == asked.end() || cpu->second.MilliValue() <= kMost * 1000) return;
  reader.Note(node, path,
              absl::StrCat("a CPU request of ", cpu->second.text(), " weighs as ", kMost, " does: ",
                           resources::kMaxShares, " shares are the most that Linux takes"));
}

// Older versions passed over ephemeral-storage, and so took any amounts of it.
void DropOddStorage(resources::Requirements& requirements) {
  resources::Requirements storage;
  for (const auto list : {&resources::Requirements::requests, &resources::Requirements::limits}) {
    const auto amount = (requirements.*list).find(kStorage);
    if (amount != (requirements.*list).end()) (storage.*list).insert(*amount);
  }
  if (resources::Validate(storage).ok()) return;
  requirements.requests.erase(kStorage);
  requirements.limits.erase(kStorage);
}

// Kubernetes never gives more of such a resource than was requested.
void CheckExtended(YamlReader& reader, const YAML::Node& node, const std::string& path,
                   const resources::Requirements& requirements) {
  for (const auto& [name, request] : requirements.requests) {
    if (!IsExtended(name)) continue;
    const auto limit = requirements.limits.find(name);
    if (limit == requirements.limits.end() || limit->second != request) {
      reader.Fail(node, path, absl::StrCat(name, ": the limit must equal the request"));
    }
  }
}

void CheckPodResources(YamlReader& reader, const YAML::Node& node, const std::string& path,
                       const Manifest& pod) {
  std::vector<resources::ContainerRequirements> all;
  for (const ContainerManifest& container : pod.containers) {
    all.push_back({container.role, resources::WithDefaults(container.resources)});
    for (const auto& [name, limit] : container.resources.limits) {
      const auto most = pod.resources->limits.find(name);
      if (most == pod.resources->limits.end() || limit <= most->second) continue;
      reader.Fail(node, path,
                  absl::StrCat(name, ": container ", container.name, "'s limit ", limit.text(),
                               " is above the pod's ", most->second.text()));
    }
  }
  const resources::Requirements sum = resources::PodTotal(all, {}, {});
  for (const auto& [name, request] : resources::WithDefaults(*pod.resources).requests) {
    const auto asked = sum.requests.find(name);
    if (asked == sum.requests.end() || asked->second <= request) continue;
    reader.Fail(node, path,
                absl::StrCat(name, ": the containers request ", asked->second.Canonical(),
                             " together, the pod ", request.text()));
  }
}

}  // namespace

resources::Requirements ReadResources(YamlReader& reader, const YAML::Node& node,
                                      const std::string& path,
                                      std::map<std::string, std::string>& classes) {
  resources::Requirements requirements;
  YamlMapping mapping(reader, node, path);
  if (const auto list = mapping.Get("requests")) {
    requirements.requests =
        ReadResourceList(reader, *list, mapping.PathOf("requests"), /*is_limit=*/false);
  }
  if (const auto list = mapping.Get("limits")) {
    requirements.limits =
        ReadResourceList(reader, *list, mapping.PathOf("limits"), /*is_limit=*/true);
  }
  classes = ReadClasses(reader, mapping);
  mapping.Refuse("claims", "there is no API server here, and no claims");
  mapping.Finish();
  if (reader.on_record()) DropOddStorage(requirements);
  const absl::Status valid = resources::Validate(requirements);
  if (!valid.ok()) reader.Fail(node, path, valid.message());
  CheckExtended(reader, node, path, requirements);
  NoteHugeRequest(reader, node, path, requirements);
  return requirements;
}

void ReadPodResources(YamlReader& reader, YamlMapping& spec, Manifest& pod) {
  const auto node = spec.Get("resources");
  if (!node) return;
  const std::string path = spec.PathOf("resources");
  resources::Requirements own = ReadResources(reader, *node, path, pod.classes);
  if (pod.classes.contains(qos::kPodQos)) {
    reader.Fail(*node, absl::StrCat(path, ".classes"),
                absl::StrCat(qos::kPodQos, " follows from requests and limits: leave it out"));
  }
  for (const auto* list : {&own.requests, &own.limits}) {
    for (const auto& [name, amount] : *list) {
      if (IsExtended(name)) reader.Fail(*node, path, absl::StrCat(name, " is of containers only"));
    }
  }
  for (auto* list : {&own.requests, &own.limits}) {
    if (list->erase(kStorage) == 0) continue;
    reader.Note(*node, path, absl::StrCat("ignored: ", kStorage, " is of containers only"));
  }
  if (own.requests.empty() && own.limits.empty()) return;
  pod.resources = std::move(own);
  CheckPodResources(reader, *node, path, pod);
}

}  // namespace plimsoll::pod
