#include "cri/messages/translate_container.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/text/normal_path.h"
#include "cdi/names.h"
#include "cri/messages/translate_id_mappings.h"
#include "cri/messages/translate_mounted_image.h"
#include "cri/messages/translate_resources.h"
#include "cri/messages/translate_sandbox.h"
#include "cri/messages/validate.h"
#include "linux/namespaces/id_mapping.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;

absl::Status AddIdentity(const v1::ContainerConfig& config, runtime::ContainerSpec* spec) {
  if (!config.has_metadata()) {
    return absl::InvalidArgumentError("config.metadata is missing: a container needs a name");
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckName("config.metadata.name", config.metadata().name()));
  spec->name = config.metadata().name();
  spec->attempt = config.metadata().attempt();
  PLIMSOLL_RETURN_IF_ERROR(CheckWord("config.image.image", config.image().image()));
  spec->image = config.image().image();
  return absl::OkStatus();
}

absl::Status AddProcess(const v1::ContainerConfig& config, runtime::ContainerSpec* spec) {
  for (const std::string& word : config.command()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckArgument("config.command", word));
  }
  for (const std::string& word : config.args()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckArgument("config.args", word));
  }
  spec->command.assign(config.command().begin(), config.command().end());
  spec->args.assign(config.args().begin(), config.args().end());
  if (!config.working_dir().empty()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckAbsolutePath("config.working_dir", config.working_dir()));
    spec->working_directory = config.working_dir();
  }
  for (const v1::KeyValue& variable : config.envs()) {
    if (variable.key().empty() || absl::StrContains(variable.key(), '=') ||
        absl::StrContains(variable.key(), '\0')) {
      return Invalid("config.envs.key", variable.key(),
                     "must not be empty or hold \"=\" or a NUL byte");
    }
    if (absl::StrContains(variable.value(), '\0')) {
      // Omits the value: it may be a secret.
      return Invalid("config.envs.key", variable.key(), "has a value that holds a NUL byte");
    }
    spec->environment.emplace_back(variable.key(), variable.value());
  }
  spec->open_stdin = config.stdin();
  spec->stdin_once = config.stdin_once();
  spec->tty = config.tty();
  if (!v1::Signal_IsValid(config.stop_signal())) {
    return Invalid("config.stop_signal", static_cast<int64_t>(config.stop_signal()),
                   "must be one of the values of Signal");
  }
  spec->stop_signal = SignalName(config.stop_signal());
  return absl::OkStatus();
}

absl::Status AddLogPath(const std::string& log_path, const runtime::SandboxSpec& sandbox,
                        runtime::ContainerSpec* spec) {
  if (log_path.empty()) return absl::OkStatus();
  if (sandbox.log_directory.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(
        Annotate(CheckAbsolutePath("config.log_path", log_path), "the pod has no log_directory"));
  } else {
    PLIMSOLL_RETURN_IF_ERROR(CheckRelativePath("config.log_path", log_path));
  }
  spec->log_path = log_path;
  return absl::OkStatus();
}

// The options of mount(8) that restrict use of the mounted tree. Those with a field of their own
// (ro, propagation, id mappings) are not among them.
constexpr absl::string_view kMountOptions[] = {
    "noexec", "nosuid",   "nodev",      "exec",     "suid",       "dev",         "noatime",
    "atime",  "diratime", "nodiratime", "relatime", "norelatime", "strictatime", "nostrictatime"};

absl::Status CheckReadOnly(const v1::Mount& mount) {
  if (!mount.recursive_read_only()) return absl::OkStatus();
  if (mount.readonly() && mount.propagation() == v1::PROPAGATION_PRIVATE) return absl::OkStatus();
  return Invalid("config.mounts.recursive_read_only", mount.container_path(),
                 "needs readonly and PROPAGATION_PRIVATE on the same mount");
}

absl::Status AddIdMappings(const v1::Mount& mount, runtime::Mount* out) {
  if (mount.uidmappings().empty() && mount.gidmappings().empty()) return absl::OkStatus();
  out->uid_mappings = IdMappingsFrom(mount.uidmappings());
  out->gid_mappings = IdMappingsFrom(mount.gidmappings());
  PLIMSOLL_RETURN_IF_ERROR(linux::CheckIdMappings("config.mounts.uidMappings", out->uid_mappings));
  return linux::CheckIdMappings("config.mounts.gidMappings", out->gid_mappings);
}

