#include "pod_runner/sandbox_maker.h"

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "cri/runtime/v1/api.grpc.pb.h"
#include "gtest/gtest.h"
#include "pod_runner/pod_files/pod_lock.h"

namespace plimsoll::pod {
namespace {

constexpr char kState[] = "state";

// A daemon without pods, or one that can't list them.
class ListingDaemon : public cri::RuntimeService::Service {
 public:
  grpc::Status ListPodSandbox(grpc::ServerContext*, const cri::ListPodSandboxRequest*,
                              cri::ListPodSandboxResponse*) override {
    return lists;
  }
  grpc::Status lists;
};

// A pod with a user namespace of its own, on a machine whose "/" is a directory of the test.
class SandboxMakerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string address = absl::StrCat("unix://", dir_.path(), "/socket");
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(&daemon_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    auto client = Client::Open({.address = address});
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
    const auto pods = ParseManifests(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"
        "spec:\n  hostUsers: false\n  containers: [{name: a, image: busybox}]\n",
        "web.yaml");
    ASSERT_TRUE(pods.ok()) << pods.status();
    pod_ = pods->front();
    ASSERT_TRUE(dir_.root().MakeDirs("proc").ok());
    ASSERT_TRUE(dir_.root().ReplaceFile("proc/meminfo", "MemTotal: 1000000 kB\n").ok());
    maker_ = std::make_unique<SandboxMaker>(*client_, dir_.root(), pod_,
                                            SandboxMaker::Options{.state_directory = kState});
  }
  // Another client may choose user ids now.
  bool OthersMayChooseIds() {
    return PodLock::TakeUserIds(dir_.root(), kState, absl::ZeroDuration(), nullptr).ok();
  }

  TestDir dir_;
  ListingDaemon daemon_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Client> client_;
  Manifest pod_;
  std::unique_ptr<SandboxMaker> maker_;
};

TEST_F(SandboxMakerTest, ChosenIdsAreItsOwnUntilTheDaemonHasThem) {
  const absl::Status prepared = maker_->Prepare();
  ASSERT_TRUE(prepared.ok()) << prepared;
  EXPECT_FALSE(OthersMayChooseIds());
  EXPECT_FALSE(maker_->Make({}).ok()) << "this daemon makes no pod";
  EXPECT_TRUE(OthersMayChooseIds());
}

TEST_F(SandboxMakerTest, IdsAreLetGoWhenTheDaemonCantNameThoseThatAreTaken) {
  daemon_.lists = {grpc::StatusCode::INTERNAL, "no list"};
  const absl::Status failed = maker_->Prepare();
  EXPECT_TRUE(absl::IsInternal(failed)) << failed;
  EXPECT_TRUE(OthersMayChooseIds());
}

TEST_F(SandboxMakerTest, IdsAreLetGoWhenALaterStepFails) {
  ASSERT_TRUE(dir_.root().RemoveFile("proc/meminfo").ok());
  const absl::Status failed = maker_->Prepare();
  EXPECT_TRUE(absl::IsNotFound(failed)) << failed;
  EXPECT_TRUE(OthersMayChooseIds());
}

TEST(NetworkFaultTest, IsTheConditionsMessage) {
  cri::StatusResponse status;
  EXPECT_EQ(NetworkFault(status), "");
  cri::RuntimeCondition* const other = status.mutable_status()->add_conditions();
  other->set_type("RuntimeReady");
  other->set_message("wrong one");
  cri::RuntimeCondition* const network = status.mutable_status()->add_conditions();
  network->set_type("NetworkReady");
  EXPECT_NE(NetworkFault(status), "");
  network->set_message("no CNI network");
  EXPECT_EQ(NetworkFault(status), "no CNI network");
  network->set_status(true);
  EXPECT_EQ(NetworkFault(status), "");
}

}  // namespace
}  // namespace plimsoll::pod
