#include "nri/adjust/creation.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nri/adjust/creation_for_test.h"

namespace plimsoll::nri {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A field with one owner, or one a key.
struct OwnedField {
  const char* field;   // as messages have it
  const char* first;   // an adjustment
  const char* seen;    // what the next plugin sees of it in the container
  const char* second;  // another value
  const char* remove;  // empty: it can't be removed
};

const OwnedField kOwnedFields[] = {
    {"annotations \"k\"", R"(annotations { key: "k" value: "1" })",
     R"(annotations { key: "k" value: "1" })", R"(annotations { key: "k" value: "2" })",
     R"(annotations { key: "-k" })"},
    {"mounts \"/m\"", R"(mounts { destination: "/m/" type: "tmpfs" })",
     R"(mounts { destination: "/m" type: "tmpfs" })",
     R"(mounts { destination: "//m" type: "bind" source: "/s" })",
     R"(mounts { destination: "-/m//" })"},
    {"env \"FOO\"", R"(env { key: "FOO" value: "1" })", R"(env: "FOO=1")",
     R"(env { key: "FOO" value: "2" })", R"(env { key: "-FOO" })"},
    {"args", R"(args: "a" args: "b")", R"(args: "a" args: "b")", R"(args: "c")", ""},
    {"rlimits \"RLIMIT_CORE\"", R"(rlimits { type: "RLIMIT_CORE" hard: 1 })",
     R"(rlimits { type: "RLIMIT_CORE" hard: 1 })", R"(rlimits { type: "RLIMIT_CORE" hard: 2 })",
     ""},
    {"CDI_devices \"vendor.com/gpu=0\"", R"(CDI_devices { name: "vendor.com/gpu=0" })",
     R"(CDI_devices { name: "vendor.com/gpu=0" })", R"(CDI_devices { name: "vendor.com/gpu=0" })",
     ""},
    {"linux.devices \"/dev/x\"", R"(linux { devices { path: "/dev/x" type: "c" major: 1 } })",
     R"(linux { devices { path: "/dev/x" type: "c" major: 1 } })",
     R"(linux { devices { path: "/dev//x" type: "b" major: 1 } })",
     R"(linux { devices { path: "-/dev/x" } })"},
    {"linux.namespaces \"network\"", R"(linux { namespaces { type: "network" path: "/n" } })",
     R"(linux { namespaces { type: "network" path: "/n" } })",
     R"(linux { namespaces { type: "network" } })", R"(linux { namespaces { type: "-network" } })"},
    {"linux.sysctl \"net.a\"", R"(linux { sysctl { key: "net.a" value: "1" } })",
     R"(linux { sysctl { key: "net.a" value: "1" } })",
     R"(linux { sysctl { key: "net.a" value: "2" } })", R"(linux { sysctl { key: "-net.a" } })"},
    {"linux.net_devices \"eth1\"", R"(linux { net_devices { key: "eth1" value { name: "a" } } })",
     R"(linux { net_devices { key: "eth1" value { name: "a" } } })",
     R"(linux { net_devices { key: "eth1" value { name: "b" } } })",
     R"(linux { net_devices { key: "-eth1" } })"},
    {"linux.cgroups_path", R"(linux { cgroups_path: "/a" })", R"(linux { cgroups_path: "/a" })",
     R"(linux { cgroups_path: "/b" })", ""},
    {"linux.oom_score_adj", R"(linux { oom_score_adj { value: 1 } })",
     R"(linux { oom_score_adj { value: 1 } })", R"(linux { oom_score_adj { value: 2 } })", ""},
    {"linux.io_priority", R"(linux { io_priority { class: IOPRIO_CLASS_BE } })",
     R"(linux { io_priority { class: IOPRIO_CLASS_BE } })",
     R"(linux { io_priority { class: IOPRIO_CLASS_RT } })", ""},
    {"linux.scheduler", R"(linux { scheduler { policy: LINUX_SCHED_BATCH } })",
     R"(linux { scheduler { policy: LINUX_SCHED_BATCH } })",
     R"(linux { scheduler { policy: LINUX_SCHED_IDLE } })", ""},
    {"linux.memory_policy", R"(linux { memory_policy { mode: LINUX_MPOL_LOCAL } })", R"(linux {})",
     R"(linux { memory_policy { mode: LINUX_MPOL_DEFAULT } })", ""},
    {"linux.seccomp_policy", R"(linux { seccomp_policy { default_action: "SCMP_ACT_LOG" } })",
     R"(linux { seccomp_policy { default_action: "SCMP_ACT_LOG" } })",
     R"(linux { seccomp_policy { default_action: "SCMP_ACT_ALLOW" } })", ""},
    {"linux.rdt.clos_id", R"(linux { rdt { clos_id { value: "a" } } })",
     R"(linux { rdt { clos_id { value: "a" } enable_monitoring { value: true } }
                resources { rdt_class { value: "a" } } })",
     R"(linux { rdt { clos_id { value: "b" } } })", R"(linux { rdt { remove: true } })"},
    {"linux.rdt.enable_monitoring", R"(linux { rdt { enable_monitoring { value: true } } })",
     R"(linux { rdt { enable_monitoring { value: true } } })",
     R"(linux { rdt { enable_monitoring { value: true } } })", R"(linux { rdt { remove: true } })"},
    {"linux.resources.blockio_class", R"(linux { resources { blockio_class { value: "a" } } })",
     R"(linux { resources { blockio_class { value: "a" } } })",
     R"(linux { resources { blockio_class { value: "b" } } })", ""},
    {"linux.resources.rdt_class", R"(linux { resources { rdt_class { value: "a" } } })",
     R"(linux { rdt { clos_id { value: "a" } enable_monitoring { value: true } }
                resources { rdt_class { value: "a" } } })",
     R"(linux { resources { rdt_class { value: "b" } } })", R"(linux { rdt { remove: true } })"},
    {"linux.resources.pids", R"(linux { resources { pids { limit: 1 } } })",
     R"(linux { resources { pids { limit: 1 } } })", R"(linux { resources { pids { limit: 2 } } })",
     ""},
    {"linux.resources.hugepage_limits \"2MB\"",
     R"(linux { resources { hugepage_limits { page_size: "2MB" limit: 1 } } })",
     R"(linux { resources { hugepage_limits { page_size: "2MB" limit: 1 } } })",
     R"(linux { resources { hugepage_limits { page_size: "2MB" limit: 2 } } })", ""},
    {"linux.resources.unified \"memory.high\"",
     R"(linux { resources { unified { key: "memory.high" value: "1" } } })",
     R"(linux { resources { unified { key: "memory.high" value: "1" } } })",
     R"(linux { resources { unified { key: "memory.high" value: "2" } } })", ""},
    {"linux.resources.cpu.cpus", R"(linux { resources { cpu { cpus: "1" } } })",
     R"(linux { resources { cpu { cpus: "1" } } })", R"(linux { resources { cpu { cpus: "2" } } })",
     ""},
    {"linux.resources.cpu.mems", R"(linux { resources { cpu { mems: "1" } } })",
     R"(linux { resources { cpu { mems: "1" } } })", R"(linux { resources { cpu { mems: "2" } } })",
     ""},
};

