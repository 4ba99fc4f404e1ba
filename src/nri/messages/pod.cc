#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cri/runtime/v1/api.pb.h"
#include "nri/messages/messages.h"
#include "nri/messages/parts.h"
#include "runtime/announcement/messages.h"
#include "runtime/cgroups/pod_group_settings.h"
#include "runtime/requests/pod_picture.h"

namespace plimsoll::nri {
namespace {

constexpr char kPictureAnnotation[] = "plimsoll.dev/pod-resources";

void FillPodNamespaces(const runtime::HookedPod& pod, api::LinuxPodSandbox* out) {
  const runtime::SandboxPlace& place = pod.place;
  AddNamespace("network", place.network_namespace, out->mutable_namespaces());
  AddNamespace("ipc", place.ipc_namespace, out->mutable_namespaces());
  AddNamespace("uts", place.uts_namespace, out->mutable_namespaces());
  AddNamespace("pid", place.pid_namespace, out->mutable_namespaces());
  AddNamespace("user", place.user_namespace, out->mutable_namespaces());
}

void FillLinuxPod(const runtime::HookedPod& pod, api::LinuxPodSandbox* out) {
  const runtime::SandboxSpec& spec = pod.record.spec;
  *out->mutable_pod_overhead() = MakeResources(spec.overhead, {});
  *out->mutable_pod_resources() = MakeResources(spec.resources, {});
  *out->mutable_resources() =
      MakeResources(runtime::PodGroupSettings(spec), NamesOf(pod.record.classes));
  out->set_cgroup_parent(spec.cgroup_parent);
  out->set_cgroups_path(GroupPath(pod.record.cgroup_path));
  FillPodNamespaces(pod, out);
}

}  // namespace

void AddNamespace(const char* type, const std::string& path,
                  google::protobuf::RepeatedPtrField<api::LinuxNamespace>* out) {
  if (path.empty()) return;
  api::LinuxNamespace* added = out->Add();
  added->set_type(type);
  added->set_path(path);
}

qos::ClassNames NamesOf(const qos::HeldClasses& classes) {
  qos::ClassNames names;
  for (const auto& [type, held] : classes) {
    if (!held.name.empty()) names[type] = held.name;
  }
  return names;
}

std::string GroupPath(const std::string& path) {
  if (path.empty() || absl::StartsWith(path, "/")) return path;
  return absl::StrCat("/", path);
}

api::PodSandbox MakePod(const runtime::HookedPod& pod) {
  const runtime::SandboxRecord& record = pod.record;
  ::runtime::v1::PodSandboxConfig config;
  // A row of an older build may hold a message that is not whole: the rest is worth telling.
  if (!config.ParseFromString(record.client_config)) config.Clear();
  api::PodSandbox message;
  message.set_id(record.id);
  message.set_name(record.spec.name);
  message.set_uid(record.spec.uid);
  message.set_namespace_(record.spec.pod_namespace);
  *message.mutable_labels() = config.labels();
  *message.mutable_annotations() = config.annotations();
  (*message.mutable_annotations())[kPictureAnnotation] = runtime::ToJson(pod.picture);
  message.set_runtime_handler(record.spec.runtime_handler);
  FillLinuxPod(pod, message.mutable_linux());
  message.set_pid(static_cast<uint32_t>(record.pause.pid));
  for (const std::string& address : pod.addresses) message.add_ips(address);
  FillPodResources(pod.picture.now, message.mutable_pod_resources());
  return message;
}

}  // namespace plimsoll::nri
