#include "network/network.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "absl/algorithm/container.h"
#include "absl/time/clock.h"
#include "base/random_id.h"
#include "base/subprocess.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "network/plugins_for_test.h"

namespace plimsoll::network {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kResult[] = R"({"cniVersion": "1.0.0",
  "interfaces": [{"name": "br0"}, {"name": "eth0", "sandbox": "/n"}],
  "ips": [{"address": "10.1.0.5/16", "interface": 1}, {"address": "fd00::5/64", "interface": 1}]})";

class NetworkTest : public ::testing::Test {
 protected:
  NetworkTest() { Open(); }

  void Open() {
    network_.reset();
    Options options{.host = *FsRoot::Open("/"), .state = *scripts_.root().Sub("state")};
    options.config_directory = scripts_.conf();
    options.plugin_directories = {scripts_.bin()};
    options.interfaces = interfaces_;
    options.is_optional = is_optional_;
    options.garbage_patience = absl::ZeroDuration();
    options.now = [this] { return MonotonicNow() + passed_; };
    auto network = Network::Open(std::move(options));
    ASSERT_TRUE(network.ok()) << network.status();
    network_ = *std::move(network);
  }
  // A chain of "first" and "second", the latter with all capabilities.
  void WriteChain(const std::string& version = "1.0.0") {
    scripts_.WriteConfig("10.conflist",
                         absl::StrCat(R"({"cniVersion": ")", version, R"(", "name": "pods",
        "plugins": [{"type": "first", "mtu": 1400},
                    {"type": "second", "capabilities": {"portMappings": true, "bandwidth": true,
                                                        "dns": true, "ipRanges": true}}]})"));
    scripts_.WriteGood("first", kResult);
    scripts_.WriteGood("second", kResult);
  }
  Attachment Pod() {
    Attachment attachment;
    attachment.id = id_;
    attachment.netns = "/proc/self/ns/net";
    attachment.pod_name = "web";
    attachment.pod_namespace = "default";
    attachment.pod_uid = "u-1";
    return attachment;
  }
  // Sets the boot id of the attachment; null removes it.
  void SetBootOnRecord(const char* boot_id) {
    Json record = Json::parse(scripts_.root().Read(RecordPath()).value_or(""), nullptr,
                              /*allow_exceptions=*/false);
    ASSERT_TRUE(record.is_object() && record.contains("bootId"));
    record.erase("bootId");
    if (boot_id != nullptr) record["bootId"] = boot_id;
    ASSERT_TRUE(scripts_.root().ReplaceFile(RecordPath(), Dump(record), 0600).ok());
  }
  std::string RecordPath() const { return absl::StrCat("state/network/", id_, ".json"); }

  const std::string id_ = RandomId();
  ScriptedPlugins scripts_;
  std::vector<std::string> interfaces_;
  bool is_optional_ = false;
  absl::Duration passed_;  // added to the clock
  std::unique_ptr<Network> network_;
};

