// GetContainerEvents: events that spare kubelet its polling.
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "conformance/cri_test.h"

namespace plimsoll::conformance {
namespace {

using ::testing::ElementsAre;

using Event = cri::ContainerEventResponse;

// Reads events in the background.
class EventReader {
 public:
  explicit EventReader(Client& client)
      : stream_(client.Open(cri::GetEventsRequest(), absl::Minutes(5))),
        thread_([this] { Read(); }) {}
  ~EventReader() {
    stream_->Cancel();
    thread_.join();
  }
  // The events of a container or pod, in order of arrival.
  std::vector<Event> Of(const std::string& id) {
    absl::MutexLock lock(&mutex_);
    std::vector<Event> found;
    for (const Event& event : events_) {
      if (event.container_id() == id) found.push_back(event);
    }
    return found;
  }
  std::vector<cri::ContainerEventType> TypesOf(const std::string& id) {
    std::vector<cri::ContainerEventType> types;
    const std::vector<Event> events = Of(id);
    for (const Event& event : events) types.push_back(event.container_event_type());
    return types;
  }
  bool any() {
    absl::MutexLock lock(&mutex_);
    return !events_.empty();
  }
  // The stream's final status; OK while it goes on.
  absl::Status status() {
    absl::MutexLock lock(&mutex_);
    return status_;
  }

 private:
  void Read() {
    Event event;
    while (stream_->Read(&event)) {
      absl::MutexLock lock(&mutex_);
      events_.push_back(event);
    }
    const absl::Status status = stream_->Finish();
    absl::MutexLock lock(&mutex_);
    status_ = status;
  }

