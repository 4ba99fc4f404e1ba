#include "runtime/handlers/vfio.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace plimsoll::runtime {
namespace {

constexpr char kBridge[] = "06";  // PCI base class "bridge device"

bool IsNumber(absl::string_view text) {
  return !text.empty() && text.size() < 10 && absl::c_all_of(text, absl::ascii_isdigit);
}

absl::Status Missing(const std::string& node, const absl::Status& why) {
  return absl::FailedPreconditionError(
      absl::StrCat("device ", node, ": no such VFIO group on this machine: ", why.message()));
}

// Empty: the node isn't VFIO's.
absl::StatusOr<std::string> GroupOf(const FsRoot& host, const std::string& node) {
  absl::string_view rest = node;
  if (!absl::ConsumePrefix(&rest, "/dev/vfio/")) return std::string();
  if (absl::ConsumePrefix(&rest, "devices/")) {
    if (!absl::StartsWith(rest, "vfio") || !IsNumber(rest.substr(4))) return std::string();
    const auto link =
        host.ReadLink(absl::StrCat("sys/class/vfio-dev/", rest, "/device/iommu_group"));
    if (!link.ok()) return Missing(node, link.status());
    return link->substr(link->rfind('/') + 1);
  }
  absl::ConsumePrefix(&rest, "noiommu-");
  return IsNumber(rest) ? std::string(rest) : std::string();
}

PortKind PortFor(absl::string_view pci_class, const std::map<std::string, PortKind>& ports) {
  PortKind kind = PortKind::kNone;
  size_t longest = 0;
  for (const auto& [prefix, port] : ports) {
    if (!absl::StartsWith(pci_class, prefix) || prefix.size() < longest) continue;
    kind = port;
    longest = prefix.size();
  }
  return kind;
}

}  // namespace

absl::StatusOr<std::vector<VfioGroup>> FindVfioGroups(
    const FsRoot& host, const std::vector<std::string>& nodes,
    const std::map<std::string, PortKind>& ports) {
  std::vector<VfioGroup> groups;
  for (const std::string& node : nodes) {
    const absl::StatusOr<std::string> number = GroupOf(host, node);
    if (!number.ok()) return number.status();
    const bool known =
        absl::c_any_of(groups, [&](const VfioGroup& group) { return group.group == *number; });
    if (number->empty() || known) continue;
    const std::string directory = absl::StrCat("sys/kernel/iommu_groups/", *number, "/devices");
    const absl::StatusOr<std::vector<std::string>> addresses = host.List(directory);
    if (!addresses.ok()) return Missing(node, addresses.status());
    VfioGroup group = {.group = *number, .devices = {}};
    for (const std::string& address : *addresses) {
      // A mediated device has no class.
      const std::string text =
          host.Read(absl::StrCat(directory, "/", address, "/class"), 64).value_or("");
      const absl::string_view pci_class = absl::StripPrefix(absl::StripAsciiWhitespace(text), "0x");
      if (absl::StartsWith(pci_class, kBridge)) continue;
      group.devices.push_back({address, std::string(pci_class), PortFor(pci_class, ports)});
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace plimsoll::runtime
