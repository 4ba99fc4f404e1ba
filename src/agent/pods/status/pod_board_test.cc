#include "agent/pods/status/pod_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;

nlohmann::json ObjectOf(const std::string& uid, const std::string& phase) {
  return {{"metadata", {{"uid", uid}}}, {"status", {{"phase", phase}}}};
}

class PodBoardTest : public testing::Test {
 protected:
  // Watches until the board was quiet `steps.size()` times; runs a step at each.
  std::vector<std::string> Watch(const std::string& pod_namespace,
                                 std::vector<std::function<void()>> steps) {
    std::vector<std::string> told;
    size_t next = 0;
    const auto change = [&](PodService::Change kind, const nlohmann::json* pod) {
      if (pod == nullptr) {
        if (next == steps.size()) return false;
        steps[next++]();
        return true;
      }
      constexpr const char* kNames[] = {"ADDED ", "MODIFIED ", "DELETED "};
      told.push_back(kNames[static_cast<int>(kind)] + (*pod)["metadata"]["uid"].get<std::string>() +
                     " " + (*pod)["status"]["phase"].get<std::string>());
      return true;
    };
    board_.Watch(pod_namespace, absl::Milliseconds(1), change);
    return told;
  }

  PodBoard board_;
  const PodKey a_{"default", "a"};
  const PodKey b_{"other", "b"};
};

TEST_F(PodBoardTest, AnObjectHasAVersionThatGrows) {
  board_.Put(a_, ObjectOf("1", "Pending"));
  EXPECT_EQ((*board_.Get(a_))["metadata"]["resourceVersion"], "1");
  board_.Put(a_, ObjectOf("1", "Pending"));
  EXPECT_EQ((*board_.Get(a_))["metadata"]["resourceVersion"], "1");
  board_.Put(a_, ObjectOf("1", "Running"));
  EXPECT_EQ((*board_.Get(a_))["metadata"]["resourceVersion"], "2");
  board_.Remove(a_);
  EXPECT_EQ(board_.Get(a_), nullptr);
}

TEST_F(PodBoardTest, AnOlderObjectTakesNoNewersPlace) {
  board_.Put(a_, ObjectOf("1", "Running"));
  EXPECT_FALSE(board_.PutIf(a_, ObjectOf("1", "Pending"), [] { return false; }));
  EXPECT_EQ((*board_.Get(a_))["status"]["phase"], "Running");
  EXPECT_EQ((*board_.Get(a_))["metadata"]["resourceVersion"], "1");
  EXPECT_TRUE(board_.PutIf(a_, ObjectOf("1", "Failed"), [] { return true; }));
  EXPECT_EQ((*board_.Get(a_))["status"]["phase"], "Failed");
  EXPECT_EQ((*board_.Get(a_))["metadata"]["resourceVersion"], "2");
}

TEST_F(PodBoardTest, AChangeIsOfTheObjectThatIsShown) {
  const auto change = [](const nlohmann::json& shown) {
    return ObjectOf("1", shown["status"]["phase"].get<std::string>() + "!");
  };
  board_.Change(a_, change);
  EXPECT_EQ(board_.Get(a_), nullptr);
  board_.Put(a_, ObjectOf("1", "Running"));
  board_.Change(a_, change);
  EXPECT_EQ((*board_.Get(a_))["status"]["phase"], "Running!");
  EXPECT_EQ((*board_.Get(a_))["metadata"]["resourceVersion"], "2");
}

TEST_F(PodBoardTest, AListIsOfOneNamespaceOrOfAll) {
  board_.Put(b_, ObjectOf("2", "Running"));
  board_.Put(a_, ObjectOf("1", "Running"));
  EXPECT_EQ(board_.List("").size(), 2u);
  ASSERT_EQ(board_.List("other").size(), 1u);
  EXPECT_EQ((*board_.List("other").front())["metadata"]["uid"], "2");
}

TEST_F(PodBoardTest, AWatcherHearsOfAllThatIsThereAndOfEachChange) {
  board_.Put(a_, ObjectOf("1", "Pending"));
  board_.Put(b_, ObjectOf("2", "Running"));
  EXPECT_THAT(
      Watch("", {[&] { board_.Put(a_, ObjectOf("1", "Running")); }, [&] { board_.Remove(b_); }}),
      ElementsAre("ADDED 1 Pending", "ADDED 2 Running", "MODIFIED 1 Running", "DELETED 2 Running"));
}

TEST_F(PodBoardTest, AWatcherOfANamespaceHearsOfNoOther) {
  EXPECT_THAT(Watch("default", {[&] { board_.Put(b_, ObjectOf("2", "Running")); },
                                [&] { board_.Put(a_, ObjectOf("1", "Running")); }}),
              ElementsAre("ADDED 1 Running"));
}

TEST_F(PodBoardTest, APodThatTookAnothersNameIsAnother) {
  board_.Put(a_, ObjectOf("1", "Failed"));
  EXPECT_THAT(Watch("", {[&] {
                      board_.Remove(a_);
                      board_.Put(a_, ObjectOf("9", "Pending"));
                    }}),
              ElementsAre("ADDED 1 Failed", "DELETED 1 Failed", "ADDED 9 Pending"));
}

}  // namespace
}  // namespace plimsoll::agent
