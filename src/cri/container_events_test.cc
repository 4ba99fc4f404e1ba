// The stream of containers' lives through a real server.
#include "cri/container_events.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "cri/mocks_for_test.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using runtime::ContainerRecord;
using runtime::ContainerState;
using runtime::EventType;
using runtime::SandboxRecord;
using ::testing::_;
using ::testing::HasSubstr;
using ::testing::Return;

// Before every event of the log's clock.
constexpr int64_t kLongAgo = 1'000'000'000;

SandboxRecord EventPod(runtime::SandboxState state = runtime::SandboxState::kReady) {
  SandboxRecord record;
  record.id = "pod";
  record.state = state;
  v1::PodSandboxConfig config;
  config.mutable_metadata()->set_uid("uid of pod");
  record.client_config = config.SerializeAsString();
  return record;
}

ContainerRecord EventContainer(const std::string& id, ContainerState state) {
  ContainerRecord record;
  record.id = id;
  record.sandbox_id = "pod";
  record.state = state;
  record.created_unix_nanos = kLongAgo;
  if (state != ContainerState::kCreated) record.started_unix_nanos = kLongAgo + 1;
  if (state == ContainerState::kExited) record.finished_unix_nanos = kLongAgo + 2;
  v1::ContainerConfig config;
  config.mutable_metadata()->set_name(id);
  record.client_config = config.SerializeAsString();
  return record;
}

class ContainerEventsTest : public ServerFixture {
 protected:
  struct Stream {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::ContainerEventResponse>> reader;
  };

  void SetUp() override {
    ON_CALL(engine_, GetSandbox(_)).WillByDefault(Return(EventPod()));
    ON_CALL(engine_, ReadResources(_)).WillByDefault(Return(absl::NotFoundError("gone")));
  }

  // Open when it returns.
  std::unique_ptr<Stream> Open() {
    auto stream = std::make_unique<Stream>();
    // Only a guard against an endless wait.
    stream->context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(10));
    stream->reader = runtime_->GetContainerEvents(&stream->context, {});
    stream->reader->WaitForInitialMetadata();
    return stream;
  }
  static v1::ContainerEventResponse Next(Stream& stream) {
    v1::ContainerEventResponse message;
    EXPECT_TRUE(stream.reader->Read(&message));
    return message;
  }
  // "CREATED a: a CREATED, b RUNNING"
  static std::string Text(const v1::ContainerEventResponse& message) {
    std::vector<std::string> containers;
    for (const v1::ContainerStatus& status : message.containers_statuses()) {
      containers.push_back(
          absl::StrCat(status.metadata().name(), " ",
                       v1::ContainerState_Name(status.state()).substr(sizeof("CONTAINER_") - 1)));
    }
    return absl::StrCat(v1::ContainerEventType_Name(message.container_event_type()), " ",
                        message.container_id(), ": ", absl::StrJoin(containers, ", "));
  }
  void Tell(EventType type, const ContainerRecord& record) { events_.Add(type, record, ""); }
};

