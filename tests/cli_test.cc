// The command line as people use it: pods that run, lists, logs, images, updates.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/programs/subprocess.h"
#include "cli_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "harness/kernel.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(CliTest, WhatIsNoArchiveOrNoIdIsToldSo) {
  const std::string file = dir_.path() + "/words";
  ASSERT_TRUE(Host().ReplaceFile(file, "no archive at all\n").ok());
  const RunResult imported = Plimsoll({"image", "import", file, "--name", "words"});
  EXPECT_EQ(imported.exit.code, 1);
  EXPECT_THAT(imported.err, AllOf(HasSubstr(file + " is no archive; an image is a tar"),
                                  Not(HasSubstr("Unrecognized"))));
  const std::string id(64, 'a');
  const RunResult pulled = Plimsoll({"image", "pull", id});
  EXPECT_EQ(pulled.exit.code, 1);
  EXPECT_THAT(pulled.err, HasSubstr("no image here has the id aaaaaaaaaaaa"));
  // Twelve digits may be a name: no registry has this one.
  const RunResult named = Plimsoll({"image", "pull", "0123456789ab"});
  EXPECT_EQ(named.exit.code, 1);
  EXPECT_THAT(named.err, AllOf(HasSubstr("docker.io/library/0123456789ab"),
                               HasSubstr("If 0123456789ab was meant as an image's id: none")));
  // An import takes no such name either.
  EXPECT_THAT(Plimsoll({"image", "pull", "example.com/app@sha256:abc"}).err,
              AllOf(HasSubstr("NAME@sha256:DIGEST"), Not(HasSubstr("image import"))));
}

TEST_F(CliTest, ADetachedPodIsSeenUsedStoppedAndRemoved) {
  const RunResult started = Plimsoll(
      {"run", "--detach",
       Manifest("web", absl::StrCat("  containers:\n", ContainerOf("a", "echo up; sleep 1000"),
                                    "    resources: {limits: {memory: 64Mi, cpu: 500m}}\n"))});
  ASSERT_EQ(started.exit.code, 0) << started.err;
  EXPECT_THAT(Plimsoll({"ps"}).out, AllOf(HasSubstr("web"), HasSubstr("Running")));
  EXPECT_THAT(Plimsoll({"pods"}).out, HasSubstr("web"));
  EXPECT_THAT(Plimsoll({"ps", "-o", "json"}).out, HasSubstr("\"web\""));
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(Plimsoll({"logs", "web"}).out, "up"); }));
  const RunResult exec = Plimsoll({"exec", "web/a", "--", "/bin/sh", "-c", "echo inside; exit 4"});
  EXPECT_EQ(exec.out, "inside\n");
  EXPECT_EQ(exec.exit.code, 4);
  const RunResult copy = Plimsoll({"cp", "web/a:/etc/passwd", "-"});
  EXPECT_EQ(copy.exit.code, 0) << copy.err;
  EXPECT_THAT(copy.out, HasSubstr("root:x:0:0:"));
  const RunResult update = Plimsoll({"update", "web", "--memory", "96Mi"});
  EXPECT_EQ(update.exit.code, 0) << update.err;
  EXPECT_EQ(Plimsoll({"update", "web/a", "--memory", "96XB"}).exit.code, 2);
  EXPECT_THAT(Plimsoll({"inspect", "web"}).out,
              AllOf(HasSubstr("running"), HasSubstr("ready"), Not(HasSubstr("CONTAINER_"))));
  const RunResult in_use = Plimsoll({"image", "remove", "busybox"});
  EXPECT_EQ(in_use.exit.code, 1);
  EXPECT_THAT(in_use.err, AllOf(HasSubstr("in use by web/a"), HasSubstr("--force")));
  EXPECT_THAT(Plimsoll({"inspect", "web", "-o", "json"}).out, HasSubstr("100663296"));
  EXPECT_EQ(Plimsoll({"stop", "-t", "1", "web"}).exit.code, 0);
  EXPECT_THAT(Plimsoll({"ps", "-a"}).out, HasSubstr("Exited"));
  EXPECT_EQ(Plimsoll({"rm", "web"}).exit.code, 0);
  EXPECT_THAT(Plimsoll({"ps", "-a", "-o", "json"}).out, Not(HasSubstr("web")));
}

