#include "cli/pod_runner.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/dir_for_test.h"
#include "cri/runtime/v1/api.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plimsoll/v1/node.grpc.pb.h"

namespace plimsoll::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What becomes of a RunPodSandbox whose answer is lost.
enum class Fate {
  kMade,      // the daemon was killed before it could answer, and another has its pod
  kPutAway,   // the daemon was killed, and another has put away what was half made
  kMadeLate,  // the connection broke; the daemon is making the pod still
};

// The daemon that is asked, and the one that takes its place.
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

// A daemon on a machine so busy that it answers a start before the kernel refuses the program.
class BusyDaemon : public cri::RuntimeService::Service, public node::NodeService::Service {
 public:
  static constexpr char kWhy[] = "container \"a\": its program could not be executed \x1b";

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
  grpc::Status CreateContainer(grpc::ServerContext*, const cri::CreateContainerRequest*,
                               cri::CreateContainerResponse* response) override {
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
  grpc::Status DaemonStatus(grpc::ServerContext*, const node::DaemonStatusRequest*,
                            node::DaemonStatusResponse*) override {
    return grpc::Status::OK;
  }

 private:
  std::atomic<bool> has_exited_ = false;
};

class PodRunnerTest : public ::testing::Test {
 protected:
  void Serve(Fate fate) { Serve(std::make_unique<LosingDaemon>(fate)); }
  template <typename Daemon>
  void Serve(std::unique_ptr<Daemon> daemon) {
    const std::string socket = dir_.path() + "/socket";
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
    builder.RegisterService(static_cast<cri::RuntimeService::Service*>(daemon.get()));
    builder.RegisterService(static_cast<node::NodeService::Service*>(daemon.get()));
    daemon_ = std::move(daemon);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    auto client = Client::Connect({.address = "unix://" + socket});
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
  }
  PodOutcome Run() {
    const FsRoot root = *FsRoot::Open("/");
    const auto pods = ParseManifests(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"
        "spec:\n  restartPolicy: Never\n  containers: [{name: a, image: busybox}]\n",
        "web.yaml");
    EXPECT_TRUE(pods.ok()) << pods.status();
    if (!pods.ok()) return {};
    LogMux logs(root, /*colour=*/false,
                [this](absl::string_view text, bool) { absl::StrAppend(&said_, text); });
    RunnerOptions options;
    options.state_directory = dir_.path();
    return PodRunner(*client_, logs, root, pods->front(), options).Run();
  }

  TestDir dir_;
  std::shared_ptr<void> daemon_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Client> client_;
  std::string said_;
};

TEST_F(PodRunnerTest, ALostAnswerOfAPodThatIsThereNamesIt) {
  Serve(Fate::kMade);
  if (HasFatalFailure()) return;
  const PodOutcome outcome = Run();
  EXPECT_TRUE(absl::IsUnavailable(outcome.status)) << outcome.status;
  EXPECT_THAT(said_, HasSubstr("plimsoll rm --force web"));
  EXPECT_TRUE(dir_.root().Exists(absl::StrCat("cli/", outcome.uid))) << "it may be used";
}

TEST_F(PodRunnerTest, ALostAnswerOfAPodThatIsNotThereNamesNone) {
  Serve(Fate::kPutAway);
  if (HasFatalFailure()) return;
  const PodOutcome outcome = Run();
  EXPECT_TRUE(absl::IsUnavailable(outcome.status)) << outcome.status;
  EXPECT_THAT(said_, IsEmpty());
  EXPECT_FALSE(dir_.root().Exists(absl::StrCat("cli/", outcome.uid)));
}

// No list of the daemon that is making it tells that it will not be there.
TEST_F(PodRunnerTest, ALostAnswerOfADaemonThatGoesOnNamesThePod) {
  Serve(Fate::kMadeLate);
  if (HasFatalFailure()) return;
  const PodOutcome outcome = Run();
  EXPECT_TRUE(absl::IsUnavailable(outcome.status)) << outcome.status;
  EXPECT_THAT(said_, HasSubstr("plimsoll rm --force web"));
  EXPECT_TRUE(dir_.root().Exists(absl::StrCat("cli/", outcome.uid))) << "it may be used";
}

TEST_F(PodRunnerTest, AStartErrorThatComesLateIsTold) {
  Serve(std::make_unique<BusyDaemon>());
  if (HasFatalFailure()) return;
  const PodOutcome outcome = Run();
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.ExitCode(), 128);
  EXPECT_EQ(said_, "pod web: container \"a\": its program could not be executed \\x1b\n");
}

}  // namespace
}  // namespace plimsoll::cli
