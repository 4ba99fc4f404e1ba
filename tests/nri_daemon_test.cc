// The Node Resource Interface as the daemon's users meet it: `plimsoll nri` and inspect, metrics of
// plugins, the socket, plugins as providers of the topology.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/topology_stream.h"
#include "nri/plugin/plugin.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// Adds a variable to each container.
class Adder final : public nri::Plugin {
 public:
  std::vector<nri::api::Event> Events() const override {
    return {nri::api::CREATE_CONTAINER, nri::api::STOP_CONTAINER};
  }
  absl::StatusOr<nri::api::CreateContainerResponse> CreateContainer(
      const nri::api::CreateContainerRequest&) override {
    nri::api::CreateContainerResponse answer;
    nri::api::KeyValue* variable = answer.mutable_adjust()->add_env();
    variable->set_key("ADDED");
    variable->set_value("by-plugin");
    return answer;
  }
  absl::StatusOr<nri::api::StopContainerResponse> StopContainer(
      const nri::api::StopContainerRequest&) override {
    return nri::api::StopContainerResponse();
  }
};

class NriDaemonTest : public NodeTest {
 protected:
  // The machine's own plugins are not this test's.
  explicit NriDaemonTest(const std::string& nri = "", const std::string& more = "")
      : NodeTest(absl::StrCat("nri:\n  plugin_dir: ''\n", nri, more)) {}

  std::string socket() const { return node_.run_directory() + "/nri/nri.sock"; }

  RunResult Plimsoll(std::vector<std::string> words) {
    words.insert(words.begin(), {ProgramPath("plimsoll"), "--address", node_.address()});
    auto result = RunProgram({.argv = std::move(words)}, {.timeout = Patience(absl::Seconds(90))});
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : RunResult{.exit = {.code = -1}};
  }
  // A member of the plugin's document; null while it isn't listed.
  nlohmann::json PluginMember(const std::string& plugin, const char* member) {
    const auto all = nlohmann::json::parse(Plimsoll({"nri", "-o", "json"}).out, nullptr, false);
    if (all.is_discarded()) return nullptr;
    for (const auto& one : all["plugins"]) {
      if (one["name"] == plugin) return one[member];
    }
    return nullptr;
  }
  // Connects, and waits until it gets events.
  std::unique_ptr<nri::Session> Connect(nri::Plugin& plugin, const std::string& index,
                                        const std::string& name) {
    auto session = nri::Session::Start(plugin, {.name = name, .index = index, .socket = socket()});
    EXPECT_TRUE(session.ok()) << session.status();
    if (!session.ok()) return nullptr;
    EXPECT_TRUE(Eventually([&] { return PluginMember(index + "-" + name, "state") == "ready"; }))
        << Plimsoll({"nri"}).out;
    return *std::move(session);
  }
};

TEST_F(NriDaemonTest, PluginsAndTheirChangesAreShown) {
  EXPECT_THAT(Plimsoll({"nri"}).out,
              AllOf(HasSubstr("There is no plugin."), HasSubstr("Plugins connect to " + socket())));
  Adder adder;
  const auto session = Connect(adder, "10", "adder");
  ASSERT_NE(session, nullptr);
  const std::string pod = RunPod();
  const std::string container = Start(pod, Shell("echo $ADDED"));
  AwaitExit(container);
  EXPECT_EQ(Output(container), "by-plugin\n");

  EXPECT_THAT(
      Plimsoll({"nri"}).out,
      ContainsRegex("10-adder +ready +external +[^ ]+ +CreateContainer, StopContainer +0 "));
  EXPECT_EQ(PluginMember("10-adder", "adjustedContainers"), 1);
  const RunResult one = Plimsoll({"nri", "adder"});
  EXPECT_EQ(one.exit.code, 0) << one.err;
  EXPECT_THAT(one.out, AllOf(HasSubstr(absl::StrCat("external, process ", getpid())),
                             ContainsRegex("CreateContainer +1 +0 +0 "),
                             ContainsRegex("/[^ ]+ +env +ADDED\n")));
  EXPECT_THAT(Plimsoll({"inspect", container}).out, ContainsRegex("by 10-adder: +env ADDED\n"));
  const auto inspected =
      nlohmann::json::parse(Plimsoll({"inspect", container, "-o", "json"}).out, nullptr, false);
  EXPECT_EQ(inspected["info"]["info"]["changedBy"],
            nlohmann::json::array({{{"field", "env"}, {"key", "ADDED"}, {"plugin", "10-adder"}}}));

  session->Close();
  EXPECT_TRUE(Eventually([&] { return PluginMember("10-adder", "state").is_null(); }));
  EXPECT_EQ(Plimsoll({"nri", "adder"}).exit.code, 1);
}

