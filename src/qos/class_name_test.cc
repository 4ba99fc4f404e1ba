#include "qos/class_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace plimsoll::qos {
namespace {

TEST(ClassName, QualifiedNamesAreValid) {
  for (const std::string& name :
       {std::string("a"), std::string("Gold"), std::string("low-prio"), std::string("a_b.c"),
        std::string("example.com/gold"), std::string("0"), std::string(63, 'x')}) {
    EXPECT_TRUE(ValidateName("class", name).ok()) << name;
  }
}

TEST(ClassName, EverythingElseIsNot) {
  for (const std::string& name :
       {std::string(), std::string("-a"), std::string("a-"), std::string(".hidden"),
        std::string("a b"), std::string("a/b/c"), std::string("/a"), std::string("a/"),
        std::string("../etc"), std::string("UP.com/x"), std::string("a..b/x"),
        std::string("-a.com/x"), std::string(64, 'x'), std::string(254, 'x') + "/x",
        std::string("a\nb"), std::string("a\0b", 3), std::string("gr\xc3\xbcn")}) {
    const absl::Status status = ValidateName("class", name);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << name;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("class name \"")) << name;
    EXPECT_THAT(std::string(status.message()),
                testing::HasSubstr("is not valid: 1 to 63 letters, digits, '-', '_' and '.'"));
  }
}

}  // namespace
}  // namespace plimsoll::qos
