#include "pod_runner/runner.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "cri/runtime/v1/api.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plimsoll/v1/node.grpc.pb.h"

namespace plimsoll::pod {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The fate of a RunPodSandbox whose answer is lost.
enum class Fate {
  kMade,      // the daemon was killed before it could answer; its successor has the pod
  kPutAway,   // the daemon was killed; its successor removed the half-made pod
  kMadeLate,  // the connection broke; the daemon is still making the pod
};

// The daemon that is asked, and its successor.
class LosingDaemon : public cri::RuntimeService::Service, public node::NodeService::Service {
 public:
  explicit LosingDaemon(Fate fate) : fate_(fate) {}

  grpc::Status RunPodSandbox(grpc::ServerContext*, const cri::RunPodSandboxRequest* request,
                             cri::RunPodSandboxResponse*) override {
    absl::MutexLock lock(&mutex_);
    if (fate_ == Fate::kMade) {
      cri::PodSandbox* pod = pods_.add_items();
      pod->set_id("0123456789ab");
      *pod->mutable_metadata() = request->config().metadata();
    }
    if (fate_ != Fate::kMadeLate) ++started_at_;
    return {grpc::StatusCode::UNAVAILABLE, "Socket closed"};
  }
  grpc::Status ListPodSandbox(grpc::ServerContext*, const cri::ListPodSandboxRequest*,
                              cri::ListPodSandboxResponse* response) override {
    absl::MutexLock lock(&mutex_);
    *response = pods_;
    return grpc::Status::OK;
  }
  grpc::Status DaemonStatus(grpc::ServerContext*, const node::DaemonStatusRequest*,
                            node::DaemonStatusResponse* response) override {
    absl::MutexLock lock(&mutex_);
    response->set_pid(1);
    response->set_started_at(started_at_);
    return grpc::Status::OK;
  }

 private:
  const Fate fate_;
  absl::Mutex mutex_;
  cri::ListPodSandboxResponse pods_ ABSL_GUARDED_BY(mutex_);
  int64_t started_at_ ABSL_GUARDED_BY(mutex_) = 1;
};

// A daemon that makes any sandbox, and has none in its list.
class SandboxDaemon : public cri::RuntimeService::Service, public node::NodeService::Service {
 public:
  grpc::Status RunPodSandbox(grpc::ServerContext*, const cri::RunPodSandboxRequest*,
                             cri::RunPodSandboxResponse* response) override {
    response->set_pod_sandbox_id("0123456789ab");
    return grpc::Status::OK;
  }
  grpc::Status ListPodSandbox(grpc::ServerContext*, const cri::ListPodSandboxRequest*,
                              cri::ListPodSandboxResponse*) override {
    return grpc::Status::OK;
  }
  grpc::Status StopPodSandbox(grpc::ServerContext*, const cri::StopPodSandboxRequest*,
                              cri::StopPodSandboxResponse*) override {
    return grpc::Status::OK;
  }
  grpc::Status RemovePodSandbox(grpc::ServerContext*, const cri::RemovePodSandboxRequest*,
                                cri::RemovePodSandboxResponse*) override {
    return grpc::Status::OK;
  }
  grpc::Status DaemonStatus(grpc::ServerContext*, const node::DaemonStatusRequest*,
                            node::DaemonStatusResponse*) override {
    return grpc::Status::OK;
  }
};

// A daemon that refuses each container, and reports it as an event too.
class RefusingDaemon : public SandboxDaemon {
 public:
  grpc::Status CreateContainer(grpc::ServerContext*, const cri::CreateContainerRequest*,
                               cri::CreateContainerResponse*) override {
    return {grpc::StatusCode::INVALID_ARGUMENT, "no user of that name"};
  }
  grpc::Status ListEvents(grpc::ServerContext*, const node::ListEventsRequest*,
                          grpc::ServerWriter<node::Event>* writer) override {
    uint64_t sequence = 0;
    for (const char* message :
         {"creating container a failed: no user of that name", "its memory.high is missing"}) {
      node::Event event;
      event.set_sequence(++sequence);
      event.set_type("Warning");
      event.set_sandbox_id("0123456789ab");
      event.set_message(message);
      writer->Write(event);
    }
    return grpc::Status::OK;
  }
};

// A daemon on a machine so busy that it answers a start before the kernel refuses the program.
class BusyDaemon : public SandboxDaemon {
 public:
  static constexpr char kWhy[] = "container \"a\": its program could not be executed \x1b";

