// Kills plimsolld and monitors at random instants of a busy node, stops monitors (SIGSTOP) that
// later go on or are killed, and checks after each restart that everything is in order.
//
//   kill_test --kills 200 --monitors 50 --seed 1
//
// The seed decides the calls and the times of the kills; the machine decides how far the daemon has
// got by then. So a seed reproduces a fault with good odds, not with certainty.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "harness/busybox_image.h"
#include "harness/kernel.h"
#include "kill/actor.h"
#include "kill/event_story.h"
#include "linux/process.h"
#include "soak/event_watch.h"

namespace plimsoll::testing {
namespace {

// A recovery waits only for the end of processes that it has killed. (In an emulated machine that
// time depends more on the host.)
constexpr absl::Duration kSlowStart = absl::Seconds(5);

struct Options {
  uint64_t seed = 0;
  int kills = 12;
  int monitors = 3;
  int actors = 4;
  int max_delay_ms = 250;
  bool keep = false;
  bool verbose = false;
};

class KillTest {
 public:
  explicit KillTest(const Options& options) : options_(options), random_(options.seed) {}

  absl::Status Run();
  int problems() const { return problems_.count(); }

 private:
  absl::Status SetUp();
  absl::Status Round();
  absl::Status Restart();
  absl::Status Verify();
  absl::Status Finish();
  void KillDaemon();
  // A monitor that may be killed or stopped, by a pidfd that surely is its own.
  struct Victim {
    Actor* actor = nullptr;
    std::string container;
    UniqueFd monitor;
  };
  std::optional<Victim> PickVictim();
  void KillMonitor();
  void StopMonitor();
  // Stopped monitors go on or are killed; some stay for later, unless `all`.
  void ReleaseMonitors(bool all);
  void CheckLeftovers(Known known);
  void ForgetEnded(Known* known);
  void CheckForeign();
  void CheckDoctor();
  void CheckLastEvents();
  uint64_t Random(uint64_t below) { return random_() % below; }

  const Options options_;
  std::mt19937_64 random_;
  Problems problems_;
  Node node_;
  Places places_;
  std::atomic<bool> killed_ = false;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::optional<Child> foreign_;
  EventStory story_{&problems_};
  std::optional<EventWatch> watch_;        // of the living daemon
  std::map<std::string, ToldOfPod> told_;  // by the last killed daemon, if it served
  int kills_ = 0;
  int monitors_ = 0;
  std::vector<Victim> stopped_;
  int stops_ = 0;
  absl::Duration slowest_start_ = absl::ZeroDuration();
};

absl::Status KillTest::SetUp() {
  places_.directory = node_.directory();
  places_.cgroup_parent = node_.cgroup_parent();
  places_.pods_parent = node_.cgroup_parent() + "-pods";
  places_.foreign = node_.cgroup_parent() + "/foreign";
  PLIMSOLL_RETURN_IF_ERROR(node_.StartDaemon());
  watch_.emplace(node_.runtime());
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot rootfs,
                            FsRoot::OpenOrCreate(node_.directory() + "/busybox", 0755));
  PLIMSOLL_RETURN_IF_ERROR(MakeBusyboxRootfs(rootfs));
  PLIMSOLL_RETURN_IF_ERROR(Host().MakeDirs(node_.directory() + "/marks", 0777));
  plimsoll::v1::ImportImageRequest request;
  request.set_path(rootfs.path());
  request.set_reference("busybox");
  grpc::ClientContext context;
  const auto reader = node_.node().ImportImage(&context, request);
  plimsoll::v1::ImageProgress progress;
  while (reader->Read(&progress)) {
  }
  if (const grpc::Status status = reader->Finish(); !status.ok()) {
    return absl::InternalError("import: " + status.error_message());
  }
  for (int i = 0; i < options_.actors; ++i) {
    ActorOptions actor;
    actor.node = &node_;
    actor.problems = &problems_;
    actor.killed = &killed_;
    actor.number = i;
    actor.seed = options_.seed;
    actor.marks = node_.directory() + "/marks";
    actor.pods_parent = places_.pods_parent;
    // A layer of its own, so that an import has something to unpack.
    actor.rootfs = absl::StrCat(node_.directory(), "/rootfs", i);
    PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot own, FsRoot::OpenOrCreate(actor.rootfs, 0755));
    PLIMSOLL_RETURN_IF_ERROR(MakeBusyboxRootfs(own));
    PLIMSOLL_RETURN_IF_ERROR(own.ReplaceFile("etc/name", absl::StrCat(i), 0644));
    actors_.push_back(std::make_unique<Actor>(actor));
  }
  // Another owner's object, among the daemon's own.
  PLIMSOLL_RETURN_IF_ERROR(Cgroups().Create(places_.foreign).status());
  PLIMSOLL_ASSIGN_OR_RETURN(foreign_, Spawn({.argv = {"/bin/sleep", "100000"}}));
  return Cgroups().AddProcess(places_.foreign, foreign_->pid());
}

