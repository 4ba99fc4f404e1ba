#include "cri/messages/translate_container.h"

#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

runtime::SandboxSpec TranslatedPod() {
  runtime::SandboxSpec pod;
  pod.name = "web";
  pod.pod_namespace = "default";
  pod.log_directory = "/var/log/pods/web";
  return pod;
}

v1::ContainerConfig MinimalContainer() {
  v1::ContainerConfig config;
  config.mutable_metadata()->set_name("main");
  config.mutable_image()->set_image("busybox");
  return config;
}

v1::LinuxContainerSecurityContext* Security(v1::ContainerConfig* config) {
  return config->mutable_linux()->mutable_security_context();
}

absl::StatusOr<runtime::ContainerSpec> Translate(const v1::ContainerConfig& config,
                                                 const AnnotationAllowList& allowed = {}) {
  return ContainerSpecFrom(config, TranslatedPod(), allowed);
}

TEST(ContainerSpecTest, WindowsIsForOtherMachines) {
  v1::ContainerConfig config = MinimalContainer();
  config.mutable_windows();
  const absl::Status status = Translate(config).status();
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("config.windows is for Windows containers"));
}

TEST(ContainerSpecTest, TranslatesTheProcess) {
  v1::ContainerConfig config = MinimalContainer();
  config.mutable_metadata()->set_attempt(3);
  config.add_command("/bin/sh");
  config.add_args("-c");
  config.set_working_dir("/work");
  v1::KeyValue* variable = config.add_envs();
  variable->set_key("A");
  variable->set_value("b=c\xff");  // not UTF-8
  config.set_log_path("main/0.log");
  config.set_stdin(true);
  config.set_stdin_once(true);
  config.set_tty(true);
  config.set_stop_signal(v1::SIGNAL_SIGUSR1);
  config.mutable_linux()->mutable_resources()->set_cpu_shares(100);
  config.mutable_linux()->mutable_resources()->set_oom_score_adj(-500);
  const absl::StatusOr<runtime::ContainerSpec> spec = Translate(config);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->name, "main");
  EXPECT_EQ(spec->attempt, 3u);
  EXPECT_EQ(spec->image, "busybox");
  EXPECT_THAT(spec->command, ElementsAre("/bin/sh"));
  EXPECT_THAT(spec->args, ElementsAre("-c"));
  EXPECT_EQ(spec->working_directory, "/work");
  EXPECT_THAT(spec->environment, ElementsAre(Pair("A", "b=c\xff")));
  EXPECT_EQ(spec->log_path, "main/0.log");
  EXPECT_TRUE(spec->open_stdin && spec->stdin_once && spec->tty);
  EXPECT_EQ(spec->stop_signal, "SIGUSR1");
  EXPECT_EQ(spec->resources.cpu_shares, 100u);
  EXPECT_EQ(spec->oom_score_adj, -500);
}

TEST(ContainerSpecTest, TranslatesMountsAndDevices) {
  v1::ContainerConfig config = MinimalContainer();
  v1::Mount* mount = config.add_mounts();
  mount->set_container_path("/data");
  mount->set_host_path("/srv/data");
  mount->set_readonly(true);
  mount->set_recursive_read_only(true);
  mount->set_selinux_relabel(true);
  config.add_mounts()->CopyFrom(*mount);
  config.mutable_mounts(1)->set_recursive_read_only(false);
  config.mutable_mounts(1)->set_propagation(v1::PROPAGATION_BIDIRECTIONAL);
  v1::Device* device = config.add_devices();
  device->set_container_path("/dev/x");
  device->set_host_path("/dev/null");
  device->set_permissions("rw");
  Security(&config)->set_privileged(true);
  runtime::SandboxSpec pod = TranslatedPod();
  pod.privileged = true;
  const absl::StatusOr<runtime::ContainerSpec> spec = ContainerSpecFrom(config, pod, {});
  ASSERT_TRUE(spec.ok()) << spec.status();
  using runtime::MountPropagation;
  EXPECT_THAT(spec->mounts, ElementsAre(runtime::Mount{"/data", "/srv/data", true, true, true,
                                                       MountPropagation::kPrivate},
                                        runtime::Mount{"/data", "/srv/data", true, false, true,
                                                       MountPropagation::kBidirectional}));
  EXPECT_THAT(spec->devices, ElementsAre(runtime::DeviceMapping{"/dev/x", "/dev/null", "rw"}));
}

