#include "pod/manifest.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/closest_word.h"
#include "base/problems.h"
#include "base/status.h"
#include "pod/manifest_annotations.h"
#include "pod/manifest_container.h"
#include "yaml/documents.h"
#include "yaml/reader.h"

namespace plimsoll::pod {
namespace {

// Limit of one pod: the work for each container includes all others.
constexpr size_t kMaxContainers = 1000;
constexpr char kOneNode[] = "there is one node here, nothing to schedule";
constexpr char kNoCluster[] = "there is no API server here";

Volume ReadVolume(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  Volume volume;
  YamlMapping mapping(reader, node, path);
  mapping.Required("name", volume.name);
  if (!volume.name.empty() && !IsDnsName(volume.name, /*dots=*/false)) {
    reader.Fail(node, mapping.PathOf("name"),
                absl::StrCat("\"", volume.name,
                             "\" must be at most 63 lower-case letters, digits and \"-\""));
  }
  const auto empty_dir = mapping.Get("emptyDir");
  const auto host_path = mapping.Get("hostPath");
  if (empty_dir) {
    volume.empty_dir = true;
    YamlMapping source(reader, *empty_dir, mapping.PathOf("emptyDir"));
    source.Refuse("medium", "emptyDir is a directory on disk; leave `medium` out");
    source.Ignore("sizeLimit", "Plimsoll does not limit local storage yet");
    source.Finish();
  }
  if (host_path) {
    YamlMapping source(reader, *host_path, mapping.PathOf("hostPath"));
    source.Required("path", volume.host_path);
    if (!volume.host_path.empty() && volume.host_path[0] != '/') {
      reader.Fail(*host_path, source.PathOf("path"), "must be an absolute path");
    }
    source.OneOf("type", volume.host_path_type,
                 {"", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
                  "CharDevice", "BlockDevice"});
    source.Finish();
  }
  bool is_other = false;
  for (const char* kind : {"configMap", "secret", "projected", "downwardAPI",
                           "persistentVolumeClaim", "csi", "ephemeral", "nfs", "iscsi", "image"}) {
    is_other = is_other || mapping.Get(kind).has_value();
    mapping.Refuse(kind, "only hostPath and emptyDir volumes are");
  }
  mapping.Finish();
  const bool is_none = !empty_dir.has_value() && !host_path.has_value() && !is_other;
  if (is_none || (empty_dir.has_value() && host_path.has_value())) {
    reader.Fail(node, path, "needs exactly one of hostPath and emptyDir (\"emptyDir: {}\")");
  }
  return volume;
}

void ReadDns(YamlReader& reader, YamlMapping& spec, Manifest& pod) {
  spec.OneOf("dnsPolicy", pod.dns_policy,
             {"Default", "None", "ClusterFirst", "ClusterFirstWithHostNet"});
  const auto node = spec.Get("dnsConfig");
  if (!node) return;
  YamlMapping config(reader, *node, spec.PathOf("dnsConfig"));
  config.Strings("nameservers", pod.dns_servers);
  config.Strings("searches", pod.dns_searches);
  config.Each("options", [&](const YAML::Node& item, const std::string& path) {
    YamlMapping option(reader, item, path);
    std::string name, value;
    option.Required("name", name);
    option.String("value", value);
    option.Finish();
    pod.dns_options.push_back(value.empty() ? name : absl::StrCat(name, ":", value));
  });
  config.Finish();
}

void ReadClusterFields(YamlMapping& spec) {
  for (const char* key : {"nodeSelector", "nodeName", "affinity", "tolerations", "schedulerName",
                          "topologySpreadConstraints", "priorityClassName", "priority",
                          "preemptionPolicy", "schedulingGates"}) {
    spec.Ignore(key, kOneNode);
  }
  for (const char* key : {"serviceAccountName", "serviceAccount", "automountServiceAccountToken",
                          "enableServiceLinks", "readinessGates"}) {
    spec.Ignore(key, kNoCluster);
  }
  spec.Refuse("imagePullSecrets", "pull with `plimsoll image pull --authfile` beforehand");
  spec.Refuse("ephemeralContainers", "not in a manifest");
  spec.Refuse("hostAliases", "no /etc/hosts entries yet");
  spec.Refuse("runtimeClassName", "there is one runtime handler");
  spec.Refuse("overhead", "there is one runtime handler");
  spec.Refuse("activeDeadlineSeconds", "stop the pod with `plimsoll stop`");
  spec.Refuse("subdomain", kNoCluster);
  spec.Refuse("setHostnameAsFQDN", kNoCluster);
  spec.Refuse("resourceClaims", kNoCluster);
  spec.Refuse("resources", "pod-level resources are to come; give each container its own");
  spec.Refuse("os", "this is Linux");
}

void ReadSpec(YamlReader& reader, const YAML::Node& node, Manifest& pod) {
  YamlMapping spec(reader, node, "spec");
  spec.Each("initContainers", [&](const YAML::Node& item, const std::string& path) {
    pod.containers.push_back(ReadContainer(reader, item, path, /*init=*/true));
  });
  const size_t init_containers = pod.containers.size();
  spec.Each("containers", [&](const YAML::Node& item, const std::string& path) {
    pod.containers.push_back(ReadContainer(reader, item, path, /*init=*/false));
  });
  spec.Each("volumes", [&](const YAML::Node& item, const std::string& path) {
    pod.volumes.push_back(ReadVolume(reader, item, path));
  });
  spec.OneOf("restartPolicy", pod.restart_policy, {"Always", "OnFailure", "Never"});
  std::optional<int64_t> grace;
  spec.Int("terminationGracePeriodSeconds", grace, 0, 86400);
  pod.grace_period_s = grace.value_or(pod.grace_period_s);
  spec.String("hostname", pod.hostname);
  ReadDns(reader, spec, pod);
  spec.Bool("hostNetwork", pod.host_network);
  spec.Bool("hostPID", pod.host_pid);
  spec.Bool("hostIPC", pod.host_ipc);
  spec.Bool("hostUsers", pod.host_users);
  if (!pod.host_users && (pod.host_network || pod.host_pid || pod.host_ipc)) {
    reader.Fail(
        node, "spec.hostUsers",
        "false cannot be beside hostNetwork, hostPID or hostIPC: in a user namespace of its "
        "own, a pod can't use the host's");
  }
  spec.Bool("shareProcessNamespace", pod.share_pid);
  if (pod.share_pid && pod.host_pid) {
    reader.Fail(node, "spec.shareProcessNamespace", "cannot be beside hostPID: choose one of them");
  }
  if (const auto security = spec.Get("securityContext")) {
    pod.security = ReadPodSecurity(reader, *security, spec.PathOf("securityContext"));
  }
  ReadClusterFields(spec);
  spec.Finish();  // before the check: "containers" may be misspelt
  if (pod.containers.size() == init_containers) {
    reader.Fail(node, "spec", "\"containers\" is missing or empty");
  }
  if (pod.containers.size() > kMaxContainers) {
    reader.Fail(node, "spec",
                absl::StrCat("has ", pod.containers.size(), " containers, a pod has at most ",
                             kMaxContainers));
  }
}

void ReadMetadata(YamlReader& reader, const YAML::Node& node, Manifest& pod) {
  YamlMapping metadata(reader, node, "metadata");
  metadata.Required("name", pod.name);
  metadata.String("namespace", pod.pod_namespace);
  metadata.StringMap("labels", pod.labels);
  metadata.StringMap("annotations", pod.annotations);
  metadata.Refuse("generateName", "give it a name");
  for (const char* key : {"uid", "resourceVersion", "creationTimestamp", "generation",
                          "ownerReferences", "finalizers", "managedFields", "selfLink"}) {
    metadata.Ignore(key, "the API server's");
  }
  metadata.Finish();
  if (!pod.name.empty() && !IsDnsName(pod.name, /*dots=*/true)) {
    reader.Fail(
        node, "metadata.name",
        absl::StrCat("\"", pod.name,
                     "\" must be lower-case letters, digits, \"-\" and \".\", at most 253"));
  }
  if (!IsDnsName(pod.pod_namespace, /*dots=*/false)) {
    reader.Fail(node, "metadata.namespace",
                absl::StrCat("\"", pod.pod_namespace,
                             "\" must be at most 63 lower-case letters, digits and \"-\""));
  }
}

// Calls `read` with each mapping in the list `key` of a mapping. Elements of another type have been
// reported already.
void EachMapping(const YAML::Node& node, const std::string& key, const std::string& path,
                 const std::function<void(const YAML::Node&, const std::string&)>& read) {
  if (!node.IsMap()) return;
  const YAML::Node list = node[key];
  if (!list.IsDefined() || !list.IsSequence()) return;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].IsMap()) read(list[i], absl::StrCat(path, ".", key, "[", i, "]"));
  }
}

