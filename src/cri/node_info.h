// The node's and the daemon's description for the services, filled in by the daemon's wiring.
#ifndef PLIMSOLL_CRI_NODE_INFO_H_
#define PLIMSOLL_CRI_NODE_INFO_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cri/class_requests.h"
#include "cri/facts_source.h"
#include "cri/messages/translate_container.h"

namespace plimsoll::streaming {
class Server;  // streaming/server.h
}

namespace plimsoll::cri {

// The daemon's side towards plimsoll-kube.
struct ClusterState {
  std::string socket_path;  // empty: none is served
  size_t watchers = 0;      // streams of WatchNode
  size_t told_claims = 0;
  bool classes_from_scheduler = false;
};

struct NodeInfo {
  std::string version;  // of Plimsoll
  int64_t started_unix_nanos = 0;
  std::string state_directory;
  std::string run_directory;
  std::string config_path;
  std::string socket_path;
  std::map<std::string, std::string> programs;  // "crun" -> "1.8.1"
  std::string cgroup_layout;                    // "v1", "hybrid", "v2"
  // Asks kubelet to name cgroups as systemd does. Plimsoll takes both forms.
  bool systemd_cgroup_driver = false;
  // The machine's limitations, one sentence each; may be null. Thread-safe.
  std::function<std::vector<std::string>()> limitations;
  // OK if a pod could be started now, or an error whose message is "<Reason>: <why>"; the reason is
  // one word in CamelCase. May be null. Thread-safe, and cheap.
  std::function<absl::Status()> ready;
  // The causes that keep the daemon from being ready, one sentence each. May be null. Thread-safe,
  // and cheap.
  std::function<std::vector<std::string>()> not_ready;
  // May be null. Thread-safe, and cheap.
  std::function<ClusterState()> cluster;
  // The Node Resource Interface's state as JSON, for verbose Status. May be null. Thread-safe, and
  // cheap.
  std::function<std::string()> nri;
  std::string metrics_url;  // empty: metrics are not served
  // OK if a pod would get a network; errors as `ready`'s. Null: there is no network. Thread-safe;
  // may wait some seconds for network plugins.
  std::function<absl::Status()> network_ready;
  // Takes the prefixes of pods' addresses, separated by commas. Null: nothing needs them.
  std::function<absl::Status(const std::string& cidr)> set_pod_cidr;
  // OK if the pods' share of the node is as configured; errors as `ready`'s. May be null: no such
  // condition. Thread-safe, and cheap.
  std::function<absl::Status()> node_resources;
  // The server that streams Exec, Attach and PortForward; null: none. Outlives the services.
  streaming::Server* streaming = nullptr;
  // Runtime handlers beside the default one, which has no name.
  std::vector<std::string> runtime_handlers;
  // Support for Mount.recursive_read_only here (crun 1.4 and Linux 5.12 or newer), and the handlers
  // of runtime_handlers that have it: their OCI runtimes may not.
  bool recursive_read_only_mounts = true;
  std::vector<std::string> handlers_with_recursive_read_only_mounts;
  // Support for user namespaces of pods, except with the handlers below, whose containers don't run
  // on this machine's kernel (virtual machines).
  bool user_namespaces = false;
  std::vector<std::string> handlers_without_user_namespaces;
  // Containers get SELinux labels.
  bool selinux = false;
  AnnotationAllowList annotation_allow_list;
  ClassSupport classes;
  // Fields 4112 are stored and shown (gate KubeletContainerResourcesInPodSandbox).
  bool pod_resources = true;
  // Asked of pods whose client announces nothing. Outlives the services.
  FactsSource facts;
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_NODE_INFO_H_
