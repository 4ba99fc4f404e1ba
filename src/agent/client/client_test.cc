#include "agent/client/client.h"

#include <sys/fsuid.h>
#include <sys/stat.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/api/pod_api.h"
#include "agent/api/pod_service_for_test.h"
#include "agent/api/server.h"
#include "base/dir_for_test.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class ClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    pods_.Put(FakePodService::Pod("default", "web"));
    Serve([this](const HttpRequest& request, Answer& answer) { api_.Serve(request, answer); });
  }
  void Serve(ApiServer::Handler handler) {
    server_.reset();
    ServerOptions options;
    options.socket.path = path_;
    auto server = ApiServer::Start(options, std::move(handler));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  const TestDir dir_;
  const std::string path_ = dir_.path() + "/agent.sock";
  FakePodService pods_;
  const PodApi api_{
      &pods_,
      {.health = {},
       .metrics = {},
       .config =
           [] {
             return Json{{"kubeletconfig", {{"maxPods", 3}}}};
           },
       .quotas = [](const std::string& pod_namespace) -> absl::StatusOr<std::vector<Json>> {
         return std::vector<Json>{{{"kind", "ResourceQuota"}, {"of", pod_namespace}}};
       },
       .allocations =
           [] {
             return Json{{"kind", "Allocations"}};
           }}};
  std::unique_ptr<ApiServer> server_;
  const AgentClient client_{{.socket = path_, .patience = absl::Seconds(20)}};
};

TEST_F(ClientTest, CallsComeBackWithTheirObjects) {
  const Json web = FakePodService::Pod("default", "web");
  EXPECT_EQ(*client_.Get("default", "web"), web);
  EXPECT_THAT(*client_.List(""), ElementsAre(web));
  EXPECT_TRUE(client_.List("other")->empty());
  const Json odd = FakePodService::Pod("other", "a b/c&d");
  EXPECT_THAT(*client_.Apply(odd.dump()), ElementsAre(odd));
  EXPECT_EQ(*client_.Get("other", "a b/c&d"), odd);
  EXPECT_EQ(*client_.Resize("default", "web", Json::object()), web);
  EXPECT_TRUE(client_.Delete("default", "web", 3).ok());
  EXPECT_TRUE(client_.Delete("other", "a b/c&d", std::nullopt).ok());
  EXPECT_EQ((*client_.Node())["kind"], "Node");
  EXPECT_EQ((*client_.Config())["maxPods"], 3);
  EXPECT_EQ((*client_.Allocations())["kind"], "Allocations");
  EXPECT_EQ(client_.Quotas("")->front()["of"], "");
  EXPECT_EQ(client_.Quotas("shop")->front()["of"], "shop");
  EXPECT_TRUE(client_.Events("", "")->empty());
  EXPECT_TRUE(client_.Events("default", "web")->empty());
  EXPECT_THAT(pods_.calls(),
              ElementsAre(absl::StrCat("apply ", odd.dump().size()), "resize default/web {}",
                          "delete default/web 3", "delete other/a b/c&d own"));
}

TEST_F(ClientTest, ErrorsKeepTheirCodeAndMessage) {
  EXPECT_EQ(client_.Get("default", "x").status(), absl::NotFoundError("no pod default/x"));
  pods_.Fail(absl::FailedPreconditionError("pod default/web is of a file"));
  EXPECT_EQ(client_.Delete("default", "web", std::nullopt),
            absl::FailedPreconditionError("pod default/web is of a file"));
  const auto big = client_.Apply(std::string(5 * 1024 * 1024, 'x'));
  EXPECT_TRUE(absl::IsInvalidArgument(big.status())) << big.status();
  EXPECT_THAT(big.status().message(), HasSubstr("the body is too long"));
}

TEST_F(ClientTest, WithoutAnAgentItIsSaid) {
  server_.reset();
  const absl::Status status = client_.List("").status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(IsNoAgent(status));
  EXPECT_THAT(status.message(), HasSubstr("no agent at " + path_));
  EXPECT_FALSE(IsNoAgent(absl::UnavailableError("x")));
}

TEST_F(ClientTest, ARefusedSocketIsNoRefusalOfTheAgents) {
  ASSERT_EQ(chmod(path_.c_str(), 0), 0);
  absl::Status refused;
  std::thread([&] {
    constexpr uid_t kNobody = 65534;
    setfsuid(kNobody);  // this thread's alone; without effect where the user isn't root
    refused = client_.List("").status();
  }).join();
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  EXPECT_TRUE(MayNotConnect(refused));
  EXPECT_FALSE(IsNoAgent(refused));
  ASSERT_EQ(chmod(path_.c_str(), S_IRUSR | S_IWUSR), 0);
  pods_.Fail(absl::PermissionDeniedError("exceeded quota"));
  const absl::Status over = client_.Delete("default", "web", std::nullopt);
  EXPECT_TRUE(absl::IsPermissionDenied(over)) << over;
  EXPECT_FALSE(MayNotConnect(over));
}

TEST_F(ClientTest, AWatchTellsChangesUntilEnough) {
  std::vector<std::string> seen;
  const auto change = [&](const std::string& type, const Json& pod) {
    const std::string name = pod["metadata"]["name"];
    seen.push_back(absl::StrCat(type, " ", name));
    if (seen.size() == 1) pods_.Put(FakePodService::Pod("default", "new"));
    if (seen.size() == 2) pods_.Remove({"default", "web"});
    return seen.size() < 3;
  };
  EXPECT_TRUE(client_.Watch("default", "", change).ok());
  EXPECT_THAT(seen, ElementsAre("ADDED web", "ADDED new", "DELETED web"));
}

TEST_F(ClientTest, AnAgentThatEndsEndsTheWatch) {
  std::thread end;
  const absl::Status status = client_.Watch("", "web", [&](const std::string&, const Json&) {
    end = std::thread([this] { server_.reset(); });
    return true;
  });
  end.join();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST_F(ClientTest, AbandonEndsAWatchAndLaterCalls) {
  std::thread abandon;
  const absl::Status status = client_.Watch("", "", [&](const std::string&, const Json&) {
    abandon = std::thread([this] { client_.Abandon(); });
    return true;
  });
  abandon.join();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_TRUE(absl::IsCancelled(client_.List("").status()));
}

TEST_F(ClientTest, ASilentAgentIsGivenUp) {
  Serve([](const HttpRequest&, Answer& answer) {
    while (answer.Rest(absl::Milliseconds(10))) {
    }
  });
  const AgentClient impatient({.socket = path_, .patience = absl::Milliseconds(50)});
  EXPECT_TRUE(absl::IsDeadlineExceeded(impatient.List("").status()));
}

TEST_F(ClientTest, AnswersOfAnotherShapeAreErrors) {
  for (const char* body : {"", "text", "[1]", "{\"kind\": \"PodList\"}"}) {
    Serve([body](const HttpRequest&, Answer& answer) { answer.SendText(200, kJsonType, body); });
    EXPECT_TRUE(absl::IsUnavailable(client_.List("").status())) << body;
  }
  for (const char* line :
       {"text\n", "{\"type\": 1, \"object\": {}}\n", "{\"type\": \"ADDED\"}\n"}) {
    Serve([line](const HttpRequest&, Answer& answer) { answer.SendText(200, kJsonType, line); });
    const absl::Status status =
        client_.Watch("", "", [](const std::string&, const Json&) { return true; });
    EXPECT_THAT(status.message(), HasSubstr("not the JSON")) << line;
  }
}

}  // namespace
}  // namespace plimsoll::agent
