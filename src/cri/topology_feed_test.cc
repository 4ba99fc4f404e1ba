// The stream of topologies through a real server.
#include "cri/topology_feed.h"

#include <atomic>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "cri/calls/observer.h"
#include "cri/mocks_for_test.h"
#include "topology/wire/translate_topology.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;

topology::Topology Of(int cpus) {
  topology::Zone zone = {.name = "core", .type = topology::kCore, .parent = "root"};
  zone.attributes[topology::kCpuIds] = "0";
  zone.costs = {{"core", 10}};
  zone.resources = {{"cpu", *resources::Quantity::Parse(absl::StrCat(cpus, "000m"))}};
  return {{zone}};
}

class TopologyFeedTest : public ServerFixture {
 protected:
  struct Stream {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::DynamicRuntimeConfigResponse>> reader;
  };

  void SetUp() override {
    options_.topology = &publisher_;
    options_.topology_hooks.on_sent = [this](TopologyFeed::Reader reader) {
      ++sent_;
      if (reader == TopologyFeed::Reader::kObserver) ++observed_;
    };
    options_.topology_hooks.on_client = [this](bool is_there) { clients_ += is_there ? 1 : -1; };
    options_.topology_hooks.why_none = why_none_;
    options_.topology_hooks.first_within = first_within_;
    Start();
  }
  void TearDown() override { server_.reset(); }  // before its hooks' state

  std::unique_ptr<Stream> Open(bool looks_only = false) {
    auto stream = std::make_unique<Stream>();
    if (looks_only) stream->context.AddMetadata(kObserverMetadata, "1");
    // Only a guard against an endless wait; a bound on speed would fail on a busy machine.
    stream->context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(10));
    stream->reader = runtime_->GetDynamicRuntimeConfig(&stream->context, {});
    return stream;
  }
  // The capacity in the next message; "end" if the stream has ended.
  static std::string Next(Stream& stream) {
    v1::DynamicRuntimeConfigResponse response;
    if (!stream.reader->Read(&response)) return "end";
    const auto topology = topology::TopologyFrom(response.resource_topology());
    EXPECT_TRUE(topology.ok()) << topology.status();
    return response.resource_topology().zones(0).resources(0).capacity().string();
  }
  static bool WaitFor(const std::function<bool()>& condition) {
    for (const absl::Time end = absl::Now() + absl::Seconds(30); absl::Now() < end;) {
      if (condition()) return true;
      absl::SleepFor(absl::Milliseconds(2));
    }
    return condition();
  }

  topology::Publisher publisher_;
  std::atomic<int> sent_ = 0;
  std::atomic<int> observed_ = 0;
  std::atomic<int> clients_ = 0;
  absl::Duration first_within_ = absl::Minutes(10);
  std::function<std::string()> why_none_ = [] { return "NotTold: no file"; };
};

TEST_F(TopologyFeedTest, WhoOnlyLooksIsToldApart) {
  publisher_.Publish(Of(1));
  EXPECT_EQ(Next(*Open(/*looks_only=*/true)), "1000m");
  EXPECT_TRUE(WaitFor([&] { return observed_ == 1; }));
  EXPECT_EQ(Next(*Open()), "1000m");
  EXPECT_TRUE(WaitFor([&] { return sent_ == 2; }));
  EXPECT_EQ(observed_, 1);
}

// A client that has left is not counted any more.
TEST_F(TopologyFeedTest, AClientCountsFromItsFirstMessageToItsEnd) {
  const auto looker = Open(/*looks_only=*/true);
  const auto first = Open();
  const auto second = Open();
  EXPECT_EQ(clients_, 0) << "none has anything";
  publisher_.Publish(Of(1));
  for (const auto& stream : {&looker, &first, &second}) EXPECT_EQ(Next(**stream), "1000m");
  EXPECT_TRUE(WaitFor([&] { return clients_ == 2; }));
  publisher_.Publish(Of(2));
  EXPECT_EQ(Next(*first), "2000m");
  first->context.TryCancel();
  looker->context.TryCancel();
  EXPECT_TRUE(WaitFor([&] { return clients_ == 1; }));
  second->context.TryCancel();
  EXPECT_TRUE(WaitFor([&] { return clients_ == 0; }));
}

class HastyFeedTest : public TopologyFeedTest {
 protected:
  HastyFeedTest() { first_within_ = absl::Milliseconds(50); }
};

// On UNIMPLEMENTED a client does without for good.
TEST_F(HastyFeedTest, WhereNoTopologyComesTheClientIsToTryAgain) {
  const auto stream = Open();
  EXPECT_EQ(Next(*stream), "end");
  const grpc::Status status = stream->reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(),
            "the node's topology is not there yet: NotTold: no file; try again");
  publisher_.Publish(Of(1));
  const auto again = Open();
  EXPECT_EQ(Next(*again), "1000m");
  absl::SleepFor(2 * first_within_);
  publisher_.Publish(Of(2));
  EXPECT_EQ(Next(*again), "2000m") << "one that has had a topology stays";
}

class AskingFeedTest : public HastyFeedTest {
 protected:
  AskingFeedTest() {
    why_none_ = [this] {
      EXPECT_EQ(publisher_.Newest().number, 0u);
      asked_.Notify();
      published_.WaitForNotification();
      return "";
    };
  }

