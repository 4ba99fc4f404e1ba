#include "pod_runner/runtime_client/read_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/dir_for_test.h"
#include "pod_runner/runtime_client/raw_stream_for_test.h"

namespace plimsoll::pod {
namespace {

using ::testing::ElementsAre;
using RawService =
    cri::RuntimeService::WithRawCallbackMethod_GetContainerEvents<cri::RuntimeService::Service>;

class ScriptedService final : public RawService {
 public:
  grpc::ServerWriteReactor<grpc::ByteBuffer>* GetContainerEvents(grpc::CallbackServerContext*,
                                                                 const grpc::ByteBuffer*) override {
    return new RawStreamWriter(stream);
  }
  RawStream stream;
};

std::string EventOf(const std::string& container) {
  cri::ContainerEventResponse event;
  event.set_container_id(container);
  return event.SerializeAsString();
}

class ReadStreamTest : public testing::Test {
 protected:
  absl::Status Read(RawStream stream) {
    service_.stream = std::move(stream);
    const std::string address = "unix://" + dir_.path() + "/socket";
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    const auto server = builder.BuildAndStart();
    const auto stub = cri::RuntimeService::NewStub(
        grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    const auto reader = stub->GetContainerEvents(&context, {});
    const auto on_message = [this](const cri::ContainerEventResponse& message) {
      read_.push_back(message.container_id());
      return message.container_id() != "enough";
    };
    return ReadStream<cri::ContainerEventResponse>(context, *reader, on_message);
  }

  TestDir dir_;
  ScriptedService service_;
  std::vector<std::string> read_;
};

TEST_F(ReadStreamTest, AMessageThatCannotBeDecodedEndsItThoughTheServerGoesOn) {
  for (const std::string& wrong : {std::string("\xff\xff\xff\xff"), std::string("\x0a\x01\xff")}) {
    read_.clear();
    const absl::Status status = Read({.messages = {EventOf("a"), wrong, EventOf("b")}, .end = {}});
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(read_, ElementsAre("a"));
  }
}

TEST_F(ReadStreamTest, TheServersStatusIsTheResult) {
  EXPECT_TRUE(Read({.messages = {EventOf("a")}, .end = grpc::Status::OK}).ok());
  EXPECT_THAT(read_, ElementsAre("a"));
  const grpc::Status refusal(grpc::StatusCode::UNIMPLEMENTED, "no events here");
  const absl::Status status = Read({.messages = {}, .end = refusal});
  EXPECT_EQ(status, absl::UnimplementedError("no events here"));
}

TEST_F(ReadStreamTest, AReaderThatHasEnoughEndsIt) {
  EXPECT_TRUE(Read({.messages = {EventOf("a"), EventOf("enough"), EventOf("b")}, .end = {}}).ok());
  EXPECT_THAT(read_, ElementsAre("a", "enough"));
}

}  // namespace
}  // namespace plimsoll::pod
