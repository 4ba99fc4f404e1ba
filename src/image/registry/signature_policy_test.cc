#include "image/registry/signature_policy.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/fs_root.h"
#include "base/programs/subprocess.h"
#include "base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "image/catalog_for_test.h"
#include "image/image_for_test.h"
#include "image/image_service.h"
#include "image/lying_registry_for_test.h"
#include "image/tar_for_test.h"

namespace plimsoll::image {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(SignaturePolicyTest, OnlyWhatIsUnrestrictedAcceptsAnything) {
  EXPECT_TRUE(AcceptsAnything(R"({"default": [{"type": "insecureAcceptAnything"}]})"));
  EXPECT_TRUE(AcceptsAnything(R"({"default": [{"type": "insecureAcceptAnything"}],
      "transports": {"docker-daemon": {"": [{"type": "insecureAcceptAnything"}]}}})"));
  EXPECT_TRUE(
      AcceptsAnything(R"({"default": [{"type": "insecureAcceptAnything"}], "transports": {}})"));
  for (const char* text :
       {"", "{", "[]", "{}", R"({"default": []})", R"({"default": {}})",
        R"({"default": [{"type": "reject"}]})", R"({"default": ["insecureAcceptAnything"]})",
        R"({"default": [{"type": "insecureAcceptAnything"}, {"type": "reject"}]})",
        R"({"default": [{"type": "insecureAcceptAnything", "keyPath": "/key"}]})",
        R"({"default": [{"type": "insecureAcceptAnything"}], "transports": []})",
        R"({"default": [{"type": "insecureAcceptAnything"}], "transport": {}})",
        R"({"default": [{"type": "reject"}], "default": [{"type": "insecureAcceptAnything"}]})",
        R"({"default": [{"type": "reject", "type": "insecureAcceptAnything"}]})",
        R"({"default": [{"type": "insecureAcceptAnything"}], "transports": {"docker": {}},
            "transports": {}})",
        R"({"default": [{"type": "insecureAcceptAnything"}],
            "transports": {"docker-daemon": {"": [{"type": "whatever"}]}}})",
        "\xef\xbb\xbf{\"default\": [{\"type\": \"insecureAcceptAnything\"}]}",
        R"({"default": [{"type": "insecureAcceptAnything"}], "transports": {"docker":
            {"registry.test": [{"type": "signedBy", "keyType": "GPGKeys", "keyPath": "/k"}]}}})"}) {
    EXPECT_FALSE(AcceptsAnything(text)) << text;
  }
}

// Gives this thread a mount namespace of its own; pulls inherit it.
absl::Status LeaveMounts() {
  if (unshare(CLONE_NEWNS) != 0) return ErrnoStatus(errno, "make a mount namespace");
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return ErrnoStatus(errno, "make mounts private");
  }
  return absl::OkStatus();
}

absl::Status ShowPolicies(const std::string& directory) {
  if (mount(directory.c_str(), "/etc/containers", nullptr, MS_BIND, nullptr) != 0) {
    return ErrnoStatus(errno, "mount over /etc/containers");
  }
  return absl::OkStatus();
}

class MachinePolicyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!FindProgram("skopeo").ok()) GTEST_SKIP() << "no skopeo here: apt-get install skopeo";
    if (geteuid() != 0) GTEST_SKIP() << "mounts need root";
    struct stat info = {};
    if (stat("/etc/containers", &info) != 0) GTEST_SKIP() << "no /etc/containers to mount over";
    ASSERT_TRUE(dir_.root().MakeDirs("store").ok());
    ASSERT_TRUE(dir_.root().MakeDirs("containers").ok());
    TestLayout layout;
    const TestJson image = layout.AddImage({TarBuilder().File("bin/hello", "hi").Build()});
    const TestJson manifest =
        TestJson::parse(layout.files.at(TestLayout::PathOf(image["digest"].get<std::string>())));
    layer_ = manifest["layers"][0]["digest"].get<std::string>();
    registry_.emplace(layout, image, [](const std::string&, LyingRegistry::Answer*) {});
  }
  // Runs `act` in a thread that sees containers/ as /etc/containers. The service is opened before
  // the mount: its root must show what is mounted later.
  void Act(const std::function<void()>& act) {
    std::thread client([&] {
      const absl::Status left = LeaveMounts();
      ASSERT_TRUE(left.ok()) << left;
      host_ = *FsRoot::Open("/");
      auto service = ImageService::Open(*dir_.root().Sub("store"), &catalog_, {.host = *host_});
      ASSERT_TRUE(service.ok()) << service.status();
      service_ = *std::move(service);
      const absl::Status shown = ShowPolicies(dir_.root().PathOf("containers"));
      ASSERT_TRUE(shown.ok()) << shown;
      act();
    });
    client.join();
  }
  absl::StatusOr<Image> Pull(const std::string& name) {
    return service_->Pull(name, PullOptions{.insecure_registry = true}, nullptr);
  }

  TestDir dir_;
  TestCatalog catalog_;
  std::optional<FsRoot> host_;  // "/" of the mount namespace of Act
  std::unique_ptr<ImageService> service_;
  std::string layer_;                      // its digest
  std::optional<LyingRegistry> registry_;  // an honest one
};

TEST_F(MachinePolicyTest, AnImageThatIsHereGetsNoNameThatThePolicyRejects) {
  const std::string free = registry_->Name("free/hello:1");
  const std::string free_too = registry_->Name("free/hello:2");
  const std::string bound = registry_->Name("bound/hello:1");
  const std::string policy =
      absl::StrCat(R"({"default": [{"type": "reject"}], "transports": {"docker": {")",
                   registry_->Name("free"), R"(": [{"type": "insecureAcceptAnything"}]}}})");
  ASSERT_TRUE(dir_.root().ReplaceFile("containers/policy.json", policy).ok());
  Act([&] {
    const auto first = Pull(free);
    ASSERT_TRUE(first.ok()) << first.status();
    const int asked = registry_->Asked(layer_);
    EXPECT_GT(asked, 0);
    const absl::Status refused = Pull(bound).status();
    EXPECT_TRUE(IsSignatureRefusal(refused)) << refused;
    EXPECT_TRUE(absl::IsNotFound(service_->Find(bound).status()));
    // An accepted image gets its name, and no layer is fetched twice.
    const auto second = Pull(free_too);
    ASSERT_TRUE(second.ok()) << second.status();
    EXPECT_THAT(second->record.repo_tags, ElementsAre(free, free_too));
    EXPECT_EQ(registry_->Asked(layer_), asked);
  });
  EXPECT_THAT(service_->List(), SizeIs(1));
}

// A file for which the daemon has no descriptor left.
TEST_F(MachinePolicyTest, NothingIsPulledPastAPolicyThatCantBeRead) {
  const std::string name = registry_->Name("hello:1");
  const std::string file = dir_.root().PathOf("containers/policy.json");
  ASSERT_EQ(symlink("policy.json", file.c_str()), 0);
  Act([&] {
    const absl::Status refused = Pull(name).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("etc/containers/policy.json"));
    EXPECT_EQ(registry_->Asked(layer_), 0);
    EXPECT_TRUE(absl::IsFailedPrecondition(ReadMachinePolicy(*host_).status()));

    ASSERT_EQ(unlink(file.c_str()), 0);
    const auto policy = ReadMachinePolicy(*host_);
    ASSERT_TRUE(policy.ok()) << policy.status();
    EXPECT_EQ(*policy, MachinePolicy::kNone);
    const auto pulled = Pull(name);
    EXPECT_TRUE(pulled.ok()) << pulled.status();
  });
}

}  // namespace
}  // namespace plimsoll::image
