// A pod and a container with a value in each field that messages show.
#ifndef PLIMSOLL_NRI_MESSAGES_MESSAGES_FIXTURE_FOR_TEST_H_
#define PLIMSOLL_NRI_MESSAGES_MESSAGES_FIXTURE_FOR_TEST_H_

#include <set>
#include <string>

#include "cri/runtime/v1/api.pb.h"
#include "google/protobuf/message.h"
#include "image/image_service.h"
#include "nri/messages/messages.h"

namespace plimsoll::nri {

inline runtime::HookedPod FullPod() {
  ::runtime::v1::PodSandboxConfig config;
  (*config.mutable_labels())["app"] = "web";
  (*config.mutable_annotations())["example.com/note"] = "hello";
  (*config.mutable_annotations())["plimsoll.dev/pod-resources"] = "the client's own";
  runtime::HookedPod pod;
  runtime::SandboxRecord& record = pod.record;
  record.id = "pod1";
  record.state = runtime::SandboxState::kReady;
  record.client_config = config.SerializeAsString();
  record.cgroup_path = "kubepods/burstable/pod-uid1";
  record.pause = {.pid = 4711, .start_time_ticks = 1};
  record.classes["rdt"].name = "half";
  record.classes["blockio"].name = "slow";
  runtime::SandboxSpec& spec = record.spec;
  spec.name = "web-1";
  spec.uid = "uid1";
  spec.pod_namespace = "default";
  spec.runtime_handler = "kata";
  spec.cgroup_parent = "/kubepods/burstable/pod-uid1";
  spec.resources.cpu_shares = 512;
  spec.resources.memory_limit_bytes = 1 << 20;
  spec.overhead.cpu_shares = 102;
  spec.overhead.memory_limit_bytes = 1 << 10;
  spec.pod_resources.containers.push_back(
      {.name = "app",
       .type = runtime::AnnouncedContainer::Type::kContainer,
       .kubernetes_resources = {.requests = {{"cpu", "500m"}}, .limits = {{"cpu", "1"}}}});
  pod.addresses = {"10.0.0.7", "fd00::7"};
  pod.place.network_namespace = "/run/plimsoll/sandboxes/pod1/net";
  pod.place.ipc_namespace = "/run/plimsoll/sandboxes/pod1/ipc";
  pod.place.uts_namespace = "/run/plimsoll/sandboxes/pod1/uts";
  pod.place.pid_namespace = "/run/plimsoll/sandboxes/pod1/pid";
  pod.place.user_namespace = "/run/plimsoll/sandboxes/pod1/user";
  pod.place.hostname = "web-1";
  pod.picture = runtime::MakePicture(spec, {});
  return pod;
}

inline runtime::OciExtras FullExtras() {
  runtime::OciExtras extras;
  extras.unset_environment = {"SECRET"};
  extras.edits.device_nodes.push_back({.path = "/dev/injected",
                                       .type = "c",
                                       .major = 1,
                                       .minor = 3,
                                       .file_mode = 0600,
                                       .uid = 5,
                                       .gid = 6});
  extras.edits.mounts.push_back({.host_path = "tmpfs",
                                 .container_path = "/scratch",
                                 .type = "tmpfs",
                                 .options = {"size=1m"}});
  for (const char* name : {"prestart", "createRuntime", "createContainer", "startContainer",
                           "poststart", "poststop"}) {
    extras.edits.hooks.push_back({.name = name,
                                  .path = "/bin/hook",
                                  .args = {"hook", name},
                                  .env = {"A=b"},
                                  .timeout_seconds = 3});
  }
  extras.rlimits = {{.type = "RLIMIT_NOFILE", .soft = 1, .hard = 2}};
  extras.sysctls = {{"net.core.somaxconn", "512"}};
  extras.namespaces = {{.type = "cgroup", .path = "/proc/1/ns/cgroup"}};
  extras.io_priority = {.io_class = "IOPRIO_CLASS_IDLE", .priority = 7};
  extras.scheduler = {.policy = "SCHED_DEADLINE",
                      .nice = 1,
                      .priority = 2,
                      .flags = {"SCHED_FLAG_RECLAIM"},
                      .runtime_ns = 1000,
                      .deadline_ns = 2000,
                      .period_ns = 3000};
  extras.seccomp_policy = R"({"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":1,
      "architectures":["SCMP_ARCH_X86_64"],"flags":["SECCOMP_FILTER_FLAG_LOG"],
      "listenerPath":"/run/l.sock","listenerMetadata":"m","syscalls":[{"names":["read"],
      "action":"SCMP_ACT_ALLOW","errnoRet":2,
      "args":[{"index":1,"value":18446744073709551615,"valueTwo":3,"op":"SCMP_CMP_EQ"}]}]})";
  extras.net_devices = {{"eth9", "net1"}};
  extras.memory = {.reservation_bytes = 4096,
                   .kernel_bytes = 4097,
                   .kernel_tcp_bytes = 4098,
                   .swappiness = 60,
                   .disable_oom_killer = true,
                   .use_hierarchy = true};
  extras.realtime = {.runtime_us = 1000, .period_us = 2000};
  return extras;
}

