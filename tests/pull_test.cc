// `plimsoll image pull` from a real registry: progress for people and for files, what a refusal
// says, credentials, Ctrl-C.
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/subprocess.h"
#include "base/test_dir.h"
#include "base/unique_fd.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/watched_program.h"
#include "image/test_image.h"
#include "image/test_registry.h"
#include "image/test_tar.h"
#include "linux/mounts.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// Runs before the node, whose configuration names it.
class WithRegistry {
 protected:
  explicit WithRegistry(bool with_password) {
    if (FindProgram("docker-registry").ok()) registry_.emplace(directory_.root(), with_password);
  }
  std::string Configuration() const {
    return registry_.has_value()
               ? absl::StrCat("registries: {insecure: [\"", registry_->host(), "\"]}\n")
               : "";
  }

  TestDir directory_;
  std::optional<image::Registry> registry_;
};

class ImagePullTest : protected WithRegistry, public NodeTest {
 protected:
  explicit ImagePullTest(bool with_password = false)
      : WithRegistry(with_password), NodeTest(Configuration()) {}
  void SetUp() override {
    if (!registry_.has_value()) {
      GTEST_SKIP() << "no docker-registry here: apt-get install docker-registry";
    }
    NodeTest::SetUp();
  }
  // An image that is nothing but busybox, with its name in the registry.
  std::string Push(const std::vector<std::string>& options = {}) {
    const std::string busybox =
        Host().Read(absl::StrCat(node_.directory(), "/busybox/bin/busybox")).value_or("");
    EXPECT_THAT(busybox, Not(IsEmpty()));
    image::TestLayout layout;
    layout.List(layout.AddImage({image::TarBuilder()
                                     .File("bin/busybox", busybox, {.mode = 0755})
                                     .Symlink("bin/sh", "busybox")
                                     .Build()}),
                "v1");
    layout.WriteTo(directory_.root(), "layout");
    const std::string name = registry_->Name("team/pulled:v1");
    const absl::Status pushed = image::Push(directory_.root().PathOf("layout"), name, options);
    EXPECT_TRUE(pushed.ok()) << pushed;
    return name;
  }
  std::vector<std::string> Argv(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {ProgramPath("plimsoll"), "--address", node_.address()});
    return arguments;
  }
  RunResult Plimsoll(std::vector<std::string> arguments) {
    auto result =
        RunProgram({.argv = Argv(std::move(arguments))}, {.timeout = Patience(absl::Seconds(60))});
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : RunResult{.exit = {.code = -1}};
  }
  void ExpectNoWorkLeft() {
    EXPECT_THAT(*Host().List(node_.state_directory() + "/images/work"), IsEmpty());
    EXPECT_THAT(ProcessesWith(node_.state_directory() + "/images/work"), IsEmpty());
  }
};

TEST_F(ImagePullTest, ATerminalSeesABarAndTheImageRuns) {
  const std::string name = Push();
  WatchedProgram pull(Argv({"image", "pull", name}), OpenTerminal(160));
  EXPECT_EQ(pull.AwaitEnd(), 0) << pull.printed();
  const std::string& text = pull.printed();
  const std::string title = absl::StrCat("\r\x1b[Kpulling ", name, ": ");
  EXPECT_THAT(text, AllOf(HasSubstr(absl::StrCat(title, "resolving")),
                          HasSubstr(absl::StrCat(title, "unpacking layer 1 of 1"))));
  EXPECT_THAT(text, AllOf(HasSubstr("  [>   "), HasSubstr("]   0%  "))) << "a bar while copying";
  EXPECT_THAT(text.substr(text.rfind("\r\x1b[K") + 4), HasSubstr(name)) << "the bar has gone";
  ExpectNoWorkLeft();

  cri::ContainerConfig config = Shell("echo moored");
  config.mutable_image()->set_image(name);
  const std::string id = Start(RunPod(), config);
  EXPECT_EQ(AwaitExit(id).exit_code(), 0);
  EXPECT_EQ(Output(id), "moored\n");
}

