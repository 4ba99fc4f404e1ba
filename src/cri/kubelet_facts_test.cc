#include "cri/kubelet_facts.h"

#include <deque>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "base/wait_until_for_test.h"
#include "cri/services_fixture_for_test.h"
#include "gmock/gmock.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using ::testing::_;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::NiceMock;
using ::testing::Return;

constexpr char kUid[] = "6c7ca2b0-17a3-4c5e-9d7e-0123456789ab";

// Kubelet's sockets: answers at once, or when the test says so. Thread-safe.
class FakeSource {
 public:
  using Done = std::function<void(FactsSource::Answer)>;

  FactsSource Source() {
    return {.ask =
                [this](const runtime::PodIdentity& pod) {
                  absl::MutexLock lock(&mutex_);
                  asked_.push_back(pod.uid);
                  return answer_;
                },
            .ask_later =
                [this](const runtime::PodIdentity& pod, Done done) {
                  absl::MutexLock lock(&mutex_);
                  asked_later_.push_back(pod.uid);
                  waiting_.push_back(std::move(done));
                }};
  }
  void Set(FactsSource::Answer answer) {
    absl::MutexLock lock(&mutex_);
    answer_ = std::move(answer);
  }
  std::vector<std::string> asked() {
    absl::MutexLock lock(&mutex_);
    return asked_;
  }
  size_t asked_later() {
    absl::MutexLock lock(&mutex_);
    return asked_later_.size();
  }
  // Ends the oldest question.
  void Answer(FactsSource::Answer answer) {
    Done done;
    {
      absl::MutexLock lock(&mutex_);
      ASSERT_FALSE(waiting_.empty());
      done = std::move(waiting_.front());
      waiting_.pop_front();
    }
    done(std::move(answer));
  }

 private:
  absl::Mutex mutex_;
  FactsSource::Answer answer_ ABSL_GUARDED_BY(mutex_) = absl::UnavailableError("no kubelet");
  std::vector<std::string> asked_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> asked_later_ ABSL_GUARDED_BY(mutex_);
  std::deque<Done> waiting_ ABSL_GUARDED_BY(mutex_);
};

runtime::PodFacts Facts(const std::string& cpu) {
  runtime::PodFacts facts;
  facts.has_spec = true;
  facts.resources.containers = {
      {.name = "web", .type = runtime::AnnouncedContainer::Type::kContainer}};
  facts.resources.containers[0].kubernetes_resources.limits = {{"cpu", cpu}};
  return facts;
}

runtime::SandboxRecord Pod(const std::string& id = "pod1") {
  runtime::SandboxRecord record;
  record.id = id;
  record.spec.name = "web-0";
  record.spec.uid = kUid;
  record.spec.pod_namespace = "default";
  return record;
}

TEST(MayBeKubeletsTest, TheNamesDecide) {
  const auto may = [](const std::string& uid, const std::string& name, const std::string& space) {
    return MayBeKubelets({.uid = uid, .name = name, .pod_namespace = space});
  };
  EXPECT_TRUE(may(kUid, "web-0", "default"));
  EXPECT_TRUE(may("0123456789abcdef0123456789abcdef", "etcd-node.example", "kube-system"))
      << "a static pod";
  EXPECT_TRUE(may(kUid, std::string(253, 'a'), "default"));
  EXPECT_FALSE(may("", "web-0", "default"));
  EXPECT_FALSE(may("uid-1", "web-0", "default"));
  EXPECT_FALSE(may("6C7CA2B0-17A3-4C5E-9D7E-0123456789AB", "web-0", "default"));
  EXPECT_FALSE(may("6c7ca2b0x17a3x4c5ex9d7ex0123456789ab", "web-0", "default"));
  EXPECT_FALSE(may(kUid, "", "default"));
  EXPECT_FALSE(may(kUid, "Web", "default"));
  EXPECT_FALSE(may(kUid, "a..b", "default"));
  EXPECT_FALSE(may(kUid, "-a", "default"));
  EXPECT_FALSE(may(kUid, std::string(254, 'a'), "default"));
  EXPECT_FALSE(may(kUid, "web-0", "a.b"));
  EXPECT_FALSE(may(kUid, "web-0", "../x"));
  EXPECT_FALSE(may(kUid, "web-0", std::string(64, 'a')));
}

class KubeletFactsTest : public ::testing::Test {
 protected:
  void AwaitEnd() {
    EXPECT_TRUE(WaitUntil([&] { return facts_->UnderWay() == 0; }));
  }

