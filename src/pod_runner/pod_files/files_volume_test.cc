#include "pod_runner/pod_files/files_volume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "base/dir_for_test.h"
#include "linux/namespaces/mounts.h"
#include "pod_runner/pod_files/dir.h"
#include "pod_runner/pod_files/volume_dirs.h"

namespace plimsoll::pod {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr char kVolumes[] = R"yaml(apiVersion: v1
kind: Pod
metadata:
  name: p
  labels: {app: web, tier: "a\"b"}
spec:
  securityContext: {fsGroup: 2000, fsGroupChangePolicy: OnRootMismatch}
  volumes:
    - name: all
      projected:
        defaultMode: 0440
        sources:
          - configMap: {name: settings, items: [{key: color, path: conf/color, mode: 0400}]}
          - secret: {name: login}
          - downwardAPI:
              items:
                - {path: labels, fieldRef: {fieldPath: metadata.labels}}
                - {path: cpu, resourceFieldRef: {containerName: c, resource: limits.cpu, divisor: 1m}}
                - {path: mem, resourceFieldRef: {containerName: c, resource: requests.memory, divisor: 1Mi}}
    - {name: conf, configMap: {name: settings}}
    - {name: quick, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
    - {name: data, emptyDir: {}}
  containers:
    - {name: c, image: i, resources: {limits: {cpu: 250m, memory: 3M}}}
)yaml";

class FilesVolumeTest : public ::testing::Test {
 protected:
  FilesVolumeTest() {
    auto pods = ParseManifests(kVolumes, "pod.yaml");
    EXPECT_TRUE(pods.ok()) << pods.status();
    if (pods.ok()) pod_ = pods->front();
    EXPECT_TRUE(objects_
                    .Add("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
                         "data: {color: blue, size: big}\n---\n"
                         "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\n"
                         "stringData: {password: hush}\n",
                         "o")
                    .ok());
    context_.objects = &objects_;
    context_.uid = "uid-1";
  }
  mode_t ModeOf(const std::string& path) {
    const auto info = dir_.root().Stat(path);
    EXPECT_TRUE(info.ok()) << info.status();
    return info.ok() ? info->st_mode & 07777 : 0;
  }

