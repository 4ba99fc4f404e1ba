#include "cri/provider_server.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "base/unique_fd.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plimsoll/v1/topology.grpc.pb.h"

namespace plimsoll::cri {
namespace {

namespace node = ::plimsoll::v1;
using ::testing::HasSubstr;

topology::Machine TwoCpus() {
  topology::Machine machine;
  machine.cpus = *resources::CpuSet::Parse("0-1");
  return machine;
}

node::ProvideRequest OneZone(const std::string& cpus, const std::string& capacity = "1") {
  node::ProvideRequest request;
  auto* zone = request.mutable_topology()->add_zones();
  zone->set_name("a");
  (*zone->mutable_attributes())["cpu-ids"] = cpus;
  auto* cpu = zone->add_resources();
  cpu->set_name("cpu");
  cpu->mutable_capacity()->set_string(capacity);
  return request;
}

// A provider.
class Provider {
 public:
  explicit Provider(const std::string& socket) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stub_ = node::TopologyProviderService::NewStub(
        grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments));
    stream_ = stub_->Provide(&context_);
  }
  ~Provider() {
    context_.TryCancel();
    if (!finished_) static_cast<void>(stream_->Finish());
  }
  // "ok", or the error.
  std::string Push(node::ProvideRequest request, const std::string& name = "p") {
    request.set_provider(name);
    node::ProvideResponse response;
    if (!stream_->Write(request) || !stream_->Read(&response)) return "the call has ended";
    EXPECT_EQ(response.accepted(), response.reason().empty());
    return response.accepted() ? "ok" : response.reason();
  }
  grpc::Status Finish() {
    finished_ = true;
    return stream_->Finish();
  }

 private:
  std::unique_ptr<node::TopologyProviderService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<node::ProvideRequest, node::ProvideResponse>> stream_;
  bool finished_ = false;
};

