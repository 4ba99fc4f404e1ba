// bench_start: the start of a pod, timed beside a bare `crun run` of the same container.
//
// One round times a bare `crun run` (from exec to its exit) and a one-container pod through the CRI
// socket (RunPodSandbox + CreateContainer + StartContainer, each until its answer is there), one
// after the other, so that other load on the machine hits both. Host network, busybox `true`; with
// and without the default seccomp profile. Nothing else is timed: stopping and removing the pod
// comes between rounds. It runs a plimsolld of its own in a private directory and removes it.
//
// Each measurement begins after a rest, in which the kernel forgets the one before. The first
// process that enters a cgroup after a pause waits for an RCU grace period; a start a few
// milliseconds after another would escape that wait, by chance.
//
//   bench_start [--rounds 50] [--rest 100] [--max-ratio 1.4] [-o json]

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "bench/cri_client.h"
#include "bench/ground.h"
#include "bench/series.h"

namespace plimsoll::bench {
namespace {

struct Options {
  int rounds = 50;
  int rest_ms = 100;
  double max_ratio = 0;  // 0: no limit
  std::string output = "table";
  std::string plimsolld;  // empty: beside this program
  bool keep = false;      // the directory with the daemon's log
};

struct PodTimes {
  absl::Duration sandbox, create, start;
  absl::Duration total() const { return sandbox + create + start; }
};

class Pods {
 public:
  explicit Pods(CriClient* client) : client_(client) {}

  // Starts a pod, times it, removes it.
  absl::StatusOr<PodTimes> Run(cri::SecurityProfile::ProfileType seccomp) {
    PodTimes times;
    PLIMSOLL_ASSIGN_OR_RETURN(
        const Sandbox sandbox,
        client_->RunSandbox(absl::StrCat("bench-", ++number_), &times.sandbox));
    const auto start = [&]() -> absl::Status {
      PLIMSOLL_ASSIGN_OR_RETURN(
          const std::string container,
          client_->Create(sandbox, "true", {"/bin/true"}, seccomp, &times.create));
      return client_->Start(container, &times.start);
    };
    const absl::Status started = start();
    absl::Duration removal;
    PLIMSOLL_RETURN_IF_ERROR(FirstError(started, client_->RemoveSandbox(sandbox.id, &removal)));
    return times;
  }

 private:
  CriClient* client_;
  int number_ = 0;
};

// --- figures

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
                series->Quantile(0.9), series->Least());
  }
  std::printf("\nratio of pod to bare crun run (p50): %.2f", result.Ratio());
  if (options.max_ratio > 0) std::printf(", may be %.2f", options.max_ratio);
  std::printf("\n");
}

void PrintJson(const Result& result, const Options& options) {
  nlohmann::json json = {
      {"rounds", options.rounds}, {"rest_ms", options.rest_ms}, {"ratio", result.Ratio()}};
  if (options.max_ratio > 0) json["max_ratio"] = options.max_ratio;
  const std::pair<const char*, const Series*> named[] = {
      {"bare", &result.bare},     {"pod", &result.pod},     {"sandbox", &result.sandbox},
      {"create", &result.create}, {"start", &result.start}, {"pod_seccomp", &result.seccomp}};
  for (const auto& [name, series] : named) {
    json["milliseconds"][name] = {{"p50", series->Quantile(0.5)},
                                  {"p90", series->Quantile(0.9)},
                                  {"min", series->Least()},
                                  {"all", series->milliseconds}};
  }
  std::printf("%s\n", json.dump(1).c_str());
}

// --- all of it

absl::StatusOr<Result> Measure(BareRunner& bare, Pods& pods, const Options& options) {
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
  for (int round = -kWarmUp; round < options.rounds; ++round) {
    // All orders equally often, should a rest not be enough.
    constexpr int kOrders[6][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0},
                                   {0, 2, 1}, {2, 0, 1}, {1, 0, 2}};
    for (const int which : kOrders[(round + kWarmUp) % 6]) {
      absl::SleepFor(absl::Milliseconds(options.rest_ms));
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

absl::StatusOr<Result> Bench(const Options& options) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Ground ground, Prepare(options.plimsolld, options.keep));
  CriClient client(ground.daemon->channel(), kImage, ground.scratch->directory().PathOf("logs"),
                   kCgroupParent);
  Pods pods(&client);
  return Measure(*ground.bare, pods, options);
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Times the start of a one-container pod beside a bare crun run.", "bench_start");
  app.add_option("--rounds", options.rounds, "measurements of each kind")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--rest", options.rest_ms, "pause before each measurement, in milliseconds")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str();
  app.add_option(
      "--max-ratio", options.max_ratio,
      "exit with 1 if a pod's start takes more than this many times a bare crun run (p50)");
  app.add_option("-o,--output", options.output, "format of the figures: table or json")
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