TEST_F(NetworkTest, AChainIsAddedAndDeletedInReverse) {
  WriteChain();
  const auto added = network_->Add(Pod());
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_TRUE(added->is_attached);
  EXPECT_THAT(added->addresses, ElementsAre("10.1.0.5", "fd00::5"));
  EXPECT_THAT(added->warnings, IsEmpty());
  EXPECT_GT(added->in_plugins, absl::ZeroDuration());
  EXPECT_THAT(network_->Addresses(id_), ElementsAre("10.1.0.5", "fd00::5"));
  EXPECT_TRUE(network_->IsAttached(id_));

  const Json first = scripts_.InputOf("first", "ADD");
  EXPECT_EQ(first["name"], "pods");
  EXPECT_EQ(first["cniVersion"], "1.0.0");
  EXPECT_EQ(first["mtu"], 1400);
  EXPECT_FALSE(first.contains("prevResult"));
  EXPECT_FALSE(first.contains("runtimeConfig"));
  const Json second = scripts_.InputOf("second", "ADD");
  EXPECT_EQ(second["prevResult"]["ips"][0]["address"], "10.1.0.5/16");
  EXPECT_FALSE(second.contains("capabilities"));
  EXPECT_THAT(scripts_.EnvironmentOf("first", "ADD"),
              AllOf(Contains(absl::StrCat("CNI_CONTAINERID=", id_)), Contains("CNI_IFNAME=eth0"),
                    Contains(absl::StrCat("CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAMESPACE=default;"
                                          "K8S_POD_NAME=web;K8S_POD_INFRA_CONTAINER_ID=",
                                          id_, ";K8S_POD_UID=u-1"))));

  ASSERT_TRUE(network_->Delete(id_).ok());
  EXPECT_THAT(scripts_.calls(), ElementsAre("ADD first", "ADD second", "DEL second", "DEL first"));
  EXPECT_EQ(scripts_.InputOf("first", "DEL")["prevResult"]["ips"][0]["address"], "10.1.0.5/16");
  EXPECT_FALSE(network_->IsAttached(id_));
  EXPECT_FALSE(scripts_.root().Exists(RecordPath()));
  EXPECT_THAT(network_->Addresses(id_), IsEmpty());
  // The second call has nothing to do.
  scripts_.ForgetCalls();
  EXPECT_TRUE(network_->Delete(id_).ok());
  EXPECT_THAT(scripts_.calls(), IsEmpty());
}

TEST_F(NetworkTest, APluginIsGivenWhatItDeclares) {
  WriteChain();
  ASSERT_TRUE(network_->SetPodCidr("10.9.0.0/16,fd09::/64").ok());
  Open();  // the prefixes are kept
  Attachment pod = Pod();
  pod.capabilities.port_mappings = {
      {.protocol = "udp", .container_port = 53, .host_port = 5353, .host_ip = "127.0.0.1"}};
  pod.capabilities.ingress_bits_per_second = 1000000;
  pod.dns.nameservers = {"10.0.0.10"};
  pod.dns.search = {"svc.local"};
  const auto added = network_->Add(pod);
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_FALSE(scripts_.InputOf("first", "ADD").contains("runtimeConfig"));
  const Json given = scripts_.InputOf("second", "ADD")["runtimeConfig"];
  EXPECT_EQ(given["portMappings"], Json::parse(R"([{"hostPort": 5353, "containerPort": 53,
                                                    "protocol": "udp", "hostIP": "127.0.0.1"}])"));
  EXPECT_EQ(given["bandwidth"],
            Json::parse(R"({"ingressRate": 1000000, "ingressBurst": 2147483647})"));
  EXPECT_EQ(given["dns"]["servers"], Json::parse(R"(["10.0.0.10"])"));
  EXPECT_EQ(given["dns"]["searches"], Json::parse(R"(["svc.local"])"));
  EXPECT_EQ(given["ipRanges"],
            Json::parse(R"([[{"subnet": "10.9.0.0/16"}], [{"subnet": "fd09::/64"}]])"));
  // DEL gets the same values, whatever is in force by then.
  ASSERT_TRUE(network_->SetPodCidr("").ok());
  ASSERT_TRUE(network_->Delete(id_).ok());
  EXPECT_EQ(scripts_.InputOf("second", "DEL")["runtimeConfig"], given);
}

TEST_F(NetworkTest, WhatNoPluginServesIsSaid) {
  scripts_.WriteConfig("10.conf", R"({"cniVersion": "1.0.0", "name": "n", "type": "first"})");
  scripts_.WriteGood("first", kResult);
  Attachment pod = Pod();
  pod.capabilities.port_mappings = {{.container_port = 80, .host_port = 8080}};
  const auto added = network_->Add(pod);
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_THAT(added->warnings, ElementsAre(AllOf(HasSubstr("host ports are not served"),
                                                 HasSubstr("capability portMappings"))));
}