// The mapping's "name", whose node is put into `where`; empty: it has none.
std::string NameIn(const YAML::Node& mapping, YAML::Node& where) {
  const YAML::Node name = mapping["name"];
  if (!name.IsDefined() || !name.IsScalar()) return "";
  where.reset(name);
  return name.Scalar();
}

void CheckMounts(YamlReader& reader, const YAML::Node& container, const std::string& path,
                 const std::vector<std::string>& volumes) {
  EachMapping(container, "volumeMounts", path, [&](const YAML::Node& mount, const auto& where) {
    YAML::Node node;
    const std::string name = NameIn(mount, node);
    if (name.empty() || std::find(volumes.begin(), volumes.end(), name) != volumes.end()) return;
    const std::string closest = ClosestWord(name, volumes);
    reader.Fail(
        node, absl::StrCat(where, ".name"),
        absl::StrCat("there is no volume \"", name, "\" in spec.volumes; ",
                     !closest.empty()  ? absl::StrCat("did you mean \"", closest, "\"?")
                     : volumes.empty() ? "add one, for example {name: " + name + ", emptyDir: {}}"
                                       : absl::StrCat("there are ", absl::StrJoin(volumes, ", "))));
  });
}

// Checks references between fields.
void CheckReferences(YamlReader& reader, const YAML::Node& spec) {
  std::vector<std::string> volumes;
  YAML::Node node;
  EachMapping(spec, "volumes", "spec", [&](const YAML::Node& volume, const std::string& path) {
    const std::string name = NameIn(volume, node);
    if (name.empty()) return;
    if (std::find(volumes.begin(), volumes.end(), name) != volumes.end()) {
      reader.Fail(node, absl::StrCat(path, ".name"), absl::StrCat("two are named \"", name, "\""));
    }
    volumes.push_back(name);
  });
  std::set<std::string> names;
  for (const char* key : {"initContainers", "containers"}) {
    EachMapping(spec, key, "spec", [&](const YAML::Node& container, const std::string& path) {
      const std::string name = NameIn(container, node);
      if (!name.empty() && !names.insert(name).second) {
        reader.Fail(node, absl::StrCat(path, ".name"),
                    absl::StrCat("two containers are named \"", name, "\""));
      }
      CheckMounts(reader, container, path, volumes);
    });
  }
}

