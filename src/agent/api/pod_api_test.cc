#include "agent/api/pod_api.h"

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "agent/api/pod_service_for_test.h"
#include "agent/api/server.h"
#include "agent/http/raw_client_for_test.h"
#include "base/dir_for_test.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;

// A second on a machine without other work.
constexpr absl::Duration kAtOnce = absl::Seconds(5);

class PodApiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    pods_.Put(FakePodService::Pod("default", "web"));
    pods_.Put(FakePodService::Pod("other", "db"));
    ServerOptions options;
    options.socket.path = path_;
    auto server = ApiServer::Start(options, [this](const HttpRequest& request, Answer& answer) {
      api_.Serve(request, answer);
    });
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  RawResponse Ask(absl::string_view method, absl::string_view target, absl::string_view body = "") {
    return RawClient(path_).Ask(method, target, body);
  }
  Json Good(absl::string_view method, absl::string_view target, absl::string_view body = "") {
    const RawResponse response = Ask(method, target, body);
    EXPECT_EQ(response.code, 200) << target << ": " << response.body;
    return Json::parse(response.body, nullptr, false);
  }
  // The message of an error, which must be a Status of this code and reason.
  std::string Bad(int code, absl::string_view reason, absl::string_view method,
                  absl::string_view target, absl::string_view body = "") {
    const RawResponse response = Ask(method, target, body);
    EXPECT_EQ(response.code, code) << target << ": " << response.body;
    const Json status = Json::parse(response.body, nullptr, false);
    EXPECT_EQ(status.value("kind", ""), "Status") << response.body;
    EXPECT_EQ(status.value("reason", ""), reason) << response.body;
    EXPECT_EQ(status.value("code", 0), code);
    return status.value("message", "");
  }
  std::vector<std::string> Names(const Json& list) {
    std::vector<std::string> names;
    for (const Json& item : list["items"]) names.push_back(item["metadata"]["name"]);
    return names;
  }
  void WriteLog(const std::string& name, const std::string& text) {
    ASSERT_TRUE(dir_.root().ReplaceFile(name, text).ok());
    pods_.SetLog(dir_.path() + "/app.log");
  }
  void AppendLog(const std::string& text) {
    FILE* const out = fopen((dir_.path() + "/app.log").c_str(), "a");
    ASSERT_NE(out, nullptr);
    fputs(text.c_str(), out);
    fclose(out);
  }
  // The pod with its container in a state, "running" or "terminated".
  static Json InState(const char* state) {
    Json pod = FakePodService::Pod("default", "web");
    pod["status"]["containerStatuses"] = {{{"name", "app"}, {"state", {{state, Json::object()}}}}};
    return pod;
  }

  const TestDir dir_;
  const std::string path_ = dir_.path() + "/agent.sock";
  FakePodService pods_;
  absl::Status health_;
  const PodApi api_{
      &pods_,
      {[this] { return health_; }, [] { return "agent_pods 2\n"; },
       [] {
         return Json{{"kubeletconfig", {{"maxPods", 3}}}};
       },
       [](const std::string& pod_namespace) -> absl::StatusOr<std::vector<Json>> {
         const std::string of = pod_namespace.empty() ? "shop" : pod_namespace;
         if (of == "broken") return absl::FailedPreconditionError("q.yaml:1: no");
         return std::vector<Json>{
             {{"kind", "ResourceQuota"}, {"metadata", {{"name", "team"}, {"namespace", of}}}}};
       },
       [] {
         return Json{{"kind", "Allocations"}};
       }}};
  std::unique_ptr<ApiServer> server_;
};

constexpr char kWeb[] = "/api/v1/namespaces/default/pods/web";

TEST_F(PodApiTest, TheConfigurationIsTold) {
  EXPECT_EQ(Good("GET", "/configz")["kubeletconfig"]["maxPods"], 3);
}

TEST_F(PodApiTest, AllocationsAreTold) {
  EXPECT_EQ(Good("GET", "/allocations")["kind"], "Allocations");
}

TEST_F(PodApiTest, QuotasAreObjectsOfTheirNamespace) {
  EXPECT_THAT(Names(Good("GET", "/api/v1/resourcequotas")), ElementsAre("team"));
  const Json list = Good("GET", "/api/v1/namespaces/default/resourcequotas");
  EXPECT_EQ(list["kind"], "ResourceQuotaList");
  EXPECT_EQ(list["items"][0]["metadata"]["namespace"], "default");
  EXPECT_EQ(Good("GET", "/api/v1/namespaces/shop/resourcequotas/team")["kind"], "ResourceQuota");
  EXPECT_THAT(Bad(404, "NotFound", "GET", "/api/v1/namespaces/shop/resourcequotas/x"),
              HasSubstr("no ResourceQuota shop/x"));
  EXPECT_EQ(Bad(409, "Conflict", "GET", "/api/v1/namespaces/broken/resourcequotas"),
            "q.yaml:1: no");
}

