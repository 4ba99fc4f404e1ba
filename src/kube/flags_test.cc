#include "kube/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/fs_root.h"

namespace plimsoll::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::optional<EarlyExit> ParseLine(std::vector<const char*> arguments, KubeFlags& flags) {
  arguments.insert(arguments.begin(), "plimsoll-kube");
  return ParseFlags(static_cast<int>(arguments.size()), arguments.data(), "1.0", flags);
}

TEST(KubeFlagsTest, WithoutACommandItServes) {
  KubeFlags flags;
  ASSERT_FALSE(ParseLine({}, flags).has_value());
  EXPECT_EQ(flags.command, KubeFlags::Command::kRun);
  ASSERT_FALSE(ParseLine({"run", "--node-name", "n1"}, flags).has_value());
  EXPECT_EQ(flags.command, KubeFlags::Command::kRun);
  EXPECT_EQ(flags.config.node_name, "n1");
}

TEST(KubeFlagsTest, FlagsStandBeforeOrBehindTheCommand) {
  KubeFlags before;
  ASSERT_FALSE(ParseLine({"--kubeconfig", "/k", "remove", "--force"}, before).has_value());
  EXPECT_EQ(before.command, KubeFlags::Command::kRemove);
  EXPECT_TRUE(before.force);
  EXPECT_EQ(before.config.kubeconfig, "/k");
  KubeFlags behind;
  ASSERT_FALSE(ParseLine({"remove", "--kubeconfig", "/k"}, behind).has_value());
  EXPECT_FALSE(behind.force);
  EXPECT_EQ(behind.config.kubeconfig, "/k");
}

TEST(KubeFlagsTest, HelpVersionAndMistakesEndAtOnce) {
  KubeFlags flags;
  const auto help = ParseLine({"--help"}, flags);
  ASSERT_TRUE(help.has_value());
  EXPECT_EQ(help->code, 0);
  EXPECT_THAT(help->text, HasSubstr("manifests"));
  EXPECT_EQ(ParseLine({"--version"}, flags)->text, "plimsoll-kube 1.0\n");
  EXPECT_EQ(ParseLine({"--nonsense"}, flags)->code, 2);
  EXPECT_EQ(ParseLine({"nonsense"}, flags)->code, 2);
  EXPECT_EQ(ParseLine({"run", "remove"}, flags)->code, 2);
  EXPECT_EQ(ParseLine({"--log-level", "loud"}, flags)->code, 2);
}

TEST(KubeFlagsTest, ManifestsTakeClassesAndParts) {
  KubeFlags flags;
  ASSERT_FALSE(ParseLine({"manifests",
                          "--class",
                          "rdt=gold",
                          "--class",
                          "rdt=bronze",
                          "--pod-class",
                          "lane=fast",
                          "--part",
                          "classes",
                          "--namespace",
                          "ns",
                          "--image",
                          "i:1",
                          "--socket-directory",
                          "/s",
                          "--node-label",
                          "a=b",
                          "--closed",
                          "--kubelet-root",
                          "/kubelet"},
                         flags)
                   .has_value());
  EXPECT_EQ(flags.command, KubeFlags::Command::kManifests);
  const auto options = ManifestOptionsOf(flags);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->classes, ElementsAre(qos::ClassId{qos::Level::kContainer, "rdt", "gold"},
                                            qos::ClassId{qos::Level::kContainer, "rdt", "bronze"},
                                            qos::ClassId{qos::Level::kPod, "lane", "fast"}));
  EXPECT_THAT(options->parts, ElementsAre(ManifestPart::kClasses));
  EXPECT_EQ(options->name_space, "ns");
  EXPECT_EQ(options->image, "i:1");
  EXPECT_EQ(options->socket_dir, "/s");
  EXPECT_EQ(options->node_label, "a=b");
  EXPECT_EQ(options->kubelet_root, "/kubelet");
  EXPECT_TRUE(options->closed);
}

TEST(KubeFlagsTest, AClassOrPartThatIsNoneIsNamed) {
  KubeFlags flags;
  flags.manifests.classes = {"rdt"};
  EXPECT_EQ(ManifestOptionsOf(flags).status().code(), absl::StatusCode::kInvalidArgument);
  flags.manifests.classes = {};
  flags.manifests.parts = {"all"};
  EXPECT_THAT(std::string(ManifestOptionsOf(flags).status().message()), HasSubstr("all"));
}

TEST(KubeFlagsTest, TheManualHasEveryFlag) {
  const auto root = FsRoot::Open(PLIMSOLL_SOURCE_DIRECTORY);
  const std::string manual =
      absl::StrReplaceAll(root->Read("docs/man/plimsoll-kube.8").value_or(""), {{"\\-", "-"}});
  KubeFlags flags;
  for (const std::vector<const char*>& line :
       {std::vector<const char*>{"--help"}, {"manifests", "--help"}, {"remove", "--help"}}) {
    const auto help = ParseLine(line, flags);
    ASSERT_TRUE(help.has_value());
    for (absl::string_view word : absl::StrSplit(help->text, absl::ByAnyChar(" \n,"))) {
      if (word.substr(0, 2) != "--") continue;
      EXPECT_THAT(manual, HasSubstr(std::string(word)));
    }
  }
}

}  // namespace
}  // namespace plimsoll::kube
