// Users of containers: ids, groups, and their rights.
#include "absl/strings/str_cat.h"
#include "conformance/cri_test.h"

namespace plimsoll::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// Groups in the order of their numbers.
constexpr char kShowUser[] = "id -u; id -g; for g in $(id -G); do echo $g; done | sort -nu";

class UserTest : public CriTest {
 protected:
  // For tests that need the users of Recipe's image; a reason to skip for another image.
  std::string NotOurImage() const {
    return session_.base_image_is_own() ? "" : "the users of the image of --image are not known";
  }
};

PROMISE_TEST(UserTest, RootByDefault, "Where neither config nor image say so, it is root's") {
  if (!NotOurImage().empty()) GTEST_SKIP() << NotOurImage();
  EXPECT_EQ(RunToEnd(Shell("id -u; id -g")), "0\n0\n");
}

PROMISE_TEST(UserTest, ByNumber, "run_as_user is the process's user, in the image's files or not") {
  cri::ContainerConfig config = Shell("id -u; id -g");
  Security(&config)->mutable_run_as_user()->set_value(54321);
  EXPECT_EQ(RunToEnd(config), "54321\n0\n");
}

PROMISE_TEST(UserTest, WithAGroup, "run_as_group is the process's primary group") {
  cri::ContainerConfig config = Shell(kShowUser);
  Security(&config)->mutable_run_as_user()->set_value(1234);
  Security(&config)->mutable_run_as_group()->set_value(4321);
  EXPECT_EQ(RunToEnd(config), "1234\n4321\n4321\n");
}

PROMISE_TEST(UserTest, AGroupNeedsAUser, "run_as_group without a user is refused") {
  cri::ContainerConfig config = Shell(kShowUser);
  Security(&config)->mutable_run_as_group()->set_value(4321);
  const absl::Status status = TryCreateAndStart(RunPod(), config);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), Not(IsEmpty()));
}

PROMISE_TEST(UserTest, ByName, "run_as_username is looked up in the image") {
  if (!NotOurImage().empty()) GTEST_SKIP() << NotOurImage();
  cri::ContainerConfig config = Shell("id -u; id -g");
  Security(&config)->set_run_as_username("app");
  EXPECT_EQ(RunToEnd(config), "1000\n1000\n");
}

PROMISE_TEST(UserTest, AnUnknownNameIsNamed,
             "A run_as_username that the image doesn't know is refused by name") {
  cri::ContainerConfig config = Shell("true");
  Security(&config)->set_run_as_username("nobody-there");
  const absl::Status status = TryCreateAndStart(RunPod(), config);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("nobody-there"));
}

PROMISE_TEST(UserTest, OfTheImage, "Without one in the config, the image's user is the process's") {
  std::string why;
  Recipe recipe;
  recipe.user = "app";
  const std::string by_name = Publish(recipe, "user:name", &why);
  if (by_name.empty()) GTEST_SKIP() << why;
  recipe.user = "1234:4321";
  const std::string by_number = Publish(recipe, "user:number", &why);
  const std::string pod = RunPod();
  for (const auto& [image, expected] :
       {std::pair(by_name, "1000\n1000\n"), {by_number, "1234\n4321\n"}}) {
    ASSERT_OK(TryPull(image));
    cri::ContainerConfig config = Shell("id -u; id -g");
    config.mutable_image()->set_image(image);
    EXPECT_EQ(RunToEnd(config, pod), expected);
  }
}

PROMISE_TEST(UserTest, SupplementalGroupsAreAdded,
             "supplemental_groups are groups of the process's") {
  cri::ContainerConfig config = Shell(kShowUser);
  Security(&config)->mutable_run_as_user()->set_value(1234);
  Security(&config)->mutable_run_as_group()->set_value(4321);
  for (const int64_t group : {77, 88}) Security(&config)->add_supplemental_groups(group);
  EXPECT_EQ(RunToEnd(config), "1234\n4321\n77\n88\n4321\n");
}

PROMISE_TEST(
    UserTest, MergeTakesTheImagesGroupsToo,
    "With the policy Merge, the default, groups that the image's /etc/group gives the user "
    "are added to supplemental_groups") {
  if (!NotOurImage().empty()) GTEST_SKIP() << NotOurImage();
  cri::ContainerConfig config = Shell(kShowUser);
  Security(&config)->mutable_run_as_user()->set_value(1000);
  Security(&config)->mutable_run_as_group()->set_value(1000);
  Security(&config)->add_supplemental_groups(77);
  EXPECT_EQ(RunToEnd(config), "1000\n1000\n77\n1000\n2000\n");
}

PROMISE_TEST(UserTest, StrictTakesNoneOfTheImages,
             "With the policy Strict, the process has its primary group and supplemental_groups, "
             "and none that the image gives") {
  if (!RuntimeStatus().features().supplemental_groups_policy()) {
    GTEST_SKIP() << "the runtime doesn't announce the feature supplemental_groups_policy";
  }
  cri::ContainerConfig config = Shell(kShowUser);
  Security(&config)->mutable_run_as_user()->set_value(1000);
  Security(&config)->mutable_run_as_group()->set_value(1000);
  Security(&config)->add_supplemental_groups(77);
  Security(&config)->set_supplemental_groups_policy(cri::Strict);
  EXPECT_EQ(RunToEnd(config), "1000\n1000\n77\n1000\n");
}

PROMISE_TEST(UserTest, StatusShowsTheUser,
             "ContainerStatus shows the user, the group and all groups that the process began "
             "with, where the runtime knows of group policies") {
  if (!RuntimeStatus().features().supplemental_groups_policy()) {
    GTEST_SKIP() << "the runtime doesn't announce the feature supplemental_groups_policy";
  }
  cri::ContainerConfig config = Sleeper();
  Security(&config)->mutable_run_as_user()->set_value(1234);
  Security(&config)->mutable_run_as_group()->set_value(4321);
  Security(&config)->add_supplemental_groups(77);
  const cri::LinuxContainerUser user = Status(Start(RunPod(), config)).user().linux();
  EXPECT_EQ(user.uid(), 1234);
  EXPECT_EQ(user.gid(), 4321);
  EXPECT_THAT(user.supplemental_groups(), UnorderedElementsAre(4321, 77));
}

PROMISE_TEST(UserTest, ItsExecsHaveItsGroups,
             "A command of ExecSync has the container's user and all its groups") {
  cri::ContainerConfig config = Sleeper();
  Security(&config)->mutable_run_as_user()->set_value(1234);
  Security(&config)->mutable_run_as_group()->set_value(4321);
  Security(&config)->add_supplemental_groups(77);
  EXPECT_EQ(Exec(Start(RunPod(), config), kShowUser), "1234\n4321\n77\n4321\n");
}

}  // namespace
}  // namespace plimsoll::conformance
