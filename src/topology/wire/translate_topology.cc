#include "topology/wire/translate_topology.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "resources/quantity.h"

namespace plimsoll::topology {

void FillTopology(const Topology& topology, ::runtime::v1::ResourceTopology* out) {
  for (const Zone& zone : topology.zones) {
    ::runtime::v1::ResourceTopologyZone* message = out->add_zones();
    message->set_name(zone.name);
    message->set_type(zone.type);
    message->set_parent(zone.parent);
    for (const Cost& cost : zone.costs) {
      auto* added = message->add_costs();
      added->set_name(cost.name);
      added->set_value(cost.value);
    }
    for (const auto& [name, value] : zone.attributes)
      (*message->mutable_attributes())[name] = value;
    for (const ZoneResource& resource : zone.resources) {
      auto* added = message->add_resources();
      added->set_name(resource.name);
      added->mutable_capacity()->set_string(resource.capacity.text());
    }
  }
}

absl::StatusOr<Topology> TopologyFrom(const ::runtime::v1::ResourceTopology& message) {
  Topology topology;
  topology.zones.reserve(static_cast<size_t>(message.zones_size()));
  for (const ::runtime::v1::ResourceTopologyZone& zone : message.zones()) {
    Zone& added = topology.zones.emplace_back();
    added.name = zone.name();
    added.type = zone.type();
    added.parent = zone.parent();
    for (const auto& cost : zone.costs()) added.costs.push_back({cost.name(), cost.value()});
    added.attributes.insert(zone.attributes().begin(), zone.attributes().end());
    for (const auto& resource : zone.resources()) {
      auto capacity = resources::Quantity::Parse(resource.capacity().string());
      if (!capacity.ok()) {
        return absl::InvalidArgumentError(absl::StrCat("zone \"", zone.name(), "\", resource \"",
                                                       resource.name(),
                                                       "\": ", capacity.status().message()));
      }
      added.resources.push_back({resource.name(), capacity->InCanonicalForm()});
    }
  }
  return topology;
}

}  // namespace plimsoll::topology
