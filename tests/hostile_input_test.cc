// Malicious requests: the error blames the client.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

class HostileInputTest : public NodeTest {
 protected:
  void ExpectInvalid(const grpc::Status& status, const std::string& says) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(says));
    EXPECT_LT(status.error_message().size(), 2000u);
  }
  using ChangesByWords =
      std::vector<std::pair<std::string, std::function<void(cri::ContainerConfig*)>>>;
  // Makes and starts a container with each change. INTERNAL would be Plimsoll's own fault. Whether
  // each is refused, or made and run, is not checked here.
  void ExpectNoErrorOfOurs(const ChangesByWords& cases) {
    cri::PodSandboxConfig pod_config = PodConfig();
    pod_config.set_log_directory(node_.directory() + "/logs");
    const std::string pod = RunPod(pod_config);
    for (const auto& [words, set] : cases) {
      cri::ContainerConfig config = Shell("sleep 1000");
      set(&config);
      std::string id;
      grpc::Status status = TryCreate(pod, config, &id);
      if (status.ok()) status = TryStart(id);
      EXPECT_NE(status.error_code(), grpc::StatusCode::INTERNAL)
          << words << ": " << status.error_message();
      EXPECT_NE(status.error_code(), grpc::StatusCode::UNKNOWN)
          << words << ": " << status.error_message();
      EXPECT_TRUE(id.empty() || RemoveContainer(id).ok()) << words;
    }
  }
};

TEST_F(HostileInputTest, AContainerThatCannotBeIsTheClientsFault) {
  const struct {
    const char* says;
    std::function<void(cri::ContainerConfig*)> set;
  } cases[] = {
      {"cpuset_cpus",
       [](auto* c) {
         std::string list = "0";
         for (int cpu = 2; cpu < 200000; cpu += 2) absl::StrAppend(&list, ",", cpu);
         c->mutable_linux()->mutable_resources()->set_cpuset_cpus(list);
       }},
      {"needs memory_limit_in_bytes",
       [](auto* c) {
         c->mutable_linux()->mutable_resources()->set_memory_swap_limit_in_bytes(64 << 20);
       }},
      {"memory limit of 1 bytes is too low",
       [](auto* c) { c->mutable_linux()->mutable_resources()->set_memory_limit_in_bytes(1); }},
      {"at most 17592186044415",
       [](auto* c) { c->mutable_linux()->mutable_resources()->set_cpu_quota(int64_t{1} << 62); }},
      {"/dev",
       [](auto* c) {
         cri::Mount* mount = c->add_mounts();
         mount->set_container_path("/dev");
         mount->mutable_image()->set_image("busybox");
         mount->set_readonly(true);
       }},
  };
  const std::string pod = RunPod();
  for (const auto& each : cases) {
    cri::ContainerConfig config = Shell("sleep 1000");
    each.set(&config);
    std::string id;
    ExpectInvalid(TryCreate(pod, config, &id), each.says);
  }
}

