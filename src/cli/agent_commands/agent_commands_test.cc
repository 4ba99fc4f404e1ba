// The commands that talk to an agent, with one whose pods are the test's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/api/pod_api.h"
#include "agent/api/pod_service_for_test.h"
#include "agent/api/server.h"
#include "base/dir_for_test.h"
#include "base/wait_until_for_test.h"
#include "cli/command/command.h"
#include "cli/main_for_test.h"
#include "cli/terminal/object_fields.h"

namespace plimsoll::cli {
namespace {

using agent::FakePodService;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Keeps SIGINT from this thread and those it starts, so that a command's Interrupts gets it.
class BlockedInterrupt {
 public:
  BlockedInterrupt() {
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    pthread_sigmask(SIG_BLOCK, &interrupt, &before_);
  }
  ~BlockedInterrupt() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

class AgentCommands : public ::testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    pods_.Put(FakePodService::Pod("default", "web"));
    pods_.Put(FakePodService::Pod("other", "db"));
    agent::ServerOptions options;
    options.socket.path = path_;
    auto server = agent::ApiServer::Start(
        options, [this](const agent::HttpRequest& request, agent::Answer& answer) {
          api_.Serve(request, answer);
          ++answered_;
        });
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  Printed Run(std::vector<std::string> words) {
    words.insert(words.begin(), {"--agent", path_});
    return RunMain(std::move(words));
  }
  // Waits until the command that runs beside the caller has printed this. Its standard output goes
  // to a file; before it begins, that may be a pipe, which would be waited for without end.
  static void AwaitPrinted(const std::string& text) {
    EXPECT_TRUE(WaitUntil([&] {
      struct stat output = {};
      if (fstat(STDOUT_FILENO, &output) != 0 || !S_ISREG(output.st_mode)) return false;
      std::ostringstream printed;
      printed << std::ifstream("/proc/self/fd/1").rdbuf();
      return absl::StrContains(printed.str(), text);
    })) << text;
  }
  // Runs a command in this process, calls `act` beside it, and types Ctrl-C. Ends the process with
  // the command's exit code, its output on standard error. For EXPECT_EXIT, whose process is a new
  // one: threads of earlier tests would take the signal.
  [[noreturn]] void RunUntilInterrupted(std::vector<std::string> words, std::function<void()> act) {
    std::thread user([act = std::move(act)] {
      act();
      kill(getpid(), SIGINT);
    });
    const Printed printed = Run(std::move(words));
    user.join();
    fputs((printed.out + printed.err).c_str(), stderr);
    server_.reset();  // it would make its socket again, and no destructor runs
    std::filesystem::remove_all(dir_.path());
    _exit(printed.code);
  }
  // Waits for an answer whose question came after this call. Up to two older ones, sent or on their
  // way, are not counted yet.
  bool AwaitLook() {
    const int before = answered_;
    return WaitUntil([this, before] { return answered_ >= before + 3; });
  }
  std::string File(const std::string& text) {
    EXPECT_TRUE(dir_.root().ReplaceFile("pod.yaml", text).ok());
    return dir_.path() + "/pod.yaml";
  }