TEST_F(ContainerEventsTest, ASandboxesAndAContainersLife) {
  Start();
  const auto stream = Open();
  events_.Add(EventType::kSandboxStarted, EventPod(), "");
  EXPECT_EQ(Text(Next(*stream)), "CONTAINER_CREATED_EVENT pod: ");
  EXPECT_EQ(Text(Next(*stream)), "CONTAINER_STARTED_EVENT pod: ");
  Tell(EventType::kContainerCreated, EventContainer("a", ContainerState::kCreated));
  EXPECT_EQ(Text(Next(*stream)), "CONTAINER_CREATED_EVENT a: a CREATED");
  Tell(EventType::kContainerStarted, EventContainer("a", ContainerState::kRunning));
  EXPECT_EQ(Text(Next(*stream)), "CONTAINER_STARTED_EVENT a: a RUNNING");
  ContainerRecord exited = EventContainer("a", ContainerState::kExited);
  exited.exit_code = 3;
  exited.reason = "Error";
  Tell(EventType::kContainerStopped, exited);
  const v1::ContainerEventResponse stopped = Next(*stream);
  EXPECT_EQ(Text(stopped), "CONTAINER_STOPPED_EVENT a: a EXITED");
  EXPECT_EQ(stopped.containers_statuses(0).exit_code(), 3);
  EXPECT_EQ(stopped.containers_statuses(0).reason(), "Error");
  EXPECT_EQ(stopped.created_at(), events_.Since(0).back().unix_nanos);
  EXPECT_EQ(stopped.pod_sandbox_status().metadata().uid(), "uid of pod");
  Tell(EventType::kContainerRemoved, exited);
  EXPECT_EQ(Text(Next(*stream)), "CONTAINER_DELETED_EVENT a: ");
  // The container's sandbox, which the engine doesn't know any more.
  ON_CALL(engine_, GetSandbox(_)).WillByDefault(Return(absl::NotFoundError("gone")));
  events_.Add(EventType::kSandboxStopped, EventPod(runtime::SandboxState::kNotReady), "");
  EXPECT_EQ(Text(Next(*stream)), "CONTAINER_STOPPED_EVENT pod: ");
  events_.Add(EventType::kSandboxRemoved, EventPod(runtime::SandboxState::kRemoving), "");
  const v1::ContainerEventResponse deleted = Next(*stream);
  EXPECT_EQ(Text(deleted), "CONTAINER_DELETED_EVENT pod: ");
  EXPECT_EQ(deleted.pod_sandbox_status().id(), "pod");
  EXPECT_EQ(deleted.pod_sandbox_status().metadata().uid(), "uid of pod");
  EXPECT_EQ(deleted.pod_sandbox_status().state(), v1::SANDBOX_NOTREADY);
}

TEST_F(ContainerEventsTest, WhatIsNoLifeIsNotTold) {
  Start();
  const auto stream = Open();
  events_.Add(EventType::kImagePulled, "", "", "");
  Tell(EventType::kContainerUpdated, EventContainer("a", ContainerState::kRunning));
  Tell(EventType::kContainerOom, EventContainer("a", ContainerState::kRunning));
  Tell(EventType::kContainerStopped, EventContainer("a", ContainerState::kExited));
  EXPECT_EQ(Text(Next(*stream)), "CONTAINER_STOPPED_EVENT a: a EXITED");
}

// A message has the state of its event, however late it is made.
TEST_F(ContainerEventsTest, StatesAreThoseOfTheMoment) {
  ContainerRecord running = EventContainer("running", ContainerState::kRunning);
  ContainerRecord since_exited = EventContainer("since exited", ContainerState::kExited);
  since_exited.created_unix_nanos = kLongAgo + 1;
  since_exited.finished_unix_nanos = absl::GetCurrentTimeNanos() + int64_t{3600} * 1'000'000'000;
  since_exited.exit_code = 1;
  ContainerRecord since_started = EventContainer("since started", ContainerState::kRunning);
  since_started.created_unix_nanos = kLongAgo + 2;
  since_started.started_unix_nanos = since_exited.finished_unix_nanos;
  ContainerRecord since_created = EventContainer("since created", ContainerState::kCreated);
  since_created.created_unix_nanos = since_exited.finished_unix_nanos;
  ContainerRecord others = EventContainer("another pod's", ContainerState::kRunning);
  others.sandbox_id = "other";
  ON_CALL(engine_, ListContainers)
      .WillByDefault(Return(
          std::vector<ContainerRecord>{running, since_exited, since_started, since_created, others,
                                       EventContainer("half made", ContainerState::kCreating)}));
  Start();
  const auto stream = Open();
  ContainerRecord about = EventContainer("a", ContainerState::kCreated);
  about.created_unix_nanos = kLongAgo + 3;
  Tell(EventType::kContainerCreated, about);
  const v1::ContainerEventResponse message = Next(*stream);
  EXPECT_EQ(Text(message),
            "CONTAINER_CREATED_EVENT a: a CREATED, since started CREATED, since exited RUNNING, "
            "running RUNNING");
  EXPECT_EQ(message.containers_statuses(2).exit_code(), 0);
  EXPECT_EQ(message.containers_statuses(2).finished_at(), 0);
  EXPECT_EQ(message.containers_statuses(1).started_at(), 0);
}

