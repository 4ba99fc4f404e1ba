#include "network/result.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "network/json.h"

namespace plimsoll::network {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kDualStack[] = R"({
  "cniVersion": "1.0.0",
  "interfaces": [{"name": "br0", "mac": "00:11"}, {"name": "veth1"},
                 {"name": "eth0", "mac": "00:22", "sandbox": "/run/ns"}],
  "ips": [{"address": "10.1.0.5/16", "gateway": "10.1.0.1", "interface": 2},
          {"address": "fd00::5/64", "gateway": "fd00::1", "interface": 2}],
  "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0", "gw": "fd00::1"}],
  "dns": {"nameservers": ["10.1.0.1"], "search": ["a"], "options": ["b"], "domain": "c"}})";

TEST(CniResultTest, AResultIsRead) {
  const auto result = ParseResult(kDualStack);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->interfaces[2].sandbox, "/run/ns");
  EXPECT_EQ(result->ips[0].gateway, "10.1.0.1");
  EXPECT_EQ(result->ips[1].interface, 2u);
  EXPECT_EQ(result->routes[1].gw, "fd00::1");
  EXPECT_THAT(result->dns.nameservers, ElementsAre("10.1.0.1"));
  EXPECT_THAT(PodAddresses(*result, {}, "eth0"), ElementsAre("10.1.0.5", "fd00::5"));
}

TEST(CniResultTest, WrittenItIsReadAgainInEachVersion) {
  const auto result = ParseResult(kDualStack);
  ASSERT_TRUE(result.ok()) << result.status();
  for (const Version version : {Version::k031, Version::k040, Version::k100, Version::k110}) {
    const std::string text = ToJson(*result, version);
    const auto again = ParseResult(text);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, *result) << VersionName(version);
    const Json json = Json::parse(text);
    EXPECT_EQ(json["cniVersion"], VersionName(version));
    EXPECT_EQ(json["ips"][0].contains("version"), version < Version::k100);
  }
  const Json old = Json::parse(ToJson(*result, Version::k031));
  EXPECT_EQ(old["ips"][0]["version"], "4");
  EXPECT_EQ(old["ips"][1]["version"], "6");
}

TEST(CniResultTest, WhatIsNewInOneVersionIsNotToldToAnOlder) {
  const auto result = ParseResult(R"({"cniVersion": "1.1.0",
      "interfaces": [{"name": "eth0", "mtu": 1400, "socketPath": "/s", "pciID": "p"}],
      "routes": [{"dst": "10.0.0.0/8", "mtu": 1300, "advmss": 1, "priority": 2, "table": 3,
                  "scope": 4}]})");
  ASSERT_TRUE(result.ok()) << result.status();
  const auto same = ParseResult(ToJson(*result, Version::k110));
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(*same, *result);
  const std::string old = ToJson(*result, Version::k100);
  for (const char* key : {"mtu", "socketPath", "pciID", "advmss", "priority", "table", "scope"}) {
    EXPECT_EQ(old.find(key), std::string::npos) << key;
  }
}

TEST(CniResultTest, PodAddressesAreThoseOfTheInterfacesInThePod) {
  const auto result = ParseResult(R"({"cniVersion": "1.0.0",
      "interfaces": [{"name": "host0"}, {"name": "eth0", "sandbox": "/n"},
                     {"name": "net1", "sandbox": "/n"}],
      "ips": [{"address": "192.0.2.1/24", "interface": 0},
              {"address": "10.1.0.5/16", "interface": 1},
              {"address": "10.2.0.5/16", "interface": 2},
              {"address": "10.1.0.5/16", "interface": 1},
              {"address": "10.3.0.5/16"}]})");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(PodAddresses(*result, {}, "eth0"), ElementsAre("10.1.0.5", "10.2.0.5", "10.3.0.5"));
  EXPECT_THAT(PodAddresses(*result, {"net1"}, "eth0"), ElementsAre("10.2.0.5"));
  EXPECT_THAT(PodAddresses(*result, {"eth0"}, "eth0"), ElementsAre("10.1.0.5", "10.3.0.5"));
  EXPECT_THAT(PodAddresses(*result, {"other"}, "eth0"), IsEmpty());
}

