#include "cri/messages/sandbox_configs.h"

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "cri/messages/translate_sandbox.h"
#include "runtime/objects/state_machine.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using google::protobuf::util::MessageDifferencer;

runtime::SandboxRecord SandboxRecordOf(const std::string& id) {
  v1::PodSandboxConfig config;
  config.mutable_metadata()->set_name("web");
  config.mutable_metadata()->set_uid("1234");
  config.mutable_metadata()->set_namespace_("default");
  config.mutable_metadata()->set_attempt(2);
  (*config.mutable_labels())["app"] = "web";
  (*config.mutable_annotations())["note"] = std::string(300, 'x');
  // A field of a newer client.
  config.mutable_metadata()
      ->GetReflection()
      ->MutableUnknownFields(config.mutable_metadata())
      ->AddVarint(20000, 1);
  runtime::SandboxRecord record;
  record.id = id;
  record.spec.runtime_handler = "vm";
  record.created_unix_nanos = 1'700'000'000'000'000'001;
  record.client_config = config.SerializeAsString();
  return record;
}

TEST(SandboxConfigsTest, AListInBytesIsTheListInMessages) {
  SandboxConfigs configs;
  std::string bytes;
  v1::ListPodSandboxResponse messages;
  for (const auto state : {runtime::SandboxState::kReady, runtime::SandboxState::kNotReady}) {
    runtime::SandboxRecord record = SandboxRecordOf(runtime::StateName(state));
    record.state = state;
    const size_t before = bytes.size();
    AddListed(*configs.GetListed(record), ToCri(state), &bytes);
    EXPECT_LE(bytes.size() - before, SizeInList(*configs.GetListed(record)));
    FillSandbox(record, *configs.Get(record.id, record.client_config), messages.add_items());
  }
  v1::ListPodSandboxResponse parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  EXPECT_TRUE(MessageDifferencer::Equals(parsed, messages))
      << parsed.DebugString() << "instead of\n"
      << messages.DebugString();
  EXPECT_EQ(parsed.items(1).state(), v1::SANDBOX_NOTREADY);
}

TEST(SandboxConfigsTest, ItsStateIsThatOfTheMoment) {
  SandboxConfigs configs;
  runtime::SandboxRecord record = SandboxRecordOf("a");
  record.state = runtime::SandboxState::kReady;
  const auto listed = configs.GetListed(record);
  record.state = runtime::SandboxState::kNotReady;
  EXPECT_EQ(configs.GetListed(record), listed) << "made once";
  EXPECT_EQ(configs.FindListed("a"), listed);
  std::string bytes;
  AddListed(*listed, ToCri(record.state), &bytes);
  v1::ListPodSandboxResponse parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  EXPECT_EQ(parsed.items(0).state(), v1::SANDBOX_NOTREADY);
}

TEST(SandboxConfigsTest, WhatHasGoneIsForgotten) {
  SandboxConfigs configs;
  for (const char* id : {"a", "b", "c"}) configs.GetListed(SandboxRecordOf(id));
  configs.Forget("a");
  EXPECT_EQ(configs.FindListed("a"), nullptr);
  configs.Retain({"c"});
  EXPECT_EQ(configs.FindListed("b"), nullptr);
  EXPECT_NE(configs.FindListed("c"), nullptr);
  EXPECT_EQ(configs.size(), 1u);
}

}  // namespace
}  // namespace plimsoll::cri
