#include "nri/adjust/fields.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "nri/adjust/creation_for_test.h"

namespace plimsoll::nri {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

TEST(FieldsTest, AreSortedForTheSearch) {
  for (const Field& field : AllFields()) EXPECT_EQ(FindField(field.path), &field) << field.path;
  EXPECT_EQ(FindField("linux.resources.cpu.cpu"), nullptr);
  EXPECT_EQ(FindField(""), nullptr);
  EXPECT_EQ(FindField("zzz"), nullptr);
}

TEST(FieldsTest, HaveEachNumberOfTheProtocol) {
  std::set<int> numbers;
  for (const Field& field : AllFields()) numbers.insert(field.number);
  for (int i = 0; i < api::Field_descriptor()->value_count(); ++i) {
    EXPECT_EQ(numbers.count(api::Field_descriptor()->value(i)->number()), 1u)
        << api::Field_descriptor()->value(i)->name();
  }
}

void ExpectListed(const Descriptor* type, const std::string& prefix) {
  for (int i = 0; i < type->field_count(); ++i) {
    const std::string path = absl::StrCat(prefix, type->field(i)->name());
    const Field* field = FindField(path);
    ASSERT_NE(field, nullptr) << "fields.cc doesn't say how to merge " << path;
    if (field->merge == Merge::kGroup) {
      ExpectListed(type->field(i)->message_type(), absl::StrCat(path, "."));
    }
  }
}

TEST(FieldsTest, AreAllThatAnAdjustmentHas) {
  ExpectListed(api::ContainerAdjustment::descriptor(), "");
}

// "mounts.options", "linux.devices.uid.value": members that have no members.
void AddLeaves(const Descriptor* type, const std::string& prefix,
               std::vector<std::string>* leaves) {
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    const std::string path = absl::StrCat(prefix, field->name());
    if (field->message_type() == nullptr) {
      leaves->push_back(path);
    } else {
      AddLeaves(field->message_type(), absl::StrCat(path, "."), leaves);
    }
  }
}

// Clears a member of all elements of all lists on its path.
void ClearLeaf(const std::vector<std::string>& path, size_t at, Message* message) {
  const Reflection* reflection = message->GetReflection();
  const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(path[at]);
  if (at + 1 == path.size()) {
    reflection->ClearField(message, field);
  } else if (field->is_repeated()) {
    for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
      ClearLeaf(path, at + 1, reflection->MutableRepeatedMessage(message, field, i));
    }
  } else if (reflection->HasField(*message, field)) {
    ClearLeaf(path, at + 1, reflection->MutableMessage(message, field));
  }
}