std::string Of(const OwnedField& one) {
  return one.field;
}

void ExpectSame(const Creation& one, const Creation& other) {
  EXPECT_EQ(one.request().DebugString(), other.request().DebugString());
  EXPECT_EQ(one.ForValidators({}).DebugString(), other.ForValidators({}).DebugString());
}

TEST(CreationTest, AValueHasOneOwner) {
  for (const OwnedField& one : kOwnedFields) {
    SCOPED_TRACE(Of(one));
    Creation creation = CreationOf();
    ASSERT_EQ(creation.Take("10-a", Answer(one.first)), absl::OkStatus());
    const Creation before = creation;
    EXPECT_EQ(creation.Take("20-b", Answer(one.second)),
              absl::AlreadyExistsError(absl::StrCat("plugins 10-a and 20-b both set ", one.field,
                                                    ": only one of them may")));
    ExpectSame(creation, before);
    ASSERT_TRUE(creation.Adjusted({}).ok()) << creation.Adjusted({}).status();
  }
}

TEST(CreationTest, TheNextPluginSeesChanges) {
  for (const OwnedField& one : kOwnedFields) {
    SCOPED_TRACE(Of(one));
    Creation creation = CreationOf();
    ASSERT_EQ(creation.Take("10-a", Answer(one.first)), absl::OkStatus());
    const auto expected = FromText<api::Container>(absl::StrCat("id: \"c1\" ", one.seen));
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(creation.request().container(),
                                                                   expected))
        << creation.request().container().DebugString();
    EXPECT_EQ(creation.request().pod().id(), "p1");
  }
}

