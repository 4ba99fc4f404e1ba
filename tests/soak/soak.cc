#include "soak/soak.h"

#include <algorithm>
#include <cstdio>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "harness/busybox_image.h"
#include "harness/kernel.h"
#include "harness/network_node.h"
#include "soak/lister.h"
#include "soak/pod_life.h"

namespace plimsoll::testing {
namespace {

// gRPC keeps one eventfd for each of its threads that has waited, and has more threads the more
// calls come at once. No other kind may have more at the end than before.
constexpr char kWakeups[] = "anon_inode:[eventfd]";
constexpr size_t kMostWakeups = 32;
constexpr int kMostHistories = 3;

// Time for the daemon to return memory to the kernel.
constexpr absl::Duration kPause = absl::Seconds(1);

bool IsWakeup(const std::string& leftover) {
  return absl::StartsWith(leftover, "descriptor ") && absl::EndsWith(leftover, kWakeups);
}

}  // namespace

Soak::Soak(const SoakOptions& options) : options_(options), node_(options.network_config) {}

absl::Status Soak::SetUp() {
  PLIMSOLL_RETURN_IF_ERROR(node_.StartDaemon());
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot rootfs,
                            FsRoot::OpenOrCreate(node_.directory() + "/busybox", 0755));
  PLIMSOLL_RETURN_IF_ERROR(MakeBusyboxRootfs(rootfs));
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
  events_ = std::make_unique<EventWatch>(node_.runtime());
  scope_.directories = {node_.directory()};
  scope_.cgroup = node_.cgroup_parent();
  scope_.database = node_.state_directory() + "/plimsoll.db";
  scope_.holder = node_.daemon_pid();
  return absl::OkStatus();
}

absl::Status Soak::Rest() {
  absl::SleepFor(Patience(kPause));
  PLIMSOLL_ASSIGN_OR_RETURN(MemorySample sample, SampleMemory(node_.daemon_pid()));
  sample.pods = lived_;
  memory_.push_back(sample);
  return absl::OkStatus();
}

void Soak::LivePod(int number) {
  PodLife pod({&node_, &journal_, events_.get(), options_.seed, number, options_.has_network});
  pod.Live();
  ++lived_;
  if (!pod.has_faults() || histories_++ >= kMostHistories) return;
  std::printf("--- what was done to pod %d:\n%s---\n", number, pod.history().c_str());
  std::fflush(stdout);
}

void Soak::Live(int until) {
  std::vector<std::thread> threads;
  for (int i = 0; i < options_.at_once; ++i) {
    threads.emplace_back([this, until] {
      while (absl::Now() < end_) {
        int number = next_.load();
        do {
          if (number >= until) return;
        } while (!next_.compare_exchange_weak(number, number + 1));
        LivePod(number);
      }
    });
  }
  std::atomic<bool> done = false;
  std::thread lister([this, &done] {
    while (!done) {
      ListAll(node_, journal_);
      absl::SleepFor(absl::Milliseconds(200));
    }
  });
  for (std::thread& thread : threads) thread.join();
  done = true;
  lister.join();
}

void Soak::CheckNothingLeft() {
  std::vector<std::string> left;
  Eventually(
      [&] {
        left = LeftOver(before_, TakeInventory(scope_));
        const auto wakeups = std::stable_partition(
            left.begin(), left.end(), [](const std::string& each) { return !IsWakeup(each); });
        if (static_cast<size_t>(left.end() - wakeups) <= kMostWakeups) {
          left.erase(wakeups, left.end());
        }
        for (const std::string& name : Interfaces()) {
          if (std::count(interfaces_before_.begin(), interfaces_before_.end(), name) == 0) {
            left.push_back("interface " + name);
          }
        }
        return left.empty();
      },
      absl::Seconds(10));
  for (const std::string& each : left) journal_.Fault("left over: " + each);
}

// Nothing may be left for a recovery to repair.
void Soak::CheckDoctor() {
  plimsoll::v1::InspectResponse response;
  grpc::ClientContext context;
  if (const grpc::Status status = node_.node().Inspect(&context, {}, &response); !status.ok()) {
    journal_.Fault("inspect: " + status.error_message());
  }
  for (const auto& finding : response.findings()) {
    journal_.Fault("doctor finds: " + finding.ShortDebugString());
  }
  for (const std::string& trouble : response.troubles()) journal_.Fault("trouble: " + trouble);
}

void Soak::CheckEvents() {
  if (!events_->failure().empty()) journal_.Fault(events_->failure());
  if (journal_.faults() == 0) {
    for (const auto& [pod, told] : events_->Rest()) {
      journal_.Fault(absl::StrCat("events of pod ", pod, ", which was not there any more"));
    }
  }
  journal_.Count("events", events_->count());
}

absl::Status Soak::Finish() {
  CheckEvents();
  CheckNothingLeft();
  CheckDoctor();
  events_->Stop();
  PLIMSOLL_ASSIGN_OR_RETURN(const ExitStatus exit, node_.StopDaemon());
  if (!exit.success()) journal_.Fault("the daemon ended with " + exit.ToString());
  if (options_.max_growth > 0 && report().Growth() > options_.max_growth) {
    journal_.Fault(absl::StrCat("the daemon's resident memory grew by ", 100 * report().Growth(),
                                "%, may be ", 100 * options_.max_growth, "%"));
  }
  const int at_least = options_.at_least > 0 ? options_.at_least : options_.pods;
  if (lived_ < at_least) {
    journal_.Fault(absl::StrCat("only ", lived_.load(), " pods have lived in the time, at least ",
                                at_least, " should"));
  }
  return absl::OkStatus();
}

absl::Status Soak::Run() {
  // Adopts orphans, so that a machine's init that reaps slowly doesn't matter.
  PLIMSOLL_RETURN_IF_ERROR(BecomeChildSubreaper());
  PLIMSOLL_RETURN_IF_ERROR(SetUp());
  const absl::Cleanup stop = [this] { events_->Stop(); };
  start_ = absl::Now();
  end_ = start_ + options_.most;
  for (int round = 0; round < options_.rounds && journal_.faults() == 0; ++round) {
    // The first round, a tenth of all, makes everything that is made once and kept.
    const int until = round == 0 ? std::max(1, options_.pods / 10)
                                 : options_.pods * (round + 1) / options_.rounds;
    Live(until);
    if (round == 0) {
      before_ = TakeInventory(scope_);
      interfaces_before_ = Interfaces();
    }
    PLIMSOLL_RETURN_IF_ERROR(Rest());
  }
  return Finish();
}

SoakReport Soak::report() const {
  SoakReport report;
  report.seed = options_.seed;
  report.pods_asked = options_.pods;
  report.at_once = options_.at_once;
  report.has_network = options_.has_network;
  report.seconds = absl::ToDoubleSeconds(absl::Now() - start_);
  report.faults = journal_.faults();
  report.counts = journal_.counts();
  report.calls = journal_.calls();
  report.memory = memory_;
  return report;
}

std::string Soak::LogTail() const {
  constexpr size_t kMost = 6000;
  const std::string log = node_.Log();
  return log.size() > kMost ? log.substr(log.size() - kMost) : log;
}

}  // namespace plimsoll::testing
