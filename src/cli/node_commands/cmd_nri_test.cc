// plimsoll nri, against a runtime that reports plugins.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "cli/main_for_test.h"
#include "cli/pod_commands/inspect_report.h"
#include "cri/runtime/v1/api.grpc.pb.h"

namespace plimsoll::cli {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kPlugins[] = R"({
  "enabled": true, "socket": "/run/nri.sock", "trouble": "",
  "plugins": [
    {"name": "10-pinner", "state": "ready", "required": true, "preInstalled": true, "pid": 42,
     "nriVersion": "v0.12.0", "events": ["RunPodSandbox", "CreateContainer", "StopContainer"],
     "strikes": 1, "restarts": 2, "connectedAt": "2026-11-26T06:00:00+00:00", "lastError": "late\u001b[1m",
     "requests": {"CreateContainer": {"count": 3, "errors": 1, "strikes": 1, "meanMs": 2, "longestMs": 5},
                  "StopContainer": {"count": 1, "errors": 0, "strikes": 0, "meanMs": 6, "longestMs": 250.4}},
     "adjustedContainers": 7, "updatedContainers": 8, "evictedContainers": 9},
    {"name": "20-log", "state": "connecting", "required": false, "preInstalled": false, "events": [],
     "requests": {}}]})";

constexpr char kChanged[] = R"({"changedBy": [
  {"field": "linux.resources.cpu.cpus", "key": "", "plugin": "10-pinner"},
  {"field": "env", "key": "PINNED", "plugin": "10-pinner"},
  {"field": "mounts", "key": "/log", "plugin": "20-log"}]})";

// One pod with one container.
class PluggedRuntime final : public cri::RuntimeService::Service {
 public:
  grpc::Status Status(grpc::ServerContext*, const cri::StatusRequest* request,
                      cri::StatusResponse* response) override {
    if (request->verbose() && !nri.empty()) (*response->mutable_info())["nri"] = nri;
    return grpc::Status::OK;
  }
  grpc::Status ListPodSandbox(grpc::ServerContext*, const cri::ListPodSandboxRequest*,
                              cri::ListPodSandboxResponse* response) override {
    cri::PodSandbox* pod = response->add_items();
    pod->set_id("p1");
    pod->mutable_metadata()->set_name("web");
    return grpc::Status::OK;
  }
  grpc::Status ListContainers(grpc::ServerContext*, const cri::ListContainersRequest*,
                              cri::ListContainersResponse* response) override {
    for (const char* id : {"c1", "gone"}) {
      cri::Container* container = response->add_containers();
      container->set_id(id);
      container->set_pod_sandbox_id("p1");
      container->mutable_metadata()->set_name("app");
    }
    return grpc::Status::OK;
  }
  grpc::Status ContainerStatus(grpc::ServerContext*, const cri::ContainerStatusRequest* request,
                               cri::ContainerStatusResponse* response) override {
    if (request->container_id() != "c1") return {grpc::StatusCode::NOT_FOUND, "no such container"};
    response->mutable_status()->set_id("c1");
    (*response->mutable_info())["info"] = kChanged;
    return grpc::Status::OK;
  }

  std::string nri = kPlugins;  // set it before a command runs
};

class NriCommand : public ::testing::Test {
 protected:
  NriCommand() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
    builder.RegisterService(&runtime_);
    server_ = builder.BuildAndStart();
  }
  ~NriCommand() override { server_->Shutdown(); }

  Printed Run(std::vector<std::string> words) {
    words.insert(words.begin(), {"--address", address_});
    return RunMain(std::move(words));
  }

  const TestDir dir_;
  const std::string address_ = absl::StrCat("unix://", dir_.root().PathOf("cri.sock"));
  PluggedRuntime runtime_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(NriCommand, ListsPlugins) {
  const Printed printed = Run({"nri"});
  EXPECT_EQ(printed.code, kExitOk) << printed.err;
  EXPECT_EQ(
      printed.out,
      "PLUGIN     STATE             KIND           NRI      EVENTS                            "
      "      STRIKES  MEAN  LONGEST  ADJUSTED  UPDATED  EVICTED  LAST ERROR\n"
      "10-pinner  ready (required)  pre-installed  v0.12.0  RunPodSandbox, CreateContainer, "
      "1 more  1        3 ms  250 ms   7         8        9        late\\x1b[1m\n"
      "20-log     connecting        external       -        -                                 "
      "      0        -     -        0         0        0        -\n"
      "\nPlugins connect to /run/nri.sock.\n");
}

TEST_F(NriCommand, EveryEventIsOneWord) {
  nlohmann::json plugin = {{"name", "10-a"}, {"events", nlohmann::json::array()}};
  for (int i = 0; i < 14; ++i) plugin["events"].push_back(absl::StrCat("Event", i));
  runtime_.nri = nlohmann::json({{"enabled", true}, {"plugins", {plugin}}}).dump();
  EXPECT_THAT(Run({"nri"}).out, ContainsRegex("10-a +external +- +all +0"));
}