TEST(ContainerSpecTest, TranslatesSecurity) {
  v1::ContainerConfig config = MinimalContainer();
  v1::LinuxContainerSecurityContext* security = Security(&config);
  security->mutable_capabilities()->add_add_capabilities("net_admin");
  security->mutable_capabilities()->add_drop_capabilities("ALL");
  security->mutable_capabilities()->add_add_ambient_capabilities("CAP_CHOWN");
  security->mutable_run_as_user()->set_value(1000);
  security->mutable_run_as_group()->set_value(1001);
  security->add_supplemental_groups(5);
  security->set_supplemental_groups_policy(v1::Strict);
  security->set_readonly_rootfs(true);
  security->set_no_new_privs(true);
  security->add_masked_paths("/proc/kcore");
  security->add_readonly_paths("/proc/sys");
  security->mutable_seccomp()->set_profile_type(v1::SecurityProfile::Localhost);
  security->mutable_seccomp()->set_localhost_ref("/profiles/a.json");
  security->mutable_namespace_options()->set_pid(v1::NODE);
  const absl::StatusOr<runtime::ContainerSpec> spec = Translate(config);
  ASSERT_TRUE(spec.ok()) << spec.status();
  const runtime::SecurityContext& translated = spec->security;
  EXPECT_THAT(translated.capabilities.add, ElementsAre("NET_ADMIN"));
  EXPECT_THAT(translated.capabilities.drop, ElementsAre("ALL"));
  EXPECT_THAT(translated.capabilities.add_ambient, ElementsAre("CAP_CHOWN"));
  EXPECT_EQ(translated.run_as_user, 1000);
  EXPECT_EQ(translated.run_as_group, 1001);
  EXPECT_THAT(translated.supplemental_groups, ElementsAre(5));
  EXPECT_TRUE(translated.supplemental_groups_strict);
  EXPECT_TRUE(translated.readonly_rootfs);
  EXPECT_TRUE(translated.no_new_privs);
  EXPECT_THAT(translated.masked_paths, ElementsAre("/proc/kcore"));
  EXPECT_THAT(translated.readonly_paths, ElementsAre("/proc/sys"));
  EXPECT_EQ(translated.seccomp.type, runtime::SecurityProfile::Type::kLocalhost);
  EXPECT_EQ(translated.seccomp.localhost_path, "/profiles/a.json");
  EXPECT_EQ(translated.apparmor.type, runtime::SecurityProfile::Type::kUnconfined);
  EXPECT_EQ(translated.namespaces.pid, runtime::NamespaceMode::kNode);
}

TEST(ContainerSpecTest, SelinuxOptionsArePassedOn) {
  v1::ContainerConfig config = MinimalContainer();
  EXPECT_TRUE(Translate(config)->security.selinux.empty());
  Security(&config)->mutable_selinux_options()->set_type("spc_t");
  EXPECT_EQ(Translate(config)->security.selinux, (linux::SelinuxOptions{.type = "spc_t"}));
}

TEST(ContainerSpecTest, TakesNetworkAndIpcFromThePod) {
  v1::ContainerConfig config = MinimalContainer();
  runtime::SandboxSpec pod = TranslatedPod();
  pod.namespaces.network = runtime::NamespaceMode::kNode;
  pod.namespaces.ipc = runtime::NamespaceMode::kNode;
  pod.namespaces.pid = runtime::NamespaceMode::kNode;
  EXPECT_EQ(ContainerSpecFrom(config, pod, {})->security.namespaces, pod.namespaces);
  Security(&config)->mutable_namespace_options()->set_pid(v1::CONTAINER);
  const auto namespaces = ContainerSpecFrom(config, pod, {})->security.namespaces;
  EXPECT_EQ(namespaces.network, runtime::NamespaceMode::kNode);
  EXPECT_EQ(namespaces.ipc, runtime::NamespaceMode::kNode);
  EXPECT_EQ(namespaces.pid, runtime::NamespaceMode::kContainer);
}

