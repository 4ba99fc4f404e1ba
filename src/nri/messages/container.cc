#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/text/utf8.h"
#include "cri/runtime/v1/api.pb.h"
#include "nri/messages/messages.h"
#include "nri/messages/parts.h"
#include "runtime/announcement/messages.h"
#include "runtime/oci/spec_builder.h"
#include "runtime/oci/spec_mounts.h"
#include "runtime/requests/pod_picture.h"
#include "runtime/spec/paths.h"

namespace plimsoll::nri {
namespace {

namespace v1 = ::runtime::v1;

api::ContainerState StateOf(runtime::ContainerState state) {
  switch (state) {
    case runtime::ContainerState::kCreated:
      return api::CONTAINER_CREATED;
    case runtime::ContainerState::kRunning:
      return api::CONTAINER_RUNNING;
    case runtime::ContainerState::kExited:
    case runtime::ContainerState::kRemoving:
      return api::CONTAINER_STOPPED;
    case runtime::ContainerState::kCreating:  // nothing of it exists
    case runtime::ContainerState::kUnknown:
      break;
  }
  return api::CONTAINER_UNKNOWN;
}

// The client's, except for those that a plugin has set or removed.
void FillAnnotations(const v1::ContainerConfig& config, const runtime::ContainerSpec& spec,
                     google::protobuf::Map<std::string, std::string>* out) {
  *out = config.annotations();
  for (const runtime::PluginChange& change : spec.changed_by) {
    if (change.field != "annotations") continue;
    const auto now = spec.annotations.find(change.key);
    if (now == spec.annotations.end()) {
      out->erase(change.key);
    } else {
      (*out)[change.key] = now->second;
    }
  }
}

// The default PATH, HOME and TERM are left out: they are not the container's own.
void FillEnvironment(const runtime::HookedPod& pod, const runtime::ContainerSpec& spec,
                     const image::ImageConfig& image, api::Container* out) {
  std::vector<std::string> defaults;
  if (!pod.place.hostname.empty()) {
    defaults.push_back(absl::StrCat("HOSTNAME=", pod.place.hostname));
  }
  for (const std::string& variable : runtime::EnvironmentOf(std::move(defaults), spec, image)) {
    out->add_env(WithValidUtf8(variable));  // a plugin in Go refuses other bytes
  }
}

// An image's mount has no path on the host before the container is made: its source is the image.
void FillMount(const runtime::Mount& mount, api::Mount* out) {
  out->set_destination(runtime::CleanPath(mount.container_path));
  out->set_type("bind");
  out->set_source(mount.image.empty() ? mount.host_path : mount.image);
  for (const std::string& option : runtime::MountOptions(mount)) out->add_options(option);
}

void FillMount(const cdi::CdiMount& mount, api::Mount* out) {
  out->set_destination(mount.container_path);
  out->set_type(mount.type.empty() ? "bind" : mount.type);
  out->set_source(mount.host_path);
  for (const std::string& option : mount.options) out->add_options(option);
}

// Mounts that each container has come first, as in the container: plugins look for them.
void FillMounts(const runtime::HookedPod& pod, const runtime::ContainerSpec& spec,
                api::Container* out) {
  google::protobuf::RepeatedPtrField<api::Mount> own;
  for (const runtime::Mount& mount : spec.mounts) FillMount(mount, own.Add());
  for (const cdi::CdiMount& mount : spec.extras.edits.mounts) FillMount(mount, own.Add());
  for (const cdi::CdiMount& standard : runtime::StandardMounts(spec, pod.place)) {
    const bool replaced = absl::c_any_of(own, [&](const api::Mount& mount) {
      return mount.destination() == standard.container_path;
    });
    if (!replaced) FillMount(standard, out->add_mounts());
  }
  out->mutable_mounts()->MergeFrom(own);
}

google::protobuf::RepeatedPtrField<api::Hook>* HooksNamed(absl::string_view name,
                                                          api::Hooks* hooks) {
  if (name == "prestart") return hooks->mutable_prestart();
  if (name == "createRuntime") return hooks->mutable_create_runtime();
  if (name == "createContainer") return hooks->mutable_create_container();
  if (name == "startContainer") return hooks->mutable_start_container();
  if (name == "poststart") return hooks->mutable_poststart();
  return hooks->mutable_poststop();
}

void FillHooks(const std::vector<cdi::Hook>& hooks, api::Container* out) {
  for (const cdi::Hook& hook : hooks) {
    api::Hook* added = HooksNamed(hook.name, out->mutable_hooks())->Add();
    added->set_path(hook.path);
    for (const std::string& argument : hook.args) added->add_args(argument);
    for (const std::string& variable : hook.env) added->add_env(variable);
    if (hook.timeout_seconds) added->mutable_timeout()->set_value(*hook.timeout_seconds);
  }
}

void FillProcess(const runtime::HookedPod& pod, const runtime::HookedContainer& container,
                 api::Container* out) {
  const runtime::ContainerSpec& spec = container.record.spec;
  const image::ImageConfig none;
  const image::ImageConfig& image = container.image != nullptr ? *container.image : none;
  const auto arguments = runtime::ProcessArguments(spec, image);
  if (arguments.ok()) {
    for (const std::string& argument : *arguments) out->add_args(argument);
  }
  FillEnvironment(pod, spec, image, out);
  for (const runtime::Rlimit& limit : spec.extras.rlimits) {
    api::POSIXRlimit* added = out->add_rlimits();
    added->set_type(limit.type);
    added->set_hard(limit.hard);
    added->set_soft(limit.soft);
  }
}

// The looked-up user; before the container is made, the one that the client names by number.
void FillUser(const runtime::ContainerRecord& record, api::User* out) {
  if (record.user) {
    out->set_uid(record.user->uid);
    out->set_gid(record.user->gid);
    for (const uint32_t gid : record.user->supplemental_groups) out->add_additional_gids(gid);
    return;
  }
  const runtime::SecurityContext& security = record.spec.security;
  out->set_uid(static_cast<uint32_t>(security.run_as_user.value_or(0)));
  out->set_gid(static_cast<uint32_t>(security.run_as_group.value_or(0)));
  for (const int64_t gid : security.supplemental_groups) {
    out->add_additional_gids(static_cast<uint32_t>(gid));
  }
}

void FillImage(const v1::ContainerConfig& config, const runtime::ContainerRecord& record,
               api::Image* out) {
  const std::string& written = config.image().user_specified_image();
  out->set_name(written.empty() ? record.spec.image : written);
  const size_t at = record.image_ref.rfind('@');
  if (at != std::string::npos) out->set_digest(record.image_ref.substr(at + 1));
  out->set_config_digest(record.image_id);
}

void FillLife(const runtime::ContainerRecord& record, api::Container* out) {
  out->set_state(StateOf(record.state));
  out->set_pid(static_cast<uint32_t>(record.init.pid));
  out->set_created_at(record.created_unix_nanos);
  out->set_started_at(record.started_unix_nanos);
  out->set_finished_at(record.finished_unix_nanos);
  out->set_exit_code(record.exit_code);
  out->set_status_reason(record.reason);
  out->set_status_message(record.message);
}

// The latest word of the pod's author; what is computed from control groups is none.
void FillWritten(const runtime::HookedPod& pod, const runtime::ContainerSpec& spec,
                 api::Container* out) {
  const runtime::KubernetesResources own = runtime::WrittenNow(pod.record.spec, spec);
  if (own.is_given()) return FillKubernetesResources(own, out->mutable_kubernetes_resources());
  const auto sources = pod.picture.sources.containers.find(spec.name);
  if (sources == pod.picture.sources.containers.end() ||
      sources->second.kubernetes_resources.value_or(runtime::SaidBy::kLinux) ==
          runtime::SaidBy::kLinux) {
    return;
  }
  for (const runtime::AnnouncedContainer& each : pod.picture.now.containers) {
    if (each.name != spec.name) continue;
    FillKubernetesResources(each.kubernetes_resources, out->mutable_kubernetes_resources());
  }
}

}  // namespace

api::Container MakeContainer(const runtime::HookedPod& pod,
                             const runtime::HookedContainer& container, const FsRoot* host) {
  const runtime::ContainerRecord& record = container.record;
  v1::ContainerConfig config;
  // Like in MakePod.
  if (!config.ParseFromString(record.client_config)) config.Clear();
  api::Container message;
  message.set_id(record.id);
  message.set_pod_sandbox_id(record.sandbox_id);
  message.set_name(record.spec.name);
  *message.mutable_labels() = config.labels();
  FillAnnotations(config, record.spec, message.mutable_annotations());
  FillLife(record, &message);
  FillProcess(pod, container, &message);
  FillMounts(pod, record.spec, &message);
  FillHooks(record.spec.extras.edits.hooks, &message);
  FillLinux(pod, record, host, message.mutable_linux());
  for (const std::string& device : record.spec.cdi_devices) {
    message.add_cdi_devices()->set_name(device);
  }
  FillUser(record, message.mutable_user());
  FillImage(config, record, message.mutable_image());
  FillWritten(pod, record.spec, &message);
  return message;
}

}  // namespace plimsoll::nri