TEST(CreationTest, APluginTakesOverWhatItRemoves) {
  for (const OwnedField& one : kOwnedFields) {
    if (one.remove[0] == '\0') continue;
    SCOPED_TRACE(Of(one));
    Creation creation = CreationOf();
    ASSERT_EQ(creation.Take("10-a", Answer(one.first)), absl::OkStatus());
    api::CreateContainerResponse both = Answer(one.remove);
    both.MergeFrom(Answer(one.second));
    ASSERT_EQ(creation.Take("20-b", both), absl::OkStatus());
    const auto spec = creation.Adjusted({});
    ASSERT_TRUE(spec.ok()) << spec.status();
    // The spec without any other plugin.
    auto alone = SpecAfter(one.second);
    ASSERT_TRUE(alone.ok()) << alone.status();
    alone->changed_by = spec->changed_by;
    EXPECT_EQ(*spec, *alone);
    EXPECT_THAT(creation.Take("30-c", Answer(one.first)).ToString(),
                HasSubstr(absl::StrCat("plugins 20-b and 30-c both set ", one.field)));
  }
}

TEST(CreationTest, NoLaterPluginSetsWhatIsRemoved) {
  for (const OwnedField& one : kOwnedFields) {
    if (one.remove[0] == '\0') continue;
    SCOPED_TRACE(Of(one));
    Creation creation = CreationOf();
    ASSERT_EQ(creation.Take("10-a", Answer(one.first)), absl::OkStatus());
    ASSERT_EQ(creation.Take("20-b", Answer(one.remove)), absl::OkStatus());
    EXPECT_EQ(creation.Take("30-c", Answer(one.second)),
              absl::AlreadyExistsError(absl::StrCat("plugin 30-c sets ", one.field,
                                                    ", which plugin 20-b removes: only one of them "
                                                    "may change it")));
    auto spec = creation.Adjusted({});
    ASSERT_TRUE(spec.ok()) << spec.status();
    auto alone = SpecAfter(one.remove);
    ASSERT_TRUE(alone.ok()) << alone.status();
    alone->changed_by = spec->changed_by;
    EXPECT_EQ(*spec, *alone);
  }
}

TEST(CreationTest, OnePluginSetsAValueOnce) {
  Creation creation = CreationOf();
  EXPECT_EQ(creation.Take("10-a", Answer(R"(env { key: "A" value: "1" } env { key: "A" })")),
            absl::InvalidArgumentError("plugin 10-a sets env \"A\" twice"));
}

TEST(CreationTest, PluginsSetDifferentKeysAndFields) {
  Creation creation = CreationOf();
  for (const OwnedField& one : kOwnedFields) {
    // enable_monitoring goes with clos_id; rdt_class and clos_id are the same class "a".
    ASSERT_EQ(creation.Take(absl::StrCat("10-", &one - kOwnedFields), Answer(one.first)),
              absl::OkStatus())
        << one.field;
  }
  const auto spec = creation.Adjusted({});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->changed_by.size(), std::size(kOwnedFields));
  for (const runtime::PluginChange& change : spec->changed_by) {
    bool found = false;
    for (const OwnedField& one : kOwnedFields) {
      found |= one.field == FieldText(change.field, change.key) &&
               change.plugin == absl::StrCat("10-", &one - kOwnedFields);
    }
    EXPECT_TRUE(found) << change.field << " " << change.key << " " << change.plugin;
  }
}