TEST(ContainerSpecTest, UnderstandsTheOldSeccompField) {
  for (const auto& [text, type] :
       std::vector<std::pair<std::string, runtime::SecurityProfile::Type>>{
           {"", runtime::SecurityProfile::Type::kUnconfined},
           {"unconfined", runtime::SecurityProfile::Type::kUnconfined},
           {"runtime/default", runtime::SecurityProfile::Type::kRuntimeDefault},
           {"localhost//a.json", runtime::SecurityProfile::Type::kLocalhost}}) {
    v1::ContainerConfig config = MinimalContainer();
    const google::protobuf::Reflection* reflection =
        v1::LinuxContainerSecurityContext().GetReflection();
    reflection->SetString(
        Security(&config),
        v1::LinuxContainerSecurityContext::descriptor()->FindFieldByName("seccomp_profile_path"),
        text);
    const absl::StatusOr<runtime::ContainerSpec> spec = Translate(config);
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_EQ(spec->security.seccomp.type, type) << text;
    // The newer field decides if both are present.
    Security(&config)->mutable_seccomp()->set_profile_type(v1::SecurityProfile::Unconfined);
    EXPECT_EQ(Translate(config)->security.seccomp.type,
              runtime::SecurityProfile::Type::kUnconfined);
  }
}

TEST(ContainerSpecTest, TranslatesAppArmor) {
  v1::ContainerConfig config = MinimalContainer();
  using Type = runtime::SecurityProfile::Type;
  EXPECT_EQ(ContainerSpecFrom(config, TranslatedPod(), {})->security.apparmor.type,
            Type::kUnconfined);
  Security(&config)->mutable_apparmor()->set_profile_type(v1::SecurityProfile::RuntimeDefault);
  EXPECT_EQ(ContainerSpecFrom(config, TranslatedPod(), {})->security.apparmor.type,
            Type::kRuntimeDefault);
  Security(&config)->mutable_apparmor()->set_profile_type(v1::SecurityProfile::Localhost);
  Security(&config)->mutable_apparmor()->set_localhost_ref("mine");
  const auto spec = ContainerSpecFrom(config, TranslatedPod(), {});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->security.apparmor, (runtime::SecurityProfile{Type::kLocalhost, "mine"}));
}

TEST(ContainerSpecTest, PassesAnnotationsByAllowListOnly) {
  v1::ContainerConfig config = MinimalContainer();
  (*config.mutable_annotations())["a.example/x"] = "1";
  (*config.mutable_annotations())["b.example/y"] = "2";
  (*config.mutable_annotations())["run.oci.seccomp_bpf_data"] = "3";
  EXPECT_THAT(Translate(config)->annotations, IsEmpty());
  EXPECT_THAT(Translate(config, {"a.example/*"})->annotations,
              ElementsAre(Pair("a.example/x", "1")));
  EXPECT_THAT(Translate(config, {"b.example/y", "run.oci.seccomp_bpf_data", "run.*"})->annotations,
              ElementsAre(Pair("b.example/y", "2")));
  EXPECT_EQ(Translate(config, {"*"})->annotations.size(), 2u);
}

TEST(ContainerSpecTest, LogPathWithoutALogDirectoryIsAbsolute) {
  v1::ContainerConfig config = MinimalContainer();
  runtime::SandboxSpec pod = TranslatedPod();
  pod.log_directory.clear();
  config.set_log_path("/var/log/x.log");
  EXPECT_EQ(ContainerSpecFrom(config, pod, {})->log_path, "/var/log/x.log");
  config.set_log_path("x.log");
  EXPECT_TRUE(absl::IsInvalidArgument(ContainerSpecFrom(config, pod, {}).status()));
}

