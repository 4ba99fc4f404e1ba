// The driver as kubelet meets it: by its sockets.
#include "kube/driver/driver.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "base/dir_for_test.h"
#include "base/socket_file.h"
#include "base/wait_until_for_test.h"
#include "kube/apiserver/fake_api_client_for_test.h"
#include "kube/driver/node_for_test.h"
#include "kube/link/fake_link_for_test.h"
#include "kubelet/dra/v1/api.grpc.pb.h"
#include "kubelet/drahealth/v1alpha1/api.grpc.pb.h"
#include "kubelet/pluginregistration/v1/api.grpc.pb.h"

namespace plimsoll::kube {
namespace {

namespace dra = ::k8s::io::kubelet::pkg::apis::dra::v1;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kFirstSlice[] = "/apis/resource.k8s.io/v1/resourceslices/n1-classes-0";

class DriverTest : public testing::Test {
 protected:
  DriverTest() { api_.Put("/api/v1/nodes/n1", {{"metadata", {{"uid", "node-uid"}}}}); }
  ~DriverTest() override { End(); }

  std::string Registration() const { return RegistrationSocketOf(dir_.path()); }
  std::string Plugin() const { return DriverSocketOf(dir_.path()); }

  absl::Status TryStart(UniqueFd registration = UniqueFd(), UniqueFd plugin = UniqueFd()) {
    const auto write = [this](const std::string& text) {
      const absl::MutexLock lock(&mutex_);
      log_.push_back(text);
    };
    DriverOptions options{.node = kNodeForTest,
                          .state = dir_.root(),
                          .registration = {Registration(), std::move(registration)},
                          .driver = {Plugin(), std::move(plugin)},
                          .warn = write,
                          .note = write,
                          .claim_patience = absl::ZeroDuration(),
                          .drain_grace = absl::Seconds(20)};
    auto started = ClassDriver::Start(api_, link_, std::move(options));
    PLIMSOLL_RETURN_IF_ERROR(started.status());
    driver_ = *std::move(started);
    return absl::OkStatus();
  }
  void Start() {
    const absl::Status started = TryStart();
    ASSERT_TRUE(started.ok()) << started;
    Tell(ReportForTest());
  }
  void Tell(NodeReport report) {
    driver_->Report(std::make_shared<const NodeReport>(std::move(report)));
  }
  void End() {
    if (driver_ != nullptr) driver_->Drain();
    api_.Stop();
    driver_.reset();
  }
  std::vector<std::string> Log() {
    const absl::MutexLock lock(&mutex_);
    return log_;
  }

  template <typename Service>
  std::unique_ptr<typename Service::Stub> StubAt(const std::string& socket) {
    return Service::NewStub(
        grpc::CreateChannel("unix:" + socket, grpc::InsecureChannelCredentials()));
  }
  grpc::Status Notify(bool registered, const std::string& error = "") {
    grpc::ClientContext context;
    pluginregistration::RegistrationStatus status;
    status.set_plugin_registered(registered);
    status.set_error(error);
    pluginregistration::RegistrationStatusResponse response;
    return StubAt<pluginregistration::Registration>(Registration())
        ->NotifyRegistrationStatus(&context, status, &response);
  }
  static dra::NodePrepareResourcesRequest RequestFor(const std::vector<std::string>& uids) {
    dra::NodePrepareResourcesRequest request;
    for (const std::string& uid : uids) {
      dra::Claim* const claim = request.add_claims();
      claim->set_namespace_(ClaimForTest(uid).claim_namespace);
      claim->set_name(ClaimForTest(uid).name);
      claim->set_uid(uid);
    }
    return request;
  }
  grpc::Status Prepare(const dra::NodePrepareResourcesRequest& request,
                       dra::NodePrepareResourcesResponse& response) {
    grpc::ClientContext context;
    return StubAt<dra::DRAPlugin>(Plugin())->NodePrepareResources(&context, request, &response);
  }
  grpc::Status Unprepare(const std::string& uid, dra::NodeUnprepareResourcesResponse& response) {
    dra::NodeUnprepareResourcesRequest request;
    *request.add_claims() = RequestFor({uid}).claims(0);
    grpc::ClientContext context;
    return StubAt<dra::DRAPlugin>(Plugin())->NodeUnprepareResources(&context, request, &response);
  }
  void PutClaim(const std::string& uid, const std::string& device) {
    api_.Put(PathOf(ClaimForTest(uid)), ClaimObject(ClaimForTest(uid), {{"a", device}}));
  }