TEST_F(NetworkTest, AHostPortIsOnePodsUntilItIsDeleted) {
  WriteChain();
  Attachment pod = Pod();
  pod.capabilities.port_mappings = {{.container_port = 80, .host_port = 8080}};
  ASSERT_TRUE(network_->Add(pod).ok());
  Attachment other = pod;
  other.id = RandomId();
  other.pod_name = "other";
  const auto refuse = [&] {
    scripts_.ForgetCalls();
    const absl::Status refused = network_->Add(other).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                StartsWith(absl::StrCat("host port 8080/tcp is held by pod default/web (sandbox ",
                                        id_, ")")));
    EXPECT_THAT(scripts_.calls(), IsEmpty());
    EXPECT_THAT(network_->Attached(), ElementsAre(id_));
    EXPECT_FALSE(scripts_.root().Exists(absl::StrCat("state/network/", other.id, ".json")));
    EXPECT_TRUE(network_->Delete(other.id).ok());
    EXPECT_THAT(scripts_.calls(), IsEmpty());
  };
  refuse();
  ASSERT_TRUE(scripts_.root().ReplaceFile("seen/calls", "").ok());
  Open();  // the daemon knows it after a restart, too
  refuse();
  // The same port of another protocol is free.
  Attachment third = other;
  third.id = RandomId();
  third.capabilities.port_mappings[0].protocol = "udp";
  EXPECT_TRUE(network_->Add(third).ok());
  ASSERT_TRUE(network_->Delete(id_).ok());
  const auto added = network_->Add(other);
  EXPECT_TRUE(added.ok()) << added.status();
}

