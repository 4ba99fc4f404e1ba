// The specification of a pod sandbox, in the runtime's own types. cri/ translates the clients'
// messages into these; nothing here knows gRPC.
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
#include "runtime/spec/pod_facts.h"
#include "runtime/spec/pod_resources.h"

namespace plimsoll::runtime {

enum class NamespaceMode { kPod, kContainer, kNode, kTarget };

struct NamespaceOptions {
  NamespaceMode network = NamespaceMode::kPod;  // kPod or kNode
  NamespaceMode pid = NamespaceMode::kContainer;
  NamespaceMode ipc = NamespaceMode::kPod;  // kPod or kNode
  std::string target_container_id;          // for pid == kTarget
  // Mappings of the pod's own user namespace, in which its other namespaces are made; empty: the
  // host's.
  std::vector<IdMapping> uid_mappings;
  std::vector<IdMapping> gid_mappings;
  bool has_user_namespace() const { return !uid_mappings.empty(); }
  bool operator==(const NamespaceOptions&) const = default;
};

// The source of a value in a pod's picture.
enum class SaidBy {
  kMessage,     // the CRI: pod_resources, or the container's own request
  kAnnotation,  // the pod's annotation plimsoll.dev/pod-resources
  kKubelet,     // kubelet's sockets (pod_facts.h)
  kLinux,       // computed from settings of control groups
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
  bool privileged = false;          // may run privileged containers
  linux::CgroupSettings resources;  // of the whole pod, from the client
  linux::CgroupSettings overhead;

  // DNS, written to the containers' /etc/resolv.conf. All empty: the host's file.
  std::vector<std::string> dns_servers;
  std::vector<std::string> dns_searches;
  std::vector<std::string> dns_options;

  qos::ClassNames classes;  // asked for by name (KEP-3008 "PodSandboxConfig")
  // The cluster's scheduler gave out classes when the pod was made: annotations of its containers
  // need a claim. False of pods from before, and of those that an older plimsolld made.
  bool classes_from_scheduler = false;
  // Annotations of the pod's last update (KEP-1287 "UpdatePodSandboxResources"), as the client sent
  // them.
  std::map<std::string, std::string> update_annotations;
  PodResources pod_resources;  // as last given (KEP-4112 "PodSandboxConfig"); empty: never
  SaidBy announced_by = SaidBy::kMessage;  // of `pod_resources` at the pod's creation
  // Kubelet's last answer about the pod; nullopt: there was none. Used while `pod_resources` are
  // empty.
  std::optional<PodFacts> facts;
  std::map<std::string, AnnouncedWords> announced;  // by container; counted by the engine
  // The needs of the pod's machine before the pod's last update, without the overhead
  // (runtime/requests/machine_needs.h); empty: no update was reported to a runtime handler.
  KubernetesResources needed_before;
  // The path in containers of the directory with the pod's picture; empty: none.
  std::string picture_directory;
  network::CapabilityArgs network;  // asked of network plugins
  linux::SelinuxOptions selinux;    // its level is the sandbox's own, whoever chose it

  bool operator==(const SandboxSpec&) const = default;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_SPEC_SANDBOX_SPEC_H_