struct RefusedCase {
  const char* message;
  std::function<void(v1::ContainerConfig*)> set;
};

void ExpectRefused(const std::vector<RefusedCase>& cases, absl::StatusCode code) {
  for (const RefusedCase& test : cases) {
    v1::ContainerConfig config = MinimalContainer();
    test.set(&config);
    const absl::Status status = Translate(config).status();
    EXPECT_EQ(status.code(), code) << test.message << " gave " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(test.message));
  }
}

TEST(ContainerSpecTest, RefusesWhatIsInvalidByName) {
  ExpectRefused(
      {
          {"config.metadata is missing", [](auto* c) { c->clear_metadata(); }},
          {"config.metadata.name is \"\"", [](auto* c) { c->mutable_metadata()->clear_name(); }},
          {"config.image.image is \"\"", [](auto* c) { c->clear_image(); }},
          {"config.command is \"a", [](auto* c) { c->add_command(std::string("a\0b", 3)); }},
          {"config.args is \"a", [](auto* c) { c->add_args(std::string("a\0b", 3)); }},
          {"config.working_dir is \"x\"", [](auto* c) { c->set_working_dir("x"); }},
          {"config.envs.key is \"\"", [](auto* c) { c->add_envs(); }},
          {"config.envs.key is \"A=\"", [](auto* c) { c->add_envs()->set_key("A="); }},
          {"config.log_path is \"/etc/passwd\"", [](auto* c) { c->set_log_path("/etc/passwd"); }},
          {"config.log_path is \"../../x\"", [](auto* c) { c->set_log_path("../../x"); }},
          {"config.log_path is \"a/../../x\"", [](auto* c) { c->set_log_path("a/../../x"); }},
          {"config.stop_signal is 99",
           [](auto* c) { c->set_stop_signal(static_cast<v1::Signal>(99)); }},
          {"config.mounts.container_path is \"data\"",
           [](auto* c) {
             c->add_mounts()->set_container_path("data");
             c->mutable_mounts(0)->set_host_path("/x");
           }},
          {"config.mounts.container_path is \"//\"",
           [](auto* c) {
             c->add_mounts()->set_container_path("//");
             c->mutable_mounts(0)->set_host_path("/x");
           }},
          {"config.mounts.container_path is \"/.\"",
           [](auto* c) {
             c->add_mounts()->set_container_path("/.");
             c->mutable_mounts(0)->set_host_path("/x");
           }},
          {"config.mounts.host_path is \"\"",
           [](auto* c) { c->add_mounts()->set_container_path("/data"); }},
          {"config.mounts.propagation is 7",
           [](auto* c) {
             c->add_mounts()->set_container_path("/data");
             c->mutable_mounts(0)->set_host_path("/x");
             c->mutable_mounts(0)->set_propagation(static_cast<v1::MountPropagation>(7));
           }},
          {"recursive_read_only",
           [](auto* c) {
             c->add_mounts()->set_container_path("/data");
             c->mutable_mounts(0)->set_host_path("/x");
             c->mutable_mounts(0)->set_recursive_read_only(true);
           }},
          {"config.devices.permissions is \"rx\"",
           [](auto* c) {
             c->add_devices()->set_container_path("/dev/x");
             c->mutable_devices(0)->set_host_path("/dev/x");
             c->mutable_devices(0)->set_permissions("rx");
           }},
      },
      absl::StatusCode::kInvalidArgument);
}

