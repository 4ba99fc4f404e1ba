#include <nlohmann/json.hpp>

#include "runtime/requests/pod_picture.h"
#include "runtime/spec/json.h"

namespace plimsoll::runtime {
namespace {

using PictureJson = nlohmann::ordered_json;

PictureJson AmountsJson(const resources::ResourceList& list) {
  PictureJson json = PictureJson::object();
  for (const auto& [name, amount] : list) json[name] = amount.Canonical();
  return json;
}

void AddSource(const char* key, const std::optional<SaidBy>& source, PictureJson* json) {
  if (source.has_value()) (*json)[key] = SaidByName(*source);
}

void AddTexts(const char* key, const std::vector<std::string>& texts, PictureJson* json) {
  if (!texts.empty()) (*json)[key] = texts;
}

PictureJson SourcesJson(const PodPicture& picture) {
  PictureJson json = PictureJson::object();
  AddSource("total", picture.sources.total, &json);
  AddTexts("total_by_linux", picture.sources.total_by_linux, &json);
  // In the containers' order.
  for (const AnnouncedContainer& each : picture.now.containers) {
    const auto found = picture.sources.containers.find(each.name);
    if (found == picture.sources.containers.end()) continue;
    const ContainerSources& sources = found->second;
    PictureJson of_container = {{"name", each.name}};
    AddSource("type", sources.type, &of_container);
    AddSource("kubernetes_resources", sources.kubernetes_resources, &of_container);
    AddTexts("by_linux", sources.by_linux, &of_container);
    AddSource("mounts", sources.mounts, &of_container);
    AddSource("devices", sources.devices, &of_container);
    AddSource("cdi_devices", sources.cdi_devices, &of_container);
    json["containers"].push_back(std::move(of_container));
  }
  return json;
}

// Lists, not objects by name: readers may change the spelling of keys.
PictureJson GrantsJson(const std::map<std::string, ContainerGrants>& grants) {
  PictureJson json = PictureJson::array();
  for (const auto& [name, granted] : grants) {
    PictureJson of_container = {{"name", name}};
    for (const auto& [resource, ids] : granted.devices) {
      of_container["devices"].push_back({{"resource", resource}, {"ids", ids}});
    }
    if (!granted.exclusive_cpus.empty()) of_container["exclusive_cpus"] = granted.exclusive_cpus;
    for (const PinnedMemory& pinned : granted.memory) {
      of_container["memory"].push_back({{"resource", pinned.resource},
                                        {"numa_nodes", pinned.numa_nodes},
                                        {"bytes", pinned.bytes}});
    }
    AddTexts("cdi_devices", granted.cdi_devices, &of_container);
    if (of_container.size() > 1) json.push_back(std::move(of_container));
  }
  return json;
}

}  // namespace

std::string ToJson(const PodPicture& picture) {
  PictureJson json;
  json["picture"] = PictureIsName(picture.is);
  json["total"]["requests"] = AmountsJson(picture.total.requests);
  json["total"]["limits"] = AmountsJson(picture.total.limits);
  json.update(PictureJson::parse(ToJson(picture.now), nullptr, /*allow_exceptions=*/false));
  if (PictureJson sources = SourcesJson(picture); !sources.empty()) {
    json["sources"] = std::move(sources);
  }
  AddTexts("missing", picture.missing, &json);
  AddTexts("why", picture.why, &json);
  if (PictureJson grants = GrantsJson(picture.grants); !grants.empty()) {
    json["grants"] = std::move(grants);
  }
  return json.dump(-1, ' ', false, PictureJson::error_handler_t::replace);
}

}  // namespace plimsoll::runtime