TEST_F(PodApiTest, ListsPodsOfANamespaceOrAll) {
  const Json all = Good("GET", "/api/v1/pods");
  EXPECT_EQ(all["kind"], "PodList");
  EXPECT_EQ(all["apiVersion"], "v1");
  EXPECT_THAT(Names(all), ElementsAre("web", "db"));
  EXPECT_THAT(Names(Good("GET", "/api/v1/namespaces/other/pods")), ElementsAre("db"));
  EXPECT_TRUE(Good("GET", "/api/v1/namespaces/none/pods")["items"].empty());
  EXPECT_THAT(Names(Good("GET", "/api/v1/pods?fieldSelector=metadata.name%3Ddb")),
              ElementsAre("db"));
}

TEST_F(PodApiTest, GetsOnePod) {
  EXPECT_EQ(Good("GET", kWeb), FakePodService::Pod("default", "web"));
  EXPECT_EQ(Bad(404, "NotFound", "GET", "/api/v1/namespaces/default/pods/db"), "no pod default/db");
}

TEST_F(PodApiTest, AppliesAManifest) {
  const Json pod = FakePodService::Pod("default", "new");
  EXPECT_THAT(Names(Good("POST", "/api/v1/pods", pod.dump())), ElementsAre("new"));
  EXPECT_EQ(Good("GET", "/api/v1/namespaces/default/pods/new"), pod);
  EXPECT_THAT(Bad(400, "BadRequest", "POST", "/api/v1/pods", "no manifest"),
              StartsWith("manifest: line 1"));
  EXPECT_THAT(Bad(400, "BadRequest", "POST", "/api/v1/pods?file=a.yaml%0a", "no manifest"),
              StartsWith("a.yaml\\n: line 1"));
  EXPECT_THAT(Bad(400, "BadRequest", "POST", "/api/v1/pods"), HasSubstr("no body"));
  pods_.Fail(absl::FailedPreconditionError("pod default/new is there with another spec"));
  EXPECT_THAT(Bad(409, "Conflict", "POST", "/api/v1/pods", pod.dump()), HasSubstr("another spec"));
}

TEST_F(PodApiTest, DeletesAPod) {
  EXPECT_EQ(Good("DELETE", absl::StrCat(kWeb, "?gracePeriodSeconds=5"))["status"], "Success");
  EXPECT_EQ(Good("DELETE", "/api/v1/namespaces/other/pods/db")["details"]["name"], "db");
  EXPECT_THAT(pods_.calls(), ElementsAre("delete default/web 5", "delete other/db own"));
  Bad(404, "NotFound", "DELETE", kWeb);
  EXPECT_THAT(Bad(400, "BadRequest", "DELETE", absl::StrCat(kWeb, "?gracePeriodSeconds=soon")),
              HasSubstr("whole number"));
}

TEST_F(PodApiTest, ResizesAPod) {
  const Json patch = {{"spec", {{"containers", Json::array()}}}};
  EXPECT_EQ(Good("PATCH", absl::StrCat(kWeb, "/resize"), patch.dump()),
            FakePodService::Pod("default", "web"));
  EXPECT_THAT(pods_.calls(), ElementsAre("resize default/web " + patch.dump()));
  EXPECT_THAT(Bad(400, "BadRequest", "PATCH", absl::StrCat(kWeb, "/resize"), "[1]"),
              HasSubstr("JSON object"));
  pods_.Fail(absl::UnimplementedError("gate InPlacePodVerticalScaling is off"));
  Bad(501, "NotImplemented", "PATCH", absl::StrCat(kWeb, "/resize"), "{}");
  const std::string deep = std::string(1 << 20, '[') + std::string(1 << 20, ']');
  EXPECT_THAT(Bad(400, "BadRequest", "PATCH", absl::StrCat(kWeb, "/resize"),
                  absl::StrCat("{\"spec\": ", deep, "}")),
              HasSubstr("nested deeper than 32 levels"));
}

TEST_F(PodApiTest, GivesTheUrlOfACommand) {
  EXPECT_EQ(
      Good("POST", absl::StrCat(kWeb, "/exec?command=ls&command=-l&container=app&tty=true"))["url"],
      "http://127.0.0.1/app/tty/ls/-l");
  EXPECT_THAT(Bad(400, "BadRequest", "POST", absl::StrCat(kWeb, "/exec?stdin=1")),
              HasSubstr("no command"));
  Bad(404, "NotFound", "POST", "/api/v1/namespaces/a/pods/b/exec?command=ls");
  EXPECT_THAT(Bad(400, "BadRequest", "POST", absl::StrCat(kWeb, "/exec?command=%ff")),
              HasSubstr("no UTF-8"));
}