// Adjustments that have each member somewhere, with a value other than that of a member left out.
const char* const kRich[] = {
    R"(annotations { key: "k" value: "v" }
       mounts { destination: "/m" type: "bind" source: "/s" options: "ro" }
       env { key: "FOO" value: "bar" }
       rlimits { type: "RLIMIT_NOFILE" hard: 20 soft: 10 }
       CDI_devices { name: "vendor.com/gpu=0" }
       args: "program"
       linux { cgroups_path: "/pod/mine"
               oom_score_adj { value: 5 }
               io_priority { class: IOPRIO_CLASS_BE priority: 3 }
               namespaces { type: "network" path: "/run/netns/x" }
               sysctl { key: "net.ipv4.ip_forward" value: "1" }
               net_devices { key: "eth1" value { name: "net1" } }
               memory_policy { mode: LINUX_MPOL_BIND nodes: "0-1" flags: LINUX_MPOL_F_STATIC_NODES }
               rdt { clos_id { value: "gold" } enable_monitoring { value: true } } })",
    R"(hooks { prestart { path: "/h1" args: "h" env: "A=b" timeout { value: 3 } }
               create_runtime { path: "/h2" args: "h" env: "A=b" timeout { value: 3 } }
               create_container { path: "/h3" args: "h" env: "A=b" timeout { value: 3 } }
               start_container { path: "/h4" args: "h" env: "A=b" timeout { value: 3 } }
               poststart { path: "/h5" args: "h" env: "A=b" timeout { value: 3 } }
               poststop { path: "/h6" args: "h" env: "A=b" timeout { value: 3 } } })",
    R"(linux { devices { path: "/dev/x" type: "c" major: 10 minor: 200 file_mode { value: 384 }
                         uid { value: 1 } gid { value: 2 } }
               resources { devices { allow: true type: "c" major { value: 10 }
                                     minor { value: 200 } access: "r" } } })",
    R"(linux { resources {
         memory { limit { value: 4096 } reservation { value: 1 } swap { value: 8192 }
                  kernel { value: 2 } kernel_tcp { value: 3 } swappiness { value: 4 }
                  disable_oom_killer { value: true } use_hierarchy { value: true } }
         cpu { shares { value: 2 } quota { value: 1000 } period { value: 2000 }
               realtime_runtime { value: 5 } realtime_period { value: 6 } cpus: "0" mems: "1" }
         hugepage_limits { page_size: "2MB" limit: 2097152 }
         blockio_class { value: "slow" } rdt_class { value: "gold" }
         unified { key: "memory.high" value: "max" }
         pids { limit: 9 } } })",
    R"(linux { seccomp_policy { default_action: "SCMP_ACT_ERRNO" default_errno { value: 38 }
         architectures: "SCMP_ARCH_X86_64" flags: "SECCOMP_FILTER_FLAG_TSYNC"
         syscalls { names: "mount" action: "SCMP_ACT_ERRNO" errno_ret { value: 1 }
                    args { index: 1 value: 2 value_two: 3 op: "SCMP_CMP_EQ" } } } })",
    R"(linux { seccomp_policy { default_action: "SCMP_ACT_ALLOW" listener_path: "/l" } })",
    R"(linux { seccomp_policy { default_action: "SCMP_ACT_ALLOW" listener_metadata: "m" } })",
    R"(linux { scheduler { policy: LINUX_SCHED_DEADLINE runtime: 2000 deadline: 3000 period: 4000
                           flags: LINUX_SCHED_FLAG_RECLAIM } })",
    R"(linux { scheduler { policy: LINUX_SCHED_FIFO priority: 5 } })",
    R"(linux { scheduler { policy: LINUX_SCHED_BATCH nice: 5 } })",
    R"(linux { rdt { remove: true } })",
};

struct Outcome {
  absl::Status status;
  runtime::ContainerSpec spec;
  bool operator==(const Outcome&) const = default;
};

Outcome OutcomeOf(const api::ContainerAdjustment& adjustment) {
  runtime::ContainerSpec asked;
  asked.classes["rdt"] = "silver";
  Creation creation = CreationOf();
  api::CreateContainerResponse answer;
  *answer.mutable_adjust() = adjustment;
  if (const absl::Status taken = creation.Take("10-a", answer); !taken.ok()) return {taken, {}};
  const auto spec = creation.Adjusted(asked);
  if (!spec.ok()) return {spec.status(), {}};
  Outcome outcome{absl::OkStatus(), *spec};
  outcome.spec.changed_by.clear();  // merging knows each field, whether the spec gets it or not
  return outcome;
}

bool Counts(const std::string& leaf) {
  for (const char* text : kRich) {
    const auto with = FromText<api::ContainerAdjustment>(text);
    auto without = with;
    ClearLeaf(absl::StrSplit(leaf, '.'), 0, &without);
    if (!(OutcomeOf(with) == OutcomeOf(without))) return true;
  }
  return false;
}

TEST(FieldsTest, EachMemberChangesTheSpecOrIsRefused) {
  std::vector<std::string> leaves;
  AddLeaves(api::ContainerAdjustment::descriptor(), "", &leaves);
  EXPECT_GT(leaves.size(), 90u);
  for (const std::string& leaf : leaves) {
    if (leaf == "linux.rdt.schemata.value") continue;  // refused, empty or not: see below
    EXPECT_TRUE(Counts(leaf)) << leaf << " of an adjustment has no effect";
  }
}

TEST(FieldsTest, SchemataAreRefused) {
  const auto refused = SpecAfter(R"(linux { rdt { schemata { value: "L3:0=f" } } })");
  EXPECT_EQ(refused.status(),
            absl::FailedPreconditionError(
                "plugin 10-a: linux.rdt.schemata can't be set for one container: the administrator "
                "defines classes with their schemata, and linux.rdt.clos_id or "
                "linux.resources.rdt_class chooses one of them"));
}

}  // namespace
}  // namespace plimsoll::nri
