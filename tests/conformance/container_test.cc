// Containers: from created to removed, lists and filters, start parameters.
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "conformance/cri_test.h"

namespace plimsoll::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class ContainerTest : public CriTest {
 protected:
  static cri::ContainerFilter OfPod(const std::string& pod) {
    cri::ContainerFilter filter;
    filter.set_pod_sandbox_id(pod);
    return filter;
  }
  static void SetCommand(cri::ContainerConfig* config, const std::vector<std::string>& words) {
    config->clear_command();
    for (const std::string& word : words) config->add_command(word);
  }
};

PROMISE_TEST(ContainerTest, GoesThroughItsStates,
             "A container is CREATED, RUNNING and EXITED in turn, with the times of each in order "
             "and none before it is reached") {
  const int64_t before = absl::GetCurrentTimeNanos();
  const std::string pod = RunPod();
  const std::string id = Create(pod, Sleeper());
  const cri::ContainerStatus created = Status(id);
  EXPECT_EQ(created.state(), cri::CONTAINER_CREATED);
  EXPECT_GE(created.created_at(), before);
  EXPECT_EQ(created.started_at(), 0);
  EXPECT_EQ(created.finished_at(), 0);
  ASSERT_OK(TryStart(id));
  const cri::ContainerStatus running = Status(id);
  EXPECT_EQ(running.state(), cri::CONTAINER_RUNNING);
  EXPECT_EQ(running.created_at(), created.created_at());
  EXPECT_GE(running.started_at(), running.created_at());
  EXPECT_EQ(running.finished_at(), 0);
  ASSERT_OK(StopContainer(id, 0));
  const cri::ContainerStatus exited = Status(id);
  EXPECT_EQ(exited.state(), cri::CONTAINER_EXITED);
  EXPECT_EQ(exited.started_at(), running.started_at());
  EXPECT_GE(exited.finished_at(), exited.started_at());
  EXPECT_LE(exited.finished_at(), absl::GetCurrentTimeNanos());
}

PROMISE_TEST(ContainerTest, KeepsWhatItWasGiven,
             "Metadata, labels, annotations and the image's name come back as given, in status "
             "and list, with the id of the pod") {
  const std::string pod = RunPod();
  cri::ContainerConfig config = Sleeper();
  config.mutable_metadata()->set_attempt(3);
  (*config.mutable_labels())["part"] = "mast";
  (*config.mutable_annotations())["example.test/note"] = "a {\"b\": 1}";
  const std::string id = Create(pod, config);
  const cri::ContainerStatus status = Status(id);
  EXPECT_EQ(status.id(), id);
  EXPECT_EQ(status.metadata().name(), config.metadata().name());
  EXPECT_EQ(status.metadata().attempt(), 3u);
  EXPECT_EQ(status.labels().at("part"), "mast");
  EXPECT_EQ(status.annotations().at("example.test/note"), "a {\"b\": 1}");
  cri::ListContainersRequest request;
  request.mutable_filter()->set_id(id);
  const auto list = client_.Ask<cri::ListContainersResponse>(request);
  ASSERT_OK(list);
  ASSERT_EQ(list->containers_size(), 1);
  const cri::Container& listed = list->containers(0);
  EXPECT_EQ(listed.pod_sandbox_id(), pod);
  EXPECT_EQ(listed.metadata().attempt(), 3u);
  EXPECT_EQ(listed.labels().at("part"), "mast");
  EXPECT_EQ(listed.annotations().at("example.test/note"), "a {\"b\": 1}");
  EXPECT_EQ(listed.created_at(), status.created_at());
  EXPECT_THAT(listed.image().image(), Not(IsEmpty()));
}

