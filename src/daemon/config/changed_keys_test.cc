#include "daemon/config/changed_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace plimsoll::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ChangedKeys, EveryOptionIsNamed) {
  const Config defaults;
  EXPECT_THAT(ChangedKeys(defaults, defaults), IsEmpty());
  for (const OptionName& option : OptionNames()) {
    // One of these is a valid value other than the option's default.
    bool found = false;
    for (const char* value : {"7", "error", "json", "true", "false", "/elsewhere",
                              "unix:///elsewhere", "127.0.0.1:7777", "systemd", "noexec", "ignore",
                              "crun", "off", "ClassResources=false", "eth7", "70"}) {
      Config changed;
      if (!SetOption(changed, option.key, value).ok() || changed == defaults) continue;
      found = true;
      EXPECT_THAT(ChangedKeys(defaults, changed), ElementsAre(option.key)) << value;
    }
    EXPECT_TRUE(found) << option.key;
  }
}

TEST(ChangedKeys, SectionsAreNamedAsAWhole) {
  const auto changed = ParseConfig(
      "nodeResources: {cpus: {list: \"0\"}}\nworkers: 3\nlog: {level: debug}\n"
      "nri: {plugins: {10-a: {required: true}}}\n",
      "test.yaml");
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_THAT(ChangedKeys(Config(), *changed),
              ElementsAre("log.level", "nri.plugins", "workers", "nodeResources"));
}

}  // namespace
}  // namespace plimsoll::daemon