bool HasKeysOfItsOwn(const std::string& member) {
  for (const char* name : {"labels", "annotations", "classes", "attributes", "capacity", "requests",
                           "limits", "unified", "programs", "sysctls"}) {
    if (member == name) return true;
  }
  return false;
}

// Every document has keys in camelCase and times as of RFC 3339. Members with the user's own keys
// are not checked further.
void ExpectStyle(const nlohmann::json& json, const std::string& where) {
  if (json.is_array()) {
    for (const nlohmann::json& item : json) ExpectStyle(item, where);
  }
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.items()) {
    const std::string path = absl::StrCat(where, ".", key);
    EXPECT_THAT(key, ::testing::MatchesRegex("[a-z][A-Za-z0-9]*")) << path;
    if (absl::EndsWith(key, "At") || key == "timestamp" || key == "time") {
      absl::Time time;
      EXPECT_TRUE(value.is_null() ||
                  (value.is_string() &&
                   absl::ParseTime(absl::RFC3339_full, value.get<std::string>(), &time, nullptr)))
          << path << ": " << value;
    }
    if (!HasKeysOfItsOwn(key)) ExpectStyle(value, path);
  }
}

TEST_F(CliTest, EveryDocumentHasTheSameStyle) {
  ASSERT_EQ(Plimsoll({"run", "--detach",
                      Manifest("web", absl::StrCat("  containers:\n",
                                                   ContainerOf("a", "echo up; sleep 1000"),
                                                   ContainerOf("b", "exit 3")))})
                .exit.code,
            0);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"wait", "web/b"},
                                             {"ps", "-a"},
                                             {"pods"},
                                             {"inspect", "web"},
                                             {"inspect", "web/a"},
                                             {"images"},
                                             {"image", "inspect", "busybox"},
                                             {"top", "--once", "--interval", "100ms"},
                                             {"update", "web/a", "--memory", "96Mi"},
                                             {"update", "--pod", "web", "--memory", "128Mi"},
                                             {"classes"},
                                             {"topology"},
                                             {"daemon", "status"},
                                             {"doctor"},
                                             {"version"},
                                             {"prune", "--dry-run"},
                                             {"stop", "-t", "0", "--all"},
                                             {"rm", "--all"}}) {
    std::vector<std::string> arguments = {"-o", "json"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const RunResult result = Plimsoll(arguments);
    const auto document = nlohmann::json::parse(result.out, nullptr, /*allow_exceptions=*/false);
    EXPECT_FALSE(document.is_discarded()) << words[0] << ": " << result.out << result.err;
    ExpectStyle(document, words[0]);
  }
}

