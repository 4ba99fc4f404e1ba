// The members of each struct that is kept as JSON, once for both directions; for json.cc. The
// structured bindings name every member, so one that is added to a struct does not compile until it
// is listed here.
#ifndef PLIMSOLL_RUNTIME_SPEC_JSON_FIELDS_H_
#define PLIMSOLL_RUNTIME_SPEC_JSON_FIELDS_H_

#include "linux/cgroup/settings.h"
#include "linux/selinux.h"
#include "network/attachment.h"
#include "qos/classes.h"
#include "runtime/spec/container_spec.h"
#include "runtime/spec/mount.h"
#include "runtime/spec/oci_extras.h"
#include "runtime/spec/pod_facts.h"
#include "runtime/spec/pod_resources.h"
#include "runtime/spec/sandbox_spec.h"

namespace plimsoll::runtime {

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const linux::CgroupSettings*) {
  auto& [shares, quota, period, cpus, mems, memory, swap, pids, hugetlb, unified] = s;
  visit("cpu_shares", shares);
  visit("cpu_quota_us", quota);
  visit("cpu_period_us", period);
  visit("cpuset_cpus", cpus);
  visit("cpuset_mems", mems);
  visit("memory_limit_bytes", memory);
  visit("memory_swap_limit_bytes", swap);
  visit("pids_limit", pids);
  visit("hugetlb_limits", hugetlb);
  visit("unified", unified);
}

// One object, so that either build reads the other's record: an older one with the score, a newer
// one without.
template <typename Visitor>
void Fields(Visitor& visit, auto& s, const LastResources*) {
  auto& [cgroup, adj] = s;
  const linux::CgroupSettings* tag = nullptr;
  Fields(visit, cgroup, tag);
  visit("oom_score_adj", adj);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const NamespaceOptions*) {
  auto& [network, pid, ipc, target, uid_mappings, gid_mappings] = s;
  visit("network", network);
  visit("pid", pid);
  visit("ipc", ipc);
  visit("target_container_id", target);
  visit("uid_mappings", uid_mappings);
  visit("gid_mappings", gid_mappings);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const KubernetesResources*) {
  auto& [requests, limits, is_given_empty] = s;  // the last is true of an object without members
  visit("requests", requests);
  visit("limits", limits);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const IdMapping*) {
  auto& [host_id, container_id, length] = s;
  visit("host_id", host_id);
  visit("container_id", container_id);
  visit("length", length);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const MountedImageSpec*) {
  auto& [annotations, user_specified_image, runtime_handler, image_ref] = s;
  visit("annotations", annotations);
  visit("user_specified_image", user_specified_image);
  visit("runtime_handler", runtime_handler);
  visit("image_ref", image_ref);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const Mount*) {
  auto& [container_path, host_path, readonly, recursive, relabel, propagation, uid_mappings,
         gid_mappings, image, image_id, image_sub_path, image_spec, mount_options] = s;
  visit("container_path", container_path);
  visit("host_path", host_path);
  visit("readonly", readonly);
  visit("recursive_read_only", recursive);
  visit("selinux_relabel", relabel);
  visit("propagation", propagation);
  visit("uid_mappings", uid_mappings);
  visit("gid_mappings", gid_mappings);
  visit("image", image);
  visit("image_id", image_id);
  visit("image_sub_path", image_sub_path);
  visit("image_spec", image_spec);
  visit("mount_options", mount_options);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const DeviceMapping*) {
  auto& [container_path, host_path, permissions] = s;
  visit("container_path", container_path);
  visit("host_path", host_path);
  visit("permissions", permissions);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const AnnouncedContainer*) {
  auto& [name, type, kubernetes_resources, mounts, devices, cdi_devices] = s;
  visit("name", name);
  visit("type", type);
  visit("kubernetes_resources", kubernetes_resources);
  visit("mounts", mounts);
  visit("devices", devices);
  visit("cdi_devices", cdi_devices);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const PodResources*) {
  auto& [containers, kubernetes_resources] = s;
  visit("containers", containers);
  visit("kubernetes_resources", kubernetes_resources);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const PinnedMemory*) {
  auto& [resource, numa_nodes, bytes] = s;
  visit("resource", resource);
  visit("numa_nodes", numa_nodes);
  visit("bytes", bytes);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const ContainerGrants*) {
  auto& [devices, exclusive_cpus, memory, cdi_devices] = s;
  visit("devices", devices);
  visit("exclusive_cpus", exclusive_cpus);
  visit("memory", memory);
  visit("cdi_devices", cdi_devices);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const PodFacts*) {
  auto& [resources, has_spec, ephemeral, grants, has_grants, missing] = s;
  visit("resources", resources);
  visit("has_spec", has_spec);
  visit("ephemeral", ephemeral);
  visit("grants", grants);
  visit("has_grants", has_grants);
  visit("missing", missing);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const OwnWords*) {
  auto& [made, resources] = s;
  visit("made", made);
  visit("resources", resources);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const AnnouncedWords*) {
  auto& [resources, mounts, devices, cdi_devices] = s;
  visit("resources", resources);
  visit("mounts", mounts);
  visit("devices", devices);
  visit("cdi_devices", cdi_devices);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const network::PortMapping*) {
  auto& [protocol, container_port, host_port, host_ip] = s;
  visit("protocol", protocol);
  visit("container_port", container_port);
  visit("host_port", host_port);
  visit("host_ip", host_ip);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const network::CapabilityArgs*) {
  auto& [port_mappings, ingress, egress] = s;
  visit("port_mappings", port_mappings);
  visit("ingress_bits_per_second", ingress);
  visit("egress_bits_per_second", egress);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const linux::SelinuxOptions*) {
  auto& [user, role, type, level] = s;
  visit("user", user);
  visit("role", role);
  visit("type", type);
  visit("level", level);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const SandboxSpec*) {
  auto& [name, uid, pod_namespace, attempt, hostname, log_directory, cgroup_parent, handler,
         namespaces, sysctls, privileged, resources, overhead, servers, searches, options, classes,
         classes_from_scheduler, update_annotations, pod_resources, announced_by, facts, announced,
         needed_before, picture_directory, network, selinux] = s;
  visit("name", name);
  visit("uid", uid);
  visit("pod_namespace", pod_namespace);
  visit("attempt", attempt);
  visit("hostname", hostname);
  visit("log_directory", log_directory);
  visit("cgroup_parent", cgroup_parent);
  visit("runtime_handler", handler);
  visit("namespaces", namespaces);
  visit("sysctls", sysctls);
  visit("privileged", privileged);
  visit("resources", resources);
  visit("overhead", overhead);
  visit("dns_servers", servers);
  visit("dns_searches", searches);
  visit("dns_options", options);
  visit("classes", classes);
  visit("classes_from_scheduler", classes_from_scheduler);
  visit("update_annotations", update_annotations);
  visit("pod_resources", pod_resources);
  visit("announced_by", announced_by);
  visit("kubelet_facts", facts);
  visit("announced", announced);
  visit("needed_before", needed_before);
  visit("picture_directory", picture_directory);
  visit("network", network);
  visit("selinux", selinux);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const SecurityProfile*) {
  auto& [type, localhost_path] = s;
  visit("type", type);
  visit("localhost_path", localhost_path);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const Capabilities*) {
  auto& [add, drop, add_ambient] = s;
  visit("add", add);
  visit("drop", drop);
  visit("add_ambient", add_ambient);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const SecurityContext*) {
  auto& [capabilities, privileged, namespaces, user, group, username, groups, groups_strict,
         readonly_rootfs, no_new_privs, masked, readonly_paths, seccomp, apparmor, selinux] = s;
  visit("capabilities", capabilities);
  visit("privileged", privileged);
  visit("namespaces", namespaces);
  visit("run_as_user", user);
  visit("run_as_group", group);
  visit("run_as_username", username);
  visit("supplemental_groups", groups);
  visit("supplemental_groups_strict", groups_strict);
  visit("readonly_rootfs", readonly_rootfs);
  visit("no_new_privs", no_new_privs);
  visit("masked_paths", masked);
  visit("readonly_paths", readonly_paths);
  visit("seccomp", seccomp);
  visit("apparmor", apparmor);
  visit("selinux", selinux);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const ProcessUser*) {
  auto& [uid, gid, groups] = s;
  visit("uid", uid);
  visit("gid", gid);
  visit("supplemental_groups", groups);
}