  const BlockedInterrupt blocked_;
  const TestDir dir_;
  const std::string path_ = dir_.path() + "/agent.sock";
  FakePodService pods_;
  std::vector<KubeObject> quotas_;
  std::atomic<int> answered_ = 0;
  const agent::PodApi api_{&pods_,
                           {.health = {},
                            .metrics = {},
                            .quotas = [this](const std::string&) { return quotas_; },
                            .allocations =
                                [] {
                                  return KubeObject{{"kind", "Allocations"}, {"pods", {}}};
                                }}};
  std::unique_ptr<agent::ApiServer> server_;
};

TEST_F(AgentCommands, GetListsPods) {
  EXPECT_THAT(Run({"get", "pods"}).out,
              AllOf(HasSubstr("web   0/1    Running"), Not(HasSubstr("db"))));
  EXPECT_THAT(Run({"get", "po", "-A"}).out,
              AllOf(HasSubstr("default    web"), HasSubstr("other      db")));
  EXPECT_THAT(Run({"get", "pods", "-n", "other"}).out, HasSubstr("db"));
  EXPECT_THAT(Run({"get", "pods", "-n", "none"}).err, HasSubstr("No pods in namespace none"));
  EXPECT_EQ(KubeObject::parse(Run({"get", "pod", "web", "-o", "json"}).out),
            FakePodService::Pod("default", "web"));
  EXPECT_EQ(KubeObject::parse(Run({"get", "pods", "-A", "-o", "json"}).out)["items"].size(), 2u);
  EXPECT_THAT(Run({"get", "pod", "web", "-o", "yaml"}).out, HasSubstr("kind: Pod\n"));
}

TEST_F(AgentCommands, GetListsQuotas) {
  EXPECT_THAT(Run({"get", "quota"}).err, HasSubstr("No quotas: pods may have every class"));
  quotas_ = {KubeObject::parse(R"({"kind": "ResourceQuota",
      "metadata": {"namespace": "shop", "name": "team"},
      "status": {"podClassResources": [], "containerClassResources": [{"name": "rdt", "classes": [
          {"name": "gold", "capacity": 2, "used": 1}, {"name": "silver", "used": 0}]}]}})")};
  EXPECT_EQ(Run({"get", "quotas", "-A"}).out,
            "NAMESPACE  NAME  OF          TYPE  CLASS         USED  HARD\n"
            "shop       team  containers  rdt   gold          1     2\n"
            "shop       team  containers  rdt   silver        0     any\n"
            "shop       team  pods        -     none allowed\n");
  EXPECT_EQ(KubeObject::parse(Run({"get", "quota", "team", "-n", "shop", "-o", "json"}).out),
            quotas_.front());
  EXPECT_THAT(Run({"get", "quota", "other", "-n", "shop"}).err,
              HasSubstr("no quota other in namespace shop"));
  EXPECT_EQ(Run({"get", "quota", "team", "-A"}).code, kExitUsage);
}

TEST_F(AgentCommands, AllocationsAreShownOrGiven) {
  EXPECT_THAT(Run({"allocations"}).out, HasSubstr("The node has no topology yet.\n"));
  EXPECT_THAT(Run({"allocations", "--no-drawing"}).out, Not(HasSubstr("topology yet")));
  EXPECT_EQ(KubeObject::parse(Run({"allocations", "-o", "json"}).out)["kind"], "Allocations");
  EXPECT_THAT(Run({"allocations", "-o", "yaml"}).out, HasSubstr("kind: Allocations\n"));
  server_.reset();
  const Printed none = Run({"allocations"});
  EXPECT_EQ(none.code, kExitError);
  EXPECT_THAT(none.err, HasSubstr("`plimsoll topology` shows"));
}

TEST_F(AgentCommands, GetNamesItsErrors) {
  const Printed none = Run({"get", "pods", "x"});
  EXPECT_EQ(none.code, kExitError);
  EXPECT_THAT(none.err, AllOf(HasSubstr("no pod default/x"), Not(HasSubstr("Did you mean"))));
  EXPECT_EQ(Run({"get", "pods", "web", "-A"}).code, kExitUsage);
  EXPECT_EQ(Run({"get"}).code, kExitUsage);
  EXPECT_EQ(RunMain({"--agent", "agent.sock", "get", "pods"}).code, kExitUsage);
}

TEST_F(AgentCommands, APodOfANearNameIsNamed) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"get", "pods", "wbe"},
                                                {"describe", "pod", "wbe"},
                                                {"delete", "pod", "wbe"},
                                                {"resize", "pod", "wbe", "--cpu", "1"}}) {
    const Printed none = Run(words);
    EXPECT_EQ(none.code, kExitError);
    EXPECT_THAT(none.err,
                AllOf(HasSubstr("no pod default/wbe"), HasSubstr("Did you mean \"web\"?")))
        << words[0];
  }
  EXPECT_THAT(Run({"describe", "pod", "db"}).err, HasSubstr("Did you mean that of `-n other`?"));
  EXPECT_THAT(Run({"describe", "pod", "bd"}).err, Not(HasSubstr("Did you mean")))
      << "names of other namespaces are no spelling";
}

TEST_F(AgentCommands, WithoutAnAgentTheHintSaysHowToStartOne) {
  server_.reset();
  const Printed output = Run({"get", "pods"});
  EXPECT_EQ(output.code, kExitError);
  EXPECT_THAT(output.err, AllOf(HasSubstr("no agent at " + path_),
                                HasSubstr("Start plimsoll-agent"), HasSubstr("`plimsoll pods`")));
  EXPECT_THAT(Run({"apply", "-f", File("x")}).err, HasSubstr("`plimsoll run MANIFEST`"));
}

