#include "agent/pods/admission/preferences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/pods/allocation/fake_devices_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PreferencesTest, AnAnswerIsKnownOnceItWasAskedFor) {
  FakeDevices devices;
  Preferences preferences(&devices);
  const PreferDevices known = preferences.Known();
  EXPECT_FALSE(preferences.Ask()) << "nothing to ask";
  EXPECT_TRUE(absl::IsUnavailable(known("r", {"a", "b"}, {}, 1).status()));
  EXPECT_THAT(devices.Calls(), IsEmpty()) << "nobody is asked under the lock";
  EXPECT_EQ(preferences.questions(), 1u);
  EXPECT_TRUE(preferences.WillAsk());
  EXPECT_TRUE(preferences.Ask());
  EXPECT_THAT(devices.Calls(), ElementsAre("Prefer r a,b"));
  EXPECT_THAT(*known("r", {"a", "b"}, {}, 1), ElementsAre("b"));
  EXPECT_EQ(preferences.questions(), 0u);
  EXPECT_FALSE(preferences.Ask());
  EXPECT_TRUE(absl::IsUnavailable(known("r", {"a"}, {}, 1).status())) << "another question";
}

TEST(PreferencesTest, AFailureIsAnAnswer) {
  FakeDevices devices;
  devices.Answer("Prefer", absl::InternalError("no idea"));
  Preferences preferences(&devices);
  const PreferDevices known = preferences.Known();
  known("r", {"a"}, {}, 1).IgnoreError();
  EXPECT_TRUE(preferences.Ask());
  EXPECT_TRUE(absl::IsInternal(known("r", {"a"}, {}, 1).status()));
}

TEST(PreferencesTest, RoundsAreBounded) {
  FakeDevices devices;
  Preferences preferences(&devices);
  const PreferDevices known = preferences.Known();
  for (int i = 0; i < Preferences::kMostRounds; ++i) {
    known("r", {"a"}, {}, i).IgnoreError();
    EXPECT_TRUE(preferences.Ask());
  }
  known("r", {"a"}, {}, Preferences::kMostRounds).IgnoreError();
  EXPECT_FALSE(preferences.WillAsk());
  EXPECT_FALSE(preferences.Ask());
}

TEST(PreferencesTest, WithoutDevicesNobodyHasAPreference) {
  EXPECT_EQ(Preferences(nullptr).Known(), nullptr);
}

}  // namespace
}  // namespace plimsoll::agent
