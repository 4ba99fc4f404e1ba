// The fake must behave as a server does: here are the behaviours that users rely on.
#include "kube/apiserver/fake_api_client_for_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "base/wait_until_for_test.h"
#include "kube/apiserver/api_path.h"

namespace plimsoll::kube {
namespace {

using nlohmann::json;
using testing::ElementsAre;

constexpr char kNodes[] = "/api/v1/nodes";
constexpr char kSlices[] = "/apis/resource.k8s.io/v1/resourceslices";

ApiRequest Fake(const std::string& method, const std::string& path, json body = json(),
                const std::string& type = "application/json") {
  return {.method = method, .path = path, .body = std::move(body), .content_type = type};
}

json Named(const std::string& name) {
  return {{"metadata", {{"name", name}}}};
}

TEST(FakeApiClient, MakesReadsListsAndDeletes) {
  FakeApiClient server;
  const auto made = server.Call(Fake("POST", kSlices, Named("a")));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE((*made)["metadata"].contains("uid"));
  EXPECT_TRUE(absl::IsAlreadyExists(server.Call(Fake("POST", kSlices, Named("a"))).status()));
  server.Put("/apis/resource.k8s.io/v1/resourceslices/b", {{"spec", {{"nodeName", "n1"}}}});
  const auto list =
      server.Call(Fake("GET", ApiPathWith(kSlices, {{"fieldSelector", "spec.nodeName=n1"}})));
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ((*list)["items"].size(), 1u);
  EXPECT_EQ((*list)["items"][0]["metadata"]["name"], "b");
  EXPECT_TRUE(server.Call(Fake("DELETE", std::string(kSlices) + "/a")).ok());
  EXPECT_TRUE(absl::IsNotFound(server.Call(Fake("GET", std::string(kSlices) + "/a")).status()));
  EXPECT_EQ(server.All(kSlices).size(), 1u);
}

TEST(FakeApiClient, RefusesAnUpdateOfAnOldVersion) {
  FakeApiClient server;
  const std::string path = std::string(kSlices) + "/a";
  json read = *server.Call(Fake("POST", kSlices, Named("a")));
  server.Put(path, {{"spec", 1}});
  read["spec"] = 2;
  EXPECT_TRUE(absl::IsAborted(server.Call(Fake("PUT", path, read)).status()));
  const json patch = {{"metadata", {{"resourceVersion", "1"}}}};
  EXPECT_TRUE(absl::IsAborted(
      server.Call(Fake("PATCH", path, patch, "application/merge-patch+json")).status()));
  const json options = {{"preconditions", {{"uid", "another"}}}};
  EXPECT_TRUE(absl::IsAborted(server.Call(Fake("DELETE", path, options)).status()));
}

TEST(FakeApiClient, AnUpdateThatChangesNothingHasNoVersion) {
  FakeApiClient server;
  const json made = *server.Call(Fake("POST", kSlices, Named("a")));
  EXPECT_EQ(*server.Call(Fake("PUT", std::string(kSlices) + "/a", made)), made);
}

TEST(FakeApiClient, KeepsTheStatusApart) {
  FakeApiClient server;
  server.Put(
      "/api/v1/nodes/n1",
      {{"status", {{"conditions", json::array({{{"type", "Ready"}, {"status", "True"}}})}}}});
  const json both = {{"metadata", {{"labels", {{"a", "b"}}}}}, {"status", {{"x", 1}}}};
  ASSERT_TRUE(
      server.Call(Fake("PATCH", "/api/v1/nodes/n1", both, "application/merge-patch+json")).ok());
  EXPECT_FALSE(server.Get("/api/v1/nodes/n1")["status"].contains("x"));
  const json mine = {
      {"status", {{"conditions", json::array({{{"type", "Mine"}, {"status", "False"}}})}}}};
  ASSERT_TRUE(server
                  .Call(Fake("PATCH", "/api/v1/nodes/n1/status", mine,
                             "application/strategic-merge-patch+json"))
                  .ok());
  const json node = server.Get("/api/v1/nodes/n1");
  EXPECT_EQ(node["status"]["conditions"].size(), 2u);
  EXPECT_EQ(node["metadata"]["labels"]["a"], "b");
}

TEST(FakeApiClient, CustomResourcesWantAVersion) {
  FakeApiClient server;
  const std::string path = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/n1";
  server.Put(path, {});
  EXPECT_TRUE(absl::IsInvalidArgument(server.Call(Fake("PUT", path, Named("n1"))).status()));
  server.Unknown("/apis/topology.node.k8s.io/");
  EXPECT_TRUE(absl::IsNotFound(server.Call(Fake("GET", path)).status()));
}

TEST(FakeApiClient, ListsInPieces) {
  FakeApiClient server;
  for (const char* name : {"a", "b", "c"}) server.Put(std::string("/api/v1/nodes/") + name, {});
  const json first = *server.Call(Fake("GET", "/api/v1/nodes?limit=2"));
  EXPECT_EQ(first["items"].size(), 2u);
  const std::string rest =
      ApiPathWith("/api/v1/nodes?limit=2", {{"continue", first["metadata"]["continue"]}});
  const json second = *server.Call(Fake("GET", rest));
  EXPECT_EQ(second["items"].size(), 1u);
  EXPECT_FALSE(second["metadata"].contains("continue"));
  server.Put("/api/v1/nodes/d", {});
  server.Compact();
  EXPECT_TRUE(absl::IsOutOfRange(server.Call(Fake("GET", rest)).status()));
}

TEST(FakeApiClient, FailsAsOftenAsAsked) {
  FakeApiClient server;
  server.Fail("GET", "/nodes", absl::UnavailableError("away"), 2);
  EXPECT_TRUE(server.Call(Fake("POST", kNodes, Named("a"))).ok());
  EXPECT_TRUE(absl::IsUnavailable(server.Call(Fake("GET", kNodes)).status()));
  EXPECT_TRUE(absl::IsUnavailable(server.Call(Fake("GET", kNodes)).status()));
  EXPECT_TRUE(server.Call(Fake("GET", kNodes)).ok());
  EXPECT_EQ(server.TakeLines().size(), 4u);
  EXPECT_TRUE(server.TakeLines().empty());
}

// The types and names that a watch sends until the first that is called "end".
std::vector<std::string> WatchLines(FakeApiClient& server, const std::string& path) {
  std::vector<std::string> told;
  EXPECT_TRUE(server
                  .Watch(path,
                         [&](const WatchEvent& event) {
                           const std::string name = event.object["metadata"].value("name", "");
                           told.push_back(absl::StrCat(event.type, " ", name));
                           return name != "end";
                         })
                  .ok());
  return told;
}

TEST(FakeApiClient, WatchTellsWhatASelectorTakesInAndLeavesOut) {
  FakeApiClient server;
  server.Put("/api/v1/nodes/a", {{"metadata", {{"labels", {{"x", "1"}}}}}});
  const std::string from = server.Get("/api/v1/nodes/a")["metadata"]["resourceVersion"];
  server.Put("/api/v1/nodes/b", {});
  server.Put("/api/v1/nodes/b", {{"metadata", {{"labels", {{"x", "2"}}}}}});
  server.Put("/api/v1/nodes/a", {});
  server.Remove("/api/v1/nodes/b");
  server.Put("/api/v1/nodes/end", {{"metadata", {{"labels", {{"x", "1"}}}}}});
  EXPECT_THAT(
      WatchLines(server, "/api/v1/nodes?watch=true&labelSelector=x&resourceVersion=" + from),
      ElementsAre("ADDED b", "DELETED a", "DELETED b", "ADDED end"));
  EXPECT_THAT(WatchLines(server, "/api/v1/nodes?watch=true"), ElementsAre("ADDED a", "ADDED end"));
}

TEST(FakeApiClient, WatchOfForgottenVersionsIsRefused) {
  FakeApiClient server;
  server.Put("/api/v1/nodes/a", {});
  const std::string path = "/api/v1/nodes?watch=true&resourceVersion=100";
  server.Compact();
  EXPECT_TRUE(absl::IsOutOfRange(server.Watch(path, [](const WatchEvent&) { return true; })));
}

TEST(FakeApiClient, WatchEndsWithTheServersWishAndWithStop) {
  FakeApiClient server;
  std::vector<absl::Status> ends;
  for (const bool stop : {false, true}) {
    std::vector<std::string> told;
    std::thread watcher([&] {
      ends.push_back(server.Watch("/api/v1/nodes?watch=true&allowWatchBookmarks=true",
                                  [&](const WatchEvent& event) {
                                    told.push_back(event.type);
                                    return true;
                                  }));
    });
    EXPECT_TRUE(WaitUntil([&] { return server.watches() == 1; }));
    server.Bookmark();
    stop ? server.Stop() : server.EndWatches();
    watcher.join();
    // Stop may overtake the bookmark.
    if (!stop) {
      EXPECT_THAT(told, ElementsAre("BOOKMARK"));
    }
  }
  EXPECT_TRUE(ends[0].ok());
  EXPECT_TRUE(absl::IsCancelled(ends[1]));
  EXPECT_TRUE(absl::IsCancelled(server.Call(Fake("GET", kNodes)).status()));
}

}  // namespace
}  // namespace plimsoll::kube
