#include "topology/draw.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace plimsoll::topology {
namespace {

// Zones by the name of their parent; those of a parent that is no zone by the root's name.
using Children = std::map<std::string, std::vector<const Zone*>>;

constexpr size_t kLongestValue = 40;

std::string Describe(const Zone& zone) {
  std::string line = absl::StrCat(zone.name, " ", zone.type);
  for (const ZoneResource& resource : zone.resources) {
    absl::StrAppend(&line, "  ", resource.name, " ", resource.capacity.text());
  }
  for (const auto& [name, value] : zone.attributes) {
    const bool long_one = value.size() > kLongestValue;
    absl::StrAppend(&line, "  ", name, "=", value.substr(0, kLongestValue), long_one ? "…" : "");
  }
  return line;
}

void Append(const Children& children, const std::string& parent, const std::string& indent,
            std::string& text) {
  const auto found = children.find(parent);
  if (found == children.end()) return;
  for (const Zone* zone : found->second) {
    const bool last = zone == found->second.back();
    absl::StrAppend(&text, indent, last ? "└─ " : "├─ ", Describe(*zone), "\n");
    if (zone->name != parent) Append(children, zone->name, indent + (last ? "   " : "│  "), text);
  }
}

}  // namespace

std::string TopologyText(const Topology& topology) {
  std::string text;
  Children children;
  for (const Zone& zone : topology.zones) {
    if (zone.name == kRootName) {
      absl::StrAppend(&text, Describe(zone), "\n");
    } else {
      children[zone.parent.empty() ? kRootName : zone.parent].push_back(&zone);
    }
  }
  Append(children, kRootName, "", text);
  return text;
}

}  // namespace plimsoll::topology
