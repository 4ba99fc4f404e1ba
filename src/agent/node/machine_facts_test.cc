#include "agent/node/machine_facts.h"

#include <sys/utsname.h>

#include "base/dir_for_test.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

class MachineFactsTest : public ::testing::Test {
 protected:
  void Put(const std::string& file, const std::string& text) {
    ASSERT_TRUE(dir_.root().MakeDirs(file.substr(0, file.rfind('/'))).ok());
    ASSERT_TRUE(dir_.root().ReplaceFile(file, text).ok());
  }
  TestDir dir_;
};

TEST_F(MachineFactsTest, AreInTheMachinesFiles) {
  Put("proc/sys/kernel/hostname", "Edge-7\n");
  Put("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
  Put("proc/sys/kernel/random/boot_id", "b\n");
  Put("etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
  Put("etc/machine-id", "m\n");
  Put("sys/class/dmi/id/product_uuid", "s\n");
  const auto facts = ReadMachineFacts(dir_.root());
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->host_name, "edge-7");
  EXPECT_EQ(facts->kernel_version, "6.1.0-18-amd64");
  EXPECT_EQ(facts->os_image, "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(facts->machine_id + facts->boot_id + facts->system_uuid, "mbs");
  utsname names = {};
  ASSERT_EQ(uname(&names), 0);
  EXPECT_EQ(facts->architecture, GoArchitecture(names.machine));
}

TEST_F(MachineFactsTest, WhatIsUnknownIsEmpty) {
  Put("usr/lib/os-release", "PRETTY_NAME='Plain'\n");
  const auto facts = ReadMachineFacts(dir_.root());
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->host_name, "");
  EXPECT_EQ(facts->os_image, "Plain");
  EXPECT_EQ(facts->machine_id, "");
}

TEST_F(MachineFactsTest, ArchitecturesHaveGosNames) {
  EXPECT_EQ(GoArchitecture("x86_64"), "amd64");
  EXPECT_EQ(GoArchitecture("aarch64"), "arm64");
  EXPECT_EQ(GoArchitecture("s390x"), "s390x");
}

}  // namespace
}  // namespace plimsoll::agent