absl::Status AddMountOptions(const v1::Mount& mount, runtime::Mount* out) {
  for (const std::string& option : mount.mount_options()) {
    if (!absl::c_linear_search(kMountOptions, option)) {
      return Invalid("config.mounts.mount_options", option,
                     absl::StrCat("must be one of ", absl::StrJoin(kMountOptions, ", ")));
    }
    out->mount_options.push_back(option);
  }
  return absl::OkStatus();
}

// The mount's source: a host path or an image.
absl::Status AddSource(const v1::Mount& mount, runtime::Mount* out) {
  if (!mount.has_image()) {
    // Ignores image_sub_path: kubelet sends it also for the subPath of a volume that is no image,
    // which it has already put into host_path.
    PLIMSOLL_RETURN_IF_ERROR(CheckAbsolutePath("config.mounts.host_path", mount.host_path()));
    out->host_path = mount.host_path();
    return absl::OkStatus();
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckWord("config.mounts.image.image", mount.image().image()));
  if (!mount.host_path().empty()) {
    return Invalid("config.mounts.host_path", mount.host_path(), "must be empty beside an image");
  }
  if (mount.propagation() != v1::PROPAGATION_PRIVATE) {
    return Invalid("config.mounts.propagation", static_cast<int64_t>(mount.propagation()),
                   "must be PROPAGATION_PRIVATE (0) for an image");
  }
  if (!mount.readonly()) {
    return Invalid("config.mounts.readonly", "false",
                   absl::StrCat("must be true for the image at ", mount.container_path(),
                                ": an image can't be written to"));
  }
  if (!mount.image_sub_path().empty()) {
    PLIMSOLL_RETURN_IF_ERROR(
        CheckRelativePath("config.mounts.image_sub_path", mount.image_sub_path()));
  }
  out->image = mount.image().image();
  out->image_spec = MountedImageSpecFrom(mount.image());
  out->image_sub_path = mount.image_sub_path();
  return absl::OkStatus();
}

absl::StatusOr<runtime::MountPropagation> PropagationFrom(v1::MountPropagation propagation) {
  switch (propagation) {
    case v1::PROPAGATION_PRIVATE:
      return runtime::MountPropagation::kPrivate;
    case v1::PROPAGATION_HOST_TO_CONTAINER:
      return runtime::MountPropagation::kHostToContainer;
    case v1::PROPAGATION_BIDIRECTIONAL:
      return runtime::MountPropagation::kBidirectional;
    default:
      return Invalid("config.mounts.propagation", static_cast<int64_t>(propagation),
                     "must be PROPAGATION_PRIVATE (0), PROPAGATION_HOST_TO_CONTAINER (1) or "
                     "PROPAGATION_BIDIRECTIONAL (2)");
  }
}

// Mounts that spread from container to host need a container that may mount, on a host that may
// trust it.
absl::Status CheckBidirectional(const v1::Mount& mount, const runtime::SecurityContext& security) {
  if (mount.propagation() != v1::PROPAGATION_BIDIRECTIONAL) return absl::OkStatus();
  constexpr absl::string_view kField = "config.mounts.propagation";
  if (security.namespaces.has_user_namespace()) {
    return Invalid(kField, "PROPAGATION_BIDIRECTIONAL",
                   absl::StrCat("of the mount at ", mount.container_path(),
                                " is not possible: mounts don't spread out of a user namespace"));
  }
  if (security.privileged) return absl::OkStatus();
  return Invalid(kField, "PROPAGATION_BIDIRECTIONAL",
                 absl::StrCat("of the mount at ", mount.container_path(),
                              " is for privileged containers only"));
}

absl::StatusOr<runtime::Mount> MountFrom(const v1::Mount& mount,
                                         const runtime::SecurityContext& security) {
  PLIMSOLL_RETURN_IF_ERROR(
      CheckAbsolutePath("config.mounts.container_path", mount.container_path()));
  if (NormalPath(mount.container_path()) == "/") {
    return Invalid("config.mounts.container_path", mount.container_path(),
                   "must not be the container's root");
  }
  runtime::Mount result;
  result.container_path = mount.container_path();
  PLIMSOLL_RETURN_IF_ERROR(AddSource(mount, &result));
  PLIMSOLL_RETURN_IF_ERROR(CheckReadOnly(mount));
  PLIMSOLL_ASSIGN_OR_RETURN(result.propagation, PropagationFrom(mount.propagation()));
  PLIMSOLL_RETURN_IF_ERROR(CheckBidirectional(mount, security));
  PLIMSOLL_RETURN_IF_ERROR(AddIdMappings(mount, &result));
  PLIMSOLL_RETURN_IF_ERROR(AddMountOptions(mount, &result));
  result.readonly = mount.readonly();
  result.recursive_read_only = mount.recursive_read_only();
  result.selinux_relabel = mount.selinux_relabel();
  return result;
}

