#include "cri/messages/container_configs.h"

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "cri/messages/translate_container.h"
#include "runtime/objects/state_machine.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using google::protobuf::util::MessageDifferencer;

runtime::ContainerRecord ContainerRecordOf(const std::string& id) {
  v1::ContainerConfig config;
  config.mutable_metadata()->set_name("main");
  config.mutable_metadata()->set_attempt(2);
  config.mutable_image()->set_image("busybox");
  config.mutable_image()->set_runtime_handler("vm");
  (*config.mutable_labels())["app"] = "web";
  (*config.mutable_annotations())["note"] = std::string(300, 'x');
  // A field of a newer client.
  config.mutable_image()
      ->GetReflection()
      ->MutableUnknownFields(config.mutable_image())
      ->AddVarint(20000, 1);
  runtime::ContainerRecord record;
  record.id = id;
  record.sandbox_id = "pod";
  record.image_ref = "busybox@sha256:1";
  record.image_id = "sha256:2";
  record.created_unix_nanos = 1'700'000'000'000'000'001;
  record.client_config = config.SerializeAsString();
  return record;
}

TEST(ContainerConfigsTest, AListInBytesIsTheListInMessages) {
  ContainerConfigs configs;
  std::string bytes;
  v1::ListContainersResponse messages;
  for (const auto state : {runtime::ContainerState::kCreated, runtime::ContainerState::kRunning,
                           runtime::ContainerState::kExited, runtime::ContainerState::kUnknown}) {
    runtime::ContainerRecord record = ContainerRecordOf(runtime::StateName(state));
    record.state = state;
    const size_t before = bytes.size();
    AddListed(*configs.GetListed(record), ToCri(state), &bytes);
    EXPECT_LE(bytes.size() - before, SizeInList(*configs.GetListed(record)));
    FillContainer(record, *configs.Get(record.id, record.client_config), messages.add_containers());
  }
  v1::ListContainersResponse parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  EXPECT_TRUE(MessageDifferencer::Equals(parsed, messages))
      << parsed.DebugString() << "instead of\n"
      << messages.DebugString();
  EXPECT_EQ(parsed.containers(1).state(), v1::CONTAINER_RUNNING);
}

TEST(ContainerConfigsTest, ItsStateIsThatOfTheMoment) {
  ContainerConfigs configs;
  runtime::ContainerRecord record = ContainerRecordOf("a");
  record.state = runtime::ContainerState::kRunning;
  const auto listed = configs.GetListed(record);
  record.state = runtime::ContainerState::kExited;
  EXPECT_EQ(configs.GetListed(record), listed) << "made once";
  EXPECT_EQ(configs.FindListed("a"), listed);
  std::string bytes;
  AddListed(*listed, ToCri(record.state), &bytes);
  v1::ListContainersResponse parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  EXPECT_EQ(parsed.containers(0).state(), v1::CONTAINER_EXITED);
}

TEST(ContainerConfigsTest, WhatHasGoneIsForgotten) {
  ContainerConfigs configs;
  for (const char* id : {"a", "b", "c"}) configs.GetListed(ContainerRecordOf(id));
  configs.Forget("a");
  EXPECT_EQ(configs.FindListed("a"), nullptr);
  EXPECT_EQ(configs.size(), 2u);
  configs.Retain({"c"});
  EXPECT_EQ(configs.FindListed("b"), nullptr);
  EXPECT_NE(configs.FindListed("c"), nullptr);
  EXPECT_EQ(configs.size(), 1u);
}

TEST(ContainerConfigsTest, ADamagedMessageIsListedAllTheSame) {
  ContainerConfigs configs;
  runtime::ContainerRecord record = ContainerRecordOf("a");
  record.client_config = "\x0a\xff";
  std::string bytes;
  AddListed(*configs.GetListed(record), v1::CONTAINER_EXITED, &bytes);
  v1::ListContainersResponse parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  EXPECT_EQ(parsed.containers(0).id(), "a");
}

}  // namespace
}  // namespace plimsoll::cri