TEST(CreationTest, HooksOfAllPluginsStay) {
  Creation creation = CreationOf();
  ASSERT_EQ(creation.Take("10-a", Answer(R"(hooks { prestart { path: "/a" }
                                                    poststop { path: "/a" } })")),
            absl::OkStatus());
  ASSERT_EQ(creation.Take("20-b", Answer(R"(hooks { prestart { path: "/a" }
                                                    prestart { path: "/b" } })")),
            absl::OkStatus());
  const auto expected = FromText<api::Container>(
      R"(id: "c1" hooks { prestart { path: "/a" } prestart { path: "/a" } prestart { path: "/b" }
                          poststop { path: "/a" } })");
  EXPECT_EQ(creation.request().container().DebugString(), expected.DebugString());
  const auto request = creation.ForValidators({});
  EXPECT_EQ(request.owners().owners().at("c1").simple().at(api::OciHooks), "10-a,20-b");
  const auto spec = creation.Adjusted({});
  ASSERT_TRUE(spec.ok()) << spec.status();
  ASSERT_EQ(spec->extras.edits.hooks.size(), 4u);
  EXPECT_EQ(spec->extras.edits.hooks[2].path, "/b");
  EXPECT_EQ(spec->extras.edits.hooks[3].name, "poststop");
  using Changes = std::vector<runtime::PluginChange>;
  EXPECT_EQ(spec->changed_by, (Changes{{"hooks.poststop", "/a", "10-a"},
                                       {"hooks.prestart", "/a", "10-a"},
                                       {"hooks.prestart", "/a", "20-b"},
                                       {"hooks.prestart", "/b", "20-b"}}));
}

TEST(CreationTest, ArgumentsAreTakenOverByAnEmptyFirstOne) {
  Creation creation = CreationOf(R"(args: "old")");
  ASSERT_EQ(creation.Take("10-a", Answer(R"(args: "a")")), absl::OkStatus());
  ASSERT_EQ(creation.Take("20-b", Answer(R"(args: "" args: "b" args: "")")), absl::OkStatus());
  EXPECT_THAT(creation.request().container().args(), testing::ElementsAre("b", ""));
  runtime::ContainerSpec asked;
  asked.command = {"sh"};
  asked.args = {"-c", "true"};
  const auto spec = creation.Adjusted(asked);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_THAT(spec->command, testing::ElementsAre("b", ""));
  EXPECT_TRUE(spec->args.empty());
  EXPECT_EQ(creation.Take("30-c", Answer(R"(args: "c")")).code(), absl::StatusCode::kAlreadyExists);
}

TEST(CreationTest, ClientsValuesAreReplacedAndRemovedInTheRequest) {
  Creation creation = CreationOf(
      R"(env: "A=1" env: "B=2" env: "C" mounts { destination: "/a" } mounts { destination: "/b" }
         annotations { key: "a" value: "1" } annotations { key: "b" value: "2" }
         linux { resources { hugepage_limits { page_size: "2MB" limit: 5 }
                             cpu { cpus: "0-3" mems: "0" } rdt_class { value: "gold" } } })");
  ASSERT_EQ(creation.Take("10-a", Answer(
                                      R"(env { key: "A" value: "=x" } env { key: "-B" }
                   mounts { destination: "-/a" } mounts { destination: "/b" type: "tmpfs" }
                   annotations { key: "-a" } annotations { key: "b" value: "3" }
                   linux { resources { hugepage_limits { page_size: "2MB" limit: 6 }
                                       cpu { cpus: "1" } } rdt { remove: true } })")),
            absl::OkStatus());
  const auto expected = FromText<api::Container>(
      R"(id: "c1" env: "C" env: "A==x" mounts { destination: "/b" type: "tmpfs" }
         annotations { key: "b" value: "3" }
         linux { resources { hugepage_limits { page_size: "2MB" limit: 6 }
                             cpu { cpus: "1" mems: "0" } } })");
  api::Container seen = creation.request().container();
  seen.mutable_linux()->clear_rdt();  // empty
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(seen, expected))
      << seen.DebugString();
}

