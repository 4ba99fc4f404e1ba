#include "pod_runner/pulls/logins.h"

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/monotonic_time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::pod {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Sets a variable of the environment while it lives; null: takes it away.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name); before != nullptr) before_ = before;
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  }
  ~ScopedVariable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* const name_;
  std::optional<std::string> before_;
};

class LoginsTest : public ::testing::Test {
 protected:
  // All programs ignore it: a helper need not read its input.
  void SetUp() override { before_ = std::signal(SIGPIPE, SIG_IGN); }
  void TearDown() override { std::signal(SIGPIPE, before_); }
  std::string Write(const std::string& name, const std::string& text) {
    EXPECT_TRUE(dir_.root().ReplaceFile(name, text, 0600).ok());
    return dir_.root().PathOf(name);
  }
  // A program docker-credential-NAME, of these lines of sh.
  void Helper(const std::string& name, const std::string& lines) {
    const std::string path =
        Write("docker-credential-" + name, absl::StrCat("#!/bin/sh\n", lines, "\n"));
    ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  }
  static std::string Entry(const std::string& user) {
    return absl::StrCat(R"({"auth":")", absl::Base64Escape(user + ":pass"), R"("})");
  }

  void (*before_)(int) = SIG_DFL;
  TestDir dir_;
  const ScopedVariable path_{"PATH",
                             absl::StrCat(dir_.root().path(), ":", std::getenv("PATH")).c_str()};
};

TEST_F(LoginsTest, AHelperIsAskedForItsServer) {
  Helper("ours",
         absl::StrCat("[ $# = 1 ] && [ $1 = get ] || exit 9\ncat > ", dir_.root().PathOf("server"),
                      "\nprintf '{\"ServerURL\":\"x\",\"Username\":\"bob\",",
                      "\"Secret\":\"hush:hush\"}'"));
  const std::string file =
      Write("config.json", R"({"credHelpers":{"quay.io":"other","quay.io/team":"ours"}})");
  const auto login = ReadLogin(file, "quay.io/team/tool:1");
  ASSERT_TRUE(login.ok()) << login.status();
  EXPECT_EQ(login->credentials.user, "bob");
  EXPECT_EQ(login->credentials.password, "hush:hush");
  EXPECT_EQ(login->credentials.identity_token, "");
  EXPECT_EQ(login->source, file + " (docker-credential-ours)");
  EXPECT_EQ(*dir_.root().Read("server"), "quay.io/team");
  EXPECT_TRUE(absl::IsNotFound(ReadLogin(file, "other.io/team/tool").status()));
}

TEST_F(LoginsTest, TheUserOfATokenIsNone) {
  Helper("ours", R"(printf '{"Username":"<token>","Secret":"refresh"}')");
  const auto login =
      ReadLogin(Write("config.json", R"({"credHelpers":{"quay.io":"ours"}})"), "quay.io/a");
  ASSERT_TRUE(login.ok()) << login.status();
  EXPECT_EQ(login->credentials.user, "");
  EXPECT_EQ(login->credentials.identity_token, "refresh");
}