TEST(ContainerSpecTest, RefusesInvalidSecurityByName) {
  ExpectRefused(
      {
          {"capabilities.add_capabilities is \"NET_ADMINX\"",
           [](auto* c) {
             Security(c)->mutable_capabilities()->add_add_capabilities("NET_ADMINX");
           }},
          {"capabilities.drop_capabilities is \"\"",
           [](auto* c) { Security(c)->mutable_capabilities()->add_drop_capabilities(""); }},
          {"privileged is true", [](auto* c) { Security(c)->set_privileged(true); }},
          {"run_as_user is -1", [](auto* c) { Security(c)->mutable_run_as_user()->set_value(-1); }},
          {"run_as_user is 4294967295",
           [](auto* c) { Security(c)->mutable_run_as_user()->set_value(4294967295); }},
          {"run_as_group is 5", [](auto* c) { Security(c)->mutable_run_as_group()->set_value(5); }},
          {"run_as_username is \"bob\"",
           [](auto* c) {
             Security(c)->mutable_run_as_user()->set_value(1);
             Security(c)->set_run_as_username("bob");
           }},
          {"supplemental_groups is -3", [](auto* c) { Security(c)->add_supplemental_groups(-3); }},
          {"supplemental_groups_policy is 4",
           [](auto* c) {
             Security(c)->set_supplemental_groups_policy(
                 static_cast<v1::SupplementalGroupsPolicy>(4));
           }},
          {"masked_paths is \"proc\"", [](auto* c) { Security(c)->add_masked_paths("proc"); }},
          {"seccomp.profile_type is 8",
           [](auto* c) {
             Security(c)->mutable_seccomp()->set_profile_type(
                 static_cast<v1::SecurityProfile::ProfileType>(8));
           }},
          {"config.CDI_devices: ", [](auto* c) { c->add_cdi_devices()->set_name("gpu0"); }},
          {"annotation \"cdi.k8s.io/x\"",
           [](auto* c) { (*c->mutable_annotations())["cdi.k8s.io/x"] = "vendor.com/gpu=0,"; }},
          {"seccomp.localhost_ref is \"\"",
           [](auto* c) {
             Security(c)->mutable_seccomp()->set_profile_type(v1::SecurityProfile::Localhost);
           }},
          {"seccomp.localhost_ref is \"a.json\"",
           [](auto* c) {
             Security(c)->mutable_seccomp()->set_profile_type(v1::SecurityProfile::Localhost);
             Security(c)->mutable_seccomp()->set_localhost_ref("a.json");
           }},
      },
      absl::StatusCode::kInvalidArgument);
}

TEST(ContainerSpecTest, CdiDevicesAreNamedByFieldAndAnnotationOnce) {
  v1::ContainerConfig config = MinimalContainer();
  config.add_cdi_devices()->set_name("vendor.com/gpu=1");
  config.add_cdi_devices()->set_name("vendor.com/gpu=0");
  (*config.mutable_annotations())["cdi.k8s.io/x"] = "vendor.com/gpu=0,vendor.com/net=a";
  const auto spec = Translate(config);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_THAT(spec->cdi_devices,
              ElementsAre("vendor.com/gpu=1", "vendor.com/gpu=0", "vendor.com/net=a"));
}

v1::Mount* AddMount(v1::ContainerConfig* config) {
  v1::Mount* mount = config->add_mounts();
  mount->set_container_path("/data");
  mount->set_host_path("/srv");
  return mount;
}

void AddMapping(uint32_t length, google::protobuf::RepeatedPtrField<v1::IDMapping>* mappings) {
  mappings->Add()->set_length(length);
  mappings->rbegin()->set_host_id(100000);
}

TEST(ContainerSpecTest, TranslatesImagesIdsAndOptionsOfMounts) {
  v1::ContainerConfig config = MinimalContainer();
  v1::Mount* mapped = AddMount(&config);
  AddMapping(65536, mapped->mutable_uidmappings());
  AddMapping(65535, mapped->mutable_gidmappings());
  mapped->add_mount_options("noexec");
  mapped->add_mount_options("nodev");
  v1::Mount* image = AddMount(&config);
  image->clear_host_path();
  image->set_readonly(true);
  image->mutable_image()->set_image("registry.test/data:1");
  image->set_image_sub_path("a/b");
  const absl::StatusOr<runtime::ContainerSpec> spec = Translate(config);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_THAT(spec->mounts[0].uid_mappings, ElementsAre(runtime::IdMapping{100000, 0, 65536}));
  EXPECT_THAT(spec->mounts[0].gid_mappings, ElementsAre(runtime::IdMapping{100000, 0, 65535}));
  EXPECT_THAT(spec->mounts[0].mount_options, ElementsAre("noexec", "nodev"));
  EXPECT_EQ(spec->mounts[1].image, "registry.test/data:1");
  EXPECT_EQ(spec->mounts[1].image_sub_path, "a/b");
  EXPECT_EQ(spec->mounts[1].host_path, "");
}

