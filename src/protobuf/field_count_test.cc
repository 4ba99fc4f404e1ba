#include "protobuf/field_count.h"

#include <google/protobuf/struct.pb.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "k8s.io/api/core/v1/generated.pb.h"
#include "kubelet/podresources/v1/api.pb.h"

namespace plimsoll {
namespace {

using ::k8s::io::api::core::v1::Pod;

absl::Status Check(const std::string& bytes, int most = 1000) {
  return CheckFieldCount(bytes, Pod(), most);
}

Pod PodOf(int containers) {
  Pod pod;
  for (int i = 0; i < containers; ++i) pod.mutable_spec()->add_containers()->set_name("c");
  return pod;
}

TEST(FieldCountTest, CountsFieldsOfInnerMessages) {
  // spec, 10 containers, 10 names.
  const std::string bytes = PodOf(10).SerializeAsString();
  EXPECT_TRUE(Check(bytes, 21).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Check(bytes, 20)));
  EXPECT_TRUE(Check("", 0).ok());
}

TEST(FieldCountTest, CountsEntriesOfMaps) {
  Pod pod;
  auto& limits = *pod.mutable_spec()->mutable_resources()->mutable_limits();
  limits["cpu"].set_string("1");
  limits["memory"].set_string("1Gi");
  // spec, resources, and of each entry: itself, key, value, the quantity's text.
  EXPECT_TRUE(Check(pod.SerializeAsString(), 10).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Check(pod.SerializeAsString(), 9)));
}

TEST(FieldCountTest, CountsUnknownFieldsWithoutLookingIn) {
  // Field 3, PodStatus, which isn't read here: 4 bytes that are no message.
  EXPECT_TRUE(Check(std::string("\x1a\x04\xff\xff\xff\xff", 6), 1).ok());
  std::string many;
  for (int i = 0; i < 50; ++i) many += std::string("\x18\x01", 2);
  EXPECT_TRUE(Check(many, 50).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Check(many, 49)));
}

TEST(FieldCountTest, RefusesWhatIsNoMessage) {
  const std::string wrong[] = {
      std::string("\x00", 1),              // field 0
      std::string("\x12", 1),              // a length is missing
      std::string("\x12\x05\x12", 3),      // longer than all that is there
      std::string("\x12\x02\x12\x7f", 4),  // longer than the message around it
      std::string("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11),
      std::string("\x0b\x0c", 2),  // a group
      std::string("\x0c", 1),      // a group's end
      std::string("\x1d\x01", 2),  // half a number
      std::string("\x1f", 1),      // wire type 7
  };
  for (const std::string& bytes : wrong) {
    const absl::Status status = Check(bytes);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << ::testing::PrintToString(bytes) << status;
    Pod pod;
    EXPECT_FALSE(ParseBounded(bytes, 1000, &pod).ok()) << ::testing::PrintToString(bytes);
  }
}

// The parser takes such a field for an unknown one.
TEST(FieldCountTest, AFieldOfAnotherWireTypeIsUnknown) {
  Pod pod;
  EXPECT_TRUE(ParseBounded(std::string("\x10\x07", 2), 1, &pod).ok());
  EXPECT_FALSE(pod.has_spec());
}

TEST(FieldCountTest, ParsesWhatItAllows) {
  Pod pod;
  ASSERT_TRUE(ParseBounded(PodOf(3).SerializeAsString(), 100, &pod).ok());
  EXPECT_EQ(pod.spec().containers_size(), 3);
}

TEST(FieldCountTest, RefusesTextThatIsNoUtf8) {
  const std::string bytes("\x0a\x03\x0a\x01\xff", 5);  // metadata.name
  EXPECT_TRUE(Check(bytes).ok());
  Pod pod;
  EXPECT_TRUE(absl::IsInvalidArgument(ParseBounded(bytes, 100, &pod)));
}

// Nests more levels than a stack has room for, in a message of 4 MiB.
TEST(FieldCountTest, BoundsTheDepthOfATypeThatContainsItself) {
  google::protobuf::Value value;
  google::protobuf::Value* inner = &value;
  for (int i = 0; i < 40; ++i) inner = inner->mutable_list_value()->add_values();
  google::protobuf::Value parsed;
  EXPECT_TRUE(ParseBounded(value.SerializeAsString(), 1000, &parsed).ok());
  for (int i = 0; i < 40; ++i) inner = inner->mutable_list_value()->add_values();
  EXPECT_TRUE(absl::IsInvalidArgument(
      CheckFieldCount(value.SerializeAsString(), google::protobuf::Value(), 1000)));
}

TEST(FieldCountTest, PackedNumbersAreOneField) {
  ::v1::ContainerResources container;
  for (int i = 0; i < 500; ++i) container.add_cpu_ids(i);
  EXPECT_TRUE(CheckFieldCount(container.SerializeAsString(), container, 1).ok());
}

}  // namespace
}  // namespace plimsoll