TEST_F(NetworkTest, OfManyAtOnceOneGetsTheHostPort) {
  constexpr int kPods = 8;
  WriteChain();
  std::vector<absl::Status> came(kPods);
  std::atomic<int> ready = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < kPods; ++i) {
    clients.emplace_back([&, i] {
      Attachment pod = Pod();
      pod.id = RandomId();
      pod.capabilities.port_mappings = {{.container_port = 80, .host_port = 8080}};
      ++ready;
      while (ready < kPods) std::this_thread::yield();
      came[static_cast<size_t>(i)] = network_->Add(pod).status();
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(absl::c_count_if(came, [](const absl::Status& status) { return status.ok(); }), 1);
  EXPECT_EQ(absl::c_count_if(came, absl::IsFailedPrecondition), kPods - 1);
  EXPECT_EQ(network_->Attached().size(), 1u);
}

// Its rules still exist.
TEST_F(NetworkTest, AHostPortIsHeldUntilDelHasSucceededAlsoWithoutTheNamespace) {
  WriteChain();
  Attachment gone = Pod();
  gone.netns = scripts_.path() + "/nothing";
  gone.capabilities.port_mappings = {{.container_port = 80, .host_port = 8080}};
  ASSERT_TRUE(network_->Add(gone).ok());
  Attachment pod = gone;
  pod.id = RandomId();
  pod.netns = Pod().netns;
  const auto refuse = [&] {
    const absl::Status refused = network_->Add(pod).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr(id_));
    EXPECT_THAT(network_->Attached(), ElementsAre(id_));
  };
  refuse();
  Open();
  refuse();
  scripts_.Write("second", "exit 1");
  EXPECT_FALSE(network_->Delete(id_).ok());
  scripts_.WriteGood("second", kResult);
  refuse();
  ASSERT_TRUE(network_->Delete(id_).ok());
  const auto added = network_->Add(pod);
  EXPECT_TRUE(added.ok()) << added.status();
}

TEST_F(NetworkTest, ARebootFreesAHostPort) {
  WriteChain();
  struct Case {
    const char* boot_id;  // null: none, as in records of older daemons
    bool has_netns;
    bool is_held;
  };
  for (const Case& each : {Case{"another", false, false},
                           {"another", true, false},
                           {nullptr, false, false},
                           {nullptr, true, true}}) {
    SCOPED_TRACE(absl::StrCat(each.boot_id == nullptr ? "none" : each.boot_id, each.has_netns));
    Attachment holder = Pod();
    if (!each.has_netns) holder.netns = scripts_.path() + "/nothing";
    holder.capabilities.port_mappings = {{.container_port = 80, .host_port = 8080}};
    ASSERT_TRUE(network_->Add(holder).ok());
    SetBootOnRecord(each.boot_id);
    Open();
    Attachment pod = Pod();
    pod.id = RandomId();
    pod.capabilities = holder.capabilities;
    const absl::Status added = network_->Add(pod).status();
    EXPECT_EQ(added.ok(), !each.is_held) << added;
    EXPECT_TRUE(network_->Delete(pod.id).ok());
    EXPECT_TRUE(network_->Delete(id_).ok());
  }
}

TEST_F(NetworkTest, APortThatIsNotServedIsHeldByNobody) {
  WriteChain();
  Attachment pod = Pod();
  pod.capabilities.port_mappings = {{.container_port = 80, .host_port = 8080}};
  ASSERT_TRUE(network_->Add(pod).ok());
  // A network without the capability serves none of them.
  scripts_.WriteConfig("05.conf", R"({"cniVersion": "1.0.0", "name": "n", "type": "first"})");
  Open();
  for (int i = 0; i < 2; ++i) {
    pod.id = RandomId();
    const auto added = network_->Add(pod);
    ASSERT_TRUE(added.ok()) << added.status();
    EXPECT_THAT(added->warnings, ElementsAre(HasSubstr("host ports are not served")));
  }
}

TEST_F(NetworkTest, WithoutConfigurationThereIsNoNetwork) {
  Attachment pod = Pod();
  pod.capabilities.port_mappings = {{.container_port = 80, .host_port = 8080}};
  const auto added = network_->Add(pod);
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_FALSE(added->is_attached);
  EXPECT_THAT(added->warnings, ElementsAre(HasSubstr("there is no CNI network")));
  EXPECT_FALSE(network_->IsAttached(id_));
  EXPECT_TRUE(network_->Delete(id_).ok());
  EXPECT_THAT(std::string(network_->Ready().message()),
              StartsWith("NetworkPluginNotReady: no CNI network"));
}

TEST_F(NetworkTest, OneThatCanNotBeUsedIsAnErrorUnlessItIsOptional) {
  scripts_.WriteConfig("10.conf", R"({"cniVersion": "1.0.0", "name": "n", "type": "absent"})");
  EXPECT_TRUE(absl::IsFailedPrecondition(network_->Add(Pod()).status()));
  EXPECT_THAT(std::string(network_->Ready().message()),
              AllOf(StartsWith("NetworkPluginNotReady: network n of"), HasSubstr("plugin absent")));
  scripts_.WriteConfig("10.conf", "{");
  EXPECT_TRUE(absl::IsFailedPrecondition(network_->Add(Pod()).status()));
  EXPECT_THAT(std::string(network_->Ready().message()), HasSubstr("10.conf: not valid JSON"));
  EXPECT_FALSE(network_->IsAttached(id_));

  is_optional_ = true;
  Open();
  const auto added = network_->Add(Pod());
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_FALSE(added->is_attached);
}

TEST_F(NetworkTest, AnAttachmentIsOnRecordBeforeThePluginRuns) {
  WriteChain();
  scripts_.Write("first", absl::StrCat("cp ", scripts_.path(), "/", RecordPath(), " ",
                                       scripts_.path(), "/copy\necho '", kResult, "'"));
  ASSERT_TRUE(network_->Add(Pod()).ok());
  const auto copy = scripts_.root().Read("copy");
  ASSERT_TRUE(copy.ok()) << copy.status();
  const auto record = RecordFromJson(*copy);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->config.name, "pods");
  EXPECT_FALSE(record->result.has_value());
}

