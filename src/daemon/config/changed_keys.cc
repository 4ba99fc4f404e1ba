#include "daemon/config/changed_keys.h"

#include "absl/functional/function_ref.h"

namespace plimsoll::daemon {
namespace {

using NoteFn = absl::FunctionRef<void(const char* key, bool same)>;

void NoteNri(const nri::NriSettings& before, const nri::NriSettings& after, const NoteFn& note) {
  note("nri.enabled", before.enabled == after.enabled);
  note("nri.socket", before.socket == after.socket);
  note("nri.external", before.external == after.external);
  note("nri.plugin_dir", before.plugin_dir == after.plugin_dir);
  note("nri.config_dir", before.config_dir == after.config_dir);
  note("nri.registration_timeout_ms",
       before.registration_timeout_ms == after.registration_timeout_ms);
  note("nri.request_timeout_ms", before.request_timeout_ms == after.request_timeout_ms);
  note("nri.default_policy.required",
       before.default_policy.required == after.default_policy.required);
  note("nri.default_policy.strikes", before.default_policy.strikes == after.default_policy.strikes);
  note("nri.plugins", before.policies == after.policies);
  note("nri.validator.reject_oci_hooks",
       before.validator.reject_oci_hooks == after.validator.reject_oci_hooks);
  note("nri.validator.reject_runtime_default_seccomp",
       before.validator.reject_runtime_default_seccomp ==
           after.validator.reject_runtime_default_seccomp);
  note("nri.validator.reject_unconfined_seccomp",
       before.validator.reject_unconfined_seccomp == after.validator.reject_unconfined_seccomp);
  note("nri.validator.reject_custom_seccomp",
       before.validator.reject_custom_seccomp == after.validator.reject_custom_seccomp);
  note("nri.validator.reject_namespaces",
       before.validator.reject_namespaces == after.validator.reject_namespaces);
  note("nri.validator.reject_sysctls",
       before.validator.reject_sysctls == after.validator.reject_sysctls);
  note("nri.validator.required_plugins",
       before.validator.required_plugins == after.validator.required_plugins);
  note("nri.validator.tolerate_missing_annotation",
       before.validator.tolerate_missing_annotation == after.validator.tolerate_missing_annotation);
}

}  // namespace

std::vector<std::string> ChangedKeys(const Config& before, const Config& after) {
  std::vector<std::string> changed;
  const auto note = [&changed](const char* key, bool same) {
    if (!same) changed.emplace_back(key);
  };
  note("address", before.address == after.address);
  note("socket_group", before.socket_group == after.socket_group);
  note("state_dir", before.state_dir == after.state_dir);
  note("run_dir", before.run_dir == after.run_dir);
  note("log.level", before.log.level == after.log.level);
  note("log.format", before.log.format == after.log.format);
  note("metrics.address", before.metrics_address == after.metrics_address);
  note("crun", before.crun == after.crun);
  note("cdi_spec_dirs", before.cdi_spec_dirs == after.cdi_spec_dirs);
  note("network.config_dir", before.network.config_dir == after.network.config_dir);
  note("network.plugin_dirs", before.network.plugin_dirs == after.network.plugin_dirs);
  note("network.plugin_timeout", before.network.plugin_timeout == after.network.plugin_timeout);
  note("network.interfaces", before.network.interfaces == after.network.interfaces);
  note("network.collect_garbage", before.network.collect_garbage == after.network.collect_garbage);
  note("network.unprivileged_ports",
       before.network.unprivileged_ports == after.network.unprivileged_ports);
  note("network.unprivileged_ping",
       before.network.unprivileged_ping == after.network.unprivileged_ping);
  note("streaming.address", before.streaming.address == after.streaming.address);
  note("streaming.certificate", before.streaming.certificate == after.streaming.certificate);
  note("streaming.key", before.streaming.key == after.streaming.key);
  note("streaming.idle_timeout", before.streaming.idle_timeout == after.streaming.idle_timeout);
  note("streaming.creation_timeout",
       before.streaming.creation_timeout == after.streaming.creation_timeout);
  note("kube.socket", before.kube.socket == after.kube.socket);
  note("kube.socket_group", before.kube.socket_group == after.kube.socket_group);
  note("kubelet.root", before.kubelet.root == after.kubelet.root);
  note("kubelet.pods", before.kubelet.pods == after.kubelet.pods);
  NoteNri(before.nri, after.nri, note);
  note("cgroup_parent", before.cgroup_parent == after.cgroup_parent);
  note("cgroup_driver", before.cgroup_driver == after.cgroup_driver);
  note("restrict_oom_score_adj", before.restrict_oom_score_adj == after.restrict_oom_score_adj);
  note("image_volumes", before.image_volumes == after.image_volumes);
  note("volumes", before.volumes == after.volumes);
  note("exec", before.exec == after.exec);
  note("workers", before.workers == after.workers);
  note("event_log.capacity", before.event_log_capacity == after.event_log_capacity);
  note("registries.insecure", before.insecure_registries == after.insecure_registries);
  note("registries.file", before.registries_file == after.registries_file);
  note("images.pinned", before.pinned_images == after.pinned_images);
  note("images.share_layers", before.share_layers == after.share_layers);
  note("feature_gates", before.feature_gates == after.feature_gates);
  note("classes", before.classes == after.classes);
  note("nodeResources", before.node_resources == after.node_resources);
  note("runtime_handlers", before.runtime_handlers == after.runtime_handlers);
  return changed;
}

}  // namespace plimsoll::daemon