  NiceMock<MockEngine> engine_;
  FakeSource source_;
  std::unique_ptr<KubeletFacts> facts_ = std::make_unique<KubeletFacts>(&engine_, source_.Source());
};

TEST_F(KubeletFactsTest, ANewPodIsAskedFor) {
  EXPECT_EQ(facts_->AskFor(Pod().spec), std::nullopt) << "kubelet tells nothing";
  source_.Set(Facts("1"));
  EXPECT_EQ(facts_->AskFor(Pod().spec), Facts("1"));
  runtime::SandboxSpec announcing = Pod().spec;
  announcing.pod_resources = Facts("1").resources;
  EXPECT_EQ(facts_->AskFor(announcing), std::nullopt);
  runtime::SandboxSpec foreign = Pod().spec;
  foreign.uid = "uid-1";
  EXPECT_EQ(facts_->AskFor(foreign), std::nullopt);
  EXPECT_EQ(source_.asked().size(), 2u);
}

TEST_F(KubeletFactsTest, ASpecThatContradictsItselfIsNone) {
  runtime::PodFacts lying = Facts("a lot");
  lying.grants["web"].exclusive_cpus = "1";
  source_.Set(lying);
  const std::optional<runtime::PodFacts> told = facts_->AskFor(Pod().spec);
  ASSERT_TRUE(told.has_value());
  EXPECT_FALSE(told->has_spec);
  EXPECT_THAT(told->resources.containers, IsEmpty());
  EXPECT_EQ(told->grants, lying.grants);
  EXPECT_THAT(told->missing,
              ::testing::ElementsAre(::testing::HasSubstr("kubelet's spec of the pod")));
}

TEST_F(KubeletFactsTest, ALaterAnswerReachesTheEngine) {
  EXPECT_CALL(engine_, TakeFacts(absl::string_view("pod1"), Facts("2"))).Times(1);
  facts_->AskAgain(Pod());
  EXPECT_EQ(facts_->UnderWay(), 1u);
  source_.Answer(Facts("2"));
  AwaitEnd();
}

TEST_F(KubeletFactsTest, CallsDuringAQuestionCauseOneMore) {
  EXPECT_CALL(engine_, TakeFacts(_, Facts("1"))).Times(1);
  EXPECT_CALL(engine_, TakeFacts(_, Facts("2"))).Times(1);
  for (int i = 0; i < 10; ++i) facts_->AskAgain(Pod());
  facts_->AskAgain(Pod("pod2"));
  EXPECT_EQ(source_.asked_later(), 2u);
  source_.Answer(Facts("1"));
  EXPECT_TRUE(WaitUntil([&] { return source_.asked_later() == 3; }));
  source_.Answer(absl::UnavailableError("gone"));  // of pod2
  source_.Answer(Facts("2"));
  AwaitEnd();
  EXPECT_EQ(source_.asked_later(), 3u);
}

TEST_F(KubeletFactsTest, WithoutAnAnswerTheWordBeforeStays) {
  EXPECT_CALL(engine_, TakeFacts).Times(0);
  facts_->AskAgain(Pod());
  source_.Answer(absl::DeadlineExceededError("slow"));
  AwaitEnd();
}

TEST_F(KubeletFactsTest, ThePodMayBeGoneByThen) {
  ON_CALL(engine_, TakeFacts).WillByDefault(Return(absl::NotFoundError("gone")));
  facts_->AskAgain(Pod());
  source_.Answer(Facts("1"));
  AwaitEnd();
}

TEST_F(KubeletFactsTest, AnAnswerAfterTheEndIsDropped) {
  EXPECT_CALL(engine_, TakeFacts).Times(0);
  facts_->AskAgain(Pod());
  facts_.reset();
  source_.Answer(Facts("1"));
}

TEST_F(KubeletFactsTest, WithoutASourceNothingIsAsked) {
  KubeletFacts none(&engine_, FactsSource());
  EXPECT_FALSE(none.can_ask());
  EXPECT_EQ(none.AskFor(Pod().spec), std::nullopt);
  none.AskAgain(Pod());
  EXPECT_EQ(none.UnderWay(), 0u);
}