TEST(CniResultTest, WhatIsNoResultIsRefused) {
  for (const auto& [text, says] :
       {std::pair<const char*, const char*>("", "not valid JSON"),
        {"null", "expected an object"},
        {R"({"cniVersion": "0.2.0", "ip4": {"ip": "10.1.0.5/16"}})", "not supported"},
        {R"({"ips": [{"address": "10.1.0.5"}]})", "prefix length"},
        {R"({"ips": [{"address": "10.1.0.5/33"}]})", "prefix length"},
        {R"({"ips": [{"address": "fd00::/129"}]})", "prefix length"},
        {R"({"ips": [{"address": "10.1.0.5/-1"}]})", "prefix length"},
        {R"({"ips": [{"address": "$(reboot)/8"}]})", "prefix length"},
        {R"({"ips": [{"address": "0.0.0.0/0"}]})", "that an interface can have"},
        {R"({"ips": [{"address": "::/64"}]})", "that an interface can have"},
        {R"({"ips": [{"address": "239.0.0.1/8"}]})", "that an interface can have"},
        {R"({"ips": [{"address": "255.255.255.255/32"}]})", "that an interface can have"},
        {R"({"ips": [{"address": "ff02::1/64"}]})", "that an interface can have"},
        {R"({"ips": [{"address": "10.1.0.5/16", "gateway": "x"}]})", "no IP address"},
        {R"({"ips": [{"address": "10.1.0.5/16", "interface": 0}]})", "0 interfaces"},
        {R"({"ips": [{"address": "10.1.0.5/16", "interface": -1}]})", "0 interfaces"},
        {R"({"ips": [{"address": "10.1.0.5/16", "interface": 1e3}]})", "an integer"},
        {R"({"ips": {}})", "expected a list"},
        {R"({"interfaces": [{"mac": "x"}]})", "name"},
        {R"({"routes": [{"dst": "anywhere"}]})", "prefix length"},
        {R"({"dns": 7})", "dns"}}) {
    const auto result = ParseResult(text);
    EXPECT_TRUE(absl::IsInvalidArgument(result.status())) << text;
    EXPECT_THAT(result.status().message(), HasSubstr(says)) << text;
  }
  std::string many = R"({"ips": [)";
  for (int i = 0; i < 257; ++i) many += R"({"address": "10.1.0.5/16"},)";
  many.back() = ']';
  EXPECT_THAT(ParseResult(many + "}").status().message(), HasSubstr("more than 256"));
}

TEST(CniErrorTest, AnErrorObjectBecomesAStatus) {
  const absl::Status status = ParseError(
      R"({"cniVersion": "1.0.0", "code": 7, "msg": "no subnet\n", "details": "x\u001b"})");
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_EQ(status.message(), "no subnet; x\\x1b (code 7)");
  EXPECT_TRUE(absl::IsUnavailable(ParseError(R"({"code": 11, "msg": "later"})")));
  EXPECT_TRUE(absl::IsUnavailable(ParseError(R"({"code": 50, "msg": "later"})")));
  EXPECT_TRUE(absl::IsInternal(ParseError(R"({"code": 999, "msg": "own"})")));
  EXPECT_TRUE(absl::IsInternal(ParseError(R"({"code": 0})")));
  for (const char* none : {"", "panic: oh", "{}", R"({"code": "7"})", R"({"ips": []})"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseError(none))) << none;
  }
}

TEST(CniErrorTest, WhatIsLongIsCut) {
  const absl::Status status =
      ParseError(R"({"code": 1, "msg": ")" + std::string(100000, 'x') + "\"}");
  EXPECT_LT(status.message().size(), 1100u);
}

}  // namespace
}  // namespace plimsoll::network