void KillTest::KillDaemon() {
  killed_ = true;
  node_.KillDaemon();
  ++kills_;
  if (!watch_.has_value()) return;  // it didn't serve yet
  watch_->Stop();
  told_ = watch_->Rest();
  watch_.reset();
}

std::optional<KillTest::Victim> KillTest::PickVictim() {
  const uint64_t first = Random(actors_.size());
  for (size_t i = 0; i < actors_.size(); ++i) {
    Actor& actor = *actors_[(first + i) % actors_.size()];
    const std::string container = actor.PickVictim();
    const pid_t pid = container.empty() ? 0 : MonitorOf(container);
    if (pid == 0) continue;
    absl::StatusOr<UniqueFd> monitor = linux::OpenPidfd(pid);
    if (monitor.ok() && MonitorOf(container) == pid) {
      return Victim{&actor, container, *std::move(monitor)};
    }
  }
  return std::nullopt;
}

void KillTest::KillMonitor() {
  const std::optional<Victim> victim = PickVictim();
  if (!victim.has_value()) return;
  victim->actor->VictimIsKilled(victim->container);
  linux::SignalProcess(victim->monitor, SIGKILL).IgnoreError();
  ++monitors_;
}

void KillTest::StopMonitor() {
  std::optional<Victim> victim = PickVictim();
  if (!victim.has_value()) return;
  victim->actor->VictimIsStopped(victim->container, true);
  linux::SignalProcess(victim->monitor, SIGSTOP).IgnoreError();
  stopped_.push_back(*std::move(victim));
  ++stops_;
}

void KillTest::ReleaseMonitors(bool all) {
  std::vector<Victim> later;
  for (Victim& each : stopped_) {
    if (!all && Random(2) == 0) {
      later.push_back(std::move(each));
      continue;
    }
    const bool killed = Random(3) == 0;
    if (killed) each.actor->VictimIsKilled(each.container);
    linux::SignalProcess(each.monitor, killed ? SIGKILL : SIGCONT).IgnoreError();
    each.actor->VictimIsStopped(each.container, false);
  }
  stopped_ = std::move(later);
}

// Some recoveries are cut short as well.
absl::Status KillTest::Restart() {
  while (kills_ < options_.kills && Random(5) == 0) {
    PLIMSOLL_RETURN_IF_ERROR(node_.SpawnDaemon());
    absl::SleepFor(absl::Milliseconds(static_cast<int64_t>(Random(120))));
    KillDaemon();
  }
  const absl::Time start = absl::Now();
  PLIMSOLL_RETURN_IF_ERROR(node_.StartDaemon());
  const absl::Duration took = absl::Now() - start;
  watch_.emplace(node_.runtime());
  slowest_start_ = std::max(slowest_start_, took);
  if (took > Patience(kSlowStart) && !IsEmulated())
    problems_.Add(absl::StrCat("a start took ", absl::FormatDuration(took)));
  killed_ = false;
  return absl::OkStatus();
}

