#include "runtime/pod/pod_pictures.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/objects/parts_fixture_for_test.h"
#include "runtime/objects/sandbox_place.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PodPicturesTest : public PartsTest {
 protected:
  PodPicturesTest() { options_.show_pictures = true; }
  // A pod that announced the container "web" with this limit of CPUs.
  static SandboxRecord Announcing(const std::string& cpu) {
    SandboxRecord record = SandboxOf("pod");
    AnnouncedContainer web = {.name = "web", .type = AnnouncedContainer::Type::kContainer};
    web.kubernetes_resources.limits = {{"cpu", cpu}};
    record.spec.pod_resources.containers = {web};
    return record;
  }
  static ContainerRecord Attempt(const std::string& id, uint32_t attempt) {
    ContainerRecord record = ContainerOf(id, "pod");
    record.spec.name = "web";
    record.spec.attempt = attempt;
    return record;
  }
  // The pod's place, without which nothing is shown.
  void MakePlace() { ASSERT_TRUE(run_.MakeDirs("sandboxes/pod").ok()); }
  std::string Shown() const {
    return run_.Read(absl::StrCat(PictureDirectoryOf("pod"), "/", kPictureFile)).value_or("");
  }

  PodPictures pictures_{options_, &objects_};
};

TEST_F(PodPicturesTest, WordsGoOnAfterAllThatAreRecorded) {
  SandboxRecord sandbox = SandboxOf("pod");
  sandbox.spec.announced["web"].mounts = 7;
  ContainerRecord container = ContainerOf("c", "pod");
  container.spec.said.made = 9;
  pictures_.CountWords({sandbox}, {container});
  EXPECT_EQ(pictures_.NextWord(), 10u);
  EXPECT_EQ(pictures_.NextWord(), 11u);
}

TEST_F(PodPicturesTest, TheNewestAttemptCountsAndNoneThatGoes) {
  Add(Attempt("old", 0));
  Add(Attempt("new", 1));
  ContainerRecord going = Attempt("going", 2);
  going.state = ContainerState::kRemoving;
  Add(going);
  Add(ContainerOf("elsewhere", "other-pod"));
  std::vector<ContainerSpec> specs = pictures_.NewestSpecs(SandboxOf("pod"), nullptr);
  ASSERT_EQ(specs.size(), 1u);
  EXPECT_EQ(specs[0].attempt, 1u);
  const ContainerSpec made = Attempt("made", 3).spec;
  specs = pictures_.NewestSpecs(SandboxOf("pod"), &made);
  ASSERT_EQ(specs.size(), 1u);
  EXPECT_EQ(specs[0].attempt, 3u);
}

TEST_F(PodPicturesTest, AContainerGetsThePictureAndItsFile) {
  SandboxRecord sandbox = Announcing("2");
  sandbox.spec.picture_directory = "/etc/pod/";
  ContainerSpec made = Attempt("c", 0).spec;
  ASSERT_TRUE(pictures_.AddTo(sandbox, &made).ok());
  EXPECT_THAT(made.annotations["plimsoll.dev/pod-resources"], HasSubstr(R"("limits":{"cpu":"2"})"));
  EXPECT_EQ(made.annotations["plimsoll.dev/pod-resources-file"],
            absl::StrCat(run_.PathOf(PictureDirectoryOf("pod")), "/", kPictureFile));
  ASSERT_EQ(made.mounts.size(), 1u);
  EXPECT_EQ(made.mounts[0].container_path, "/etc/pod");
  EXPECT_TRUE(made.mounts[0].readonly);
  // A second mount at that place would hide one of the two.
  const absl::Status refused = pictures_.AddTo(sandbox, &made);
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
}

TEST_F(PodPicturesTest, WithoutTheOptionNothingIsShown) {
  options_.show_pictures = false;
  MakePlace();
  Add(Announcing("2"));
  ContainerSpec made = Attempt("c", 0).spec;
  made.kubernetes_resources.limits = {{"cpu", "1"}};
  EXPECT_EQ(pictures_.CompareWithAnnounced(Announcing("2"), &made), "");
  EXPECT_GT(made.said.made, 0u) << "words are numbered all the same";
  ASSERT_TRUE(pictures_.AddTo(Announcing("2"), &made).ok());
  EXPECT_THAT(made.annotations, IsEmpty());
  pictures_.Show("pod");
  EXPECT_EQ(Shown(), "");
}

TEST_F(PodPicturesTest, TheFileShowsAReadyPodAsItIsNow) {
  MakePlace();
  const auto sandbox = Add(Announcing("2"));
  pictures_.Show("pod");
  EXPECT_THAT(Shown(), HasSubstr(R"("limits":{"cpu":"2"})"));
  {
    absl::MutexLock lock(&sandbox->mutex);
    sandbox->record.spec.pod_resources.containers[0].kubernetes_resources.limits["cpu"] = "3";
    sandbox->record.state = SandboxState::kNotReady;
  }
  pictures_.Show("pod");
  EXPECT_THAT(Shown(), HasSubstr(R"("limits":{"cpu":"2"})"));
  {
    absl::MutexLock lock(&sandbox->mutex);
    sandbox->record.state = SandboxState::kReady;
  }
  pictures_.Show("pod");
  EXPECT_THAT(Shown(), HasSubstr(R"("limits":{"cpu":"3"})"));
  EXPECT_THAT(Messages(EventType::kWarning), IsEmpty());
}

TEST_F(PodPicturesTest, AFailureIsAWarningUnlessThePodIsGoing) {
  Add(Announcing("2"));
  pictures_.Show("pod");
  EXPECT_THAT(Messages(EventType::kWarning), IsEmpty()) << "it has no place any more";
  MakePlace();
  ASSERT_TRUE(run_.ReplaceFile(PictureDirectoryOf("pod"), "no directory").ok());
  pictures_.Show("pod");
  EXPECT_THAT(Messages(EventType::kWarning), ElementsAre(HasSubstr("show the pod's resources")));
}

TEST_F(PodPicturesTest, ADifferenceFromTheAnnouncementIsNamed) {
  ContainerSpec same = Attempt("c", 0).spec;
  same.kubernetes_resources.limits = {{"cpu", "2"}};
  EXPECT_EQ(pictures_.CompareWithAnnounced(Announcing("2"), &same), "");
  EXPECT_EQ(same.said.resources, same.said.made);
  ContainerSpec other = same;
  other.kubernetes_resources.limits = {{"cpu", "1"}};
  EXPECT_THAT(pictures_.CompareWithAnnounced(Announcing("2"), &other),
              HasSubstr("container web is not as it was announced: "));
  EXPECT_GT(other.said.made, same.said.made);
}

TEST_F(PodPicturesTest, AContradictionIsToldWhenItIsNew) {
  Add(SandboxOf("pod"));
  ContainerRecord record = Attempt("c", 0);
  record.spec.kubernetes_resources.limits = {{"memory", "1Gi"}};
  record.spec.resources.memory_limit_bytes = 64 << 20;
  pictures_.TellContradiction(record, nullptr);
  EXPECT_EQ(Messages(EventType::kWarning).size(), 1u);
  pictures_.TellContradiction(record, &record.spec);
  EXPECT_EQ(Messages(EventType::kWarning).size(), 1u);
}

}  // namespace
}  // namespace plimsoll::runtime