TEST_F(AgentCommands, TheEnvironmentNamesTheAgentToo) {
  setenv("PLIMSOLL_AGENT", absl::StrCat("unix://", path_).c_str(), 1);
  EXPECT_THAT(RunMain({"get", "pods"}).out, HasSubstr("web"));
  setenv("PLIMSOLL_AGENT", "/none", 1);
  EXPECT_THAT(Run({"get", "pods"}).out, HasSubstr("web")) << "the command line stands before it";
  unsetenv("PLIMSOLL_AGENT");
}

TEST_F(AgentCommands, ApplySaysWhatItDid) {
  KubeObject pod = FakePodService::Pod("default", "new");
  EXPECT_EQ(Run({"apply", "-f", File(pod.dump())}).out, "pod/new created\n");
  EXPECT_EQ(Run({"apply", "-f", File(pod.dump())}).out, "pod/new unchanged\n");
  pod["spec"]["nodeName"] = "n1";
  EXPECT_EQ(Run({"apply", "-f", File(pod.dump())}).out, "pod/new configured\n");
  const KubeObject other = FakePodService::Pod("other", "db2");
  EXPECT_EQ(Run({"apply", "-f", File(other.dump())}).out, "pod/db2 in other created\n");
  EXPECT_EQ(KubeObject::parse(Run({"apply", "-f", File(pod.dump()), "-o", "json"}).out)["items"][0],
            pod);
  const Printed bad = Run({"apply", "-f", File("no manifest")});
  EXPECT_EQ(bad.code, kExitError);
  EXPECT_THAT(bad.err, HasSubstr(": " + dir_.path() + "/pod.yaml: line 1"));
  EXPECT_EQ(std::vector<std::string>(absl::StrSplit(bad.err, "pod.yaml")).size(), 2u)
      << "the file is named once";
  EXPECT_EQ(Run({"apply"}).code, kExitUsage);
}

TEST_F(AgentCommands, ARefusalOfTheAgentsIsNoneOfItsSocket) {
  pods_.Fail(absl::PermissionDeniedError("exceeded quota: team"));
  const Printed over = Run({"apply", "-f", File(FakePodService::Pod("default", "new").dump())});
  EXPECT_EQ(over.code, kExitError);
  EXPECT_EQ(over.err, "plimsoll: " + dir_.path() + "/pod.yaml: exceeded quota: team\n");
}

TEST_F(AgentCommands, DeleteTakesNamesAndManifests) {
  EXPECT_EQ(Run({"delete", "pod", "web", "--grace-period", "1m", "--wait"}).out, "web\n");
  const std::string manifest =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: db, namespace: other}\n"
      "spec: {containers: [{name: app, image: busybox}]}\n";
  EXPECT_EQ(Run({"delete", "-f", File(manifest), "--now"}).out, "other/db\n");
  EXPECT_THAT(pods_.calls(), ElementsAre("delete default/web 60", "delete other/db 1"));
  EXPECT_THAT(Run({"delete", "pod", "web"}).err, HasSubstr("no pod default/web"));
  EXPECT_EQ(Run({"delete"}).code, kExitUsage);
  EXPECT_EQ(Run({"delete", "pod"}).code, kExitUsage);
  EXPECT_EQ(Run({"delete", "pod", "web", "--now", "--grace-period", "5"}).code, kExitUsage);
}

TEST_F(AgentCommands, ResizeWaitsUntilItIsInForce) {
  KubeObject pod = FakePodService::Pod("default", "web");
  pod["status"]["conditions"] = {
      {{"type", "PodResizePending"}, {"status", "True"}, {"reason", "Deferred"}}};
  pods_.Put(pod);
  std::thread agent([&] {
    WaitUntil([&] { return !pods_.calls().empty(); });
    pod["status"]["conditions"] = {{{"type", "PodResizeInProgress"}, {"status", "True"}}};
    pods_.Put(pod);
    pod["status"].erase("conditions");
    pods_.Put(pod);
  });
  const Printed waited = Run({"resize", "pod", "web", "--cpu", "2", "--wait"});
  agent.join();
  EXPECT_EQ(waited.out, "pod/web resized\n");
  EXPECT_EQ(waited.code, kExitOk);
}

