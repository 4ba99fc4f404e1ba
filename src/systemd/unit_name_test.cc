#include "systemd/unit_name.h"

#include <gtest/gtest.h>

namespace plimsoll::systemd {
namespace {

TEST(UnitOf, NamesSlicesThatAreInTheirPlace) {
  EXPECT_EQ(UnitOf("/"), "-.slice");
  EXPECT_EQ(UnitOf("/kubepods.slice"), "kubepods.slice");
  EXPECT_EQ(UnitOf("/kubepods.slice/kubepods-pod1_2.slice"), "kubepods-pod1_2.slice");
  EXPECT_EQ(UnitOf("/kubepods-pod1.slice"), std::nullopt) << "systemd has it elsewhere";
  EXPECT_EQ(UnitOf("/kubepods/kubepods-pod1.slice"), std::nullopt);
  EXPECT_EQ(UnitOf("/.slice"), std::nullopt);
  EXPECT_EQ(UnitOf("/a--b.slice"), std::nullopt);
}

TEST(UnitOf, NamesScopesInSlices) {
  EXPECT_EQ(UnitOf("/a.slice/plimsoll-1.scope"), "plimsoll-1.scope");
  EXPECT_EQ(UnitOf("/x.scope"), "x.scope");
  EXPECT_EQ(UnitOf("/a/x.scope"), std::nullopt);
  EXPECT_EQ(UnitOf("/a.slice/x.scope/y.scope"), std::nullopt) << "delegated: no unit's";
  EXPECT_EQ(UnitOf("/a.slice/.scope"), std::nullopt);
}

TEST(UnitOf, KnowsWhatIsNoUnit) {
  for (const char* group : {"/plimsoll", "/plimsoll/1", "/a.slice/b", "/a.service",
                            "/a.slice/a b.scope", "/a.slice/_x.scope", "a.slice", ""}) {
    EXPECT_EQ(UnitOf(group), std::nullopt) << group;
  }
}

}  // namespace
}  // namespace plimsoll::systemd