TEST(CreationTest, LaterPluginsFindTheRdtClassByBothNames) {
  constexpr char kSilver[] = R"(linux { resources { rdt_class { value: "silver" } }
                                       rdt { clos_id { value: "silver" } } })";
  for (const char* change : {R"(linux { resources { rdt_class { value: "gold" } } })",
                             R"(linux { rdt { clos_id { value: "gold" } } })",
                             R"(linux { rdt { remove: true clos_id { value: "gold" } } })"}) {
    Creation creation = CreationOf(kSilver);
    ASSERT_EQ(creation.Take("10-a", Answer(change)), absl::OkStatus()) << change;
    const api::LinuxContainer& seen = creation.request().container().linux();
    EXPECT_EQ(seen.resources().rdt_class().value(), "gold") << change;
    EXPECT_EQ(seen.rdt().clos_id().value(), "gold") << change;
    EXPECT_TRUE(seen.rdt().enable_monitoring().value()) << change;
  }
}

TEST(CreationTest, ValidatorsSeeEverything) {
  Creation creation = CreationOf(R"(name: "web")");
  ASSERT_EQ(creation.Take("10-a", Answer(R"(env { key: "A" } env { key: "-B" } args: "x")")),
            absl::OkStatus());
  auto answer = Answer(R"(env { key: "-A" })");
  answer.add_update()->set_container_id("c2");
  answer.mutable_update(0)->mutable_linux()->mutable_resources()->mutable_cpu()->set_cpus("1");
  ASSERT_EQ(creation.Take("20-b-c", answer), absl::OkStatus());
  const auto request = creation.ForValidators({"10-a", "20-b-c"});
  EXPECT_EQ(request.container().DebugString(),
            FromText<api::Container>(R"(id: "c1" name: "web")").DebugString());
  EXPECT_EQ(request.pod().id(), "p1");
  EXPECT_EQ(request.adjust().DebugString(),
            FromText<api::ContainerAdjustment>(R"(env { key: "-B" } env { key: "-A" } args: "x")")
                .DebugString());
  const api::FieldOwners& owners = request.owners().owners().at("c1");
  EXPECT_EQ(owners.compound().at(api::Env).owners().at("A"), "-20-b-c");
  EXPECT_EQ(owners.compound().at(api::Env).owners().at("B"), "-10-a");
  EXPECT_EQ(owners.simple().at(api::Args), "10-a");
  EXPECT_EQ(request.owners().owners().at("c2").simple().at(api::CPUSetCPUs), "20-b-c");
  ASSERT_EQ(request.update_size(), 1);
  EXPECT_EQ(request.update(0).container_id(), "c2");
  ASSERT_EQ(request.plugins_size(), 2);
  EXPECT_EQ(request.plugins(1).index(), "20");
  EXPECT_EQ(request.plugins(1).name(), "b-c");
}

TEST(CreationTest, UpdatesAndEvictionsOfOthersAreKept) {
  Creation creation = CreationOf();
  const auto answer = FromText<api::CreateContainerResponse>(
      R"(update { container_id: "c2" linux { resources { pids { limit: 5 } } } }
         evict { container_id: "c3" reason: "noisy" })");
  ASSERT_EQ(creation.Take("10-a", answer), absl::OkStatus());
  EXPECT_FALSE(creation.IsAdjusted());
  ASSERT_EQ(creation.updates().size(), 1u);
  EXPECT_EQ(creation.updates()[0].plugin, "10-a");
  EXPECT_EQ(creation.updates()[0].update.linux().resources().pids().limit(), 5);
  ASSERT_EQ(creation.evictions().size(), 1u);
  EXPECT_EQ(creation.evictions()[0].eviction.reason(), "noisy");
}

