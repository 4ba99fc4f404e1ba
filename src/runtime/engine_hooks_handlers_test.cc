// Plugins and runtime handlers: virtual machines with devices by plugins, and fixed resources.
#include "runtime/engine_handlers_fixture_for_test.h"
#include "runtime/pod/fake_hooks_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kNoDevice[] = "/dev/vfio/999999";

class EngineHooksHandlersTest : public EngineHandlersTest {
 protected:
  void SetUp() override {
    hooks_ = &plugins_;
    EngineHandlersTest::SetUp();
  }
  absl::Status Refused(const std::function<void(ContainerSpec*)>& change) {
    plugins_.adjust = [change](ContainerSpec* spec) {
      change(spec);
      spec->changed_by = {{"linux.devices", kNoDevice, "10-a"}};
    };
    const std::string pod = Pod(Spec("vm"));
    const absl::Status refused = engine_->CreateContainer(pod, Web(), "").status();
    EXPECT_THAT(engine_->ListContainers(), IsEmpty());
    EXPECT_TRUE(engine_->RemoveSandbox(pod).ok());
    return refused;
  }

  FakeHooks plugins_;
};

TEST_F(EngineHooksHandlersTest, AVirtualMachineHasPortsForDevicesByPlugins) {
  for (const absl::Status& refused :
       {Refused([](ContainerSpec* spec) {
          spec->devices = {{kNoDevice, kNoDevice, "rw"}};
        }),
        Refused([](ContainerSpec* spec) { spec->extras.edits.device_nodes = {{kNoDevice}}; })}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                AllOf(HasSubstr("device /dev/vfio/999999"), HasSubstr("plugin 10-a")));
  }
}

// A plugin's resources are not the author's growth of the pod.
TEST_F(EngineHooksHandlersTest, FixedResourcesAreHeldToTheClientsWord) {
  plugins_.adjust = [](ContainerSpec* spec) {
    spec->mounts.push_back({.container_path = "/p", .host_path = "/plugins"});
    spec->resources.cpu_shares = 4096;
  };
  const std::string pod = Pod(Spec("fixed"));
  Create(pod, Web());
  ContainerSpec job = EngineTest::Spec("job");
  job.kubernetes_resources.limits = {{"cpu", "2"}, {"memory", "512Mi"}};
  plugins_.Forget();
  const absl::Status refused = engine_->CreateContainer(pod, job, "").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(plugins_.calls(), IsEmpty()) << "it is the client's own mistake";
}

}  // namespace
}  // namespace plimsoll::runtime
