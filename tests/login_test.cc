// The user's logins at registries: `plimsoll pull` and `run`, and the agent for `apply`.
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "harness/kernel.h"
#include "harness/node_agent.h"
#include "image/image_for_test.h"
#include "image/registry_for_test.h"
#include "image/tar_for_test.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Constructed before the node, whose configuration names it. Asks for a password.
class WithClosedRegistry {
 protected:
  WithClosedRegistry() {
    if (FindProgram("docker-registry").ok()) registry_.emplace(directory_.root(), true);
  }
  std::string Configuration() const {
    if (!registry_.has_value()) return "";
    return absl::StrCat("registries: {insecure: [\"", registry_->host(), "\"]}\n");
  }

  TestDir directory_;
  std::optional<image::Registry> registry_;
};

class LoginTest : protected WithClosedRegistry, public NodeAgentTest {
 protected:
  LoginTest() : NodeAgentTest("cgroupsPerQOS: false\n", Configuration()) {}
  void SetUp() override {
    if (!registry_.has_value()) {
      GTEST_SKIP() << "no docker-registry here: apt-get install docker-registry";
    }
    NodeAgentTest::SetUp();
    const std::string busybox =
        Host().Read(absl::StrCat(node_.directory(), "/busybox/bin/busybox")).value_or("");
    image::TestLayout layout;
    layout.List(layout.AddBusybox(busybox), "v1");
    layout.WriteTo(directory_.root(), "layout");
    const absl::Status pushed =
        image::Push(directory_.root().PathOf("layout"), name_,
                    {"--dest-creds", absl::StrCat(image::kUser, ":", image::kPassword)});
    ASSERT_TRUE(pushed.ok()) << pushed;
  }
  RunResult Plimsoll(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {ProgramPath("plimsoll"), "--address", node_.address()});
    Command command{.argv = std::move(arguments)};
    command.environment = {absl::StrCat("HOME=", directory_.root().path()),
                           absl::StrCat("XDG_RUNTIME_DIR=", directory_.root().PathOf("runtime")),
                           absl::StrCat("PATH=", directory_.root().path(), ":/usr/bin:/bin")};
    auto result = RunProgram(std::move(command), {.timeout = Patience(absl::Seconds(60))});
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : RunResult{.exit = {.code = -1}};
  }
  std::string Write(const std::string& file, const nlohmann::json& content) {
    EXPECT_TRUE(directory_.root().MakeDirs(file.substr(0, file.rfind('/'))).ok());
    EXPECT_TRUE(directory_.root().ReplaceFile(file, content.dump(), 0600).ok());
    return directory_.root().PathOf(file);
  }
  nlohmann::json Login() const {
    const std::string plain = absl::StrCat(image::kUser, ":", image::kPassword);
    return {{"auths", {{registry_->host(), {{"auth", absl::Base64Escape(plain)}}}}}};
  }
  std::string Manifest(const std::string& pod) const {
    return absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: ", pod,
                        "}, spec: {hostNetwork: true, restartPolicy: Never, containers: [{name: "
                        "main, image: \"",
                        name_, "\", imagePullPolicy: Always, command: [\"/bin/sh\", \"-c\", ",
                        "\"echo moored\"]}]}}");
  }

  const std::string name_ = registry_.has_value() ? registry_->Name("team/closed:v1") : "";
};

TEST_F(LoginTest, TheRefusalNamesTheFlagAndTheFiles) {
  const std::string other =
      Write(".docker/config.json", {{"auths", {{"quay.io", {{"auth", "YTpi"}}}}}});
  const RunResult refused = Plimsoll({"pull", name_});
  EXPECT_EQ(refused.exit.code, 1);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("authentication required"), HasSubstr("  No login for "),
                    HasSubstr("--authfile FILE"), HasSubstr(absl::StrCat("none in ", other)),
                    HasSubstr(directory_.root().PathOf("runtime/containers/auth.json")),
                    HasSubstr(absl::StrCat("skopeo login ", registry_->host()))));
}

TEST_F(LoginTest, TheFilesOfPodmanAndDockerServePulls) {
  for (const char* file :
       {"runtime/containers/auth.json", ".config/containers/auth.json", ".docker/config.json"}) {
    const std::string path = Write(file, Login());
    const RunResult pulled = Plimsoll({"pull", name_});
    EXPECT_EQ(pulled.exit.code, 0) << file << ": " << pulled.err;
    EXPECT_EQ(Plimsoll({"rmi", name_}).exit.code, 0);
    ASSERT_EQ(unlink(path.c_str()), 0);
  }
  EXPECT_THAT(node_.Log(), Not(HasSubstr(image::kPassword)));
}

TEST_F(LoginTest, ACredentialHelperServesPulls) {
  const std::string helper = directory_.root().PathOf("docker-credential-ours");
  ASSERT_TRUE(
      directory_.root()
          .ReplaceFile("docker-credential-ours",
                       absl::StrCat("#!/bin/sh\nread server\n[ \"$server\" = ", registry_->host(),
                                    " ] || exit 1\n", "printf '{\"Username\":\"", image::kUser,
                                    "\",\"Secret\":\"", image::kPassword, "\"}'\n"))
          .ok());
  ASSERT_EQ(chmod(helper.c_str(), 0755), 0);
  Write(".docker/config.json", {{"credHelpers", {{registry_->host(), "ours"}}}});
  const RunResult pulled = Plimsoll({"pull", name_});
  EXPECT_EQ(pulled.exit.code, 0) << pulled.err;
  EXPECT_THAT(pulled.err, Not(HasSubstr(image::kPassword)));
}

TEST_F(LoginTest, RunPullsWithTheUsersLogin) {
  ASSERT_TRUE(directory_.root().ReplaceFile("pod.yaml", Manifest("closed")).ok());
  const std::string manifest = directory_.root().PathOf("pod.yaml");
  const RunResult refused = Plimsoll({"run", "--no-agent", manifest});
  EXPECT_EQ(refused.exit.code, 125) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("--authfile FILE"));
  const std::string file = Write("elsewhere/auth.json", Login());
  const RunResult named = Plimsoll({"run", "--authfile", file, manifest});
  EXPECT_EQ(named.exit.code, 0) << named.err;
  EXPECT_THAT(named.out, HasSubstr("moored"));
  Write("runtime/containers/auth.json", Login());
  const RunResult found = Plimsoll({"run", manifest});
  EXPECT_EQ(found.exit.code, 0) << found.err;
  EXPECT_THAT(found.out, HasSubstr("moored"));
}

TEST_F(LoginTest, ApplyPullsWithTheLoginOfTheAgentsUser) {
  agent_.AddToEnvironment(absl::StrCat("HOME=", directory_.root().path()));
  ASSERT_NO_FATAL_FAILURE(Begin());
  ASSERT_NO_FATAL_FAILURE(Apply(Manifest("early")));
  const std::string file = directory_.root().PathOf(".docker/config.json");
  std::string events;
  EXPECT_TRUE(Eventually([&] {
    events = nlohmann::json(
                 agent_.client().Events("default", "early").value_or(std::vector<nlohmann::json>()))
                 .dump();
    return absl::StrContains(events, file);
  })) << "the files are named: "
      << events;
  Write(".docker/config.json", Login());
  ASSERT_NO_FATAL_FAILURE(Apply(Manifest("late")));
  EXPECT_TRUE(agent_.AwaitPhase("late", "Succeeded")) << agent_.Log();
  EXPECT_THAT(agent_.Log(), Not(HasSubstr(image::kPassword)));
}

}  // namespace
}  // namespace plimsoll::testing