TEST_F(NriCommand, TellsOfOnePluginAndItsChanges) {
  const Printed printed = Run({"nri", "pinner"});
  EXPECT_EQ(printed.code, kExitOk) << printed.err;
  EXPECT_THAT(printed.out, AllOf(HasSubstr("10-pinner\n"),
                                 HasSubstr("ready, connected since 2026-11-26T06:00:00+00:00\n"),
                                 HasSubstr("pre-installed, process 42, restarted 2 times\n"),
                                 HasSubstr("RunPodSandbox, CreateContainer, StopContainer\n"),
                                 HasSubstr("7 adjusted, 8 updated, 9 evicted\n"),
                                 HasSubstr("CreateContainer  3      1       1        2 ms  5 ms\n"),
                                 HasSubstr("web/app    linux.resources.cpu.cpus  -\n"),
                                 HasSubstr("web/app    env                       PINNED\n"),
                                 Not(HasSubstr("/log"))));
  EXPECT_EQ(Run({"nri", "10-pinner"}).out, printed.out);
}

TEST_F(NriCommand, TellsProgramsTheSame) {
  const Printed all = Run({"nri", "-o", "json"});
  EXPECT_EQ(all.code, kExitOk) << all.err;
  EXPECT_EQ(nlohmann::json::parse(all.out), nlohmann::json::parse(kPlugins));
  const auto log = nlohmann::json::parse(Run({"nri", "20-log", "-o", "json"}).out);
  EXPECT_EQ(log["state"], "connecting");
  EXPECT_EQ(log["changes"],
            nlohmann::json::array(
                {{{"container", "web/app"}, {"id", "c1"}, {"field", "mounts"}, {"key", "/log"}}}));
}

TEST_F(NriCommand, APluginThatIsNotThereIsAnError) {
  const Printed none = Run({"nri", "30-other"});
  EXPECT_EQ(none.code, kExitError);
  EXPECT_THAT(none.err, HasSubstr("there is no plugin '30-other'; there are 10-pinner, 20-log"));
  runtime_.nri = R"({"enabled": true, "plugins": [{"name": "10-a"}, {"name": "20-a"}]})";
  EXPECT_THAT(Run({"nri", "a"}).err, HasSubstr("there are 2 plugins 'a': name one with its index"));
  EXPECT_EQ(Run({"nri", "20-a"}).code, kExitOk);
}

TEST_F(NriCommand, AnInterfaceWithoutPluginsIsNoError) {
  runtime_.nri = R"({"enabled": false, "plugins": []})";
  EXPECT_THAT(Run({"nri"}).out, HasSubstr("The Node Resource Interface is off (nri.enabled"));
  EXPECT_THAT(Run({"nri", "a"}).err, HasSubstr("the Node Resource Interface is off"));
  runtime_.nri = R"({"enabled": true, "socket": "", "plugins": []})";
  EXPECT_EQ(Run({"nri"}).out,
            "There is no plugin.\n\nNo plugin may connect (nri.external in plimsolld.yaml).\n");
  runtime_.nri = R"({"enabled": true, "trouble": "no socket", "plugins": []})";
  EXPECT_THAT(Run({"nri"}).out, HasSubstr("Warning: no socket\n"));
}

// Another runtime, an older daemon, or a broken one.
TEST_F(NriCommand, AWordThatIsMissingOrOddIsAnError) {
  runtime_.nri = "";
  EXPECT_THAT(Run({"nri"}).err, HasSubstr("this runtime reports nothing of plugins"));
  runtime_.nri = "[1";
  EXPECT_THAT(Run({"nri"}).err, HasSubstr("is no JSON object"));
  runtime_.nri =
      R"({"enabled": true, "plugins": [{"name": 7, "requests": {"A": 3}, "events": 1}]})";
  EXPECT_EQ(Run({"nri"}).code, kExitOk);
  runtime_.nri = R"({"enabled": true, "plugins": [3]})";
  EXPECT_EQ(Run({"nri"}).code, kExitOk);
}

TEST_F(NriCommand, NamesOfPluginsAreCompleted) {
  EXPECT_EQ(Run({"__complete", "plugins"}).out, "10-pinner\n20-log\n");
}

TEST(NriReport, InspectTellsThePluginOfEachChange) {
  cri::ContainerStatusResponse response;
  (*response.mutable_info())["info"] = kChanged;
  EXPECT_THAT(DescribeContainer(response, nullptr, {}, /*show_values=*/false),
              AllOf(HasSubstr("by 10-pinner:           linux.resources.cpu.cpus\n"),
                    HasSubstr("by 10-pinner:           env PINNED\n"),
                    HasSubstr("by 20-log:              mounts /log\n")));
}

}  // namespace
}  // namespace plimsoll::cli
