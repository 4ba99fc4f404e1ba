#include "cri/messages/translate_sandbox.h"

#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::PodSandboxConfig MinimalSandbox() {
  v1::PodSandboxConfig config;
  config.mutable_metadata()->set_name("web");
  config.mutable_metadata()->set_uid("u1");
  config.mutable_metadata()->set_namespace_("default");
  config.mutable_metadata()->set_attempt(2);
  return config;
}

TEST(SandboxSpecTest, TranslatesEveryMember) {
  v1::PodSandboxConfig config = MinimalSandbox();
  config.set_hostname("web-0");
  config.set_log_directory("/var/log/pods/web");
  config.mutable_dns_config()->add_servers("10.0.0.10");
  config.mutable_dns_config()->add_searches("default.svc.cluster.local");
  config.mutable_dns_config()->add_options("ndots:5");
  v1::LinuxPodSandboxConfig* linux_config = config.mutable_linux();
  linux_config->set_cgroup_parent("/kubepods/pod1");
  (*linux_config->mutable_sysctls())["net.ipv4.ip_forward"] = "1";
  linux_config->mutable_resources()->set_cpu_shares(200);
  linux_config->mutable_overhead()->set_memory_limit_in_bytes(4096);
  v1::LinuxSandboxSecurityContext* security = linux_config->mutable_security_context();
  security->set_privileged(true);
  security->mutable_namespace_options()->set_network(v1::NODE);
  security->mutable_namespace_options()->set_pid(v1::CONTAINER);
  const absl::StatusOr<runtime::SandboxSpec> spec = SandboxSpecFrom(config);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->name, "web");
  EXPECT_EQ(spec->uid, "u1");
  EXPECT_EQ(spec->pod_namespace, "default");
  EXPECT_EQ(spec->attempt, 2u);
  EXPECT_EQ(spec->hostname, "web-0");
  EXPECT_EQ(spec->log_directory, "/var/log/pods/web");
  EXPECT_THAT(spec->dns_servers, ElementsAre("10.0.0.10"));
  EXPECT_THAT(spec->dns_searches, ElementsAre("default.svc.cluster.local"));
  EXPECT_THAT(spec->dns_options, ElementsAre("ndots:5"));
  EXPECT_EQ(spec->cgroup_parent, "/kubepods/pod1");
  EXPECT_EQ(spec->sysctls.at("net.ipv4.ip_forward"), "1");
  EXPECT_EQ(spec->resources.cpu_shares, 200u);
  EXPECT_EQ(spec->overhead.memory_limit_bytes, 4096);
  EXPECT_TRUE(spec->privileged);
  EXPECT_EQ(spec->namespaces.network, runtime::NamespaceMode::kNode);
  EXPECT_EQ(spec->namespaces.pid, runtime::NamespaceMode::kContainer);
}

TEST(SandboxSpecTest, DefaultsToNamespacesOfItsOwn) {
  const runtime::SandboxSpec spec = *SandboxSpecFrom(MinimalSandbox());
  EXPECT_EQ(spec.namespaces, runtime::NamespaceOptions());
  EXPECT_FALSE(spec.privileged);
}

TEST(SandboxSpecTest, WindowsIsForOtherMachines) {
  v1::PodSandboxConfig config = MinimalSandbox();
  config.mutable_windows();
  const absl::Status status = SandboxSpecFrom(config).status();
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("config.windows is for Windows containers"));
}