TEST_F(NriDaemonTest, OnlyRootReachesTheSocket) {
  struct stat info = {};
  ASSERT_EQ(stat(socket().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  ASSERT_EQ(stat((node_.run_directory() + "/nri").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
}

class NoPlugins : public NriDaemonTest {
 protected:
  NoPlugins() : NriDaemonTest("  external: false\n") {}
};

TEST_F(NoPlugins, ThereIsNoSocket) {
  EXPECT_THAT(Plimsoll({"nri"}).out, HasSubstr("No plugin may connect (nri.external"));
  EXPECT_NE(access(socket().c_str(), F_OK), 0);
}

class SwitchedOff : public NriDaemonTest {
 protected:
  SwitchedOff() : NriDaemonTest("  enabled: false\n") {}
};

TEST_F(SwitchedOff, PodsRunWithoutIt) {
  EXPECT_THAT(Plimsoll({"nri"}).out, HasSubstr("The Node Resource Interface is off"));
  EXPECT_NE(access(socket().c_str(), F_OK), 0);
  EXPECT_EQ(AwaitExit(Start(RunPod(), Shell("exit 3"))).exit_code(), 3);
}

// Another runtime's plugins, at the well-known path.
TEST_F(NriDaemonTest, ASocketOfAnotherProcessIsAWarning) {
  ASSERT_TRUE(node_.StopDaemon().ok());
  sockaddr_un address = {.sun_family = AF_UNIX};
  socket().copy(address.sun_path, sizeof(address.sun_path) - 1);
  unlink(address.sun_path);
  const UniqueFd other(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(other.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(other.get(), 8), 0);
  ASSERT_TRUE(node_.StartDaemon().ok()) << node_.Log();
  const std::string warning = "no NRI plugin can connect to " + socket();
  EXPECT_THAT(node_.Log(), HasSubstr(warning));
  EXPECT_THAT(Plimsoll({"nri"}).out, HasSubstr("Warning: " + warning));
  EXPECT_THAT(Plimsoll({"daemon", "status"}).out, HasSubstr(warning));
  EXPECT_EQ(AwaitExit(Start(RunPod(), Shell("exit 3"))).exit_code(), 3);
}

class RequiredPlugin : public NriDaemonTest {
 protected:
  RequiredPlugin() : NriDaemonTest("  plugins: {10-adder: {required: true}}\n") {}
};

TEST_F(RequiredPlugin, IsMissedByPodsAndNamedInTheStatus) {
  const std::string missed = "NRI plugin 10-adder is required and not there";
  EXPECT_THAT(Plimsoll({"daemon", "status"}).out, HasSubstr(missed));
  std::string pod;
  const grpc::Status failed = TryRunPod(PodConfig(), &pod);
  EXPECT_EQ(failed.error_code(), grpc::StatusCode::UNAVAILABLE) << failed.error_message();
  EXPECT_THAT(failed.error_message(), HasSubstr("10-adder"));
  Adder adder;
  const auto session = Connect(adder, "10", "adder");
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(Plimsoll({"daemon", "status"}).out, Not(HasSubstr(missed)));
  EXPECT_EQ(AwaitExit(Start(RunPod(), Shell("exit 3"))).exit_code(), 3);
}

nri::api::UpdateNodeResourcesRequest OneBoard(const std::string& memory) {
  nri::api::UpdateNodeResourcesRequest request;
  auto* zone = request.mutable_resource_topology()->add_zones();
  zone->set_name("board");
  zone->set_type("NUMANode");
  (*zone->mutable_attributes())["id"] = "0";
  auto* resource = zone->add_resources();
  resource->set_name("memory");
  resource->mutable_capacity()->set_string(memory);
  return request;
}

TEST_F(NriDaemonTest, ATopologyIsTakenOnlyWhereProvidersGiveIt) {
  Adder adder;
  const auto session = Connect(adder, "10", "adder");
  ASSERT_NE(session, nullptr);
  const absl::Status refused = session->UpdateNodeResources(OneBoard("8Gi"));
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("nodeResources.source: {provider: {}}"));
}

class ProvidedTopology : public NriDaemonTest {
 protected:
  ProvidedTopology() : NriDaemonTest("", "nodeResources:\n  source: {provider: {hold: 100ms}}\n") {}

  // The board's memory; empty: there is no board.
  std::string Memory() {
    cri::ResourceTopology topology;
    EXPECT_TRUE(TopologyStream(node_).Next(&topology));
    for (const cri::ResourceTopologyZone& zone : topology.zones()) {
      if (zone.name() == "board") return zone.resources(0).capacity().string();
    }
    return "";
  }
};

TEST_F(ProvidedTopology, APluginIsTheProviderWhileItIsConnected) {
  Adder adder;
  Adder other;
  const auto session = Connect(adder, "10", "adder");
  const auto second = Connect(other, "20", "other");
  ASSERT_NE(session, nullptr);
  ASSERT_NE(second, nullptr);
  // A refused topology doesn't make a provider.
  const absl::Status invalid = session->UpdateNodeResources(OneBoard("much"));
  EXPECT_TRUE(absl::IsInvalidArgument(invalid)) << invalid;
  EXPECT_EQ(Memory(), "");
  ASSERT_TRUE(session->UpdateNodeResources(OneBoard("8Gi")).ok());
  EXPECT_TRUE(Eventually([&] { return Memory() == "8Gi"; }));
  const absl::Status taken = second->UpdateNodeResources(OneBoard("4Gi"));
  EXPECT_TRUE(absl::IsFailedPrecondition(taken)) << taken;
  EXPECT_THAT(taken.message(), HasSubstr("10-adder"));
  ASSERT_TRUE(session->UpdateNodeResources(OneBoard("6Gi")).ok());
  EXPECT_TRUE(Eventually([&] { return Memory() == "6Gi"; }));
  session->Close();
  EXPECT_TRUE(Eventually([&] { return Memory() == ""; }));
  EXPECT_TRUE(Eventually([&] { return second->UpdateNodeResources(OneBoard("4Gi")).ok(); }));
  EXPECT_TRUE(Eventually([&] { return Memory() == "4Gi"; }));
}

}  // namespace
}  // namespace plimsoll::testing