inline runtime::ContainerSpec FullContainerSpec() {
  runtime::ContainerSpec spec;
  spec.name = "app";
  spec.image = "sha256:abcd";
  spec.args = {"--serve"};
  spec.environment = {{"LEVEL", "debug"}};
  spec.mounts = {{.container_path = "/data/",
                  .host_path = "/srv/data",
                  .readonly = true,
                  .recursive_read_only = true,
                  .mount_options = {"noexec"}},
                 {.container_path = "/shared",
                  .host_path = "/srv/shared",
                  .propagation = runtime::MountPropagation::kBidirectional},
                 {.container_path = "/tools", .image = "tools:1"}};
  spec.devices = {{"/dev/zero2", "/dev/zero", "r"}};
  spec.cdi_devices = {"vendor.com/gpu=0"};
  spec.resources.cpu_shares = 256;
  spec.resources.cpu_quota_us = 50000;
  spec.resources.cpu_period_us = 100000;
  spec.resources.cpuset_cpus = "0-1";
  spec.resources.cpuset_mems = "0";
  spec.resources.memory_limit_bytes = 1 << 20;
  spec.resources.memory_swap_limit_bytes = 1 << 21;
  spec.resources.pids_limit = 100;
  spec.resources.hugetlb_limits = {{"2MB", 1 << 21}};
  spec.resources.unified = {{"memory.high", "900000"}};
  spec.oom_score_adj = 900;
  spec.security.seccomp = {.type = runtime::SecurityProfile::Type::kLocalhost,
                           .localhost_path = "profiles/mine.json"};
  spec.security.namespaces.pid = runtime::NamespaceMode::kPod;
  spec.annotations = {{"set.example.com", "by plugin"}};
  spec.changed_by = {{"annotations", "set.example.com", "10-a"},
                     {"annotations", "removed.example.com", "10-a"}};
  spec.extras = FullExtras();
  return spec;
}

inline runtime::ContainerRecord FullRecord() {
  ::runtime::v1::ContainerConfig config;
  config.mutable_image()->set_image("sha256:abcd");
  config.mutable_image()->set_user_specified_image("docker.io/library/web:1");
  (*config.mutable_labels())["tier"] = "front";
  (*config.mutable_annotations())["example.com/note"] = "container";
  (*config.mutable_annotations())["removed.example.com"] = "gone";
  runtime::ContainerRecord record;
  record.id = "ctr1";
  record.sandbox_id = "pod1";
  record.state = runtime::ContainerState::kExited;
  record.created_unix_nanos = 11;
  record.started_unix_nanos = 12;
  record.finished_unix_nanos = 13;
  record.exit_code = 137;
  record.reason = "OOMKilled";
  record.message = "out of memory";
  record.spec = FullContainerSpec();
  record.client_config = config.SerializeAsString();
  record.image_id = "sha256:abcd";
  record.image_ref = "docker.io/library/web@sha256:1234";
  record.cgroup_path = "kubepods/burstable/pod-uid1/ctr1";
  record.user = runtime::ProcessUser{.uid = 1000, .gid = 1001, .supplemental_groups = {1001, 2}};
  record.init = {.pid = 4712, .start_time_ticks = 1};
  record.classes["rdt"].name = "half";
  record.classes["blockio"].name = "slow";
  return record;
}

inline const image::ImageConfig& TestImage() {
  static const auto& kImage = *new image::ImageConfig{
      .entrypoint = {"/bin/web"},
      .command = {"--help"},
      .environment = {"PATH=/bin", "LEVEL=info", "SECRET=x"},
  };
  return kImage;
}

// Paths of fields below `message` that have no value anywhere in it: "linux.resources.pids". Those
// of other packages' messages are not looked into.
inline void FindFields(const google::protobuf::Message& message, const std::string& prefix,
                       std::set<std::string>* seen, std::set<std::string>* filled) {
  const google::protobuf::Descriptor* type = message.GetDescriptor();
  const google::protobuf::Reflection* reflection = message.GetReflection();
  for (int i = 0; i < type->field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = type->field(i);
    const std::string path = prefix + field->name();
    seen->insert(path);
    const int size = field->is_repeated() ? reflection->FieldSize(message, field)
                                          : reflection->HasField(message, field);
    if (size > 0) filled->insert(path);
    if (field->is_map() || field->message_type() == nullptr ||
        field->message_type()->file() != type->file()) {
      continue;
    }
    if (!field->is_repeated()) {
      FindFields(reflection->GetMessage(message, field), path + ".", seen, filled);
      continue;
    }
    for (int j = 0; j < size; ++j) {
      FindFields(reflection->GetRepeatedMessage(message, field, j), path + ".", seen, filled);
    }
  }
}

inline std::set<std::string> EmptyFieldsOf(const google::protobuf::Message& message) {
  std::set<std::string> seen, filled, empty;
  FindFields(message, "", &seen, &filled);
  for (const std::string& path : seen) {
    if (filled.count(path) == 0) empty.insert(path);
  }
  return empty;
}

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_MESSAGES_MESSAGES_FIXTURE_FOR_TEST_H_