// kubelet sends every volume's subPath this way in a pod that has an image volume.
TEST(ContainerSpecTest, ASubPathWithoutAnImageIsNothing) {
  for (const char* path : {"conf.d", "../x", "/srv"}) {
    v1::ContainerConfig config = MinimalContainer();
    AddMount(&config)->set_image_sub_path(path);
    const absl::StatusOr<runtime::ContainerSpec> spec = Translate(config);
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_EQ(spec->mounts[0].host_path, "/srv");
    EXPECT_EQ(spec->mounts[0].image_sub_path, "");
  }
}

TEST(ContainerSpecTest, RefusesMountsThatCannotBeMeant) {
  ExpectRefused(
      {
          {"propagation is \"PROPAGATION_BIDIRECTIONAL\": of the mount at /data is for privileged",
           [](auto* c) { AddMount(c)->set_propagation(v1::PROPAGATION_BIDIRECTIONAL); }},
          {"recursive_read_only is \"/data\": needs readonly",
           [](auto* c) {
             AddMount(c)->set_readonly(true);
             c->mutable_mounts(0)->set_recursive_read_only(true);
             c->mutable_mounts(0)->set_propagation(v1::PROPAGATION_HOST_TO_CONTAINER);
           }},
          {"mounts.gidMappings has 0 mappings",
           [](auto* c) { AddMapping(1, AddMount(c)->mutable_uidmappings()); }},
          {"mounts.uidMappings[0].length is 0",
           [](auto* c) { AddMapping(0, AddMount(c)->mutable_uidmappings()); }},
          {"mount_options is \"bind\": must be one of noexec,",
           [](auto* c) { AddMount(c)->add_mount_options("bind"); }},
          {"mount_options is \"noexec,suid\"",
           [](auto* c) { AddMount(c)->add_mount_options("noexec,suid"); }},
          {"host_path is \"/srv\": must be empty beside an image",
           [](auto* c) { AddMount(c)->mutable_image()->set_image("x"); }},
          {"image_sub_path is \"../x\"",
           [](auto* c) {
             AddMount(c)->mutable_image()->set_image("x");
             c->mutable_mounts(0)->clear_host_path();
             c->mutable_mounts(0)->set_readonly(true);
             c->mutable_mounts(0)->set_image_sub_path("../x");
           }},
          {"image.image is \"\"",
           [](auto* c) {
             AddMount(c)->mutable_image();
             c->mutable_mounts(0)->clear_host_path();
           }},
          {"propagation is 1: must be PROPAGATION_PRIVATE",
           [](auto* c) {
             AddMount(c)->mutable_image()->set_image("x");
             c->mutable_mounts(0)->clear_host_path();
             c->mutable_mounts(0)->set_propagation(v1::PROPAGATION_HOST_TO_CONTAINER);
           }},
          {"readonly is \"false\": must be true for the image at /data",
           [](auto* c) {
             AddMount(c)->mutable_image()->set_image("x");
             c->mutable_mounts(0)->clear_host_path();
           }},
      },
      absl::StatusCode::kInvalidArgument);
}

