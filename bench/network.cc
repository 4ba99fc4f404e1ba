// bench_network: the cost of a pod with a network of its own beyond the time of its network
// plugins.
//
// One pod after the other starts through the CRI socket (RunPodSandbox + CreateContainer +
// StartContainer, each until its answer is there) on a bridge with host-local addresses and
// portmap, Debian's plugins. The plugins' part of that time, told by the daemon's metrics, is
// subtracted; the rest stands beside a bare crun run, which is a part of it. The same plugins also
// run by themselves, as a lower bound for every runtime. Then many pods start at once, of which
// none may fail, and many sandboxes come and go at once, as the plugins by themselves do. Another
// CRI runtime (--socket) is timed beside it, with the network that it has; the time of its plugins
// is unknown.
//
// Runs in a network namespace of its own, so that its bridge and rules don't touch the machine's.
//
//   bench_network [--pods 50] [--parallel-pods 100] [--parallel 10] [--max-ratio 1.5]
#include <arpa/inet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "bench/at_once.h"
#include "bench/bare_chain.h"
#include "bench/cri_client.h"
#include "bench/endpoint.h"
#include "bench/ground.h"
#include "bench/series.h"

namespace plimsoll::bench {
namespace {

constexpr int kMetricsPort = 9464;
// The goal for the ratio of the own share's p50 to a bare crun run's: 12 ms on a machine where that
// takes 8.
constexpr double kGoal = 1.5;

struct Options {
  int pods = 50;
  int parallel_pods = 100;
  int parallel = 10;
  std::vector<std::string> sockets;
  std::string image = kImage;
  double max_ratio = 0;  // 0: no limit
  std::string plimsolld;
  bool keep = false;
};

// Call it before there are threads, which would stay behind.
absl::Status EnterOwnNetwork() {
  if (unshare(CLONE_NEWNET) != 0) return ErrnoStatus(errno, "make a network namespace");
  const UniqueFd handle(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = {};
  std::strncpy(request.ifr_name, "lo", sizeof(request.ifr_name) - 1);
  request.ifr_flags = IFF_UP;
  if (ioctl(handle.get(), SIOCSIFFLAGS, &request) != 0) return ErrnoStatus(errno, "bring lo up");
  return absl::OkStatus();
}

std::string NetworkIn(const FsRoot& directory) {
  return absl::StrCat(
      R"({"cniVersion": "1.0.0", "name": "bench", "disableCheck": true, "plugins": [
          {"type": "bridge", "bridge": "bench0", "isGateway": true, "ipMasq": true,
           "ipam": {"type": "host-local", "dataDir": ")",
      directory.PathOf("leases"), R"(", "ranges": [[{"subnet": "198.18.0.0/16"}]],
                    "routes": [{"dst": "0.0.0.0/0"}]}},
          {"type": "portmap", "snat": true, "capabilities": {"portMappings": true}}]})");
}

// Flags for a daemon with a network of its own, which is written into `directory`.
absl::StatusOr<std::vector<std::string>> NetworkFlags(const FsRoot& directory) {
  PLIMSOLL_RETURN_IF_ERROR(directory.MakeDirs("net.d", 0755));
  PLIMSOLL_RETURN_IF_ERROR(
      directory.ReplaceFile("net.d/10-bench.conflist", NetworkIn(directory), 0644));
  return std::vector<std::string>{absl::StrCat("--network-config-dir=", directory.PathOf("net.d")),
                                  absl::StrCat("--metrics-address=127.0.0.1:", kMetricsPort)};
}

absl::StatusOr<std::string> ReadMetrics() {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(kMetricsPort);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  constexpr absl::string_view kRequest =
      "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      send(fd.get(), kRequest.data(), kRequest.size(), MSG_NOSIGNAL) < 0) {
    return ErrnoStatus(errno, "read the daemon's metrics");
  }
  std::string answer;
  char buffer[65536];
  ssize_t n = 0;
  while ((n = recv(fd.get(), buffer, sizeof(buffer), 0)) > 0) {
    answer.append(buffer, static_cast<size_t>(n));
  }
  if (n < 0) return ErrnoStatus(errno, "read the daemon's metrics");
  return answer;
}