  grpc::Status PodSandboxStatus(grpc::ServerContext*, const cri::PodSandboxStatusRequest*,
                                cri::PodSandboxStatusResponse* response) override {
    response->mutable_status()->mutable_network()->set_ip(ip);
    return grpc::Status::OK;
  }
  grpc::Status CreateContainer(grpc::ServerContext*, const cri::CreateContainerRequest* request,
                               cri::CreateContainerResponse* response) override {
    const std::string& profile =
        request->config().linux().security_context().seccomp().localhost_ref();
    if (!profile.empty()) {
      return {grpc::StatusCode::NOT_FOUND,
              absl::StrCat("seccomp profile: open ", profile, ": No such file or directory")};
    }
    response->set_container_id("a");
    return grpc::Status::OK;
  }
  grpc::Status StartContainer(grpc::ServerContext*, const cri::StartContainerRequest*,
                              cri::StartContainerResponse*) override {
    return grpc::Status::OK;
  }
  grpc::Status ListContainers(grpc::ServerContext*, const cri::ListContainersRequest*,
                              cri::ListContainersResponse* response) override {
    cri::Container* container = response->add_containers();
    container->set_id("a");
    container->set_state(cri::CONTAINER_EXITED);
    has_exited_ = true;
    return grpc::Status::OK;
  }
  grpc::Status ContainerStatus(grpc::ServerContext*, const cri::ContainerStatusRequest*,
                               cri::ContainerStatusResponse* response) override {
    cri::ContainerStatus& status = *response->mutable_status();
    status.set_id("a");
    status.set_state(has_exited_ ? cri::CONTAINER_EXITED : cri::CONTAINER_RUNNING);
    if (!has_exited_) return grpc::Status::OK;
    status.set_exit_code(128);
    status.set_reason("StartError");
    status.set_message(kWhy);
    return grpc::Status::OK;
  }

  std::string ip;  // the pod's

 private:
  std::atomic<bool> has_exited_ = false;
};

// A daemon with a container that takes its time to stop: until it is killed, or for a moment.
class StoppingDaemon : public SandboxDaemon {
 public:
  StoppingDaemon(std::string slow, bool is_deaf) : slow_(std::move(slow)), is_deaf_(is_deaf) {}

  grpc::Status CreateContainer(grpc::ServerContext*, const cri::CreateContainerRequest* request,
                               cri::CreateContainerResponse* response) override {
    response->set_container_id(request->config().metadata().name());
    return grpc::Status::OK;
  }
  grpc::Status StartContainer(grpc::ServerContext*, const cri::StartContainerRequest* request,
                              cri::StartContainerResponse*) override {
    Note(request->container_id() + " runs");
    return grpc::Status::OK;
  }
  grpc::Status ListContainers(grpc::ServerContext*, const cri::ListContainersRequest*,
                              cri::ListContainersResponse* response) override {
    for (const char* id : {"side", "init", "main"}) {
      cri::Container* container = response->add_containers();
      container->set_id(id);
      container->set_state(cri::CONTAINER_RUNNING);
    }
    return grpc::Status::OK;
  }
  grpc::Status ContainerStatus(grpc::ServerContext*, const cri::ContainerStatusRequest* request,
                               cri::ContainerStatusResponse* response) override {
    response->mutable_status()->set_id(request->container_id());
    response->mutable_status()->set_state(cri::CONTAINER_RUNNING);
    return grpc::Status::OK;
  }
  grpc::Status StopContainer(grpc::ServerContext*, const cri::StopContainerRequest* request,
                             cri::StopContainerResponse*) override {
    const std::string& id = request->container_id();
    if (request->timeout() == 0) {
      if (id == slow_ && !killed_.HasBeenNotified()) killed_.Notify();
      return grpc::Status::OK;
    }
    Note(id + " stops");
    if (id == slow_) {
      killed_.WaitForNotificationWithTimeout(is_deaf_ ? absl::Seconds(60)
                                                      : absl::Milliseconds(100));
    }
    Note(id + " has ended");
    return grpc::Status::OK;
  }