TEST_F(AgentCommands, ResizeSaysOnceWhatItWaitsFor) {
  const auto put = [this](const char* message) {
    KubeObject pod = FakePodService::Pod("default", "web");
    pod["status"]["conditions"] = {{{"type", "PodResizePending"},
                                    {"status", "True"},
                                    {"reason", "Deferred"},
                                    {"message", message}}};
    pods_.Put(pod);
  };
  put("no room for cpu");
  std::thread agent([&] {
    EXPECT_TRUE(WaitUntil([this] { return !pods_.calls().empty(); }));
    EXPECT_TRUE(AwaitLook());
    put("no room for memory");
    EXPECT_TRUE(AwaitLook());
    pods_.Put(FakePodService::Pod("default", "web"));
  });
  const Printed waited = Run({"resize", "pod", "web", "--cpu", "2", "--wait"});
  agent.join();
  EXPECT_EQ(waited.out, "pod/web resized\n");
  EXPECT_EQ(waited.err,
            "note: pod/web resize pending (Deferred): no room for cpu\n"
            "note: pod/web resize pending (Deferred): no room for memory\n");
}

TEST_F(AgentCommands, ResizeTakesBothSpellingsOfAContainer) {
  KubeObject pod = FakePodService::Pod("default", "web");
  KubeObject side = pod["spec"]["containers"][0];
  side["name"] = "side";
  pod["spec"]["containers"].push_back(side);
  pods_.Put(pod);
  EXPECT_EQ(Run({"resize", "pod", "web/side", "--cpu-limit", "2"}).out, "pod/web resized\n");
  EXPECT_EQ(Run({"resize", "pod", "web", "-c", "side", "--cpu-limit", "3"}).code, kExitOk);
  EXPECT_EQ(Run({"resize", "pod", "web/side", "-c", "side", "--cpu-limit", "4"}).code, kExitOk);
  EXPECT_THAT(pods_.calls(),
              ElementsAre(HasSubstr(R"("name":"side")"), HasSubstr(R"("name":"side")"),
                          HasSubstr(R"("name":"side")")));
  EXPECT_THAT(Run({"resize", "pod", "web", "--cpu", "2"}).err,
              HasSubstr("POD/CONTAINER or --container names one: app, side"));
  EXPECT_THAT(Run({"resize", "pod", "web/none", "--cpu", "2"}).err,
              HasSubstr("pod web has no container none"));
}

TEST_F(AgentCommands, ResizeRefusesNamesThatContradictEachOther) {
  const Printed two = Run({"resize", "pod", "web/app", "-c", "side", "--cpu", "2"});
  EXPECT_EQ(two.code, kExitUsage);
  EXPECT_THAT(two.err,
              HasSubstr("\"web/app\" means the container app, and --container the container side"));
  for (const char* name : {"default/web/app", "web/", "/app"}) {
    const Printed none = Run({"resize", "pod", name, "--cpu", "2"});
    EXPECT_EQ(none.code, kExitUsage);
    EXPECT_THAT(none.err, HasSubstr("is neither a pod's name nor POD/CONTAINER"));
  }
  EXPECT_TRUE(pods_.calls().empty());
}

TEST_F(AgentCommands, NamesOfItsPodsAndContainersAreCompleted) {
  EXPECT_EQ(Run({"__complete", "agent-pods", "agent-containers"}).out,
            "db\ndb/app\nweb\nweb/app\n");
  EXPECT_EQ(Run({"__complete", "agent-container-names"}).out, "app\n");
}

TEST_F(AgentCommands, ResizeSendsAPatch) {
  EXPECT_EQ(Run({"resize", "pod", "web", "--cpu-limit", "2"}).out, "pod/web resized\n");
  EXPECT_THAT(pods_.calls(), ElementsAre(HasSubstr(R"("resources":{"limits":{"cpu":"2"}})")));
  KubeObject pod = FakePodService::Pod("default", "web");
  pod["status"]["conditions"] = KubeObject::parse(R"([{"type": "PodResizePending", "status": "True",
      "reason": "Deferred", "message": "Node didn't have enough resource: cpu"}])");
  pods_.Put(pod);
  EXPECT_THAT(Run({"resize", "pod", "web", "--cpu", "2"}).out,
              HasSubstr("pod/web resize pending (Deferred): Node didn't"));
  EXPECT_EQ(Run({"resize", "pod", "web"}).code, kExitUsage);
  pod["status"]["conditions"][0]["reason"] = "Infeasible";
  pods_.Put(pod);
  EXPECT_EQ(Run({"resize", "pod", "web", "--cpu", "2"}).code, kExitOk);
  EXPECT_EQ(Run({"resize", "pod", "web", "--cpu", "2", "--wait"}).code, kExitError);
  EXPECT_THAT(Run({"resize", "pod", "web", "-c", "x", "--cpu", "1"}).err, HasSubstr("it has app"));
}

