// bench_start: how long a pod takes to start, beside a bare `crun run` of the same container.
//
// One round times a bare `crun run` (from exec to its exit) and a one-container pod through the CRI
// socket (RunPodSandbox + CreateContainer + StartContainer, each until its answer is there), one
// after the other, so that whatever else the machine does hits both. Host network, busybox `true`;
// with and without the default seccomp profile. Nothing else is timed: stopping and removing the
// pod comes between rounds. It runs a plimsolld of its own in a private directory and removes it.
//
//   bench_start [--rounds 50] [--max-ratio 1.4] [-o json]

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "base/subprocess.h"
#include "base/unique_fd.h"
#include "bench/bare_runner.h"
#include "cri/runtime/v1/api.grpc.pb.h"
#include "plimsoll/v1/node.grpc.pb.h"

namespace plimsoll::bench {
namespace {

namespace cri = ::runtime::v1;

constexpr char kImage[] = "plimsoll.dev/bench/busybox:latest";
constexpr char kPodCgroup[] = "/plimsoll-bench";

struct Options {
  int rounds = 50;
  double max_ratio = 0;  // 0: no limit
  std::string output = "table";
  std::string plimsolld;  // empty: beside this program
  bool keep = false;      // the directory with the daemon's log
};

absl::Status ToStatus(const grpc::Status& status, absl::string_view what) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      absl::StrCat(what, ": ", status.error_message()));
}

// --- the daemon

class Daemon {
 public:
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(const std::string& program,
                                                       const FsRoot& directory) {
    std::unique_ptr<Daemon> daemon(new Daemon());
    const std::string socket = directory.PathOf("plimsoll.sock");
    PLIMSOLL_ASSIGN_OR_RETURN(
        UniqueFd log, directory.OpenFile("plimsolld.log", O_WRONLY | O_CREAT | O_TRUNC, 0600));
    Command command;
    // Standalone: once the lock is let go of, it ends and takes its run directory with it.
    PLIMSOLL_ASSIGN_OR_RETURN(FsRoot run, FsRoot::OpenOrCreate(directory.PathOf("run"), 0755));
    PLIMSOLL_ASSIGN_OR_RETURN(daemon->clients_,
                              run.OpenFile("clients.lock", O_RDWR | O_CREAT, 0600));
    if (flock(daemon->clients_.get(), LOCK_SH) != 0)
      return ErrnoStatus(errno, "flock clients.lock");
    command.argv = {program,       "--standalone",
                    "--address",   "unix://" + socket,
                    "--state-dir", directory.PathOf("state"),
                    "--run-dir",   directory.PathOf("run")};
    command.descriptors = {{log.get(), 1}, {log.get(), 2}};
    PLIMSOLL_ASSIGN_OR_RETURN(daemon->child_, Spawn(command));
    daemon->channel_ = grpc::CreateChannel("unix://" + socket, grpc::InsecureChannelCredentials());

    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    while (
        !daemon->channel_->WaitForConnected(absl::ToChronoTime(absl::Now() + absl::Seconds(1)))) {
      if (daemon->child_->Wait(absl::Now()).ok() || absl::Now() > deadline) {
        return absl::UnavailableError(absl::StrCat("plimsolld does not listen on ", socket,
                                                   "; it said:\n",
                                                   directory.Read("plimsolld.log").value_or("")));
      }
    }
    return daemon;
  }

  ~Daemon() {
    if (!child_.has_value()) return;
    clients_.Reset();
    if (child_->Wait(absl::Now() + absl::Seconds(20)).ok()) return;
    std::fprintf(stderr, "bench_start: plimsolld does not end; killed\n");
    child_->Signal(SIGKILL).IgnoreError();
    child_->Wait(absl::Now() + absl::Seconds(5)).IgnoreError();
  }

  std::shared_ptr<grpc::Channel> channel() const { return channel_; }

 private:
  Daemon() = default;
  UniqueFd clients_;
  std::optional<Child> child_;
  std::shared_ptr<grpc::Channel> channel_;
};

absl::Status ImportImage(const std::shared_ptr<grpc::Channel>& channel, const std::string& path) {
  const auto stub = ::plimsoll::v1::NodeService::NewStub(channel);
  grpc::ClientContext context;
  ::plimsoll::v1::ImportImageRequest request;
  request.set_path(path);
  request.set_reference(kImage);
  ::plimsoll::v1::ImageProgress progress;
  const auto stream = stub->ImportImage(&context, request);
  while (stream->Read(&progress)) {
  }
  return ToStatus(stream->Finish(), "import the image");
}

