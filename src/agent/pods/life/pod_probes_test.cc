#include "agent/pods/life/pod_probes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "agent/probes/prober.h"
#include "base/dir_for_test.h"
#include "base/wait_until_for_test.h"
#include "pod_runner/pod_files/dir.h"

namespace plimsoll::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One pod with one container, "web", whose probes' command a test decides. The runtime doesn't
// answer.
class PodProbesTest : public testing::Test {
 protected:
  void SetUp() override {
    auto root = FsRoot::Open("/");
    auto client = pod::Client::Open({.address = "unix://" + dir_.path() + "/no.sock"});
    auto store = PodStore::Open(dir_.root());
    ASSERT_TRUE(root.ok() && client.ok() && store.ok());
    root_ = std::make_unique<FsRoot>(*std::move(root));
    client_ = *std::move(client);
    store_ = *std::move(store);
    ASSERT_TRUE(root_->MakeDirs(pod::PodDirPath(dir_.path(), "u")).ok());
    host_ = std::make_unique<PodHost>(PodHost{.client = *client_,
                                              .root = *root_,
                                              .clock = Clock::Real(),
                                              .events = events_,
                                              .board = board_,
                                              .store = *store_,
                                              .node = {"node", "10.0.0.9"},
                                              .state_directory = dir_.path()});
    record_.uid = "u";
    record_.key = {"default", "p"};
    observed_.sandboxes = {{.id = "s", .ready = true}};
    observed_.containers = {{.id = "web0",
                             .name = "web",
                             .sandbox_id = "s",
                             .state = ObservedState::kRunning,
                             .started = absl::Now()}};
  }
  // A pod, and an agent's probes of it, with nothing of those before but files.
  void Begin(const std::string& probes, const std::string& spec = "") {
    probes_.reset();
    prober_.reset();
    const auto pods = pod::ParseManifests(
        absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {", spec,
                     "containers: [{name: web, image: i, ", probes, "}]}}"),
        "p");
    ASSERT_TRUE(pods.ok()) << pods.status();
    manifest_ = pods->front();
    prober_ = std::make_unique<Prober>(Prober::Options{
        .command = [this](const auto&, const auto&, int64_t) -> absl::StatusOr<ProbeCommandEnd> {
          return ProbeCommandEnd{.exit_code = succeeds_ ? 0 : 1, .output = "words"};
        },
        .wake = [](const std::string&) {},
        .tell =
            [this](const ProbeEvent& event) {
              const absl::MutexLock lock(&mutex_);
              absl::StrAppend(&told_, event.message, "\n");
            }});
    host_->prober = prober_.get();
    probes_ = std::make_unique<PodProbes>(*host_, manifest_);
  }
  ContainerHealth Look() {
    probes_->Look(record_, observed_, /*has_ended=*/false);
    const auto it = probes_->health().find("web0");
    return it == probes_->health().end() ? ContainerHealth() : it->second;
  }
  std::string told() {
    const absl::MutexLock lock(&mutex_);
    return told_;
  }

  TestDir dir_;
  std::unique_ptr<FsRoot> root_;
  std::unique_ptr<pod::Client> client_;
  std::unique_ptr<PodStore> store_;
  KubeEventLog events_{Clock::Real(), "node"};
  PodBoard board_;
  std::unique_ptr<PodHost> host_;
  PodRecord record_;
  ObservedPod observed_;
  pod::Manifest manifest_;
  std::atomic<bool> succeeds_ = true;
  absl::Mutex mutex_;
  std::string told_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Prober> prober_;
  std::unique_ptr<PodProbes> probes_;
};

TEST_F(PodProbesTest, TheNextAgentKnowsWhichContainersHaveStarted) {
  const std::string probes = "startupProbe: {exec: {command: [a]}, periodSeconds: 1}";
  Begin(probes);
  EXPECT_FALSE(Look().started);
  EXPECT_FALSE(probes_->HasStarted(observed_.containers[0]));
  ASSERT_TRUE(WaitUntil([&] { return Look().started; }));
  EXPECT_TRUE(probes_->HasStarted(observed_.containers[0]));
  succeeds_ = false;
  Begin(probes);
  EXPECT_TRUE(Look().started);
  // The container's next run begins again.
  observed_.containers[0].id = "web1";
  Look();
  EXPECT_FALSE(probes_->HasStarted(observed_.containers[0]));
  Begin(probes);
  observed_.containers[0].id = "web0";
  EXPECT_FALSE(Look().started) << "of containers that have gone nothing is kept";
}

TEST_F(PodProbesTest, AContainerThatCannotBeStoppedIsAnError) {
  succeeds_ = false;
  Begin("livenessProbe: {exec: {command: [a]}, periodSeconds: 1, failureThreshold: 1}");
  PodStopper stopper(*host_, manifest_);
  Look();
  probes_->Mark(observed_);
  EXPECT_FALSE(observed_.containers[0].failed_probe);
  ASSERT_TRUE(WaitUntil([&] { return Look().failed.has_value(); }));
  const auto stopped = probes_->StopFailed(record_, observed_, stopper);
  EXPECT_TRUE(absl::IsUnavailable(stopped.status())) << stopped.status();
  EXPECT_THAT(nlohmann::json(events_.List(record_.key)).dump(),
              HasSubstr("Container web failed liveness probe, will be restarted"));
  probes_->Mark(observed_);
  EXPECT_TRUE(observed_.containers[0].failed_probe);
  ObservedPod without;
  probes_->Mark(without);
  probes_->Mark(observed_);
  EXPECT_FALSE(observed_.containers[0].failed_probe) << "it had gone, and is forgotten";
}

TEST_F(PodProbesTest, AnEndedPodIsNotProbed) {
  Begin("readinessProbe: {exec: {command: [a]}, periodSeconds: 1}");
  ASSERT_TRUE(WaitUntil([&] { return Look().ready; }));
  probes_->Look(record_, observed_, /*has_ended=*/true);
  EXPECT_THAT(probes_->health(), IsEmpty());
  EXPECT_FALSE(Look().ready) << "nothing is known of it any more";
}

TEST_F(PodProbesTest, TheAddressIsThePodsOrTheHostsAndNeverAnothers) {
  const std::string probes = "readinessProbe: {tcpSocket: {port: 1}, periodSeconds: 1}";
  Begin(probes);
  Look();
  EXPECT_TRUE(WaitUntil([&] { return absl::StrContains(told(), "the pod has no address"); }));
  observed_.sandboxes[0].ips = {"127.0.0.7"};
  Begin(probes);
  Look();
  EXPECT_TRUE(WaitUntil([&] { return absl::StrContains(told(), "connect to 127.0.0.7:1"); }));
  host_->node.host_ip = "127.0.0.8";
  Begin(probes, "hostNetwork: true, ");
  Look();
  EXPECT_TRUE(WaitUntil([&] { return absl::StrContains(told(), "connect to 127.0.0.8:1"); }));
}

}  // namespace
}  // namespace plimsoll::agent