TEST(SandboxSpecTest, RefusesWhatIsInvalidByName) {
  const struct {
    const char* message;
    std::function<void(v1::PodSandboxConfig*)> set;
  } cases[] = {
      {"config.metadata is missing", [](auto* c) { c->clear_metadata(); }},
      {"config.metadata.name is \"\"", [](auto* c) { c->mutable_metadata()->clear_name(); }},
      {"config.metadata.uid is \"\"", [](auto* c) { c->mutable_metadata()->clear_uid(); }},
      {"config.metadata.namespace is \"\"",
       [](auto* c) { c->mutable_metadata()->clear_namespace_(); }},
      {"config.metadata.name is \"a/b\"", [](auto* c) { c->mutable_metadata()->set_name("a/b"); }},
      {"config.hostname is \"a b\"", [](auto* c) { c->set_hostname("a b"); }},
      {"config.hostname", [](auto* c) { c->set_hostname(std::string(65, 'a')); }},
      {"config.hostname is \"..\"", [](auto* c) { c->set_hostname(".."); }},
      {"config.hostname is \".\"", [](auto* c) { c->set_hostname("."); }},
      {"config.hostname is \"a..\"", [](auto* c) { c->set_hostname("a.."); }},
      {"config.hostname is \"a.-b\"", [](auto* c) { c->set_hostname("a.-b"); }},
      {"config.hostname", [](auto* c) { c->set_hostname(std::string(64, 'a')); }},
      {"config.log_directory is \"logs\"", [](auto* c) { c->set_log_directory("logs"); }},
      {"config.log_directory is \"/a/../b\"", [](auto* c) { c->set_log_directory("/a/../b"); }},
      {"config.dns_config.servers is \"1.1.1.1\\nx\"",
       [](auto* c) { c->mutable_dns_config()->add_servers("1.1.1.1\nx"); }},
      {"config.dns_config.options is \"\"",
       [](auto* c) { c->mutable_dns_config()->add_options(""); }},
      {"host_port is 65536", [](auto* c) { c->add_port_mappings()->set_host_port(65536); }},
      {"container_port is -1", [](auto* c) { c->add_port_mappings()->set_container_port(-1); }},
      {"cgroup_parent is \"/../x\"",
       [](auto* c) { c->mutable_linux()->set_cgroup_parent("/../x"); }},
      {"config.linux.resources.cpu_shares is 1",
       [](auto* c) { c->mutable_linux()->mutable_resources()->set_cpu_shares(1); }},
      {"namespace_options.network is 1",
       [](auto* c) {
         c->mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_network(
             v1::CONTAINER);
       }},
      {"namespace_options.pid is 9",
       [](auto* c) {
         c->mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(
             static_cast<v1::NamespaceMode>(9));
       }},
      {"namespace_options.target_id is \"\"",
       [](auto* c) {
         c->mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(
             v1::TARGET);
       }},
  };
  for (const auto& test : cases) {
    v1::PodSandboxConfig config = MinimalSandbox();
    test.set(&config);
    const absl::Status status = SandboxSpecFrom(config).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << test.message << " gave " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(test.message));
  }
}

v1::UserNamespace* User(v1::PodSandboxConfig* config) {
  return config->mutable_linux()
      ->mutable_security_context()
      ->mutable_namespace_options()
      ->mutable_userns_options();
}

void Map(uint32_t container_id, google::protobuf::RepeatedPtrField<v1::IDMapping>* mappings) {
  v1::IDMapping* mapping = mappings->Add();
  mapping->set_host_id(100000);
  mapping->set_container_id(container_id);
  mapping->set_length(65536);
}

TEST(SandboxSpecTest, TakesHostnamesAsKubeletSendsThem) {
  for (const std::string& hostname :
       {std::string(), std::string(63, 'a'), std::string("0"), std::string("Web-0"),
        // setHostnameAsFQDN
        std::string("web-0.nginx.default.svc.a-cluster.local"),
        std::string("web-0.nginx.default.svc."),  // without a cluster domain
        std::string(31, 'a') + "." + std::string(32, 'b')}) {
    v1::PodSandboxConfig config = MinimalSandbox();
    config.set_hostname(hostname);
    const auto spec = SandboxSpecFrom(config);
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_EQ(spec->hostname, hostname);
  }
}

