// The Stream* calls through a real server: the items of the List* calls, in parts.
#include "cri/calls/list_stream.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/wait_until_for_test.h"
#include "cri/mocks_for_test.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using runtime::ContainerRecord;
using runtime::ContainerState;
using runtime::SandboxRecord;
using runtime::SandboxState;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(InParts, EachPartIsMadeWhenItIsAskedFor) {
  std::vector<std::string> made;
  int lists = 0;
  const PartSource<v1::StreamContainersResponse> source = InParts<v1::StreamContainersResponse>(
      [&lists] {
        ++lists;
        return std::vector<std::string>{"a", "left out", "b", "large", "c"};
      },
      [&made](const std::string& id, v1::StreamContainersResponse* part) -> absl::StatusOr<size_t> {
        made.push_back(id);
        if (id == "left out") return 0;
        part->add_containers()->set_id(id);
        return id == "large" ? kPartBytes : 1;
      });
  EXPECT_EQ(lists, 0);
  v1::StreamContainersResponse first;
  EXPECT_TRUE(*source(&first));
  EXPECT_EQ(first.containers_size(), 3);
  EXPECT_THAT(made, ElementsAre("a", "left out", "b", "large"));
  v1::StreamContainersResponse second;
  EXPECT_TRUE(*source(&second));
  EXPECT_EQ(second.containers_size(), 1);
  v1::StreamContainersResponse third;
  EXPECT_FALSE(*source(&third));
  EXPECT_EQ(third.containers_size(), 0);
  EXPECT_EQ(lists, 1);
}

class ListStreamTest : public ServerFixture {
 protected:
  // Each container has labels of `bytes` bytes.
  void Have(int containers, size_t bytes) {
    for (int i = 0; i < containers; ++i) {
      ContainerRecord record;
      record.id = absl::StrCat("c", i);
      record.sandbox_id = i % 2 == 0 ? "even" : "odd";
      record.state = i == 1 ? ContainerState::kExited : ContainerState::kRunning;
      v1::ContainerConfig config;
      (*config.mutable_labels())["text"] = std::string(bytes, 'x');
      (*config.mutable_labels())["kind"] = i < 4 ? "first" : "other";
      record.client_config = config.SerializeAsString();
      containers_.push_back(record);
    }
    ON_CALL(engine_, ListContainers).WillByDefault([this] { return containers_; });
    ON_CALL(engine_, GetContainer(_))
        .WillByDefault([this](absl::string_view id) -> absl::StatusOr<ContainerRecord> {
          ++looks_;
          for (const ContainerRecord& each : containers_) {
            if (each.id == id) return each;
          }
          return absl::NotFoundError("no such container");
        });
    ON_CALL(engine_.mock_readings, Stats(_)).WillByDefault([](absl::string_view) {
      return linux::CgroupStats();
    });
  }
  void HavePods() {
    for (const auto& [id, state] :
         {std::pair("even", SandboxState::kReady), std::pair("gone", SandboxState::kNotReady),
          std::pair("odd", SandboxState::kReady)}) {
      SandboxRecord record;
      record.id = id;
      record.state = state;
      v1::PodSandboxConfig config;
      (*config.mutable_labels())["kind"] = id;
      record.client_config = config.SerializeAsString();
      pods_.push_back(record);
    }
    ON_CALL(engine_, ListSandboxes).WillByDefault([this] { return pods_; });
    ON_CALL(engine_, GetSandbox(_))
        .WillByDefault([this](absl::string_view id) -> absl::StatusOr<SandboxRecord> {
          for (const SandboxRecord& each : pods_) {
            if (each.id == id) return each;
          }
          return absl::NotFoundError("no such sandbox");
        });
    ON_CALL(engine_.mock_readings, SandboxStats(_)).WillByDefault([](absl::string_view) {
      return linux::CgroupStats();
    });
  }