struct Phase {
  double seconds = 0;  // in total
  double count = 0;
};

// Phases of started pods, by name.
absl::StatusOr<std::map<std::string, Phase>> ReadPhases() {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string metrics, ReadMetrics());
  std::map<std::string, Phase> phases;
  for (absl::string_view line : absl::StrSplit(metrics, '\n')) {
    if (!absl::ConsumePrefix(&line, "plimsoll_start_phase_duration_seconds_")) continue;
    const bool is_sum = absl::ConsumePrefix(&line, "sum{phase=\"");
    if (!is_sum && !absl::ConsumePrefix(&line, "count{phase=\"")) continue;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(absl::StripSuffix(line, "\r"), absl::MaxSplits("\"} ", 1));
    Phase& phase = phases[std::string(parts.first)];
    if (!absl::SimpleAtod(parts.second, is_sum ? &phase.seconds : &phase.count)) {
      return absl::InternalError(absl::StrCat("the daemon's metrics have a line ", line));
    }
  }
  return phases;
}

// Total time of network plugins for started pods.
absl::StatusOr<absl::Duration> TimeInPlugins() {
  PLIMSOLL_ASSIGN_OR_RETURN(auto phases, ReadPhases());
  return absl::Seconds(phases["sandbox_network_plugins"].seconds);  // 0: none has run yet
}

struct Runtime {
  std::unique_ptr<CriClient> client;
  std::unique_ptr<Endpoint> endpoint;
};

Runtime MakeRuntime(const std::string& name, const std::shared_ptr<grpc::Channel>& channel,
                    const std::string& image, const std::string& logs, const FsRoot& host) {
  Runtime runtime;
  runtime.client = std::make_unique<CriClient>(channel, image, logs, kCgroupParent);
  runtime.client->GivePodsANetwork();
  runtime.endpoint = std::make_unique<Endpoint>(name, runtime.client.get(), /*daemon=*/0, host);
  return runtime;
}

// --- figures

// Many pods at once.
struct Rush {
  Rate come;
  Rate go;
};

struct Result {
  Series bare_run{"crun run, bare, host network", {}};
  Series bare_add{"network plugins by themselves, ADD", {}};
  Series bare_delete{"network plugins by themselves, DEL", {}};
  Series plugins{"  network plugins", {}};
  Series own{"  Plimsoll's own share", {}};
  std::map<std::string, Phase> phases;
  Rush bare_rush;
  std::vector<Figures> runtimes;
  std::vector<Rush> rushes;  // one per runtime

  // The own share's ratio to a bare crun run.
  double Ratio() const { return own.Quantile(0.5) / bare_run.Quantile(0.5); }
};

void PrintRow(const Series& series) {
  std::printf("  %-36s %9.2f %9.2f %9.2f\n", series.name.c_str(), series.Quantile(0.5),
              series.Quantile(0.99), series.Least());
}

void PrintRate(const std::string& name, const Rate& rate) {
  std::printf("  %-36s %9.2f %9.2f %9.2f %9.2f\n", name.c_str(), rate.each.Quantile(0.5),
              rate.each.Quantile(0.99), rate.per_second, rate.cpu_milliseconds);
}

void PrintRushes(const Result& result, const Options& options) {
  std::printf(
      "\n  %-36s %9s %9s %9s %9s   (ms, machine's CPU)\n",
      absl::StrCat(options.parallel_pods, " sandboxes, ", options.parallel, " at once").c_str(),
      "p50", "p99", "per s", "CPU each");
  PrintRate(result.bare_add.name, result.bare_rush.come);
  PrintRate(result.bare_delete.name, result.bare_rush.go);
  for (size_t i = 0; i < result.rushes.size(); ++i) {
    const Figures& figures = result.runtimes[i];
    PrintRate(absl::StrCat(figures.name, " ", figures.sandbox.name), result.rushes[i].come);
    PrintRate(absl::StrCat(figures.name, " ", figures.remove_sandbox.name), result.rushes[i].go);
  }
}