class ProviderServerTest : public ::testing::Test {
 protected:
  ProviderServerTest() {
    // Gives pushed topologies a machine to be checked against.
    static_cast<void>(source_->Look(machine_));
    auto server =
        ProviderServer::Start({.socket = {.path = socket_, .mode = 0600}, .source = source_});
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  ~ProviderServerTest() override {
    ends_ = true;
    tracker_.join();
  }
  std::string Cpus() {
    const topology::SourceView view = source_->Look(machine_);
    return view.topology ? view.topology->zones.at(0).attributes.at("cpu-ids") : "kernel";
  }

  const topology::Machine machine_ = TwoCpus();
  TestDir dir_;
  const std::string socket_ = dir_.path() + "/topology.sock";
  const std::shared_ptr<topology::ProviderSource> source_ =
      *topology::ProviderSource::Make(absl::ZeroDuration());
  std::unique_ptr<ProviderServer> server_;
  std::atomic<bool> ends_ = false;
  // Puts into force what comes, as a tracker does.
  std::thread tracker_{[this] {
    for (; !ends_; absl::SleepFor(absl::Milliseconds(1))) {
      if (!source_->Heard()) continue;
      static_cast<void>(source_->Look(machine_));
      source_->TakeOutcome("");
    }
  }};
};

TEST_F(ProviderServerTest, TakesOneAfterTheOther) {
  Provider provider(socket_);
  EXPECT_EQ(provider.Push({}), "ok");
  EXPECT_EQ(Cpus(), "kernel");
  EXPECT_EQ(provider.Push(OneZone("0")), "ok");
  EXPECT_EQ(Cpus(), "0");
  EXPECT_EQ(provider.Push(OneZone("0-1", "2")), "ok");
  EXPECT_EQ(Cpus(), "0-1");
}

TEST_F(ProviderServerTest, ABadOneIsAnsweredAndTheCallGoesOn) {
  Provider provider(socket_);
  EXPECT_EQ(provider.Push(OneZone("0")), "ok");
  EXPECT_THAT(provider.Push(OneZone("2")), HasSubstr("zone \"a\" has CPUs 2"));
  EXPECT_THAT(provider.Push(OneZone("0", "many")), HasSubstr("zone \"a\", resource \"cpu\""));
  EXPECT_THAT(provider.Push(OneZone("0", "-1")), HasSubstr("negative amount"));
  node::ProvideRequest empty;
  empty.mutable_topology();
  EXPECT_THAT(provider.Push(empty), HasSubstr("without zones"));
  EXPECT_EQ(Cpus(), "0");
  EXPECT_EQ(provider.Push(OneZone("1")), "ok");
  EXPECT_EQ(Cpus(), "1");
}

TEST_F(ProviderServerTest, WhoGoesIsGone) {
  {
    Provider provider(socket_);
    EXPECT_EQ(provider.Push(OneZone("0")), "ok");
  }
  EXPECT_TRUE(WaitUntil([&] { return Cpus() == "kernel"; }));
}

// The process and its connection exist, but nothing answers.
TEST_F(ProviderServerTest, WhoHangsIsGone) {
  server_.reset();
  server_ = *ProviderServer::Start({.socket = {.path = socket_, .mode = 0600},
                                    .source = source_,
                                    .patience = absl::Seconds(10)});
  int input[2];
  ASSERT_EQ(pipe2(input, O_CLOEXEC), 0);
  const UniqueFd its_input(input[0]);
  UniqueFd ours(input[1]);
  Command command;
  command.argv = {PLIMSOLL_TOPOLOGY_PROVIDER, socket_, "hanging"};
  command.descriptors = {{its_input.get(), 0}};
  auto provider = Spawn(command);
  ASSERT_TRUE(provider.ok()) << provider.status();
  const std::string line = R"({"zones": [{"name": "a", "attributes": {"cpu-ids": "0"}}]})"
                           "\n";
  ASSERT_EQ(write(ours.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
  EXPECT_TRUE(WaitUntil([&] { return Cpus() == "0"; }));
  ASSERT_TRUE(provider->Signal(SIGSTOP).ok());
  EXPECT_TRUE(WaitUntil([&] { return Cpus() == "kernel"; }));
  ASSERT_TRUE(provider->Signal(SIGKILL).ok());
  EXPECT_TRUE(provider->Wait(absl::Now() + absl::Seconds(30)).ok());
}

TEST_F(ProviderServerTest, ASecondIsToldOfTheFirst) {
  auto first = std::make_unique<Provider>(socket_);
  EXPECT_EQ(first->Push(OneZone("0"), "first"), "ok");
  Provider second(socket_);
  EXPECT_EQ(second.Push(OneZone("1"), "second"), "the call has ended");
  const grpc::Status status = second.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("there is one already, \"first\""));
  EXPECT_EQ(Cpus(), "0");
  first.reset();
  EXPECT_TRUE(WaitUntil([&] { return Provider(socket_).Push(OneZone("1")) == "ok"; }));
}

TEST_F(ProviderServerTest, CapacitiesAreToldInCanonicalForm) {
  Provider provider(socket_);
  EXPECT_EQ(provider.Push(OneZone("0", "1000m")), "ok");
  const topology::SourceView view = source_->Look(machine_);
  ASSERT_TRUE(view.topology);
  EXPECT_EQ(view.topology->zones.at(0).resources.at(0).capacity.text(), "1");
}

// A client that only connects is in nobody's way.
TEST_F(ProviderServerTest, OneWithoutANameIsNone) {
  Provider silent(socket_);
  Provider nameless(socket_);
  EXPECT_EQ(nameless.Push(OneZone("0"), ""), "the call has ended");
  const grpc::Status status = nameless.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("the first request must name the provider"));
  EXPECT_EQ(Provider(socket_).Push(OneZone("0")), "ok");
}

TEST_F(ProviderServerTest, WhatIsTooLargeIsNotTaken) {
  server_.reset();
  server_ = *ProviderServer::Start(
      {.socket = {.path = socket_, .mode = 0600}, .source = source_, .max_message_bytes = 10000});
  Provider provider(socket_);
  node::ProvideRequest large = OneZone("0");
  large.mutable_topology()->mutable_zones(0)->set_type(std::string(20000, 'x'));
  EXPECT_EQ(provider.Push(large), "the call has ended");
  EXPECT_FALSE(provider.Finish().ok());
  EXPECT_EQ(Cpus(), "kernel");
  EXPECT_EQ(Provider(socket_).Push(OneZone("0")), "ok");
}

TEST_F(ProviderServerTest, ItsEndEndsTheCallAndRemovesTheSocket) {
  Provider provider(socket_);
  EXPECT_EQ(provider.Push(OneZone("0")), "ok");
  struct stat info;
  ASSERT_EQ(stat(socket_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  server_.reset();
  EXPECT_NE(stat(socket_.c_str(), &info), 0);
  EXPECT_EQ(provider.Push(OneZone("0")), "the call has ended");
  EXPECT_TRUE(WaitUntil([&] { return Cpus() == "kernel"; }));
}

TEST_F(ProviderServerTest, ADirectoryThatIsNotThereIsNamed) {
  const auto server = ProviderServer::Start(
      {.socket = {.path = dir_.path() + "/none/t.sock", .mode = 0600}, .source = source_});
  EXPECT_FALSE(server.ok());
  EXPECT_THAT(std::string(server.status().message()), HasSubstr("topology provider's socket"));
}

TEST_F(ProviderServerTest, ASocketThatAnswersIsAnothers) {
  const auto second = ProviderServer::Start({.socket = {.path = socket_}, .source = source_});
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
}

}  // namespace
}  // namespace plimsoll::cri