  template <typename Request, typename Response>
  using Method = std::unique_ptr<grpc::ClientReader<Response>> (RuntimeStub::*)(
      grpc::ClientContext*, const Request&);
  // The ids that `ids` finds in all parts.
  template <typename Request, typename Response, typename Ids>
  std::vector<std::string> Streamed(Method<Request, Response> method, const Request& request,
                                    Ids ids) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    const auto reader = (runtime_.get()->*method)(&context, request);
    std::vector<std::string> found;
    Response part;
    for (parts_ = 0; reader->Read(&part); ++parts_) {
      EXPECT_LT(part.ByteSizeLong(), kPartBytes * 2);
      for (const auto& each : ids(part)) found.push_back(each);
    }
    const grpc::Status status = reader->Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    return found;
  }
  std::vector<std::string> Containers(const v1::ContainerFilter& filter) {
    v1::StreamContainersRequest request;
    *request.mutable_filter() = filter;
    return Streamed(&RuntimeStub::StreamContainers, request,
                    [](const v1::StreamContainersResponse& part) {
                      std::vector<std::string> ids;
                      for (const auto& each : part.containers()) ids.push_back(each.id());
                      return ids;
                    });
  }
  std::vector<std::string> ContainerStats(const v1::ContainerStatsFilter& filter) {
    v1::StreamContainerStatsRequest request;
    *request.mutable_filter() = filter;
    return Streamed(&RuntimeStub::StreamContainerStats, request,
                    [](const v1::StreamContainerStatsResponse& part) {
                      std::vector<std::string> ids;
                      for (const auto& each : part.container_stats()) {
                        ids.push_back(each.attributes().id());
                      }
                      return ids;
                    });
  }
  std::vector<std::string> Pods(const v1::PodSandboxFilter& filter) {
    v1::StreamPodSandboxesRequest request;
    *request.mutable_filter() = filter;
    return Streamed(&RuntimeStub::StreamPodSandboxes, request,
                    [](const v1::StreamPodSandboxesResponse& part) {
                      std::vector<std::string> ids;
                      for (const auto& each : part.pod_sandboxes()) ids.push_back(each.id());
                      return ids;
                    });
  }
  // "even: c0 c2"
  std::vector<std::string> PodStats(const v1::PodSandboxStatsFilter& filter) {
    v1::StreamPodSandboxStatsRequest request;
    *request.mutable_filter() = filter;
    return Streamed(&RuntimeStub::StreamPodSandboxStats, request,
                    [](const v1::StreamPodSandboxStatsResponse& part) {
                      std::vector<std::string> texts;
                      for (const auto& each : part.pod_sandbox_stats()) {
                        std::string text = each.attributes().id() + ":";
                        for (const auto& container : each.linux().containers()) {
                          absl::StrAppend(&text, " ", container.attributes().id());
                        }
                        texts.push_back(text);
                      }
                      return texts;
                    });
  }

  // "even: c0 c2"
  std::vector<std::string> PodMetrics() {
    return Streamed(&RuntimeStub::StreamPodSandboxMetrics, v1::StreamPodSandboxMetricsRequest(),
                    [](const v1::StreamPodSandboxMetricsResponse& part) {
                      std::vector<std::string> texts;
                      for (const auto& each : part.pod_sandbox_metrics()) {
                        std::string text = each.pod_sandbox_id() + ":";
                        for (const auto& container : each.container_metrics()) {
                          absl::StrAppend(&text, " ", container.container_id());
                        }
                        texts.push_back(text);
                      }
                      return texts;
                    });
  }

  std::vector<ContainerRecord> containers_;
  std::vector<SandboxRecord> pods_;
  std::atomic<int> looks_ = 0;
  int parts_ = 0;
};

