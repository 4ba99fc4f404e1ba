// Pod sandboxes: life cycle, lists and filters, stored data.
#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "conformance/cri_test.h"

namespace plimsoll::conformance {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class SandboxTest : public CriTest {
 protected:
  cri::PodSandboxFilter OfRun() {
    cri::PodSandboxFilter filter;
    (*filter.mutable_label_selector())[kRunLabel] = session_.run();
    return filter;
  }
};

PROMISE_TEST(SandboxTest, IsReadyOnceItRuns,
             "A sandbox that RunPodSandbox has made is READY, with its metadata and the time at "
             "which it was made") {
  const int64_t before = absl::GetCurrentTimeNanos();
  const cri::PodSandboxConfig config = PodConfig();
  const std::string pod = RunPod(config);
  const cri::PodSandboxStatus status = PodStatus(pod);
  EXPECT_EQ(status.id(), pod);
  EXPECT_EQ(status.state(), cri::SANDBOX_READY);
  EXPECT_GE(status.created_at(), before);
  EXPECT_LE(status.created_at(), absl::GetCurrentTimeNanos());
  EXPECT_EQ(status.metadata().name(), config.metadata().name());
  EXPECT_EQ(status.metadata().uid(), config.metadata().uid());
  EXPECT_EQ(status.metadata().namespace_(), config.metadata().namespace_());
  EXPECT_EQ(status.metadata().attempt(), 0u);
}

PROMISE_TEST(SandboxTest, ShowsItsNamespaces,
             "PodSandboxStatus shows the namespace options that the sandbox was made with") {
  cri::PodSandboxConfig config = PodConfig();
  Security(&config)->mutable_namespace_options()->set_ipc(cri::NODE);
  const cri::NamespaceOption shown = PodStatus(RunPod(config)).linux().namespaces().options();
  EXPECT_EQ(shown.network(), cri::NODE);
  EXPECT_EQ(shown.pid(), cri::CONTAINER);
  EXPECT_EQ(shown.ipc(), cri::NODE);
}

PROMISE_TEST(SandboxTest, KeepsLabelsAndAnnotations,
             "Labels and annotations of a sandbox come back as given, in status and list") {
  cri::PodSandboxConfig config = PodConfig();
  (*config.mutable_labels())["tier"] = "front";
  (*config.mutable_annotations())["example.test/note"] = "two words = \"quoted\"";
  (*config.mutable_annotations())["example.test/empty"] = "";
  const std::string pod = RunPod(config);
  const cri::PodSandboxStatus status = PodStatus(pod);
  EXPECT_EQ(status.labels().at("tier"), "front");
  EXPECT_EQ(status.labels().size(), config.labels().size());
  EXPECT_EQ(status.annotations().at("example.test/note"), "two words = \"quoted\"");
  EXPECT_EQ(status.annotations().at("example.test/empty"), "");
  cri::ListPodSandboxRequest request;
  request.mutable_filter()->set_id(pod);
  const auto list = client_.Ask<cri::ListPodSandboxResponse>(request);
  ASSERT_OK(list);
  ASSERT_EQ(list->items_size(), 1);
  EXPECT_EQ(list->items(0).labels().at("tier"), "front");
  EXPECT_EQ(list->items(0).annotations().at("example.test/note"), "two words = \"quoted\"");
  EXPECT_EQ(list->items(0).metadata().name(), config.metadata().name());
  EXPECT_EQ(list->items(0).created_at(), status.created_at());
}

PROMISE_TEST(SandboxTest, ListsByLabels,
             "ListPodSandbox with a label selector gives those that have all of its labels") {
  cri::PodSandboxConfig both = PodConfig();
  (*both.mutable_labels())["tier"] = "front";
  (*both.mutable_labels())["zone"] = "a";
  cri::PodSandboxConfig one = PodConfig();
  (*one.mutable_labels())["tier"] = "front";
  const std::string pod_both = RunPod(both);
  const std::string pod_one = RunPod(one);
  const std::string pod_none = RunPod();
  EXPECT_THAT(ListPods(OfRun()), UnorderedElementsAre(pod_both, pod_one, pod_none));
  cri::PodSandboxFilter filter = OfRun();
  (*filter.mutable_label_selector())["tier"] = "front";
  EXPECT_THAT(ListPods(filter), UnorderedElementsAre(pod_both, pod_one));
  (*filter.mutable_label_selector())["zone"] = "a";
  EXPECT_THAT(ListPods(filter), UnorderedElementsAre(pod_both));
  (*filter.mutable_label_selector())["zone"] = "b";
  EXPECT_THAT(ListPods(filter), IsEmpty());
}

PROMISE_TEST(SandboxTest, ListsByState,
             "ListPodSandbox with a state gives the sandboxes in that state, and only them") {
  const std::string ready = RunPod();
  const std::string stopped = RunPod();
  ASSERT_OK(StopPod(stopped));
  cri::PodSandboxFilter filter = OfRun();
  filter.mutable_state()->set_state(cri::SANDBOX_READY);
  EXPECT_THAT(ListPods(filter), UnorderedElementsAre(ready));
  filter.mutable_state()->set_state(cri::SANDBOX_NOTREADY);
  EXPECT_THAT(ListPods(filter), UnorderedElementsAre(stopped));
}

PROMISE_TEST(SandboxTest, ListsById,
             "ListPodSandbox with an id gives that sandbox; with one that nobody has, or whose "
             "other conditions don't hold, an empty list") {
  const std::string pod = RunPod();
  RunPod();
  cri::PodSandboxFilter filter;
  filter.set_id(pod);
  EXPECT_THAT(ListPods(filter), UnorderedElementsAre(pod));
  filter.mutable_state()->set_state(cri::SANDBOX_NOTREADY);
  EXPECT_THAT(ListPods(filter), IsEmpty());
  filter.clear_state();
  filter.set_id(std::string(64, '0'));
  EXPECT_THAT(ListPods(filter), IsEmpty());
}

PROMISE_TEST(SandboxTest, ListsAllWithoutAFilter,
             "ListPodSandbox without a filter gives all sandboxes, whatever their state") {
  const std::string ready = RunPod();
  const std::string stopped = RunPod();
  ASSERT_OK(StopPod(stopped));
  const std::vector<std::string> all = ListPods({});
  EXPECT_THAT(all, Contains(ready));
  EXPECT_THAT(all, Contains(stopped));
}

PROMISE_TEST(SandboxTest, AStreamedListIsTheList,
             "StreamPodSandboxes gives what ListPodSandbox gives for the same filter") {
  const std::string one = RunPod();
  const std::string two = RunPod();
  cri::StreamPodSandboxesRequest request;
  *request.mutable_filter() = OfRun();
  const auto stream = client_.Open(request, absl::Seconds(30));
  cri::StreamPodSandboxesResponse part;
  std::vector<std::string> ids;
  while (stream->Read(&part)) {
    for (const cri::PodSandbox& pod : part.pod_sandboxes()) ids.push_back(pod.id());
  }
  const absl::Status status = stream->Finish();
  if (IsLacking(status)) GTEST_SKIP() << status.message();
  EXPECT_OK(status);
  EXPECT_THAT(ids, UnorderedElementsAre(one, two));
}

PROMISE_TEST(SandboxTest, StopMakesItNotReady,
             "StopPodSandbox leaves a sandbox that is NOTREADY and still has a status") {
  const std::string pod = RunPod();
  ASSERT_OK(StopPod(pod));
  EXPECT_EQ(PodStatus(pod).state(), cri::SANDBOX_NOTREADY);
}

PROMISE_TEST(SandboxTest, StopMayBeAskedAgain, "StopPodSandbox of a stopped sandbox is no error") {
  const std::string pod = RunPod();
  for (int i = 0; i < 3; ++i) EXPECT_OK(StopPod(pod));
}

PROMISE_TEST(SandboxTest, StopAfterRemovalIsNoError,
             "StopPodSandbox of a sandbox that has been removed is no error: nothing is left to "
             "be reclaimed") {
  const std::string pod = RunPod();
  ASSERT_OK(StopPod(pod));
  ASSERT_OK(RemovePod(pod));
  EXPECT_OK(StopPod(pod));
}

PROMISE_TEST(SandboxTest, StopEndsItsContainers,
             "StopPodSandbox ends containers that still run; they have exited when it returns") {
  const std::string pod = RunPod();
  const std::string willing = Start(pod, Sleeper());
  const std::string stubborn = Start(pod, Shell("trap '' TERM; sleep 100000"));
  ASSERT_OK(StopPod(pod));
  EXPECT_EQ(Status(willing).state(), cri::CONTAINER_EXITED);
  EXPECT_EQ(Status(stubborn).state(), cri::CONTAINER_EXITED);
}

PROMISE_TEST(SandboxTest, RemoveMayBeAskedAgain,
             "RemovePodSandbox of a sandbox that has been removed is no error") {
  const std::string pod = RunPod();
  ASSERT_OK(StopPod(pod));
  for (int i = 0; i < 3; ++i) EXPECT_OK(RemovePod(pod));
}

PROMISE_TEST(SandboxTest, RemovalTakesItsContainersWithIt,
             "RemovePodSandbox ends by force what still runs in the sandbox and removes it with "
             "all its containers") {
  const std::string pod = RunPod();
  const std::string running = Start(pod, Sleeper());
  const std::string created = Create(pod, Sleeper());
  ASSERT_OK(RemovePod(pod));
  EXPECT_THAT(PodsOfRun(), Not(Contains(pod)));
  for (const std::string& id : {running, created}) {
    EXPECT_TRUE(absl::IsNotFound(TryStatus(id).status())) << TryStatus(id).status();
  }
}

PROMISE_TEST(SandboxTest, ARemovedOneIsNotFound,
             "PodSandboxStatus of a sandbox that isn't there is NOT_FOUND") {
  const std::string pod = RunPod();
  ASSERT_OK(StopPod(pod));
  ASSERT_OK(RemovePod(pod));
  EXPECT_TRUE(absl::IsNotFound(TryPodStatus(pod).status())) << TryPodStatus(pod).status();
}

PROMISE_TEST(SandboxTest, ItsNameIsTakenOnce,
             "A second sandbox with the same name, namespace, uid and attempt is refused, and the "
             "first is as before") {
  const cri::PodSandboxConfig config = PodConfig();
  const std::string pod = RunPod(config);
  EXPECT_FALSE(TryRunPod(config).ok());
  EXPECT_THAT(PodsOfRun(), UnorderedElementsAre(pod));
  EXPECT_EQ(PodStatus(pod).state(), cri::SANDBOX_READY);
}

PROMISE_TEST(SandboxTest, AnotherAttemptIsAnother,
             "The same pod with a higher attempt is a sandbox of its own, beside the stopped one") {
  cri::PodSandboxConfig config = PodConfig();
  const std::string first = RunPod(config);
  ASSERT_OK(StopPod(first));
  config.mutable_metadata()->set_attempt(1);
  const std::string second = RunPod(config);
  EXPECT_NE(first, second);
  EXPECT_EQ(PodStatus(second).metadata().attempt(), 1u);
  EXPECT_THAT(PodsOfRun(), UnorderedElementsAre(first, second));
}

PROMISE_TEST(SandboxTest, WithoutMetadataItIsRefused,
             "RunPodSandbox without metadata fails with a message, and no sandbox is made") {
  cri::PodSandboxConfig config = PodConfig();
  config.clear_metadata();
  const auto id = TryRunPod(config);
  EXPECT_FALSE(id.ok());
  EXPECT_THAT(id.status().message(), Not(IsEmpty()));
  EXPECT_THAT(PodsOfRun(), IsEmpty());
}

PROMISE_TEST(SandboxTest, VerboseStatusHasInfo,
             "PodSandboxStatus has info when it is asked to be verbose") {
  const std::string pod = RunPod();
  cri::PodSandboxStatusRequest request;
  request.set_pod_sandbox_id(pod);
  const auto plain = client_.Ask<cri::PodSandboxStatusResponse>(request);
  ASSERT_OK(plain);
  EXPECT_EQ(plain->info_size(), 0);
  request.set_verbose(true);
  const auto verbose = client_.Ask<cri::PodSandboxStatusResponse>(request);
  ASSERT_OK(verbose);
  EXPECT_GT(verbose->info_size(), 0);
}

PROMISE_TEST(SandboxTest, StatusTellsItsContainersForEventedKubelets,
             "A PodSandboxStatus with a timestamp also has the statuses of all its containers") {
  const std::string pod = RunPod();
  const std::string id = Start(pod, Sleeper());
  cri::PodSandboxStatusRequest request;
  request.set_pod_sandbox_id(pod);
  const auto status = client_.Ask<cri::PodSandboxStatusResponse>(request);
  ASSERT_OK(status);
  if (status->timestamp() == 0) GTEST_SKIP() << "the runtime gives no timestamp with the status";
  ASSERT_EQ(status->containers_statuses_size(), 1);
  EXPECT_EQ(status->containers_statuses(0).id(), id);
  EXPECT_EQ(status->containers_statuses(0).state(), cri::CONTAINER_RUNNING);
}

PROMISE_TEST(SandboxTest, ManyAtOnce,
             "Sandboxes with a container each can be made, stopped and removed at the same time") {
  constexpr int kPods = 10;
  std::vector<cri::PodSandboxConfig> configs;
  for (int i = 0; i < kPods; ++i) configs.push_back(PodConfig());
  const cri::ContainerConfig container = Sleeper();
  std::vector<absl::Status> results(kPods);
  std::vector<std::thread> threads;
  // The fixture's calls are for one thread; these use the client itself.
  const auto life = [&](const cri::PodSandboxConfig& config) -> absl::Status {
    cri::RunPodSandboxRequest run;
    *run.mutable_config() = config;
    const auto pod = client_.Ask<cri::RunPodSandboxResponse>(run);
    if (!pod.ok()) return pod.status();
    cri::CreateContainerRequest create;
    create.set_pod_sandbox_id(pod->pod_sandbox_id());
    *create.mutable_config() = container;
    *create.mutable_sandbox_config() = config;
    *Security(create.mutable_config())->mutable_namespace_options() =
        config.linux().security_context().namespace_options();
    const auto created = client_.Ask<cri::CreateContainerResponse>(create);
    if (!created.ok()) return created.status();
    absl::Status status = TryStart(created->container_id());
    if (status.ok()) status = StopPod(pod->pod_sandbox_id());
    if (status.ok()) status = RemovePod(pod->pod_sandbox_id());
    return status;
  };
  for (size_t i = 0; i < kPods; ++i) {
    threads.emplace_back([&, i] { results[i] = life(configs[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& result : results) EXPECT_OK(result);
}

}  // namespace
}  // namespace plimsoll::conformance