TEST_F(NetworkTest, AFailedAddIsUndoneByDel) {
  WriteChain();
  scripts_.Write("second",
                 R"([ $CNI_COMMAND = DEL ] || { echo '{"code": 7, "msg": "no"}'; exit 1; })");
  const auto added = network_->Add(Pod());
  EXPECT_EQ(added.status().message(), "network pods: plugin second ADD: no (code 7)");
  EXPECT_TRUE(absl::IsFailedPrecondition(added.status()));
  EXPECT_TRUE(network_->IsAttached(id_));
  EXPECT_THAT(network_->Addresses(id_), IsEmpty());
  ASSERT_TRUE(network_->Delete(id_).ok());
  EXPECT_THAT(scripts_.calls(), ElementsAre("ADD first", "ADD second", "DEL second", "DEL first"));
  EXPECT_FALSE(scripts_.InputOf("first", "DEL").contains("prevResult"));
  EXPECT_FALSE(scripts_.root().Exists(RecordPath()));
}

TEST_F(NetworkTest, GarbageIsNoResult) {
  WriteChain();
  for (const char* garbage : {"echo hello", "true", "echo '[]'", "head -c 100000 /dev/urandom",
                              R"(echo '{"ips": [{"address": "nowhere"}]}')"}) {
    scripts_.Write("first", garbage);
    const auto added = network_->Add(Pod());
    EXPECT_TRUE(absl::IsInternal(added.status())) << garbage << ": " << added.status();
    EXPECT_THAT(added.status().message(), HasSubstr("plugin first ADD: printed no result"));
    EXPECT_TRUE(network_->Delete(id_).ok()) << garbage;
  }
}

// After a kill, and after a reboot.
TEST_F(NetworkTest, AnotherDaemonDeletesByTheRecordAlone) {
  WriteChain();
  Attachment pod = Pod();
  pod.netns = scripts_.path() + "/gone";
  ASSERT_TRUE(network_->Add(pod).ok());
  ASSERT_TRUE(scripts_.root().RemoveFile("conf/10.conflist").ok());
  ASSERT_TRUE(scripts_.root().ReplaceFile("state/network/0.result", "{}", 0600).ok());
  ASSERT_TRUE(scripts_.root().ReplaceFile("state/network/.x.json.1.2", "half", 0600).ok());
  Open();
  EXPECT_THAT(network_->Attached(), ElementsAre(id_));
  EXPECT_THAT(network_->Addresses(id_), ElementsAre("10.1.0.5", "fd00::5"));
  EXPECT_FALSE(scripts_.root().Exists("state/network/.x.json.1.2"));
  EXPECT_FALSE(scripts_.root().Exists("state/network/0.result"));
  ASSERT_TRUE(network_->Delete(id_).ok());
  EXPECT_THAT(scripts_.calls(), Contains("DEL first"));
  EXPECT_THAT(scripts_.EnvironmentOf("first", "DEL"), Contains("CNI_NETNS="));
  EXPECT_EQ(scripts_.InputOf("first", "DEL")["mtu"], 1400);
  EXPECT_TRUE(scripts_.InputOf("first", "DEL").contains("prevResult"));
  EXPECT_THAT(*scripts_.root().List("state/network"), IsEmpty());
}

// After a power cut.
TEST_F(NetworkTest, AResultThatIsTornIsAsNone) {
  WriteChain();
  ASSERT_TRUE(network_->Add(Pod()).ok());
  ASSERT_TRUE(
      scripts_.root().ReplaceFile(absl::StrCat("state/network/", id_, ".result"), "{\"i").ok());
  Open();
  EXPECT_THAT(network_->Damaged(), IsEmpty());
  EXPECT_THAT(network_->Addresses(id_), IsEmpty());
  ASSERT_TRUE(network_->Delete(id_).ok());
  EXPECT_FALSE(scripts_.InputOf("first", "DEL").contains("prevResult"));
  EXPECT_THAT(*scripts_.root().List("state/network"), IsEmpty());
}