// An object removed meanwhile is found in its removal event, which still waits.
TEST_F(ContainerEventsTest, WhatWasRemovedSinceIsThere) {
  absl::Notification go;
  ON_CALL(engine_, GetSandbox(_)).WillByDefault([&](absl::string_view) {
    go.WaitForNotification();
    return absl::StatusOr<SandboxRecord>(absl::NotFoundError("gone"));
  });
  Start();
  const auto stream = Open();
  Tell(EventType::kContainerStarted, EventContainer("a", ContainerState::kRunning));
  ContainerRecord removed = EventContainer("b", ContainerState::kRemoving);
  removed.created_unix_nanos = kLongAgo + 1;
  removed.finished_unix_nanos = absl::GetCurrentTimeNanos();
  Tell(EventType::kContainerRemoved, removed);
  events_.Add(EventType::kSandboxStopped, EventPod(runtime::SandboxState::kNotReady), "");
  events_.Add(EventType::kSandboxRemoved, EventPod(runtime::SandboxState::kRemoving), "");
  go.Notify();
  const v1::ContainerEventResponse started = Next(*stream);
  EXPECT_EQ(Text(started), "CONTAINER_STARTED_EVENT a: b RUNNING, a RUNNING");
  EXPECT_EQ(started.pod_sandbox_status().metadata().uid(), "uid of pod");
  EXPECT_EQ(started.pod_sandbox_status().state(), v1::SANDBOX_READY) << "not yet stopped";
  EXPECT_EQ(Text(Next(*stream)), "CONTAINER_DELETED_EVENT b: ");
  EXPECT_EQ(Text(Next(*stream)), "CONTAINER_STOPPED_EVENT pod: ");
  EXPECT_EQ(Text(Next(*stream)), "CONTAINER_DELETED_EVENT pod: ");
}

TEST_F(ContainerEventsTest, ResourcesAreWhatTheKernelHolds) {
  runtime::EffectiveResources resources;
  resources.cgroup.memory_limit_bytes = 64 << 20;
  ON_CALL(engine_, ReadResources(_)).WillByDefault(Return(resources));
  Start();
  const auto stream = Open();
  Tell(EventType::kContainerStarted, EventContainer("a", ContainerState::kRunning));
  EXPECT_EQ(Next(*stream).containers_statuses(0).resources().linux().memory_limit_in_bytes(),
            64 << 20);
}

TEST_F(ContainerEventsTest, AStreamTellsOfWhatComesAfterIt) {
  Start();
  const auto first = Open();
  Tell(EventType::kContainerCreated, EventContainer("a", ContainerState::kCreated));
  const auto second = Open();
  Tell(EventType::kContainerCreated, EventContainer("b", ContainerState::kCreated));
  EXPECT_EQ(Next(*second).container_id(), "b");
  EXPECT_EQ(Next(*first).container_id(), "a");
  EXPECT_EQ(Next(*first).container_id(), "b");
}

