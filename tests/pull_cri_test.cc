// Pulls through the CRI, as kubelet's: deadlines, several clients and registries, tokens, a full
// disk.
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "base/unique_fd.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/pull_node.h"
#include "image/image_for_test.h"
#include "image/lying_registry_for_test.h"
#include "image/registry_for_test.h"
#include "image/tar_for_test.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;
using ::testing::UnorderedElementsAreArray;

// Through the CRI, as kubelet does.
class CriPullTest : public ImagePullTest {
 protected:
  explicit CriPullTest(const std::string& other_registry = "",
                       const std::string& configuration = "")
      : ImagePullTest(/*with_password=*/false, other_registry, configuration) {}
  grpc::Status Pull(const std::string& name, grpc::ClientContext* context) {
    cri::PullImageRequest request;
    request.mutable_image()->set_image(name);
    cri::PullImageResponse response;
    return node_.images().PullImage(context, request, &response);
  }
  grpc::Status Pull(const std::string& name) {
    grpc::ClientContext context;
    return Pull(name, &context);
  }
  // The image with this reference; without an id if there is none.
  cri::Image ImageOf(const std::string& reference, const std::string& handler = "") {
    cri::ImageStatusRequest request;
    request.mutable_image()->set_image(reference);
    request.mutable_image()->set_runtime_handler(handler);
    cri::ImageStatusResponse response;
    grpc::ClientContext context;
    const grpc::Status status = node_.images().ImageStatus(&context, request, &response);
    EXPECT_TRUE(status.ok()) << reference << ": " << status.error_message();
    return response.image();
  }
  void Remove(const std::string& reference) {
    cri::RemoveImageRequest request;
    request.mutable_image()->set_image(reference);
    cri::RemoveImageResponse response;
    grpc::ClientContext context;
    const grpc::Status status = node_.images().RemoveImage(&context, request, &response);
    EXPECT_TRUE(status.ok()) << reference << ": " << status.error_message();
  }
  bool IsUnderWay() { return !ProcessesWith(node_.state_directory() + "/images/work").empty(); }
  bool HasStopped() {
    return Host().List(node_.state_directory() + "/images/work")->empty() && !IsUnderWay();
  }
};