TEST(SandboxSpecTest, TakesAUserNamespaceOfThePodsOwnOrTheHosts) {
  v1::PodSandboxConfig config = MinimalSandbox();
  User(&config)->set_mode(v1::NODE);
  EXPECT_FALSE(SandboxSpecFrom(config)->namespaces.has_user_namespace());
  User(&config)->set_mode(v1::POD);
  Map(0, User(&config)->mutable_uids());
  Map(0, User(&config)->mutable_gids());
  const auto spec = SandboxSpecFrom(config);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_TRUE(spec->namespaces.has_user_namespace());
  EXPECT_THAT(spec->namespaces.uid_mappings, ElementsAre(runtime::IdMapping{100000, 0, 65536}));
  EXPECT_THAT(spec->namespaces.gid_mappings, ElementsAre(runtime::IdMapping{100000, 0, 65536}));
  v1::NamespaceOption shown;
  FillNamespaceOptions(spec->namespaces, &shown);
  EXPECT_EQ(shown.userns_options().mode(), v1::POD);
  EXPECT_EQ(shown.userns_options().uids(0).host_id(), 100000u);
  EXPECT_EQ(shown.userns_options().gids(0).length(), 65536u);
}

TEST(SandboxSpecTest, RefusesUserNamespacesThatCannotBe) {
  const struct {
    const char* message;
    std::function<void(v1::PodSandboxConfig*)> set;
  } cases[] = {
      {"userns_options.uids has 0 mappings", [](auto* c) { User(c)->set_mode(v1::POD); }},
      {"userns_options.gids has 0 mappings", [](auto* c) { Map(0, User(c)->mutable_uids()); }},
      {"userns_options.uids has 2 mappings; there must be one",
       [](auto* c) {
         Map(0, User(c)->mutable_uids());
         Map(65536, User(c)->mutable_uids());
         User(c)->mutable_uids(1)->set_host_id(200000);
       }},
      {"userns_options.uids must map id 0", [](auto* c) { Map(1, User(c)->mutable_uids()); }},
      {"userns_options.gids maps the host's id 0",
       [](auto* c) {
         User(c)->set_mode(v1::POD);
         Map(0, User(c)->mutable_uids());
         Map(0, User(c)->mutable_gids());
         User(c)->mutable_gids(0)->set_host_id(0);
       }},
      {"userns_options.mode is \"NODE\"",
       [](auto* c) {
         User(c)->set_mode(v1::NODE);
         Map(0, User(c)->mutable_uids());
       }},
      {"userns_options.mode is 1", [](auto* c) { User(c)->set_mode(v1::CONTAINER); }},
      {"namespace_options.network is \"NODE\"",
       [](auto* c) {
         User(c)->set_mode(v1::POD);
         c->mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_network(
             v1::NODE);
       }},
      {"namespace_options.ipc is \"NODE\"",
       [](auto* c) {
         User(c)->set_mode(v1::POD);
         c->mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_ipc(
             v1::NODE);
       }},
      {"run_as_group is 5: needs run_as_user",
       [](auto* c) {
         c->mutable_linux()->mutable_security_context()->mutable_run_as_group()->set_value(5);
       }},
  };
  for (const auto& test : cases) {
    v1::PodSandboxConfig config = MinimalSandbox();
    test.set(&config);
    const absl::Status status = SandboxSpecFrom(config).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << test.message << " gave " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(test.message));
  }
}

TEST(SandboxSpecTest, SelinuxOptionsArePassedOn) {
  v1::PodSandboxConfig config = MinimalSandbox();
  v1::SELinuxOption* options =
      config.mutable_linux()->mutable_security_context()->mutable_selinux_options();
  options->set_user("staff_u");
  options->set_role("staff_r");
  options->set_type("spc_t");
  options->set_level("s0:c1,c2");
  const auto spec = SandboxSpecFrom(config);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->selinux, (linux::SelinuxOptions{"staff_u", "staff_r", "spc_t", "s0:c1,c2"}));
}

