// Containers that run on though the means to control them were removed.
#include "runtime/engine_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class EngineLostTest : public EngineTest {
 protected:
  std::string Run() {
    const std::string pod = *engine_->RunSandbox(PodSpec(), "");
    const std::string id = *engine_->CreateContainer(pod, Spec(), "");
    EXPECT_TRUE(engine_->StartContainer(id).ok());
    return id;
  }
  std::string WhyNoExec(const std::string& id) {
    runtime_.faults.FailNext("Exec", absl::FailedPreconditionError("it is not running"));
    ExecRequest request;
    request.argv = {"true"};
    const absl::Status refused = engine_->commands().ExecSync(id, request).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    // A streamed command finds out at its start, or at its end.
    for (const char* when : {"StartExec", "Finish"}) {
      runtime_.faults.FailNext(when, absl::FailedPreconditionError("it is not running"));
      const auto command = engine_->commands().StartExec(id, request);
      EXPECT_EQ(command.ok() ? (*command)->Finish().status() : command.status(), refused) << when;
    }
    return std::string(refused.message());
  }
};

TEST_F(EngineLostTest, AnUpdateWithoutItsGroupSaysSo) {
  const std::string id = Run();
  cgroups_.faults.FailNext("Apply", absl::NotFoundError("open cpu.shares: none"));
  const absl::Status refused = engine_->UpdateResources(id, {.cgroup = {.cpu_shares = 200}});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("removed from outside"), HasSubstr("open cpu.shares: none"),
                    Not(HasSubstr("just ended"))));
  EXPECT_EQ(engine_->GetContainer(id)->spec.resources.cpu_shares, std::nullopt);
}

TEST_F(EngineLostTest, AnExecNamesWhatIsGone) {
  const std::string id = Run();
  EXPECT_THAT(WhyNoExec(id), HasSubstr("runs, but the OCI runtime's state of it is gone"));
  runtime_.SetStarted(id, 1);
  EXPECT_EQ(WhyNoExec(id), "it is not running");
  const std::string group = engine_->GetContainer(id)->cgroup_path;
  ASSERT_TRUE(cgroups_.Remove(group).ok());
  EXPECT_THAT(WhyNoExec(id), HasSubstr("its control group " + group + " is gone"));
}

}  // namespace
}  // namespace plimsoll::runtime