TEST_F(CliTest, HowContainersEndedIsListedFilteredAndAwaited) {
  const std::string spec =
      absl::StrCat("  containers:\n", ContainerOf("a", "sleep 1000"), ContainerOf("b", "exit 3"),
                   "    env: [{name: TOKEN, value: hidden-word}]\n");
  const RunResult begun = Plimsoll({"run", "--detach", Manifest("web", spec)});
  ASSERT_EQ(begun.exit.code, 0) << begun.err;
  EXPECT_EQ(Plimsoll({"wait", "web/b"}).out, "3\n");
  EXPECT_THAT(Plimsoll({"ps", "-a"}).out,
              AllOf(HasSubstr("EXIT CODE"), ContainsRegex(" 3 +Error +[0-9]+s ago")));
  EXPECT_THAT(Plimsoll({"ps"}).out, Not(HasSubstr("EXIT CODE")));
  const std::string exited = Plimsoll({"ps", "-q", "--state", "exited"}).out;
  EXPECT_THAT(exited, ContainsRegex("^[0-9a-f]{32,64}\n$"));
  EXPECT_EQ(Plimsoll({"ps", "-aq", "--name", "b", "--namespace", "default"}).out, exited);
  EXPECT_EQ(Plimsoll({"ps", "-aq", "--namespace", "other"}).out, "");
  EXPECT_EQ(Plimsoll({"ps", "-aq", "--label", "no=such"}).out, "");
  EXPECT_THAT(Plimsoll({"pods", "-q", "--state", "ready"}).out, ContainsRegex("^[0-9a-f]+\n$"));
  const std::string inspected = Plimsoll({"inspect", "web/b"}).out;
  EXPECT_THAT(inspected, AllOf(HasSubstr("/bin/sh -c 'exit 3'"), HasSubstr("TOKEN"),
                               HasSubstr("restarts:"), HasSubstr("default/web")));
  EXPECT_THAT(inspected, Not(HasSubstr("hidden-word")));
  EXPECT_THAT(Plimsoll({"inspect", "web/b", "-o", "json"}).out, Not(HasSubstr("hidden-word")));
  EXPECT_THAT(Plimsoll({"inspect", "web/b", "--show-values"}).out, HasSubstr("TOKEN=hidden-word"));
  EXPECT_EQ(Plimsoll({"wait", "--timeout", "1", "web/a"}).exit.code, 1);
  EXPECT_EQ(Plimsoll({"rm", "--all"}).exit.code, 1) << "it runs";
  EXPECT_EQ(Plimsoll({"rm", "--all", "--force"}).out, "default/web\n");
}

TEST_F(CliTest, PruneRemovesWhatEndedAndNothingElse) {
  const std::string ends = absl::StrCat("  containers:\n", ContainerOf("a", "exit 0"));
  const std::string goes_on = absl::StrCat("  containers:\n", ContainerOf("a", "sleep 1000"));
  ASSERT_EQ(Plimsoll({"image", "import", dir_.path() + "/rootfs", "--name", "unused"}).exit.code,
            0);
  ASSERT_EQ(Plimsoll({"run", "-d", Manifest("lasting", goes_on)}).exit.code, 0);
  ASSERT_EQ(Plimsoll({"run", "-d", Manifest("ended", ends)}).exit.code, 0);
  EXPECT_EQ(Plimsoll({"wait", "ended"}).exit.code, 0);
  const RunResult unasked = Plimsoll({"prune"});
  EXPECT_EQ(unasked.exit.code, 2) << "can't be confirmed";
  EXPECT_THAT(unasked.err, AllOf(HasSubstr("default/ended"), HasSubstr("--yes"),
                                 Not(HasSubstr("default/lasting"))));
  EXPECT_THAT(unasked.err, HasSubstr("KIND  ID            SIZE  NAME"));
  EXPECT_THAT(Plimsoll({"pods"}).out, HasSubstr("ended"));
  const RunResult pruned = Plimsoll({"prune", "--yes"});
  EXPECT_EQ(pruned.exit.code, 0) << pruned.err;
  EXPECT_THAT(pruned.out, AllOf(HasSubstr("removed 1 pod and"), HasSubstr("freed")));
  EXPECT_THAT(Plimsoll({"pods"}).out, AllOf(HasSubstr("lasting"), Not(HasSubstr("ended"))));
  EXPECT_THAT(Plimsoll({"images"}).out, HasSubstr("busybox"));
  EXPECT_EQ(Plimsoll({"stop", "-t", "0", "--all"}).out, "default/lasting\n");
  EXPECT_EQ(Plimsoll({"rm", "--all"}).exit.code, 0);
  EXPECT_EQ(Plimsoll({"prune", "--yes"}).exit.code, 0);
  EXPECT_THAT(Plimsoll({"images", "-q"}).out, IsEmpty());
}