TEST_F(AgentCommands, ResizeSaysHowThePodKeepsItsQosClass) {
  pods_.Fail(absl::InvalidArgumentError(
      "Pod \"web\" is invalid: metadata: Invalid value: \"Guaranteed\": Pod QOS Class may not "
      "change as a result of resizing: it is Burstable"));
  EXPECT_THAT(Run({"resize", "pod", "web", "--cpu", "2"}).err, HasSubstr("--cpu-limit"));
  EXPECT_THAT(Run({"resize", "pod", "web", "--cpu-limit", "2"}).err,
              AllOf(HasSubstr("it is Burstable"), Not(HasSubstr("--cpu-limit"))));
}

TEST_F(AgentCommands, DescribeShowsPodAndNode) {
  pods_.SetEvents({KubeObject::parse(R"({"reason": "Started", "message": "Started container app",
      "involvedObject": {"kind": "Pod", "namespace": "default", "name": "web"}})")});
  pods_.SetNode({{"metadata", {{"name", "n1"}}}});
  EXPECT_THAT(Run({"describe", "pod", "web"}).out,
              AllOf(HasSubstr("web-uid"), HasSubstr("Started container app")));
  EXPECT_EQ(KubeObject::parse(Run({"describe", "pod", "web", "-o", "json"}).out)["events"].size(),
            1u);
  EXPECT_THAT(Run({"describe", "node"}).out, AllOf(HasSubstr("n1"), HasSubstr("Pods (2)")));
  EXPECT_THAT(Run({"describe", "node", "n2"}).err, HasSubstr("the agent's is n1"));
  EXPECT_THAT(Run({"get", "node"}).out, HasSubstr("n1"));
  EXPECT_THAT(Run({"get", "events"}).out, HasSubstr("pod/web"));
  EXPECT_THAT(Run({"get", "events", "-n", "none"}).err,
              HasSubstr("No events in namespace none. --all-namespaces lists all, the node's too"));
}

TEST_F(AgentCommands, CtrlCEndsAWatch) {
  const auto run = [this] {
    RunUntilInterrupted({"get", "pods", "-w", "-o", "json"}, [this] {
      EXPECT_TRUE(WaitUntil([this] { return pods_.watches() == 1; }));
      pods_.Remove({"default", "web"});
      AwaitPrinted("\"type\":\"DELETED\"");
    });
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(kExitOk),
              AllOf(HasSubstr("\"type\":\"ADDED\""), HasSubstr("\"type\":\"DELETED\"")));
}

TEST_F(AgentCommands, AWatchBeginsWithATable) {
  const auto run = [this] {
    RunUntilInterrupted({"get", "pods", "-w", "web"}, [this] {
      AwaitPrinted("0/1    Running");
      KubeObject pod = FakePodService::Pod("default", "web");
      pod["status"]["phase"] = "Failed";
      pods_.Put(pod);
      AwaitPrinted("0/1    Failed");
    });
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(kExitOk),
              HasSubstr("NAME  READY  STATUS   RESTARTS  AGE\n"
                        "web   0/1    Running  0         -\n"
                        "web   0/1    Failed   0         -\n"));
}

TEST_F(AgentCommands, EventsAreAskedForAgain) {
  const auto run = [this] {
    const KubeObject first = KubeObject::parse(R"({"reason": "Pulled",
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "web"}})");
    KubeObject second = first;
    second["reason"] = "Started";
    pods_.SetEvents({first});
    RunUntilInterrupted({"get", "events", "-w"}, [&] {
      AwaitPrinted("Pulled");
      pods_.SetEvents({first, second});
      AwaitPrinted("Started");
    });
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(kExitOk),
              ::testing::ContainsRegex("LAST SEEN[^\n]*\n[^\n]*Pulled[^\n]*\n"
                                       "[^\n]*Started[^\n]*\n"));
}

TEST_F(AgentCommands, AnUnchangedNodeIsShownOnce) {
  pods_.SetNode({{"metadata", {{"name", "n1"}}}});
  const auto run = [this] {
    RunUntilInterrupted({"get", "node", "-w"}, [this] {
      AwaitPrinted("Unknown");
      EXPECT_TRUE(AwaitLook());
    });
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(kExitOk),
              ::testing::ContainsRegex("RUNTIME\nn1    Unknown[^\n]*\n$"));
}

TEST_F(AgentCommands, CompletionNamesTheAgentsPods) {
  EXPECT_EQ(Run({"__complete", "agent-pods"}).out, "db\nweb\n");
}

}  // namespace
}  // namespace plimsoll::cli
