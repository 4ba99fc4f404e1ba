#include "pod_runner/manifest/manifest_container.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "image/names/reference.h"
#include "pod_runner/manifest/manifest_env.h"
#include "pod_runner/manifest/manifest_fields.h"
#include "pod_runner/manifest/manifest_probes.h"
#include "pod_runner/manifest/manifest_resources.h"
#include "pod_runner/manifest/manifest_security.h"

namespace plimsoll::pod {
namespace {

using Role = resources::ContainerRequirements::Role;

VolumeMount ReadMount(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  VolumeMount mount;
  YamlMapping mapping(reader, node, path);
  mapping.Required("name", mount.volume);
  mapping.Required("mountPath", mount.mount_path);
  if (!mount.mount_path.empty() && mount.mount_path[0] != '/') {
    reader.Fail(node, mapping.PathOf("mountPath"), "must be an absolute path");
  }
  if (StepsBack(mount.mount_path)) {
    reader.Fail(node, mapping.PathOf("mountPath"), "must be without \"..\"");
  }
  mapping.String("subPath", mount.sub_path);
  if (!IsBelow(mount.sub_path)) {
    reader.Fail(node, mapping.PathOf("subPath"), "must be relative and without \"..\"");
  }
  mapping.Bool("readOnly", mount.read_only);
  mapping.OneOf("mountPropagation", mount.propagation,
                {"None", "HostToContainer", "Bidirectional"});
  mapping.String("subPathExpr", mount.sub_path_expr);
  if (!IsBelow(mount.sub_path_expr)) {
    reader.Fail(node, mapping.PathOf("subPathExpr"), "must be relative and without \"..\"");
  }
  if (!mount.sub_path.empty() && !mount.sub_path_expr.empty()) {
    reader.Fail(node, path, "has both subPath and subPathExpr");
  }
  mapping.Refuse("recursiveReadOnly", "use readOnly");
  mapping.Finish();
  return mount;
}

// A port without a hostPort has no effect.
void ReadPort(YamlReader& reader, const YAML::Node& node, const std::string& path,
              ContainerManifest& container) {
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
  if (!name.empty() && container_port &&
      !container.named_ports.emplace(name, *container_port).second) {
    reader.Fail(node, mapping.PathOf("name"), absl::StrCat("two ports are named \"", name, "\""));
  }
  if (!host_port.has_value()) return;
  if (!container_port.has_value()) {
    reader.Fail(node, path, "\"hostPort\" needs a \"containerPort\" that it leads to");
  }
  port.container_port = container_port.value_or(0);
  port.host_port = *host_port;
  container.host_ports.push_back(std::move(port));
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

void ReadResizePolicy(YamlReader& reader, YamlMapping& mapping, ContainerManifest& container) {
  mapping.Each("resizePolicy", [&](const YAML::Node& item, const std::string& path) {
    ResizePolicy policy;
    const bool is_map = item.IsMap();
    YamlMapping entry(reader, item, path);
    entry.OneOf("resourceName", policy.resource, {"cpu", "memory"});
    entry.OneOf("restartPolicy", policy.restart_policy, {"NotRequired", "RestartContainer"});
    entry.Finish();
    if (is_map && !(entry.Get("resourceName") && entry.Get("restartPolicy"))) {
      reader.Fail(item, path, "needs a resourceName and a restartPolicy");
    }
    container.resize_policy.push_back(std::move(policy));
  });
}

void ReadTerminationMessage(YamlReader& reader, YamlMapping& mapping,
                            ContainerManifest& container) {
  mapping.String("terminationMessagePath", container.termination_message_path);
  const std::string& path = container.termination_message_path;
  if (path.empty() || path[0] != '/' || StepsBack(path)) {
    reader.Fail(*mapping.Get("terminationMessagePath"), mapping.PathOf("terminationMessagePath"),
                "must be an absolute path without \"..\"");
  }
  mapping.OneOf("terminationMessagePolicy", container.termination_message_policy,
                {"File", "FallbackToLogsOnError"});
}

// The rules of an API server for a container's mounts together. Older versions had none.
void CheckMountsOf(YamlReader& reader, YamlMapping& mapping, const ContainerManifest& container) {
  if (reader.on_record()) return;
  const auto list = mapping.Get("volumeMounts");
  std::set<std::string> paths;
  for (const VolumeMount& mount : container.mounts) {
    if (!mount.mount_path.empty() && !paths.insert(mount.mount_path).second) {
      reader.Fail(*list, mapping.PathOf("volumeMounts"),
                  absl::StrCat("two have the mountPath ", mount.mount_path));
    }
    if (mount.propagation == "Bidirectional" && !container.security.privileged) {
      reader.Fail(*list, mapping.PathOf("volumeMounts"),
                  absl::StrCat("the mount at ", mount.mount_path,
                               ": mountPropagation Bidirectional is for privileged containers"));
    }
  }
}

void ReadUnsupported(YamlMapping& mapping) {
  mapping.Refuse("volumeDevices", "no block volumes yet");
  mapping.Refuse("restartPolicyRules", "a container's restarts follow its pod's restartPolicy");
}

void ReadRole(YamlMapping& mapping, bool init, ContainerManifest& container) {
  if (!init) {
    mapping.Refuse("restartPolicy", "only init containers have one of their own here");
    return;
  }
  std::string restart_policy;
  container.role = Role::kInit;
  mapping.OneOf("restartPolicy", restart_policy, {"Always"});
  if (!restart_policy.empty()) container.role = Role::kSidecar;
}

void ReadProgram(YamlMapping& mapping, ContainerManifest& container) {
  mapping.Strings("command", container.command);
  mapping.Strings("args", container.args);
  mapping.String("workingDir", container.working_dir);
  mapping.Bool("stdin", container.open_stdin);
  mapping.Bool("stdinOnce", container.stdin_once);
  mapping.Bool("tty", container.tty);
}

void ReadLists(YamlReader& reader, YamlMapping& mapping, ContainerManifest& container) {
  mapping.Each("env", [&](const YAML::Node& item, const std::string& path) {
    container.env.push_back(ReadEnv(reader, item, path));
  });
  mapping.Each("envFrom", [&](const YAML::Node& item, const std::string& path) {
    container.env_from.push_back(ReadEnvFrom(reader, item, path));
  });
  mapping.Each("volumeMounts", [&](const YAML::Node& item, const std::string& path) {
    container.mounts.push_back(ReadMount(reader, item, path));
  });
  mapping.Each("ports", [&](const YAML::Node& item, const std::string& path) {
    ReadPort(reader, item, path, container);
  });
}

}  // namespace

ContainerManifest ReadContainer(YamlReader& reader, const YAML::Node& node, const std::string& path,
                                bool init, std::vector<std::string>& left_to_agent) {
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
  ReadProgram(mapping, container);
  ReadRole(mapping, init, container);
  ReadLists(reader, mapping, container);
  if (const auto list = mapping.Get("resources")) {
    container.resources =
        ReadResources(reader, *list, mapping.PathOf("resources"), container.classes);
  }
  if (const auto security = mapping.Get("securityContext")) {
    container.security =
        ReadContainerSecurity(reader, *security, mapping.PathOf("securityContext"));
  }
  CheckMountsOf(reader, mapping, container);
  ReadResizePolicy(reader, mapping, container);
  ReadProbes(reader, mapping, container.role != Role::kInit, container, left_to_agent);
  ReadTerminationMessage(reader, mapping, container);
  ReadUnsupported(mapping);
  mapping.Finish();
  return container;
}

}  // namespace plimsoll::pod
