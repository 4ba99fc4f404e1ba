#include "network/network.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/random_id.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "network/network_fixture_for_test.h"

namespace plimsoll::network {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

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

}  // namespace
}  // namespace plimsoll::network