TEST(ContainerSpecTest, AContainerHasItsPodsUserNamespace) {
  v1::ContainerConfig config = MinimalContainer();
  runtime::SandboxSpec pod = TranslatedPod();
  pod.privileged = true;
  pod.namespaces.uid_mappings = {{100000, 0, 65536}};
  pod.namespaces.gid_mappings = {{100000, 0, 65536}};
  const auto translate = [&] { return ContainerSpecFrom(config, pod, {}); };
  EXPECT_EQ(translate()->security.namespaces.uid_mappings, pod.namespaces.uid_mappings);
  v1::NamespaceOption* options = Security(&config)->mutable_namespace_options();
  options->set_pid(v1::CONTAINER);
  EXPECT_EQ(translate()->security.namespaces, pod.namespaces);
  options->mutable_userns_options()->set_mode(v1::POD);
  AddMapping(65536, options->mutable_userns_options()->mutable_uids());
  AddMapping(65536, options->mutable_userns_options()->mutable_gids());
  EXPECT_EQ(translate()->security.namespaces, pod.namespaces);
  options->mutable_userns_options()->mutable_uids(0)->set_length(65535);
  EXPECT_THAT(std::string(translate().status().message()), HasSubstr("userns_options differs"));
  options->mutable_userns_options()->Clear();
  options->mutable_userns_options()->set_mode(v1::NODE);
  EXPECT_THAT(std::string(translate().status().message()), HasSubstr("userns_options differs"));
  options->clear_userns_options();
  options->set_pid(v1::NODE);
  EXPECT_THAT(std::string(translate().status().message()),
              HasSubstr("namespace_options.pid is \"NODE\""));
  options->set_pid(v1::CONTAINER);
  Security(&config)->set_privileged(true);
  AddMount(&config)->set_propagation(v1::PROPAGATION_BIDIRECTIONAL);
  EXPECT_THAT(std::string(translate().status().message()),
              HasSubstr("mounts don't spread out of a user namespace"));
}

TEST(ContainerSpecTest, PrivilegedIsAllowedInAPrivilegedPod) {
  v1::ContainerConfig config = MinimalContainer();
  Security(&config)->set_privileged(true);
  runtime::SandboxSpec pod = TranslatedPod();
  pod.privileged = true;
  EXPECT_TRUE(ContainerSpecFrom(config, pod, {})->security.privileged);
}

TEST(SignalTest, NamesAndNumbersAgree) {
  EXPECT_EQ(SignalName(v1::SIGNAL_RUNTIME_DEFAULT), "");
  EXPECT_EQ(SignalName(v1::SIGNAL_SIGTERM), "SIGTERM");
  EXPECT_EQ(SignalName(v1::SIGNAL_SIGRTMIN), "SIGRTMIN");
  EXPECT_EQ(SignalName(v1::SIGNAL_SIGRTMINPLUS3), "SIGRTMIN+3");
  EXPECT_EQ(SignalName(v1::SIGNAL_SIGRTMAXMINUS14), "SIGRTMAX-14");
  EXPECT_EQ(SignalName(v1::SIGNAL_SIGRTMAX), "SIGRTMAX");
  EXPECT_EQ(SignalFromNumber(SIGTERM), v1::SIGNAL_SIGTERM);
  EXPECT_EQ(SignalFromNumber(34), v1::SIGNAL_SIGRTMIN);
  EXPECT_EQ(SignalFromNumber(37), v1::SIGNAL_SIGRTMINPLUS3);
  EXPECT_EQ(SignalFromNumber(49), v1::SIGNAL_SIGRTMINPLUS15);
  EXPECT_EQ(SignalFromNumber(50), v1::SIGNAL_SIGRTMAXMINUS14);
  EXPECT_EQ(SignalFromNumber(64), v1::SIGNAL_SIGRTMAX);
  EXPECT_EQ(SignalFromNumber(33), v1::SIGNAL_RUNTIME_DEFAULT);
  EXPECT_EQ(SignalFromNumber(0), v1::SIGNAL_RUNTIME_DEFAULT);
}

// Even if the tag names another one by now.
TEST(FillContainerStatusTest, TellsWhichImagesAreMounted) {
  v1::ContainerConfig config = MinimalContainer();
  config.add_mounts()->set_host_path("/srv");
  v1::Mount* image = config.add_mounts();
  image->mutable_image()->set_image("registry.test/data:1");
  image->mutable_image()->set_user_specified_image("data:1");
  runtime::ContainerRecord record;
  record.spec.mounts.resize(2);
  v1::ContainerStatus status;
  FillContainerStatus(record, config, &status);
  EXPECT_EQ(status.mounts(1).image().image_ref(), "")
      << "not known of one that an earlier build made";
  record.spec.mounts[1].image_id = "sha256:3";
  FillContainerStatus(record, config, &status);
  EXPECT_FALSE(status.mounts(0).has_image());
  EXPECT_EQ(status.mounts(1).image().image_ref(), "sha256:3");
  EXPECT_EQ(status.mounts(1).image().image(), "registry.test/data:1");
  EXPECT_EQ(status.mounts(1).image().user_specified_image(), "data:1");
  record.spec.mounts.clear();  // of a damaged row
  FillContainerStatus(record, config, &status);
  EXPECT_EQ(status.mounts_size(), 2);
}