TEST(SandboxSpecTest, HostPortsAndBandwidthAreForTheNetworksPlugins) {
  v1::PodSandboxConfig config = MinimalSandbox();
  v1::PortMapping* port = config.add_port_mappings();
  port->set_protocol(v1::UDP);
  port->set_container_port(53);
  port->set_host_port(5353);
  port->set_host_ip("127.0.0.1");
  config.add_port_mappings()->set_container_port(80);  // unknown to the host
  (*config.mutable_annotations())["kubernetes.io/ingress-bandwidth"] = "10M";
  (*config.mutable_annotations())["kubernetes.io/egress-bandwidth"] = "1k";
  auto spec = SandboxSpecFrom(config);
  ASSERT_TRUE(spec.ok()) << spec.status();
  const network::PortMapping expected = {
      .protocol = "udp", .container_port = 53, .host_port = 5353, .host_ip = "127.0.0.1"};
  ASSERT_EQ(spec->network.port_mappings.size(), 1u);
  EXPECT_TRUE(spec->network.port_mappings[0] == expected);
  EXPECT_EQ(spec->network.ingress_bits_per_second, 10'000'000);
  EXPECT_EQ(spec->network.egress_bits_per_second, 1000);

  config.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_network(
      v1::NODE);
  spec = SandboxSpecFrom(config);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_TRUE(spec->network.port_mappings.empty());
}

TEST(SandboxSpecTest, RefusesPortsAndBandwidthThatAreNone) {
  const auto refusal = [](const auto& set) {
    v1::PodSandboxConfig config = MinimalSandbox();
    set(config);
    const absl::Status status = SandboxSpecFrom(config).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(refusal([](auto& c) { c.add_port_mappings()->set_host_ip("localhost"); }),
              HasSubstr("host_ip is \"localhost\""));
  EXPECT_THAT(refusal([](auto& c) { c.add_port_mappings()->set_host_port(80); }),
              HasSubstr("container_port is 0"));
  EXPECT_THAT(
      refusal([](auto& c) { c.add_port_mappings()->set_protocol(static_cast<v1::Protocol>(7)); }),
      HasSubstr("protocol is 7"));
  for (const char* bad : {"fast", "-1", "999", "2P"}) {
    EXPECT_THAT(refusal([bad](auto& c) {
                  (*c.mutable_annotations())["kubernetes.io/egress-bandwidth"] = bad;
                }),
                HasSubstr("egress-bandwidth"));
  }
}

TEST(FillAddressesTest, TheFirstIsThePrimaryOne) {
  v1::PodSandboxStatus status;
  FillAddresses({}, &status);
  EXPECT_EQ(status.network().ip(), "");
  FillAddresses({"10.1.0.5", "fd00::5"}, &status);
  EXPECT_EQ(status.network().ip(), "10.1.0.5");
  ASSERT_EQ(status.network().additional_ips_size(), 1);
  EXPECT_EQ(status.network().additional_ips(0).ip(), "fd00::5");
}

TEST(FillSandboxStatusTest, ShowsRecordAndConfig) {
  v1::PodSandboxConfig config = MinimalSandbox();
  (*config.mutable_labels())["app"] = "web";
  (*config.mutable_annotations())["note"] = "x";
  runtime::SandboxRecord record;
  record.id = "abc";
  record.state = runtime::SandboxState::kReady;
  record.created_unix_nanos = 42;
  record.spec.runtime_handler = "crun";
  record.spec.namespaces.network = runtime::NamespaceMode::kNode;
  v1::PodSandboxStatus status;
  FillSandboxStatus(record, config, &status);
  EXPECT_EQ(status.id(), "abc");
  EXPECT_EQ(status.metadata().attempt(), 2u);
  EXPECT_EQ(status.state(), v1::SANDBOX_READY);
  EXPECT_EQ(status.created_at(), 42);
  EXPECT_TRUE(status.has_network());
  EXPECT_EQ(status.linux().namespaces().options().network(), v1::NODE);
  EXPECT_EQ(status.linux().namespaces().options().pid(), v1::CONTAINER);
  EXPECT_EQ(status.labels().at("app"), "web");
  EXPECT_EQ(status.annotations().at("note"), "x");
  EXPECT_EQ(status.runtime_handler(), "crun");
  EXPECT_EQ(ToCri(runtime::SandboxState::kRemoving), v1::SANDBOX_NOTREADY);
}

}  // namespace
}  // namespace plimsoll::cri
