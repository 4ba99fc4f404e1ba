#include "cri/class_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "qos/class_devices.h"
#include "qos/fake_type_for_test.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

constexpr char kGold[] = "classes.plimsoll.dev/rdt=gold";

// Gives no class for an annotation.
class StrictType : public qos::FakeType {
 public:
  using qos::FakeType::FakeType;
  absl::Status CheckSource(absl::string_view, qos::ClassSource source) const override {
    if (source == qos::ClassSource::kMessage) return absl::OkStatus();
    return absl::FailedPreconditionError("denied to annotations");
  }
};

class ClassRequestsTest : public ::testing::Test {
 protected:
  ClassRequestsTest() {
    std::vector<std::unique_ptr<qos::ClassType>> types;
    types.push_back(std::make_unique<qos::FakeType>(
        &kernel_, qos::FakeType::Options{.default_class = "bronze"}));
    types.push_back(std::make_unique<qos::FakeType>(
        &kernel_,
        qos::FakeType::Options{.name = "net-prio", .classes = {{"a/b", 0, ""}, {"c", 0, ""}}}));
    types.push_back(
        std::make_unique<StrictType>(&kernel_, qos::FakeType::Options{.name = "blockio"}));
    types.push_back(std::make_unique<qos::FakeType>(
        &kernel_, qos::FakeType::Options{.name = "lane", .level = qos::Level::kPod}));
    registry_ = *qos::Registry::Create(
        std::move(types),
        {{.level = qos::Level::kContainer, .name = "lost", .reason = "its file is gone"}});
    support_.registry = registry_.get();
    config_.mutable_metadata()->set_name("web");
    pod_.mutable_metadata()->set_name("pod");
    pod_.mutable_metadata()->set_namespace_("default");
    pod_.mutable_metadata()->set_uid("u-1");
    Annotate("kubernetes.io/config.source", "api");
    spec_.classes_from_scheduler = true;
  }

  void Annotate(const std::string& key, const std::string& value) {
    (*pod_.mutable_annotations())[key] = value;
  }
  void Say(const std::string& type, const std::string& name) {
    (*config_.mutable_class_resources()->mutable_classes())[type] = name;
  }
  absl::StatusOr<qos::ClassNames> Classes(const std::vector<std::string>& devices = {}) {
    warnings_.clear();
    return ContainerClassesFrom(config_, devices, {pod_, spec_, [this] { return containers_; }},
                                support_, &warnings_);
  }
  absl::StatusOr<qos::ClassNames> PodClasses() {
    runtime::SandboxSpec spec;
    spec.classes_from_scheduler = SchedulerGivesOut(support_);
    return PodClassesFrom(pod_, spec, support_);
  }
  // Another container of the pod.
  void Have(const std::string& name, const std::vector<std::string>& devices) {
    runtime::ContainerRecord& record = containers_.emplace_back();
    record.spec.name = name;
    record.spec.cdi_devices = devices;
  }
  // Kubelet's spec of the pod.
  void TellSpec(const std::vector<std::string>& containers,
                const std::vector<std::string>& ephemeral) {
    spec_.facts.emplace().has_spec = true;
    spec_.facts->ephemeral = ephemeral;
    for (const std::string& name : containers) {
      spec_.facts->resources.containers.emplace_back().name = name;
    }
  }
  // plimsoll-kube's word for the pod's uid.
  void Tell(const absl::StatusOr<qos::ClassNames>& classes) {
    support_.told_pod_classes = [classes](const std::string& uid) {
      return uid == "u-1" ? classes : qos::ClassNames();
    };
  }

  qos::FakeKernel kernel_;
  std::unique_ptr<qos::Registry> registry_;
  ClassSupport support_;
  v1::ContainerConfig config_;
  v1::PodSandboxConfig pod_;
  runtime::SandboxSpec spec_;
  std::vector<runtime::ContainerRecord> containers_;
  std::vector<std::string> warnings_;  // of the last Classes()
};

constexpr char kAnnotation[] = "rdt.resources.beta.kubernetes.io/container.web";

TEST_F(ClassRequestsTest, CdiDevicesOfOurKindAreClasses) {
  EXPECT_THAT(*Classes({"vendor.com/gpu=0", kGold, kGold}), ElementsAre(Pair("rdt", "gold")));
  const std::string odd = qos::CdiName({qos::Level::kContainer, "net-prio", "a/b"});
  ASSERT_THAT(odd, HasSubstr("--"));
  EXPECT_THAT(*Classes({odd, kGold}), ElementsAre(Pair("net-prio", "a/b"), Pair("rdt", "gold")));
  EXPECT_THAT(*Classes({"vendor.com/gpu=0"}), IsEmpty());
}

