#include "cli/pod_runner.h"

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/test_dir.h"
#include "cri/runtime/v1/api.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Its answers to RunPodSandbox are lost; it may have made the pod, as a daemon has that is killed
// before it answers, or be the next one, which has put away what was half made.
class LosingDaemon : public cri::RuntimeService::Service {
 public:
  explicit LosingDaemon(bool has_made) : has_made_(has_made) {}

  grpc::Status RunPodSandbox(grpc::ServerContext*, const cri::RunPodSandboxRequest* request,
                             cri::RunPodSandboxResponse*) override {
    absl::MutexLock lock(&mutex_);
    if (has_made_) {
      cri::PodSandbox* pod = pods_.add_items();
      pod->set_id("0123456789ab");
      *pod->mutable_metadata() = request->config().metadata();
    }
    return {grpc::StatusCode::UNAVAILABLE, "Socket closed"};
  }
  grpc::Status ListPodSandbox(grpc::ServerContext*, const cri::ListPodSandboxRequest*,
                              cri::ListPodSandboxResponse* response) override {
    absl::MutexLock lock(&mutex_);
    *response = pods_;
    return grpc::Status::OK;
  }

 private:
  const bool has_made_;
  absl::Mutex mutex_;
  cri::ListPodSandboxResponse pods_ ABSL_GUARDED_BY(mutex_);
};

class PodRunnerTest : public ::testing::Test {
 protected:
  void Serve(bool has_made) {
    const std::string socket = dir_.path() + "/socket";
    daemon_ = std::make_unique<LosingDaemon>(has_made);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
    builder.RegisterService(daemon_.get());
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
        "spec:\n  containers: [{name: a, image: busybox}]\n",
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
  std::unique_ptr<LosingDaemon> daemon_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Client> client_;
  std::string said_;
};

TEST_F(PodRunnerTest, ALostAnswerOfAPodThatIsThereNamesIt) {
  Serve(/*has_made=*/true);
  if (HasFatalFailure()) return;
  const PodOutcome outcome = Run();
  EXPECT_TRUE(absl::IsUnavailable(outcome.status)) << outcome.status;
  EXPECT_THAT(said_, HasSubstr("plimsoll rm --force web"));
  EXPECT_TRUE(dir_.root().Exists(absl::StrCat("cli/", outcome.uid))) << "it may be used";
}

TEST_F(PodRunnerTest, ALostAnswerOfAPodThatIsNotThereNamesNone) {
  Serve(/*has_made=*/false);
  if (HasFatalFailure()) return;
  const PodOutcome outcome = Run();
  EXPECT_TRUE(absl::IsUnavailable(outcome.status)) << outcome.status;
  EXPECT_THAT(said_, IsEmpty());
  EXPECT_FALSE(dir_.root().Exists(absl::StrCat("cli/", outcome.uid)));
}

}  // namespace
}  // namespace plimsoll::cli
