// What a pod sandbox and a container are made from, in the runtime's own words. cri/ translates the
// clients' messages into these; nothing here knows gRPC.
#ifndef PLIMSOLL_RUNTIME_SPEC_SANDBOX_SPEC_H_
#define PLIMSOLL_RUNTIME_SPEC_SANDBOX_SPEC_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "linux/cgroup/settings.h"
#include "linux/selinux.h"
#include "network/attachment.h"
#include "qos/classes.h"
#include "runtime/spec/mount.h"
#include "runtime/spec/pod_resources.h"

namespace plimsoll::runtime {

enum class NamespaceMode { kPod, kContainer, kNode, kTarget };

struct NamespaceOptions {
  NamespaceMode network = NamespaceMode::kPod;  // kPod or kNode
  NamespaceMode pid = NamespaceMode::kContainer;
  NamespaceMode ipc = NamespaceMode::kPod;  // kPod or kNode
  std::string target_container_id;          // for pid == kTarget
  // Of the pod's own user namespace, in which its other namespaces are made; empty: the host's.
  std::vector<IdMapping> uid_mappings;
  std::vector<IdMapping> gid_mappings;
  bool has_user_namespace() const { return !uid_mappings.empty(); }
  bool operator==(const NamespaceOptions&) const = default;
};

struct SandboxSpec {
  // Kubernetes' identity of the pod; unique together with the attempt.
  std::string name;
  std::string uid;
  std::string pod_namespace;
  uint32_t attempt = 0;

  std::string hostname;       // empty: the host's with host network, else the pod's name
  std::string log_directory;  // absolute; empty: container log paths are absolute
  std::string cgroup_parent;  // empty: below Plimsoll's own group
  std::string runtime_handler;
  NamespaceOptions namespaces;
  std::map<std::string, std::string> sysctls;
  bool privileged = false;          // whether privileged containers may run in it
  linux::CgroupSettings resources;  // of the whole pod, as the client says
  linux::CgroupSettings overhead;

  // DNS, written to the containers' /etc/resolv.conf. All empty: the host's file.
  std::vector<std::string> dns_servers;
  std::vector<std::string> dns_searches;
  std::vector<std::string> dns_options;

  qos::ClassNames classes;  // that are asked for by name (KEP-3008 "PodSandboxConfig")
  // Of the last update of the pod (KEP-1287 "UpdatePodSandboxResources"), as the client sent them.
  std::map<std::string, std::string> update_annotations;
  PodResources pod_resources;  // as given last (KEP-4112 "PodSandboxConfig"); empty: none were
  std::map<std::string, AnnouncedWords> announced;  // by container; the engine's to count
  // Where containers find a directory with the pod's picture; empty: nowhere.
  std::string picture_directory;
  network::Capabilities network;  // what network plugins are asked for
  linux::SelinuxOptions selinux;  // its level: its own, whoever chose it

  bool operator==(const SandboxSpec&) const = default;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_SPEC_SANDBOX_SPEC_H_