  // The place of the event among all; nullopt: it hasn't happened.
  std::optional<size_t> At(const std::string& event) {
    absl::MutexLock lock(&mutex_);
    const auto at = std::find(events_.begin(), events_.end(), event);
    if (at == events_.end()) return std::nullopt;
    return static_cast<size_t>(at - events_.begin());
  }

 private:
  void Note(const std::string& event) {
    absl::MutexLock lock(&mutex_);
    events_.push_back(event);
  }

  const std::string slow_;
  const bool is_deaf_;
  absl::Notification killed_;
  absl::Mutex mutex_;
  std::vector<std::string> events_ ABSL_GUARDED_BY(mutex_);
};

// The observer's calls, in order.
class Told : public Observer {
 public:
  void OnPlan(const std::vector<std::string>& containers) override {
    words.push_back("plan " + absl::StrJoin(containers, " "));
  }
  void OnLogOpen(const std::string& container, const std::string& path) override {
    words.push_back(absl::StrCat("log of ", container, " opens at ", path));
  }
  void OnLogEnd(const std::string& container) override {
    words.push_back(absl::StrCat("log of ", container, " ends"));
  }
  void OnStartRefused(const std::string& container, absl::string_view message) override {
    words.push_back(absl::StrCat("start of ", container, " refused: ", message));
  }
  void OnLoopbackAlone(absl::string_view fault) override {
    words.push_back(absl::StrCat("loopback alone: ", fault));
  }
  void OnMayBeLeft() override { words.emplace_back("may be left"); }
  void OnWarning(absl::string_view message) override {
    words.push_back(absl::StrCat("warning: ", message));
  }

  std::vector<std::string> words;
};

class RunnerTest : public ::testing::Test {
 protected:
  void Serve(Fate fate) { Serve(std::make_unique<LosingDaemon>(fate)); }
  template <typename Daemon>
  void Serve(std::unique_ptr<Daemon> daemon) {
    server_.reset();  // of an earlier call: its end removes the socket
    const std::string socket = dir_.path() + "/socket";
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
    builder.RegisterService(static_cast<cri::RuntimeService::Service*>(daemon.get()));
    builder.RegisterService(static_cast<node::NodeService::Service*>(daemon.get()));
    daemon_ = std::move(daemon);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    auto client = Client::Open({.address = "unix://" + socket});
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
  }
  Outcome Run(const std::string& fields = "") {
    const FsRoot root = *FsRoot::Open("/");
    const auto pods = ParseManifests(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"
        "spec:\n  restartPolicy: Never\n  hostNetwork: " +
            host_network_ + "\n  containers: [{name: a, image: busybox" + fields + "}]\n",
        "web.yaml");
    EXPECT_TRUE(pods.ok()) << pods.status();
    if (!pods.ok()) return {};
    RunnerOptions options;
    options.state_directory = dir_.path();
    options.network_fault = network_fault_;
    return Runner(*client_, told_, root, pods->front(), options).Run();
  }