TEST_F(ClassRequestsTest, SourcesThatAgreeAreOne) {
  Annotate(kAnnotation, "gold");
  EXPECT_THAT(*Classes({kGold}), ElementsAre(Pair("rdt", "gold")));
  Say("rdt", "gold");
  Say("net-prio", "c");
  EXPECT_THAT(*Classes({kGold}), ElementsAre(Pair("net-prio", "c"), Pair("rdt", "gold")));
  // A message without the type says nothing about it; one with an empty class names the default.
  config_.clear_class_resources();
  config_.mutable_class_resources();
  EXPECT_THAT(*Classes({kGold}), ElementsAre(Pair("rdt", "gold")));
  Say("rdt", "");
  EXPECT_THAT(*Classes({"classes.plimsoll.dev/rdt=bronze"}), ElementsAre(Pair("rdt", "bronze")));
}

TEST_F(ClassRequestsTest, SourcesThatDisagreeAreBothNamed) {
  Annotate(kAnnotation, "silver");
  const absl::Status annotated = Classes({kGold}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(annotated));
  EXPECT_EQ(annotated.message(),
            "container web: CDI device classes.plimsoll.dev/rdt=gold asks for class \"gold\" of "
            "type \"rdt\", but annotation rdt.resources.beta.kubernetes.io/container.web for class "
            "\"silver\"; a container has one class of a type: name the same class in both, or "
            "leave one out");
  Say("rdt", "silver");
  const absl::Status said = Classes({kGold}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(said));
  EXPECT_THAT(std::string(said.message()),
              HasSubstr("but config.class_resources.classes for class \"silver\";"));
  Say("rdt", "");
  EXPECT_THAT(std::string(Classes({kGold}).status().message()), HasSubstr("for the default class"));
  config_.mutable_class_resources()->clear_classes();
  const absl::Status two = Classes({kGold, "classes.plimsoll.dev/rdt=silver"}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(two));
  EXPECT_THAT(std::string(two.message()),
              HasSubstr("CDI device classes.plimsoll.dev/rdt=gold asks for class \"gold\" of type "
                        "\"rdt\", but CDI device classes.plimsoll.dev/rdt=silver for"));
}

TEST_F(ClassRequestsTest, ANodeWithoutTheClassSaysSo) {
  const absl::Status unknown = Classes({"classes.plimsoll.dev/rdt=tin"}).status();
  EXPECT_TRUE(absl::IsNotFound(unknown));
  EXPECT_EQ(unknown.message(),
            "container web: CDI device classes.plimsoll.dev/rdt=tin: type \"rdt\" has no class "
            "\"tin\"; there are: \"gold\", \"silver\", \"bronze\"; if the scheduler gave the class "
            "out, this node has lost it since");
  const absl::Status lost = Classes({"classes.plimsoll.dev/lost=gold"}).status();
  EXPECT_TRUE(absl::IsNotFound(lost));
  EXPECT_THAT(std::string(lost.message()),
              HasSubstr("(lost is configured, but: its file is gone)"));
  // A hash says nothing by itself.
  const absl::Status hashed =
      Classes({qos::CdiName({qos::Level::kContainer, "lost", "a/b"})}).status();
  EXPECT_TRUE(absl::IsNotFound(hashed));
  EXPECT_THAT(std::string(hashed.message()), HasSubstr("there are classes.plimsoll.dev/blockio="));
  EXPECT_THAT(std::string(hashed.message()),
              HasSubstr("no classes of the types lost (its file is gone)"));
  EXPECT_EQ(registry_->Refusals().at({"rdt", "unknown_class"}), 1u);
}

