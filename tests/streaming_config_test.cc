// The streaming server's configuration, and its effect for clients.
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/loopback_listener_for_test.h"
#include "base/programs/subprocess.h"
#include "harness/kernel.h"
#include "harness/own_mark.h"
#include "harness/stream_status.h"
#include "harness/streaming_node.h"
#include "image/registry_for_test.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// An address of this process's own on the loopback network, so that the port is free there.
std::string OwnAddress() {
  const int pid = getpid();
  return absl::StrCat("127.", 128 + (pid >> 16 & 63), ".", pid >> 8 & 255, ".", pid & 255,
                      ":27381");
}

class FixedAddressTest : public StreamingNodeTest {
 protected:
  FixedAddressTest()
      : StreamingNodeTest(absl::StrCat("streaming: {address: \"", OwnAddress(), "\"}\n")) {}
};

TEST_F(FixedAddressTest, StreamsAreServedThereAlsoByTheNextDaemon) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  const std::string base = absl::StrCat("http://", OwnAddress());
  std::string unused;
  for (const bool killed : {true, false}) {
    SCOPED_TRACE(killed);
    unused = ExecUrl(container, "echo streamed");
    EXPECT_THAT(unused, StartsWith(base + "/exec/"));
    EXPECT_THAT(AttachUrl(container), StartsWith(base + "/attach/"));
    EXPECT_EQ(StreamedOutput(container, "echo streamed"), "streamed\n");
    if (killed) {
      node_.KillDaemon();
    } else {
      ASSERT_TRUE(node_.StopDaemon().ok());
    }
    const absl::Status started = node_.StartDaemon();
    ASSERT_TRUE(started.ok()) << started;
  }
  EXPECT_EQ(StreamedOutput(container, "echo streamed"), "streamed\n");
  // The previous daemon's URLs are void.
  const auto refused = WebSocketClient::Connect(unused, "v5.channel.k8s.io");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(std::string(refused.status().message()), StartsWith("404"));
}

class Ipv6AddressTest : public StreamingNodeTest {
 protected:
  Ipv6AddressTest() : StreamingNodeTest("streaming: {address: \"[::1]:0\"}\n") {}
  void SetUp() override {
    if (!LoopbackListener(AF_INET6).valid()) GTEST_SKIP() << "this host has no address ::1";
    StreamingNodeTest::SetUp();
  }
};

TEST_F(Ipv6AddressTest, StreamsAreServedThere) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  EXPECT_THAT(ExecUrl(container, "true"), StartsWith("http://[::1]:"));
  EXPECT_EQ(StreamedOutput(container, "echo streamed"), "streamed\n");
}

class NoAddressTest : public StreamingNodeTest {
 protected:
  NoAddressTest() : StreamingNodeTest("streaming: {address: \"\"}\n") {}
  // Fails the test unless the call says that there are no streams, and which key sets that.
  template <typename Response, typename Request>
  void ExpectUnimplemented(grpc::Status (cri::RuntimeService::Stub::*method)(grpc::ClientContext*,
                                                                             const Request&,
                                                                             Response*),
                           const Request& request) {
    grpc::ClientContext context;
    Response response;
    const grpc::Status status = (node_.runtime().*method)(&context, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr("streaming.address is empty"));
    EXPECT_EQ(response.url(), "");
  }
};

TEST_F(NoAddressTest, NothingIsStreamedAndTheCallsSaySo) {
  const std::string pod = RunPod();
  const std::string container = Start(pod, Shell("sleep 1000"));
  cri::ExecRequest exec;
  exec.set_container_id(container);
  exec.add_cmd("true");
  exec.set_stdout(true);
  ExpectUnimplemented(&cri::RuntimeService::Stub::Exec, exec);
  cri::AttachRequest attach;
  attach.set_container_id(container);
  attach.set_stdout(true);
  ExpectUnimplemented(&cri::RuntimeService::Stub::Attach, attach);
  cri::PortForwardRequest forward;
  forward.set_pod_sandbox_id(pod);
  ExpectUnimplemented(&cri::RuntimeService::Stub::PortForward, forward);
  EXPECT_EQ(ExecOutput(container, "echo fine"), "fine\n");
}

class CreationTimeoutTest : public StreamingNodeTest {
 protected:
  // Long enough to open one stream on a busy machine.
  CreationTimeoutTest() : StreamingNodeTest("streaming: {creation_timeout: 4}\n") {}
};

TEST_F(CreationTimeoutTest, AClientThatDoesNotOpenItsStreamsIsToldOf) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  const std::string sleep = "sleep " + OwnMark(1);
  for (const std::string& url : {ExecUrl(container, sleep), AttachUrl(container)}) {
    const auto client = ConnectSpdy(url);
    ASSERT_NE(client, nullptr);
    const auto error = client->Open({{"streamtype", "error"}});
    ASSERT_TRUE(error.ok()) << error.status();
    const absl::Status read = client->ReadToEnd();
    EXPECT_TRUE(read.ok()) << read;
    EXPECT_THAT(client->received[*error], HasSubstr("not all streams were opened within 4s"));
  }
  EXPECT_EQ(ProcessesWith(sleep).size(), 0u);
  EXPECT_EQ(StreamedOutput(container, "echo streamed"), "streamed\n");
}

