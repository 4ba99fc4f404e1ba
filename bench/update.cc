// bench_update: the cost of updating a running container's resources beyond the kernel's writes for
// it, and the memory of a pod's picture beside the message that it came in.
//
// It runs a plimsolld of its own in a private directory. Each round raises CPU quota and memory
// limit of a container through the CRI socket and lowers them by writing the same control files.
#include <malloc.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "bench/beside_kernel.h"
#include "bench/cri_client.h"
#include "bench/ground.h"
#include "cri/messages/translate_pod_resources.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::bench {
namespace {

constexpr int kRounds = 200;
constexpr int kPods = 1000;

absl::Status WriteSmall(linux::CgroupManager& cgroups, const std::string& group) {
  const bool v2 = cgroups.layout() == linux::CgroupLayout::kV2;
  PLIMSOLL_RETURN_IF_ERROR(cgroups.WriteFile(group, "cpu", v2 ? "cpu.max" : "cpu.cfs_quota_us",
                                             v2 ? "50000 100000" : "50000"));
  return cgroups.WriteFile(group, "memory", v2 ? "memory.max" : "memory.limit_in_bytes",
                           "67108864");
}

absl::Status MeasureUpdates(CriClient& client, linux::CgroupManager& cgroups) {
  absl::Duration setting_up;
  PLIMSOLL_ASSIGN_OR_RETURN(const Sandbox sandbox, client.RunSandbox("bench-update", &setting_up));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string container,
                            client.Create(sandbox, "updated", {"/bin/sleep", "600"},
                                          cri::SecurityProfile::Unconfined, &setting_up));
  PLIMSOLL_RETURN_IF_ERROR(client.Start(container, &setting_up));
  const std::string group = absl::StrCat(kCgroupParent, "/", container);
  Series whole{.name = "UpdateContainerResources: quota and memory"};
  Series kernel{.name = "the kernel's writes"};
  for (int i = 0; i < kRounds; ++i) {
    cri::LinuxContainerResources resources;
    resources.set_cpu_quota(150000);
    resources.set_memory_limit_in_bytes(128 << 20);
    absl::Duration took;
    PLIMSOLL_RETURN_IF_ERROR(client.Update(container, resources, &took));
    whole.Add(took);
    const absl::Time start = absl::Now();
    PLIMSOLL_RETURN_IF_ERROR(WriteSmall(cgroups, group));
    kernel.Add(absl::Now() - start);
  }
  PrintBesideKernel(whole, kernel);
  return client.RemoveSandbox(sandbox.id, &setting_up);
}

// The announcement of a web server with a helper beside it.
cri::PodResourceConfig OnePod(int number) {
  cri::PodResourceConfig pod;
  for (const char* name : {"prepare", "server", "log-shipper"}) {
    auto& container = *pod.add_containers();
    container.set_name(name);
    container.set_type(cri::ContainerResourceConfig::CONTAINER);
    auto& resources = *container.mutable_kubernetes_resources();
    for (auto* bounds : {resources.mutable_requests(), resources.mutable_limits()}) {
      (*bounds)["cpu"].set_string("1500m");
      (*bounds)["memory"].set_string("512Mi");
      (*bounds)["ephemeral-storage"].set_string("1Gi");
    }
    auto& mount = *container.add_mounts();
    mount.set_container_path("/var/run/secrets/kubernetes.io/serviceaccount");
    mount.set_host_path(absl::StrCat("/var/lib/kubelet/pods/", number, "/volumes/token"));
  }
  return pod;
}

size_t HeapBytes() {
  return mallinfo2().uordblks;
}

absl::Status MeasurePictures() {
  std::vector<cri::PodResourceConfig> messages;
  std::vector<runtime::PodResources> pictures;
  messages.reserve(kPods);
  pictures.reserve(kPods);
  const size_t empty = HeapBytes();
  for (int i = 0; i < kPods; ++i) messages.push_back(OnePod(i));
  const size_t with_messages = HeapBytes();
  std::vector<std::string> warnings;
  for (const auto& message : messages) {
    PLIMSOLL_ASSIGN_OR_RETURN(auto picture,
                              plimsoll::cri::PodResourcesFrom(message, "pod_resources", &warnings));
    pictures.push_back(std::move(picture));
  }
  const size_t with_pictures = HeapBytes();
  size_t on_the_wire = 0;
  for (const auto& message : messages) on_the_wire += message.ByteSizeLong();
  std::printf("%-48s %zu bytes each; the messages %zu, on the wire %zu\n",
              absl::StrCat("pictures of ", kPods, " pods").c_str(),
              (with_pictures - with_messages) / kPods, (with_messages - empty) / kPods,
              on_the_wire / kPods);
  return absl::OkStatus();
}

absl::Status Bench() {
  PLIMSOLL_ASSIGN_OR_RETURN(const Ground ground, Prepare("", /*keep=*/false));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto cgroups, linux::CgroupManager::Detect(host));
  CriClient client(ground.daemon->channel(), kImage, ground.scratch->directory().PathOf("logs"),
                   kCgroupParent);
  PLIMSOLL_RETURN_IF_ERROR(MeasureUpdates(client, *cgroups));
  return MeasurePictures();
}

}  // namespace
}  // namespace plimsoll::bench

int main() {
  const absl::Status status = plimsoll::bench::Bench();
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench_update: %s\n", status.ToString().c_str());
  return 2;
}
