#include "runtime/oci/selinux_labels.h"

#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

const linux::SelinuxLabels kPolicy = {"u:r:container_t:s0", "u:object_r:container_file_t:s0"};
const linux::SelinuxOptions kPod = {.type = "pod_t", .level = "s0:c1,c2"};

TEST(SelinuxLabelsTest, WithoutAPolicyThereAreNone) {
  SecurityContext security;
  security.selinux.type = "no such:thing";  // ignored
  EXPECT_EQ(*LabelsOf(std::nullopt, kPod, security), linux::SelinuxLabels());
}

TEST(SelinuxLabelsTest, AContainersOptionsGoBeforeItsPods) {
  SecurityContext security;
  const auto pods = LabelsOf(kPolicy, kPod, security);
  ASSERT_TRUE(pods.ok()) << pods.status();
  EXPECT_EQ(pods->process, "u:r:pod_t:s0:c1,c2");
  EXPECT_EQ(pods->file, "u:object_r:container_file_t:s0:c1,c2");
  security.selinux.role = "other_r";
  EXPECT_EQ(LabelsOf(kPolicy, kPod, security)->process, "u:other_r:container_t:s0:c1,c2");
  security.selinux.level = "s0:c3,c4";
  EXPECT_EQ(LabelsOf(kPolicy, kPod, security)->process, "u:other_r:container_t:s0:c3,c4");
  security.selinux.level = "s0\"";
  EXPECT_TRUE(absl::IsInvalidArgument(LabelsOf(kPolicy, kPod, security).status()));
}

TEST(SelinuxLabelsTest, WhoSharesTheHostsIsNotConfinedUnlessByName) {
  SecurityContext privileged;
  privileged.privileged = true;
  SecurityContext host_pid;
  host_pid.namespaces.pid = NamespaceMode::kNode;
  SecurityContext host_ipc;
  host_ipc.namespaces.ipc = NamespaceMode::kNode;
  const linux::SelinuxOptions pod = {.level = "s0:c1,c2"};
  for (SecurityContext* each : {&privileged, &host_pid, &host_ipc}) {
    SecurityContext& security = *each;
    EXPECT_EQ(LabelsOf(kPolicy, pod, security)->process, "");
    EXPECT_EQ(LabelsOf(kPolicy, pod, security)->file, "u:object_r:container_file_t:s0:c1,c2");
    security.selinux.type = "spc_t";
    EXPECT_EQ(LabelsOf(kPolicy, pod, security)->process, "u:r:spc_t:s0:c1,c2");
  }
}

TEST(SelinuxLabelsTest, WhatIsAskedOfALabelIsToldFromWhatIsGiven) {
  SecurityContext security;
  EXPECT_EQ(AskedOfLabel(std::nullopt, kPod, security), std::nullopt);
  EXPECT_EQ(AskedOfLabel(kPolicy, kPod, security), linux::SelinuxOptions{.type = "pod_t"});
  EXPECT_EQ(AskedOfLabel(kPolicy, {.level = "s0:c1,c2"}, security), linux::SelinuxOptions());
  security.selinux.level = "s0:c3,c4";
  EXPECT_EQ(AskedOfLabel(kPolicy, kPod, security), linux::SelinuxOptions{.level = "s0:c3,c4"});
  security.selinux = {};
  security.privileged = true;
  EXPECT_EQ(AskedOfLabel(kPolicy, {.level = "s0:c1,c2"}, security), std::nullopt);
}

}  // namespace
}  // namespace plimsoll::runtime