// Sorts errors by line, the order of mending them. Their form is "FILE:LINE:COLUMN: ...".
std::vector<std::string> InOrder(std::vector<std::string> errors, const std::string& file) {
  const auto line = [&file](absl::string_view error) {
    int number = 0;
    if (!absl::ConsumePrefix(&error, absl::StrCat(file, ":"))) return number;
    return absl::SimpleAtoi(error.substr(0, error.find(':')), &number) ? number : 0;
  };
  std::stable_sort(errors.begin(), errors.end(),
                   [&line](const auto& one, const auto& other) { return line(one) < line(other); });
  return errors;
}

absl::StatusOr<Manifest> ReadPod(const YAML::Node& node, const std::string& file) {
  YamlReader reader(file);
  Manifest pod;
  pod.file = file;
  const bool is_mapping = node.IsMap();
  YamlMapping top(reader, node, "");
  if (!is_mapping) return reader.status();
  std::string kind, version;
  top.Required("kind", kind);
  top.Required("apiVersion", version);
  if (!kind.empty() && !version.empty() && (kind != "Pod" || version != "v1")) {
    // The fields are those of another kind: no further error.
    reader.Fail(node, "", absl::StrCat("is ", version, " ", kind, "; only v1 Pod can be run"));
    return reader.status();
  }
  if (const auto metadata = top.Get("metadata")) {
    ReadMetadata(reader, *metadata, pod);
  } else {
    reader.Fail(node, "", "\"metadata\" with a \"name\" is missing");
  }
  if (const auto spec = top.Get("spec")) {
    ReadSpec(reader, *spec, pod);
  } else {
    reader.Fail(node, "", "\"spec\" is missing");
  }
  top.Ignore("status", "the API server's");
  top.Finish();
  if (node["spec"]) CheckReferences(reader, node["spec"]);
  CheckAnnotations(reader, node["metadata"], pod);
  if (!reader.errors().empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(InOrder(reader.errors(), file), "\n"));
  }
  pod.notes = reader.notes();
  return pod;
}

