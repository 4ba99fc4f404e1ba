// For tests: mock engine and image store, and a server over them on a real socket.
#ifndef PLIMSOLL_CRI_MOCKS_FOR_TEST_H_
#define PLIMSOLL_CRI_MOCKS_FOR_TEST_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/dir_for_test.h"
#include "cri/runtime/v1/api.grpc.pb.h"
#include "cri/server.h"
#include "gmock/gmock.h"
#include "image/mock_images_for_test.h"
#include "plimsoll/v1/node.grpc.pb.h"

namespace plimsoll::cri {

class MockReadings : public runtime::Readings {
 public:
  MOCK_METHOD(absl::StatusOr<linux::CgroupStats>, Stats, (absl::string_view), (const, override));
  MOCK_METHOD(absl::StatusOr<linux::CgroupStats>, SandboxStats, (absl::string_view),
              (const, override));
  MOCK_METHOD(std::vector<Links>, SandboxLinks, (const std::vector<std::string>&),
              (const, override));
  MOCK_METHOD(absl::StatusOr<runtime::ContainerCounters>, Counters, (absl::string_view),
              (const, override));
  MOCK_METHOD(absl::StatusOr<runtime::FileSystem>, WritableLayersFileSystem, (), (const, override));
  using Writable = absl::StatusOr<std::shared_ptr<const runtime::WritableLayers>>;
  MOCK_METHOD(Writable, WritableLayersUsage, (absl::Duration), (override));
  MOCK_METHOD(Writable, LastWritableLayersUsage, (absl::Duration), (override));
  MOCK_METHOD(void, CallOffWalks, (), (override));
};

class MockCommands : public runtime::Commands {
 public:
  MOCK_METHOD(absl::StatusOr<runtime::ExecResult>, ExecSync,
              (absl::string_view, const runtime::ExecRequest&), (override));
  MOCK_METHOD(absl::StatusOr<std::unique_ptr<runtime::RunningCommand>>, StartExec,
              (absl::string_view, const runtime::ExecRequest&), (override));
  MOCK_METHOD(absl::StatusOr<runtime::AttachedContainer>, Attach, (absl::string_view, bool),
              (override));
  MOCK_METHOD(absl::StatusOr<UniqueFd>, PodSocket, (absl::string_view, int), (override));
  MOCK_METHOD(absl::Status, ReopenLog, (absl::string_view), (override));
};

// The visits and ListContainersOf give what the mocked lists give.
class MockEngine : public runtime::Engine {
 public:
  MOCK_METHOD(absl::StatusOr<std::string>, RunSandbox, (const runtime::SandboxSpec&, std::string),
              (override));
  MOCK_METHOD(absl::Status, StopSandbox, (absl::string_view), (override));
  MOCK_METHOD(absl::Status, RemoveSandbox, (absl::string_view), (override));
  MOCK_METHOD(absl::StatusOr<runtime::SandboxRecord>, GetSandbox, (absl::string_view),
              (const, override));
  MOCK_METHOD(std::vector<runtime::SandboxRecord>, ListSandboxes, (), (const, override));
  void VisitSandboxes(absl::FunctionRef<void(const runtime::SandboxRecord&)> visit) const override {
    for (const runtime::SandboxRecord& record : ListSandboxes()) visit(record);
  }
  MOCK_METHOD(std::vector<std::string>, Addresses, (absl::string_view), (const, override));
  MOCK_METHOD(absl::StatusOr<std::string>, CreateContainer,
              (absl::string_view, const runtime::ContainerSpec&, std::string), (override));
  MOCK_METHOD(absl::Status, StartContainer, (absl::string_view), (override));
  MOCK_METHOD(absl::Status, StopContainer, (absl::string_view, absl::Duration), (override));
  MOCK_METHOD(absl::Status, RemoveContainer, (absl::string_view), (override));
  MOCK_METHOD(absl::StatusOr<runtime::ContainerRecord>, GetContainer, (absl::string_view),
              (const, override));
  MOCK_METHOD(std::vector<runtime::ContainerRecord>, ListContainers, (), (const, override));
  void VisitContainers(
      absl::FunctionRef<void(const runtime::ContainerRecord&)> visit) const override {
    for (const runtime::ContainerRecord& record : ListContainers()) visit(record);
  }
  std::vector<runtime::ContainerRecord> ListContainersOf(
      const std::string& sandbox_id) const override {
    std::vector<runtime::ContainerRecord> records = ListContainers();
    std::erase_if(records, [&](const auto& record) { return record.sandbox_id != sandbox_id; });
    return records;
  }
  MOCK_METHOD(absl::StatusOr<runtime::EffectiveResources>, ReadResources, (absl::string_view),
              (override));
  MOCK_METHOD(absl::Status, UpdateResources, (absl::string_view, const runtime::ResourceUpdate&),
              (override));
  MOCK_METHOD(absl::Status, UpdateForPlugin, (absl::string_view, const runtime::ResourceUpdate&),
              (override));
  MOCK_METHOD(absl::StatusOr<runtime::EffectiveResources>, ReadSandboxResources,
              (absl::string_view), (const, override));
  MOCK_METHOD(absl::Status, UpdateSandboxResources,
              (absl::string_view, const runtime::SandboxUpdate&), (override));
  MOCK_METHOD(void, CallOffUpdates, (), (override));
  MOCK_METHOD(absl::StatusOr<runtime::PodPicture>, Picture, (absl::string_view), (const, override));
  MOCK_METHOD(absl::Status, TakeFacts, (absl::string_view, runtime::PodFacts), (override));
  using Classes = std::map<std::string, qos::EffectiveClass>;
  MOCK_METHOD(absl::StatusOr<Classes>, ContainerClasses, (absl::string_view, bool), (override));
  MOCK_METHOD(absl::StatusOr<Classes>, SandboxClasses, (absl::string_view, bool), (override));
  MOCK_METHOD(absl::Status, UpdateSandboxClasses, (absl::string_view, const qos::ClassNames&),
              (override));
  MOCK_METHOD(void, SetNodeShare, (const runtime::NodeShare&), (override));
  MOCK_METHOD(void, RefuseOutsideShare, (bool), (override));
  runtime::Readings& readings() override { return mock_readings; }
  runtime::Commands& commands() override { return mock_commands; }
  MOCK_METHOD(absl::StatusOr<runtime::ContainerRecord>, WaitContainer,
              (absl::string_view, absl::Time), (override));
  MOCK_METHOD(std::vector<runtime::Finding>, Inspect, (), (override));
  MOCK_METHOD(std::vector<std::string>, RecoveryTroubles, (), (const, override));