// --- a pod

struct PodTimes {
  absl::Duration sandbox, create, start;
  absl::Duration total() const { return sandbox + create + start; }
};

class Pods {
 public:
  Pods(const std::shared_ptr<grpc::Channel>& channel, std::string log_directory)
      : stub_(cri::RuntimeService::NewStub(channel)), log_directory_(std::move(log_directory)) {}

  // Starts a pod, times it, removes it.
  absl::StatusOr<PodTimes> Run(cri::SecurityProfile::ProfileType seccomp) {
    const std::string name = absl::StrCat("bench-", ++number_);
    PodTimes times;
    cri::RunPodSandboxRequest sandbox;
    cri::PodSandboxConfig& config = *sandbox.mutable_config();
    config.mutable_metadata()->set_name(name);
    config.mutable_metadata()->set_uid(name);
    config.mutable_metadata()->set_namespace_("default");
    config.set_log_directory(log_directory_);
    config.mutable_linux()->set_cgroup_parent(kPodCgroup);
    SetNamespaces(*config.mutable_linux()->mutable_security_context()->mutable_namespace_options());

    cri::RunPodSandboxResponse sandbox_response;
    PLIMSOLL_RETURN_IF_ERROR(Timed(&cri::RuntimeService::Stub::RunPodSandbox, "RunPodSandbox",
                                   sandbox, sandbox_response, times.sandbox));
    const std::string sandbox_id = sandbox_response.pod_sandbox_id();
    absl::Status started = StartContainer(sandbox_id, config, seccomp, times);
    PLIMSOLL_RETURN_IF_ERROR(FirstError(started, Remove(sandbox_id)));
    return times;
  }

 private:
  static void SetNamespaces(cri::NamespaceOption& options) {
    options.set_network(cri::NODE);
    options.set_pid(cri::CONTAINER);
    options.set_ipc(cri::POD);
  }

  absl::Status StartContainer(const std::string& sandbox_id, const cri::PodSandboxConfig& pod,
                              cri::SecurityProfile::ProfileType seccomp, PodTimes& times) {
    cri::CreateContainerRequest create;
    create.set_pod_sandbox_id(sandbox_id);
    *create.mutable_sandbox_config() = pod;
    cri::ContainerConfig& config = *create.mutable_config();
    config.mutable_metadata()->set_name("true");
    config.mutable_image()->set_image(kImage);
    config.add_command("/bin/true");
    config.set_log_path("true.log");
    cri::LinuxContainerSecurityContext& security =
        *config.mutable_linux()->mutable_security_context();
    SetNamespaces(*security.mutable_namespace_options());
    security.mutable_seccomp()->set_profile_type(seccomp);

    cri::CreateContainerResponse create_response;
    PLIMSOLL_RETURN_IF_ERROR(Timed(&cri::RuntimeService::Stub::CreateContainer, "CreateContainer",
                                   create, create_response, times.create));
    cri::StartContainerRequest start;
    start.set_container_id(create_response.container_id());
    cri::StartContainerResponse start_response;
    return Timed(&cri::RuntimeService::Stub::StartContainer, "StartContainer", start,
                 start_response, times.start);
  }

  absl::Status Remove(const std::string& sandbox_id) {
    absl::Duration ignored;
    cri::StopPodSandboxRequest stop;
    stop.set_pod_sandbox_id(sandbox_id);
    cri::StopPodSandboxResponse stop_response;
    PLIMSOLL_RETURN_IF_ERROR(Timed(&cri::RuntimeService::Stub::StopPodSandbox, "StopPodSandbox",
                                   stop, stop_response, ignored));
    cri::RemovePodSandboxRequest remove;
    remove.set_pod_sandbox_id(sandbox_id);
    cri::RemovePodSandboxResponse remove_response;
    return Timed(&cri::RuntimeService::Stub::RemovePodSandbox, "RemovePodSandbox", remove,
                 remove_response, ignored);
  }