TEST_F(CriPullTest, AClientsDeadlineStopsIt) {
  const std::string name = Push();
  registry_->Hang();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
  EXPECT_EQ(Pull(name, &context).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(Eventually([&] { return HasStopped(); }));
}

TEST_F(CriPullTest, TwoClientsShareIt) {
  const std::string name = Push();
  registry_->Hang();
  grpc::ClientContext first, second;
  grpc::Status first_status, second_status;
  std::thread one([&] { first_status = Pull(name, &first); });
  EXPECT_TRUE(Eventually([&] { return IsUnderWay(); }));
  std::thread two([&] { second_status = Pull(name, &second); });
  // A client that leaves takes nothing from the other.
  first.TryCancel();
  one.join();
  registry_->GoOn();
  two.join();
  EXPECT_EQ(first_status.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(second_status.ok()) << second_status.error_message();
  EXPECT_TRUE(Eventually([&] { return HasStopped(); }));
}

TEST_F(CriPullTest, WhatAKillLeavesIsRemoved) {
  const std::string name = Push();
  registry_->Hang();
  grpc::ClientContext context;
  std::thread pull([&] { EXPECT_FALSE(Pull(name, &context).ok()); });
  EXPECT_TRUE(Eventually([&] { return IsUnderWay(); }));
  node_.KillDaemon();
  pull.join();
  const absl::Status started = node_.StartDaemon();
  ASSERT_TRUE(started.ok()) << started;
  ExpectNoWorkLeft();
  registry_->GoOn();
  grpc::ClientContext again;
  const grpc::Status pulled = Pull(name, &again);
  EXPECT_TRUE(pulled.ok()) << pulled.error_message();
}

TEST_F(CriPullTest, ARegistryThatIsOffHasKubeletsNameForIt) {
  grpc::ClientContext context;
  const std::string name = absl::StrCat("127.0.0.1:", image::FreePort(), "/team/pulled:v1");
  const grpc::Status refused = Pull(name, &context);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_THAT(refused.error_message(),
              AllOf(StartsWith(absl::StrCat("RegistryUnavailable: pull ", name, ": ")),
                    HasSubstr("connection refused")));
}

// The test's own registry beside Debian's: it asks for a token if one is given, and controls how
// layers are sent.
class WithOwnRegistry {
 protected:
  explicit WithOwnRegistry(const std::string& identity_token) {
    std::mt19937 random(7);  // incompressible
    std::string content(64 << 10, '\0');
    for (char& c : content) c = static_cast<char>(random());
    image::TestLayout layout;
    const image::TestJson top =
        layout.AddImage({image::TarBuilder().File("content", content).Build()});
    const auto manifest = image::TestJson::parse(
        layout.files.at(image::TestLayout::PathOf(top["digest"].get<std::string>())));
    const std::string layer = manifest["layers"][0]["digest"].get<std::string>();
    own_.emplace(
        layout, top,
        [this, layer](const std::string& wanted, image::LyingRegistry::Answer* answer) {
          if (wanted != layer) return;
          answer->piece = piece_;
          answer->pause = absl::Milliseconds(50);
        },
        identity_token);
  }

  std::atomic<size_t> piece_ = 0;  // bytes of a layer at a time; 0: all at once
  std::optional<image::LyingRegistry> own_;
};

class OwnRegistryPullTest : protected WithOwnRegistry, public CriPullTest {
 protected:
  explicit OwnRegistryPullTest(const std::string& identity_token = "")
      : WithOwnRegistry(identity_token), CriPullTest(own_->host()) {}
};

TEST_F(OwnRegistryPullTest, OneThatIsSlowButMovesIsWaitedFor) {
  piece_ = 1024;  // takes at least three seconds
  const std::string name = own_->Name("slow:v1");
  const grpc::Status pulled = Pull(name);
  EXPECT_TRUE(pulled.ok()) << pulled.error_message();
  EXPECT_THAT(ImageOf(name).repo_tags(), ElementsAre(name));
  ExpectNoWorkLeft();
}

TEST_F(OwnRegistryPullTest, OneThatDripsIsEndedByTheClientsDeadline) {
  piece_ = 1;  // takes nearly an hour
  const std::string name = own_->Name("slow:v1");
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
  EXPECT_EQ(Pull(name, &context).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(Eventually([&] { return HasStopped(); }));
  EXPECT_EQ(ImageOf(name).id(), "");
  piece_ = 0;
  const grpc::Status pulled = Pull(name);
  EXPECT_TRUE(pulled.ok()) << pulled.error_message();
}

class IdentityTokenPullTest : public OwnRegistryPullTest {
 protected:
  IdentityTokenPullTest() : OwnRegistryPullTest("refresh-me") {}
  grpc::Status PullWith(const std::string& identity_token) {
    cri::PullImageRequest request;
    request.mutable_image()->set_image(own_->Name("closed:v1"));
    request.mutable_auth()->set_identity_token(identity_token);
    request.mutable_auth()->set_server_address(own_->host());
    cri::PullImageResponse response;
    grpc::ClientContext context;
    return node_.images().PullImage(&context, request, &response);
  }
};

TEST_F(IdentityTokenPullTest, ItIsExchangedForOneOfTheRegistrys) {
  EXPECT_FALSE(Pull(own_->Name("closed:v1")).ok());
  const grpc::Status refused = PullWith("wr0ng");
  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(refused.error_message(), Not(HasSubstr("wr0ng")));
  EXPECT_EQ(ImageOf(own_->Name("closed:v1")).id(), "");
  const grpc::Status pulled = PullWith("refresh-me");
  EXPECT_TRUE(pulled.ok()) << pulled.error_message();
  EXPECT_NE(ImageOf(own_->Name("closed:v1")).id(), "");
  EXPECT_THAT(node_.Log(), AllOf(Not(HasSubstr("wr0ng")), Not(HasSubstr("refresh-me"))));
  ExpectNoWorkLeft();
}

class WithSecondRegistry {
 protected:
  WithSecondRegistry() {
    if (FindProgram("docker-registry").ok()) second_.emplace(second_directory_.root(), false);
  }
  std::string SecondHost() const { return second_.has_value() ? second_->host() : ""; }

  TestDir second_directory_;
  std::optional<image::Registry> second_;
};

class TwoRegistriesPullTest : protected WithSecondRegistry, public CriPullTest {
 protected:
  TwoRegistriesPullTest() : CriPullTest(SecondHost()) {}
};

TEST_F(TwoRegistriesPullTest, OneImageOfBothIsOneAndGoesNameByName) {
  const std::vector<std::string> names = {Push(), registry_->Name("team/pulled:v2"),
                                          second_->Name("other/pulled:v1"),
                                          second_->Name("other/pulled:v9")};
  for (size_t i = 1; i < names.size(); ++i) {
    const absl::Status pushed = image::Push(directory_.root().PathOf("layout"), names[i]);
    ASSERT_TRUE(pushed.ok()) << pushed;
  }
  for (const std::string& name : names) {
    const grpc::Status pulled = Pull(name);
    ASSERT_TRUE(pulled.ok()) << name << ": " << pulled.error_message();
  }
  const cri::Image image = ImageOf(names[0]);
  const std::string& id = image.id();
  ASSERT_NE(id, "");
  EXPECT_THAT(image.repo_tags(), UnorderedElementsAreArray(names));
  ASSERT_EQ(image.repo_digests_size(), 2);
  std::vector<std::string> digests(image.repo_digests().begin(), image.repo_digests().end());
  if (!absl::StartsWith(digests[0], registry_->host())) std::swap(digests[0], digests[1]);
  EXPECT_THAT(digests[0], StartsWith(registry_->Name("team/pulled@sha256:")));
  EXPECT_THAT(digests[1], StartsWith(second_->Name("other/pulled@sha256:")));
  EXPECT_EQ(digests[0].substr(digests[0].find('@')), digests[1].substr(digests[1].find('@')));
  std::vector<std::string> references = names;
  references.insert(references.end(), digests.begin(), digests.end());
  references.push_back(id);
  for (const std::string& reference : references) EXPECT_EQ(ImageOf(reference).id(), id);

  Remove(names[0]);
  EXPECT_EQ(ImageOf(names[0]).id(), "");
  EXPECT_THAT(ImageOf(id).repo_digests(), UnorderedElementsAreArray(digests));
  Remove(names[1]);
  EXPECT_EQ(ImageOf(digests[0]).id(), "") << "it goes with the registry's last tag";
  EXPECT_THAT(ImageOf(id).repo_digests(), ElementsAre(digests[1]));
  EXPECT_THAT(ImageOf(id).repo_tags(), UnorderedElementsAre(names[2], names[3]));
  Remove(names[3]);
  EXPECT_EQ(ImageOf(names[2]).id(), id);
  Remove(digests[1]);
  EXPECT_EQ(ImageOf(digests[1]).id(), "");
  EXPECT_EQ(ImageOf(names[2]).id(), id) << "a tag holds it yet";
  Remove(id);
  for (const std::string& reference : references) EXPECT_EQ(ImageOf(reference).id(), "");
}

class HandlerPullTest : public CriPullTest {
 protected:
  HandlerPullTest() : CriPullTest("", "runtime_handlers: {ours: {}}\n") {}
  grpc::Status PullFor(const std::string& name, const std::string& handler) {
    cri::PullImageRequest request;
    request.mutable_image()->set_image(name);
    request.mutable_image()->set_runtime_handler(handler);
    cri::PullImageResponse response;
    grpc::ClientContext context;
    return node_.images().PullImage(&context, request, &response);
  }
};

// An image is the same for all handlers, and reported without one.
TEST_F(HandlerPullTest, AnImageIsPulledForAHandlerThatIsThere) {
  const std::string name = Push();
  const grpc::Status refused = PullFor(name, "other");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("image.runtime_handler is \"other\""));
  EXPECT_EQ(ImageOf(name).id(), "");
  const grpc::Status pulled = PullFor(name, "ours");
  ASSERT_TRUE(pulled.ok()) << pulled.error_message();
  for (const char* handler : {"", "ours"}) {
    const cri::Image image = ImageOf(name, handler);
    EXPECT_THAT(image.repo_tags(), ElementsAre(name));
    EXPECT_EQ(image.spec().runtime_handler(), "");
  }
  cri::RunPodSandboxRequest request;
  *request.mutable_config() = PodConfig();
  request.set_runtime_handler("ours");
  cri::RunPodSandboxResponse response;
  grpc::ClientContext context;
  const grpc::Status ran = node_.runtime().RunPodSandbox(&context, request, &response);
  ASSERT_TRUE(ran.ok()) << ran.error_message();
  cri::ContainerConfig config = Shell("echo moored");
  config.mutable_image()->set_image(name);
  config.mutable_image()->set_runtime_handler("ours");
  const std::string id = Start(response.pod_sandbox_id(), config);
  EXPECT_EQ(AwaitExit(id).exit_code(), 0);
  EXPECT_EQ(Output(id), "moored\n");
  EXPECT_EQ(Status(id).image().runtime_handler(), "");
}

// The state directory on a small disk.
class FullDiskPullTest : public CriPullTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "mounts need root";
    ASSERT_TRUE(Host().MakeDirs(node_.state_directory(), 0700).ok());
    ASSERT_EQ(mount("tmpfs", node_.state_directory().c_str(), "tmpfs", 0, "size=32m,mode=0700"), 0);
    mounted_ = true;
    CriPullTest::SetUp();
  }
  void TearDown() override {
    unlink(Filler().c_str());
    NodeTest::TearDown();
    if (!mounted_) return;
    EXPECT_TRUE(linux::Unmount(node_.state_directory()).ok());
  }
  std::string Filler() const { return node_.state_directory() + "/filler"; }
  // Takes all free space but `but` bytes.
  void Fill(off_t but) {
    const UniqueFd file(open(Filler().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    const std::string block(4096, 'x');
    off_t size = 0;
    while (write(file.get(), block.data(), block.size()) == static_cast<ssize_t>(block.size())) {
      size += static_cast<off_t>(block.size());
    }
    ASSERT_EQ(errno, ENOSPC);
    ASSERT_EQ(ftruncate(file.get(), size - but), 0);
  }

 private:
  bool mounted_ = false;
};

TEST_F(FullDiskPullTest, APullIsAllOrNothing) {
  const std::string name = Push();
  // First nothing can begin; then the manifest fits, but not the layer, which is busybox; then the
  // layer can be fetched, but not unpacked.
  for (const off_t but : {off_t{0}, off_t{512} << 10, off_t{1280} << 10}) {
    Fill(but);
    grpc::ClientContext context;
    const grpc::Status full = Pull(name, &context);
    EXPECT_EQ(full.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << full.error_message();
    EXPECT_THAT(absl::AsciiStrToLower(full.error_message()), HasSubstr("no space left")) << but;
    ExpectNoWorkLeft();
    EXPECT_THAT(Plimsoll({"image", "list"}).out, Not(HasSubstr("team/pulled")));
  }
  unlink(Filler().c_str());
  grpc::ClientContext context;
  const grpc::Status pulled = Pull(name, &context);
  EXPECT_TRUE(pulled.ok()) << pulled.error_message();
}

}  // namespace
}  // namespace plimsoll::testing
