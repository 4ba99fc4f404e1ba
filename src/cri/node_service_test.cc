// plimsoll.v1.NodeService, through a real socket.
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "base/wait_until_for_test.h"
#include "cri/mocks_for_test.h"

namespace plimsoll::cri {
namespace {

namespace node = ::plimsoll::v1;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::Invoke;
using ::testing::Return;

class NodeServiceTest : public ServerFixture {
 protected:
  void AddEvent(const std::string& message) {
    events_.Add(runtime::EventType::kContainerStarted, "p", "c", message);
  }
};

TEST_F(NodeServiceTest, DaemonStatusTellsWhatItIs) {
  options_.info.state_directory = "/state";
  options_.info.programs = {{"crun", "1.8.1"}};
  options_.info.limitations = [] { return std::vector<std::string>{"no CAP_SYS_RESOURCE"}; };
  options_.info.not_ready = [] { return std::vector<std::string>{"Serving: it is stopping"}; };
  options_.info.cluster = [] {
    return ClusterState{.socket_path = "/run/cluster.sock",
                        .watchers = 1,
                        .told_claims = 2,
                        .classes_from_scheduler = true};
  };
  options_.info.metrics_url = "http://127.0.0.1:9464/metrics";
  runtime::SandboxRecord ready;
  ready.state = runtime::SandboxState::kReady;
  ON_CALL(engine_, ListSandboxes())
      .WillByDefault(Return(std::vector<runtime::SandboxRecord>{ready, {}}));
  runtime::ContainerRecord running;
  running.state = runtime::ContainerState::kRunning;
  ON_CALL(engine_, ListContainers())
      .WillByDefault(Return(std::vector<runtime::ContainerRecord>{running, {}, {}}));
  ON_CALL(images_, List()).WillByDefault(Return(std::vector<image::Image>(4)));
  Start();
  node::DaemonStatusResponse response;
  ASSERT_TRUE(Call(node_, &NodeStub::DaemonStatus, node::DaemonStatusRequest(), &response).ok());
  EXPECT_EQ(response.version(), "1.2.3");
  EXPECT_EQ(response.pid(), getpid());
  EXPECT_EQ(response.state_directory(), "/state");
  EXPECT_EQ(response.socket_path(), options_.socket_path);
  EXPECT_EQ(response.sandboxes(), 2u);
  EXPECT_EQ(response.ready_sandboxes(), 1u);
  EXPECT_EQ(response.containers(), 3u);
  EXPECT_EQ(response.running_containers(), 1u);
  EXPECT_EQ(response.images(), 4u);
  EXPECT_THAT(response.limitations(), ElementsAre("no CAP_SYS_RESOURCE"));
  EXPECT_EQ(response.programs().at("crun"), "1.8.1");
  EXPECT_THAT(response.not_ready(), ElementsAre("Serving: it is stopping"));
  EXPECT_EQ(response.metrics_url(), "http://127.0.0.1:9464/metrics");
  EXPECT_EQ(response.cluster_socket(), "/run/cluster.sock");
  EXPECT_EQ(response.cluster_watchers(), 1u);
  EXPECT_EQ(response.told_claims(), 2u);
  EXPECT_TRUE(response.classes_from_scheduler());
}

TEST_F(NodeServiceTest, InspectGivesFindingsAndTroubles) {
  runtime::Finding finding;
  finding.difference = runtime::Difference::kContainerEnded;
  finding.sandbox_id = "p";
  finding.container_id = "c";
  finding.what = "its monitor is gone";
  finding.action = "records its exit";
  EXPECT_CALL(engine_, Inspect()).WillOnce(Return(std::vector<runtime::Finding>{finding}));
  EXPECT_CALL(engine_, RecoveryTroubles()).WillOnce(Return(std::vector<std::string>{"no space"}));
  Start();
  node::InspectResponse response;
  ASSERT_TRUE(Call(node_, &NodeStub::Inspect, node::InspectRequest(), &response).ok());
  EXPECT_TRUE(response.daemon_running());
  EXPECT_THAT(response.troubles(), ElementsAre("no space"));
  ASSERT_EQ(response.findings_size(), 1);
  EXPECT_EQ(response.findings(0).difference(), "ContainerEnded");
  EXPECT_EQ(response.findings(0).pod_sandbox_id(), "p");
  EXPECT_EQ(response.findings(0).container_id(), "c");
  EXPECT_EQ(response.findings(0).what(), "its monitor is gone");
  EXPECT_EQ(response.findings(0).action(), "records its exit");
}

TEST_F(NodeServiceTest, ListEventsGivesTheBacklogAndEnds) {
  AddEvent("one");
  AddEvent("two");
  AddEvent("three");
  Start();
  grpc::ClientContext context;
  node::ListEventsRequest request;
  request.set_since(1);
  const auto reader = node_->ListEvents(&context, request);
  std::vector<std::string> messages;
  node::Event event;
  while (reader->Read(&event)) messages.push_back(event.message());
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_THAT(messages, ElementsAre("two", "three"));
  EXPECT_EQ(event.type(), "ContainerStarted");
  EXPECT_EQ(event.sandbox_id(), "p");
  EXPECT_EQ(event.container_id(), "c");
  EXPECT_EQ(event.sequence(), 3u);
}

TEST_F(NodeServiceTest, FollowersSeeEveryEventOnceAndInOrder) {
  constexpr int kReaders = 4;
  constexpr uint64_t kEvents = 500;
  Start();
  std::vector<std::thread> readers;
  std::atomic<int> complete{0};
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back([&] {
      grpc::ClientContext context;
      node::ListEventsRequest request;
      request.set_follow(true);
      const auto reader = node_->ListEvents(&context, request);
      node::Event event;
      uint64_t expected = 1;
      while (expected <= kEvents && reader->Read(&event)) {
        ASSERT_EQ(event.sequence(), expected);
        ++expected;
      }
      complete += expected == kEvents + 1;
      context.TryCancel();
      EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
    });
  }
  // An event may be backlog for one reader and news for another.
  for (uint64_t i = 0; i < kEvents; ++i) AddEvent("x");
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(complete, kReaders);
}

TEST_F(NodeServiceTest, ShutdownEndsFollowers) {
  AddEvent("one");
  Start();
  grpc::ClientContext context;
  node::ListEventsRequest request;
  request.set_follow(true);
  const auto reader = node_->ListEvents(&context, request);
  node::Event event;
  ASSERT_TRUE(reader->Read(&event));
  server_.reset();
  EXPECT_FALSE(reader->Read(&event));
  EXPECT_FALSE(reader->Finish().ok());
  AddEvent("nobody listens any more");
}

TEST_F(NodeServiceTest, ImportReportsProgressThenTheImage) {
  image::Image image;
  image.record.id = "sha256:a";
  image.record.repo_tags = {"hello:latest"};
  EXPECT_CALL(images_, Import("/tmp/x.tar", absl::string_view("hello"), _, _))
      .WillOnce(Invoke([&](auto&, auto, const image::ProgressFn& progress, const auto&) {
        progress({"unpacking layer 1 of 1", 5, 10});
        return image;
      }));
  Start();
  grpc::ClientContext context;
  node::ImportImageRequest request;
  request.set_path("/tmp/x.tar");
  request.set_reference("hello");
  const auto reader = node_->ImportImage(&context, request);
  node::ImageProgress message;
  ASSERT_TRUE(reader->Read(&message));
  EXPECT_EQ(message.progress().step(), "unpacking layer 1 of 1");
  EXPECT_EQ(message.progress().done_bytes(), 5u);
  EXPECT_EQ(message.progress().total_bytes(), 10u);
  ASSERT_TRUE(reader->Read(&message));
  EXPECT_EQ(message.done().image_id(), "sha256:a");
  EXPECT_THAT(message.done().repo_tags(), ElementsAre("hello:latest"));
  EXPECT_FALSE(reader->Read(&message));
  EXPECT_TRUE(reader->Finish().ok());
}

// The work outlives the handler, so its observer must too.
TEST_F(NodeServiceTest, WorkIsObservedUnderTheNameOfItsMethod) {
  absl::Mutex mutex;
  std::vector<std::string> seen;
  options_.calls.observer = [&](const FinishedCall& call) {
    const absl::MutexLock lock(&mutex);
    seen.push_back(absl::StrCat(call.method, " ", call.object, ": ", call.message));
  };
  ON_CALL(images_, Import(_, _, _, _)).WillByDefault(Return(absl::NotFoundError("gone")));
  ON_CALL(images_, Pull(_, _, _)).WillByDefault(Return(absl::NotFoundError("gone")));
  Start();
  grpc::ClientContext importing;
  node::ImportImageRequest request;
  request.set_path("/x");
  EXPECT_EQ(node_->ImportImage(&importing, request)->Finish().error_code(),
            grpc::StatusCode::NOT_FOUND);
  grpc::ClientContext pulling;
  node::PullImageRequest pull;
  pull.set_reference("hello");
  EXPECT_EQ(node_->PullImage(&pulling, pull)->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
  const absl::MutexLock lock(&mutex);
  EXPECT_THAT(seen, ElementsAre("/plimsoll.v1.NodeService/ImportImage /x: gone",
                                "/plimsoll.v1.NodeService/PullImage hello: gone"));
}

TEST_F(NodeServiceTest, ImportWantsAnAbsolutePath) {
  Start();
  grpc::ClientContext context;
  node::ImportImageRequest request;
  request.set_path("x.tar");
  const auto reader = node_->ImportImage(&context, request);
  node::ImageProgress message;
  EXPECT_FALSE(reader->Read(&message));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(NodeServiceTest, ImportIsGivenUpWhenTheClientGoes) {
  absl::Notification importing;
  absl::Notification given_up;
  EXPECT_CALL(images_, Import(_, _, _, _))
      .WillOnce(Invoke([&](const auto&, auto, const auto&,
                           const std::function<bool()>& cancelled) -> absl::StatusOr<image::Image> {
        EXPECT_FALSE(cancelled());
        importing.Notify();
        EXPECT_TRUE(WaitUntil(cancelled));
        given_up.Notify();
        return absl::CancelledError("given up");
      }));
  Start();
  grpc::ClientContext context;
  node::ImportImageRequest request;
  request.set_path("/x");
  const auto reader = node_->ImportImage(&context, request);
  importing.WaitForNotification();
  context.TryCancel();
  given_up.WaitForNotification();
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(NodeServiceTest, PullIsGivenUpWhenTheClientGoes) {
  absl::Notification pulling;
  absl::Notification given_up;
  EXPECT_CALL(images_, Pull(_, _, _))
      .WillOnce(Invoke([&](auto, const image::PullOptions& options,
                           const auto&) -> absl::StatusOr<image::Image> {
        EXPECT_EQ(options.credentials.identity_token, "t");
        pulling.Notify();
        const absl::Time deadline = absl::Now() + absl::Seconds(20);
        while (!options.cancelled() && absl::Now() < deadline) {
          absl::SleepFor(absl::Milliseconds(5));
        }
        EXPECT_TRUE(options.cancelled());
        given_up.Notify();
        return absl::CancelledError("given up");
      }));
  Start();
  grpc::ClientContext context;
  node::PullImageRequest request;
  request.set_reference("busybox");
  request.mutable_auth()->set_identity_token("t");
  const auto reader = node_->PullImage(&context, request);
  pulling.WaitForNotification();
  context.TryCancel();
  given_up.WaitForNotification();
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(NodeServiceTest, SlowReadersLoseProgressButNotTheImage) {
  image::Image image;
  image.record.id = "sha256:a";
  EXPECT_CALL(images_, Import(_, _, _, _))
      .WillOnce(Invoke([&](auto&, auto, const image::ProgressFn& progress, const auto&) {
        for (uint64_t i = 0; i < 20000; ++i) progress({std::string(1000, 'x'), i, 20000});
        return image;
      }));
  Start();
  grpc::ClientContext context;
  node::ImportImageRequest request;
  request.set_path("/x");
  const auto reader = node_->ImportImage(&context, request);
  node::ImageProgress message;
  while (reader->Read(&message)) {
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(message.done().image_id(), "sha256:a");
}

}  // namespace
}  // namespace plimsoll::cri
