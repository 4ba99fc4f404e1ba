#include "network/host_ports.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::network {
namespace {

PortMapping At(const std::string& host_ip, const std::string& protocol = "tcp", int port = 8080) {
  return {.protocol = protocol, .container_port = 80, .host_port = port, .host_ip = host_ip};
}

TEST(HostPortsTest, OneAddressOfThemIsEnough) {
  struct Case {
    const char* a;
    const char* b;
    bool conflict;
  };
  for (const Case& each : {Case{"", "", true},
                           {"", "192.0.2.1", true},
                           {"", "2001:db8::1", true},
                           {"", "0.0.0.0", true},
                           {"", "::", true},
                           {"0.0.0.0", "0.0.0.0", true},
                           {"0.0.0.0", "192.0.2.1", true},
                           {"0.0.0.0", "2001:db8::1", false},
                           {"0.0.0.0", "::", false},
                           {"::", "2001:db8::1", true},
                           {"::", "192.0.2.1", false},
                           {"192.0.2.1", "192.0.2.1", true},
                           {"192.0.2.1", "192.0.2.2", false},
                           {"192.0.2.1", "::ffff:192.0.2.1", true},
                           {"2001:db8::1", "2001:DB8:0::1", true},
                           {"2001:db8::1", "2001:db8::2", false}}) {
    EXPECT_EQ(Conflict(At(each.a), At(each.b)), each.conflict) << each.a << " and " << each.b;
    EXPECT_EQ(Conflict(At(each.b), At(each.a)), each.conflict) << each.b << " and " << each.a;
  }
}

TEST(HostPortsTest, AnotherPortOrProtocolIsNoConflict) {
  EXPECT_TRUE(Conflict(At("", "udp"), At("", "udp")));
  EXPECT_FALSE(Conflict(At("", "udp"), At("", "tcp")));
  EXPECT_FALSE(Conflict(At("", "sctp"), At("", "udp")));
  EXPECT_FALSE(Conflict(At("", "tcp", 80), At("", "tcp", 81)));
  EXPECT_FALSE(
      FirstConflict({At("", "udp"), At("", "tcp", 81)}, {At(""), At("", "udp", 81)}).has_value());
  EXPECT_FALSE(FirstConflict({}, {At("")}).has_value());
  const auto found = FirstConflict({At("", "udp"), At("192.0.2.1")}, {At("", "tcp", 81), At("")});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(PortText(*found), "8080/tcp at 192.0.2.1");
  EXPECT_EQ(PortText(At("", "udp")), "8080/udp");
}

TEST(HostPortsTest, ARecordTellsThem) {
  Attachment pod;
  pod.capabilities.port_mappings = {At("192.0.2.1"), At("", "udp", 53)};
  Record record;
  record.capabilities = CapabilitiesOf(pod, {});
  const std::vector<PortMapping> ports = HostPortsOf(record);
  ASSERT_EQ(ports.size(), 2u);
  EXPECT_EQ(PortText(ports[0]), "8080/tcp at 192.0.2.1");
  EXPECT_EQ(PortText(ports[1]), "53/udp");
  for (const char* odd : {"", "{", "7", R"([1, {"hostPort": "x"}, {}, {"protocol": 7}])"}) {
    record.capabilities["portMappings"] = odd;
    EXPECT_TRUE(HostPortsOf(record).empty()) << odd;
  }
  EXPECT_TRUE(HostPortsOf(Record()).empty());
}

// Plugins' tables use only the first rule for a port: the other would lead nowhere.
TEST(HostPortsTest, APodsOwnPortsMayNotWantOneOfTheHosts) {
  const auto check = [](const std::vector<PortMapping>& ports) {
    Attachment pod;
    pod.capabilities.port_mappings = ports;
    Record record;
    record.id = "a";
    record.config.plugins.emplace_back().capabilities = {"portMappings"};
    record.capabilities = CapabilitiesOf(pod, {});
    return CheckHostPorts(record, {}, {});
  };
  PortMapping other = At("192.0.2.1");
  other.container_port = 81;
  const absl::Status refused = check({At(""), other});
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_EQ(refused.message(),
            "host port 8080/tcp at 192.0.2.1 is asked for twice by the pod itself, for its ports "
            "80 and 81");
  EXPECT_TRUE(check({At(""), At("")}).ok()) << "the same twice";
  EXPECT_TRUE(check({At("192.0.2.2"), other}).ok());
  EXPECT_TRUE(check({At("", "udp"), other}).ok());
}

}  // namespace
}  // namespace plimsoll::network
