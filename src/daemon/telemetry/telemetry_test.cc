#include "daemon/telemetry/telemetry.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/dir_for_test.h"
#include "cri/mocks_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::Mock;
using ::testing::NiceMock;
using ::testing::Not;
using ::testing::Return;

class TelemetryTest : public ::testing::Test {
 protected:
  TelemetryTest() {
    telemetry_.emplace(
        "1", dir_.root(), [] { return std::vector<cri::LaneState>(); }, &log_);
    telemetry_->Follow(events_.get());
    telemetry_->Recovered(engine_.get());
  }
  void Add(runtime::EventType type) { events_->Add(type, "pod", "", ""); }
  std::string Text() { return telemetry_->metrics()->Text(); }

  TestDir dir_;
  Log log_{LogFormat::kText, LogLevel::kInfo, [](LogLevel, const std::string&) {}};
  std::unique_ptr<runtime::EventLog> events_ = std::make_unique<runtime::EventLog>();
  std::unique_ptr<NiceMock<cri::MockEngine>> engine_ =
      std::make_unique<NiceMock<cri::MockEngine>>();
  std::optional<Telemetry> telemetry_;
};

TEST_F(TelemetryTest, CountsWhatTheEngineHasAndTells) {
  ON_CALL(*engine_, ListSandboxes()).WillByDefault(Return(std::vector<runtime::SandboxRecord>(2)));
  Add(runtime::EventType::kContainerOom);
  EXPECT_THAT(Text(), HasSubstr("plimsoll_events_total{type=\"ContainerOom\"} 1\n"));
  EXPECT_THAT(Text(), HasSubstr("plimsoll_sandboxes{state=\"Creating\"} 2\n"));
}

// The daemon's end: telemetry lets go of the engine, the engine ends, then telemetry.
TEST_F(TelemetryTest, AnEngineThatEndsCountsButIsNotAsked) {
  telemetry_->LetGoOfEngine();
  EXPECT_CALL(*engine_, ListSandboxes()).Times(0);
  Add(runtime::EventType::kContainerOom);
  telemetry_->metrics()->ObservePhase("container_create", absl::Milliseconds(7));
  const std::string text = Text();
  EXPECT_THAT(text, Not(HasSubstr("ContainerOom"))) << "it hears events";
  EXPECT_THAT(text, Not(HasSubstr("plimsoll_sandboxes{")));
  EXPECT_THAT(text, HasSubstr("duration_seconds_count{phase=\"container_create\"} 1\n"));
  engine_.reset();
  events_.reset();
  EXPECT_THAT(Text(), HasSubstr("duration_seconds_count{phase=\"container_create\"} 1\n"));
  telemetry_.reset();
}

TEST_F(TelemetryTest, ItsEndLetsGoToo) {
  telemetry_.reset();
  EXPECT_CALL(*engine_, ListSandboxes()).Times(0);
  Add(runtime::EventType::kContainerOom);  // no listener is left
}

}  // namespace
}  // namespace plimsoll::daemon