TEST_F(PodApiTest, GivesTheNodeAndEvents) {
  const auto event = [](const char* pod_namespace, const char* pod) {
    return Json{{"metadata", {{"name", absl::StrCat(pod, ".1")}}},
                {"involvedObject", {{"namespace", pod_namespace}, {"name", pod}}}};
  };
  pods_.SetEvents({event("default", "web"), event("default", "x"), event("other", "db")});
  EXPECT_EQ(Good("GET", "/api/v1/node")["kind"], "Node");
  EXPECT_EQ(Names(Good("GET", "/api/v1/events")).size(), 3u);
  EXPECT_THAT(Names(Good("GET", "/api/v1/namespaces/default/events")), ElementsAre("web.1", "x.1"));
  EXPECT_THAT(
      Names(
          Good("GET", "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dweb")),
      ElementsAre("web.1"));
  EXPECT_THAT(
      Bad(400, "BadRequest", "GET", "/api/v1/events?fieldSelector=involvedObject.name%3Dweb"),
      HasSubstr("namespace"));
}

TEST_F(PodApiTest, TellsHealthAndMetrics) {
  EXPECT_EQ(Ask("GET", "/healthz").body, "ok\n");
  EXPECT_EQ(Ask("GET", "/metrics").body, "agent_pods 2\n");
  health_ = absl::UnavailableError("the runtime is gone");
  const RawResponse ill = Ask("GET", "/healthz");
  EXPECT_EQ(ill.code, 503);
  EXPECT_EQ(ill.body, "the runtime is gone\n");
}

TEST_F(PodApiTest, OtherPathsMethodsAndParametersAreNamed) {
  EXPECT_THAT(Bad(404, "NotFound", "GET", "/api/v1/secrets"), HasSubstr("/api/v1/secrets"));
  Bad(404, "NotFound", "GET", "/");
  EXPECT_THAT(Bad(405, "MethodNotAllowed", "PUT", "/api/v1/pods"), HasSubstr("takes GET, POST"));
  EXPECT_THAT(Bad(405, "MethodNotAllowed", "BREW", kWeb), HasSubstr("not BREW"));
  EXPECT_THAT(Bad(400, "BadRequest", "GET", absl::StrCat(kWeb, "?output=yaml")),
              HasSubstr("unknown parameter \"output\""));
  EXPECT_THAT(Bad(400, "BadRequest", "GET", absl::StrCat(kWeb, "/log?tail=5")),
              HasSubstr("takes container, follow, previous, tailLines, timestamps"));
  Bad(400, "BadRequest", "GET", "/api//v1");
  Bad(400, "BadRequest", "GET", "/api/v1/pods?watch=perhaps");
}

TEST_F(PodApiTest, AWatchBeginsWithWhatIsThereAndGoesOn) {
  RawClient client(path_);
  client.Send("GET /api/v1/namespaces/default/pods?watch=true HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(client.ReadUntil("\"type\":\"ADDED\""));
  pods_.Put(FakePodService::Pod("default", "new"));
  ASSERT_TRUE(client.ReadUntil("new-uid"));
  pods_.Put(FakePodService::Pod("default", "web"));
  ASSERT_TRUE(client.ReadUntil("\"type\":\"MODIFIED\""));
  pods_.Remove({"default", "web"});
  ASSERT_TRUE(client.ReadUntil("\"type\":\"DELETED\""));
  EXPECT_EQ(client.unread().find("db-uid"), std::string::npos);
  client.Close();
  EXPECT_TRUE(WaitUntil([&] { return pods_.watches() == 0; }));
}