class IdleTimeoutTest : public StreamingNodeTest {
 protected:
  IdleTimeoutTest() : StreamingNodeTest("streaming: {idle_timeout: 1}\n") {}
};

// Only the end of each connection is awaited: without the setting it would take four hours.
TEST_F(IdleTimeoutTest, StreamsOnWhichNothingMovesAreEnded) {
  const std::string pod = RunPod();
  const std::string container = Start(pod, Shell("sleep 1000"));
  const std::string sleep = "sleep " + OwnMark(2);
  const auto exec = Connect(ExecUrl(container, sleep + "; :"));
  const auto attached = Connect(AttachUrl(container));
  const auto forward = ConnectSpdy(PortUrl(pod), "portforward.k8s.io");
  ASSERT_TRUE(exec != nullptr && attached != nullptr && forward != nullptr);
  EXPECT_TRUE(exec->ReadToEnd().ok());
  EXPECT_TRUE(attached->ReadToEnd().ok());
  EXPECT_TRUE(forward->ReadToEnd().ok());
  EXPECT_TRUE(Eventually([&] { return ProcessesWith(sleep).empty(); }));
  EXPECT_EQ(Status(container).state(), cri::CONTAINER_RUNNING);
}

// Constructed before the node, whose configuration names them.
struct Certificates {
  Certificates() {
    const absl::Status made = image::MakeCertificates(directory.root());
    EXPECT_TRUE(made.ok()) << made;
  }
  std::string Config() const {
    return absl::StrCat("streaming: {certificate: ", directory.root().PathOf("server.crt"),
                        ", key: ", directory.root().PathOf("server.key"), "}\n");
  }
  TestDir directory;
};

class TlsTest : private Certificates, public StreamingNodeTest {
 protected:
  TlsTest() : StreamingNodeTest(Certificates::Config()) {}
};

TEST_F(TlsTest, StreamsAreServedOverTls) {
  constexpr size_t kMuch = 3'000'000;
  const std::string pod = RunPod();
  const std::string container = Start(pod, Shell("sleep 1000"));
  const std::string script = absl::StrCat("cat; head -c ", kMuch, " /dev/zero; exit 3");
  const std::string expected = "hello\n" + std::string(kMuch, '\0');
  const std::string url = ExecUrl(container, script, /*input=*/true);
  EXPECT_THAT(url, StartsWith("https://127.0.0.1:"));
  const auto websocket = Connect(url);
  ASSERT_NE(websocket, nullptr);
  ASSERT_TRUE(websocket->Send(0, "hello\n").ok());
  ASSERT_TRUE(websocket->CloseChannel(0).ok());
  ASSERT_TRUE(websocket->ReadToEnd().ok());
  EXPECT_TRUE(websocket->received[1] == expected) << websocket->received[1].size();
  EXPECT_EQ(ExitCodeOf(websocket->received[3]), 3) << websocket->received[3];

  const auto spdy = ConnectSpdy(ExecUrl(container, script, /*input=*/true));
  ASSERT_NE(spdy, nullptr);
  const auto error = spdy->Open({{"streamtype", "error"}});
  const auto in = spdy->Open({{"streamtype", "stdin"}});
  const auto out = spdy->Open({{"streamtype", "stdout"}});
  ASSERT_TRUE(error.ok() && in.ok() && out.ok() && spdy->Open({{"streamtype", "stderr"}}).ok());
  ASSERT_TRUE(spdy->Send(*in, "hello\n", /*last=*/true).ok());
  ASSERT_TRUE(spdy->ReadToEnd().ok());
  EXPECT_TRUE(spdy->received[*out] == expected) << spdy->received[*out].size();
  EXPECT_EQ(ExitCodeOf(spdy->received[*error]), 3) << spdy->received[*error];

  const auto command = RunProgram({.argv = {ProgramPath("plimsoll"), "--address", node_.address(),
                                            "exec", container, "--", "echo", "streamed"}},
                                  {.timeout = Patience(absl::Seconds(60))});
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->out, "streamed\n") << command->err;
}

TEST_F(TlsTest, ItIsNoServerOfPlainHttp) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  const std::string url = ExecUrl(container, "echo streamed");
  ASSERT_THAT(url, StartsWith("https://"));
  const auto plain = WebSocketClient::Connect("http" + url.substr(5), "v5.channel.k8s.io");
  EXPECT_FALSE(plain.ok());
  // The failed try has not used the token up.
  const auto client = Connect(url);
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->ReadToEnd().ok());
  EXPECT_EQ(client->received[1], "streamed\n");
}

}  // namespace
}  // namespace plimsoll::testing