void Print(const Result& result, const Options& options) {
  std::printf("  %-36s %9s %9s %9s   (ms, %d pods)\n", "", "p50", "p99", "min", options.pods);
  PrintRow(result.bare_run);
  PrintRow(result.bare_add);
  PrintRow(result.bare_delete);
  for (const Figures& figures : result.runtimes) {
    std::printf("\n%s\n", figures.name.c_str());
    PrintRow(figures.pod);
    if (&figures == &result.runtimes.front()) {
      PrintRow(result.plugins);
      PrintRow(result.own);
      for (const auto& [name, phase] : result.phases) {
        std::printf("    %-34s %9.2f   (mean)\n", name.c_str(), 1000 * phase.seconds / phase.count);
      }
    }
    PrintRow(figures.sandbox);
    PrintRow(figures.remove_sandbox);
    std::printf("  %d pods, %d at once: %.1f pods/s, %.1f ms CPU each (machine)\n",
                options.parallel_pods, options.parallel, figures.pods_per_second,
                figures.cpu_milliseconds_per_pod);
  }
  PrintRushes(result, options);
  std::printf("\nown share (p50): %.2f ms, %.2f times a bare crun run, goal %.1f\n",
              result.own.Quantile(0.5), result.Ratio(), kGoal);
}

// --- all of it

absl::Status MeasureOne(Endpoint& own, Result* result) {
  PLIMSOLL_ASSIGN_OR_RETURN(const absl::Duration before, TimeInPlugins());
  PLIMSOLL_RETURN_IF_ERROR(own.OnePod([](const std::string&) { return absl::OkStatus(); }));
  PLIMSOLL_ASSIGN_OR_RETURN(const absl::Duration after, TimeInPlugins());
  if (after == before) return absl::InternalError("no network plugin ran for a pod");
  const double whole = own.figures().pod.milliseconds.back();
  result->plugins.Add(after - before);
  result->own.Add(absl::Milliseconds(whole) - (after - before));
  return absl::OkStatus();
}

absl::Status MeasurePlugins(const BareChain& chain, Result* result) {
  PLIMSOLL_ASSIGN_OR_RETURN(BareChain::Pod pod, BareChain::MakePod("bare"));
  const absl::Time start = absl::Now();
  const absl::Status added = chain.Add(&pod);
  const absl::Time between = absl::Now();
  PLIMSOLL_RETURN_IF_ERROR(FirstError(added, chain.Delete(pod)));
  result->bare_add.Add(between - start);
  result->bare_delete.Add(absl::Now() - between);
  return absl::OkStatus();
}

// Pods that came are removed, whatever failed.
absl::StatusOr<Rush> MeasureRush(const FsRoot& host, const Options& options,
                                 const std::function<absl::Status(size_t)>& come,
                                 const std::function<absl::Status(size_t)>& go) {
  auto came = DoAtOnce(host, options.parallel_pods, options.parallel, come);
  auto gone = DoAtOnce(host, options.parallel_pods, options.parallel, go);
  PLIMSOLL_RETURN_IF_ERROR(FirstError(came.status(), gone.status()));
  return Rush{*std::move(came), *std::move(gone)};
}

absl::StatusOr<Rush> RushOfPlugins(const FsRoot& host, const Options& options,
                                   const BareChain& chain) {
  std::vector<BareChain::Pod> pods;
  for (int i = 0; i < options.parallel_pods; ++i) {
    PLIMSOLL_ASSIGN_OR_RETURN(BareChain::Pod pod, BareChain::MakePod(absl::StrCat("bare-", i)));
    pods.push_back(std::move(pod));
  }
  return MeasureRush(
      host, options, [&](size_t i) { return chain.Add(&pods[i]); },
      [&](size_t i) { return chain.Delete(pods[i]); });
}

absl::StatusOr<Rush> RushOfSandboxes(const FsRoot& host, const Options& options,
                                     CriClient* client) {
  std::vector<std::string> ids(static_cast<size_t>(options.parallel_pods));
  const auto come = [&](size_t i) -> absl::Status {
    absl::Duration took;
    PLIMSOLL_ASSIGN_OR_RETURN(const Sandbox sandbox,
                              client->RunSandbox(absl::StrCat("rush-", i), &took));
    ids[i] = sandbox.id;
    return absl::OkStatus();
  };
  const auto go = [&](size_t i) {
    absl::Duration took;
    return ids[i].empty() ? absl::OkStatus() : client->RemoveSandbox(ids[i], &took);
  };
  return MeasureRush(host, options, come, go);
}