TEST_F(CliTest, ExecAndLogsTakeBothSpellingsOfAContainer) {
  const std::string spec =
      absl::StrCat("  containers:\n", ContainerOf("a", "echo of a; sleep 1000"),
                   ContainerOf("b", "echo of b; sleep 1001"));
  ASSERT_EQ(Plimsoll({"run", "-d", Manifest("web", spec)}).exit.code, 0);
  for (const std::vector<std::string>& name :
       {std::vector<std::string>{"web/b"}, {"web", "-c", "b"}, {"web/b", "--container", "b"}}) {
    std::vector<std::string> logs = {"logs"};
    logs.insert(logs.end(), name.begin(), name.end());
    EXPECT_TRUE(Eventually([&] { return Plimsoll(logs).out == "of b\n"; })) << Plimsoll(logs).err;
    std::vector<std::string> exec = {"exec"};
    exec.insert(exec.end(), name.begin(), name.end());
    exec.insert(exec.end(), {"--", "cat", "/proc/1/cmdline"});
    EXPECT_THAT(Plimsoll(exec).out, HasSubstr("1001"));
  }
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"logs", "web/a", "-c", "b"},
        {"exec", "web/a", "-c", "b", "true"}}) {
    const RunResult two = Plimsoll(words);
    EXPECT_EQ(two.exit.code, 2) << two.out;
    EXPECT_THAT(two.err,
                HasSubstr("\"web/a\" means the container a, and --container the container b"));
  }
  const RunResult shell = Plimsoll({"exec", "web", "sh", "-c", "echo hello"});
  EXPECT_EQ(shell.exit.code, 125);
  EXPECT_THAT(shell.err, AllOf(HasSubstr("no container \"echo hello\""),
                               HasSubstr("It has: a, b. A -c of the command that is to run")));
  const RunResult of_container = Plimsoll({"exec", "web/a", "sh", "-c", "echo hello"});
  EXPECT_EQ(of_container.exit.code, 2);
  EXPECT_THAT(of_container.err, HasSubstr(". A -c of the command that is to run"));
  EXPECT_EQ(Plimsoll({"rm", "--force", "web"}).exit.code, 0);
}

TEST_F(CliTest, LogsAreCutByTime) {
  const std::string spec =
      absl::StrCat("  containers:\n", ContainerOf("a", "echo early; sleep 3; echo late"));
  ASSERT_EQ(Plimsoll({"run", "-d", Manifest("web", spec)}).exit.code, 0);
  EXPECT_EQ(Plimsoll({"wait", "web"}).exit.code, 0);
  const std::string both = Plimsoll({"logs", "-t", "web"}).out;
  const std::string first = both.substr(0, both.find(' '));
  EXPECT_EQ(Plimsoll({"logs", "--until", first, "web"}).out, "early\n");
  EXPECT_EQ(Plimsoll({"logs", "--since", "1h", "web"}).out, "early\nlate\n");
  absl::Time early;
  ASSERT_TRUE(absl::ParseTime(absl::RFC3339_full, first, &early, nullptr)) << both;
  const std::string after =
      absl::FormatTime(absl::RFC3339_full, early + absl::Seconds(1), absl::UTCTimeZone());
  EXPECT_EQ(Plimsoll({"logs", "--since", after, "web"}).out, "late\n");
  EXPECT_EQ(Plimsoll({"logs", "--since", "soon", "web"}).exit.code, 2);
  EXPECT_EQ(Plimsoll({"rm", "web"}).exit.code, 0);
}

TEST_F(CliTest, LogsFollowedUntilATimeAreWhole) {
  const std::string spec = absl::StrCat(
      "  containers:\n", ContainerOf("a", "while :; do i=$((i + 1)); echo $i; sleep 0.005; done"));
  ASSERT_EQ(Plimsoll({"run", "-d", Manifest("web", spec)}).exit.code, 0);
  ASSERT_TRUE(Eventually([&] { return Plimsoll({"logs", "web"}).out.size() > 100u; }));
  for (int i = 0; i < 3; ++i) {
    const std::string until =
        absl::FormatTime(absl::RFC3339_full, absl::Now() + absl::Seconds(1), absl::UTCTimeZone());
    const std::string followed = Plimsoll({"logs", "--follow", "--until", until, "web"}).out;
    EXPECT_GT(followed.size(), 100u);
    EXPECT_EQ(followed, Plimsoll({"logs", "--until", until, "web"}).out);
  }
  EXPECT_EQ(Plimsoll({"rm", "--force", "web"}).exit.code, 0);
}

