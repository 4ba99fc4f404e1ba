#include "pod_runner/manifest/manifest_security.h"

#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "pod_runner/manifest/manifest_fields.h"

namespace plimsoll::pod {
namespace {

constexpr int64_t kMaxId = std::numeric_limits<int32_t>::max();

// Older versions took absolute paths of seccomp profiles, and no others worked.
bool IsProfilePath(const YamlReader& reader, absl::string_view path) {
  return IsBelow(path) || (reader.on_record() && absl::StartsWith(path, "/"));
}

// A seccompProfile or appArmorProfile. A Localhost profile of seccomp is a file below the root of
// all; one of AppArmor is a name.
std::optional<SecurityProfile> ReadProfile(YamlReader& reader, YamlMapping& parent,
                                           const std::string& key, bool is_path) {
  const auto node = parent.Get(key);
  if (!node) return std::nullopt;
  SecurityProfile profile;
  YamlMapping mapping(reader, *node, parent.PathOf(key));
  mapping.OneOf("type", profile.type, {"RuntimeDefault", "Unconfined", "Localhost"});
  if (profile.type.empty()) reader.Fail(*node, mapping.path(), "\"type\" is missing");
  mapping.String("localhostProfile", profile.localhost_profile);
  if ((profile.type == "Localhost") != !profile.localhost_profile.empty()) {
    reader.Fail(*node, mapping.path(), "type Localhost and localhostProfile go together");
  }
  if (is_path && !IsProfilePath(reader, profile.localhost_profile)) {
    reader.Fail(*node, mapping.PathOf("localhostProfile"),
                "must be relative to the root of seccomp profiles and without \"..\"");
  }
  mapping.Finish();
  return profile;
}

// The fields that pod and container share.
void ReadCommonSecurity(YamlReader& reader, YamlMapping& mapping, PodSecurityFields& fields) {
  mapping.Int("runAsUser", fields.run_as_user, 0, kMaxId);
  mapping.Int("runAsGroup", fields.run_as_group, 0, kMaxId);
  mapping.OptionalBool("runAsNonRoot", fields.run_as_non_root);
  mapping.Refuse("windowsOptions", "this is Linux");
  if (const auto node = mapping.Get("seLinuxOptions")) {
    SelinuxParts parts;
    YamlMapping options(reader, *node, mapping.PathOf("seLinuxOptions"));
    options.String("user", parts.user);
    options.String("role", parts.role);
    options.String("type", parts.type);
    options.String("level", parts.level);
    options.Finish();
    fields.selinux = std::move(parts);
  }
  fields.seccomp = ReadProfile(reader, mapping, "seccompProfile", /*is_path=*/true);
  fields.apparmor = ReadProfile(reader, mapping, "appArmorProfile", /*is_path=*/false);
}

}  // namespace

ContainerSecurity ReadContainerSecurity(YamlReader& reader, const YAML::Node& node,
                                        const std::string& path) {
  ContainerSecurity security;
  YamlMapping mapping(reader, node, path);
  ReadCommonSecurity(reader, mapping, security);
  mapping.Bool("privileged", security.privileged);
  mapping.Bool("readOnlyRootFilesystem", security.read_only_root);
  mapping.OptionalBool("allowPrivilegeEscalation", security.allow_privilege_escalation);
  mapping.Refuse("procMount", "only the default masked /proc is offered");
  if (const auto capabilities = mapping.Get("capabilities")) {
    YamlMapping caps(reader, *capabilities, mapping.PathOf("capabilities"));
    caps.Strings("add", security.add_capabilities);
    caps.Strings("drop", security.drop_capabilities);
    caps.Finish();
  }
  mapping.Finish();
  if (security.privileged && security.allow_privilege_escalation == false) {
    reader.Fail(node, path, "privileged: true contradicts allowPrivilegeEscalation: false");
  }
  return security;
}

PodSecurity ReadPodSecurity(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  PodSecurity security;
  YamlMapping mapping(reader, node, path);
  ReadCommonSecurity(reader, mapping, security);
  mapping.Each("supplementalGroups", [&](const YAML::Node& item, const std::string& item_path) {
    if (const auto group = reader.AsInt(item, item_path)) {
      security.supplemental_groups.push_back(*group);
    }
  });
  std::optional<int64_t> fs_group;
  mapping.Int("fsGroup", fs_group, 0, kMaxId);
  if (fs_group) security.supplemental_groups.push_back(*fs_group);
  security.fs_group = fs_group;
  mapping.OneOf("fsGroupChangePolicy", security.fs_group_change_policy,
                {"OnRootMismatch", "Always"});
  mapping.OneOf("supplementalGroupsPolicy", security.supplemental_groups_policy,
                {"Merge", "Strict"});
  mapping.Ignore("seLinuxChangePolicy", "volumes of the pod's own are relabelled, others are not");
  mapping.Each("sysctls", [&](const YAML::Node& item, const std::string& item_path) {
    YamlMapping sysctl(reader, item, item_path);
    std::string name, value;
    sysctl.Required("name", name);
    sysctl.Required("value", value);
    sysctl.Finish();
    security.sysctls[name] = value;
  });
  mapping.Finish();
  return security;
}

}  // namespace plimsoll::pod