  TestDir dir_;
  std::string network_fault_;
  std::string host_network_ = "false";
  std::shared_ptr<void> daemon_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Client> client_;
  Told told_;
};

TEST_F(RunnerTest, ALostAnswerOfAPodThatIsThereNamesIt) {
  Serve(Fate::kMade);
  if (HasFatalFailure()) return;
  const Outcome outcome = Run();
  EXPECT_TRUE(absl::IsUnavailable(outcome.status)) << outcome.status;
  EXPECT_THAT(told_.words, ElementsAre("plan a", "may be left"));
  EXPECT_TRUE(dir_.root().Exists(absl::StrCat("pods/", outcome.uid))) << "it may be used";
}

TEST_F(RunnerTest, ALostAnswerOfAPodThatIsNotThereNamesNone) {
  Serve(Fate::kPutAway);
  if (HasFatalFailure()) return;
  const Outcome outcome = Run();
  EXPECT_TRUE(absl::IsUnavailable(outcome.status)) << outcome.status;
  EXPECT_THAT(told_.words, ElementsAre("plan a"));
  EXPECT_FALSE(dir_.root().Exists(absl::StrCat("pods/", outcome.uid)));
}

// The daemon that is making the pod may list it later.
TEST_F(RunnerTest, ALostAnswerOfADaemonThatGoesOnNamesThePod) {
  Serve(Fate::kMadeLate);
  if (HasFatalFailure()) return;
  const Outcome outcome = Run();
  EXPECT_TRUE(absl::IsUnavailable(outcome.status)) << outcome.status;
  EXPECT_THAT(told_.words, ElementsAre("plan a", "may be left"));
  EXPECT_TRUE(dir_.root().Exists(absl::StrCat("pods/", outcome.uid))) << "it may be used";
}

TEST_F(RunnerTest, ARefusedCreationIsToldOnce) {
  Serve(std::make_unique<RefusingDaemon>());
  if (HasFatalFailure()) return;
  const Outcome outcome = Run();
  EXPECT_THAT(outcome.status.message(), HasSubstr("no user of that name"));
  EXPECT_THAT(told_.words, ElementsAre("plan a", "warning: its memory.high is missing"));
}

TEST_F(RunnerTest, AStartErrorThatComesLateIsTold) {
  Serve(std::make_unique<BusyDaemon>());
  if (HasFatalFailure()) return;
  const Outcome outcome = Run();
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.FailedCode(), 128);
  const std::string log = absl::StrCat(dir_.path(), "/pods/", outcome.uid, "/logs/a.0.log");
  EXPECT_THAT(told_.words, ElementsAre("plan a", "log of a opens at " + log, "log of a ends",
                                       absl::StrCat("start of a refused: ", BusyDaemon::kWhy)));
}

TEST_F(RunnerTest, APodWithLoopbackAloneIsToldBeforeItsContainers) {
  struct Case {
    const char* fault;
    const char* ip;
    const char* host_network;
    bool is_told;
  };
  for (const Case& each : {Case{"no CNI network", "", "false", true},
                           {"no CNI network", "", "true", false},
                           // The network came meanwhile, or its plugins only failed STATUS.
                           {"no CNI network", "10.0.0.1", "false", false},
                           {"", "", "false", false}}) {
    auto daemon = std::make_unique<BusyDaemon>();
    daemon->ip = each.ip;
    Serve(std::move(daemon));
    if (HasFatalFailure()) return;
    told_.words.clear();
    network_fault_ = each.fault;
    host_network_ = each.host_network;
    EXPECT_TRUE(Run().status.ok());
    ASSERT_GE(told_.words.size(), 2u);
    EXPECT_EQ(told_.words[1] == "loopback alone: no CNI network", each.is_told)
        << each.fault << " " << each.ip << " " << each.host_network << ": " << told_.words[1];
  }
}

