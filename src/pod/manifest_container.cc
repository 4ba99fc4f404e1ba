#include "pod/manifest_container.h"

#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/closest_word.h"
#include "image/reference.h"
#include "pod/amount.h"

namespace plimsoll::pod {
namespace {

using Role = resources::ContainerRequirements::Role;

constexpr int64_t kMaxId = std::numeric_limits<int32_t>::max();
constexpr char kNeedsAgent[] = "needs the API server or the agent; `plimsoll run` has neither";

const std::vector<std::string>& SupportedFields() {
  static const auto* const kFields =
      new std::vector<std::string>{"metadata.name", "metadata.namespace", "metadata.uid"};
  return *kFields;
}

void ReadValueFrom(YamlReader& reader, const YAML::Node& node, const std::string& path,
                   EnvVar& env) {
  YamlMapping from(reader, node, path);
  from.Refuse("configMapKeyRef", kNeedsAgent);
  from.Refuse("secretKeyRef", kNeedsAgent);
  from.Refuse("resourceFieldRef", "write the number as `value`");
  if (const auto ref = from.Get("fieldRef")) {
    YamlMapping field(reader, *ref, from.PathOf("fieldRef"));
    std::string version;
    field.OneOf("apiVersion", version, {"v1"});
    field.Required("fieldPath", env.field_path);
    bool known = false;
    for (const std::string& supported : SupportedFields()) known |= supported == env.field_path;
    known |= absl::StartsWith(env.field_path, "metadata.labels['") ||
             absl::StartsWith(env.field_path, "metadata.annotations['");
    if (!known) {
      reader.Fail(*ref, field.PathOf("fieldPath"),
                  absl::StrCat("\"", env.field_path, "\" is not supported, only ",
                               absl::StrJoin(SupportedFields(), ", "),
                               ", metadata.labels['KEY'] and metadata.annotations['KEY']"));
    }
    field.Finish();
  }
  from.Finish();
}

EnvVar ReadEnv(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  EnvVar env;
  YamlMapping mapping(reader, node, path);
  mapping.Required("name", env.name);
  if (absl::StrContains(env.name, '=')) {
    reader.Fail(node, path, absl::StrCat("name \"", env.name, "\" must not contain \"=\""));
  }
  mapping.String("value", env.value);
  if (const auto from = mapping.Get("valueFrom")) {
    if (!env.value.empty()) reader.Fail(*from, path, "has both value and valueFrom");
    ReadValueFrom(reader, *from, mapping.PathOf("valueFrom"), env);
  }
  mapping.Finish();
  return env;
}

VolumeMount ReadMount(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  VolumeMount mount;
  YamlMapping mapping(reader, node, path);
  mapping.Required("name", mount.volume);
  mapping.Required("mountPath", mount.mount_path);
  if (!mount.mount_path.empty() && mount.mount_path[0] != '/') {
    reader.Fail(node, mapping.PathOf("mountPath"), "must be an absolute path");
  }
  if (absl::StrContains(mount.mount_path + "/", "/../")) {
    reader.Fail(node, mapping.PathOf("mountPath"), "must be without \"..\"");
  }
  mapping.String("subPath", mount.sub_path);
  if (absl::StartsWith(mount.sub_path, "/") ||
      absl::StrContains(absl::StrCat("/", mount.sub_path, "/"), "/../")) {
    reader.Fail(node, mapping.PathOf("subPath"), "must be relative and without \"..\"");
  }
  mapping.Bool("readOnly", mount.read_only);
  mapping.OneOf("mountPropagation", mount.propagation,
                {"None", "HostToContainer", "Bidirectional"});
  mapping.Refuse("subPathExpr", "write the path as `subPath`");
  mapping.Refuse("recursiveReadOnly", "use readOnly");
  mapping.Finish();
  return mount;
}

std::string NearResource(const std::string& name) {
  const std::string closest =
      ClosestWord(name, {"cpu", "memory", "hugepages-2Mi", "hugepages-1Gi"});
  return closest.empty() ? "known are cpu, memory, hugepages-<size> and ephemeral-storage"
                         : absl::StrCat("did you mean \"", closest, "\"?");
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
    if (name == "ephemeral-storage") {
      mapping.Ignore(name, "Plimsoll does not limit local storage yet");
      continue;
    }
    if (name != "cpu" && name != "memory" && !absl::StartsWith(name, "hugepages-")) {
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
    // Kubernetes takes any number as a request, and warns of thousandths of a byte.
    const bool check = name == "memory" && (is_limit || absl::EndsWith(*text, "m"));
    const absl::Status size = check ? CheckMemoryLimit(*quantity) : absl::OkStatus();
    if (!size.ok() && is_limit) reader.Fail(*value, item_path, size.message());
    if (!size.ok() && !is_limit) reader.Note(*value, item_path, size.message());
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

resources::Requirements ReadResources(YamlReader& reader, const YAML::Node& node,
                                      const std::string& path) {
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
  mapping.Refuse("claims", kNeedsAgent);
  mapping.Finish();
  const absl::Status valid = resources::Validate(requirements);
  if (!valid.ok()) reader.Fail(node, path, valid.message());
  NoteHugeRequest(reader, node, path, requirements);
  return requirements;
}

// A port without a hostPort has no effect.
void ReadPort(YamlReader& reader, const YAML::Node& node, const std::string& path,
              std::vector<HostPort>* host_ports) {
  YamlMapping mapping(reader, node, path);
  std::string name;
  HostPort port;
  std::optional<int64_t> container_port;
  std::optional<int64_t> host_port;
  mapping.String("name", name);
  mapping.OneOf("protocol", port.protocol, {"TCP", "UDP", "SCTP"});
  mapping.Int("containerPort", container_port, 1, 65535);
  mapping.Int("hostPort", host_port, 1, 65535);
  mapping.String("hostIP", port.host_ip);
  mapping.Finish();
  if (!host_port.has_value()) return;
  if (!container_port.has_value()) {
    reader.Fail(node, path, "\"hostPort\" needs a \"containerPort\" that it leads to");
  }
  port.container_port = container_port.value_or(0);
  port.host_port = *host_port;
  host_ports->push_back(std::move(port));
}

// The fields that pod and container share.
void ReadCommonSecurity(YamlReader& reader, YamlMapping& mapping, PodSecurityFields& fields) {
  mapping.Int("runAsUser", fields.run_as_user, 0, kMaxId);
  mapping.Int("runAsGroup", fields.run_as_group, 0, kMaxId);
  mapping.OptionalBool("runAsNonRoot", fields.run_as_non_root);
  mapping.Refuse("appArmorProfile", "no AppArmor support yet");
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
  if (const auto node = mapping.Get("seccompProfile")) {
    SeccompProfile profile;
    YamlMapping seccomp(reader, *node, mapping.PathOf("seccompProfile"));
    seccomp.OneOf("type", profile.type, {"RuntimeDefault", "Unconfined", "Localhost"});
    if (profile.type.empty()) reader.Fail(*node, seccomp.path(), "\"type\" is missing");
    seccomp.String("localhostProfile", profile.localhost_profile);
    if ((profile.type == "Localhost") != !profile.localhost_profile.empty()) {
      reader.Fail(*node, seccomp.path(), "type Localhost and localhostProfile go together");
    }
    seccomp.Finish();
    fields.seccomp = std::move(profile);
  }
}

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

void CheckImage(YamlReader& reader, YamlMapping& mapping, const std::string& image) {
  if (image.empty() || image::IsImageId(image)) return;
  const absl::Status valid = image::ParseReference(image).status();
  if (!valid.ok()) reader.Fail(*mapping.Get("image"), mapping.PathOf("image"), valid.message());
}

// Kubernetes pulls an image with the tag "latest", or none, every time. No registry has an imported
// image, so the default here is IfNotPresent.
void ReadPullPolicy(YamlMapping& mapping, ContainerManifest& container) {
  container.pull_policy = "IfNotPresent";
  mapping.OneOf("imagePullPolicy", container.pull_policy, {"Always", "Never", "IfNotPresent"});
}

void ReadUnsupported(YamlMapping& mapping) {
  mapping.Refuse("envFrom", kNeedsAgent);
  mapping.Refuse("lifecycle", "no hooks yet");
  mapping.Refuse("volumeDevices", "no block volumes yet");
  mapping.Refuse("resizePolicy", "use `plimsoll update` to resize in place");
  mapping.Refuse("restartPolicyRules", kNeedsAgent);
  for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    mapping.Ignore(probe, "no probes yet");
  }
  mapping.Ignore("terminationMessagePath", "no termination messages");
  mapping.Ignore("terminationMessagePolicy", "no termination messages");
}

}  // namespace

ContainerManifest ReadContainer(YamlReader& reader, const YAML::Node& node, const std::string& path,
                                bool init) {
  ContainerManifest container;
  YamlMapping mapping(reader, node, path);
  mapping.Required("name", container.name);
  if (!container.name.empty() && !IsDnsName(container.name, /*dots=*/false)) {
    reader.Fail(node, mapping.PathOf("name"),
                absl::StrCat("\"", container.name,
                             "\" must be at most 63 lower-case letters, digits and \"-\""));
  }
  mapping.Required("image", container.image);
  CheckImage(reader, mapping, container.image);
  ReadPullPolicy(mapping, container);
  mapping.Strings("command", container.command);
  mapping.Strings("args", container.args);
  mapping.String("workingDir", container.working_dir);
  mapping.Bool("stdin", container.open_stdin);
  mapping.Bool("stdinOnce", container.stdin_once);
  mapping.Bool("tty", container.tty);
  std::string restart_policy;
  if (init) {
    container.role = Role::kInit;
    mapping.OneOf("restartPolicy", restart_policy, {"Always"});
    if (!restart_policy.empty()) container.role = Role::kSidecar;
  } else {
    mapping.Refuse("restartPolicy", "only init containers have one of their own here");
  }
  mapping.Each("env", [&](const YAML::Node& item, const std::string& item_path) {
    container.env.push_back(ReadEnv(reader, item, item_path));
  });
  mapping.Each("volumeMounts", [&](const YAML::Node& item, const std::string& item_path) {
    container.mounts.push_back(ReadMount(reader, item, item_path));
  });
  mapping.Each("ports", [&](const YAML::Node& item, const std::string& item_path) {
    ReadPort(reader, item, item_path, &container.host_ports);
  });
  if (const auto list = mapping.Get("resources")) {
    container.resources = ReadResources(reader, *list, mapping.PathOf("resources"));
  }
  if (const auto security = mapping.Get("securityContext")) {
    container.security =
        ReadContainerSecurity(reader, *security, mapping.PathOf("securityContext"));
  }
  ReadUnsupported(mapping);
  mapping.Finish();
  return container;
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
  mapping.Ignore("fsGroupChangePolicy", "volumes keep their owner");
  mapping.Refuse("supplementalGroupsPolicy", "groups of the image are merged");
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