TEST_F(HostileInputTest, NothingThatAContainerAsksForIsAnErrorOfOurs) {
  const std::string long_name(300, 'n');
  const std::string file = node_.directory() + "/file";
  ASSERT_TRUE(Host().ReplaceFile(file, "text").ok());
  using Config = cri::ContainerConfig;
  const auto mounts = [](std::string host, std::string at) {
    return [=](Config* c) {
      cri::Mount* mount = c->add_mounts();
      mount->set_host_path(host);
      mount->set_container_path(at);
    };
  };
  const auto device = [](std::string host, std::string at) {
    return [=](Config* c) {
      cri::Device* added = c->add_devices();
      added->set_host_path(host);
      added->set_container_path(at);
      added->set_permissions("rwm");
    };
  };
  const auto security = [](Config* c) { return c->mutable_linux()->mutable_security_context(); };
  const ChangesByWords cases = {
      {"a long target", mounts(node_.directory(), "/" + long_name)},
      {"a deep target", mounts(node_.directory(), "/" + long_name.substr(0, 200) + "/b/c/d")},
      {"no source", mounts(node_.directory() + "/none", "/data")},
      {"a long source", mounts("/" + long_name, "/data")},
      {"a source below a file", mounts(file + "/below", "/data")},
      {"a directory over a file", mounts(node_.directory(), "/etc/passwd")},
      {"a file over a directory", mounts(file, "/etc")},
      {"below a file", mounts(file, "/bin/busybox/below")},
      {"over the root", mounts(node_.directory(), "/")},
      {"over proc", mounts(node_.directory(), "/proc")},
      {"over sys", mounts(node_.directory(), "/sys")},
      {"over dev", mounts(node_.directory(), "/dev")},
      {"over dev's terminals", mounts(node_.directory(), "/dev/pts")},
      {"a file over dev/null", mounts(file, "/dev/null")},
      {"twice",
       [&](Config* c) {
         mounts(file, "/twice")(c);
         mounts(node_.directory(), "/twice")(c);
       }},
      {"no device", device("/dev/none", "/dev/none")},
      {"a file for a device", device(file, "/dev/file")},
      {"a device over a directory", device("/dev/null", "/etc")},
      {"a device with a long name", device("/dev/null", "/dev/" + long_name)},
      {"a device below a file", device("/dev/null", "/etc/passwd/null")},
      {"a working directory that is a file", [](Config* c) { c->set_working_dir("/etc/passwd"); }},
      {"a long working directory", [&](Config* c) { c->set_working_dir("/" + long_name); }},
      {"a deep working directory",
       [&](Config* c) {
         std::string deep;
         for (int i = 0; i < 15; ++i) deep += "/" + std::string(250, 'd');
         c->set_working_dir(deep);
       }},
      {"a large variable",
       [](Config* c) {
         c->add_envs()->set_key("LARGE");
         c->mutable_envs(0)->set_value(std::string(300'000, 'v'));
       }},
      {"a variable that isn't text",
       [](Config* c) {
         c->add_envs()->set_key("BYTES");
         c->mutable_envs(0)->set_value("a\nb\x01");
       }},
      {"a long command", [](Config* c) { c->add_args(std::string(200'000, 'a')); }},
      {"a long program", [&](Config* c) { c->set_command(0, "/" + long_name); }},
      {"a directory for a program", [](Config* c) { c->set_command(0, "/etc"); }},
      {"a long user", [&](Config* c) { security(c)->set_run_as_username(long_name); }},
      {"many groups",
       [&](Config* c) {
         for (int i = 0; i < 100'000; ++i) security(c)->add_supplemental_groups(i);
       }},
      {"a long log", [&](Config* c) { c->set_log_path(long_name); }},
      {"no such seccomp profile",
       [&](Config* c) {
         security(c)->mutable_seccomp()->set_profile_type(cri::SecurityProfile::Localhost);
         security(c)->mutable_seccomp()->set_localhost_ref("/none.json");
       }},
      {"a seccomp profile that is none",
       [&](Config* c) {
         security(c)->mutable_seccomp()->set_profile_type(cri::SecurityProfile::Localhost);
         security(c)->mutable_seccomp()->set_localhost_ref(file);
       }},
      {"a masked path of a long name",
       [&](Config* c) { security(c)->add_masked_paths("/" + long_name); }},
      {"a read-only path below a file",
       [&](Config* c) { security(c)->add_readonly_paths("/etc/passwd/below"); }},
  };
  ExpectNoErrorOfOurs(cases);
}

// The kernel's answers to these differ by its control groups.
TEST_F(HostileInputTest, ResourcesThatNoMachineHasAreNoErrorOfOurs) {
  using Config = cri::ContainerConfig;
  ExpectNoErrorOfOurs({
      {"no such memory node",
       [](Config* c) { c->mutable_linux()->mutable_resources()->set_cpuset_mems("99"); }},
      {"no such huge pages",
       [](Config* c) {
         auto* limit = c->mutable_linux()->mutable_resources()->add_hugepage_limits();
         limit->set_page_size("3MB");
         limit->set_limit(1);
       }},
      {"a file of cgroup v2",
       [](Config* c) {
         (*c->mutable_linux()->mutable_resources()->mutable_unified())["memory.high"] = "lots";
       }},
      {"the largest memory limit",
       [](Config* c) {
         c->mutable_linux()->mutable_resources()->set_memory_limit_in_bytes(INT64_MAX);
       }},
  });
}

TEST_F(HostileInputTest, NothingThatAPodAsksForIsAnErrorOfOurs) {
  const std::string long_name(300, 'n');
  using Config = cri::PodSandboxConfig;
  const std::vector<std::pair<std::string, std::function<void(Config*)>>> cases = {
      {"a long parent", [&](Config* c) { c->mutable_linux()->set_cgroup_parent("/" + long_name); }},
      {"a parent of two lines",
       [](Config* c) { c->mutable_linux()->set_cgroup_parent("/plimsoll-test-a\nb"); }},
      {"a long name", [&](Config* c) { c->mutable_metadata()->set_name(std::string(253, 'n')); }},
      {"a name that isn't text", [](Config* c) { c->mutable_metadata()->set_name("a\xc3\xa4"); }},
      {"a sysctl with a way",
       [](Config* c) { (*c->mutable_linux()->mutable_sysctls())["net.../../x"] = "1"; }},
      {"no such sysctl",
       [](Config* c) { (*c->mutable_linux()->mutable_sysctls())["net.none"] = "1"; }},
      {"a sysctl of the wrong kind",
       [](Config* c) { (*c->mutable_linux()->mutable_sysctls())["net.ipv4.ip_forward"] = "x"; }},
      {"a sysctl of two lines",
       [](Config* c) {
         (*c->mutable_linux()->mutable_sysctls())["kernel.shm_rmid_forced"] = "1\n0";
       }},
      {"a long value",
       [](Config* c) {
         (*c->mutable_linux()->mutable_sysctls())["kernel.shm_rmid_forced"] =
             std::string(100'000, '1');
       }},
      {"many name servers",
       [](Config* c) {
         for (int i = 0; i < 10'000; ++i) c->mutable_dns_config()->add_servers("192.0.2.1");
       }},
      {"a long host name", [&](Config* c) { c->set_hostname(std::string(63, 'h')); }},
      {"no such target",
       [](Config* c) {
         auto* options =
             c->mutable_linux()->mutable_security_context()->mutable_namespace_options();
         options->set_pid(cri::TARGET);
         options->set_target_id("none");
       }},
  };
  for (const auto& [what, set] : cases) {
    Config config = PodConfig();
    set(&config);
    std::string id;
    const grpc::Status status = TryRunPod(config, &id);
    EXPECT_NE(status.error_code(), grpc::StatusCode::INTERNAL)
        << what << ": " << status.error_message();
    EXPECT_NE(status.error_code(), grpc::StatusCode::UNKNOWN)
        << what << ": " << status.error_message();
    EXPECT_TRUE(id.empty() || RemovePod(id).ok()) << what;
  }
}

TEST_F(HostileInputTest, ALogDirectoryThatIsAFile) {
  const std::string file = node_.directory() + "/file";
  ASSERT_TRUE(Host().ReplaceFile(file, "").ok());
  cri::PodSandboxConfig pod = PodConfig();
  pod.set_log_directory(file);
  std::string id;
  const grpc::Status made = TryRunPod(pod, &id);
  ASSERT_TRUE(made.ok()) << made.error_message();
  cri::ContainerConfig config = Shell("sleep 1000");
  config.set_log_path("c.log");
  std::string container;
  const grpc::Status refused = TryCreate(id, config, &container);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("is not a directory"));
}

TEST_F(HostileInputTest, ACommandThatTheKernelDoesNotTake) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  cri::ExecSyncResponse response;
  ExpectInvalid(Exec(container, {"echo", std::string(200'000, 'a')}, &response), "131071 bytes");
  const std::vector<std::string> many(100, std::string(100'000, 'a'));
  ExpectInvalid(Exec(container, many, &response), "together");
  EXPECT_TRUE(Exec(container, {"echo", std::string(131'071, 'a')}, &response).ok());
  EXPECT_EQ(response.stdout().size(), 131'072u);
}

}  // namespace
}  // namespace plimsoll::testing
