#include "pod_runner/manifest/manifest_spec.h"

#include <arpa/inet.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text/closest_word.h"
#include "pod_runner/manifest/manifest_container.h"
#include "pod_runner/manifest/manifest_fields.h"
#include "pod_runner/manifest/manifest_resources.h"
#include "pod_runner/manifest/manifest_security.h"
#include "pod_runner/manifest/manifest_volumes.h"

namespace plimsoll::pod {
namespace {

// Limit of one pod: the work for each container includes all others.
constexpr size_t kMaxContainers = 1000;
constexpr char kOneNode[] = "there is one node here, nothing to schedule";
constexpr char kNoCluster[] = "there is no API server here";

bool IsAddress(const std::string& text) {
  struct in6_addr address = {};
  return inet_pton(AF_INET, text.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, text.c_str(), &address) == 1;
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
                          "preemptionPolicy", "schedulingGates", "schedulingGroup"}) {
    spec.Ignore(key, kOneNode);
  }
  for (const char* key : {"serviceAccountName", "serviceAccount", "automountServiceAccountToken",
                          "enableServiceLinks", "readinessGates"}) {
    spec.Ignore(key, kNoCluster);
  }
  spec.Refuse("ephemeralContainers", "not in a manifest");
  spec.Refuse("overhead", "a runtime class has it, and there is no API server here");
  spec.Refuse("subdomain", kNoCluster);
  spec.Refuse("hostnameOverride", "use hostname");
  spec.Refuse("setHostnameAsFQDN", kNoCluster);
  spec.Refuse("resourceClaims", kNoCluster);
}

void ReadHostAliases(YamlReader& reader, YamlMapping& spec, Manifest& pod) {
  spec.Each("hostAliases", [&](const YAML::Node& item, const std::string& path) {
    HostAlias alias;
    YamlMapping mapping(reader, item, path);
    mapping.Required("ip", alias.ip);
    if (!alias.ip.empty() && !IsAddress(alias.ip)) {
      reader.Fail(item, mapping.PathOf("ip"), absl::StrCat("\"", alias.ip, "\" is no IP address"));
    }
    mapping.Strings("hostnames", alias.hostnames);
    for (const std::string& name : alias.hostnames) {
      if (IsDnsName(name, /*dots=*/true)) continue;
      reader.Fail(
          item, mapping.PathOf("hostnames"),
          absl::StrCat("\"", name, "\" must be lower-case letters, digits, \"-\" and \".\""));
    }
    mapping.Finish();
    pod.host_aliases.push_back(std::move(alias));
  });
}

void ReadPullSecrets(YamlReader& reader, YamlMapping& spec, Manifest& pod) {
  spec.Each("imagePullSecrets", [&](const YAML::Node& item, const std::string& path) {
    std::string name;
    YamlMapping mapping(reader, item, path);
    mapping.Required("name", name);
    mapping.Finish();
    pod.pull_secrets.push_back(std::move(name));
  });
}

void ReadOs(YamlReader& reader, YamlMapping& spec) {
  const auto node = spec.Get("os");
  if (!node) return;
  std::string name;
  YamlMapping os(reader, *node, spec.PathOf("os"));
  os.Required("name", name);
  os.Finish();
  if (!name.empty() && name != "linux") reader.Fail(*node, os.PathOf("name"), "this is Linux");
}

void ReadNamespaces(YamlReader& reader, const YAML::Node& node, YamlMapping& spec, Manifest& pod) {
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
}

void ReadLife(YamlMapping& spec, Manifest& pod) {
  spec.OneOf("restartPolicy", pod.restart_policy, {"Always", "OnFailure", "Never"});
  ReadInt(spec, "terminationGracePeriodSeconds", pod.grace_period_s, 0, 86400);
  spec.Int("activeDeadlineSeconds", pod.active_deadline_s, 1, std::numeric_limits<int32_t>::max());
  spec.String("runtimeClassName", pod.runtime_handler);
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
    if (reader.full()) return;
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

}  // namespace

void ReadSpec(YamlReader& reader, const YAML::Node& node, Manifest& pod) {
  YamlMapping spec(reader, node, "spec");
  spec.Each("initContainers", [&](const YAML::Node& item, const std::string& path) {
    pod.containers.push_back(ReadContainer(reader, item, path, /*init=*/true, pod.left_to_agent));
  });
  spec.Each("containers", [&](const YAML::Node& item, const std::string& path) {
    pod.containers.push_back(ReadContainer(reader, item, path, /*init=*/false, pod.left_to_agent));
  });
  if (pod.containers.size() > kMaxContainers) {
    reader.Fail(node, "spec",
                absl::StrCat("has ", pod.containers.size(), " containers, a pod has at most ",
                             kMaxContainers));
  }
  spec.Each("volumes", [&](const YAML::Node& item, const std::string& path) {
    pod.volumes.push_back(ReadVolume(reader, item, path));
  });
  ReadLife(spec, pod);
  spec.String("hostname", pod.hostname);
  ReadDns(reader, spec, pod);
  ReadHostAliases(reader, spec, pod);
  ReadPullSecrets(reader, spec, pod);
  ReadNamespaces(reader, node, spec, pod);
  ReadOs(reader, spec);
  if (const auto security = spec.Get("securityContext")) {
    pod.security = ReadPodSecurity(reader, *security, spec.PathOf("securityContext"));
  }
  ReadPodResources(reader, spec, pod);
  ReadClusterFields(spec);
  if (std::string account; spec.Get("serviceAccountName")) {
    spec.String("serviceAccountName", account);
    if (!account.empty()) pod.service_account = account;
  }
  spec.Finish();  // before the check: "containers" may be misspelt
  const bool none = std::all_of(pod.containers.begin(), pod.containers.end(), [](const auto& each) {
    return each.role != resources::ContainerRequirements::Role::kContainer;
  });
  if (none) reader.Fail(node, "spec", "\"containers\" is missing or empty");
}

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

}  // namespace plimsoll::pod