// Docker's command line stores the login of its own registry under an address.
TEST_F(LoginsTest, DockersOwnRegistryIsAskedForByBothNames) {
  Helper("ours", R"(read server
if [ "$server" = https://index.docker.io/v1/ ]; then
  printf '{"Username":"hub","Secret":"s"}'
else
  echo 'credentials not found in native keychain'; exit 1
fi)");
  const std::string file = Write("config.json", R"({"auths":{},"credsStore":"ours"})");
  const auto login = ReadLogin(file, "busybox");
  ASSERT_TRUE(login.ok()) << login.status();
  EXPECT_EQ(login->credentials.user, "hub");
  const auto other = ReadLogin(file, "quay.io/a");
  EXPECT_TRUE(absl::IsNotFound(other.status())) << other.status();
  EXPECT_EQ(other.status().message(), file + ": no login for quay.io/a or its registry quay.io");
}

TEST_F(LoginsTest, AFileServesWhereItsHelperHasNothing) {
  Helper("ours", "echo 'credentials not found in native keychain'; exit 1");
  const std::string file =
      Write("config.json",
            absl::StrCat(R"({"credsStore":"ours","auths":{"quay.io":)", Entry("bob"), "}}"));
  const auto login = ReadLogin(file, "quay.io/a");
  ASSERT_TRUE(login.ok()) << login.status();
  EXPECT_EQ(login->credentials.user, "bob");
  EXPECT_EQ(login->source, file);
}

TEST_F(LoginsTest, AHelperThatFailsIsNamedAndItsSecretIsNot) {
  const std::string file = Write("config.json", R"({"credHelpers":{"quay.io":"ours"}})");
  const auto error = [&] { return std::string(ReadLogin(file, "quay.io/a").status().message()); };
  EXPECT_THAT(error(), AllOf(HasSubstr(file), HasSubstr("no program docker-credential-ours in ")));
  Helper("ours", "echo 'the vault is sealed'; exit 3");
  EXPECT_EQ(error(), file +
                         ": docker-credential-ours get, for quay.io: exit code 3: the vault is "
                         "sealed");
  for (const char* answer : {R"({"Username":"bob","Secret":7,"x":"hush"})", "hush", "[\"hush\"]",
                             R"({"Username":"hush"})", ""}) {
    Helper("ours", absl::StrCat("printf '", answer, "'"));
    EXPECT_THAT(error(), AllOf(HasSubstr("docker-credential-ours"), HasSubstr("\"Secret\""),
                               Not(HasSubstr("hush"))))
        << answer;
  }
  Helper("ours", "yes hush | head -c 1000000");
  EXPECT_THAT(error(), AllOf(HasSubstr("docker-credential-ours"), Not(HasSubstr("hush"))));
}

TEST_F(LoginsTest, AHelperThatHangsIsEnded) {
  Helper("ours", absl::StrCat("echo $$ > ", dir_.root().PathOf("pid"), "; exec sleep 1000"));
  const absl::Time start = MonotonicNow();
  const auto login = ReadLogin(Write("config.json", R"({"credHelpers":{"quay.io":"ours"}})"),
                               "quay.io/a", absl::Seconds(3));
  EXPECT_TRUE(absl::IsDeadlineExceeded(login.status())) << login.status();
  EXPECT_THAT(std::string(login.status().message()), HasSubstr("docker-credential-ours"));
  EXPECT_LT(MonotonicNow() - start, absl::Seconds(100));
  const auto pid = dir_.root().Read("pid");
  ASSERT_TRUE(pid.ok() && !pid->empty()) << "the machine gave the helper no three seconds";
  EXPECT_NE(kill(std::stoi(*pid), 0), 0);
}

// A name with a path in it would run any program, and one with a blank more than one word of it.
TEST_F(LoginsTest, AHelpersNameIsAPlainName) {
  for (const char* name : {R"("../../bin/sh")", R"("a b")", "7", R"("a;b")", R"("\n")"}) {
    const auto login =
        ReadLogin(Write("config.json", absl::StrCat(R"({"credHelpers":{"quay.io":)", name, "}}")),
                  "quay.io/a");
    EXPECT_TRUE(absl::IsInvalidArgument(login.status())) << name << ": " << login.status();
    EXPECT_THAT(std::string(login.status().message()), HasSubstr("docker-credential-NAME")) << name;
  }
}

TEST_F(LoginsTest, TheFirstFileWithALoginCounts) {
  const std::string broken = Write("broken.json", "{");
  const std::string other = Write("other.json", R"({"auths":{"other.io":{"auth":"YTpi"}}})");
  const std::string settings = Write("settings.json", R"({"detachKeys":"ctrl-q"})");
  const std::string with =
      Write("with.json", absl::StrCat(R"({"auths":{"quay.io":)", Entry("a"), "}}"));
  const std::string later =
      Write("later.json", absl::StrCat(R"({"auths":{"quay.io":)", Entry("b"), "}}"));
  const LoginSearch search =
      FindLogin({"/does/not/exist", broken, other, settings, with, later}, "quay.io/x");
  ASSERT_TRUE(search.login.has_value());
  EXPECT_EQ(search.login->credentials.user, "a");
  EXPECT_EQ(search.InWords("quay.io/x"), "the login is from " + with);

  const LoginSearch none = FindLogin({"/does/not/exist", broken, other, settings}, "quay.io/x");
  EXPECT_FALSE(none.login.has_value());
  EXPECT_THAT(none.missing, ElementsAre("/does/not/exist"));
  EXPECT_THAT(none.without, ElementsAre(other, settings));
  EXPECT_THAT(none.failed, ElementsAre(broken + ": no JSON object"));
  EXPECT_EQ(none.InWords("quay.io/x"),
            absl::StrCat("no login for quay.io was found (none in ", other, ", ", settings,
                         "; not there: /does/not/exist; failed: ", broken, ": no JSON object)"));
}

TEST_F(LoginsTest, TheUsersFilesAreThoseOfItsTools) {
  const ScopedVariable only("REGISTRY_AUTH_FILE", nullptr);
  const ScopedVariable runtime("XDG_RUNTIME_DIR", "/r");
  const ScopedVariable config("XDG_CONFIG_HOME", nullptr);
  const ScopedVariable docker("DOCKER_CONFIG", nullptr);
  const ScopedVariable home("HOME", "/h");
  const std::string user = absl::StrCat(geteuid());
  EXPECT_THAT(
      LoginFiles(),
      ElementsAre("/r/containers/auth.json", absl::StrCat("/run/containers/", user, "/auth.json"),
                  "/h/.config/containers/auth.json", "/h/.docker/config.json"));
  const ScopedVariable elsewhere("DOCKER_CONFIG", "/d");
  const ScopedVariable in("XDG_CONFIG_HOME", "/c");
  const ScopedVariable without("XDG_RUNTIME_DIR", nullptr);
  EXPECT_THAT(LoginFiles(), ElementsAre(absl::StrCat("/run/user/", user, "/containers/auth.json"),
                                        absl::StrCat("/run/containers/", user, "/auth.json"),
                                        "/c/containers/auth.json", "/d/config.json"));
  const ScopedVariable one("REGISTRY_AUTH_FILE", "/one");
  EXPECT_THAT(LoginFiles(), ElementsAre("/one"));
}

// A service has no HOME.
TEST_F(LoginsTest, WithoutAHomeItIsThePasswdFiles) {
  const ScopedVariable only("REGISTRY_AUTH_FILE", nullptr);
  const ScopedVariable docker("DOCKER_CONFIG", nullptr);
  const ScopedVariable home("HOME", nullptr);
  EXPECT_THAT(LoginFiles().back(), AllOf(HasSubstr("/.docker/config.json"), Not(IsEmpty())));
}

}  // namespace
}  // namespace plimsoll::pod
