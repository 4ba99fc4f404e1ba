#include "runtime/oci/capabilities.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace plimsoll::runtime {
namespace {

// By number, <linux/capability.h>.
constexpr std::array<const char*, 41> kNames = {"CHOWN",
                                                "DAC_OVERRIDE",
                                                "DAC_READ_SEARCH",
                                                "FOWNER",
                                                "FSETID",
                                                "KILL",
                                                "SETGID",
                                                "SETUID",
                                                "SETPCAP",
                                                "LINUX_IMMUTABLE",
                                                "NET_BIND_SERVICE",
                                                "NET_BROADCAST",
                                                "NET_ADMIN",
                                                "NET_RAW",
                                                "IPC_LOCK",
                                                "IPC_OWNER",
                                                "SYS_MODULE",
                                                "SYS_RAWIO",
                                                "SYS_CHROOT",
                                                "SYS_PTRACE",
                                                "SYS_PACCT",
                                                "SYS_ADMIN",
                                                "SYS_BOOT",
                                                "SYS_NICE",
                                                "SYS_RESOURCE",
                                                "SYS_TIME",
                                                "SYS_TTY_CONFIG",
                                                "MKNOD",
                                                "LEASE",
                                                "AUDIT_WRITE",
                                                "AUDIT_CONTROL",
                                                "SETFCAP",
                                                "MAC_OVERRIDE",
                                                "MAC_ADMIN",
                                                "SYSLOG",
                                                "WAKE_ALARM",
                                                "BLOCK_SUSPEND",
                                                "AUDIT_READ",
                                                "PERFMON",
                                                "BPF",
                                                "CHECKPOINT_RESTORE"};

constexpr std::array<const char*, 14> kDefaults = {
    "CHOWN",   "DAC_OVERRIDE", "FSETID",           "FOWNER",
    "MKNOD",   "NET_RAW",      "SETGID",           "SETUID",
    "SETFCAP", "SETPCAP",      "NET_BIND_SERVICE", "SYS_CHROOT",
    "KILL",    "AUDIT_WRITE"};

absl::StatusOr<CapabilityMask> MaskOf(const std::vector<std::string>& names,
                                      absl::string_view field) {
  CapabilityMask mask = 0;
  for (const std::string& name : names) {
    if (absl::EqualsIgnoreCase(name, "ALL")) continue;
    absl::StatusOr<CapabilityMask> bit = CapabilityBit(name);
    if (!bit.ok()) return Annotate(bit.status(), field);
    mask |= *bit;
  }
  return mask;
}

bool HasAll(const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return absl::EqualsIgnoreCase(name, "ALL"); });
}

}  // namespace

absl::StatusOr<CapabilityMask> CapabilityBit(absl::string_view name) {
  const std::string upper = absl::AsciiStrToUpper(name);
  const absl::string_view bare = absl::StripPrefix(upper, "CAP_");
  const auto found = std::find(kNames.begin(), kNames.end(), bare);
  if (found == kNames.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no capability is called \"", name, "\"; see capabilities(7)"));
  }
  return CapabilityMask{1} << (found - kNames.begin());
}

std::vector<std::string> CapabilityNames(CapabilityMask mask) {
  std::vector<std::string> names;
  for (size_t i = 0; i < kNames.size(); ++i) {
    if ((mask >> i & 1) != 0) names.push_back(absl::StrCat("CAP_", kNames[i]));
  }
  return names;
}

CapabilityMask DefaultCapabilities() {
  CapabilityMask mask = 0;
  for (const char* name : kDefaults) mask |= *CapabilityBit(name);
  return mask;
}

absl::StatusOr<CapabilityMask> OwnCapabilities(const FsRoot& host) {
  PLIMSOLL_ASSIGN_OR_RETURN(const linux::OwnCapabilitySets own, linux::ReadOwnCapabilities(host));
  constexpr CapabilityMask kKnown = (CapabilityMask{1} << kNames.size()) - 1;
  return own.effective & own.bounding & kKnown;
}

absl::StatusOr<ContainerCapabilities> ResolveCapabilities(const SecurityContext& security,
                                                          CapabilityMask own) {
  const Capabilities& asked = security.capabilities;
  PLIMSOLL_ASSIGN_OR_RETURN(const CapabilityMask add, MaskOf(asked.add, "capabilities.add"));
  PLIMSOLL_ASSIGN_OR_RETURN(const CapabilityMask drop, MaskOf(asked.drop, "capabilities.drop"));
  PLIMSOLL_ASSIGN_OR_RETURN(const CapabilityMask ambient,
                            MaskOf(asked.add_ambient, "capabilities.add_ambient"));
  constexpr CapabilityMask kAll = (CapabilityMask{1} << kNames.size()) - 1;
  CapabilityMask wanted = DefaultCapabilities();
  if (HasAll(asked.add)) wanted = kAll;
  if (HasAll(asked.drop)) wanted = 0;
  wanted = (wanted | add | ambient) & ~drop;
  if (security.privileged) wanted = kAll;

  ContainerCapabilities result;
  result.granted = wanted & own;
  result.ambient = ambient & wanted & own;
  result.refused = wanted & ~own;
  return result;
}

}  // namespace plimsoll::runtime