// More than the transport's windows hold.
TEST_F(ContainerEventsTest, ASlowClientIsToldThatItHasMissedSome) {
  options_.max_pending_events = 10;
  const auto exhausted = std::make_shared<absl::Notification>();
  options_.calls.observer = [exhausted](const FinishedCall& call) {
    if (call.code == grpc::StatusCode::RESOURCE_EXHAUSTED) exhausted->Notify();
  };
  Start();
  const auto slow = Open();
  const auto other = Open();
  constexpr int kEvents = 100;
  ContainerRecord large = EventContainer("a", ContainerState::kRunning);
  large.message = std::string(200000, 'x');
  for (int i = 0; i < kEvents; ++i) {
    Tell(EventType::kContainerStarted, large);
    EXPECT_EQ(Next(*other).container_id(), "a");  // is not held up
  }
  int messages = 0;
  v1::ContainerEventResponse message;
  while (slow->reader->Read(&message)) ++messages;
  EXPECT_GE(messages, 10);
  EXPECT_LT(messages, kEvents);
  const grpc::Status status = slow->reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("more than 10 events were left unread"));
  EXPECT_TRUE(exhausted->WaitForNotificationWithTimeout(absl::Minutes(1))) << "metrics say OK";
}

// Messages of removed objects go even if no client hears of the removal.
TEST_F(ContainerEventsTest, WhatIsLostIsForgottenToo) {
  absl::Notification go;
  ON_CALL(engine_, GetSandbox(_)).WillByDefault([&](absl::string_view) {
    go.WaitForNotification();
    return absl::StatusOr<SandboxRecord>(EventPod());
  });
  ContainerRecord record = EventContainer("a", ContainerState::kRunning);
  const auto name_of_it = [&] {
    ON_CALL(engine_, GetContainer(_)).WillByDefault(Return(record));
    v1::ContainerStatusRequest request;
    request.set_container_id("a");
    v1::ContainerStatusResponse response;
    EXPECT_TRUE(Call(runtime_, &RuntimeStub::ContainerStatus, request, &response).ok());
    return response.status().metadata().name();
  };
  Start();
  EXPECT_EQ(name_of_it(), "a");
  record.client_config = EventContainer("another", ContainerState::kRunning).client_config;
  EXPECT_EQ(name_of_it(), "a") << "nothing is kept, and the test shows nothing";
  const auto stream = Open();
  // The first is being told, and more come than the queue holds.
  Tell(EventType::kContainerStarted, EventContainer("b", ContainerState::kRunning));
  Tell(EventType::kContainerRemoved, EventContainer("a", ContainerState::kRemoving));
  for (int i = 0; i < 9000; ++i) {
    Tell(EventType::kContainerStarted, EventContainer("b", ContainerState::kRunning));
  }
  go.Notify();
  v1::ContainerEventResponse message;
  while (stream->reader->Read(&message)) {
  }
  const grpc::Status status = stream->reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("events came faster than they could be sent"));
  EXPECT_EQ(name_of_it(), "another");
}

TEST_F(ContainerEventsTest, WhoGoesCostsNothing) {
  Start();
  for (int i = 0; i < 50; ++i) {
    const auto stream = Open();
    Tell(EventType::kContainerCreated, EventContainer("a", ContainerState::kCreated));
    if (i % 2 == 0) {
      EXPECT_EQ(Next(*stream).container_id(), "a");
    }
    stream->context.TryCancel();
  }
  const auto stream = Open();
  Tell(EventType::kContainerCreated, EventContainer("b", ContainerState::kCreated));
  EXPECT_EQ(Next(*stream).container_id(), "b");
}

TEST_F(ContainerEventsTest, ManyStreams) {
  Start();
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 100; ++i) streams.push_back(Open());
  for (int i = 0; i < 20; ++i) {
    Tell(EventType::kContainerCreated, EventContainer(absl::StrCat(i), ContainerState::kCreated));
  }
  for (const auto& stream : streams) {
    for (int i = 0; i < 20; ++i) EXPECT_EQ(Next(*stream).container_id(), absl::StrCat(i));
  }
}

TEST_F(ContainerEventsTest, TheServersEndEndsIt) {
  Start();
  const auto stream = Open();
  EXPECT_TRUE(server_->Shutdown(absl::ZeroDuration()));
  v1::ContainerEventResponse message;
  EXPECT_FALSE(stream->reader->Read(&message));
}

}  // namespace
}  // namespace plimsoll::cri
