// bench_kubelet: what the question to kubelet's sockets adds to RunPodSandbox.
//
// It runs a plimsolld of its own in a private directory, with a fake kubelet that answers at once
// as a real one of `PodsAPI` does. Each round starts two pods, in turn one or the other first: one
// with a uid as kubelet gives them, for which the daemon asks and then shows the answer, and one
// with another uid, for which it asks nothing, as with `pods: off`.
//
//   bench_kubelet [--rounds 200] [--max-extra-ms 0]

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "bench/cri_client.h"
#include "bench/ground.h"
#include "bench/series.h"
#include "harness/fake_kubelet.h"

namespace plimsoll::bench {
namespace {

struct Options {
  int rounds = 200;
  double max_extra_ms = 0;  // 0: no limit
};

cri::PodSandboxConfig PodOf(const std::string& uid, int number, const FsRoot& directory) {
  cri::PodSandboxConfig config;
  config.mutable_metadata()->set_name(absl::StrCat("bench-", number));
  config.mutable_metadata()->set_namespace_("default");
  config.mutable_metadata()->set_uid(uid);
  config.set_log_directory(directory.PathOf(absl::StrCat("logs/", number)));
  config.mutable_linux()->set_cgroup_parent(kCgroupParent);
  config.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_network(
      cri::NODE);
  return config;
}

// Gives kubelet the pod: an init container and two containers, one with devices.
void Know(const cri::PodSandboxConfig& config, testing::FakeKubelet* kubelet) {
  ::k8s::io::api::core::v1::Pod pod;
  pod.mutable_metadata()->set_uid(config.metadata().uid());
  pod.mutable_metadata()->set_name(config.metadata().name());
  pod.mutable_metadata()->set_namespace_(config.metadata().namespace_());
  pod.mutable_spec()->add_initcontainers()->set_name("setup");
  ::v1::PodResources grants;
  grants.set_name(config.metadata().name());
  grants.set_namespace_(config.metadata().namespace_());
  for (const char* name : {"web", "log"}) {
    auto& container = *pod.mutable_spec()->add_containers();
    container.set_name(name);
    for (const char* resource : {"cpu", "memory", "example.com/gpu"}) {
      (*container.mutable_resources()->mutable_limits())[resource].set_string("2");
    }
    auto& granted = *grants.add_containers();
    granted.set_name(name);
    auto& devices = *granted.add_devices();
    devices.set_resource_name("example.com/gpu");
    devices.add_device_ids("gpu-0");
    devices.add_device_ids("gpu-1");
  }
  kubelet->SetPod(pod);
  kubelet->SetGrants(grants);
}

// Starts the pod, times that, and removes it.
absl::Status Time(CriClient& client, const cri::PodSandboxConfig& config, Series* series) {
  cri::RunPodSandboxRequest request;
  *request.mutable_config() = config;
  cri::RunPodSandboxResponse response;
  grpc::ClientContext context;
  const absl::Time start = absl::Now();
  PLIMSOLL_RETURN_IF_ERROR(
      ToStatus(client.stub().RunPodSandbox(&context, request, &response), "RunPodSandbox"));
  series->Add(absl::Now() - start);
  absl::Duration removal;
  return client.RemoveSandbox(response.pod_sandbox_id(), &removal);
}

absl::Status Bench(const Options& options) {
  std::string root;
  const auto flags = [&](const FsRoot& directory) -> absl::StatusOr<std::vector<std::string>> {
    PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot made,
                              FsRoot::OpenOrCreate(directory.PathOf("kubelet"), 0755));
    root = made.path();
    return std::vector<std::string>{"--kubelet-root", root};
  };
  PLIMSOLL_ASSIGN_OR_RETURN(const Ground ground, Prepare("", /*keep=*/false, flags));
  testing::FakeKubelet kubelet(root);
  const FsRoot& directory = ground.scratch->directory();
  CriClient client(ground.daemon->channel(), kImage, directory.PathOf("logs"), kCgroupParent);
  Series asked{.name = "RunPodSandbox, kubelet asked", .milliseconds = {}};
  Series unasked{.name = "RunPodSandbox, nothing asked", .milliseconds = {}};
  Series more{.name = "more (the goal: at most 2 ms)", .milliseconds = {}};  // of each round
  for (int i = 0; i < options.rounds; ++i) {
    const std::string uid =
        absl::StrCat("6c7ca2b0-17a3-4c5e-9d7e-", absl::Dec(i, absl::kZeroPad12));
    const cri::PodSandboxConfig known = PodOf(uid, 2 * i, directory);
    const cri::PodSandboxConfig other = PodOf(absl::StrCat("bench-", i), 2 * i + 1, directory);
    Know(known, &kubelet);
    if (i % 2 == 0) PLIMSOLL_RETURN_IF_ERROR(Time(client, known, &asked));
    PLIMSOLL_RETURN_IF_ERROR(Time(client, other, &unasked));
    if (i % 2 == 1) PLIMSOLL_RETURN_IF_ERROR(Time(client, known, &asked));
    kubelet.RemovePod(uid);
    more.milliseconds.push_back(asked.milliseconds.back() - unasked.milliseconds.back());
  }
  const int calls = kubelet.calls(testing::FakeKubelet::kPods);
  if (calls != options.rounds) {
    return absl::InternalError(
        absl::StrCat("kubelet got ", calls, " calls in ", options.rounds, " rounds"));
  }
  for (const Series* series : {&asked, &unasked}) {
    std::printf("%-48s p50 %6.2f ms   least %6.2f ms\n", series->name.c_str(),
                series->Quantile(0.5), series->Least());
  }
  // The median of the rounds' differences: a start has waits in the kernel that come and go.
  const double extra = more.Quantile(0.5);
  std::printf("%-48s p50 %6.2f ms   least %6.2f ms   ratio of the medians %.2f\n",
              more.name.c_str(), extra, asked.Least() - unasked.Least(),
              asked.Quantile(0.5) / unasked.Quantile(0.5));
  if (options.max_extra_ms > 0 && extra > options.max_extra_ms) {
    return absl::OutOfRangeError(absl::StrCat(extra, " ms more; at most ", options.max_extra_ms));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  plimsoll::bench::Options options;
  CLI::App app("What a question to kubelet's sockets adds to RunPodSandbox");
  app.add_option("--rounds", options.rounds, "Pods of each kind")->check(CLI::Range(1, 100000));
  app.add_option("--max-extra-ms", options.max_extra_ms,
                 "End with an error beyond that; 0: no limit");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = plimsoll::bench::Bench(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench_kubelet: %s\n", status.ToString().c_str());
  return absl::IsOutOfRange(status) ? 1 : 2;
}