// The services ask, over a mock engine.
class KubeletServicesTest : public ServicesTest {
 protected:
  void SetUp() override {
    options_.info.facts = source_.Source();
    options_.info.pod_resources = gate_;
    source_.Set(Facts("1"));
    config_.mutable_metadata()->set_name("web-0");
    config_.mutable_metadata()->set_uid(kUid);
    config_.mutable_metadata()->set_namespace_("default");
    record_ = Pod();
    ON_CALL(engine_, RunSandbox).WillByDefault(Return("pod1"));
    ON_CALL(engine_, CreateContainer).WillByDefault(Return("c1"));
    runtime::ContainerRecord container;
    container.id = "c1";
    container.sandbox_id = "pod1";
    ON_CALL(engine_, GetContainer).WillByDefault(Return(container));
    ServicesTest::SetUp();
  }
  // The record that the engine has of a pod of `config_`.
  void HavePod() {
    record_.client_config = config_.SerializeAsString();
    ON_CALL(engine_, GetSandbox).WillByDefault(Return(record_));
  }
  void Run(const v1::PodSandboxConfig& config) {
    v1::RunPodSandboxRequest request;
    *request.mutable_config() = config;
    v1::RunPodSandboxResponse response;
    EXPECT_TRUE(Call(runtime_, &RuntimeStub::RunPodSandbox, request, &response).ok());
  }
  void CreateAndUpdate() {
    v1::CreateContainerRequest create;
    create.set_pod_sandbox_id("pod1");
    create.mutable_config()->mutable_metadata()->set_name("web");
    create.mutable_config()->mutable_image()->set_image("busybox");
    v1::CreateContainerResponse created;
    EXPECT_TRUE(Call(runtime_, &RuntimeStub::CreateContainer, create, &created).ok());
    v1::UpdateContainerResourcesRequest update;
    update.set_container_id("c1");
    v1::UpdateContainerResourcesResponse updated;
    EXPECT_TRUE(Call(runtime_, &RuntimeStub::UpdateContainerResources, update, &updated).ok());
    v1::UpdatePodSandboxResourcesRequest pod;
    pod.set_pod_sandbox_id("pod1");
    v1::UpdatePodSandboxResourcesResponse pod_updated;
    EXPECT_TRUE(Call(runtime_, &RuntimeStub::UpdatePodSandboxResources, pod, &pod_updated).ok());
  }

  bool gate_ = true;
  FakeSource source_;
  v1::PodSandboxConfig config_;
  runtime::SandboxRecord record_;
};

TEST_F(KubeletServicesTest, APodThatAnnouncesNothingIsAskedForAndKeptCurrent) {
  EXPECT_CALL(engine_, RunSandbox(Field(&runtime::SandboxSpec::facts, Facts("1")), _));
  Run(config_);
  HavePod();
  CreateAndUpdate();
  EXPECT_EQ(source_.asked_later(), 1u) << "the others wait for its answer";
  EXPECT_CALL(engine_, TakeFacts(absl::string_view("pod1"), Facts("2"))).Times(1);
  EXPECT_CALL(engine_, TakeFacts(absl::string_view("pod1"), Facts("3"))).Times(1);
  source_.Answer(Facts("2"));
  EXPECT_TRUE(WaitUntil([&] { return source_.asked_later() == 2; }));
  source_.Answer(Facts("3"));
  server_.reset();  // waits for the pool
}

TEST_F(KubeletServicesTest, AnAnnouncementNeedsNoKubelet) {
  v1::PodSandboxConfig empty_message = config_;
  empty_message.mutable_pod_resources();
  v1::PodSandboxConfig annotated = config_;
  (*annotated.mutable_annotations())["plimsoll.dev/pod-resources"] = R"({"containers":[]})";
  for (const v1::PodSandboxConfig& config : {empty_message, annotated}) {
    Run(config);
    config_ = config;
    HavePod();
    CreateAndUpdate();
  }
  EXPECT_THAT(source_.asked(), IsEmpty());
  EXPECT_EQ(source_.asked_later(), 0u);
}

TEST_F(KubeletServicesTest, ARefusedRequestAsksNothing) {
  v1::RunPodSandboxRequest request;
  *request.mutable_config() = config_;
  request.set_runtime_handler("unknown");
  EXPECT_EQ(Code(runtime_, &RuntimeStub::RunPodSandbox, request),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(source_.asked(), IsEmpty());
}

class KubeletServicesWithoutGateTest : public KubeletServicesTest {
 protected:
  KubeletServicesWithoutGateTest() { gate_ = false; }
};

TEST_F(KubeletServicesWithoutGateTest, NothingIsAsked) {
  Run(config_);
  HavePod();
  CreateAndUpdate();
  EXPECT_THAT(source_.asked(), IsEmpty());
  EXPECT_EQ(source_.asked_later(), 0u);
}

}  // namespace
}  // namespace plimsoll::cri
