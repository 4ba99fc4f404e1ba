// bench_node: the cost of a node's runtime, call by call, and its ratio to a bare crun.
//
// Starts a plimsolld of its own in a private directory and drives it through the CRI socket; with
// --socket, another CRI runtime beside it. In each round every runtime lives through one pod and
// bare crun is timed too, so that other load on the machine hits all of them. Host network,
// busybox, no seccomp filter. Removes all that it made.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "bench/cri_client.h"
#include "bench/endpoint.h"
#include "bench/ground.h"
#include "bench/process.h"
#include "bench/report.h"

namespace plimsoll::bench {
namespace {

struct Options {
  Workload workload;
  std::vector<std::string> sockets;
  std::string image = kImage;
  std::string plimsolld;
  std::string json;
  std::string svg;
  double max_start_ratio = 0;  // 0: no limit
  double max_exec_ratio = 0;
  bool keep = false;
};

struct Runtime {
  std::unique_ptr<CriClient> client;
  std::unique_ptr<Endpoint> endpoint;
};

Runtime MakeRuntime(const std::string& name, const std::shared_ptr<grpc::Channel>& channel,
                    const std::string& image, pid_t daemon, const FsRoot& directory,
                    const FsRoot& host) {
  Runtime runtime;
  runtime.client = std::make_unique<CriClient>(
      channel, image, directory.PathOf(absl::StrCat("logs-", daemon)), kCgroupParent);
  runtime.endpoint = std::make_unique<Endpoint>(name, runtime.client.get(), daemon, host);
  return runtime;
}

absl::Status MeasureCalls(const Options& options, BareRunner& bare, const std::string& crun_state,
                          const std::vector<Runtime>& runtimes, Report* report) {
  for (int round = 0; round < options.workload.pods; ++round) {
    PLIMSOLL_ASSIGN_OR_RETURN(const absl::Duration run, bare.Run());
    report->bare_run.Add(run);
    for (const Runtime& runtime : runtimes) {
      const bool own = &runtime == &runtimes.front();
      PLIMSOLL_RETURN_IF_ERROR(
          runtime.endpoint->OnePod([&](const std::string& container) -> absl::Status {
            if (!own) return absl::OkStatus();
            PLIMSOLL_ASSIGN_OR_RETURN(const absl::Duration exec, bare.Exec(crun_state, container));
            report->bare_exec.Add(exec);
            return absl::OkStatus();
          }));
    }
  }
  return absl::OkStatus();
}

void Say(const std::string& text) {
  if (isatty(2) != 0) std::fprintf(stderr, "%s\n", text.c_str());
}

absl::StatusOr<Report> Bench(const Options& options) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Ground ground, Prepare(options.plimsolld, options.keep));
  const FsRoot& directory = ground.scratch->directory();
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));

  std::vector<Runtime> runtimes;
  runtimes.push_back(MakeRuntime("plimsolld", ground.daemon->channel(), kImage,
                                 ground.daemon->pid(), directory, host));
  for (const std::string& socket : options.sockets) {
    const std::string path(absl::StripPrefix(socket, "unix://"));
    PLIMSOLL_ASSIGN_OR_RETURN(const pid_t server, ServerOf(path));
    runtimes.push_back(
        MakeRuntime(path, grpc::CreateChannel("unix://" + path, grpc::InsecureChannelCredentials()),
                    options.image, server, directory, host));
  }

  Report report;
  report.workload = options.workload;
  for (const Runtime& runtime : runtimes) PLIMSOLL_RETURN_IF_ERROR(runtime.endpoint->Idle());
  Say("pods one by one");
  PLIMSOLL_RETURN_IF_ERROR(
      MeasureCalls(options, *ground.bare, ground.daemon->runtime_state(), runtimes, &report));
  for (const Runtime& runtime : runtimes) {
    Say(absl::StrCat("pods in parallel: ", runtime.endpoint->figures().name));
    PLIMSOLL_RETURN_IF_ERROR(runtime.endpoint->InParallel(options.workload));
    if (options.workload.resident > 0) {
      Say(absl::StrCat("memory and lists: ", runtime.endpoint->figures().name));
      PLIMSOLL_RETURN_IF_ERROR(runtime.endpoint->Resident(options.workload));
    }
    report.runtimes.push_back(runtime.endpoint->figures());
  }
  return report;
}

absl::Status WriteFile(const std::string& path, const std::string& text) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot root, FsRoot::Open(directory));
  return root.ReplaceFile(slash == std::string::npos ? path : path.substr(slash + 1), text, 0644);
}

bool AboveLimit(const char* what, double ratio, double limit) {
  if (limit <= 0 || ratio <= limit) return false;
  std::fprintf(stderr, "bench_node: %s is %.2f times bare crun's, may be %.2f\n", what, ratio,
               limit);
  return true;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Times a node's runtime through the CRI socket, beside bare crun.", "bench_node");
  app.add_option("--pods", options.workload.pods,
                 "pods to start one after the other, and again in parallel")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--parallel", options.workload.parallel, "pods at a time")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--resident", options.workload.resident,
                 "running pods for memory and the short lists; 0: skip these")
      ->capture_default_str();
  app.add_option("--listed", options.workload.listed, "containers in the long lists")
      ->capture_default_str();
  app.add_option("--lists", options.workload.lists, "calls of each list")->capture_default_str();
  app.add_option("--socket", options.sockets,
                 "socket of another CRI runtime to measure; may be repeated");
  app.add_option("--image", options.image,
                 "an image with busybox's commands, known to the other runtimes")
      ->capture_default_str();
  app.add_option("--plimsolld", options.plimsolld, "the daemon; default: beside this program");
  app.add_option("--json", options.json, "write all figures to this file");
  app.add_option("--svg", options.svg, "draw a chart into this file");
  app.add_option("--max-start-ratio", options.max_start_ratio,
                 "exit with 1 if a pod's start takes more than this many times a bare crun run");
  app.add_option("--max-exec-ratio", options.max_exec_ratio,
                 "exit with 1 if ExecSync takes more than this many times a bare crun exec");
  app.add_flag("--keep", options.keep, "keep the directory with the daemon's log");
  CLI11_PARSE(app, argc, argv);

  const absl::StatusOr<Report> report = Bench(options);
  absl::Status status = report.status();
  if (status.ok()) {
    std::fputs(ToTable(*report).c_str(), stdout);
    if (!options.json.empty()) status = WriteFile(options.json, ToJson(*report));
    if (!options.svg.empty()) status = FirstError(status, WriteFile(options.svg, ToSvg(*report)));
  }
  if (!status.ok()) {
    std::fprintf(stderr, "bench_node: %s\n", status.ToString().c_str());
    return 2;
  }
  const bool slow = AboveLimit("start", report->StartRatio(), options.max_start_ratio);
  return AboveLimit("exec", report->ExecRatio(), options.max_exec_ratio) || slow ? 1 : 0;
}

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  return plimsoll::bench::Main(argc, argv);
}
