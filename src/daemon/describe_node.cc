#include "daemon/describe_node.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "daemon/classes.h"

namespace plimsoll::daemon {
namespace {

// "crun 1.8.1" to ("crun", "1.8.1").
std::pair<std::string, std::string> NameAndVersion(const std::string& text) {
  return absl::StrSplit(text, absl::MaxSplits(' ', 1));
}

}  // namespace

bool PicturesAreOn(const Config& config) {
  return config.feature_gates.enabled("KubeletContainerResourcesInPodSandbox");
}

bool ClassesAreOn(const Config& config) {
  return config.feature_gates.enabled("ClassResources");
}

cri::NodeInfo DescribeNode(const NodeParts& parts) {
  const Config& config = parts.options.config;
  cri::NodeInfo info;
  info.version = parts.options.version;
  info.started_unix_nanos = Clock::Real().NowUnixNanos();
  info.state_directory = config.state_dir;
  info.run_directory = config.run_dir;
  info.config_path = parts.options.config_path;
  info.programs = {NameAndVersion(parts.runtime->runtime_version())};
  info.cgroup_layout = LayoutName(parts.driver.cgroups->layout());
  info.systemd_cgroup_driver = parts.driver.systemd;
  info.limitations = [parts] {
    std::vector<std::string> all = parts.runtime->Limitations();
    for (std::string& trouble : parts.node->Troubles()) all.push_back(std::move(trouble));
    for (std::string& trouble : parts.nri->Troubles()) all.push_back(std::move(trouble));
    for (std::string& fault : parts.cdi->Faults()) all.push_back(std::move(fault));
    for (std::string& damage : parts.network->Damaged()) all.push_back(std::move(damage));
    if (ClassesAreOn(parts.options.config)) {
      for (std::string& lack : parts.classes->Unavailable()) all.push_back(std::move(lack));
    }
    return all;
  };
  info.ready = [parts] { return parts.health->RuntimeReady(); };
  info.not_ready = [parts] { return parts.health->NotReady(); };
  if (!config.metrics_address.empty()) {
    info.metrics_url = absl::StrCat("http://", config.metrics_address, "/metrics");
  }
  info.network_ready = [parts] { return parts.network->Ready(); };
  info.set_pod_cidr = [parts](const std::string& cidr) { return parts.network->SetPodCidr(cidr); };
  info.node_resources = [parts] { return parts.node->Ready(); };
  if (ClassesAreOn(config)) {
    info.classes.registry = parts.classes->registry();
    info.classes.annotations = AnnotationPolicyFrom(config.classes);
    info.classes.from = config.classes.from;
    info.classes.static_pods = config.classes.static_pods;
    info.classes.scheduled = [told = parts.cluster->classes()] { return told->scheduled(); };
    info.classes.told_pod_classes = [told = parts.cluster->classes()](const std::string& uid) {
      return told->OfPod(uid);
    };
  }
  info.cluster = [cluster = parts.cluster] { return cluster->State(); };
  info.nri = [nri = parts.nri] { return ToJson(nri->State()); };
  info.pod_resources = PicturesAreOn(config);
  info.recursive_read_only_mounts = parts.runtime->HasRecursiveReadOnly("");
  info.user_namespaces = parts.runtime->UserNamespaces().ok();
  info.selinux = parts.runtime->Selinux() != nullptr;
  for (const auto& [name, handler] : config.runtime_handlers) {
    info.runtime_handlers.push_back(name);
    if (handler.is_vm) info.handlers_without_user_namespaces.push_back(name);
    if (parts.runtime->HasRecursiveReadOnly(handler.program)) {
      info.handlers_with_recursive_read_only_mounts.push_back(name);
    }
  }
  return info;
}

}  // namespace plimsoll::daemon
