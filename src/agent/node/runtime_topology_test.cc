// A runtime behind gRPC: one that has GetDynamicRuntimeConfig, and one that hasn't.
#include "agent/node/runtime_topology.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/synchronization/mutex.h"
#include "agent/node/node_view.h"
#include "base/dir_for_test.h"
#include "base/wait_until_for_test.h"
#include "cri/runtime/v1/api.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pod_runner/runtime_client/raw_stream_for_test.h"

namespace plimsoll::agent {
namespace {

namespace cri = ::runtime::v1;
using ::testing::HasSubstr;

// A containerd 1.6: every call but Version is UNIMPLEMENTED.
class OtherRuntime : public cri::RuntimeService::Service {
 public:
  grpc::Status Version(grpc::ServerContext*, const cri::VersionRequest*,
                       cri::VersionResponse* response) override {
    response->set_runtime_name("containerd");
    response->set_runtime_version("1.6.20");
    return grpc::Status::OK;
  }
};

// Sends one topology on each stream and then nothing more.
class TellingRuntime : public OtherRuntime {
 public:
  grpc::Status GetDynamicRuntimeConfig(
      grpc::ServerContext* context, const cri::DynamicRuntimeConfigRequest*,
      grpc::ServerWriter<cri::DynamicRuntimeConfigResponse>* writer) override {
    cri::DynamicRuntimeConfigResponse response;
    auto* zone = response.mutable_resource_topology()->add_zones();
    zone->set_name("all");
    auto* memory = zone->add_resources();
    memory->set_name("memory");
    memory->mutable_capacity()->set_string(capacity);
    writer->Write(response);
    WaitUntil([&] { return context->IsCancelled(); });
    return grpc::Status::OK;
  }
  std::string capacity = "3Gi";
};

// The first stream sends a topology and then bytes that are no message. Each later one sends the
// topology once `goes_on`.
class BrokenRuntime
    : public cri::RuntimeService::WithRawCallbackMethod_GetDynamicRuntimeConfig<OtherRuntime> {
 public:
  grpc::ServerWriteReactor<grpc::ByteBuffer>* GetDynamicRuntimeConfig(
      grpc::CallbackServerContext*, const grpc::ByteBuffer*) override {
    pod::RawStream stream;
    if (!is_broken_ || goes_on) stream.messages.push_back(TopologyBytes());
    if (!is_broken_.exchange(true)) stream.messages.push_back("\xff\xff\xff\xff");
    return new pod::RawStreamWriter(std::move(stream));
  }
  std::atomic<bool> goes_on = false;

 private:
  // The topology of a node of one zone.
  static std::string TopologyBytes() {
    cri::DynamicRuntimeConfigResponse response;
    auto* zone = response.mutable_resource_topology()->add_zones();
    zone->set_name("all");
    for (const auto& [name, capacity] : {std::pair("cpu", "4"), {"memory", "3Gi"}}) {
      auto* resource = zone->add_resources();
      resource->set_name(name);
      resource->mutable_capacity()->set_string(capacity);
    }
    return response.SerializeAsString();
  }

  std::atomic<bool> is_broken_ = false;
};

class RuntimeTopologyTest : public ::testing::Test {
 protected:
  void Serve(grpc::Service* service) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
    builder.RegisterService(service);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    runtime_ = *OpenRuntimeTopology(address_);
  }
  TestDir dir_;
  const std::string address_ = "unix://" + dir_.path() + "/socket";
  OtherRuntime other_;
  TellingRuntime telling_;
  BrokenRuntime broken_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<RuntimeTopology> runtime_;
};

TEST_F(RuntimeTopologyTest, MessagesAreTopologies) {
  Serve(&telling_);
  EXPECT_EQ(*runtime_->Version(), "containerd://1.6.20");
  absl::Mutex mutex;
  std::vector<absl::StatusOr<topology::Topology>> told;
  absl::Status end;
  std::thread follower([&] {
    end = runtime_->Follow([&](absl::StatusOr<topology::Topology> topology) {
      absl::MutexLock lock(&mutex);
      told.push_back(std::move(topology));
      return true;
    });
  });
  EXPECT_TRUE(WaitUntil([&] {
    absl::MutexLock lock(&mutex);
    return !told.empty();
  }));
  runtime_->Stop();
  follower.join();
  EXPECT_TRUE(absl::IsCancelled(end)) << end;
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0]->zones.at(0).resources.at(0).capacity.text(), "3Gi");
  EXPECT_FALSE(runtime_->Version().ok()) << "stopped for good";
}