TEST_F(NetworkTest, APluginThatIsLeftAtAnAddIsEnded) {
  WriteChain();
  scripts_.Write("first", "[ $CNI_COMMAND != ADD ]");
  EXPECT_FALSE(network_->Add(Pod()).ok());  // on record, without a result
  const auto start = [](const std::string& id) {
    Command command;
    command.argv = {"/bin/sleep", "1000"};
    command.environment = {absl::StrCat("CNI_CONTAINERID=", id)};
    return Spawn(command);
  };
  auto left = start(id_);
  auto others = start(RandomId());
  ASSERT_TRUE(left.ok() && others.ok()) << left.status() << others.status();
  // The kernel lets the parent of a new program go on before the program's environment is visible.
  const FsRoot host = *FsRoot::Open("/");
  for (const pid_t pid : {left->pid(), others->pid()}) {
    const std::string environment = absl::StrCat("proc/", pid, "/environ");
    ASSERT_TRUE(WaitUntil([&] { return !host.Read(environment).value_or("").empty(); }));
  }
  Open();
  const auto ended = left->Wait(absl::Now() + absl::Seconds(30));
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->signal, SIGKILL);
  EXPECT_FALSE(others->Wait(absl::Now()).ok());
  EXPECT_TRUE(others->Signal(SIGKILL).ok());
  EXPECT_TRUE(others->Wait().ok());
}

TEST_F(NetworkTest, ADelThatFailsKeepsTheRecord) {
  WriteChain();
  ASSERT_TRUE(network_->Add(Pod()).ok());
  scripts_.Write("second", "exit 1");
  scripts_.ForgetCalls();
  EXPECT_FALSE(network_->Delete(id_).ok());
  // Plugins still to come may hold what "second" needs.
  EXPECT_THAT(scripts_.calls(), ElementsAre("DEL second"));
  EXPECT_TRUE(network_->IsAttached(id_));
  EXPECT_THAT(scripts_.EnvironmentOf("second", "DEL"), Contains("CNI_NETNS=/proc/self/ns/net"));
  scripts_.Write("second", "");
  EXPECT_TRUE(network_->Delete(id_).ok());
  EXPECT_FALSE(network_->IsAttached(id_));
}

TEST_F(NetworkTest, AnOldVersionHasNoResultInDelAndNoCheck) {
  WriteChain("0.3.1");
  ASSERT_TRUE(network_->Add(Pod()).ok());
  EXPECT_EQ(scripts_.InputOf("second", "ADD")["prevResult"]["ips"][1]["version"], "6");
  EXPECT_TRUE(network_->Check(id_).ok());
  EXPECT_THAT(scripts_.calls(), Not(Contains("CHECK first")));
  ASSERT_TRUE(network_->Delete(id_).ok());
  EXPECT_FALSE(scripts_.InputOf("first", "DEL").contains("prevResult"));
}

TEST_F(NetworkTest, CheckAsksEachPluginWithTheResult) {
  WriteChain("0.4.0");
  ASSERT_TRUE(network_->Add(Pod()).ok());
  ASSERT_TRUE(network_->Check(id_).ok());
  EXPECT_THAT(scripts_.calls(), Contains("CHECK second"));
  EXPECT_TRUE(scripts_.InputOf("first", "CHECK").contains("prevResult"));
  scripts_.Write("first", R"(echo '{"code": 100, "msg": "address is gone"}'; exit 1)");
  EXPECT_THAT(network_->Check(id_).message(), HasSubstr("plugin first CHECK: address is gone"));
  EXPECT_TRUE(network_->Check(RandomId()).ok());
}

TEST_F(NetworkTest, OnlyInterfacesThatAreAskedForCount) {
  WriteChain();
  interfaces_ = {"net1"};
  Open();
  EXPECT_THAT(network_->Add(Pod()).status().message(),
              HasSubstr("no address to an interface net1"));
  EXPECT_TRUE(network_->Delete(id_).ok());
  interfaces_ = {"eth0"};
  Open();
  EXPECT_THAT(network_->Add(Pod())->addresses, ElementsAre("10.1.0.5", "fd00::5"));
}