TEST_F(ListStreamTest, FiltersAreThoseOfTheLists) {
  Have(/*containers=*/6, /*bytes=*/1);
  HavePods();
  Start();
  EXPECT_THAT(Containers({}), ElementsAre("c0", "c1", "c2", "c3", "c4", "c5"));
  v1::ContainerFilter of_pod;
  of_pod.set_pod_sandbox_id("odd");
  of_pod.mutable_state()->set_state(v1::CONTAINER_RUNNING);
  EXPECT_THAT(Containers(of_pod), ElementsAre("c3", "c5"));
  (*of_pod.mutable_label_selector())["kind"] = "first";
  EXPECT_THAT(Containers(of_pod), ElementsAre("c3"));
  v1::ContainerFilter none;
  none.set_id("x");
  EXPECT_THAT(Containers(none), IsEmpty());
  EXPECT_EQ(parts_, 0);

  EXPECT_THAT(ContainerStats({}), ElementsAre("c0", "c2", "c3", "c4", "c5")) << "c1 has exited";
  v1::ContainerStatsFilter first;
  (*first.mutable_label_selector())["kind"] = "first";
  EXPECT_THAT(ContainerStats(first), ElementsAre("c0", "c2", "c3"));

  EXPECT_THAT(Pods({}), ElementsAre("even", "gone", "odd"));
  v1::PodSandboxFilter ready;
  ready.mutable_state()->set_state(v1::SANDBOX_READY);
  EXPECT_THAT(Pods(ready), ElementsAre("even", "odd"));
  (*ready.mutable_label_selector())["kind"] = "odd";
  EXPECT_THAT(Pods(ready), ElementsAre("odd"));

  EXPECT_THAT(PodStats({}), ElementsAre("even: c0 c2 c4", "odd: c3 c5"));
  v1::PodSandboxStatsFilter odd;
  (*odd.mutable_label_selector())["kind"] = "odd";
  EXPECT_THAT(PodStats(odd), ElementsAre("odd: c3 c5"));
}

// A visit for each pod would be quadratic on a full node.
TEST_F(ListStreamTest, ContainersAreVisitedOnceForAllPods) {
  constexpr int kPods = 20;
  Have(/*containers=*/2 * kPods, /*bytes=*/1);
  HavePods();
  const SandboxRecord ready = pods_.front();
  pods_.clear();
  std::vector<std::string> expected;
  for (int i = 0; i < kPods; ++i) {
    pods_.push_back(ready);
    pods_.back().id = absl::StrCat("pod", i);
    containers_[i].sandbox_id = pods_.back().id;
    containers_[kPods + i].sandbox_id = pods_.back().id;
    // The second one has exited (Have).
    expected.push_back(i == 1 ? absl::StrCat("pod1: c", kPods + 1)
                              : absl::StrCat("pod", i, ": c", i, " c", kPods + i));
  }
  std::atomic<int> visits = 0;
  ON_CALL(engine_, ListContainers).WillByDefault([this, &visits] {
    ++visits;
    return containers_;
  });
  ON_CALL(engine_.mock_readings, Counters(_)).WillByDefault([](absl::string_view) {
    return runtime::ContainerCounters();
  });
  Start();
  visits = 0;
  EXPECT_THAT(PodStats({}), ElementsAreArray(expected));
  EXPECT_LE(visits, 2);
  visits = 0;
  EXPECT_THAT(PodMetrics(), ElementsAreArray(expected));
  EXPECT_LE(visits, 2) << "one of them for what is on the disk";
  server_->Shutdown(absl::ZeroDuration());  // before the engine's counters go
}

TEST_F(ListStreamTest, ContainersThatGoMeanwhileAreLeftOutOfTheirPods) {
  Have(/*containers=*/6, /*bytes=*/1);
  HavePods();
  Start();
  std::vector<ContainerRecord> before = containers_;
  ON_CALL(engine_, ListContainers).WillByDefault([before] { return before; });
  containers_.erase(containers_.begin() + 2);
  containers_.back().state = ContainerState::kExited;
  EXPECT_THAT(PodStats({}), ElementsAre("even: c0 c4", "odd: c3"));
}

TEST_F(ListStreamTest, WhatGoesMeanwhileIsLeftOut) {
  Have(/*containers=*/4, /*bytes=*/1);
  Start();
  std::vector<ContainerRecord> before = containers_;
  ON_CALL(engine_, ListContainers).WillByDefault([before] { return before; });
  containers_.erase(containers_.begin() + 2);
  EXPECT_THAT(Containers({}), ElementsAre("c0", "c1", "c3"));
}