TEST_F(CliTest, PodsAreAllStoppedAtOnce) {
  const std::string spec = absl::StrCat(
      "  containers:\n",
      ContainerOf("a", "trap 'echo told' TERM; echo ready; while :; do sleep 0.1; done"));
  const std::vector<std::string> names = {"a", "b", "c", "d", "e", "f"};
  const auto all_say = [&](const std::string& word) {
    return Eventually([&] {
      return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
        return absl::StrContains(Plimsoll({"logs", name}).out, word);
      });
    });
  };
  for (const std::string& name : names) {
    ASSERT_EQ(Plimsoll({"run", "-d", Manifest(name, spec)}).exit.code, 0);
  }
  ASSERT_TRUE(all_say("ready"));
  auto child = Spawn(PlimsollCommand({"stop", "--time", "600", "--all"}));
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_TRUE(all_say("told"));
  EXPECT_EQ(Plimsoll({"stop", "--time", "0", "--all"}).exit.code, 0);
  const auto exit = child->Wait(absl::Now() + Patience(absl::Seconds(60)));
  ASSERT_TRUE(exit.ok()) << exit.status();
  EXPECT_EQ(exit->code, 0);
  EXPECT_EQ(Plimsoll({"rm", "--all"}).exit.code, 0);
}

TEST_F(CliTest, AnImageComesFromAPipeToo) {
  const RunResult packed = *RunProgram({.argv = {*FindProgram("tar"), "-C", dir_.path() + "/rootfs",
                                                 "-cf", dir_.path() + "/x.tar", "."}});
  ASSERT_EQ(packed.exit.code, 0) << packed.err;
  int fds[2];
  ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
  const UniqueFd reader(fds[0]);
  UniqueFd writer(fds[1]);
  Command cat = {.argv = {*FindProgram("cat"), dir_.path() + "/x.tar"}};
  cat.descriptors = {{writer.get(), 1}};
  auto feeder = Spawn(cat);
  ASSERT_TRUE(feeder.ok());
  writer.Reset();
  Command command = PlimsollCommand({"image", "import", "/dev/stdin", "--name", "piped"});
  command.descriptors = {{reader.get(), 0}};
  auto import = Spawn(command);
  ASSERT_TRUE(import.ok());
  const auto exit = import->Wait(absl::Now() + Patience(absl::Seconds(60)));
  ASSERT_TRUE(exit.ok()) << exit.status();
  EXPECT_EQ(exit->code, 0);
  EXPECT_THAT(Plimsoll({"image", "list"}).out, HasSubstr("piped"));
}

TEST_F(CliTest, WhatIsNoArchiveIsNotReadForEver) {
  const RunResult device = Plimsoll({"image", "import", "/dev/zero", "--name", "x"});
  EXPECT_NE(device.exit.code, 0);
  EXPECT_THAT(device.err, HasSubstr("/dev/zero is a device; valid is an OCI layout"));
  int fds[2];
  ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
  const UniqueFd reader(fds[0]);
  UniqueFd writer(fds[1]);
  Command cat = {.argv = {*FindProgram("cat"), "/dev/zero"}};
  cat.descriptors = {{writer.get(), 1}};
  cat.new_session = true;
  auto feeder = Spawn(cat);
  ASSERT_TRUE(feeder.ok());
  writer.Reset();
  Command command = PlimsollCommand({"image", "import", "-", "--name", "x"});
  command.descriptors = {{reader.get(), 0}};
  auto import = Spawn(command);
  ASSERT_TRUE(import.ok());
  const auto exit = import->Wait(absl::Now() + Patience(absl::Seconds(20)));
  ASSERT_TRUE(exit.ok()) << exit.status();
  EXPECT_NE(exit->code, 0);
  ASSERT_TRUE(feeder->KillGroup(absl::Now() + absl::Seconds(5)).ok());
}