class StoppedRunTest : public RunnerTest {
 protected:
  // Runs a pod with a sidecar, an init container where `slow` is one, and a container. Interrupts
  // it once `slow` runs, and kills it once the sidecar has ended.
  Outcome RunStopping(const std::string& slow, bool is_deaf) {
    auto daemon = std::make_unique<StoppingDaemon>(slow, is_deaf);
    daemon_here_ = daemon.get();
    Serve(std::move(daemon));
    if (HasFatalFailure()) return {};
    const auto pods =
        ParseManifests(absl::StrCat("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n"
                                    "  terminationGracePeriodSeconds: 600\n  initContainers:\n"
                                    "  - {name: side, image: i, restartPolicy: Always}\n",
                                    slow == "init" ? "  - {name: init, image: i}\n" : "",
                                    "  containers: [{name: main, image: i}]\n"),
                       "web.yaml");
    EXPECT_TRUE(pods.ok()) << pods.status();
    if (!pods.ok()) return {};
    RunnerOptions options;
    options.state_directory = dir_.path();
    const absl::Time give_up = absl::Now() + absl::Seconds(30);
    options.interrupts = [&] {
      if (!daemon_here_->At(slow + " runs")) return 0;
      return daemon_here_->At("side has ended") || absl::Now() > give_up ? 2 : 1;
    };
    return Runner(*client_, told_, *FsRoot::Open("/"), pods->front(), options).Run();
  }
  StoppingDaemon* daemon_here_ = nullptr;
};

TEST_F(StoppedRunTest, ASidecarDoesNotWaitForAnInitContainer) {
  const Outcome outcome = RunStopping("init", /*is_deaf=*/true);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  ASSERT_TRUE(daemon_here_->At("side stops") && daemon_here_->At("init has ended"));
  EXPECT_LT(*daemon_here_->At("side stops"), *daemon_here_->At("init has ended"));
}

TEST_F(StoppedRunTest, ASidecarWaitsForAnOrdinaryContainer) {
  const Outcome outcome = RunStopping("main", /*is_deaf=*/false);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  ASSERT_TRUE(daemon_here_->At("side stops") && daemon_here_->At("main has ended"));
  EXPECT_LT(*daemon_here_->At("main has ended"), *daemon_here_->At("side stops"));
}

TEST_F(RunnerTest, AMissingSeccompProfileIsToldWithTheRootOfAll) {
  Serve(std::make_unique<BusyDaemon>());
  if (HasFatalFailure()) return;
  const Outcome outcome =
      Run(", securityContext: {seccompProfile: {type: Localhost, localhostProfile: k.json}}");
  EXPECT_TRUE(absl::IsNotFound(outcome.status)) << outcome.status;
  EXPECT_THAT(std::string(outcome.status.message()),
              HasSubstr("open /var/lib/kubelet/seccomp/k.json: No such file or directory; the root "
                        "of profiles is /var/lib/kubelet/seccomp (--seccomp-profile-root of "
                        "`plimsoll run`, seccompProfileRoot of the agent)"));
}

TEST(Runner, RestartsSlowDown) {
  EXPECT_EQ(RestartDelay(0), absl::Seconds(10));
  EXPECT_EQ(RestartDelay(1), absl::Seconds(20));
  EXPECT_EQ(RestartDelay(5), absl::Minutes(5));
  EXPECT_EQ(RestartDelay(1000), absl::Minutes(5));
}

TEST(Outcome, TheFailedCodeIsTheFirstContainersThatHadToSucceed) {
  Outcome outcome;
  EXPECT_EQ(outcome.FailedCode(), 0);
  outcome.containers.resize(3);
  outcome.containers[0].role = resources::ContainerRequirements::Role::kSidecar;
  outcome.containers[0].status.set_exit_code(143);
  EXPECT_EQ(outcome.FailedCode(), 0);
  outcome.containers[2].status.set_exit_code(7);
  EXPECT_EQ(outcome.FailedCode(), 7);
  outcome.containers[0].status.set_reason(kStartError);
  EXPECT_EQ(outcome.FailedCode(), 143) << "a sidecar that can't be executed has failed";
}

}  // namespace
}  // namespace plimsoll::pod
