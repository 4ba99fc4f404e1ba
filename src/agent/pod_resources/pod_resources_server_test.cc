#include "agent/pod_resources/pod_resources_server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "agent/managers/managers_for_test.h"
#include "base/clock.h"
#include "base/dir_for_test.h"
#include "base/silent_clients_for_test.h"
#include "base/socket_file.h"
#include "base/wait_until_for_test.h"
#include "kubelet/podresources/v1/api.grpc.pb.h"
#include "kubelet/podresources/v1alpha1/api.grpc.pb.h"

namespace plimsoll::agent {
namespace {

using ::testing::HasSubstr;

class HandClock : public Clock {
 public:
  absl::Time Now() const override {
    const absl::MutexLock lock(&mutex_);
    return now_;
  }
  void Advance(absl::Duration by) {
    const absl::MutexLock lock(&mutex_);
    now_ += by;
  }

 private:
  mutable absl::Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_) = absl::FromUnixSeconds(1'800'000'000);
};

// The pods "shop/web", which has CPU 2, and "shop/old", which has nothing.
class FakeSource : public PodResourcesSource {
 public:
  FakeSource() {
    ReportedPod web{.pod_namespace = "shop",
                    .name = "web",
                    .uid = "u1",
                    .containers = {{.container = "main"}},
                    .grant = {}};
    web.grant.containers["main"].cpus = CpusOfText("2");
    web.grant.devices["main"]["example.com/gpu"] = {"a"};
    pods_ = {web};
  }
  absl::StatusOr<std::vector<ReportedPod>> Holders() const override {
    if (block_ != nullptr) {
      entered_->Notify();
      block_->WaitForNotification();
    }
    if (!fault_.ok()) return fault_;
    return pods_;
  }
  absl::StatusOr<ReportedPod> Find(const std::string& pod_namespace,
                                   const std::string& name) const override {
    if (!fault_.ok()) return fault_;
    for (const ReportedPod& pod : pods_) {
      if (pod.name == name && pod.pod_namespace == pod_namespace) return pod;
    }
    return absl::NotFoundError("no such pod");
  }
  absl::StatusOr<std::shared_ptr<const NodeManagers>> Managers() const override {
    if (!fault_.ok()) return fault_;
    return ManagersOf(StaticOptions(), MapsOf({.nodes = 1, .cores = 4, .threads = 1}));
  }
  DeviceStock Devices() const override {
    DeviceStock stock;
    stock["example.com/gpu"].devices = {{.id = "a", .healthy = true, .nodes = NodeMask::Of(0)}};
    return stock;
  }

  std::vector<ReportedPod> pods_;
  absl::Status fault_;
  absl::Notification* entered_ = nullptr;
  absl::Notification* block_ = nullptr;
};

class PodResourcesServerTest : public ::testing::Test {
 protected:
  absl::Status Start() {
    auto source = std::make_unique<FakeSource>();
    source_ = source.get();
    source_->fault_ = fault_;
    source_->entered_ = entered_;
    source_->block_ = block_;
    PodResourcesServer::Options options{
        .root = dir_.root(), .directory = "/lib/pod-resources", .source = std::move(source)};
    options.counters = &counters_;
    options.clock = &clock_;
    options.tell_socket = [this](const absl::Status& made) {
      const absl::MutexLock lock(&mutex_);
      told_.push_back(made);
    };
    auto server = PodResourcesServer::Start(std::move(options));
    if (server.ok()) server_ = *std::move(server);
    return server.status();
  }
  std::string Socket() const { return dir_.path() + "/lib/pod-resources/kubelet.sock"; }
  std::shared_ptr<grpc::Channel> Channel() const {
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel("unix:" + Socket(), grpc::InsecureChannelCredentials(), own);
  }
  std::unique_ptr<::v1::PodResourcesLister::Stub> Stub() const {
    return ::v1::PodResourcesLister::NewStub(Channel());
  }
  std::pair<grpc::Status, ::v1::ListPodResourcesResponse> List() const {
    grpc::ClientContext context;
    ::v1::ListPodResourcesResponse response;
    const grpc::Status status = Stub()->List(&context, {}, &response);
    return {status, response};
  }
  std::pair<grpc::Status, ::v1::GetPodResourcesResponse> Get(const std::string& name) const {
    grpc::ClientContext context;
    ::v1::GetPodResourcesRequest request;
    request.set_pod_namespace("shop");
    request.set_pod_name(name);
    ::v1::GetPodResourcesResponse response;
    const grpc::Status status = Stub()->Get(&context, request, &response);
    return {status, response};
  }
  std::pair<grpc::Status, ::v1::AllocatableResourcesResponse> Allocatable() const {
    grpc::ClientContext context;
    ::v1::AllocatableResourcesResponse response;
    const grpc::Status status = Stub()->GetAllocatableResources(&context, {}, &response);
    return {status, response};
  }
  std::pair<grpc::Status, ::v1alpha1::ListPodResourcesResponse> ListAlpha() const {
    grpc::ClientContext context;
    ::v1alpha1::ListPodResourcesResponse response;
    const grpc::Status status =
        ::v1alpha1::PodResourcesLister::NewStub(Channel())->List(&context, {}, &response);
    return {status, response};
  }
  uint64_t Counted(const char* version = "v1") const {
    const std::vector<Counters::Count> counts = counters_.Counts();
    if (counts.size() != 1) return ~uint64_t{0};
    EXPECT_STREQ(counts[0].kind.name, "kubelet_pod_resources_endpoint_requests_total");
    return counts[0].values.at({version, ""});
  }
  size_t Told() {
    const absl::MutexLock lock(&mutex_);
    return told_.size();
  }
  mode_t ModeOf(const std::string& path) const {
    const auto info = dir_.root().Stat(path);
    return info.ok() ? info->st_mode & 07777 : 0;
  }