TEST_F(CliTest, OutputOfACommandThatIsTooLongIsToldOf) {
  ASSERT_EQ(Plimsoll({"run", "--detach",
                      Manifest("talker",
                               absl::StrCat("  containers:\n", ContainerOf("a", "sleep 1000")))})
                .exit.code,
            0);
  const std::string errors = dir_.path() + "/errors";
  const UniqueFd error_file = *Host().OpenFile(errors, O_WRONLY | O_CREAT, 0600);
  Command command =
      PlimsollCommand({"exec", "talker", "--", "head", "-c", "20000000", "/dev/zero"});
  command.descriptors = {{error_file.get(), 2}};
  auto child = Spawn(command);
  ASSERT_TRUE(child.ok());
  const auto exit = child->Wait(absl::Now() + Patience(absl::Seconds(60)));
  ASSERT_TRUE(exit.ok()) << exit.status();
  EXPECT_EQ(exit->code, 125);
  EXPECT_THAT(Host().Read(errors).value_or(""), HasSubstr("the rest of it is lost"));
  EXPECT_EQ(Plimsoll({"rm", "--force", "talker"}).exit.code, 0);
}

TEST_F(CliTest, ImagesAreListedAndRemoved) {
  EXPECT_THAT(Plimsoll({"image", "list"}).out, HasSubstr("busybox"));
  EXPECT_EQ(Plimsoll({"image", "remove", "busybox"}).exit.code, 0);
  EXPECT_THAT(Plimsoll({"image", "list", "-o", "json"}).out, Not(HasSubstr("busybox")));
}

TEST_F(CliTest, DaemonStatusTellsWhatADaemonUsesAlsoWhenNoneRuns) {
  const RunResult none = Plimsoll({"daemon", "status"});
  EXPECT_EQ(none.exit.code, 0) << none.err;
  EXPECT_THAT(none.err, AllOf(HasSubstr("no daemon runs"), HasSubstr("ends with it")));
  EXPECT_THAT(none.out, HasSubstr("crun"));
  const RunResult elsewhere =
      *RunProgram({.argv = {ProgramPath("plimsoll"), "--address", "unix://" + dir_.path() + "/none",
                            "daemon", "status"}});
  EXPECT_EQ(elsewhere.exit.code, 1);
  EXPECT_THAT(elsewhere.err, HasSubstr("no daemon at unix://"));
  EXPECT_THAT(Plimsoll({"events"}).err, HasSubstr("so there are no events"));
  const std::string spec = absl::StrCat("  containers:\n", ContainerOf("a", "sleep 2"));
  auto run = Spawn(PlimsollCommand({"run", Manifest("one", spec)}));
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(Plimsoll({"daemon", "status"}).out, "crun");
  }));
  EXPECT_EQ(run->Wait(absl::Now() + absl::Seconds(60))->code, 0);
}

