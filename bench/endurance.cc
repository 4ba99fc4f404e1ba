// bench_endurance: a runtime under much load: lines of text into a log, open streams of events, and
// pods that come and go.
//
// Starts a plimsolld of its own in a private directory and drives it through the CRI socket; with
// --socket, another CRI runtime beside it. Where conmon is installed, the log is timed with conmon
// and crun alone, too. Host network, busybox, no seccomp filter. Removes all that it made.
//
//   bench_endurance [--log-mib 512] [--streams 1000] [--lives 2000] [--peer-lives 200]
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "bench/cri_client.h"
#include "bench/event_streams.h"
#include "bench/ground.h"
#include "bench/log_speed.h"
#include "bench/process.h"

namespace plimsoll::bench {
namespace {

constexpr double kLogGoal = 150;   // MiB/s
constexpr double kGrowthGoal = 5;  // per cent
constexpr absl::Duration kPatience = absl::Seconds(60);

struct Options {
  int log_mebibytes = 512;
  int streams = 1000;
  int lives = 2000;
  int peer_lives = 200;
  int parallel = 10;
  std::vector<std::string> sockets;
  std::string image = kImage;
  std::string plimsolld;
  std::string json;
  bool keep = false;
};

struct Runtime {
  std::string name;
  std::unique_ptr<CriClient> client;
  pid_t daemon = 0;
  int lives = 0;
};

struct StreamFigures {
  ProcessFigures before;
  ProcessFigures open;
  absl::Duration told;  // from the answer that a pod runs until the last stream has its start
};

struct LifeFigures {
  int first = 0;  // lives before the first look at the daemon
  ProcessFigures early;
  ProcessFigures late;
  double Growth() const {
    const auto base = static_cast<double>(early.resident_kib);
    return 100 * (static_cast<double>(late.resident_kib) - base) / base;
  }
};

// A measurement that failed has the reason.
struct Figures {
  std::string name;
  int lives = 0;
  absl::StatusOr<LogSpeed> log = absl::UnknownError("not measured");
  absl::StatusOr<StreamFigures> streams = absl::UnknownError("not measured");
  absl::StatusOr<LifeFigures> life = absl::UnknownError("not measured");
};

// --- streams of events

absl::StatusOr<StreamFigures> MeasureStreams(Runtime& runtime, const FsRoot& host, int count) {
  StreamFigures figures;
  PLIMSOLL_ASSIGN_OR_RETURN(figures.before, ReadProcess(host, runtime.daemon));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<EventStreams> streams,
                            EventStreams::Open(runtime.client->stub(), count, kPatience));
  PLIMSOLL_ASSIGN_OR_RETURN(figures.open, ReadProcess(host, runtime.daemon));
  absl::Duration ignored;
  PLIMSOLL_ASSIGN_OR_RETURN(const Sandbox pod,
                            runtime.client->RunSandbox("bench-events", &ignored));
  const absl::Time answered = absl::Now();
  const absl::Status told = streams->AwaitStart(pod.id, kPatience);
  figures.told = absl::Now() - answered;
  PLIMSOLL_RETURN_IF_ERROR(FirstError(told, runtime.client->RemoveSandbox(pod.id, &ignored)));
  return figures;
}

// --- pods that come and go

absl::Status LiveOnce(CriClient& client, const std::string& name) {
  constexpr cri::SecurityProfile::ProfileType kSeccomp = cri::SecurityProfile::Unconfined;
  absl::Duration ignored;
  PLIMSOLL_ASSIGN_OR_RETURN(const Sandbox pod, client.RunSandbox(name, &ignored));
  const auto life = [&]() -> absl::Status {
    PLIMSOLL_ASSIGN_OR_RETURN(
        const std::string container,
        client.Create(pod, "main", {"/bin/sleep", "3600"}, kSeccomp, &ignored));
    PLIMSOLL_RETURN_IF_ERROR(client.Start(container, &ignored));
    PLIMSOLL_RETURN_IF_ERROR(client.Exec(container, {"/bin/true"}, &ignored));
    PLIMSOLL_RETURN_IF_ERROR(client.StopContainer(container, &ignored));
    return client.RemoveContainer(container, &ignored);
  };
  const absl::Status lived = life();
  return FirstError(lived, client.RemoveSandbox(pod.id, &ignored));
}

absl::Status Live(CriClient& client, int from, int to, int parallel) {
  std::atomic<int> next = from;
  std::atomic<bool> failed = false;
  std::mutex mutex;
  absl::Status failure;
  std::vector<std::thread> threads;
  for (int i = 0; i < parallel; ++i) {
    threads.emplace_back([&] {
      for (int mine = next++; mine < to && !failed; mine = next++) {
        const absl::Status status = LiveOnce(client, absl::StrCat("bench-life-", mine));
        if (status.ok()) continue;
        failed = true;
        const std::lock_guard<std::mutex> lock(mutex);
        failure = FirstError(failure, status);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failure;
}

// Reads after a pause, in which a runtime may give memory back to the kernel.
absl::StatusOr<ProcessFigures> ReadAtRest(const FsRoot& host, pid_t process) {
  absl::SleepFor(absl::Seconds(1));
  return ReadProcess(host, process);
}

absl::StatusOr<LifeFigures> MeasureLives(Runtime& runtime, const FsRoot& host, int parallel) {
  LifeFigures figures;
  figures.first = std::max(1, runtime.lives / 10);
  PLIMSOLL_RETURN_IF_ERROR(Live(*runtime.client, 0, figures.first, parallel));
  PLIMSOLL_ASSIGN_OR_RETURN(figures.early, ReadAtRest(host, runtime.daemon));
  PLIMSOLL_RETURN_IF_ERROR(Live(*runtime.client, figures.first, runtime.lives, parallel));
  PLIMSOLL_ASSIGN_OR_RETURN(figures.late, ReadAtRest(host, runtime.daemon));
  return figures;
}

// --- figures

double Mebibytes(int64_t kib) {
  return static_cast<double>(kib) / 1024;
}

void PrintLog(const std::string& name, const absl::StatusOr<LogSpeed>& log) {
  if (!log.ok()) {
    std::printf("  %-22s not measured: %s\n", name.c_str(), log.status().ToString().c_str());
    return;
  }
  std::printf("  %-22s %.0f MiB/s of text, %lld lines, none lost\n", name.c_str(),
              log->mebibytes_per_second, static_cast<long long>(log->lines));
}

void PrintStreams(const absl::StatusOr<StreamFigures>& streams, int count) {
  if (!streams.ok()) {
    std::printf("  streams of events      not measured: %s\n", streams.status().ToString().c_str());
    return;
  }
  const int64_t more = streams->open.resident_kib - streams->before.resident_kib;
  std::printf(
      "  %d streams of events: %lld threads, %lld before; %.1f KiB resident each; the last has it "
      "%.1f ms after the answer\n",
      count, static_cast<long long>(streams->open.threads),
      static_cast<long long>(streams->before.threads), static_cast<double>(more) / count,
      absl::ToDoubleMilliseconds(streams->told));
}

void PrintLives(const absl::StatusOr<LifeFigures>& life, int lives) {
  if (!life.ok()) {
    std::printf("  pods' lives            not measured: %s\n", life.status().ToString().c_str());
    return;
  }
  std::printf(
      "  %d pods' lives: %.1f MiB resident after %d, %.1f at the end (%+.1f%%); private %.1f, "
      "%.1f\n",
      lives, Mebibytes(life->early.resident_kib), life->first, Mebibytes(life->late.resident_kib),
      life->Growth(), Mebibytes(life->early.private_kib), Mebibytes(life->late.private_kib));
}

void Print(const std::vector<Figures>& all, const absl::StatusOr<LogSpeed>& conmon,
           const Options& options) {
  for (const Figures& figures : all) {
    std::printf("%s\n", figures.name.c_str());
    PrintLog("log", figures.log);
    PrintStreams(figures.streams, options.streams);
    PrintLives(figures.life, figures.lives);
  }
  PrintLog("conmon and crun alone", conmon);
  std::printf("\ngoals: log %.0f MiB/s, and conmon's; no thread for a stream; growth %.0f%%\n",
              kLogGoal, kGrowthGoal);
}

nlohmann::json Json(const ProcessFigures& figures) {
  return {{"resident_kib", figures.resident_kib},
          {"pss_kib", figures.pss_kib},
          {"private_kib", figures.private_kib},
          {"threads", figures.threads}};
}

nlohmann::json Json(const absl::StatusOr<LogSpeed>& log) {
  if (!log.ok()) return nullptr;
  return {{"mib_per_second", log->mebibytes_per_second}, {"lines", log->lines}};
}

nlohmann::json Json(const Figures& figures) {
  nlohmann::json json = {{"name", figures.name}, {"log", Json(figures.log)}};
  if (figures.streams.ok()) {
    json["streams"] = {{"before", Json(figures.streams->before)},
                       {"open", Json(figures.streams->open)},
                       {"told_ms", absl::ToDoubleMilliseconds(figures.streams->told)}};
  }
  if (figures.life.ok()) {
    json["lives"] = {{"count", figures.lives},
                     {"first", figures.life->first},
                     {"early", Json(figures.life->early)},
                     {"late", Json(figures.life->late)},
                     {"growth_percent", figures.life->Growth()}};
  }
  return json;
}

absl::Status WriteJson(const std::string& path, const std::vector<Figures>& all,
                       const absl::StatusOr<LogSpeed>& conmon) {
  nlohmann::json json = {{"conmon", {{"log", Json(conmon)}}},
                         {"runtimes", nlohmann::json::array()}};
  for (const Figures& figures : all) json["runtimes"].push_back(Json(figures));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot here, FsRoot::Open(path.front() == '/' ? "/" : "."));
  return here.ReplaceFile(path, json.dump(1) + "\n", 0644);
}

// --- all of it

absl::StatusOr<std::vector<Runtime>> Runtimes(const Options& options, const Ground& ground) {
  const FsRoot& directory = ground.scratch->directory();
  std::vector<Runtime> runtimes;
  runtimes.push_back({"plimsolld",
                      std::make_unique<CriClient>(ground.daemon->channel(), kImage,
                                                  directory.PathOf("logs"), kCgroupParent),
                      ground.daemon->pid(), options.lives});
  for (const std::string& socket : options.sockets) {
    const std::string path(absl::StripPrefix(socket, "unix://"));
    PLIMSOLL_ASSIGN_OR_RETURN(const pid_t server, ServerOf(path));
    const auto channel = grpc::CreateChannel("unix://" + path, grpc::InsecureChannelCredentials());
    const std::string logs = directory.PathOf(absl::StrCat("logs-", runtimes.size()));
    runtimes.push_back({path,
                        std::make_unique<CriClient>(channel, options.image, logs, kCgroupParent),
                        server, options.peer_lives});
  }
  return runtimes;
}

// The exit code: whether all of Plimsoll's own measurements succeeded.
absl::StatusOr<int> Bench(const Options& options) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Ground ground, Prepare(options.plimsolld, options.keep));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<Runtime> runtimes, Runtimes(options, ground));
  std::vector<Figures> all;
  for (Runtime& runtime : runtimes) {
    Figures figures;
    figures.name = runtime.name;
    figures.lives = runtime.lives;
    figures.life = MeasureLives(runtime, host, options.parallel);
    figures.streams = MeasureStreams(runtime, host, options.streams);
    figures.log = MeasureLog(*runtime.client, "bench-log", options.log_mebibytes);
    all.push_back(std::move(figures));
  }
  const absl::StatusOr<LogSpeed> conmon =
      MeasureConmonLog(*ground.bare, ground.scratch->directory(), options.log_mebibytes);
  Print(all, conmon, options);
  if (!options.json.empty()) PLIMSOLL_RETURN_IF_ERROR(WriteJson(options.json, all, conmon));
  const Figures& own = all.front();
  return own.log.ok() && own.streams.ok() && own.life.ok() ? 0 : 1;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Measures logs, streams of events and memory of a node's runtime.",
               "bench_endurance");
  app.add_option("--log-mib", options.log_mebibytes, "MiB of text for a container to write")
      ->check(CLI::Range(16, 65536))
      ->capture_default_str();
  app.add_option("--streams", options.streams, "streams of events to hold open")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--lives", options.lives, "pods to start and remove")
      ->check(CLI::Range(10, 1'000'000))
      ->capture_default_str();
  app.add_option("--peer-lives", options.peer_lives, "pods to start and remove on another runtime")
      ->check(CLI::Range(10, 1'000'000))
      ->capture_default_str();
  app.add_option("--parallel", options.parallel, "pods at a time")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--socket", options.sockets,
                 "socket of another CRI runtime to measure; may be repeated");
  app.add_option("--image", options.image,
                 "an image with busybox's commands, known to the other runtimes")
      ->capture_default_str();
  app.add_option("--plimsolld", options.plimsolld, "the daemon; default: beside this program");
  app.add_option("--json", options.json, "write all figures to this file");
  app.add_flag("--keep", options.keep, "keep the directory with the daemon's log");
  CLI11_PARSE(app, argc, argv);
  const absl::StatusOr<int> result = Bench(options);
  if (result.ok()) return *result;
  std::fprintf(stderr, "bench_endurance: %s\n", result.status().ToString().c_str());
  return 2;
}

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  return plimsoll::bench::Main(argc, argv);
}
