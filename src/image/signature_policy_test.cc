#include "image/signature_policy.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/subprocess.h"
#include "base/test_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "image/image_service.h"
#include "image/test_catalog.h"
#include "image/test_image.h"
#include "image/test_registry.h"
#include "image/test_tar.h"

namespace plimsoll::image {
namespace {

using ::testing::ElementsAre;
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
        R"({"default": [{"type": "insecureAcceptAnything"}], "transports": {"docker":
            {"registry.test": [{"type": "signedBy", "keyType": "GPGKeys", "keyPath": "/k"}]}}})"}) {
    EXPECT_FALSE(AcceptsAnything(text)) << text;
  }
}

// In a mount namespace of this thread's, from which pulls have theirs.
absl::Status ShowPolicies(const std::string& directory) {
  if (unshare(CLONE_NEWNS) != 0) return ErrnoStatus(errno, "make a mount namespace");
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return ErrnoStatus(errno, "make mounts private");
  }
  if (mount(directory.c_str(), "/etc/containers", nullptr, MS_BIND, nullptr) != 0) {
    return ErrnoStatus(errno, "mount over /etc/containers");
  }
  return absl::OkStatus();
}

TEST(SignaturePolicyTest, AnImageThatIsHereGetsNoNameThatThePolicyRejects) {
  if (!FindProgram("docker-registry").ok()) {
    GTEST_SKIP() << "no docker-registry here: apt-get install docker-registry";
  }
  if (geteuid() != 0) GTEST_SKIP() << "mounts need root";
  struct stat info = {};
  if (stat("/etc/containers", &info) != 0) GTEST_SKIP() << "no /etc/containers to mount over";
  const TestDir dir;
  Registry registry(dir.root(), /*with_password=*/false);
  const std::string free = registry.Name("free/hello:1");
  const std::string free_too = registry.Name("free/hello:2");
  const std::string bound = registry.Name("bound/hello:1");
  TestLayout layout;
  layout.List(layout.AddImage({TarBuilder().File("bin/hello", "hi").Build()}), "v1");
  layout.WriteTo(dir.root(), "layout");
  for (const std::string& name : {free, free_too, bound}) {
    const absl::Status pushed = Push(dir.root().PathOf("layout"), name);
    ASSERT_TRUE(pushed.ok()) << pushed;
  }
  ASSERT_TRUE(dir.root().MakeDirs("store").ok());
  ASSERT_TRUE(dir.root().MakeDirs("containers").ok());
  const std::string policy =
      absl::StrCat(R"({"default": [{"type": "reject"}], "transports": {"docker": {")",
                   registry.Name("free"), R"(": [{"type": "insecureAcceptAnything"}]}}})");
  ASSERT_TRUE(dir.root().ReplaceFile("containers/policy.json", policy).ok());
  TestCatalog catalog;
  auto service = ImageService::Open(*dir.root().Sub("store"), &catalog);
  ASSERT_TRUE(service.ok()) << service.status();

  std::thread client([&] {
    const absl::Status shown = ShowPolicies(dir.root().PathOf("containers"));
    ASSERT_TRUE(shown.ok()) << shown;
    const PullOptions options{.insecure_registry = true};
    const auto first = (*service)->Pull(free, options, nullptr);
    ASSERT_TRUE(first.ok()) << first.status();
    const absl::Status refused = (*service)->Pull(bound, options, nullptr).status();
    EXPECT_TRUE(IsSignatureRefusal(refused)) << refused;
    EXPECT_TRUE(absl::IsNotFound((*service)->Find(bound).status()));
    // What the policy takes gets its name, without its layers being there twice.
    const auto second = (*service)->Pull(free_too, options, nullptr);
    ASSERT_TRUE(second.ok()) << second.status();
    EXPECT_THAT(second->record.repo_tags, ElementsAre(free, free_too));
  });
  client.join();
  EXPECT_THAT((*service)->List(), SizeIs(1));
}

}  // namespace
}  // namespace plimsoll::image