// In a mount namespace with a /run and a /var/lib of the test's own.
TEST_F(CliTest, NoDaemonIsHostedBesideAKilledOne) {
  const FsRoot own = *FsRoot::OpenOrCreate(dir_.path() + "/machine", 0755);
  for (const char* name : {"run/plimsoll", "lib"}) ASSERT_TRUE(own.MakeDirs(name).ok());
  const std::string socket_path = own.PathOf("run/plimsoll/plimsoll.sock");
  const UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  ASSERT_LT(socket_path.size(), sizeof(address.sun_path));
  socket_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  const auto plimsoll = [&own](const std::vector<std::string>& words) {
    const std::string mounts =
        absl::StrCat("mount --bind ", own.path(), "/run /run && mount --bind ", own.path(),
                     "/lib /var/lib && exec \"$@\"");
    std::vector<std::string> argv = {"/usr/bin/unshare",
                                     "--mount",
                                     "--propagation",
                                     "private",
                                     "/bin/sh",
                                     "-c",
                                     mounts,
                                     "sh",
                                     ProgramPath("plimsoll")};
    argv.insert(argv.end(), words.begin(), words.end());
    return *RunProgram({.argv = std::move(argv)}, {.timeout = Patience(absl::Seconds(60))});
  };
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"daemon", "status"}, {"image", "list"}, {"ps"}}) {
    SCOPED_TRACE(words.front());
    const RunResult result = plimsoll(words);
    EXPECT_EQ(result.exit.code, 1) << result.out;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err,
                AllOf(HasSubstr("no daemon answers at unix:///run/plimsoll/plimsoll.sock"),
                      HasSubstr("plimsolld that was killed")));
    EXPECT_THAT(*own.List("run/plimsoll"), ElementsAre("plimsoll.sock"));
    EXPECT_THAT(*own.List("lib"), IsEmpty());
  }
  const RunResult doctor = plimsoll({"doctor"});
  EXPECT_EQ(doctor.exit.code, 3) << doctor.err;
  EXPECT_THAT(doctor.out,
              AllOf(HasSubstr("  - no daemon answers at unix:///run/plimsoll/plimsoll.sock: "),
                    HasSubstr("    Start plimsolld"), HasSubstr("/run/plimsoll-standalone.")));
  EXPECT_THAT(*own.List("lib"), IsEmpty());
}

TEST_F(CliTest, ARootMayHaveAnyName) {
  for (const char* name : {"a,b", "a \"b\" c", "a:b%2c'd"}) {
    const auto plimsoll = [&](std::vector<std::string> arguments) {
      arguments.insert(arguments.begin(),
                       {ProgramPath("plimsoll"), "--root", absl::StrCat(dir_.path(), "/", name)});
      const auto result =
          RunProgram({.argv = std::move(arguments)}, {.timeout = absl::Seconds(90)});
      EXPECT_TRUE(result.ok()) << result.status();
      return result.value_or(RunResult{.exit = {.code = -1}});
    };
    const RunResult imported =
        plimsoll({"image", "import", dir_.path() + "/rootfs", "--name", "busybox"});
    ASSERT_EQ(imported.exit.code, 0) << imported.err;
    const std::string spec = absl::StrCat("  containers:\n", ContainerOf("a", "echo it works"));
    const RunResult run = plimsoll({"run", Manifest("pod", spec)});
    EXPECT_EQ(run.exit.code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("it works"));
  }
}

TEST_F(CliTest, AnUpdateOfAPodWithTwoContainersSaysWhatCanBeMeant) {
  const std::string spec = absl::StrCat("  containers:\n", ContainerOf("a", "sleep 1000"),
                                        ContainerOf("b", "sleep 1000"));
  ASSERT_EQ(Plimsoll({"run", "-d", Manifest("web", spec)}).exit.code, 0);
  const RunResult refused = Plimsoll({"update", "web", "--memory", "64Mi"});
  EXPECT_EQ(refused.exit.code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("web/a"), HasSubstr("web/b"),
                                 HasSubstr("`plimsoll update --pod web`")));
  EXPECT_EQ(Plimsoll({"rm", "--force", "web"}).exit.code, 0);
}

TEST_F(CliTest, AnUpdateThatIsRefusedNamesTheContainer) {
  const std::string spec = absl::StrCat("  containers:\n", ContainerOf("a", "sleep 1000"));
  ASSERT_EQ(Plimsoll({"run", "-d", Manifest("web", spec)}).exit.code, 0);
  const RunResult refused = Plimsoll({"update", "web", "--cpuset-cpus", "4095"});
  EXPECT_EQ(refused.exit.code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("container web/a is as before: "),
                                 HasSubstr("no CPU 4095"), Not(HasSubstr("update container"))));
  EXPECT_EQ(Plimsoll({"rm", "--force", "web"}).exit.code, 0);
}

}  // namespace
}  // namespace plimsoll::testing