// For a client that never lists: only something new under a removed id shows whether its old
// message was still kept.
TEST_F(ListStreamTest, WhatHasGoneIsForgotten) {
  Have(/*containers=*/3, /*bytes=*/1);
  HavePods();
  Start();
  EXPECT_THAT(Containers({}), SizeIs(3));
  EXPECT_THAT(Pods({}), SizeIs(3));
  ContainerRecord container = containers_.back();
  containers_.pop_back();
  SandboxRecord pod = pods_.back();
  pods_.pop_back();
  EXPECT_THAT(Containers({}), SizeIs(2));
  EXPECT_THAT(Pods({}), SizeIs(2));
  v1::ContainerConfig config;
  (*config.mutable_labels())["kind"] = "new";
  container.client_config = config.SerializeAsString();
  containers_.push_back(container);
  v1::PodSandboxConfig pod_config;
  (*pod_config.mutable_labels())["kind"] = "new";
  pod.client_config = pod_config.SerializeAsString();
  pods_.push_back(pod);
  v1::ContainerFilter containers;
  (*containers.mutable_label_selector())["kind"] = "new";
  EXPECT_THAT(Containers(containers), ElementsAre(container.id));
  v1::PodSandboxFilter pods;
  (*pods.mutable_label_selector())["kind"] = "new";
  EXPECT_THAT(Pods(pods), ElementsAre(pod.id));
}

TEST_F(ListStreamTest, ManyAreSentInParts) {
  Have(/*containers=*/100, /*bytes=*/100'000);
  Start();
  EXPECT_THAT(Containers({}), SizeIs(100));
  EXPECT_EQ(parts_, 10) << "eleven of them are more than a part takes";
}

// One part is made, and no other while it isn't read; other calls go on.
TEST_F(ListStreamTest, OneThatIsNeverReadHoldsNoThreadAndFewParts) {
  constexpr int kStreams = 8;
  options_.calls.lanes.look_threads = 2;
  Have(/*containers=*/100, /*bytes=*/100'000);
  Start();
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::StreamContainersResponse>>> readers;
  for (int i = 0; i < kStreams; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    contexts.back()->set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(5));
    readers.push_back(
        runtime_->StreamContainers(contexts.back().get(), v1::StreamContainersRequest()));
  }
  ASSERT_TRUE(WaitUntil([&] { return looks_ >= kStreams * 11; })) << "each makes its first part";
  v1::VersionResponse version;
  EXPECT_TRUE(Call(runtime_, &RuntimeStub::Version, v1::VersionRequest(), &version).ok());
  // gRPC buffers what it has taken from a stream; the rest hasn't been made.
  EXPECT_LT(looks_, kStreams * 100);
  for (const auto& context : contexts) context->TryCancel();
  v1::StreamContainersResponse part;
  for (const auto& reader : readers) {
    while (reader->Read(&part)) {
    }
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  EXPECT_THAT(Containers({}), SizeIs(100));
}

TEST_F(ListStreamTest, TheEndIsObservedOnce) {
  std::atomic<int> ok = 0;
  std::atomic<int> cancelled = 0;
  options_.calls.observer = [&](const FinishedCall& call) {
    if (call.method != "/runtime.v1.RuntimeService/StreamContainers") return;
    if (call.code == grpc::StatusCode::OK) ++ok;
    if (call.code == grpc::StatusCode::CANCELLED) ++cancelled;
  };
  Have(/*containers=*/100, /*bytes=*/100'000);
  Start();
  Containers({});
  EXPECT_EQ(ok, 1);
  {
    grpc::ClientContext context;
    const auto reader = runtime_->StreamContainers(&context, v1::StreamContainersRequest());
    v1::StreamContainersResponse part;
    ASSERT_TRUE(reader->Read(&part));
    context.TryCancel();
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  EXPECT_TRUE(WaitUntil([&] { return cancelled == 1; }));
  server_->Shutdown(absl::ZeroDuration());  // before the observer's state goes
  EXPECT_EQ(ok, 1);
  EXPECT_EQ(cancelled, 1);
}

TEST_F(ListStreamTest, AnErrorEndsIt) {
  ON_CALL(images_, Find(_))
      .WillByDefault(::testing::Return(absl::InternalError("database: damaged")));
  Start();
  grpc::ClientContext context;
  v1::StreamImagesRequest request;
  request.mutable_filter()->mutable_image()->set_image("busybox");
  const auto reader = image_->StreamImages(&context, request);
  v1::StreamImagesResponse part;
  EXPECT_FALSE(reader->Read(&part));
  const grpc::Status status = reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(status.error_message(), HasSubstr("database: damaged"));
}

}  // namespace
}  // namespace plimsoll::cri
