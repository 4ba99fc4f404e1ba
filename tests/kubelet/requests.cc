#include "kubelet/requests.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "harness/kernel.h"

namespace plimsoll::testing::kubelet {
namespace {

constexpr int64_t kPeriod = 100000;

bool IsV2() {
  return Cgroups().layout() == linux::CgroupLayout::kV2;
}

// MilliCPUToShares, MilliCPUToQuota of pkg/kubelet/cm.
int64_t Shares(int64_t milli) {
  return std::clamp<int64_t>(milli * 1024 / 1000, 2, 262144);
}
int64_t Quota(int64_t milli) {
  return milli == 0 ? 0 : std::max<int64_t>(milli * kPeriod / 1000, 1000);
}

int64_t OomScoreAdj(Qos qos) {
  switch (qos) {
    case Qos::kGuaranteed:
      return -997;
    case Qos::kBurstable:
      return 992;
    case Qos::kBestEffort:
      return 1000;
  }
  return 0;
}

// For every page size of the machine, with a limit of 0 if none are asked for.
void AddHugePages(cri::LinuxContainerResources* out) {
  const auto sizes = Host().List("sys/kernel/mm/hugepages");
  if (!sizes.ok()) return;
  for (const std::string& directory : *sizes) {
    const bool is_giant = directory == "hugepages-1048576kB";
    if (!is_giant && directory != "hugepages-2048kB") continue;
    out->add_hugepage_limits()->set_page_size(is_giant ? "1GB" : "2MB");
  }
}

// NoSwap, kubelet's default: on v2 a raw file, on v1 a sum that leaves nothing for swap.
void AddSwap(cri::LinuxContainerResources* out) {
  if (IsV2()) {
    (*out->mutable_unified())["memory.swap.max"] = "0";
  } else if (Host().Exists("sys/fs/cgroup/memory/memory.memsw.limit_in_bytes")) {
    out->set_memory_swap_limit_in_bytes(out->memory_limit_in_bytes());
  }
}

cri::LinuxContainerResources CpuAndMemory(const Resources& resources) {
  cri::LinuxContainerResources out;
  out.set_cpu_period(kPeriod);
  out.set_cpu_quota(resources.exclusive_cpus.empty() ? Quota(resources.cpu_limit_milli) : -1);
  out.set_cpu_shares(Shares(resources.cpu_request_milli));
  out.set_memory_limit_in_bytes(resources.memory_limit_bytes);
  return out;
}

}  // namespace

Resources BestEffort() {
  return {};
}
Resources Burstable(int64_t cpu_milli, int64_t memory_bytes) {
  return {Qos::kBurstable, cpu_milli / 2, cpu_milli, memory_bytes, ""};
}
Resources Guaranteed(int64_t cpu_milli, int64_t memory_bytes) {
  return {Qos::kGuaranteed, cpu_milli, cpu_milli, memory_bytes, ""};
}

cri::LinuxContainerResources LinuxResources(const Resources& resources) {
  cri::LinuxContainerResources out = CpuAndMemory(resources);
  out.set_oom_score_adj(OomScoreAdj(resources.qos));
  out.set_cpuset_cpus(resources.exclusive_cpus);
  AddHugePages(&out);
  AddSwap(&out);
  if (IsV2()) (*out.mutable_unified())["memory.oom.group"] = "1";
  return out;
}

cri::PodSandboxConfig PodSandbox(const std::string& name, const std::string& cgroup_parent,
                                 const std::string& log_directory, const Resources& resources) {
  cri::PodSandboxConfig config;
  config.mutable_metadata()->set_name(name);
  config.mutable_metadata()->set_namespace_("default");
  config.mutable_metadata()->set_uid(absl::StrCat("5c0e3bd2-", name));
  config.set_hostname(name);
  config.set_log_directory(log_directory);
  (*config.mutable_labels())["io.kubernetes.pod.name"] = name;
  (*config.mutable_labels())["io.kubernetes.pod.namespace"] = "default";
  (*config.mutable_labels())["io.kubernetes.pod.uid"] = config.metadata().uid();
  (*config.mutable_annotations())["kubernetes.io/config.source"] = "api";
  config.mutable_dns_config();
  cri::LinuxPodSandboxConfig* linux = config.mutable_linux();
  linux->set_cgroup_parent(cgroup_parent);
  linux->mutable_overhead();
  *linux->mutable_resources() = CpuAndMemory(resources);
  cri::LinuxSandboxSecurityContext* security = linux->mutable_security_context();
  security->mutable_namespace_options()->set_pid(cri::CONTAINER);
  security->mutable_seccomp()->set_profile_type(cri::SecurityProfile::RuntimeDefault);
  return config;
}

cri::UpdatePodSandboxResourcesRequest PodUpdate(const std::string& pod,
                                                const Resources& resources) {
  cri::UpdatePodSandboxResourcesRequest request;
  request.set_pod_sandbox_id(pod);
  request.mutable_overhead();
  *request.mutable_resources() = CpuAndMemory(resources);
  return request;
}

cri::ContainerConfig Container(const std::string& name, uint32_t attempt, const std::string& script,
                               const Resources& resources) {
  cri::ContainerConfig config;
  config.mutable_metadata()->set_name(name);
  config.mutable_metadata()->set_attempt(attempt);
  config.mutable_image()->set_image("busybox");
  config.mutable_image()->set_user_specified_image("busybox");
  for (const std::string& word : {std::string("/bin/sh"), std::string("-c"), script}) {
    config.add_command(word);
  }
  config.set_log_path(absl::StrCat(name, "_", attempt, ".log"));
  (*config.mutable_labels())["io.kubernetes.container.name"] = name;
  (*config.mutable_annotations())["io.kubernetes.container.restartCount"] = absl::StrCat(attempt);
  *config.mutable_linux()->mutable_resources() = LinuxResources(resources);
  cri::LinuxContainerSecurityContext* security = config.mutable_linux()->mutable_security_context();
  security->mutable_namespace_options()->set_pid(cri::CONTAINER);
  security->mutable_run_as_user()->set_value(0);
  for (const char* path : {"/proc/asound", "/proc/kcore", "/proc/keys", "/sys/firmware"}) {
    security->add_masked_paths(path);
  }
  for (const char* path : {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys"}) {
    security->add_readonly_paths(path);
  }
  return config;
}

cri::Mount SubPathMount(const std::string& host_path, const std::string& container_path,
                        const std::string& sub_path) {
  cri::Mount mount;
  mount.set_host_path(host_path);
  mount.set_container_path(container_path);
  mount.set_image_sub_path(sub_path);
  return mount;
}

cri::UpdateContainerResourcesRequest Resize(const std::string& container,
                                            const Resources& resources) {
  cri::UpdateContainerResourcesRequest request;
  request.set_container_id(container);
  *request.mutable_linux() = LinuxResources(resources);
  return request;
}

cri::UpdateContainerResourcesRequest PinCpus(const std::string& container,
                                             const std::string& cpus) {
  cri::UpdateContainerResourcesRequest request;
  request.set_container_id(container);
  request.mutable_linux()->set_cpuset_cpus(cpus);
  return request;
}

}  // namespace plimsoll::testing::kubelet