TEST_F(NetworkTest, StatusOfThePluginsIsAskedFrom11On) {
  WriteChain("1.0.0");
  EXPECT_TRUE(network_->Ready().ok());
  EXPECT_THAT(scripts_.calls(), IsEmpty());
  WriteChain("1.1.0");
  EXPECT_TRUE(network_->Ready().ok());
  EXPECT_THAT(scripts_.calls(), ElementsAre("STATUS first", "STATUS second"));
  // It does not ask each time.
  EXPECT_TRUE(network_->Ready().ok());
  EXPECT_EQ(scripts_.calls().size(), 2u);
  Open();
  scripts_.Write("second", R"(echo '{"code": 50, "msg": "no addresses left"}'; exit 1)");
  EXPECT_THAT(std::string(network_->Ready().message()),
              AllOf(StartsWith("NetworkPluginNotReady: "), HasSubstr("no addresses left")));
}

TEST_F(NetworkTest, OneStatusThatFailsLeavesTheNetworkReady) {
  WriteChain("1.1.0");
  EXPECT_TRUE(network_->Ready().ok());
  scripts_.Write("second", R"(echo '{"code": 50, "msg": "no addresses left"}'; exit 1)");
  passed_ = kStatusAge;
  EXPECT_TRUE(network_->Ready().ok()) << network_->Ready();
  EXPECT_THAT(scripts_.calls(),
              ElementsAre("STATUS first", "STATUS second", "STATUS first", "STATUS second"));
  passed_ += kStatusGrace;
  EXPECT_THAT(std::string(network_->Ready().message()), HasSubstr("no addresses left"));
}

TEST_F(NetworkTest, APluginBesideTheListIsPartOfTheChain) {
  WriteChain("1.1.0");
  ASSERT_TRUE(scripts_.root().MakeDirs("conf/pods", 0755).ok());
  scripts_.WriteConfig("pods/mesh.conf", R"({"type": "third", "mesh": 1})");
  EXPECT_THAT(std::string(network_->Ready().message()), HasSubstr("plugin third: no such program"));
  scripts_.WriteGood("third", kResult);
  ASSERT_TRUE(network_->Add(Pod()).ok());
  const Json input = scripts_.InputOf("third", "ADD");
  EXPECT_EQ(input["name"], "pods");
  EXPECT_EQ(input["cniVersion"], "1.1.0");
  EXPECT_EQ(input["mesh"], 1);
  EXPECT_TRUE(input.contains("prevResult"));
  // DEL goes by the record.
  ASSERT_TRUE(scripts_.root().RemoveTree("conf/pods").ok());
  Open();
  ASSERT_TRUE(network_->Delete(id_).ok());
  EXPECT_EQ(scripts_.InputOf("third", "DEL")["mesh"], 1);
}

TEST_F(NetworkTest, GarbageCollectionNamesWhatIsInUse) {
  WriteChain("1.0.0");
  ASSERT_TRUE(network_->Add(Pod()).ok());
  ASSERT_TRUE(network_->CollectGarbage().ok());
  EXPECT_THAT(scripts_.calls(), Not(Contains("GC first")));
  WriteChain("1.1.0");
  ASSERT_TRUE(network_->CollectGarbage().ok());
  const Json valid =
      Json::parse(absl::StrCat(R"([{"containerID": ")", id_, R"(", "ifname": "eth0"}])"));
  EXPECT_EQ(scripts_.InputOf("second", "GC")["cni.dev/valid-attachments"], valid);
  EXPECT_EQ(scripts_.InputOf("second", "GC")["cni.dev/attachments"], valid);
}