using NameAndValue = std::pair<std::string, std::string>;

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const NameAndValue*) {
  auto& [name, value] = s;
  visit("name", name);
  visit("value", value);
  visit.Bytes("value_base64", value);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const cdi::DeviceNode*) {
  auto& [path, host_path, type, major, minor, file_mode, permissions, uid, gid] = s;
  visit("path", path);
  visit("host_path", host_path);
  visit("type", type);
  visit("major", major);
  visit("minor", minor);
  visit("file_mode", file_mode);
  visit("permissions", permissions);
  visit("uid", uid);
  visit("gid", gid);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const cdi::CdiMount*) {
  auto& [host_path, container_path, type, options] = s;
  visit("host_path", host_path);
  visit("container_path", container_path);
  visit("type", type);
  visit("options", options);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const cdi::Hook*) {
  auto& [name, path, args, env, timeout] = s;
  visit("name", name);
  visit("path", path);
  visit("args", args);
  visit("env", env);
  visit("timeout_seconds", timeout);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const cdi::IntelRdt*) {
  auto& [clos_id, l3, bandwidth, cmt, mbm] = s;
  visit("clos_id", clos_id);
  visit("l3_cache_schema", l3);
  visit("mem_bw_schema", bandwidth);
  visit("enable_cmt", cmt);
  visit("enable_mbm", mbm);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const cdi::ContainerEdits*) {
  auto& [env, device_nodes, mounts, hooks, additional_gids, intel_rdt] = s;
  visit("env", env);
  visit("device_nodes", device_nodes);
  visit("mounts", mounts);
  visit("hooks", hooks);
  visit("additional_gids", additional_gids);
  visit("intel_rdt", intel_rdt);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const Rlimit*) {
  auto& [type, soft, hard] = s;
  visit("type", type);
  visit("soft", soft);
  visit("hard", hard);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const NamespaceChange*) {
  auto& [type, path, of_host] = s;
  visit("type", type);
  visit("path", path);
  visit("of_host", of_host);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const IoPriority*) {
  auto& [io_class, priority] = s;
  visit("io_class", io_class);
  visit("priority", priority);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const Scheduler*) {
  auto& [policy, nice, priority, flags, runtime, deadline, period] = s;
  visit("policy", policy);
  visit("nice", nice);
  visit("priority", priority);
  visit("flags", flags);
  visit("runtime_ns", runtime);
  visit("deadline_ns", deadline);
  visit("period_ns", period);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const MemoryPolicy*) {
  auto& [mode, nodes, flags] = s;
  visit("mode", mode);
  visit("nodes", nodes);
  visit("flags", flags);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const MoreMemory*) {
  auto& [reservation, kernel, kernel_tcp, swappiness, disable_oom_killer, use_hierarchy] = s;
  visit("reservation_bytes", reservation);
  visit("kernel_bytes", kernel);
  visit("kernel_tcp_bytes", kernel_tcp);
  visit("swappiness", swappiness);
  visit("disable_oom_killer", disable_oom_killer);
  visit("use_hierarchy", use_hierarchy);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const RealtimeCpu*) {
  auto& [runtime, period] = s;
  visit("runtime_us", runtime);
  visit("period_us", period);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const OciExtras*) {
  auto& [unset_environment, edits, rlimits, sysctls, namespaces, io_priority, scheduler,
         memory_policy, seccomp_policy, net_devices, memory, realtime, cgroups_path] = s;
  visit("unset_environment", unset_environment);
  visit("edits", edits);
  visit("rlimits", rlimits);
  visit("sysctls", sysctls);
  visit("namespaces", namespaces);
  visit("io_priority", io_priority);
  visit("scheduler", scheduler);
  visit("memory_policy", memory_policy);
  visit("seccomp_policy", seccomp_policy);
  visit("net_devices", net_devices);
  visit("memory", memory);
  visit("realtime", realtime);
  visit("cgroups_path", cgroups_path);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const PluginChange*) {
  auto& [field, key, plugin] = s;
  visit("field", field);
  visit("key", key);
  visit("plugin", plugin);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const AskedParts*) {
  auto& [resources, mounts, devices, cdi_devices] = s;
  visit("resources", resources);
  visit("mounts", mounts);
  visit("devices", devices);
  visit("cdi_devices", cdi_devices);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const ContainerSpec*) {
  auto& [name, attempt, image, command, args, working_directory, environment, mounts, devices,
         cdi_devices, log_path, open_stdin, stdin_once, tty, stop_signal, resources, oom_score_adj,
         security, annotations, classes, kubernetes_resources, said, extras, changed_by, asked] = s;
  visit("name", name);
  visit("attempt", attempt);
  visit("image", image);
  visit("command", command);
  visit("args", args);
  visit("working_directory", working_directory);
  visit("environment", environment);
  visit("mounts", mounts);
  visit("devices", devices);
  visit("cdi_devices", cdi_devices);
  visit("log_path", log_path);
  visit("open_stdin", open_stdin);
  visit("stdin_once", stdin_once);
  visit("tty", tty);
  visit("stop_signal", stop_signal);
  visit("resources", resources);
  visit("oom_score_adj", oom_score_adj);
  visit("security", security);
  visit("annotations", annotations);
  visit("classes", classes);
  visit("kubernetes_resources", kubernetes_resources);
  visit("said", said);
  visit("extras", extras);
  visit("changed_by", changed_by);
  visit("asked", asked);
}

template <typename Visitor>
void Fields(Visitor& visit, auto& s, const qos::HeldClass*) {
  auto& [name, implicit, changing_to, files] = s;
  visit("name", name);
  visit("implicit", implicit);
  visit("changing_to", changing_to);
  visit("files", files);
}

// --- Enumerations by name, in the order of their values.

template <typename Enum>
struct Names;
template <>
struct Names<NamespaceMode> {
  static constexpr const char* kNames[] = {"pod", "container", "node", "target"};
};
template <>
struct Names<MountPropagation> {
  static constexpr const char* kNames[] = {"private", "host_to_container", "bidirectional"};
};
template <>
struct Names<AnnouncedContainer::Type> {
  static constexpr const char* kNames[] = {"init_container", "sidecar_container", "container"};
};
template <>
struct Names<SaidBy> {
  static constexpr const char* kNames[] = {"message", "annotation", "kubelet", "linux"};
};
template <>
struct Names<SecurityProfile::Type> {
  static constexpr const char* kNames[] = {"runtime_default", "unconfined", "localhost"};
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_SPEC_JSON_FIELDS_H_