  template <typename Request, typename Response>
  absl::Status Timed(grpc::Status (cri::RuntimeService::Stub::*call)(grpc::ClientContext*,
                                                                     const Request&, Response*),
                     absl::string_view name, const Request& request, Response& response,
                     absl::Duration& took) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(60)));
    const absl::Time start = absl::Now();
    const grpc::Status status = (stub_.get()->*call)(&context, request, &response);
    took = absl::Now() - start;
    return ToStatus(status, name);
  }

  std::unique_ptr<cri::RuntimeService::Stub> stub_;
  std::string log_directory_;
  int number_ = 0;
};

// --- figures

struct Series {
  std::string name;
  std::vector<double> milliseconds;

  void Add(absl::Duration duration) {
    milliseconds.push_back(absl::ToDoubleMilliseconds(duration));
  }
  // Nearest rank; fraction in (0, 1].
  double Quantile(double fraction) const {
    std::vector<double> sorted = milliseconds;
    std::sort(sorted.begin(), sorted.end());
    const size_t rank = static_cast<size_t>(fraction * static_cast<double>(sorted.size()) + 0.9999);
    return sorted.at(std::min(sorted.size(), std::max<size_t>(rank, 1)) - 1);
  }
};

struct Result {
  Series bare{"crun run, bare", {}};
  Series pod{"pod: sandbox + create + start", {}};
  Series sandbox{"  RunPodSandbox", {}};
  Series create{"  CreateContainer", {}};
  Series start{"  StartContainer", {}};
  Series seccomp{"pod with RuntimeDefault seccomp", {}};

  double Ratio() const { return pod.Quantile(0.5) / bare.Quantile(0.5); }
};

void PrintTable(const Result& result, const Options& options) {
  std::printf("%-34s %8s %8s %8s   (ms, %d rounds)\n", "", "p50", "p90", "min", options.rounds);
  for (const Series* series : {&result.bare, &result.pod, &result.sandbox, &result.create,
                               &result.start, &result.seccomp}) {
    std::printf("%-34s %8.2f %8.2f %8.2f\n", series->name.c_str(), series->Quantile(0.5),
                series->Quantile(0.9), series->Quantile(1e-9));
  }
  std::printf("\nratio of pod to bare crun run (p50): %.2f", result.Ratio());
  if (options.max_ratio > 0) std::printf(", may be %.2f", options.max_ratio);
  std::printf("\n");
}

void PrintJson(const Result& result, const Options& options) {
  nlohmann::json json = {{"rounds", options.rounds}, {"ratio", result.Ratio()}};
  if (options.max_ratio > 0) json["max_ratio"] = options.max_ratio;
  const std::pair<const char*, const Series*> named[] = {
      {"bare", &result.bare},     {"pod", &result.pod},     {"sandbox", &result.sandbox},
      {"create", &result.create}, {"start", &result.start}, {"pod_seccomp", &result.seccomp}};
  for (const auto& [name, series] : named) {
    json["milliseconds"][name] = {{"p50", series->Quantile(0.5)},
                                  {"p90", series->Quantile(0.9)},
                                  {"min", series->Quantile(1e-9)},
                                  {"all", series->milliseconds}};
  }
  std::printf("%s\n", json.dump(1).c_str());
}

// --- all of it

absl::StatusOr<Result> Measure(BareRunner& bare, Pods& pods, int rounds) {
  constexpr int kWarmUp = 3;
  Result result;
  absl::Duration bare_time;
  PodTimes pod;
  PodTimes seccomp;
  const std::function<absl::Status()> measurements[] = {
      [&]() -> absl::Status {
        PLIMSOLL_ASSIGN_OR_RETURN(bare_time, bare.Run());
        return absl::OkStatus();
      },
      [&]() -> absl::Status {
        PLIMSOLL_ASSIGN_OR_RETURN(pod, pods.Run(cri::SecurityProfile::Unconfined));
        return absl::OkStatus();
      },
      [&]() -> absl::Status {
        PLIMSOLL_ASSIGN_OR_RETURN(seccomp, pods.Run(cri::SecurityProfile::RuntimeDefault));
        return absl::OkStatus();
      }};
  for (int round = -kWarmUp; round < rounds; ++round) {
    // In each order as often as in any other: what ran just before decides how long the kernel lets
    // one wait (for RCU, when a process enters a cgroup).
    constexpr int kOrders[6][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0},
                                   {0, 2, 1}, {2, 0, 1}, {1, 0, 2}};
    for (const int which : kOrders[(round + kWarmUp) % 6]) {
      PLIMSOLL_RETURN_IF_ERROR(measurements[which]());
    }
    if (round < 0) continue;
    result.bare.Add(bare_time);
    result.pod.Add(pod.total());
    result.sandbox.Add(pod.sandbox);
    result.create.Add(pod.create);
    result.start.Add(pod.start);
    result.seccomp.Add(seccomp.total());
  }
  return result;
}

