// Texts that plimsoll-exec takes for a plan, and texts that it does not.
#include "container_entry/plan.h"

#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::entry {
namespace {

using ::testing::ElementsAre;

using Values = std::map<std::string, std::string>;

const Values& Whole() {
  static const auto& values = *new Values{
      {"log", "4"},       {"init", "6"},      {"pid", "77"},        {"uid", "1000"},
      {"gid", "100"},     {"cwd", "/"},       {"groups", "1,2"},    {"bounding", "a80425fb"},
      {"effective", "0"}, {"permitted", "f"}, {"inheritable", "0"}, {"ambient", "0"},
      {"arg", "sh"}};
  return values;
}

std::string TextOf(const Values& values) {
  std::string text;
  for (const auto& [key, value] : values) text += key + "=" + value + '\0';
  return text;
}

int FileOf(const std::string& text) {
  const int file = memfd_create("plan", MFD_CLOEXEC);
  EXPECT_EQ(write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  return file;
}

bool Reads(const std::string& text, Plan* plan) {
  return ReadPlan(FileOf(text), plan);
}

bool Reads(const std::string& key, const std::string& value) {
  Values values = Whole();
  values[key] = value;
  Plan plan;
  return Reads(TextOf(values), &plan);
}

std::vector<std::string> Strings(char** list) {
  std::vector<std::string> strings;
  for (; *list != nullptr; ++list) strings.emplace_back(*list);
  return strings;
}

TEST(PlanTest, AWholeOneIsRead) {
  const std::string text = TextOf(Whole()) + std::string("arg=-c\0arg=\0env=A=B=C\0nnp=yes\0", 30);
  Plan plan;
  ASSERT_TRUE(Reads(text, &plan));
  EXPECT_EQ(plan.log, 4);
  EXPECT_EQ(plan.entered, -1);
  EXPECT_EQ(plan.init, 6);
  EXPECT_EQ(plan.filter, -1);
  EXPECT_EQ(plan.pid, 77);
  EXPECT_EQ(plan.uid, 1000u);
  EXPECT_EQ(plan.gid, 100u);
  EXPECT_EQ(plan.capabilities.bounding, 0xa80425fbu);
  EXPECT_EQ(plan.capabilities.permitted, 0xfu);
  EXPECT_TRUE(plan.no_new_privileges);
  EXPECT_THAT(Strings(plan.arguments), ElementsAre("sh", "-c", ""));
  EXPECT_THAT(Strings(plan.environment), ElementsAre("A=B=C"));
}

TEST(PlanTest, EachPartThatACommandNeedsMustBeThere) {
  for (const auto& [key, unused] : Whole()) {
    Values values = Whole();
    values.erase(key);
    Plan plan;
    EXPECT_FALSE(Reads(TextOf(values), &plan)) << key;
  }
}

// A plan cut at any byte is no plan.
TEST(PlanTest, ACutOneIsNone) {
  Values values = Whole();
  values["zzz"] = "the last";  // the last by name, so that each cut removes something
  const std::string text = TextOf(values);
  const std::string ids = "uid=1000";
  for (size_t size = 0; size < text.size(); ++size) {
    Plan plan;
    const bool read = Reads(text.substr(0, size), &plan);
    const bool is_whole = size > 0 && text[size - 1] == '\0' && size > text.find(ids) + ids.size();
    EXPECT_EQ(read, is_whole) << size;
  }
}

TEST(PlanTest, NumbersAreDigitsWithinTheirBounds) {
  for (const char* key : {"uid", "gid"}) {
    EXPECT_TRUE(Reads(key, "4294967294")) << key;
    // The kernel takes this number for "unchanged": the id would stay root's.
    EXPECT_FALSE(Reads(key, "4294967295")) << key;
    EXPECT_FALSE(Reads(key, "4294967296")) << key << " is not 0";
  }
  for (const char* key : {"log", "entered", "init", "filter", "pid"}) {
    EXPECT_TRUE(Reads(key, "2147483647")) << key;
    EXPECT_FALSE(Reads(key, "2147483648")) << key;
  }
  for (const char* key : {"log", "entered", "init", "filter", "pid", "uid", "gid"}) {
    for (const char* value : {"", " 1", "+1", "-1", "1 ", "1x", "0x1", "18446744073709551616",
                              "99999999999999999999999"}) {
      EXPECT_FALSE(Reads(key, value)) << key << " \"" << value << "\"";
    }
  }
  EXPECT_FALSE(Reads("pid", "0")) << "nobody's";
  for (const char* key : {"bounding", "effective", "permitted", "inheritable", "ambient"}) {
    EXPECT_TRUE(Reads(key, "ffffffffffffffff")) << key;
    for (const char* value : {"", "-1", "0xf", "g", "10000000000000000"}) {
      EXPECT_FALSE(Reads(key, value)) << key << " \"" << value << "\"";
    }
  }
}

TEST(PlanTest, WhatIsNoPlanIsRefused) {
  Plan plan;
  EXPECT_FALSE(Reads("", &plan));
  EXPECT_FALSE(Reads(std::string(4096, '\0'), &plan));
  EXPECT_FALSE(Reads(std::string(4096, '\xff') + '\0', &plan));
  EXPECT_FALSE(ReadPlan(-1, &plan));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_FALSE(ReadPlan(ends[0], &plan)) << "no file";
  close(ends[0]);
  close(ends[1]);
  const int file = FileOf(TextOf(Whole()));
  ASSERT_EQ(ftruncate(file, off_t{33} << 20), 0);
  EXPECT_FALSE(ReadPlan(file, &plan)) << "too large";
  close(file);
}

// A value ends only with its NUL, so it can't begin another one.
TEST(PlanTest, AValueIsNoOther) {
  Values values = Whole();
  values["env"] = "A=\nuid=0\nlog=9";
  values["arg"] = "uid=0";
  Plan plan;
  ASSERT_TRUE(Reads(TextOf(values), &plan));
  EXPECT_EQ(plan.uid, 1000u);
  EXPECT_EQ(plan.log, 4);
  EXPECT_THAT(Strings(plan.environment), ElementsAre("A=\nuid=0\nlog=9"));
}

TEST(PlanTest, GroupsAreAListOfIds) {
  static gid_t groups[kMaxGroups];
  size_t count = 7;
  EXPECT_TRUE(ParseGroups("", groups, &count));
  EXPECT_EQ(count, 0u);
  EXPECT_TRUE(ParseGroups("0,4294967294,7", groups, &count));
  EXPECT_THAT(std::vector<gid_t>(groups, groups + count), ElementsAre(0, 4294967294, 7));
  for (const char* list : {",", "1,", ",1", "1,,2", "1 2", "1,x", "-1", "4294967295", "1;2"}) {
    EXPECT_FALSE(ParseGroups(list, groups, &count)) << list;
  }
  std::string many = "1";
  for (size_t i = 1; i < kMaxGroups; ++i) many += ",1";
  EXPECT_TRUE(ParseGroups(many.c_str(), groups, &count));
  EXPECT_EQ(count, kMaxGroups);
  EXPECT_FALSE(ParseGroups((many + ",1").c_str(), groups, &count));
}

TEST(PlanTest, LimitsAreTwoNumbers) {
  uint64_t soft = 0;
  uint64_t hard = 0;
  ASSERT_TRUE(ParseLimits("1024:18446744073709551615", &soft, &hard));
  EXPECT_EQ(soft, 1024u);
  EXPECT_EQ(hard, UINT64_MAX);
  for (const char* text :
       {"", ":", "1", "1:", ":1", "1:2:3", "1:2 ", "-1:2", "1:x", "1:18446744073709551616"}) {
    EXPECT_FALSE(ParseLimits(text, &soft, &hard)) << text;
  }
}

TEST(PlanTest, ResourceLimits) {
  int resource = 0;
  uint64_t soft = 0;
  uint64_t hard = 0;
  ASSERT_TRUE(ParseResourceLimit("7:1:18446744073709551615", &resource, &soft, &hard));
  EXPECT_EQ(resource, 7);
  EXPECT_EQ(soft, 1u);
  EXPECT_EQ(hard, UINT64_MAX);
  for (const char* text : {"", "7", "7:", "7:1", "7:1:", "x:1:2", "16:1:2", "-1:1:2", "7:1:2:3"}) {
    EXPECT_FALSE(ParseResourceLimit(text, &resource, &soft, &hard)) << text;
  }
}

}  // namespace
}  // namespace plimsoll::entry