  const TestDir dir_;
  HandClock clock_;
  Counters counters_;
  absl::Status fault_;
  absl::Notification* entered_ = nullptr;
  absl::Notification* block_ = nullptr;
  FakeSource* source_ = nullptr;
  absl::Mutex mutex_;
  std::vector<absl::Status> told_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<PodResourcesServer> server_;
};

TEST_F(PodResourcesServerTest, TellsOfThePodsAndTheNode) {
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(Counted(), 0u);
  const auto [listed, list] = List();
  ASSERT_TRUE(listed.ok()) << listed.error_message();
  ASSERT_EQ(list.pod_resources_size(), 1);
  const auto [gotten, pod] = Get("web");
  ASSERT_TRUE(gotten.ok()) << gotten.error_message();
  EXPECT_EQ(pod.pod_resources().SerializeAsString(), list.pod_resources(0).SerializeAsString());
  EXPECT_EQ(pod.pod_resources().containers(0).cpu_ids(0), 2);
  EXPECT_EQ(pod.pod_resources().containers(0).devices(0).device_ids(0), "a");
  const auto [asked, all] = Allocatable();
  ASSERT_TRUE(asked.ok()) << asked.error_message();
  EXPECT_EQ(all.cpu_ids_size(), 3);
  EXPECT_EQ(all.devices_size(), 1);
  EXPECT_EQ(Counted(), 3u);
}

TEST_F(PodResourcesServerTest, OldToolsHearOfDevicesAlone) {
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(Counted("v1alpha1"), 0u);
  const auto [status, list] = ListAlpha();
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(list.pod_resources_size(), 1);
  const ::v1alpha1::PodResources& pod = list.pod_resources(0);
  EXPECT_EQ(pod.namespace_(), "shop");
  EXPECT_EQ(pod.name(), "web");
  ASSERT_EQ(pod.containers_size(), 1);
  EXPECT_EQ(pod.containers(0).name(), "main");
  ASSERT_EQ(pod.containers(0).devices_size(), 1);
  EXPECT_EQ(pod.containers(0).devices(0).resource_name(), "example.com/gpu");
  ASSERT_EQ(pod.containers(0).devices(0).device_ids_size(), 1);
  EXPECT_EQ(pod.containers(0).devices(0).device_ids(0), "a");
  EXPECT_EQ(Counted("v1alpha1"), 1u);
  EXPECT_EQ(Counted(), 0u);
}

TEST_F(PodResourcesServerTest, ErrorsAreTheSources) {
  ASSERT_TRUE(Start().ok());
  const auto [unknown, none] = Get("nobody");
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(unknown.error_message(), "no such pod");
  server_.reset();
  fault_ = absl::UnavailableError("not yet");
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(List().first.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ListAlpha().first.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Allocatable().first.error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(PodResourcesServerTest, CallsAboveTheRateAreRejected) {
  ASSERT_TRUE(Start().ok());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Get("web").first.ok()) << i;
  const grpc::Status rejected = Get("web").first;
  EXPECT_EQ(rejected.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(rejected.error_message(), "rejected by rate limit");
  EXPECT_EQ(List().first.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ListAlpha().first.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Counted(), 10u);
  clock_.Advance(absl::Milliseconds(25));
  EXPECT_TRUE(Get("web").first.ok());
  EXPECT_TRUE(List().first.ok());
  EXPECT_FALSE(Get("web").first.ok());
}

// Else a process that leaks its connections takes all descriptors of the agent.
TEST_F(PodResourcesServerTest, ThereAreAtMostSoManyConnections) {
  ASSERT_TRUE(Start().ok());
  std::vector<UniqueFd> leaked = SilentClients(Socket(), 64);
  ASSERT_EQ(leaked.size(), 64u);
  EXPECT_EQ(Get("web").first.error_code(), grpc::StatusCode::UNAVAILABLE);
  leaked.pop_back();
  EXPECT_TRUE(Get("web").first.ok());
}

TEST_F(PodResourcesServerTest, OnlyRootMayOpenTheSocket) {
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(ModeOf("/lib/pod-resources"), 0750u);
  EXPECT_EQ(ModeOf("/lib/pod-resources/kubelet.sock"), 0600u);
}

TEST_F(PodResourcesServerTest, ASocketThatAProcessLeftBehindIsReplaced) {
  ASSERT_TRUE(dir_.root().MakeDirs("/lib/pod-resources", 0755).ok());
  { const auto left = ListenAt({Socket(), 0600, std::nullopt}); }
  ASSERT_TRUE(*dir_.root().Has("/lib/pod-resources/kubelet.sock"));
  ASSERT_TRUE(Start().ok());
  EXPECT_TRUE(List().first.ok());
  server_.reset();
  EXPECT_FALSE(*dir_.root().Has("/lib/pod-resources/kubelet.sock"));
}

TEST_F(PodResourcesServerTest, AnotherServersSocketIsLeftAlone) {
  ASSERT_TRUE(Start().ok());
  const std::unique_ptr<PodResourcesServer> first = std::move(server_);
  const absl::Status second = Start();
  EXPECT_TRUE(absl::IsFailedPrecondition(second)) << second;
  EXPECT_THAT(second.message(), HasSubstr("/lib/pod-resources: another process listens on "));
  EXPECT_TRUE(List().first.ok());
}

TEST_F(PodResourcesServerTest, AFileThatIsNoSocketIsLeftAlone) {
  ASSERT_TRUE(dir_.root().MakeDirs("/lib/pod-resources", 0750).ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("/lib/pod-resources/kubelet.sock", "mine").ok());
  const absl::Status status = Start();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("is not a socket"));
  EXPECT_EQ(dir_.root().Read("/lib/pod-resources/kubelet.sock").value_or(""), "mine");
}

TEST_F(PodResourcesServerTest, ADirectoryThatCantBeIsNamed) {
  ASSERT_TRUE(dir_.root().ReplaceFile("/lib", "a file").ok());
  EXPECT_THAT(Start().message(), HasSubstr("socket of PodResources in /lib/pod-resources: "));
}

TEST_F(PodResourcesServerTest, ASocketThatIsRemovedIsMadeAgain) {
  ASSERT_TRUE(Start().ok());
  ASSERT_TRUE(dir_.root().RemoveFile("/lib/pod-resources/kubelet.sock").ok());
  ASSERT_TRUE(WaitUntil([&] { return Told() == 1; }));
  EXPECT_TRUE(List().first.ok());
  EXPECT_EQ(ModeOf("/lib/pod-resources/kubelet.sock"), 0600u);
}

TEST_F(PodResourcesServerTest, AFileThatTookItsPlaceIsToldAndStays) {
  ASSERT_TRUE(Start().ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("/lib/pod-resources/kubelet.sock", "another's").ok());
  ASSERT_TRUE(WaitUntil([&] { return Told() == 1; }));
  {
    const absl::MutexLock lock(&mutex_);
    EXPECT_TRUE(absl::IsAlreadyExists(told_[0])) << told_[0];
  }
  server_.reset();
  EXPECT_EQ(dir_.root().Read("/lib/pod-resources/kubelet.sock").value_or(""), "another's");
}

TEST_F(PodResourcesServerTest, ASocketThatTookItsPlaceStaysThoughNobodyListens) {
  ASSERT_TRUE(Start().ok());
  { const auto other = ListenAt({dir_.path() + "/other.sock", 0600, std::nullopt}); }
  ASSERT_EQ(rename((dir_.path() + "/other.sock").c_str(), Socket().c_str()), 0);
  server_.reset();
  EXPECT_TRUE(*dir_.root().Has("/lib/pod-resources/kubelet.sock"));
}

TEST_F(PodResourcesServerTest, TheEndWaitsForACallUnderWay) {
  absl::Notification entered, block;
  entered_ = &entered;
  block_ = &block;
  ASSERT_TRUE(Start().ok());
  std::thread client([this] { EXPECT_FALSE(List().first.ok()) << "the server has ended"; });
  entered.WaitForNotification();
  std::thread end([this] { server_.reset(); });
  client.join();
  block.Notify();
  end.join();
}

}  // namespace
}  // namespace plimsoll::agent
