#include "agent/probes/run_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "dial/server_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Result = ProbeOutcome::Result;

const ProbeTarget kLoopback = {.container_id = "id", .address = "127.0.0.1"};

absl::StatusOr<ProbeCommandEnd> NoCommand(const std::string&, const std::vector<std::string>&,
                                          int64_t) {
  return absl::InternalError("no command is expected");
}

pod::Probe ProbeOf(pod::Action action, int64_t timeout_s = 20) {
  pod::Probe probe;
  probe.action = std::move(action);
  probe.timeout_s = timeout_s;
  return probe;
}

ProbeOutcome RunOne(const pod::Probe& probe, const RunProbeCommand& command = NoCommand) {
  return RunProbe(probe, kLoopback, command, [] { return false; });
}

ProbeOutcome Get(const dial::TestServer& server, int64_t timeout_s = 20) {
  pod::HttpGetAction get;
  get.port = server.port();
  get.path = "/healthz";
  return RunOne(ProbeOf(get, timeout_s));
}

TEST(RunProbe, ACommandsExitCodeIsTheResult) {
  const pod::Probe probe = ProbeOf(pod::ExecAction{{"cat", "/ok"}}, 3);
  for (const auto& [code, result] : {std::pair(0, Result::kSuccess), {1, Result::kFailure}}) {
    const ProbeOutcome outcome =
        RunOne(probe, [&, code = code](const std::string& id,
                                       const std::vector<std::string>& command, int64_t timeout_s) {
          EXPECT_EQ(id, "id");
          EXPECT_THAT(command, ElementsAre("cat", "/ok"));
          EXPECT_EQ(timeout_s, 3);
          return ProbeCommandEnd{code, "no\x1b such file"};
        });
    EXPECT_EQ(outcome.result, result);
    EXPECT_EQ(outcome.words, "no\\x1b such file");
  }
}

TEST(RunProbe, ACommandThatTakesTooLongHasFailed) {
  const ProbeOutcome outcome =
      RunOne(ProbeOf(pod::ExecAction{{"sleep", "9"}}, 1),
             [](const auto&, const auto&, int64_t) -> absl::StatusOr<ProbeCommandEnd> {
               return absl::DeadlineExceededError("not finished");
             });
  EXPECT_EQ(outcome.result, Result::kFailure);
  EXPECT_EQ(outcome.words, "command sleep 9 timed out after 1s");
}

TEST(RunProbe, ACommandThatCannotBeRunIsTriedThriceAndTellsNothing) {
  int calls = 0;
  const ProbeOutcome outcome =
      RunOne(ProbeOf(pod::ExecAction{{"true"}}),
             [&](const auto&, const auto&, int64_t) -> absl::StatusOr<ProbeCommandEnd> {
               ++calls;
               return absl::UnavailableError("the runtime has ended");
             });
  EXPECT_EQ(outcome.result, Result::kUnknown);
  EXPECT_EQ(outcome.words, "the runtime has ended");
  EXPECT_EQ(calls, 3);
}

TEST(RunProbe, AGetsCodeIsTheResult) {
  for (const auto& [code, result] : {std::pair(200, Result::kSuccess),
                                     {204, Result::kSuccess},
                                     {304, Result::kWarning},
                                     {400, Result::kFailure},
                                     {503, Result::kFailure}}) {
    dial::TestServer server([code = code](const std::string&) {
      return code == 204 ? "HTTP/1.1 204 None\r\n\r\n" : dial::Answer(code, code == 304 ? "" : "x");
    });
    EXPECT_EQ(Get(server).result, result) << code;
    EXPECT_THAT(server.requests().front(), HasSubstr("User-Agent: kube-probe/"));
  }
  dial::TestServer server([](const std::string&) { return dial::Answer(500, "oh no"); });
  EXPECT_EQ(Get(server).words, "HTTP probe failed with statuscode: 500");
}

TEST(RunProbe, ARedirectElsewhereIsAWarning) {
  dial::TestServer server([](const std::string&) {
    return dial::Answer(302, "go", "Location: http://example.org/\r\n");
  });
  const ProbeOutcome outcome = Get(server);
  EXPECT_EQ(outcome.result, Result::kWarning);
  EXPECT_EQ(outcome.words, "Probe terminated redirects, Response body: go");
}

TEST(RunProbe, ASilentServerHasFailed) {
  dial::TestServer server([](const std::string&) { return ""; });
  const ProbeOutcome outcome = Get(server, 1);
  EXPECT_EQ(outcome.result, Result::kFailure);
  EXPECT_THAT(outcome.words, HasSubstr("/healthz: no answer in time"));
}

TEST(RunProbe, HttpsTakesAnyCertificate) {
  dial::TestServer server([](const std::string&) { return dial::Answer(200, "x"); }, /*tls=*/true);
  pod::HttpGetAction get;
  get.port = server.port();
  get.scheme = "HTTPS";
  EXPECT_EQ(RunOne(ProbeOf(get)).result, Result::kSuccess);
  get.scheme = "HTTP";
  EXPECT_EQ(RunOne(ProbeOf(get)).result, Result::kFailure);
}

TEST(RunProbe, APortIsOpenOrNot) {
  uint16_t port = 0;
  {
    const LoopbackListener listener(AF_INET);
    port = listener.port();
    EXPECT_EQ(RunOne(ProbeOf(pod::TcpSocketAction{.host = "", .port = port})).result,
              Result::kSuccess);
  }
  const ProbeOutcome outcome = RunOne(ProbeOf(pod::TcpSocketAction{.host = "", .port = port}));
  EXPECT_EQ(outcome.result, Result::kFailure);
  EXPECT_EQ(outcome.words, absl::StrCat("connect to 127.0.0.1:", port, ": Connection refused"));
}

TEST(RunProbe, ItsOwnHostGoesBeforeThePods) {
  const LoopbackListener listener(AF_INET6);
  if (!listener.valid()) GTEST_SKIP() << "the machine has no ::1";
  const pod::Probe probe = ProbeOf(pod::TcpSocketAction{.host = "::1", .port = listener.port()});
  EXPECT_EQ(RunOne(probe).result, Result::kSuccess);
}

TEST(RunProbe, APodWithoutAnAddressHasFailed) {
  pod::HttpGetAction get;
  get.port = 1;
  for (const pod::Action& action :
       {pod::Action(get), pod::Action(pod::TcpSocketAction{.host = "", .port = 1}),
        pod::Action(pod::GrpcAction{.port = 1, .service = ""})}) {
    const ProbeOutcome outcome = RunProbe(ProbeOf(action), {.container_id = "id", .address = ""},
                                          NoCommand, [] { return false; });
    EXPECT_EQ(outcome.result, Result::kFailure);
    EXPECT_EQ(outcome.words, "the pod has no address");
  }
}

TEST(RunProbe, AProbeThatIsGivenUpTellsNothing) {
  dial::TestServer server([](const std::string&) { return ""; });
  pod::HttpGetAction get;
  get.port = server.port();
  const ProbeOutcome outcome =
      RunProbe(ProbeOf(get), kLoopback, NoCommand, [&] { return !server.requests().empty(); });
  EXPECT_EQ(outcome.result, Result::kUnknown);
}

}  // namespace
}  // namespace plimsoll::agent
