#include "qos/class_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "qos/device_names_for_test.h"

namespace plimsoll::qos {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> NamesOf(const ClassId& id) {
  std::vector<std::string> names;
  for (const NameKind& kind : kNameKinds) names.push_back(kind.name_of(id));
  return names;
}

ClassId Of(const std::string& type, const std::string& name) {
  return {Level::kContainer, type, name};
}

ClassId OfPod(const std::string& type, const std::string& name) {
  return {Level::kPod, type, name};
}

TEST(ClassDevices, NamesThatFitStayAsTheyAre) {
  EXPECT_THAT(NamesOf(Of("rdt", "gold")),
              ElementsAre("rdt-gold", "rdt.gold.classes.plimsoll.dev",
                          "class.plimsoll.dev/rdt.gold", "classes.plimsoll.dev/rdt=gold"));
  EXPECT_THAT(
      NamesOf(OfPod("lane", "fast")),
      ElementsAre("pod-lane-fast", "pod.lane.fast.classes.plimsoll.dev",
                  "class.plimsoll.dev/pod.lane.fast", "classes.plimsoll.dev/pod.lane=fast"));
  EXPECT_EQ(DeviceName(Of("rdt", "low-prio")), "rdt-low-prio");
  EXPECT_EQ(DeviceClassName(OfPod("pod-qos", "besteffort")),
            "pod.pod-qos.besteffort.classes.plimsoll.dev");
  EXPECT_EQ(ExtendedResourceName(Of("rdt", "Gold_2.x")), "class.plimsoll.dev/rdt.Gold_2.x");
  EXPECT_EQ(CdiName(Of("net.prio", "Gold_2.x")), "classes.plimsoll.dev/net.prio=Gold_2.x");
}

// These are in ResourceQuotas and manifests of clusters: they must never change.
TEST(ClassDevices, OthersHaveAReadableRemainderAndAHash) {
  EXPECT_THAT(NamesOf(Of("rdt", "system/default")),
              ElementsAre("rdt-system-default--jm7fa25p00g6b7hz",
                          "rdt.system-default--jm7fa25p00g6b7hz.classes.plimsoll.dev",
                          "class.plimsoll.dev/rdt.system-default--jm7fa25p00g6b7hz",
                          "classes.plimsoll.dev/rdt=system-default--jm7fa25p00g6b7hz"));
  EXPECT_THAT(NamesOf(OfPod("vendor.io/Lane", "f a\xc3\xbcst")),
              ElementsAre("pod-lane-f-a-st--j3p7ab5nnf79g25m",
                          "pod.lane.f-a-st--j3p7ab5nnf79g25m.classes.plimsoll.dev",
                          "class.plimsoll.dev/pod.lane.f-a-st--j3p7ab5nnf79g25m",
                          "classes.plimsoll.dev/pod.lane=f-a-st--j3p7ab5nnf79g25m"));
  EXPECT_THAT(DeviceName(Of("net-prio", "gold")), StartsWith("net-prio-gold--"));
  EXPECT_THAT(DeviceName(Of("rdt", "Gold")), StartsWith("rdt-gold--"));
  EXPECT_THAT(CdiName(Of("5g", "")), StartsWith("classes.plimsoll.dev/x5g=x--"));
}

TEST(ClassDevices, TheLongestPlainNamesAndOneMore) {
  const auto letters = [](size_t count) { return std::string(count, 'x'); };
  for (const auto& [name_of, longest] :
       std::vector<std::pair<std::string (*)(const ClassId&), size_t>>{
           {DeviceName, 59}, {DeviceClassName, 38}, {ExtendedResourceName, 59}, {CdiName, 253}}) {
    EXPECT_THAT(name_of(Of("rdt", letters(longest))), Not(HasSubstr("--"))) << longest;
    EXPECT_THAT(name_of(Of("rdt", letters(longest + 1))), HasSubstr("--")) << longest;
  }
  EXPECT_THAT(CdiName(OfPod(letters(59), "a")), Not(HasSubstr("--")));
  EXPECT_THAT(CdiName(OfPod(letters(60), "a")), HasSubstr("--"));
  for (const NameKind& kind : kNameKinds) {
    const std::string name = kind.name_of(OfPod(letters(300) + "/" + letters(300), letters(5000)));
    EXPECT_TRUE(kind.is_valid(name)) << kind.what << " " << name;
  }
}

// All texts of up to three pieces.
std::vector<std::string> SmallTexts() {
  std::vector<std::string> texts = {""};
  for (size_t from = 0, length = 0; length < 3; ++length) {
    const size_t end = texts.size();
    for (; from < end; ++from) {
      for (const char* piece : {"a", "pod", "A", "-", ".", "/"}) {
        texts.push_back(texts[from] + piece);
      }
    }
  }
  return texts;
}

TEST(ClassDevices, NoTwoIdsShareANameAndEachNameIsValid) {
  const std::vector<std::string> texts = SmallTexts();
  ASSERT_EQ(texts.size(), 1u + 6 + 36 + 216);
  for (const NameKind& kind : kNameKinds) {
    std::unordered_map<std::string, ClassId> ids;
    for (const Level level : {Level::kPod, Level::kContainer}) {
      for (const std::string& type : texts) {
        for (const std::string& name : texts) {
          const ClassId id{level, type, name};
          const auto [at, is_new] = ids.try_emplace(kind.name_of(id), id);
          ASSERT_TRUE(is_new) << kind.what << " " << at->first << ": \"" << type << "\", \"" << name
                              << "\" and \"" << at->second.type << "\", \"" << at->second.name
                              << "\"";
          ASSERT_TRUE(kind.is_valid(at->first)) << kind.what << " " << at->first;
        }
      }
    }
  }
}

// A class named so that its plain name would be another one's hashed name.
TEST(ClassDevices, NoPlainNameIsAHashedOne) {
  const ClassId odd = Of("rdt", "system/default");
  const ClassId twin = Of("rdt", DeviceName(odd).substr(4));
  for (const NameKind& kind : kNameKinds) {
    EXPECT_NE(kind.name_of(odd), kind.name_of(twin)) << kind.what;
  }
}

TEST(ClassDevices, PlainCdiNamesAreReadWithoutAList) {
  for (const ClassId& id : {Of("rdt", "gold"), OfPod("rdt", "gold"), OfPod("g5", "a"),
                            Of("net.prio", "Gold_2.x:1"), OfPod("pod", "a")}) {
    EXPECT_EQ(ClassOfPlainCdiName(CdiName(id)), id.type == "pod" ? std::nullopt : std::optional(id))
        << CdiName(id);
  }
  for (const std::string& name :
       {CdiName(Of("rdt", "system/default")), std::string("classes.plimsoll.dev/rdt"),
        std::string("classes.plimsoll.dev/=gold"), std::string("classes.plimsoll.dev/rdt="),
        std::string("classes.plimsoll.dev/rdt=system/default"),
        std::string("classes.plimsoll.dev/pod=gold"), std::string("classes.plimsoll.dev/5g=gold"),
        std::string("classes.plimsoll.dev/rdt=a--b"), std::string("classes.plimsoll.dev/"),
        std::string("vendor.io/rdt=gold"), std::string("")}) {
    EXPECT_EQ(ClassOfPlainCdiName(name), std::nullopt) << name;
  }
  EXPECT_TRUE(IsClassDevice("classes.plimsoll.dev/rdt=gold"));
  EXPECT_TRUE(IsClassDevice("classes.plimsoll.dev/"));
  EXPECT_FALSE(IsClassDevice("classes.plimsoll.dev"));
  EXPECT_FALSE(IsClassDevice("classes.plimsoll.dev.example.com/rdt=gold"));
}

TEST(ClassDevices, NamesAreFoundAmongKnownClasses) {
  const std::vector<ClassId> known = {Of("rdt", "gold"), Of("rdt", "system/default"),
                                      OfPod("rdt", "gold")};
  for (const NameKind& kind : kNameKinds) {
    for (const ClassId& id : known) {
      EXPECT_EQ(*FindClass(kind.name_of(id), known, kind.name_of), id) << kind.what;
    }
  }
  const auto none = FindClass("classes.plimsoll.dev/rdt=tin", {known[0], known[2]}, CdiName);
  EXPECT_TRUE(absl::IsNotFound(none.status()));
  EXPECT_EQ(none.status().message(),
            "no class is named \"classes.plimsoll.dev/rdt=tin\" here; there are "
            "classes.plimsoll.dev/pod.rdt=gold, classes.plimsoll.dev/rdt=gold");
  EXPECT_EQ(FindClass("a\nb", {}, CdiName).status().message(),
            "no class is named \"a\\nb\" here; there is none");
}

}  // namespace
}  // namespace plimsoll::qos