  absl::Notification asked_;
  absl::Notification published_;
};

// In a debug build Abseil ends the process on locks that are taken in two orders.
TEST_F(AskingFeedTest, ATopologyThatComesAtTheLastMomentGoesOut) {
  const auto stream = Open();
  asked_.WaitForNotification();
  publisher_.Publish(Of(1));
  published_.Notify();
  EXPECT_EQ(Next(*stream), "1000m");
}

TEST_F(HastyFeedTest, WhoGoesWhileItWaitsCostsNothing) {
  for (int i = 0; i < 20; ++i) Open()->context.TryCancel();
  absl::SleepFor(2 * first_within_);
  // A stream that was still held would get this one too, and count.
  publisher_.Publish(Of(1));
  const auto late = Open();
  EXPECT_EQ(Next(*late), "1000m");
  EXPECT_TRUE(WaitFor([&] { return clients_ == 1; }));
  absl::SleepFor(2 * first_within_);
  EXPECT_EQ(clients_, 1);
}

TEST_F(TopologyFeedTest, TheNewestAtOnceAndThenEachChange) {
  publisher_.Publish(Of(1));
  const auto stream = Open();
  EXPECT_EQ(Next(*stream), "1000m");
  EXPECT_FALSE(publisher_.Publish(Of(1)));  // no message
  EXPECT_TRUE(publisher_.Publish(Of(2)));
  EXPECT_EQ(Next(*stream), "2000m");
  const auto another = Open();
  EXPECT_EQ(Next(*another), "2000m");
  EXPECT_TRUE(WaitFor([&] { return sent_ == 3; }));
}

TEST_F(TopologyFeedTest, AStreamMayComeBeforeTheFirstTopology) {
  const auto stream = Open();
  publisher_.Publish(Of(4));
  EXPECT_EQ(Next(*stream), "4000m");
}

// More than the transport's windows hold: most are skipped, and the last must come.
TEST_F(TopologyFeedTest, ASlowClientGetsTheNewest) {
  publisher_.Publish(Of(0));
  const auto stream = Open();
  ASSERT_EQ(Next(*stream), "0000m");
  constexpr int kEditions = 200;
  for (int i = 1; i <= kEditions; ++i) {
    topology::Topology large = Of(i);
    large.zones[0].attributes["ballast"] = std::string(100000, 'x');
    publisher_.Publish(std::move(large));
  }
  int messages = 0;
  std::string last;
  while (last != absl::StrCat(kEditions, "000m")) {
    last = Next(*stream);
    ASSERT_NE(last, "end");
    ++messages;
  }
  EXPECT_LT(messages, kEditions / 2);
}

TEST_F(TopologyFeedTest, WhoGoesCostsNothing) {
  publisher_.Publish(Of(1));
  for (int i = 0; i < 50; ++i) {
    const auto stream = Open();
    if (i % 2 == 0) {
      EXPECT_EQ(Next(*stream), "1000m");
    }
    stream->context.TryCancel();
  }
  // The slow ones don't hold up a stream that stays.
  const auto stream = Open();
  EXPECT_EQ(Next(*stream), "1000m");
  publisher_.Publish(Of(2));
  EXPECT_EQ(Next(*stream), "2000m");
}

TEST_F(TopologyFeedTest, TheServersEndEndsIt) {
  publisher_.Publish(Of(1));
  const auto stream = Open();
  EXPECT_EQ(Next(*stream), "1000m");
  EXPECT_TRUE(server_->Shutdown(absl::ZeroDuration()));
  EXPECT_EQ(Next(*stream), "end");
}

TEST_F(TopologyFeedTest, ManyStreamsAndManyChanges) {
  publisher_.Publish(Of(0));
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 200; ++i) streams.push_back(Open());
  for (int i = 1; i <= 200; ++i) publisher_.Publish(Of(i));
  for (const auto& stream : streams) {
    std::string capacity;
    while (capacity != "200000m") {
      capacity = Next(*stream);
      ASSERT_NE(capacity, "end");
    }
  }
}

TEST_F(TopologyFeedTest, ACapacityThatIsNoQuantityIsRefused) {
  v1::ResourceTopology message;
  topology::FillTopology(Of(1), &message);
  message.mutable_zones(0)->mutable_resources(0)->mutable_capacity()->set_string("many");
  const auto topology = topology::TopologyFrom(message);
  EXPECT_TRUE(absl::IsInvalidArgument(topology.status()));
  EXPECT_THAT(topology.status().message(),
              ::testing::HasSubstr("zone \"core\", resource \"cpu\": "));
}

TEST_F(ServerFixture, WithoutATopologyTheCallIsUnimplemented) {
  Start();
  grpc::ClientContext context;
  const auto reader = runtime_->GetDynamicRuntimeConfig(&context, {});
  v1::DynamicRuntimeConfigResponse response;
  EXPECT_FALSE(reader->Read(&response));
  const grpc::Status status = reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(status.error_message(), ::testing::HasSubstr("KubeletResourceDiscoveryFromCRI"));
}

}  // namespace
}  // namespace plimsoll::cri