TEST_F(ImagePullTest, AFileSeesALineForEachStepAndAProgramADocument) {
  const std::string name = Push();
  const RunResult pulled = Plimsoll({"image", "pull", name, "-o", "json"});
  ASSERT_EQ(pulled.exit.code, 0) << pulled.err;
  EXPECT_THAT(pulled.err, AllOf(HasSubstr(absl::StrCat("pulling ", name, ": resolving")),
                                HasSubstr("unpacking layer 1 of 1\n"), Not(HasSubstr("\x1b"))));
  const auto document = nlohmann::json::parse(pulled.out, nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(document.is_object()) << pulled.out;
  EXPECT_THAT(Plimsoll({"image", "list"}).out, HasSubstr(registry_->Name("team/pulled")));
}

TEST_F(ImagePullTest, WithoutTlsTheRefusalNamesTheList) {
  Push();
  // The same registry under a name that is not in the list.
  const std::string other = absl::StrCat("localhost:", registry_->port());
  const RunResult refused = Plimsoll({"image", "pull", absl::StrCat(other, "/team/pulled:v1")});
  EXPECT_EQ(refused.exit.code, 1);
  EXPECT_THAT(refused.err, HasSubstr(absl::StrCat("it speaks plain HTTP: if it may, list ", other,
                                                  " under registries.insecure")));
  ExpectNoWorkLeft();
}

TEST_F(ImagePullTest, WhatIsNotThereIsNamedWithWhatToDo) {
  const std::string name = registry_->Name("team/none:v1");
  const RunResult refused = Plimsoll({"image", "pull", name});
  EXPECT_EQ(refused.exit.code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr(name), HasSubstr("plimsoll image import")));
  ExpectNoWorkLeft();
}

TEST_F(ImagePullTest, CtrlCEndsItWithAllItStarted) {
  const std::string name = Push();
  registry_->Hang();
  WatchedProgram pull(Argv({"image", "pull", name}), OpenTerminal(160));
  EXPECT_TRUE(pull.Await([](const std::string& printed) {
    return absl::StrContains(printed, "resolving");
  })) << pull.printed();
  EXPECT_EQ(pull.Interrupt(), 130) << pull.printed();
  EXPECT_TRUE(Eventually([&] {
    return Host().List(node_.state_directory() + "/images/work")->empty() &&
           ProcessesWith(node_.state_directory() + "/images/work").empty();
  }));
  EXPECT_THAT(Plimsoll({"image", "list"}).out, Not(HasSubstr("team/pulled")));
}

// Through the CRI, as kubelet does.
class CriPullTest : public ImagePullTest {
 protected:
  grpc::Status Pull(const std::string& name, grpc::ClientContext* context) {
    cri::PullImageRequest request;
    request.mutable_image()->set_image(name);
    cri::PullImageResponse response;
    return node_.images().PullImage(context, request, &response);
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
  // One that goes takes nothing from the other.
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
  // Takes all that is free but for so many bytes.
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
  // Nothing can be begun; the manifest fits, but not the layer, which is busybox; and that can be
  // fetched, but not unpacked.
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

class PrivateImagePullTest : public ImagePullTest {
 protected:
  PrivateImagePullTest() : ImagePullTest(/*with_password=*/true) {}
};

TEST_F(PrivateImagePullTest, ADockerLoginOpensIt) {
  const std::string name =
      Push({"--dest-creds", absl::StrCat(image::kUser, ":", image::kPassword)});
  const RunResult refused = Plimsoll({"image", "pull", name});
  EXPECT_EQ(refused.exit.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("authentication required"));
  const nlohmann::json login = {
      {"auths",
       {{registry_->host(),
         {{"auth", absl::Base64Escape(absl::StrCat(image::kUser, ":", image::kPassword))}}}}}};
  ASSERT_TRUE(directory_.root().ReplaceFile("login.json", login.dump(), 0600).ok());
  const RunResult pulled =
      Plimsoll({"image", "pull", "--authfile", directory_.root().PathOf("login.json"), name});
  EXPECT_EQ(pulled.exit.code, 0) << pulled.err;
  EXPECT_THAT(node_.Log(), Not(HasSubstr(image::kPassword)));
  ExpectNoWorkLeft();
}

}  // namespace
}  // namespace plimsoll::testing
