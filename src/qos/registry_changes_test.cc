// The bell of a registry rings for each change that others show.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "qos/fake_type_for_test.h"
#include "qos/registry.h"

namespace plimsoll::qos {
namespace {

class RegistryChangesTest : public ::testing::Test {
 protected:
  RegistryChangesTest() {
    std::vector<std::unique_ptr<ClassType>> types;
    types.push_back(std::make_unique<FakeType>(&kernel_, FakeType::Options{}));
    registry_ = *Registry::Create(std::move(types));
    registry_->changed().Listen([this] { ++rings_; });
    target_.id = "a";
    target_.name = "container a";
  }
  // Whether it has rung since the last question.
  bool HasRung() { return std::exchange(rings_, 0) > 0; }

  FakeKernel kernel_;
  std::unique_ptr<Registry> registry_;
  Target target_;
  int rings_ = 0;
};

TEST_F(RegistryChangesTest, HoldersComeChangeAndGo) {
  ASSERT_TRUE(registry_->Reserve(Level::kContainer, "a", target_.name, {{"rdt", "gold"}}).ok());
  EXPECT_TRUE(HasRung());
  ASSERT_TRUE(registry_->Enforce(target_).ok());
  HasRung();
  ASSERT_TRUE(registry_
                  ->Change(target_, {{"rdt", "silver"}},
                           [](const HeldClasses&) { return absl::OkStatus(); })
                  .ok());
  EXPECT_TRUE(HasRung());
  ASSERT_TRUE(registry_->Release(target_).ok());
  EXPECT_TRUE(HasRung());
  HeldClasses held = {{"rdt", {.name = "gold"}}};
  ASSERT_TRUE(registry_->Adopt(target_, &held).ok());
  EXPECT_TRUE(HasRung());
  registry_->Cancel("a");
  EXPECT_TRUE(HasRung());
  registry_->Cancel("a");
  EXPECT_FALSE(HasRung());
}

TEST_F(RegistryChangesTest, ReloadsAndDevicesRing) {
  ASSERT_TRUE(registry_->Reload().ok());
  EXPECT_TRUE(HasRung());
  ASSERT_TRUE(registry_->Refresh().ok());
  EXPECT_TRUE(HasRung());
}

TEST_F(RegistryChangesTest, ARefusalDoesNot) {
  EXPECT_FALSE(registry_->Reserve(Level::kContainer, "a", target_.name, {{"rdt", "lead"}}).ok());
  EXPECT_FALSE(HasRung());
}

}  // namespace
}  // namespace plimsoll::qos
