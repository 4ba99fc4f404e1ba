#include "agent/pods/status/start_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;

class StartEventsTest : public testing::Test {
 protected:
  StartEventsTest() { container_.image = "web:1"; }
  std::vector<std::string> Told() const {
    std::vector<std::string> told;
    for (const nlohmann::json& each : log_.List(std::nullopt)) {
      told.push_back(each["reason"].get<std::string>() + ": " + each["message"].get<std::string>());
    }
    return told;
  }
  void Fail(const std::string& reason, const absl::Status& status) {
    TellStartFailure(log_, subject_, container_, reason, status);
  }

  KubeEventLog log_{Clock::Real(), "node-1"};
  const InvolvedObject subject_{.key = {"default", "a"}, .uid = "1", .container = "web"};
  pod::ContainerManifest container_;
};

TEST_F(StartEventsTest, AContainerThatCantBeMadeHasTheRuntimesWords) {
  Fail("CreateContainerError", absl::NotFoundError("type rdt has no class tin"));
  EXPECT_THAT(Told(), ElementsAre("Failed: Error: type rdt has no class tin"));
}

TEST_F(StartEventsTest, AFailedPullHasTheRegistrysWordsAndThenPauses) {
  Fail("ErrImagePull", absl::UnavailableError("no route to host"));
  TellPullBackOff(log_, subject_, "web:1");
  EXPECT_THAT(Told(), ElementsAre("Failed: Failed to pull image \"web:1\": no route to host",
                                  "Failed: Error: ErrImagePull",
                                  "BackOff: Back-off pulling image \"web:1\"",
                                  "Failed: Error: ImagePullBackOff"));
}

TEST_F(StartEventsTest, AnImageThatIsNeverPulledOrHasNoName) {
  Fail("ErrImageNeverPull", absl::NotFoundError("x"));
  EXPECT_THAT(Told(), ElementsAre("ErrImageNeverPull: Container image \"web:1\" is not present "
                                  "with pull policy of Never",
                                  "Failed: Error: ErrImageNeverPull"));
  EXPECT_EQ(WaitingMessage(container_, "ErrImageNeverPull", absl::NotFoundError("x")),
            "Container image \"web:1\" is not present with pull policy of Never");
  EXPECT_EQ(WaitingMessage(container_, "ErrImagePull", absl::NotFoundError("x")), "x");
  Fail("InvalidImageName", absl::InvalidArgumentError("bad"));
  EXPECT_EQ(Told()[2], "InspectFailed: Failed to inspect image \"web:1\": bad");
}

}  // namespace
}  // namespace plimsoll::agent