  TestDir dir_;
  Manifest pod_;
  ConfigObjects objects_;
  PodContext context_;
};

// The volume is read-only in containers; one with all privileges could write it all the same.
TEST_F(FilesVolumeTest, LinksInTheVolumeLeadNoWriteOutOfIt) {
  ASSERT_TRUE(dir_.root().MakeDirs("v").ok());
  ASSERT_TRUE(dir_.root().MakeDirs("outside").ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("outside/color", "the host's").ok());
  const std::string outside = dir_.path() + "/outside";
  for (const char* name : {"..data", "..data_tmp", "..old", "conf"}) {
    ASSERT_EQ(symlink(outside.c_str(), (dir_.path() + "/v/" + name).c_str()), 0);
  }
  const VolumeFiles files = {{"color", {"blue", 0644}}, {"conf/color", {"red", 0600}}};
  ASSERT_TRUE(WriteFiles(*dir_.root().Sub("v"), files, std::nullopt).ok());
  EXPECT_THAT(*dir_.root().List("outside"), ::testing::ElementsAre("color"));
  EXPECT_EQ(*dir_.root().Read("outside/color"), "the host's");
  EXPECT_EQ(*dir_.root().Read("v/color"), "blue");
  EXPECT_EQ(*dir_.root().Read("v/..data/conf/color"), "red");
}

TEST_F(FilesVolumeTest, ContentsAreThoseOfAllSources) {
  const auto files = ContentsOf(pod_, pod_.volumes[0], context_);
  ASSERT_TRUE(files.ok()) << files.status();
  std::map<std::string, std::string> texts;
  for (const auto& [path, file] : *files) texts[path] = file.content;
  EXPECT_THAT(texts, ElementsAre(Pair("conf/color", "blue"), Pair("cpu", "250"),
                                 Pair("labels", "app=\"web\"\ntier=\"a\\\"b\""), Pair("mem", "3"),
                                 Pair("password", "hush")));
  EXPECT_EQ(files->at("conf/color").mode, 0400);
  EXPECT_EQ(files->at("password").mode, 0440);
}

// Each item of a manifest is a copy of its key's bytes.
TEST_F(FilesVolumeTest, FilesTogetherHaveABoundedSize) {
  ASSERT_TRUE(objects_
                  .Add("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: large}\ndata: {k: " +
                           std::string(size_t{1} << 20, 'x') + "}\n",
                       "o2")
                  .ok());
  VolumeProjection& source = pod_.volumes[1].files->sources[0];
  source.object = "large";
  for (int i = 0; i < 64; ++i) source.items.push_back({.key = "k", .path = std::to_string(i)});
  EXPECT_EQ(ContentsOf(pod_, pod_.volumes[1], context_)->size(), 64u);
  source.items.push_back({.key = "k", .path = "64"});
  EXPECT_EQ(ContentsOf(pod_, pod_.volumes[1], context_).status(),
            absl::InvalidArgumentError("volume conf: its files have more than 64 MiB together"));
  // A volume of labels alone.
  pod_.labels["l"] = std::string(size_t{1} << 20, 'x');
  VolumeProjection labels{.kind = VolumeProjection::Kind::kDownwardApi};
  for (int i = 0; i < 64; ++i) {
    labels.files.push_back({.path = std::to_string(i), .field_path = "metadata.labels"});
  }
  pod_.volumes[1].files->sources = {labels};
  EXPECT_TRUE(absl::IsInvalidArgument(ContentsOf(pod_, pod_.volumes[1], context_).status()));
}

TEST_F(FilesVolumeTest, AReaderSeesTheOldOrTheNewFiles) {
  const FsRoot& root = dir_.root();
  ASSERT_TRUE(WriteFiles(root, {{"a", {"1", 0644}}, {"d/b", {"2", 0600}}}, std::nullopt).ok());
  EXPECT_EQ(*root.Read("a"), "1");
  EXPECT_EQ(*root.Read("d/b"), "2");
  EXPECT_EQ(ModeOf("d/b"), 0600u);
  EXPECT_EQ(*root.ReadLink("a"), "..data/a");
  const std::string first = *root.ReadLink("..data");
  ASSERT_TRUE(WriteFiles(root, {{"a", {"1", 0644}}, {"d/b", {"2", 0600}}}, std::nullopt).ok());
  EXPECT_EQ(*root.ReadLink("..data"), first) << "the same contents are not written again";
  ASSERT_TRUE(WriteFiles(root, {{"a", {"3", 0644}}, {"c", {"", 0644}}}, std::nullopt).ok());
  EXPECT_NE(*root.ReadLink("..data"), first);
  EXPECT_EQ(*root.Read("a"), "3");
  EXPECT_EQ(*root.Read("c"), "");
  EXPECT_THAT(*root.List("."), UnorderedElementsAre(*root.ReadLink("..data"), "..data", "a", "c"));
}

TEST_F(FilesVolumeTest, PathsThatClashAreAnErrorAndLeaveTheOldFiles) {
  const FsRoot& root = dir_.root();
  ASSERT_TRUE(WriteFiles(root, {{"a", {"1", 0644}}}, std::nullopt).ok());
  EXPECT_FALSE(WriteFiles(root, {{"a", {"2", 0644}}, {"a/b", {"3", 0644}}}, std::nullopt).ok());
  EXPECT_EQ(*root.Read("a"), "1");
  EXPECT_THAT(*root.List("."), UnorderedElementsAre(*root.ReadLink("..data"), "..data", "a"));
}

TEST_F(FilesVolumeTest, ThePodsDirectoryHasItsVolumesInMemoryAndOfItsGroup) {
  if (geteuid() != 0) GTEST_SKIP() << "mounts need root";
  const FsRoot root = *FsRoot::Open("/");
  const auto made = MakePodDir(root, dir_.path(), "uid-1", pod_, context_);
  ASSERT_TRUE(made.ok()) << made.status();
  const std::string volumes = "pods/uid-1/volumes/";
  EXPECT_EQ(*dir_.root().Read(volumes + "all/password"), "hush");
  EXPECT_EQ(ModeOf(volumes + "all/password"), 0440u);
  EXPECT_EQ(dir_.root().Stat(volumes + "all/password")->st_gid, 2000u);
  EXPECT_EQ(dir_.root().Stat(volumes + "conf/color")->st_gid, 2000u);
  EXPECT_EQ(ModeOf(volumes + "data"), 02777u);
  EXPECT_EQ(dir_.root().Stat(volumes + "data")->st_gid, 2000u);
  EXPECT_EQ(ModeOf(volumes + "quick"), 02777u);
  std::map<std::string, std::string> types;
  const auto mounts = linux::ReadMounts(root);
  ASSERT_TRUE(mounts.ok()) << mounts.status();
  for (const linux::MountInfo& mount : *mounts) {
    if (!absl::StartsWith(mount.mount_point, dir_.path())) continue;
    types[mount.mount_point.substr(mount.mount_point.rfind('/') + 1)] = mount.fs_type;
  }
  EXPECT_THAT(types, ElementsAre(Pair("all", "tmpfs"), Pair("quick", "tmpfs")));
  // Present files are left alone.
  ASSERT_TRUE(dir_.root().ReplaceFile(volumes + "quick/kept", "x").ok());
  ASSERT_TRUE(MakePodDir(root, dir_.path(), "uid-1", pod_, context_).ok());
  EXPECT_TRUE(dir_.root().Exists(volumes + "quick/kept"));
  ASSERT_TRUE(RemovePodDir(root, dir_.path(), "uid-1").ok());
  EXPECT_FALSE(dir_.root().Exists("pods/uid-1"));
}

TEST_F(FilesVolumeTest, AMissingObjectLeavesNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "mounts need root";
  const FsRoot root = *FsRoot::Open("/");
  context_.objects = nullptr;
  const auto made = MakePodDir(root, dir_.path(), "uid-1", pod_, context_);
  EXPECT_THAT(std::string(made.status().message()),
              HasSubstr("volume all: there is no ConfigMap default/settings"));
  EXPECT_FALSE(dir_.root().Exists("pods/uid-1"));
}

TEST_F(FilesVolumeTest, AVolumeInMemoryHasTheLeastOfTheLimits) {
  const Volume& quick = pod_.volumes[2];
  EXPECT_EQ(MemoryVolumeBytes(pod_, quick, context_), 1u << 20);
  Volume open = quick;
  open.dir.size_limit.reset();
  EXPECT_EQ(MemoryVolumeBytes(pod_, open, context_), 3000000u);
  pod_.containers[0].resources = {};
  context_.memory_capacity_bytes = 7777;
  EXPECT_EQ(MemoryVolumeBytes(pod_, open, context_), 7777u);
}

}  // namespace
}  // namespace plimsoll::pod