// yaml-cpp's words for a tab in the indentation name neither. `line` counts from 0; -1 is none.
absl::string_view TabAdvice(absl::string_view text, int line) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  const auto at = static_cast<size_t>(line);
  if (line < 0 || at >= lines.size()) return "";
  const absl::string_view blanks = lines[at].substr(0, lines[at].find_first_not_of(" \t"));
  return absl::StrContains(blanks, '\t') ? "; the line begins with a tab: indent it with spaces"
                                         : "";
}

}  // namespace

bool IsDnsName(absl::string_view name, bool dots) {
  if (name.size() > (dots ? 253 : 63)) return false;
  for (const absl::string_view part : absl::StrSplit(name, '.')) {
    const auto valid = [](char c) {
      return absl::ascii_islower(static_cast<unsigned char>(c)) ||
             absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '-';
    };
    if (part.empty() || part.front() == '-' || part.back() == '-' ||
        !std::all_of(part.begin(), part.end(), valid)) {
      return false;
    }
  }
  return dots || !absl::StrContains(name, '.');
}

absl::StatusOr<std::vector<Manifest>> ParseManifests(absl::string_view text,
                                                     absl::string_view file) {
  const std::string name(file);
  try {
    std::vector<Manifest> pods;
    absl::Status problems;
    for (const YAML::Node& document : LoadYamlDocuments(std::string(text))) {
      if (document.IsNull()) continue;  // empty, behind the last "---"
      absl::StatusOr<Manifest> pod = ReadPod(document, name);
      if (!pod.ok()) {
        problems = AlsoTell(problems, pod.status());
        continue;
      }
      for (const Manifest& other : pods) {
        if (other.name == pod->name && other.pod_namespace == pod->pod_namespace) {
          problems = AlsoTell(
              problems, absl::InvalidArgumentError(absl::StrCat(
                            name, ": two pods are named ", pod->pod_namespace, "/", pod->name)));
        }
      }
      pods.push_back(*std::move(pod));
    }
    PLIMSOLL_RETURN_IF_ERROR(problems);
    if (pods.empty()) return absl::InvalidArgumentError(absl::StrCat(name, ": holds no pod"));
    return pods;
  } catch (const YAML::Exception& error) {
    std::string where = name;
    if (!error.mark.is_null()) {
      absl::StrAppend(&where, ":", error.mark.line + 1, ":", error.mark.column + 1);
    }
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": not valid YAML: ", error.msg, TabAdvice(text, error.mark.line)));
  }
}

}  // namespace plimsoll::pod