TEST_F(ClassRequestsTest, AClassOfPodsIsNotForAContainer) {
  const absl::Status status = Classes({"classes.plimsoll.dev/pod.lane=gold"}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("container web: CDI device classes.plimsoll.dev/pod.lane=gold: is a class "
                        "of pods, which a container can't have"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("lane.class.plimsoll.dev/sandbox"));
}

TEST_F(ClassRequestsTest, SwitchedOffADeviceIsIgnored) {
  support_.registry = nullptr;
  Tell(qos::ClassNames{{"lane", "gold"}});
  EXPECT_THAT(*Classes({kGold, "classes.plimsoll.dev/rdt=silver"}), IsEmpty());
  EXPECT_THAT(*PodClasses(), IsEmpty());
}

// The grant decides: the annotation adds nothing that would need a permission.
TEST_F(ClassRequestsTest, AGrantedAnnotationNeedsNoPermission) {
  Annotate("net-prio.class.plimsoll.dev/container.web", "c");
  Annotate("blockio.resources.beta.kubernetes.io/pod", "gold");
  EXPECT_TRUE(absl::IsFailedPrecondition(Classes().status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(Classes({"classes.plimsoll.dev/net-prio=c"}).status()));
  EXPECT_THAT(*Classes({"classes.plimsoll.dev/net-prio=c", "classes.plimsoll.dev/blockio=gold"}),
              ElementsAre(Pair("blockio", "gold"), Pair("net-prio", "c")));
}

TEST_F(ClassRequestsTest, FromTheSchedulerAnAnnotationNeedsItsGrant) {
  Annotate(kAnnotation, "gold");
  EXPECT_THAT(*Classes(), ElementsAre(Pair("rdt", "gold"))) << "auto: nobody has told";
  support_.scheduled = [] { return false; };
  EXPECT_THAT(*Classes(), ElementsAre(Pair("rdt", "gold")));
  support_.scheduled = [] { return true; };
  const absl::Status refused = Classes().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_EQ(
      refused.message(),
      "container web: annotation rdt.resources.beta.kubernetes.io/container.web asks for "
      "class \"gold\" of type \"rdt\", which no claim of the container grants; on this node "
      "the cluster's scheduler gives out classes (classes.from): ask for the extended "
      "resource class.plimsoll.dev/rdt.gold in the limits of the container, and leave the node "
      "to the scheduler: with spec.nodeName no claim is made");
  EXPECT_EQ(registry_->Refusals().at({"rdt", "annotation"}), 1u);
  support_.from = qos::ClassesFrom::kAny;
  EXPECT_TRUE(Classes().ok());
  support_.scheduled = nullptr;
  support_.from = qos::ClassesFrom::kScheduler;
  EXPECT_TRUE(absl::IsFailedPrecondition(Classes().status()));
  EXPECT_THAT(*Classes({kGold}), ElementsAre(Pair("rdt", "gold")));
  EXPECT_TRUE(absl::IsFailedPrecondition(Classes({"classes.plimsoll.dev/net-prio=c"}).status()))
      << "another type's grant";
}

TEST_F(ClassRequestsTest, FromTheSchedulerMessagesAndDefaultsStay) {
  support_.from = qos::ClassesFrom::kScheduler;
  EXPECT_THAT(*Classes(), IsEmpty());
  Annotate(kAnnotation, "bronze");
  EXPECT_THAT(*Classes(), ElementsAre(Pair("rdt", "bronze"))) << "every container has it";
  Say("rdt", "gold");
  EXPECT_THAT(*Classes(), ElementsAre(Pair("rdt", "gold")));
}

// `auto` turns when the driver registers; a container that restarts after it has an annotation
// alone.
TEST_F(ClassRequestsTest, APodFromBeforeTheSchedulersTimeKeepsItsRight) {
  Annotate(kAnnotation, "gold");
  spec_.classes_from_scheduler = false;
  support_.scheduled = [] { return true; };
  EXPECT_THAT(*Classes(), ElementsAre(Pair("rdt", "gold")));
  // No more than it had.
  Annotate("net-prio.class.plimsoll.dev/container.web", "c");
  EXPECT_THAT(std::string(Classes().status().message()),
              HasSubstr("classes.net-prio.annotations would have to list"));
  pod_.mutable_annotations()->erase("net-prio.class.plimsoll.dev/container.web");
  spec_.classes_from_scheduler = true;
  EXPECT_TRUE(absl::IsFailedPrecondition(Classes().status()));
}

// The key that would permit it would not help.
TEST_F(ClassRequestsTest, FromTheSchedulerAnUnpermittedAnnotationIsToldItsResource) {
  support_.from = qos::ClassesFrom::kScheduler;
  Annotate("net-prio.class.plimsoll.dev/container.web", "c");
  const absl::Status refused = Classes().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("ask for the extended resource class.plimsoll.dev/net-prio.c "));
  EXPECT_THAT(std::string(refused.message()), Not(HasSubstr("annotations would have to list")));
  Annotate("lane.class.plimsoll.dev/sandbox", "gold");
  EXPECT_THAT(std::string(PodClasses().status().message()),
              HasSubstr("ask for the extended resource class.plimsoll.dev/pod.lane.gold"));
  // A type that this node doesn't have has no resource.
  pod_.clear_annotations();
  Annotate("none.class.plimsoll.dev/default", "c");
  EXPECT_THAT(std::string(Classes().status().message()),
              HasSubstr("classes.none.annotations would have to list"));
}

constexpr char kForAll[] = "rdt.resources.beta.kubernetes.io/pod";

TEST_F(ClassRequestsTest, AnEphemeralContainerHasNoneOfThePodsClasses) {
  support_.from = qos::ClassesFrom::kScheduler;
  Annotate(kForAll, "gold");
  config_.mutable_metadata()->set_name("debug");
  EXPECT_TRUE(absl::IsFailedPrecondition(Classes().status())) << "nobody has a claim";
  Have("web", {"classes.plimsoll.dev/rdt=silver", "vendor.com/gpu=0"});
  Have("debug", {kGold});
  EXPECT_TRUE(absl::IsFailedPrecondition(Classes().status())) << "another class, and itself";
  EXPECT_THAT(warnings_, IsEmpty());
  Have("log", {kGold});
  EXPECT_THAT(*Classes(), IsEmpty());
  EXPECT_THAT(warnings_, ElementsAre("container debug has not the class \"gold\" of type \"rdt\" "
                                     "that annotation rdt.resources.beta.kubernetes.io/pod gives "
                                     "to all containers: an ephemeral container can have no claim "
                                     "for it"));
  // A message or a claim of its own counts as ever.
  EXPECT_THAT(*Classes({kGold}), ElementsAre(Pair("rdt", "gold")));
  EXPECT_THAT(warnings_, IsEmpty());
  // The container's own annotation asks for a class that it can't have.
  Annotate("rdt.resources.beta.kubernetes.io/container.debug", "gold");
  EXPECT_TRUE(absl::IsFailedPrecondition(Classes().status()));
}

TEST_F(ClassRequestsTest, KubeletsSpecTellsEphemeralContainers) {
  support_.from = qos::ClassesFrom::kScheduler;
  Annotate("rdt.resources.alpha.kubernetes.io/default", "gold");
  Have("log", {kGold});
  TellSpec({"web", "log", "shell"}, {"shell"});
  EXPECT_TRUE(absl::IsFailedPrecondition(Classes().status())) << "web should have a claim";
  for (const char* name : {"shell", "newer"}) {
    config_.mutable_metadata()->set_name(name);
    EXPECT_THAT(*Classes(), IsEmpty());
    EXPECT_EQ(warnings_.size(), 1u);
  }
  Annotate("rdt.resources.alpha.kubernetes.io/default", "go\nld");
  EXPECT_TRUE(absl::IsInvalidArgument(Classes().status()));
  Annotate("rdt.resources.alpha.kubernetes.io/default", "gold");
  // Where annotations count, they do for it too.
  support_.from = qos::ClassesFrom::kAny;
  EXPECT_THAT(*Classes(), ElementsAre(Pair("rdt", "gold")));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(ClassRequestsTest, StaticPodsAreAnOptIn) {
  support_.from = qos::ClassesFrom::kScheduler;
  Annotate(kAnnotation, "gold");
  Annotate("kubernetes.io/config.source", "file");
  const absl::Status refused = Classes().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("annotations of static pods need classes.staticPods: true"));
  support_.static_pods = true;
  EXPECT_THAT(*Classes(), ElementsAre(Pair("rdt", "gold")));
  Annotate("blockio.resources.beta.kubernetes.io/pod", "gold");
  EXPECT_THAT(std::string(Classes().status().message()), HasSubstr("denied to annotations"));
  pod_.mutable_annotations()->erase("blockio.resources.beta.kubernetes.io/pod");
  Annotate("kubernetes.io/config.source", "api");
  EXPECT_TRUE(absl::IsFailedPrecondition(Classes().status()));
  // A client that is no kubelet.
  pod_.mutable_annotations()->erase("kubernetes.io/config.source");
  EXPECT_TRUE(absl::IsFailedPrecondition(Classes().status()));
}

// The socket's users may change a class; the scheduler counts on what it gave out.
TEST_F(ClassRequestsTest, AnUpdateBesideItsGrantIsTold) {
  EXPECT_THAT(ClassesBesideGrants({kGold, "vendor.com/gpu=0"}, {{"rdt", "silver"}}, support_),
              ElementsAre("class \"silver\" of type \"rdt\" is not the one that CDI device "
                          "classes.plimsoll.dev/rdt=gold grants: the scheduler goes on counting "
                          "that"));
  EXPECT_THAT(ClassesBesideGrants({kGold}, {{"rdt", ""}}, support_),
              ElementsAre(HasSubstr("class \"bronze\"")));
  const std::string gone = qos::CdiName({qos::Level::kContainer, "rdt", "a/b"});
  EXPECT_THAT(ClassesBesideGrants({kGold, gone}, {{"rdt", "gold"}, {"net-prio", "c"}}, support_),
              IsEmpty());
  support_.registry = nullptr;
  EXPECT_THAT(ClassesBesideGrants({kGold, gone}, {{"rdt", "silver"}}, support_), IsEmpty());
}

TEST_F(ClassRequestsTest, APodHasTheClassesThatWereTold) {
  Tell(qos::ClassNames{{"lane", "gold"}});
  EXPECT_THAT(*PodClasses(), ElementsAre(Pair("lane", "gold")));
  // It needs no permission to repeat them.
  Annotate("lane.class.plimsoll.dev/sandbox", "gold");
  EXPECT_THAT(*PodClasses(), ElementsAre(Pair("lane", "gold")));
  Annotate("lane.class.plimsoll.dev/sandbox", "silver");
  const absl::Status annotated = PodClasses().status();
  EXPECT_TRUE(absl::IsInvalidArgument(annotated));
  EXPECT_EQ(annotated.message(),
            "pod default/pod: the pod's claim (as plimsoll-kube told it) asks for class \"gold\" "
            "of type \"lane\", but annotation lane.class.plimsoll.dev/sandbox for class "
            "\"silver\"; a pod has one class of a type: name the same class in both, or leave one "
            "out");
  (*pod_.mutable_class_resources()->mutable_class_())["lane"] = "bronze";
  EXPECT_THAT(std::string(PodClasses().status().message()),
              HasSubstr("but config.class_resources.class for class \"bronze\""));
  (*pod_.mutable_class_resources()->mutable_class_())["lane"] = "gold";
  EXPECT_THAT(*PodClasses(), ElementsAre(Pair("lane", "gold")));
  pod_.mutable_class_resources()->clear_class_();
  EXPECT_THAT(*PodClasses(), ElementsAre(Pair("lane", "gold")));
  pod_.mutable_metadata()->set_uid("another");
  EXPECT_THAT(*PodClasses(), IsEmpty());
}

TEST_F(ClassRequestsTest, TroubleWithWhatWasToldEndsTheRequest) {
  Tell(absl::UnavailableError("no table"));
  EXPECT_EQ(PodClasses().status(), absl::UnavailableError("pod default/pod: no table"));
  Tell(qos::ClassNames{{"lane", "tin"}});
  EXPECT_TRUE(absl::IsNotFound(PodClasses().status()));
  EXPECT_THAT(
      std::string(PodClasses().status().message()),
      HasSubstr("as plimsoll-kube told it): type \"lane\" has no class \"tin\"; there are"));
}

TEST_F(ClassRequestsTest, FromTheSchedulerAPodNeedsItsClaim) {
  support_.annotations = {{"lane", {"sandbox"}}};
  Annotate("lane.class.plimsoll.dev/sandbox", "gold");
  EXPECT_THAT(*PodClasses(), ElementsAre(Pair("lane", "gold")));
  support_.from = qos::ClassesFrom::kScheduler;
  const absl::Status refused = PodClasses().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(
      std::string(refused.message()),
      HasSubstr("which no claim of the pod grants; on this node the cluster's scheduler "
                "gives out classes (classes.from): ask for the extended resource "
                "class.plimsoll.dev/pod.lane.gold in the limits of a container, and leave the "
                "node to the scheduler"));
  Tell(qos::ClassNames{{"lane", "gold"}});
  EXPECT_THAT(*PodClasses(), ElementsAre(Pair("lane", "gold")));
}

}  // namespace
}  // namespace plimsoll::cri