  const std::unique_ptr<Stream> stream_;
  absl::Mutex mutex_;
  std::vector<Event> events_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

class EventTest : public CriTest {
 protected:
  void SetUp() override {
    CriTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    reader_ = std::make_unique<EventReader>(client_);
    // A stream doesn't announce that it is open; the first event does.
    const std::string pod = RunPod();
    const bool open = Eventually([&] {
      const std::string id = Create(pod, Sleeper());
      EXPECT_OK(RemoveContainer(id));
      return reader_->any() || !reader_->status().ok() || HasFailure();
    });
    if (IsLacking(reader_->status())) GTEST_SKIP() << reader_->status().message();
    ASSERT_OK(reader_->status());
    ASSERT_TRUE(open) << "no event of anything";
  }
  void TearDown() override {
    reader_.reset();
    CriTest::TearDown();
  }
  bool Await(const std::string& id, size_t count) {
    return Eventually([&] { return reader_->TypesOf(id).size() >= count; });
  }
  std::unique_ptr<EventReader> reader_;
};

PROMISE_TEST(EventTest, AContainersLifeIsTold,
             "A container's creation, start, end and removal are one event each, in this order, "
             "with the pod's status and the container's at that time") {
  const std::string pod = RunPod();
  const std::string id = Start(pod, Shell("exit 3"));
  AwaitExit(id);
  ASSERT_TRUE(Await(id, 3));
  ASSERT_OK(RemoveContainer(id));
  ASSERT_TRUE(Await(id, 4));
  EXPECT_THAT(reader_->TypesOf(id),
              ElementsAre(cri::CONTAINER_CREATED_EVENT, cri::CONTAINER_STARTED_EVENT,
                          cri::CONTAINER_STOPPED_EVENT, cri::CONTAINER_DELETED_EVENT));
  const std::vector<Event> events = reader_->Of(id);
  for (const Event& event : events) {
    EXPECT_GT(event.created_at(), 0);
    EXPECT_EQ(event.pod_sandbox_status().id(), pod);
  }
  bool told = false;
  for (const cri::ContainerStatus& status : events[2].containers_statuses()) {
    if (status.id() != id) continue;
    told = true;
    EXPECT_EQ(status.state(), cri::CONTAINER_EXITED);
    EXPECT_EQ(status.exit_code(), 3);
  }
  EXPECT_TRUE(told) << "the event of its end has no status of it";
}

PROMISE_TEST(EventTest, APodsLifeIsTold,
             "A pod's creation, start, stop and removal are one event each, in this order, with "
             "the pod's id as the container's") {
  const std::string pod = RunPod();
  ASSERT_TRUE(Await(pod, 2));
  ASSERT_OK(StopPod(pod));
  ASSERT_TRUE(Await(pod, 3));
  ASSERT_OK(RemovePod(pod));
  ASSERT_TRUE(Await(pod, 4));
  EXPECT_THAT(reader_->TypesOf(pod),
              ElementsAre(cri::CONTAINER_CREATED_EVENT, cri::CONTAINER_STARTED_EVENT,
                          cri::CONTAINER_STOPPED_EVENT, cri::CONTAINER_DELETED_EVENT));
  const std::vector<Event> events = reader_->Of(pod);
  for (const Event& event : events) EXPECT_EQ(event.pod_sandbox_status().id(), pod);
  EXPECT_EQ(events[1].pod_sandbox_status().state(), cri::SANDBOX_READY);
  EXPECT_EQ(events[2].pod_sandbox_status().state(), cri::SANDBOX_NOTREADY);
}

PROMISE_TEST(EventTest, AnOomKillIsTold,
             "The end of a container by its memory limit is reported with the reason OOMKilled") {
  cri::ContainerConfig config = Shell("exec tail -c 1000000000 /dev/zero > /dev/null");
  config.mutable_linux()->mutable_resources()->set_memory_limit_in_bytes(20 << 20);
  const std::string id = Start(RunPod(), config);
  ASSERT_TRUE(Await(id, 3));
  const std::vector<Event> events = reader_->Of(id);
  EXPECT_EQ(events[2].container_event_type(), cri::CONTAINER_STOPPED_EVENT);
  for (const cri::ContainerStatus& status : events[2].containers_statuses()) {
    if (status.id() != id) continue;
    EXPECT_EQ(status.exit_code(), 137);
    EXPECT_EQ(status.reason(), "OOMKilled");
  }
}

PROMISE_TEST(EventTest, AStopIsTold, "The end that StopContainer brings about is reported") {
  const std::string id = Start(RunPod(), Sleeper());
  ASSERT_OK(StopContainer(id, 1));  // it may be killed before its shell has a trap
  ASSERT_TRUE(Await(id, 3));
  EXPECT_EQ(reader_->TypesOf(id)[2], cri::CONTAINER_STOPPED_EVENT);
}

PROMISE_TEST(EventTest, EveryClientIsTold, "Two clients that listen are told the same") {
  EventReader second(client_);
  const std::string pod = RunPod();
  ASSERT_TRUE(Eventually([&] {
    EXPECT_OK(RemoveContainer(Create(pod, Sleeper())));
    return second.any() || HasFailure();
  }));
  const std::string id = Start(pod, Sleeper());
  ASSERT_TRUE(Await(id, 2));
  EXPECT_TRUE(Eventually([&] { return second.TypesOf(id) == reader_->TypesOf(id); }));
}

PROMISE_TEST(EventTest, LookingIsNoEvent, "Calls that only look, and updates, are no events") {
  const std::string id = Start(RunPod(), Sleeper());
  ASSERT_TRUE(Await(id, 2));
  Status(id);
  Exec(id, "true");
  cri::UpdateContainerResourcesRequest request;
  request.set_container_id(id);
  request.mutable_linux()->set_cpu_shares(512);
  EXPECT_OK(client_.Ask<cri::UpdateContainerResourcesResponse>(request));
  ASSERT_OK(StopContainer(id, 1));  // it may be killed before its shell has a trap
  ASSERT_TRUE(Await(id, 3));
  EXPECT_EQ(reader_->TypesOf(id)[2], cri::CONTAINER_STOPPED_EVENT);
}

}  // namespace
}  // namespace plimsoll::conformance