  ::testing::NiceMock<MockReadings> mock_readings;
  ::testing::NiceMock<MockCommands> mock_commands;
};

// A server with mocks behind it and stubs in front.
class ServerFixture : public ::testing::Test {
 protected:
  ServerFixture() {
    options_.socket_path = dir_.path() + "/plimsoll.sock";
    options_.engine = &engine_;
    options_.images = &images_;
    options_.events = &events_;
    options_.info.version = "1.2.3";
    ON_CALL(engine_.mock_readings, WritableLayersUsage)
        .WillByDefault(::testing::Return(std::make_shared<const runtime::WritableLayers>()));
    ON_CALL(engine_.mock_readings, LastWritableLayersUsage)
        .WillByDefault(::testing::Return(std::make_shared<const runtime::WritableLayers>()));
    ON_CALL(engine_.mock_readings, SandboxLinks)
        .WillByDefault([](const std::vector<std::string>& ids) {
          return std::vector<runtime::Readings::Links>(ids.size(),
                                                       std::vector<linux::LinkCounters>());
        });
    ON_CALL(engine_.mock_readings, WritableLayersFileSystem)
        .WillByDefault(::testing::Return(absl::NotFoundError("none in this test")));
    ON_CALL(engine_.mock_readings, Counters)
        .WillByDefault(::testing::Return(absl::NotFoundError("none in this test")));
    ON_CALL(engine_, ContainerClasses).WillByDefault(::testing::Return(MockEngine::Classes()));
    ON_CALL(engine_, SandboxClasses).WillByDefault(::testing::Return(MockEngine::Classes()));
  }

  void Start() {
    absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(options_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(16 << 20);  // as kubelet's
    channel_ = grpc::CreateCustomChannel("unix:" + options_.socket_path,
                                         grpc::InsecureChannelCredentials(), arguments);
    runtime_ = ::runtime::v1::RuntimeService::NewStub(channel_);
    image_ = ::runtime::v1::ImageService::NewStub(channel_);
    node_ = ::plimsoll::v1::NodeService::NewStub(channel_);
  }

  // One call: Call(runtime_, &Stub::Version, request, &response).
  template <typename Stub, typename Request, typename Response>
  grpc::Status Call(const std::unique_ptr<Stub>& stub,
                    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    return (stub.get()->*method)(&context, request, response);
  }

  using RuntimeStub = ::runtime::v1::RuntimeService::Stub;
  using ImageStub = ::runtime::v1::ImageService::Stub;
  using NodeStub = ::plimsoll::v1::NodeService::Stub;

  TestDir dir_;
  ::testing::NiceMock<MockEngine> engine_;
  ::testing::NiceMock<image::MockImages> images_;
  runtime::EventLog events_;
  ServerOptions options_{.calls = {.lanes = {.host = *FsRoot::Open("/")}}};
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<RuntimeStub> runtime_;
  std::unique_ptr<ImageStub> image_;
  std::unique_ptr<NodeStub> node_;
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_MOCKS_FOR_TEST_H_