// Seen with kubelet 1.36.2, which shows this field.
TEST(FillContainerStatusTest, TellsTheNameOfAnImageThatIsAskedForByItsId) {
  v1::ContainerConfig config = MinimalContainer();
  config.mutable_image()->set_image("sha256:1");
  config.mutable_image()->set_user_specified_image("web:1");
  runtime::ContainerRecord record;
  record.image_id = "sha256:1";
  v1::ContainerStatus status;
  FillContainerStatus(record, config, &status);
  EXPECT_EQ(status.image().image(), "web:1");
  EXPECT_EQ(status.image().user_specified_image(), "web:1");
  EXPECT_EQ(status.image_id(), "sha256:1");
}

TEST(FillContainerStatusTest, ShowsRecordAndConfig) {
  v1::ContainerConfig config = MinimalContainer();
  (*config.mutable_labels())["app"] = "web";
  config.add_mounts()->set_container_path("/data");
  runtime::ContainerRecord record;
  record.id = "abc";
  record.state = runtime::ContainerState::kExited;
  record.created_unix_nanos = 1;
  record.started_unix_nanos = 2;
  record.finished_unix_nanos = 3;
  record.exit_code = 137;
  record.reason = "OOMKilled";
  record.message = "m";
  record.image_id = "sha256:1";
  record.image_ref = "r@sha256:2";
  record.log_path = "/l";
  v1::ContainerStatus status;
  FillContainerStatus(record, config, &status);
  EXPECT_EQ(status.state(), v1::CONTAINER_EXITED);
  EXPECT_EQ(status.created_at(), 1);
  EXPECT_EQ(status.started_at(), 2);
  EXPECT_EQ(status.finished_at(), 3);
  EXPECT_EQ(status.exit_code(), 137);
  EXPECT_EQ(status.reason(), "OOMKilled");
  EXPECT_EQ(status.message(), "m");
  EXPECT_EQ(status.image().image(), "busybox");
  EXPECT_EQ(status.image_id(), "sha256:1");
  EXPECT_EQ(status.image_ref(), "r@sha256:2");
  EXPECT_EQ(status.log_path(), "/l");
  EXPECT_EQ(status.labels().at("app"), "web");
  EXPECT_EQ(status.mounts(0).container_path(), "/data");
  EXPECT_EQ(status.stop_signal(), v1::SIGNAL_SIGTERM);
  EXPECT_FALSE(status.has_resources());
  EXPECT_FALSE(status.has_user()) << "not known is not root";

  config.mutable_image()->set_runtime_handler("vm");
  FillContainerStatus(record, config, &status);
  EXPECT_EQ(status.image().runtime_handler(), "") << "as the image itself is listed";
  v1::Container listed;
  FillContainer(record, config, &listed);
  EXPECT_EQ(listed.image().runtime_handler(), "");
  EXPECT_EQ(listed.image_id(), status.image_id());
  EXPECT_EQ(listed.image_ref(), status.image_ref());

  record.user = {.uid = 4294967294, .gid = 0, .supplemental_groups = {0, 77}};
  FillContainerStatus(record, config, &status);
  EXPECT_EQ(status.user().linux().uid(), 4294967294);
  EXPECT_EQ(status.user().linux().gid(), 0);
  EXPECT_THAT(status.user().linux().supplemental_groups(), ::testing::ElementsAre(0, 77));
}

}  // namespace
}  // namespace plimsoll::cri