absl::StatusOr<std::string> BesideThisProgram(absl::string_view name) {
  PLIMSOLL_ASSIGN_OR_RETURN(FsRoot root, FsRoot::Open("/"));
  PLIMSOLL_ASSIGN_OR_RETURN(std::string self, root.ReadLink("proc/self/exe"));
  return absl::StrCat(self.substr(0, self.rfind('/') + 1), name);
}

// crun removes a container's group but not its parents; the pod's group is the daemon's to remove.
void RemoveCgroups() {
  const absl::StatusOr<FsRoot> cgroups = FsRoot::Open("/sys/fs/cgroup");
  if (!cgroups.ok()) return;
  cgroups->RemoveDir(&kPodCgroup[1]).IgnoreError();
  const absl::StatusOr<std::vector<std::string>> hierarchies = cgroups->List(".");
  if (!hierarchies.ok()) return;
  for (const std::string& hierarchy : *hierarchies) {
    cgroups->RemoveDir(absl::StrCat(hierarchy, kPodCgroup)).IgnoreError();
  }
}

absl::StatusOr<Result> Bench(const Options& options) {
  std::string path = "/tmp/plimsoll-bench-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return ErrnoStatus(errno, absl::StrCat("mkdtemp ", path));
  absl::Cleanup remove_directory = [&path, &options] {
    if (options.keep) return;
    const absl::Status removed = FsRoot::Open("/tmp")->RemoveTree(path.substr(5));
    if (!removed.ok()) std::fprintf(stderr, "bench_start: %s\n", removed.ToString().c_str());
  };
  absl::Cleanup remove_cgroups = RemoveCgroups;
  PLIMSOLL_ASSIGN_OR_RETURN(FsRoot directory, FsRoot::Open(path));
  PLIMSOLL_RETURN_IF_ERROR(directory.MakeDirs("bare"));
  PLIMSOLL_RETURN_IF_ERROR(directory.MakeDirs("logs"));

  PLIMSOLL_ASSIGN_OR_RETURN(const std::string crun, FindProgram("crun"));
  const BareRunnerOptions bare_options = {
      .crun = crun, .state = directory.PathOf("bare"), .bundle = directory.PathOf("bundle")};
  PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<BareRunner> bare,
                            BareRunner::Start(bare_options));

  const std::string tar = directory.PathOf("busybox.tar");
  PLIMSOLL_RETURN_IF_ERROR(
      RunChecked({.argv = {PLIMSOLL_SOURCE_DIR "/tools/example_image.sh", tar}}).status());
  PLIMSOLL_RETURN_IF_ERROR(
      MakeBundle(crun, tar, bare_options.bundle, absl::StrCat(kPodCgroup, "/bare")));

  std::string plimsolld = options.plimsolld;
  if (plimsolld.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(plimsolld, BesideThisProgram("plimsolld"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<Daemon> daemon,
                            Daemon::Start(plimsolld, directory));
  PLIMSOLL_RETURN_IF_ERROR(ImportImage(daemon->channel(), tar));
  Pods pods(daemon->channel(), directory.PathOf("logs"));
  return Measure(*bare, pods, options.rounds);
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Times the start of a one-container pod beside a bare crun run.", "bench_start");
  app.add_option("--rounds", options.rounds, "how often each is timed")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--max-ratio", options.max_ratio,
                 "exit code 1 when the ratio of p50s is above it");
  app.add_option("-o,--output", options.output, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  app.add_option("--plimsolld", options.plimsolld,
                 "the daemon to measure; default: beside this program");
  app.add_flag("--keep", options.keep, "keep the directory with the daemon's log");
  CLI11_PARSE(app, argc, argv);

  const absl::StatusOr<Result> result = Bench(options);
  if (!result.ok()) {
    std::fprintf(stderr, "bench_start: %s\n", result.status().ToString().c_str());
    return 2;
  }
  options.output == "json" ? PrintJson(*result, options) : PrintTable(*result, options);
  return options.max_ratio > 0 && result->Ratio() > options.max_ratio ? 1 : 0;
}

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  return plimsoll::bench::Main(argc, argv);
}