PROMISE_TEST(ContainerTest, ItsImageIsTheOneOfImageStatus,
             "A container's image_ref leads to the image that it was made of, and image_id, where "
             "there is one, is that image's id, in status and list") {
  const std::string id = Create(RunPod(), Sleeper());
  const cri::Image image = ImageStatus(session_.BaseImage().value_or(""));
  const cri::ContainerStatus status = Status(id);
  EXPECT_EQ(ImageStatus(status.image_ref()).id(), image.id());
  cri::ListContainersRequest request;
  request.mutable_filter()->set_id(id);
  const auto list = client_.Ask<cri::ListContainersResponse>(request);
  ASSERT_OK(list);
  ASSERT_EQ(list->containers_size(), 1);
  EXPECT_EQ(ImageStatus(list->containers(0).image_ref()).id(), image.id());
  for (const std::string& given : {status.image_id(), list->containers(0).image_id()}) {
    if (!given.empty()) {
      EXPECT_EQ(given, image.id());
    }
  }
}

PROMISE_TEST(ContainerTest, ListsByPodStateAndLabels,
             "ListContainers gives those for which all parts of the filter hold, and an empty "
             "list when there are none") {
  const std::string pod = RunPod();
  const std::string other = RunPod();
  cri::ContainerConfig config = Sleeper();
  (*config.mutable_labels())["part"] = "mast";
  const std::string running = Start(pod, config);
  const std::string created = Create(pod, Sleeper());
  const std::string exited = Start(pod, Shell("true"));
  AwaitExit(exited);
  const std::string elsewhere = Create(other, Sleeper());
  EXPECT_THAT(ListContainers(OfPod(pod)), UnorderedElementsAre(running, created, exited));
  EXPECT_THAT(ListContainers(OfPod(other)), UnorderedElementsAre(elsewhere));
  for (const auto& [state, id] : {std::pair(cri::CONTAINER_RUNNING, running),
                                  {cri::CONTAINER_CREATED, created},
                                  {cri::CONTAINER_EXITED, exited}}) {
    cri::ContainerFilter filter = OfPod(pod);
    filter.mutable_state()->set_state(state);
    EXPECT_THAT(ListContainers(filter), UnorderedElementsAre(id));
  }
  cri::ContainerFilter labelled = OfPod(pod);
  (*labelled.mutable_label_selector())["part"] = "mast";
  EXPECT_THAT(ListContainers(labelled), UnorderedElementsAre(running));
  labelled.set_pod_sandbox_id(other);
  EXPECT_THAT(ListContainers(labelled), IsEmpty());
  cri::ContainerFilter by_id;
  by_id.set_id(created);
  EXPECT_THAT(ListContainers(by_id), UnorderedElementsAre(created));
}

PROMISE_TEST(ContainerTest, AStreamedListIsTheList,
             "StreamContainers gives what ListContainers gives for the same filter") {
  const std::string pod = RunPod();
  const std::string one = Create(pod, Sleeper());
  const std::string two = Create(pod, Sleeper());
  cri::StreamContainersRequest request;
  *request.mutable_filter() = OfPod(pod);
  const auto stream = client_.Open(request, absl::Seconds(30));
  cri::StreamContainersResponse part;
  std::vector<std::string> ids;
  while (stream->Read(&part)) {
    for (const cri::Container& container : part.containers()) ids.push_back(container.id());
  }
  const absl::Status status = stream->Finish();
  if (IsLacking(status)) GTEST_SKIP() << status.message();
  EXPECT_OK(status);
  EXPECT_THAT(ids, UnorderedElementsAre(one, two));
}

PROMISE_TEST(ContainerTest, IsStartedOnce, "StartContainer of one that isn't CREATED fails") {
  const std::string pod = RunPod();
  const std::string running = Start(pod, Sleeper());
  EXPECT_FALSE(TryStart(running).ok());
  EXPECT_EQ(Status(running).state(), cri::CONTAINER_RUNNING);
  const std::string exited = Start(pod, Shell("exit 4"));
  AwaitExit(exited);
  EXPECT_FALSE(TryStart(exited).ok());
  EXPECT_EQ(Status(exited).exit_code(), 4);
}

PROMISE_TEST(ContainerTest, NeedsAReadySandbox,
             "CreateContainer in a sandbox that has been stopped, or that isn't there, fails") {
  const std::string pod = RunPod();
  ASSERT_OK(StopPod(pod));
  EXPECT_FALSE(TryCreate(pod, Sleeper()).ok());
  EXPECT_FALSE(TryCreate(std::string(64, '0'), Sleeper()).ok());
}