absl::Status MeasureAtOnce(const FsRoot& host, const Options& options, const BareChain& chain,
                           const std::vector<Runtime>& runtimes, Result* result) {
  PLIMSOLL_ASSIGN_OR_RETURN(result->bare_rush, RushOfPlugins(host, options, chain));
  for (const Runtime& runtime : runtimes) {
    Workload workload;
    workload.pods = options.parallel_pods;
    workload.parallel = options.parallel;
    PLIMSOLL_RETURN_IF_ERROR(runtime.endpoint->InParallel(workload));
    PLIMSOLL_ASSIGN_OR_RETURN(Rush rush, RushOfSandboxes(host, options, runtime.client.get()));
    result->rushes.push_back(std::move(rush));
    result->runtimes.push_back(runtime.endpoint->figures());
  }
  return absl::OkStatus();
}

absl::StatusOr<Result> Bench(const Options& options) {
  PLIMSOLL_RETURN_IF_ERROR(EnterOwnNetwork());
  PLIMSOLL_ASSIGN_OR_RETURN(const Ground ground,
                            Prepare(options.plimsolld, options.keep, NetworkFlags));
  const FsRoot& directory = ground.scratch->directory();
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  const BareChain chain(NetworkIn(directory));

  std::vector<Runtime> runtimes;
  runtimes.push_back(
      MakeRuntime("plimsolld", ground.daemon->channel(), kImage, directory.PathOf("logs"), host));
  for (const std::string& socket : options.sockets) {
    const std::string path(absl::StripPrefix(socket, "unix://"));
    runtimes.push_back(
        MakeRuntime(path, grpc::CreateChannel("unix://" + path, grpc::InsecureChannelCredentials()),
                    options.image, directory.PathOf(absl::StrCat("logs-", runtimes.size())), host));
  }
  Result result;
  for (int round = 0; round < options.pods; ++round) {
    PLIMSOLL_ASSIGN_OR_RETURN(const absl::Duration run, ground.bare->Run());
    result.bare_run.Add(run);
    PLIMSOLL_RETURN_IF_ERROR(MeasurePlugins(chain, &result));
    for (Runtime& runtime : runtimes) {
      PLIMSOLL_RETURN_IF_ERROR(
          &runtime == &runtimes.front()
              ? MeasureOne(*runtime.endpoint, &result)
              : runtime.endpoint->OnePod([](const std::string&) { return absl::OkStatus(); }));
    }
  }
  PLIMSOLL_ASSIGN_OR_RETURN(result.phases, ReadPhases());
  PLIMSOLL_RETURN_IF_ERROR(MeasureAtOnce(host, options, chain, runtimes, &result));
  return result;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Times pods with a network of their own beside their network plugins.",
               "bench_network");
  app.add_option("--pods", options.pods, "pods to start one after the other")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--parallel-pods", options.parallel_pods, "pods to start at once")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--parallel", options.parallel, "pods at a time")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--socket", options.sockets,
                 "socket of another CRI runtime to measure; may be repeated");
  app.add_option("--image", options.image,
                 "an image with busybox's commands, known to the other runtimes")
      ->capture_default_str();
  app.add_option("--max-ratio", options.max_ratio,
                 "exit with 1 if Plimsoll's own share takes more than this many times a bare "
                 "crun run (p50)");
  app.add_option("--plimsolld", options.plimsolld,
                 "the daemon to measure; default: beside this program");
  app.add_flag("--keep", options.keep, "keep the directory with the daemon's log");
  CLI11_PARSE(app, argc, argv);

  const absl::StatusOr<Result> result = Bench(options);
  if (!result.ok()) {
    std::fprintf(stderr, "bench_network: %s\n", result.status().ToString().c_str());
    return 2;
  }
  Print(*result, options);
  return options.max_ratio > 0 && result->Ratio() > options.max_ratio ? 1 : 0;
}

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  return plimsoll::bench::Main(argc, argv);
}