// A GC might take the result of a fresh ADD for garbage.
TEST_F(NetworkTest, NothingIsCollectedBesideAnAdd) {
  WriteChain("1.1.0");
  const std::string begun = scripts_.path() + "/begun";
  const std::string let = scripts_.path() + "/let";
  ASSERT_EQ(mkfifo(begun.c_str(), 0600), 0);
  ASSERT_EQ(mkfifo(let.c_str(), 0600), 0);
  scripts_.Write("first", absl::StrCat("[ $CNI_COMMAND != ADD ] || { : > ", begun, "; : > ", let,
                                       "; echo '", kResult, "'; }"));
  std::thread adder([this] { EXPECT_TRUE(network_->Add(Pod()).ok()); });
  const UniqueFd in_add(open(begun.c_str(), O_RDONLY | O_CLOEXEC));  // waits for the writer
  EXPECT_TRUE(absl::IsUnavailable(network_->CollectGarbage()));
  EXPECT_THAT(scripts_.calls(), ElementsAre("ADD first"));
  const UniqueFd go_on(open(let.c_str(), O_RDONLY | O_CLOEXEC));
  adder.join();
  EXPECT_TRUE(network_->CollectGarbage().ok());
  EXPECT_THAT(scripts_.calls(), Contains("GC second"));
}

TEST_F(NetworkTest, ADelHasTheResultOfAnAddThatCameToNothing) {
  WriteChain();
  interfaces_ = {"net7"};
  Open();
  EXPECT_TRUE(absl::IsFailedPrecondition(network_->Add(Pod()).status()));
  ASSERT_TRUE(network_->Delete(id_).ok());
  EXPECT_TRUE(scripts_.InputOf("first", "DEL").contains("prevResult"));
}

// host-local fails so: it has no prefixes of its own then.
TEST_F(NetworkTest, WhatFailedForWantOfPrefixesIsGivenBackWithThem) {
  WriteChain();
  scripts_.Write("second", "exit 1");
  EXPECT_FALSE(network_->Add(Pod()).ok());
  ASSERT_TRUE(network_->SetPodCidr("10.9.0.0/16").ok());
  scripts_.Write("second", "");
  EXPECT_TRUE(network_->Delete(id_).ok());
  EXPECT_EQ(scripts_.InputOf("second", "DEL")["runtimeConfig"],
            Json::parse(R"({"ipRanges": [[{"subnet": "10.9.0.0/16"}]]})"));
}

TEST_F(NetworkTest, ARecordThatCanNotBeReadIsToldAndCanBeRemoved) {
  ASSERT_TRUE(scripts_.root().ReplaceFile(RecordPath(), "{}", 0600).ok());
  Open();
  EXPECT_THAT(network_->Damaged(), ElementsAre(AllOf(HasSubstr(id_), HasSubstr("by hand"))));
  EXPECT_TRUE(network_->IsAttached(id_));
  EXPECT_TRUE(network_->Delete(id_).ok());
  EXPECT_FALSE(scripts_.root().Exists(RecordPath()));
}

TEST_F(NetworkTest, NamesThatWouldBeMoreArgumentsAreRefused) {
  WriteChain();
  Attachment pod = Pod();
  pod.pod_name = "web;IP=10.0.0.1";
  EXPECT_TRUE(absl::IsInvalidArgument(network_->Add(pod).status()));
  EXPECT_THAT(scripts_.calls(), IsEmpty());
  EXPECT_FALSE(network_->IsAttached(id_));
}

TEST_F(NetworkTest, APodCidrIsChecked) {
  EXPECT_TRUE(absl::IsInvalidArgument(network_->SetPodCidr("10.0.0.0")));
  EXPECT_TRUE(absl::IsInvalidArgument(network_->SetPodCidr("10.0.0.0/8,x")));
  EXPECT_TRUE(network_->SetPodCidr("10.0.0.0/8").ok());
}

TEST(ListRecordsTest, OnlyLooks) {
  const TestDir dir;
  EXPECT_THAT(*ListRecords(dir.root()), IsEmpty());
  const std::string id = RandomId();
  ASSERT_TRUE(dir.root().MakeDirs(kRecordDirectory).ok());
  ASSERT_TRUE(dir.root().ReplaceFile(absl::StrCat("network/", id, ".json"), "{}").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("network/pod-cidr", "10.0.0.0/8").ok());
  EXPECT_THAT(*ListRecords(dir.root()), ElementsAre(id));
}

}  // namespace
}  // namespace plimsoll::network