absl::Status KillTest::Round() {
  const absl::Duration delay = absl::Milliseconds(
      static_cast<int64_t>(Random(static_cast<uint64_t>(options_.max_delay_ms))));
  std::vector<std::thread> threads;
  for (const auto& actor : actors_) threads.emplace_back([&actor] { actor->Work(); });
  // Odds that spread the remaining monitors over the remaining kills.
  const int left = options_.kills - kills_;
  const bool monitor =
      monitors_ < options_.monitors && Random(static_cast<uint64_t>(std::max(left, 1))) <
                                           static_cast<uint64_t>(options_.monitors - monitors_);
  const bool monitor_first = Random(2) == 0;
  const bool stops = Random(4) != 0;
  absl::SleepFor(delay / 4);
  if (stops) StopMonitor();
  absl::SleepFor(delay / 4);
  if (stops && stopped_.empty()) StopMonitor();
  if (monitor && monitor_first) KillMonitor();
  absl::SleepFor(delay / 2);
  if (stops && stopped_.empty()) StopMonitor();
  KillDaemon();
  for (std::thread& thread : threads) thread.join();
  if (monitor && !monitor_first) KillMonitor();
  ReleaseMonitors(/*all=*/false);
  for (const auto& actor : actors_) actor->ActWithoutDaemon();
  PLIMSOLL_RETURN_IF_ERROR(Restart());
  ReleaseMonitors(/*all=*/true);
  return Verify();
}

absl::Status KillTest::Verify() {
  PLIMSOLL_ASSIGN_OR_RETURN(const Observed observed, Observe(node_, problems_));
  story_.EndLife(told_, observed);
  for (const auto& actor : actors_) actor->Verify(observed);
  Known known;
  for (const auto& actor : actors_) actor->AddKnown(&known);
  for (const auto& [name, pod] : observed.pods) {
    if (!known.pods.contains(pod.id())) problems_.Add("nobody's pod: " + name);
  }
  CheckLeftovers(known);
  CheckForeign();
  CheckDoctor();
  return absl::OkStatus();
}

// Ended processes may still be exiting, and processes observed running may end now.
void KillTest::CheckLeftovers(Known known) {
  std::vector<std::string> found;
  const auto none_is_left = [&] {
    found = Leftovers(places_, known);
    if (!found.empty()) ForgetEnded(&known);
    return found.empty();
  };
  if (Eventually(none_is_left, absl::Seconds(3))) return;
  for (const std::string& each : found) problems_.Add("left over: " + each);
}

void KillTest::ForgetEnded(Known* known) {
  const auto observed = Observe(node_, problems_);
  if (!observed.ok()) return;
  for (const auto& [name, container] : observed->containers) {
    if (container.state() == cri::CONTAINER_EXITED) known->live_containers.erase(container.id());
  }
}

void KillTest::CheckForeign() {
  const auto processes = Cgroups().Processes(places_.foreign, false);
  if (!processes.ok() || *processes != std::vector<pid_t>{foreign_->pid()}) {
    problems_.Add("what belongs to somebody else was touched");
  }
}

// After a recovery nothing may be left for it to do, nor to fail at.
void KillTest::CheckDoctor() {
  plimsoll::v1::InspectResponse response;
  grpc::ClientContext context;
  if (const grpc::Status status = node_.node().Inspect(&context, {}, &response); !status.ok()) {
    problems_.Add("inspect: " + status.error_message());
  }
  for (const auto& finding : response.findings()) {
    problems_.Add("doctor finds: " + finding.ShortDebugString());
  }
  for (const std::string& trouble : response.troubles()) problems_.Add("trouble: " + trouble);
}

// An event comes a moment after its cause.
void KillTest::CheckLastEvents() {
  for (const std::string& pod : story_.pods()) {
    if (!watch_->AwaitRemoval(pod, Patience(absl::Seconds(10)))) break;
  }
  if (const std::string failure = watch_->failure(); !failure.empty()) problems_.Add(failure);
  watch_->Stop();
  story_.EndAll(watch_->Rest());
}

absl::Status KillTest::Finish() {
  for (const auto& actor : actors_) actor->Finish();
  CheckLastEvents();
  cri::RemoveImageRequest request;
  request.mutable_image()->set_image("busybox");
  cri::RemoveImageResponse response;
  grpc::ClientContext context;
  node_.images().RemoveImage(&context, request, &response).ok();
  CheckLeftovers({});
  CheckForeign();
  // The number of monitors at the right moment depends on the machine, so a few less are no fault;
  // with many less the test has lost its point.
  if (2 * monitors_ < options_.monitors) {
    problems_.Add(absl::StrCat("only ", monitors_, " of ", options_.monitors,
                               " monitors were killed: the others were not found"));
  }
  if (stops_ == 0 && kills_ >= 10) problems_.Add("no monitor was stopped: none was found");
  PLIMSOLL_ASSIGN_OR_RETURN(const ExitStatus exit, node_.StopDaemon());
  if (!exit.success()) problems_.Add("the daemon ended with " + exit.ToString());
  for (const std::string& row : Rows(node_.state_directory()))
    problems_.Add("left over: row " + row);
  for (const char* part : {"layers", "blobs/sha256", "work"}) {
    const auto names = Host().List(absl::StrCat(node_.state_directory(), "/images/", part));
    for (const std::string& name : names.value_or(std::vector<std::string>())) {
      problems_.Add(absl::StrCat("left over: images/", part, "/", name));
    }
  }
  return absl::OkStatus();
}

