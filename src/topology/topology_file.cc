#include "topology/topology_file.h"

#include <yaml-cpp/yaml.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/problems.h"
#include "yaml/documents.h"
#include "yaml/reader.h"

namespace plimsoll::topology {
namespace {

Cost ReadCost(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  Cost cost;
  YamlMapping mapping(reader, node, path);
  mapping.Required("name", cost.name);
  std::optional<int64_t> value;
  mapping.Int("value", value, 0, UINT32_MAX);
  cost.value = static_cast<uint32_t>(value.value_or(0));
  mapping.Finish();
  return cost;
}

// Reads a quantity, bare or in an object, as the CRI's messages (`plimsoll topology -o json`) have
// it.
std::optional<resources::Quantity> ReadCapacity(YamlReader& reader, const YAML::Node& node,
                                                const std::string& path) {
  if (node.IsMap()) {
    YamlMapping message(reader, node, path);
    const auto inner = message.Get("string");
    if (!inner) reader.Fail(node, path, "string: is missing");
    message.Finish();
    if (!inner || inner->IsMap()) return std::nullopt;
    return ReadCapacity(reader, *inner, message.PathOf("string"));
  }
  const auto text = reader.AsText(node, path);
  if (!text) return std::nullopt;
  auto quantity = resources::Quantity::Parse(*text);
  if (quantity.ok()) return quantity->InCanonicalForm();
  reader.Fail(node, path, quantity.status().message());
  return std::nullopt;
}

ZoneResource ReadResource(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  ZoneResource resource;
  YamlMapping mapping(reader, node, path);
  mapping.Required("name", resource.name);
  if (const auto capacity = mapping.Get("capacity")) {
    auto quantity = ReadCapacity(reader, *capacity, mapping.PathOf("capacity"));
    if (quantity) resource.capacity = *std::move(quantity);
  } else {
    reader.Fail(node, path, "capacity: is missing");
  }
  mapping.Finish();
  return resource;
}

Zone ReadZone(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  Zone zone;
  YamlMapping mapping(reader, node, path);
  mapping.Required("name", zone.name);
  mapping.String("type", zone.type);
  mapping.String("parent", zone.parent);
  mapping.Each("costs", [&](const YAML::Node& cost, const std::string& cost_path) {
    zone.costs.push_back(ReadCost(reader, cost, cost_path));
  });
  if (const auto attributes = mapping.Get("attributes")) {
    // YAML reads a list of one CPU as a number.
    reader.Entries(
        *attributes, mapping.PathOf("attributes"),
        [&](const std::string& name, const YAML::Node& value, const std::string& value_path) {
          if (auto text = reader.AsText(value, value_path)) {
            zone.attributes[name] = *std::move(text);
          }
        });
  }
  mapping.Each("resources", [&](const YAML::Node& resource, const std::string& resource_path) {
    zone.resources.push_back(ReadResource(reader, resource, resource_path));
  });
  mapping.Finish();
  return zone;
}

void Write(YAML::Emitter& out, const Zone& zone) {
  out << YAML::BeginMap << YAML::Key << "name" << YAML::Value << zone.name;
  out << YAML::Key << "type" << YAML::Value << zone.type;
  if (!zone.parent.empty()) out << YAML::Key << "parent" << YAML::Value << zone.parent;
  if (!zone.costs.empty()) {
    out << YAML::Key << "costs" << YAML::Value << YAML::BeginSeq;
    for (const Cost& cost : zone.costs) {
      out << YAML::Flow << YAML::BeginMap << YAML::Key << "name" << YAML::Value << cost.name
          << YAML::Key << "value" << YAML::Value << cost.value << YAML::EndMap;
    }
    out << YAML::EndSeq;
  }
  if (!zone.attributes.empty()) {
    out << YAML::Key << "attributes" << YAML::Value << YAML::BeginMap;
    for (const auto& [name, value] : zone.attributes) {
      out << YAML::Key << name << YAML::Value << YAML::DoubleQuoted << value;
    }
    out << YAML::EndMap;
  }
  if (!zone.resources.empty()) {
    out << YAML::Key << "resources" << YAML::Value << YAML::BeginSeq;
    for (const ZoneResource& resource : zone.resources) {
      out << YAML::Flow << YAML::BeginMap << YAML::Key << "name" << YAML::Value << resource.name
          << YAML::Key << "capacity" << YAML::Value << resource.capacity.text() << YAML::EndMap;
    }
    out << YAML::EndSeq;
  }
  out << YAML::EndMap;
}

void ReadDocument(YamlReader& reader, const std::vector<YAML::Node>& documents,
                  Topology& topology) {
  if (documents.size() != 1) {
    return reader.Fail({}, "", absl::StrCat("expected one document, found ", documents.size()));
  }
  YamlMapping root(reader, documents[0], "");
  if (!root.Get("zones")) reader.Fail(documents[0], "", "zones: is missing");
  root.Each("zones", [&](const YAML::Node& node, const std::string& path) {
    topology.zones.push_back(ReadZone(reader, node, path));
  });
  root.Finish();
}

// Fills `topology` with the readable parts, even when it returns an error; `faults` may be null.
absl::Status Parse(absl::string_view text, const std::string& file, Topology& topology,
                   std::vector<std::string>* faults) {
  YamlReader reader(file);
  absl::Status status;
  try {
    ReadDocument(reader, LoadYamlDocuments(std::string(text)), topology);
    status = reader.status();
  } catch (const YAML::Exception& error) {
    status = absl::InvalidArgumentError(absl::StrCat(
        file, ":", error.mark.line + 1, ":", error.mark.column + 1, ": ", YamlFault(error)));
  }
  if (!status.ok() && faults != nullptr) {
    *faults = reader.errors();
    if (faults->empty()) faults->emplace_back(status.message());
  }
  return status;
}

}  // namespace

absl::StatusOr<Topology> ParseTopology(absl::string_view text, const std::string& file) {
  Topology topology;
  PLIMSOLL_RETURN_IF_ERROR(Parse(text, file, topology, nullptr));
  return topology;
}

std::vector<std::string> FaultsOf(absl::string_view text, const std::string& file,
                                  const MachineNumbers* machine) {
  std::vector<std::string> faults;
  Topology topology;
  const bool is_read = Parse(text, file, topology, &faults).ok();
  // A text with faults: the zones that could be read may have more.
  if (!is_read) {
    if (faults.size() > kMostProblems) return faults;  // zones behind them were not read
    std::erase_if(topology.zones, [](const Zone& zone) { return zone.name.empty(); });
    if (topology.zones.empty()) return faults;
  }
  std::vector<std::string> of_tree;
  Validate(topology, machine, &of_tree).IgnoreError();  // `of_tree` has them all
  for (const std::string& fault : of_tree) faults.push_back(absl::StrCat(file, ": ", fault));
  return faults;
}

std::string TopologyYaml(const Topology& topology) {
  YAML::Emitter out;
  out << YAML::BeginMap << YAML::Key << "zones" << YAML::Value << YAML::BeginSeq;
  for (const Zone& zone : topology.zones) Write(out, zone);
  out << YAML::EndSeq << YAML::EndMap;
  return absl::StrCat(out.c_str(), "\n");
}

}  // namespace plimsoll::topology