TEST_F(RuntimeTopologyTest, AMessageThatIsNoTopologyIsOneAllTheSame) {
  telling_.capacity = "much";
  Serve(&telling_);
  std::string why;
  runtime_
      ->Follow([&](const absl::StatusOr<topology::Topology>& topology) {
        why = std::string(topology.status().message());
        runtime_->Stop();
        return true;
      })
      .IgnoreError();
  EXPECT_THAT(why, HasSubstr("zone \"all\", resource \"memory\""));
}

// KEP-5224, "GetDynamicRuntimeConfig": the node is NotReady until a message can be used again.
TEST_F(RuntimeTopologyTest, AMessageThatCannotBeDecodedMakesTheNodeNotReady) {
  Serve(&broken_);
  std::vector<std::string> events;
  absl::Mutex mutex;
  NodeHooks hooks;
  hooks.on_event = [&](const NodeStatusEvent& event) {
    const absl::MutexLock lock(&mutex);
    events.push_back(event.message);
  };
  auto view = NodeView::Start(
      {.name = "edge", .state_directory = dir_.path()},
      {.host = *FsRoot::Open("/"), .runtime = std::move(runtime_), .hooks = std::move(hooks)});
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_TRUE((*view)->AwaitFirst()) << (*view)->State().message;
  EXPECT_TRUE(WaitUntil([&] { return !(*view)->State().ready; }));
  EXPECT_EQ((*view)->State().reason, "TopologyUnusable");
  EXPECT_THAT((*view)->State().message, HasSubstr("can't be decoded"));
  EXPECT_EQ((*view)->State().capacity.at("cpu").Value(), 4);
  // The event comes a moment after the state has changed.
  EXPECT_TRUE(WaitUntil([&] {
    const absl::MutexLock lock(&mutex);
    return absl::c_any_of(events, [](const std::string& event) {
      return absl::StrContains(event, "can't be decoded");
    });
  }));
  broken_.goes_on = true;
  server_->Shutdown(std::chrono::system_clock::now());  // as a runtime that is restarted
  Serve(&broken_);
  EXPECT_TRUE(WaitUntil([&] { return (*view)->State().ready; })) << (*view)->State().message;
}

TEST_F(RuntimeTopologyTest, WithoutTheCallItIsUnimplemented) {
  Serve(&other_);
  EXPECT_TRUE(absl::IsUnimplemented(runtime_->Follow([](const auto&) { return true; })));
}

TEST_F(RuntimeTopologyTest, NobodyListens) {
  runtime_ = *OpenRuntimeTopology(address_);
  EXPECT_TRUE(absl::IsUnavailable(runtime_->Version().status()));
  EXPECT_TRUE(absl::IsInvalidArgument(OpenRuntimeTopology("tcp://127.0.0.1:1").status()));
}

// This machine's own topology, since the runtime reports none.
TEST_F(RuntimeTopologyTest, ANodeOfARuntimeWithoutTheCallIsTheMachine) {
  Serve(&other_);
  auto view = NodeView::Start({.name = "edge", .state_directory = dir_.path()},
                              {.host = *FsRoot::Open("/"), .runtime = std::move(runtime_)});
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_TRUE((*view)->AwaitFirst()) << (*view)->State().message;
  const NodeState state = (*view)->State();
  EXPECT_EQ(state.source, TopologySource::kLocal);
  EXPECT_GT(state.capacity.at("cpu").Value(), 0);
  EXPECT_GT(state.allocatable.at("memory").Value(), 0);
  EXPECT_FALSE(state.maps->boot_id.empty());
}

}  // namespace
}  // namespace plimsoll::agent