PROMISE_TEST(ContainerTest, NeedsItsImage,
             "CreateContainer of an image that hasn't been pulled fails and makes no container") {
  const std::string pod = RunPod();
  cri::ContainerConfig config = Sleeper();
  config.mutable_image()->set_image(absl::StrCat("127.0.0.1:1/none-of-", session_.run(), ":v1"));
  const auto id = TryCreate(pod, config);
  EXPECT_FALSE(id.ok());
  EXPECT_THAT(id.status().message(), Not(IsEmpty()));
  EXPECT_THAT(ListContainers(OfPod(pod)), IsEmpty());
}

PROMISE_TEST(ContainerTest, ItsNameIsTakenOnceInItsPod,
             "A second container of the same name and attempt in one pod is refused; another "
             "attempt is a container of its own") {
  const std::string pod = RunPod();
  cri::ContainerConfig config = Sleeper();
  const std::string first = Create(pod, config);
  EXPECT_FALSE(TryCreate(pod, config).ok());
  config.mutable_metadata()->set_attempt(1);
  const std::string second = Create(pod, config);
  EXPECT_THAT(ListContainers(OfPod(pod)), UnorderedElementsAre(first, second));
}

PROMISE_TEST(ContainerTest, AMissingProgramIsNamed,
             "A container whose program isn't in the image fails at create or start, with a "
             "message that names the program, and is not RUNNING") {
  const std::string pod = RunPod();
  cri::ContainerConfig config = Sleeper();
  SetCommand(&config, {"/no/such/program"});
  const absl::Status status = TryCreateAndStart(pod, config);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("/no/such/program"));
  cri::ContainerFilter filter = OfPod(pod);
  filter.mutable_state()->set_state(cri::CONTAINER_RUNNING);
  EXPECT_THAT(ListContainers(filter), IsEmpty());
}

PROMISE_TEST(ContainerTest, RunsInItsWorkingDirectory,
             "working_dir is where the program starts; it is made when it isn't in the image") {
  cri::ContainerConfig config = Shell("pwd");
  config.set_working_dir("/var/made/on/demand");
  EXPECT_EQ(RunToEnd(config), "/var/made/on/demand\n");
}

PROMISE_TEST(ContainerTest, HasItsEnvironment,
             "envs are the program's environment, whatever bytes the values hold") {
  cri::ContainerConfig config = Shell("printf '%s|%s|' \"$ONE\" \"$TWO\"; echo \"${THREE-unset}\"");
  for (const auto& [key, value] :
       {std::pair("ONE", "a b=c"), {"TWO", "\"quoted\" $HOME"}, {"THREE", ""}}) {
    cri::KeyValue* env = config.add_envs();
    env->set_key(key);
    env->set_value(value);
  }
  EXPECT_EQ(RunToEnd(config), "a b=c|\"quoted\" $HOME|\n");
}

PROMISE_TEST(ContainerTest, CommandAndArgsReplaceTheImages,
             "command replaces the image's entrypoint and its cmd, args alone replace its cmd, and "
             "with neither both are the image's") {
  std::string why;
  Recipe recipe;
  recipe.entrypoint = {"/bin/echo", "entry"};
  recipe.command = {"cmd"};
  const std::string image = Publish(recipe, "entrypoint:v1", &why);
  if (image.empty()) GTEST_SKIP() << why;
  ASSERT_OK(TryPull(image));
  const std::string pod = RunPod();
  cri::ContainerConfig neither = Shell("");
  neither.mutable_image()->set_image(image);
  neither.clear_command();
  EXPECT_EQ(RunToEnd(neither, pod), "entry cmd\n");
  cri::ContainerConfig args = Shell("");
  args.mutable_image()->set_image(image);
  args.clear_command();
  args.add_args("own");
  EXPECT_EQ(RunToEnd(args, pod), "entry own\n");
  cri::ContainerConfig command = Shell("");
  command.mutable_image()->set_image(image);
  SetCommand(&command, {"/bin/echo", "mine"});
  EXPECT_EQ(RunToEnd(command, pod), "mine\n");
  cri::ContainerConfig both = Shell("");
  both.mutable_image()->set_image(image);
  SetCommand(&both, {"/bin/echo", "mine"});
  both.add_args("own");
  EXPECT_EQ(RunToEnd(both, pod), "mine own\n");
}