absl::StatusOr<runtime::DeviceMapping> DeviceFrom(const v1::Device& device) {
  PLIMSOLL_RETURN_IF_ERROR(
      CheckAbsolutePath("config.devices.container_path", device.container_path()));
  PLIMSOLL_RETURN_IF_ERROR(CheckAbsolutePath("config.devices.host_path", device.host_path()));
  const std::string& permissions = device.permissions();
  const std::set<char> distinct(permissions.begin(), permissions.end());
  if (permissions.empty() || distinct.size() != permissions.size() ||
      permissions.find_first_not_of("rwm") != std::string::npos) {
    return Invalid("config.devices.permissions", permissions,
                   "must be one or more of \"r\", \"w\" and \"m\"");
  }
  return runtime::DeviceMapping{device.container_path(), device.host_path(), permissions};
}

// From field and annotation: a kubelet of some years sends both.
absl::Status AddCdiDevices(const v1::ContainerConfig& config, runtime::ContainerSpec* spec) {
  for (const v1::CDIDevice& device : config.cdi_devices()) {
    const absl::Status name = cdi::ParseDeviceName(device.name()).status();
    if (!name.ok()) return Annotate(name, "config.CDI_devices");
    spec->cdi_devices.push_back(device.name());
  }
  const auto annotated =
      cdi::DevicesInAnnotations({config.annotations().begin(), config.annotations().end()});
  if (!annotated.ok()) return Annotate(annotated.status(), "config");
  std::set<std::string> known(spec->cdi_devices.begin(), spec->cdi_devices.end());
  for (const std::string& device : *annotated) {
    if (known.insert(device).second) spec->cdi_devices.push_back(device);
  }
  return absl::OkStatus();
}

absl::Status AddFiles(const v1::ContainerConfig& config, runtime::ContainerSpec* spec) {
  for (const v1::Mount& mount : config.mounts()) {
    PLIMSOLL_ASSIGN_OR_RETURN(runtime::Mount translated, MountFrom(mount, spec->security));
    spec->mounts.push_back(std::move(translated));
  }
  for (const v1::Device& device : config.devices()) {
    PLIMSOLL_ASSIGN_OR_RETURN(runtime::DeviceMapping translated, DeviceFrom(device));
    spec->devices.push_back(std::move(translated));
  }
  return AddCdiDevices(config, spec);
}

