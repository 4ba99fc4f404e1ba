// What the services tell about the node and the daemon. Filled in by whoever wires them up.
#ifndef PLIMSOLL_CRI_NODE_INFO_H_
#define PLIMSOLL_CRI_NODE_INFO_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cri/translate_classes.h"
#include "cri/translate_container.h"

namespace plimsoll::streaming {
class Server;  // streaming/server.h
}

namespace plimsoll::cri {

struct NodeInfo {
  std::string version;  // of Plimsoll
  int64_t started_unix_nanos = 0;
  std::string state_directory;
  std::string run_directory;
  std::string config_path;
  std::string socket_path;
  std::map<std::string, std::string> programs;  // "crun" -> "1.8.1"
  std::string cgroup_layout;                    // "v1", "hybrid", "v2"
  // Whether kubelet is to name cgroups as systemd does. Plimsoll takes both.
  bool systemd_cgroup_driver = false;
  // What the machine lacks, one sentence each; may be null. Thread-safe.
  std::function<std::vector<std::string>()> limitations;
  // Whether a pod could be started now: OK, or an error whose message is "<Reason>: <why>", the
  // reason being one word in CamelCase. May be null. Thread-safe, and cheap.
  std::function<absl::Status()> ready;
  // What keeps the daemon from being ready, one sentence each. May be null. Thread-safe, and cheap.
  std::function<std::vector<std::string>()> not_ready;
  std::string metrics_url;  // empty: metrics are not served
  // Whether a pod would get a network, with an error as `ready`'s. Null: there is none.
  // Thread-safe; may wait some seconds for network plugins.
  std::function<absl::Status()> network_ready;
  // Takes the prefixes that pods' addresses are from, separated by commas. Null: nobody wants them.
  std::function<absl::Status(const std::string& cidr)> set_pod_cidr;
  // Whether what of the node is pods' is as configured, with an error as `ready`'s. May be null: no
  // such condition. Thread-safe, and cheap.
  std::function<absl::Status()> node_resources;
  // Where Exec, Attach and PortForward are streamed; null: nowhere. Outlives the services.
  streaming::Server* streaming = nullptr;
  // Runtime handlers beside the default one, which has no name.
  std::vector<std::string> runtime_handlers;
  // Whether Mount.recursive_read_only works here (crun 1.4 and Linux 5.12 or newer), and with which
  // of runtime_handlers: an OCI runtime of their own may not know it.
  bool recursive_read_only_mounts = true;
  std::vector<std::string> handlers_with_recursive_read_only_mounts;
  // Whether pods may have user namespaces of their own, but for those of these handlers, whose
  // containers are not this machine's (virtual machines).
  bool user_namespaces = false;
  std::vector<std::string> handlers_without_user_namespaces;
  // Whether containers get SELinux labels here.
  bool selinux = false;
  AnnotationAllowList annotation_allow_list;
  ClassSupport classes;
  // Whether fields 4112 are stored and shown (gate KubeletContainerResourcesInPodSandbox).
  bool pod_resources = true;
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_NODE_INFO_H_