PROMISE_TEST(
    ContainerTest, TheImagesEnvironmentIsOverridden,
    "The image's environment and working directory hold unless the container has its own") {
  std::string why;
  Recipe recipe;
  recipe.environment = {"COLOUR=grey", "SHAPE=round"};
  recipe.working_directory = "/var";
  const std::string image = Publish(recipe, "environment:v1", &why);
  if (image.empty()) GTEST_SKIP() << why;
  ASSERT_OK(TryPull(image));
  cri::ContainerConfig config = Shell("echo $COLOUR $SHAPE; pwd");
  config.mutable_image()->set_image(image);
  cri::KeyValue* env = config.add_envs();
  env->set_key("COLOUR");
  env->set_value("red");
  EXPECT_EQ(RunToEnd(config), "red round\n/var\n");
}

PROMISE_TEST(ContainerTest, StdinThatIsNotAskedForIsAtItsEnd,
             "Without stdin, a program that reads sees the end at once") {
  EXPECT_EQ(RunToEnd(Shell("cat; echo end")), "end\n");
}

PROMISE_TEST(ContainerTest, ATerminalIsOne,
             "With tty, standard input, output and error are a terminal") {
  cri::ContainerConfig config = Shell("test -t 0 && test -t 1 && test -t 2 && exit 7");
  config.set_tty(true);
  config.set_stdin(true);
  EXPECT_EQ(AwaitExit(Start(RunPod(), config)).exit_code(), 7);
}

PROMISE_TEST(ContainerTest, VerboseStatusHasInfo,
             "ContainerStatus has info when it is asked to be verbose") {
  const std::string id = Create(RunPod(), Sleeper());
  cri::ContainerStatusRequest request;
  request.set_container_id(id);
  request.set_verbose(true);
  const auto verbose = client_.Ask<cri::ContainerStatusResponse>(request);
  ASSERT_OK(verbose);
  EXPECT_GT(verbose->info_size(), 0);
}

PROMISE_TEST(ContainerTest, AnUpdateShowsInItsStatus,
             "UpdateContainerResources changes a running container, and its status shows the "
             "values that hold from then on") {
  cri::ContainerConfig config = Sleeper();
  config.mutable_linux()->mutable_resources()->set_memory_limit_in_bytes(64 << 20);
  const std::string id = Start(RunPod(), config);
  cri::UpdateContainerResourcesRequest request;
  request.set_container_id(id);
  request.mutable_linux()->set_memory_limit_in_bytes(96 << 20);
  request.mutable_linux()->set_cpu_quota(50000);
  request.mutable_linux()->set_cpu_period(100000);
  EXPECT_OK(client_.Ask<cri::UpdateContainerResourcesResponse>(request));
  const cri::ContainerStatus status = Status(id);
  EXPECT_EQ(status.state(), cri::CONTAINER_RUNNING);
  ASSERT_TRUE(status.resources().has_linux());
  const cri::LinuxContainerResources& shown = status.resources().linux();
  EXPECT_EQ(shown.memory_limit_in_bytes(), 96 << 20);
  EXPECT_EQ(shown.cpu_quota(), 50000);
  EXPECT_EQ(shown.cpu_period(), 100000);
}

PROMISE_TEST(ContainerTest, HasItsOomScore, "oom_score_adj is that of the container's processes") {
  cri::ContainerConfig config = Shell("cat /proc/self/oom_score_adj");
  config.mutable_linux()->mutable_resources()->set_oom_score_adj(789);
  EXPECT_EQ(RunToEnd(config), "789\n");
}

PROMISE_TEST(ContainerTest, WithoutALogPathItRuns,
             "A container without a log_path runs, and no log is written") {
  cri::ContainerConfig config = Shell("echo unheard; exit 6");
  config.clear_log_path();
  EXPECT_EQ(AwaitExit(Start(RunPod(), config)).exit_code(), 6);
}

}  // namespace
}  // namespace plimsoll::conformance