absl::Status KillTest::Run() {
  // Adopts orphans, so that a machine's init that reaps slowly doesn't matter.
  PLIMSOLL_RETURN_IF_ERROR(BecomeChildSubreaper());
  absl::Cleanup clean = [this] {
    ReleaseMonitors(/*all=*/true);
    if (foreign_) foreign_->Signal(SIGKILL).IgnoreError();
    for (const std::string& group : {places_.foreign, places_.pods_parent}) {
      if (group.empty()) continue;
      Cgroups().KillAll(group, absl::Now() + absl::Seconds(10)).IgnoreError();
      Cgroups().Remove(group).IgnoreError();
    }
  };
  PLIMSOLL_RETURN_IF_ERROR(SetUp());
  const absl::Time start = absl::Now();
  int rounds = 0;
  absl::Status status;
  // A round may find no monitor to kill; extra rounds make up for it.
  const auto goes_on = [this] {
    return kills_ < options_.kills ||
           (monitors_ < options_.monitors && kills_ < 2 * options_.kills);
  };
  while (status.ok() && problems() == 0 && goes_on()) {
    problems_.set_round(++rounds);
    if (options_.verbose) std::printf("round %d\n", rounds);
    status = Round();
    if (problems() > 0 || !status.ok()) {
      for (const auto& actor : actors_) std::fputs(actor->history().c_str(), stdout);
    }
  }
  if (status.ok() && problems() == 0) status = Finish();
  int calls = 0;
  for (const auto& actor : actors_) calls += actor->calls();
  std::printf(
      "%d kills of the daemon, %d of monitors (of %d), %d monitors stopped, %d rounds, %d calls, "
      "%.0f s; slowest start %.0f ms\n",
      kills_, monitors_, options_.monitors, stops_, rounds, calls,
      absl::ToDoubleSeconds(absl::Now() - start), absl::ToDoubleMilliseconds(slowest_start_));
  if (problems() > 0 || !status.ok()) {
    std::string log = node_.Log();
    if (log.size() > 6000) log.erase(0, log.size() - 6000);
    std::printf("--- the daemon's log:\n%s---\n", log.c_str());
    if (options_.keep) {
      std::printf("kept as it is: %s; end this with Ctrl-C\n", node_.directory().c_str());
      std::fflush(stdout);
      pause();
    }
  }
  return status;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Kills plimsolld and its monitors at random instants of a busy node.");
  app.add_option("--seed", options.seed, "Seed of the random operations; 0: a random one");
  app.add_option("--kills", options.kills, "Kills of the daemon");
  app.add_option("--monitors", options.monitors, "Kills of monitors");
  app.add_option("--actors", options.actors, "Clients at the same time");
  app.add_option("--max-delay", options.max_delay_ms, "Longest life of a daemon in milliseconds");
  app.add_flag("--keep", options.keep, "After a fault, wait and keep everything as it is");
  app.add_flag("--verbose", options.verbose, "Print each round");
  CLI11_PARSE(app, argc, argv);
  if (geteuid() != 0) {
    std::puts("skipped: containers need root");
    return 77;
  }
  if (options.seed == 0) options.seed = std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
  std::fflush(stdout);
  KillTest test(options);
  const absl::Status status = test.Run();
  if (!status.ok()) std::printf("FAULT: %s\n", std::string(status.message()).c_str());
  const bool good = status.ok() && test.problems() == 0;
  if (!good) {
    std::printf("again: kill_test --seed %llu --kills %d --monitors %d\n",
                static_cast<unsigned long long>(options.seed), options.kills, options.monitors);
  }
  std::puts(good ? "all as it must be" : "FAILED");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace plimsoll::testing

int main(int argc, char** argv) {
  testing::InitGoogleTest();  // the harness expects it
  return plimsoll::testing::Main(argc, argv);
}