TEST(CreationTest, UpdatesOfTheContainerInTheMakingAreRefused) {
  Creation creation = CreationOf();
  const auto update = FromText<api::CreateContainerResponse>(
      R"(adjust { args: "a" } update { container_id: "c1" ignore_failure: true })");
  EXPECT_EQ(creation.Take("10-a", update),
            absl::InvalidArgumentError("plugin 10-a: its update is of the container that is being "
                                       "made; changes of that one belong in adjust"));
  const auto eviction = FromText<api::CreateContainerResponse>(
      R"(adjust { args: "a" } evict { container_id: "c1" })");
  EXPECT_EQ(creation.Take("10-a", eviction),
            absl::InvalidArgumentError("plugin 10-a: its eviction is of the container that is "
                                       "being made; an error instead of an answer refuses that "
                                       "one"));
  ExpectSame(creation, CreationOf());
}

TEST(CreationTest, AnAnswerOfNothingChangesNothing) {
  Creation creation = CreationOf();
  ASSERT_EQ(creation.Take("10-a", {}), absl::OkStatus());
  ASSERT_EQ(creation.Take("20-b", Answer("")), absl::OkStatus());
  // Plugins in Go send groups that have nothing in them.
  ASSERT_EQ(creation.Take("30-c", Answer("hooks {} linux { resources { cpu {} } rdt {} }")),
            absl::OkStatus());
  EXPECT_FALSE(creation.IsAdjusted());
  const auto spec = creation.Adjusted({});
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(*spec, runtime::ContainerSpec());
}

TEST(CreationTest, MembersOfANewerProtocolAreRefused) {
  Creation creation = CreationOf();
  auto answer = Answer("linux { rdt {} }");
  auto* rdt = answer.mutable_adjust()->mutable_linux()->mutable_rdt();
  rdt->GetReflection()->MutableUnknownFields(rdt)->AddVarint(5, 1);
  EXPECT_EQ(creation.Take("10-a", answer),
            absl::UnimplementedError("plugin 10-a: linux.rdt.5: nri.pkg.api.v1alpha1.LinuxRdt has "
                                     "no member of this number in the protocol that Plimsoll "
                                     "speaks"));
}

TEST(CreationTest, SizesAreBounded) {
  Creation creation = CreationOf();
  api::CreateContainerResponse answer;
  for (int i = 0; i < 4097; ++i) answer.mutable_adjust()->add_mounts();
  EXPECT_EQ(creation.Take("10-a", answer),
            absl::ResourceExhaustedError("plugin 10-a: mounts has 4097 elements; at most 4096 are "
                                         "taken"));
  answer.Clear();
  for (int i = 0; i < 2; ++i) {
    answer.mutable_adjust()->add_env()->set_key("A" + std::string(600'000, 'x'));
  }
  EXPECT_EQ(creation.Take("10-a", answer).code(), absl::StatusCode::kResourceExhausted);
  // Each plugin's answer is small, all together are not.
  for (int plugin = 0; plugin < 12; ++plugin) {
    answer.Clear();
    api::KeyValue* variable = answer.mutable_adjust()->add_env();
    variable->set_key(absl::StrCat("A", plugin));
    variable->set_value(std::string(100'000, 'x'));
    const absl::Status taken = creation.Take(absl::StrCat("10-", plugin), answer);
    if (plugin < 10) {
      EXPECT_EQ(taken, absl::OkStatus());
    } else {
      EXPECT_THAT(taken.ToString(), HasSubstr("with the plugins before it: the changes take"));
    }
  }
}

TEST(CreationTest, NulBytesAreRefused) {
  Creation creation = CreationOf();
  auto answer = Answer(R"(mounts { destination: "/m" type: "tmpfs" options: "a\000b" })");
  EXPECT_EQ(creation.Take("10-a", answer),
            absl::InvalidArgumentError("plugin 10-a: mounts[0].options has a NUL byte in it"));
  answer = Answer(R"(annotations { key: "a" value: "\000" })");
  EXPECT_EQ(creation.Take("10-a", answer),
            absl::InvalidArgumentError("plugin 10-a: annotations[0].value has a NUL byte in it"));
}

}  // namespace
}  // namespace plimsoll::nri