TEST_F(PodApiTest, AWatchOfOnePodLeavesOutTheOthers) {
  RawClient client(path_);
  client.Send("GET /api/v1/pods?watch&fieldSelector=metadata.name=db HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(client.ReadUntil("db-uid"));
  pods_.Put(FakePodService::Pod("default", "web"));
  pods_.Remove({"other", "db"});
  ASSERT_TRUE(client.ReadUntil("DELETED"));
  EXPECT_EQ(client.unread().find("web-uid"), std::string::npos);
}

TEST_F(PodApiTest, TheServersEndEndsAWatchSoon) {
  RawClient client(path_);
  client.Send("GET /api/v1/pods?watch=true HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(client.ReadUntil("db-uid"));
  const absl::Time begin = absl::Now();
  server_.reset();
  EXPECT_LT(absl::Now() - begin, kAtOnce);
}

// The changes that a client is too slow for come as one.
TEST_F(PodApiTest, ASlowWatcherCostsNoMemoryAndMissesNoEnd) {
  RawClient client(path_);
  client.Send("GET /api/v1/namespaces/default/pods?watch=true HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(client.ReadUntil("web-uid"));
  Json pod = FakePodService::Pod("default", "web");
  pod["metadata"]["annotations"]["big"] = std::string(256 * 1024, 'x');
  for (int i = 0; i < 200; ++i) {
    pod["metadata"]["generation"] = i;
    pods_.Put(pod);
    absl::SleepFor(absl::Milliseconds(2));
  }
  ASSERT_TRUE(client.ReadUntil("\"generation\":199"));
  EXPECT_LT(client.unread().size(), 40u * 256 * 1024);
}

constexpr char kOne[] = "2026-11-21T00:17:09.5Z stdout F one\n";
constexpr char kTwo[] = "2026-11-21T00:17:10.25Z stderr F two\n";

TEST_F(PodApiTest, SendsALog) {
  WriteLog("app.log", absl::StrCat(kOne, kTwo));
  EXPECT_EQ(Ask("GET", absl::StrCat(kWeb, "/log")).body, "one\ntwo\n");
  EXPECT_EQ(Ask("GET", absl::StrCat(kWeb, "/log?tailLines=1&container=app")).body, "two\n");
  EXPECT_EQ(Ask("GET", absl::StrCat(kWeb, "/log?tailLines=0")).body, "");
  EXPECT_EQ(Ask("GET", absl::StrCat(kWeb, "/log?timestamps=true&tailLines=1")).body,
            "2026-11-21T00:17:10.25+00:00 two\n");
  WriteLog("app.log.previous", kOne);
  EXPECT_EQ(Ask("GET", absl::StrCat(kWeb, "/log?previous=true&follow=true")).body, "one\n");
}

TEST_F(PodApiTest, ALogsErrorsAreTold) {
  EXPECT_EQ(Bad(404, "NotFound", "GET", absl::StrCat(kWeb, "/log?container=x")),
            "pod default/web has no container x");
  Bad(404, "NotFound", "GET", "/api/v1/namespaces/a/pods/b/log");
  Bad(400, "BadRequest", "GET", absl::StrCat(kWeb, "/log?tailLines=-1"));
}

TEST_F(PodApiTest, AFollowedLogGoesOnUntilTheContainerEnds) {
  WriteLog("app.log", kOne);
  pods_.Put(InState("running"));
  RawClient client(path_);
  client.Send(absl::StrCat("GET ", kWeb, "/log?follow=true HTTP/1.1\r\n\r\n"));
  ASSERT_TRUE(client.ReadUntil("one\n"));
  AppendLog(kTwo);
  ASSERT_TRUE(client.ReadUntil("two\n"));
  AppendLog("2026-11-21T00:17:11Z stdout P the end");
  AppendLog("\n");
  pods_.Put(InState("terminated"));
  ASSERT_TRUE(client.ReadUntil("the end\r\n0\r\n\r\n")) << client.unread();
}

TEST_F(PodApiTest, AFollowerThatLeavesAndAServerThatEndsWaitForNothing) {
  WriteLog("app.log", kOne);
  pods_.Put(InState("running"));
  RawClient client(path_);
  client.Send(absl::StrCat("GET ", kWeb, "/log?follow=true&tailLines=1 HTTP/1.1\r\n\r\n"));
  ASSERT_TRUE(client.ReadUntil("one\n"));
  RawClient leaver(path_);
  leaver.Send(absl::StrCat("GET ", kWeb, "/log?follow=true HTTP/1.1\r\n\r\n"));
  ASSERT_TRUE(leaver.ReadUntil("one\n"));
  leaver.Close();
  const absl::Time begin = absl::Now();
  server_.reset();
  EXPECT_LT(absl::Now() - begin, kAtOnce);
}

TEST_F(PodApiTest, AMisshapenObjectIsAnErrorAndNoEnd) {
  Json pod = FakePodService::Pod("default", "web");
  pod["metadata"]["name"] = "web";
  pods_.Put(pod);
  pods_.SetEvents({Json{{"involvedObject", {{"namespace", 7}, {"name", "web"}}}}});
  Bad(500, "InternalError", "GET", "/api/v1/namespaces/default/events");
  EXPECT_EQ(Good("GET", kWeb)["metadata"]["name"], "web");
}

}  // namespace
}  // namespace plimsoll::agent