  TestDir dir_;
  FakeApiClient api_;
  FakeLink link_;
  absl::Mutex mutex_;
  std::vector<std::string> log_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<ClassDriver> driver_;
};

TEST_F(DriverTest, ADamagedDatabaseIsSetAside) {
  ASSERT_TRUE(dir_.root().ReplaceFile("claims.db", std::string(5000, 'x')).ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("claims.db-wal", "old").ok());
  Start();
  EXPECT_EQ(dir_.root().Read("claims.db.damaged").value_or(""), std::string(5000, 'x'));
  EXPECT_EQ(driver_->counts().prepared_claims, 0);
  const absl::MutexLock lock(&mutex_);
  EXPECT_THAT(log_, Contains(HasSubstr("is kept as claims.db.damaged")));
}

TEST_F(DriverTest, ADamagedDatabaseThatStaysEndsTheStart) {
  ASSERT_TRUE(dir_.root().ReplaceFile("claims.db", std::string(5000, 'x')).ok());
  ASSERT_TRUE(dir_.root().MakeDirs("claims.db.damaged").ok());
  const absl::Status started = TryStart();
  EXPECT_THAT(std::string(started.message()), HasSubstr("claims.db.damaged"));
  EXPECT_EQ(dir_.root().Read("claims.db").value_or(""), std::string(5000, 'x'));
}

TEST_F(DriverTest, KubeletFindsTheDriver) {
  Start();
  grpc::ClientContext context;
  pluginregistration::PluginInfo info;
  const grpc::Status status =
      StubAt<pluginregistration::Registration>(Registration())->GetInfo(&context, {}, &info);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(info.type(), "DRAPlugin");
  EXPECT_EQ(info.name(), "classes.plimsoll.dev");
  EXPECT_EQ(info.endpoint(), Plugin());
  EXPECT_THAT(info.supported_versions(), ElementsAre("v1.DRAPlugin"));
  struct stat socket = {};
  ASSERT_EQ(stat(Registration().c_str(), &socket), 0);
  EXPECT_EQ(socket.st_mode & 0777, 0600u);
}

TEST_F(DriverTest, OnceRegisteredPlimsolldKnowsThatTheSchedulerGivesOutClasses) {
  Start();
  EXPECT_FALSE(link_.scheduled());
  ASSERT_TRUE(Notify(true).ok());
  EXPECT_TRUE(WaitUntil([&] { return link_.scheduled(); }));
  EXPECT_TRUE(driver_->counts().registered);
  link_.ForgetCalls();
  driver_->Report(nullptr);
  Tell(ReportForTest());
  EXPECT_TRUE(WaitUntil([&] { return !link_.calls().empty(); })) << "it may have lost its state";
}

// A restart with the service manager's sockets, which kubelet doesn't notice.
TEST_F(DriverTest, ACallOfKubeletsShowsThatItIsRegistered) {
  Start();
  dra::NodePrepareResourcesResponse response;
  ASSERT_TRUE(Prepare(RequestFor({"u1"}), response).ok());
  EXPECT_TRUE(WaitUntil([&] { return link_.scheduled(); }));
  EXPECT_TRUE(driver_->counts().registered);
}

TEST_F(DriverTest, APlimsolldThatComesBackHearsWhatItHasLost) {
  Start();
  PutClaim("u1", "pod-lane-fast");
  dra::NodePrepareResourcesResponse response;
  ASSERT_TRUE(Prepare(RequestFor({"u1"}), response).ok());
  ASSERT_EQ(response.claims().at("u1").error(), "");
  ASSERT_TRUE(link_.DropPodClasses("u1").ok());  // its table was moved away
  driver_->Report(nullptr);
  Tell(ReportForTest());
  EXPECT_TRUE(WaitUntil([&] { return link_.told().contains("u1"); }));
  // Drops a claim's classes while this program is away.
  End();
  ASSERT_TRUE(link_.DropPodClasses("u1").ok());
  FakeApiClient api;
  DriverOptions options{.node = kNodeForTest,
                        .state = dir_.root(),
                        .registration = {Registration(), UniqueFd()},
                        .driver = {Plugin(), UniqueFd()},
                        .warn = [](const std::string&) {},
                        .note = [](const std::string&) {}};
  auto again = ClassDriver::Start(api, link_, std::move(options));
  ASSERT_TRUE(again.ok()) << again.status();
  (*again)->Report(std::make_shared<const NodeReport>(ReportForTest()));
  EXPECT_TRUE(WaitUntil([&] { return link_.told().contains("u1"); }));
  (*again)->Drain();
  api.Stop();
}

TEST_F(DriverTest, APlimsolldThatIsAwayHearsItLater) {
  const absl::Status started = TryStart();
  ASSERT_TRUE(started.ok()) << started;
  ASSERT_TRUE(Notify(true).ok());
  ASSERT_TRUE(WaitUntil([&] { return driver_->counts().registered; }));
  EXPECT_THAT(link_.calls(), IsEmpty());
  Tell(ReportForTest());
  EXPECT_TRUE(WaitUntil([&] { return link_.scheduled(); }));
}

TEST_F(DriverTest, ARefusalOfKubeletIsLogged) {
  Start();
  ASSERT_TRUE(Notify(false, "version too old").ok());
  EXPECT_TRUE(WaitUntil([&] {
    return !Log().empty() && absl::StrContains(Log().back(), "kubelet: version too old");
  }));
  ASSERT_TRUE(Notify(false, std::string(100'000, 'x')).ok());
  EXPECT_TRUE(WaitUntil([&] { return absl::StrContains(Log().back(), "kubelet: xxx"); }));
  EXPECT_LT(Log().back().size(), 2000u);
  EXPECT_FALSE(link_.scheduled());
}

TEST_F(DriverTest, ClaimsArePreparedEachForItself) {
  Start();
  PutClaim("u1", "rdt-gold");
  PutClaim("u2", "rdt-silver");
  dra::NodePrepareResourcesResponse response;
  const grpc::Status status = Prepare(RequestFor({"u1", "u2", "u3", "u1"}), response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_THAT(response.claims(), SizeIs(3));
  const dra::NodePrepareResourceResponse& first = response.claims().at("u1");
  EXPECT_EQ(first.error(), "");
  ASSERT_EQ(first.devices_size(), 1);
  EXPECT_THAT(first.devices(0).request_names(), ElementsAre("a"));
  EXPECT_EQ(first.devices(0).pool_name(), "n1");
  EXPECT_EQ(first.devices(0).device_name(), "rdt-gold");
  EXPECT_THAT(first.devices(0).cdi_device_ids(), ElementsAre("classes.plimsoll.dev/rdt=gold"));
  EXPECT_FALSE(first.devices(0).has_share_id());
  EXPECT_THAT(response.claims().at("u2").error(), HasSubstr("\"rdt-silver\" is no class"));
  EXPECT_THAT(response.claims().at("u3").error(), HasSubstr("claim default/claim-u3 (uid u3)"));
  const DriverCounts counts = driver_->counts();
  EXPECT_EQ(counts.calls.prepared, 1u);
  EXPECT_EQ(counts.calls.prepare_failures, 2u);
  EXPECT_EQ(counts.prepared_claims, 1);
  dra::NodeUnprepareResourcesResponse gone;
  ASSERT_TRUE(Unprepare("u1", gone).ok());
  EXPECT_EQ(gone.claims().at("u1").error(), "");
  EXPECT_EQ(driver_->counts().prepared_claims, 0);
}

TEST_F(DriverTest, FiveHundredClaimsAtOnce) {
  Start();
  std::vector<std::string> uids;
  for (int i = 0; i < 500; ++i) {
    uids.push_back(absl::StrCat("u", i));
    PutClaim(uids.back(), "rdt-bronze");
  }
  dra::NodePrepareResourcesResponse response;
  const grpc::Status status = Prepare(RequestFor(uids), response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_THAT(response.claims(), SizeIs(500));
  for (const auto& [uid, claim] : response.claims()) EXPECT_EQ(claim.error(), "") << uid;
  EXPECT_EQ(driver_->counts().prepared_claims, 500);
}

TEST_F(DriverTest, TooManyClaimsAreRefused) {
  Start();
  std::vector<std::string> uids(kMaxClaims + 1, "u");
  dra::NodePrepareResourcesResponse response;
  const grpc::Status status = Prepare(RequestFor(uids), response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("at most 1000"));
  dra::NodePrepareResourcesResponse none;
  EXPECT_TRUE(Prepare({}, none).ok());
}

TEST_F(DriverTest, HealthFollowsTheReports) {
  Start();
  grpc::ClientContext context;
  const auto stub = StubAt<v1alpha1::DRAResourceHealth>(Plugin());
  const auto stream = stub->NodeWatchResources(&context, {});
  v1alpha1::NodeWatchResourcesResponse news;
  ASSERT_TRUE(stream->Read(&news));
  ASSERT_EQ(news.devices_size(), 4);
  EXPECT_EQ(news.devices(3).device().pool_name(), "n1");
  EXPECT_EQ(news.devices(3).device().device_name(), "rdt-gold");
  EXPECT_EQ(news.devices(3).health(), v1alpha1::HEALTHY);
  EXPECT_GT(news.devices(3).last_updated_time(), 1'700'000'000);
  EXPECT_EQ(news.devices(3).health_check_timeout_seconds(), 1800);
  NodeReport report = ReportForTest();
  report.types[0].classes[0].drift = {"thread 7 is elsewhere"};
  Tell(report);
  const auto read_until = [&](v1alpha1::HealthStatus health) {
    while (stream->Read(&news)) {
      if (news.devices(3).health() == health) return true;
    }
    return false;
  };
  ASSERT_TRUE(read_until(v1alpha1::UNHEALTHY));
  EXPECT_EQ(news.devices(3).message(), "thread 7 is elsewhere");
  driver_->Report(nullptr);
  ASSERT_TRUE(read_until(v1alpha1::UNKNOWN));
  EXPECT_EQ(news.devices(3).message(), "plimsolld doesn't answer");
  driver_->Drain();
  while (stream->Read(&news)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(DriverTest, TooManyWatchersOfHealthAreRefused) {
  Start();
  const auto stub = StubAt<v1alpha1::DRAResourceHealth>(Plugin());
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1alpha1::NodeWatchResourcesResponse>>> streams;
  v1alpha1::NodeWatchResourcesResponse news;
  for (int i = 0; i < 16; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    streams.push_back(stub->NodeWatchResources(contexts.back().get(), {}));
    ASSERT_TRUE(streams.back()->Read(&news));
  }
  grpc::ClientContext context;
  const auto one_more = stub->NodeWatchResources(&context, {});
  EXPECT_FALSE(one_more->Read(&news));
  EXPECT_EQ(one_more->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  for (const auto& each : contexts) each->TryCancel();
}

TEST_F(DriverTest, ClassesArePublished) {
  Start();
  ASSERT_TRUE(WaitUntil([&] { return !api_.Get(kFirstSlice).is_null(); }));
  EXPECT_TRUE(WaitUntil([&] { return driver_->counts().published; }));
  EXPECT_TRUE(driver_->counts().runtime_answers);
}

TEST_F(DriverTest, ATroubleIsToldOnceUntilItHasPassed) {
  api_.Fail("GET", "resourceslices", absl::NotFoundError("no such resource"), 2);
  Start();
  ASSERT_TRUE(WaitUntil([&] { return !api_.Get(kFirstSlice).is_null(); }));
  ASSERT_TRUE(WaitUntil([&] {
    return !Log().empty() && absl::StrContains(Log().back(), "ResourceSlices: in order again");
  }));
  EXPECT_THAT(Log(),
              ElementsAre(HasSubstr("is served by Kubernetes 1.34"), HasSubstr("in order again")));
}

TEST_F(DriverTest, InheritedSocketsAreServedAndStay) {
  ASSERT_TRUE(dir_.root().MakeDirs("plugins_registry").ok());
  ASSERT_TRUE(dir_.root().MakeDirs("plugins/classes.plimsoll.dev").ok());
  auto registration = ListenAt({Registration(), 0600, std::nullopt});
  auto plugin = ListenAt({Plugin(), 0600, std::nullopt});
  ASSERT_TRUE(registration.ok() && plugin.ok());
  const absl::Status started = TryStart(*std::move(registration), *std::move(plugin));
  ASSERT_TRUE(started.ok()) << started;
  Tell(ReportForTest());
  EXPECT_TRUE(Notify(true).ok());
  PutClaim("u1", "rdt-gold");
  dra::NodePrepareResourcesResponse response;
  EXPECT_TRUE(Prepare(RequestFor({"u1"}), response).ok());
  EXPECT_EQ(response.claims().at("u1").error(), "");
  End();
  EXPECT_EQ(access(Registration().c_str(), F_OK), 0);
}

TEST_F(DriverTest, ASocketThatOthersRemoveIsMadeAgain) {
  Start();
  ASSERT_EQ(unlink(Registration().c_str()), 0);
  ASSERT_TRUE(WaitUntil([&] { return Notify(true).ok(); }));
  EXPECT_TRUE(WaitUntil([&] { return link_.scheduled(); }));
  EXPECT_THAT(Log(), Contains(HasSubstr("it has been made again")));
}

// kubelet's watcher takes every socket of the directory for a plugin, unless its name begins with
// ".".
TEST_F(DriverTest, KubeletSeesNoUnfinishedSocket) {
  ASSERT_TRUE(dir_.root().MakeDirs("plugins_registry").ok());
  const UniqueFd changes(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  ASSERT_GE(inotify_add_watch(changes.get(), (dir_.path() + "/plugins_registry").c_str(),
                              IN_CREATE | IN_MOVED_TO),
            0);
  Start();
  alignas(inotify_event) char events[4096];
  const ssize_t size = read(changes.get(), events, sizeof(events));
  ASSERT_GT(size, 0);
  std::vector<std::string> seen;
  for (ssize_t at = 0; at < size;) {
    const auto* const event = reinterpret_cast<const inotify_event*>(events + at);
    if (event->name[0] != '.') seen.emplace_back(event->name);
    at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
  }
  EXPECT_THAT(seen, ElementsAre("classes.plimsoll.dev-reg.sock"));
}

TEST_F(DriverTest, OwnSocketsGoWithIt) {
  Start();
  End();
  EXPECT_NE(access(Registration().c_str(), F_OK), 0);
  EXPECT_NE(access(Plugin().c_str(), F_OK), 0);
}

TEST_F(DriverTest, ASecondDriverIsRefused) {
  Start();
  FakeApiClient api;
  DriverOptions options{.node = kNodeForTest,
                        .state = dir_.root(),
                        .registration = {Registration(), UniqueFd()},
                        .driver = {Plugin(), UniqueFd()},
                        .warn = [](const std::string&) {},
                        .note = [](const std::string&) {}};
  const auto second = ClassDriver::Start(api, link_, std::move(options));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Notify(true).ok()) << "the first one serves on";
}

TEST_F(DriverTest, ADrainWaitsForTheClaimUnderWay) {
  absl::Notification asked;
  absl::Notification go_on;
  api_.BeforeEach([&](const ApiRequest& request) {
    if (!absl::StrContains(request.path, "resourceclaims")) return;
    if (!asked.HasBeenNotified()) asked.Notify();
    go_on.WaitForNotification();
  });
  Start();
  PutClaim("u1", "rdt-gold");
  dra::NodePrepareResourcesResponse response;
  grpc::Status status;
  std::thread kubelet([&] { status = Prepare(RequestFor({"u1"}), response); });
  asked.WaitForNotification();
  std::thread drain([&] { driver_->Drain(); });
  ASSERT_TRUE(WaitUntil([&] { return access(Plugin().c_str(), F_OK) != 0; }));
  go_on.Notify();
  kubelet.join();
  drain.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.claims().at("u1").error(), "");
}

}  // namespace
}  // namespace plimsoll::kube