bool IsAllowed(absl::string_view name, const AnnotationAllowList& allowed) {
  if (absl::StartsWith(name, "run.oci.")) return false;
  for (absl::string_view pattern : allowed) {
    if (absl::ConsumeSuffix(&pattern, "*") ? absl::StartsWith(name, pattern) : name == pattern) {
      return true;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<runtime::ContainerSpec> ContainerSpecFrom(
    const v1::ContainerConfig& config, const runtime::SandboxSpec& sandbox,
    const AnnotationAllowList& allowed_annotations) {
  runtime::ContainerSpec spec;
  PLIMSOLL_RETURN_IF_ERROR(CheckNoWindows("config.windows", config.has_windows(), "config.linux"));
  PLIMSOLL_RETURN_IF_ERROR(AddIdentity(config, &spec));
  PLIMSOLL_RETURN_IF_ERROR(AddProcess(config, &spec));
  PLIMSOLL_RETURN_IF_ERROR(AddLogPath(config.log_path(), sandbox, &spec));
  const v1::LinuxContainerResources& resources = config.linux().resources();
  PLIMSOLL_ASSIGN_OR_RETURN(spec.resources,
                            CgroupSettingsFrom(resources, "config.linux.resources"));
  if (resources.memory_swap_limit_in_bytes() > 0 && resources.memory_limit_in_bytes() == 0) {
    return Invalid("config.linux.resources.memory_swap_limit_in_bytes",
                   resources.memory_swap_limit_in_bytes(),
                   "counts memory and swap together, and needs memory_limit_in_bytes");
  }
  spec.oom_score_adj = static_cast<int>(resources.oom_score_adj());
  PLIMSOLL_ASSIGN_OR_RETURN(spec.security,
                            SecurityContextFrom(config.linux().security_context(), sandbox));
  PLIMSOLL_RETURN_IF_ERROR(AddFiles(config, &spec));
  for (const auto& [name, value] : config.annotations()) {
    if (IsAllowed(name, allowed_annotations)) spec.annotations[name] = value;
  }
  return spec;
}

v1::ContainerState ToCri(runtime::ContainerState state) {
  switch (state) {
    case runtime::ContainerState::kCreated:
      return v1::CONTAINER_CREATED;
    case runtime::ContainerState::kRunning:
      return v1::CONTAINER_RUNNING;
    case runtime::ContainerState::kExited:
    case runtime::ContainerState::kRemoving:
      return v1::CONTAINER_EXITED;
    case runtime::ContainerState::kCreating:
    case runtime::ContainerState::kUnknown:
      return v1::CONTAINER_UNKNOWN;
  }
  return v1::CONTAINER_UNKNOWN;
}

// Matches FillImage, which sets no handler either.
v1::ImageSpec WithoutHandler(v1::ImageSpec image) {
  image.clear_runtime_handler();
  return image;
}

void FillContainer(const runtime::ContainerRecord& record, const v1::ContainerConfig& config,
                   v1::Container* out) {
  out->set_id(record.id);
  out->set_pod_sandbox_id(record.sandbox_id);
  *out->mutable_metadata() = config.metadata();
  *out->mutable_image() = WithoutHandler(config.image());
  out->set_image_ref(record.image_ref);
  out->set_state(ToCri(record.state));
  out->set_created_at(record.created_unix_nanos);
  *out->mutable_labels() = config.labels();
  *out->mutable_annotations() = config.annotations();
  out->set_image_id(record.image_id);
}

// The mounts as the client sent them, with the ids of mounted images: a tag may name another one by
// now (KEP-5365).
void FillMounts(const runtime::ContainerSpec& spec, const v1::ContainerConfig& config,
                google::protobuf::RepeatedPtrField<v1::Mount>* out) {
  *out = config.mounts();
  // Mounts of plugins are not the client's.
  const std::vector<runtime::Mount>& mounts =
      spec.asked.has_value() ? spec.asked->mounts : spec.mounts;
  const size_t count = std::min(mounts.size(), static_cast<size_t>(out->size()));
  for (size_t i = 0; i < count; ++i) {
    const std::string& id = mounts[i].image_id;
    if (!id.empty()) out->Mutable(static_cast<int>(i))->mutable_image()->set_image_ref(id);
  }
}

// kubelet makes containers by the image's id, and shows a status' image to users, who look for the
// name; `image_id` has the id.
v1::ImageSpec ByItsName(v1::ImageSpec image) {
  if (!image.user_specified_image().empty()) image.set_image(image.user_specified_image());
  return image;
}

void FillContainerStatus(const runtime::ContainerRecord& record, const v1::ContainerConfig& config,
                         v1::ContainerStatus* out) {
  out->set_id(record.id);
  *out->mutable_metadata() = config.metadata();
  out->set_state(ToCri(record.state));
  out->set_created_at(record.created_unix_nanos);
  out->set_started_at(record.started_unix_nanos);
  out->set_finished_at(record.finished_unix_nanos);
  out->set_exit_code(record.exit_code);
  *out->mutable_image() = ByItsName(WithoutHandler(config.image()));
  out->set_image_ref(record.image_ref);
  // In a Created container the reason is that of its coming start; kubelet knows reasons of ends
  // only.
  if (record.state != runtime::ContainerState::kCreated) out->set_reason(record.reason);
  out->set_message(record.message);
  *out->mutable_labels() = config.labels();
  *out->mutable_annotations() = config.annotations();
  FillMounts(record.spec, config, out->mutable_mounts());
  out->set_log_path(record.log_path);
  out->set_image_id(record.image_id);
  out->set_stop_signal(SignalFromNumber(record.stop_signal));
  if (!record.user.has_value()) return;
  v1::LinuxContainerUser* user = out->mutable_user()->mutable_linux();
  user->set_uid(record.user->uid);
  user->set_gid(record.user->gid);
  for (const uint32_t group : record.user->supplemental_groups) {
    user->add_supplemental_groups(group);
  }
}

}  // namespace plimsoll::cri
