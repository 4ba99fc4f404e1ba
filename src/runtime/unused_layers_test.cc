#include "runtime/unused_layers.h"

#include "gtest/gtest.h"
#include "runtime/objects/parts_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

class UnusedLayersTest : public PartsTest {
 protected:
  static DamagedRow Row(const std::string& id) {
    DamagedRow row;
    row.id = id;
    return row;
  }
  UnusedLayers layers_{options_, &objects_};
};

TEST_F(UnusedLayersTest, AreCollectedAtOnceWhereNoRowIsDamaged) {
  EXPECT_TRUE(layers_.Collect({}).ok());
  EXPECT_EQ(images_.collections, 1);
  layers_.CollectAfter("c");  // a removal's images collect their own
  EXPECT_EQ(images_.collections, 1);
}

TEST_F(UnusedLayersTest, StayUntilTheLastDamagedContainerIsGone) {
  Add(ContainerOf("a", "pod"));
  Add(ContainerOf("b", "pod"));
  EXPECT_TRUE(layers_.Collect({Row("a"), Row("b")}).ok());
  layers_.CollectAfter("a");
  EXPECT_EQ(images_.collections, 0);
  layers_.CollectAfter("b");
  EXPECT_EQ(images_.collections, 1);
}

TEST_F(UnusedLayersTest, ADamagedRowOfAPodHoldsNone) {
  EXPECT_TRUE(layers_.Collect({Row("pod")}).ok());
  EXPECT_EQ(images_.collections, 1);
}

}  // namespace
}  // namespace plimsoll::runtime
