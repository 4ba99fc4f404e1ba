// The image of plimsoll-kube as the DaemonSet's pod runs it: no capability, read-only root, system
// calls filtered, the API server by its service account.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/programs/subprocess.h"
#include "classes_fixture.h"
#include "harness/api_server.h"
#include "harness/drivers_kubelet.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr char kAccount[] = "/var/run/secrets/kubernetes.io/serviceaccount";

class KubeImageTest : public ClassesTest {
 protected:
  void SetUp() override {
    ClassesTest::SetUp();
    if (IsSkipped()) return;
    for (const char* directory : {"plugins_registry", "plugins", "state", "account"}) {
      ASSERT_TRUE(Host().MakeDirs(absl::StrCat(files_.path(), "/", directory)).ok());
    }
  }

  absl::StatusOr<RunResult> Pack(const std::vector<std::string>& arguments) {
    Command command;
    command.argv = {SourcePath("tools/kube_image")};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    return RunProgram(command);
  }

  void Mount(cri::ContainerConfig* config, const std::string& host, const std::string& path,
             bool readonly) {
    cri::Mount* mount = config->add_mounts();
    mount->set_host_path(host);
    mount->set_container_path(path);
    mount->set_readonly(readonly);
  }

  // The driver of packaging/kube/cluster.yaml, with the test's directories for kubelet's.
  cri::ContainerConfig Driver(const ApiServer& api) {
    cri::ContainerConfig config;
    config.mutable_metadata()->set_name("plimsoll-kube");
    config.mutable_image()->set_image("plimsoll-kube");
    for (const char* argument :
         {"--socket=/run/plimsoll/cluster/cluster.sock", "--kubelet-root=/var/lib/kubelet"}) {
      config.add_args(argument);
    }
    const std::vector<std::pair<std::string, std::string>> variables = {
        {"NODE_NAME", "n1"},
        {"KUBERNETES_SERVICE_HOST", "127.0.0.1"},
        {"KUBERNETES_SERVICE_PORT", absl::StrCat(api.port())}};
    for (const auto& [name, value] : variables) {
      cri::KeyValue* variable = config.add_envs();
      variable->set_key(name);
      variable->set_value(value);
    }
    Mount(&config, node_.run_directory() + "/cluster", "/run/plimsoll/cluster", true);
    Mount(&config, files_.path() + "/plugins_registry", "/var/lib/kubelet/plugins_registry", false);
    Mount(&config, files_.path() + "/plugins/classes.plimsoll.dev",
          "/var/lib/kubelet/plugins/classes.plimsoll.dev", false);
    Mount(&config, files_.path() + "/state", "/var/lib/plimsoll-kube", false);
    Mount(&config, files_.path() + "/account", kAccount, true);
    config.mutable_linux()->mutable_resources()->set_memory_limit_in_bytes(64 * kMiB);
    cri::LinuxContainerSecurityContext* context =
        config.mutable_linux()->mutable_security_context();
    context->mutable_run_as_user()->set_value(0);
    context->mutable_run_as_group()->set_value(0);
    context->set_readonly_rootfs(true);
    context->set_no_new_privs(true);
    context->mutable_capabilities()->add_drop_capabilities("ALL");
    context->mutable_seccomp()->set_profile_type(cri::SecurityProfile::RuntimeDefault);
    return config;
  }
};

TEST_F(KubeImageTest, TheDaemonSetsPodPublishesTheNodesClasses) {
  const std::string archive = files_.path() + "/image.tar";
  const auto packed = Pack({"--archive", archive, ProgramPath("plimsoll-kube")});
  ASSERT_TRUE(packed.ok() && packed->exit.success()) << packed->err;
  const grpc::Status imported = Import(archive, "plimsoll-kube");
  ASSERT_TRUE(imported.ok()) << imported.error_message();
  ASSERT_TRUE(Host().MakeDirs(files_.path() + "/plugins/classes.plimsoll.dev").ok());
  ApiServer api(files_.path());
  api.WriteAccount(files_.path() + "/account");
  api.objects().Put("/api/v1/nodes/n1", {{"kind", "Node"}, {"metadata", {{"uid", "node-1"}}}});

  cri::PodSandboxConfig pod = PodConfig();
  pod.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_network(
      cri::NODE);
  const std::string id = Start(RunPod(pod), Driver(api));
  DriversKubelet kubelet(files_.path());
  ASSERT_TRUE(Eventually([&] { return Host().Exists(kubelet.registration_socket()); }))
      << Output(id);
  const grpc::Status registered = kubelet.Register();
  ASSERT_TRUE(registered.ok()) << registered.error_message() << Output(id);
  EXPECT_TRUE(Eventually([&] {
    for (const Json& slice : api.objects().All(kSlices)) {
      for (const Json& device : slice["spec"]["devices"]) {
        if (device["name"] == "blockio-medium") return true;
      }
    }
    return false;
  })) << Output(id);
  EXPECT_TRUE(StopContainer(id, 15).ok());
  EXPECT_EQ(Status(id).exit_code(), 0) << Output(id);
}

TEST_F(KubeImageTest, AProgramThatItCannotPackIsNamed) {
  const auto script = Pack({"--archive", files_.path() + "/image.tar", "/bin/busybox"});
  ASSERT_TRUE(script.ok()) << script.status();
  EXPECT_EQ(script->exit.code, 1);
  EXPECT_THAT(script->err, HasSubstr("/bin/busybox"));
  EXPECT_FALSE(Host().Exists(files_.path() + "/image.tar"));
  const auto full = Pack({"--rootfs", files_.path(), ProgramPath("plimsoll-kube")});
  ASSERT_TRUE(full.ok()) << full.status();
  EXPECT_EQ(full->exit.code, 1);
  EXPECT_THAT(full->err, HasSubstr("is not empty"));
}

}  // namespace
}  // namespace plimsoll::testing
